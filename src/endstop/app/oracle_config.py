"""The defaults of the settings, from the environment (I4). The user's own settings come on top."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import isfinite

from endstop.errors import EndstopError
from endstop.kernel.limits import LIMIT_FACTS, LimitKind
from endstop.kernel.settings import DEFAULT_SETTINGS, AgentSettings

DEFAULT_CONTEXT_WARNING = LIMIT_FACTS[LimitKind.CONTEXT_TOKENS].default_warn_at or 0.70

_MAX_TURNS = "ORACLE_MAX_TURNS"
_PERCENTS = {
    "ORACLE_ITERATION_WARNING_THRESHOLD": "soft_warning_percent",
    "ORACLE_TOKEN_WARNING_THRESHOLD": "token_warning_percent",
}
_CONTEXT = "ORACLE_CONTEXT_WARNING_THRESHOLD"

_log = logging.getLogger("endstop")


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleConfig:
    """What the environment says, where it says something that can be used."""

    settings: AgentSettings = DEFAULT_SETTINGS
    context_warning_threshold: float = DEFAULT_CONTEXT_WARNING


@cache
def oracle_config() -> OracleConfig:
    """The defaults from the environment, read once."""
    return read_oracle_config(os.environ)


def reload_oracle_config() -> OracleConfig:
    """Read the environment again."""
    oracle_config.cache_clear()
    return oracle_config()


def read_oracle_config(environ: Mapping[str, str]) -> OracleConfig:
    """The defaults. What cannot be read or is out of bounds stays as it is, with a warning in the log."""
    settings = DEFAULT_SETTINGS
    if _MAX_TURNS in environ:
        settings = _changed(settings, _MAX_TURNS, "max_iterations", _whole(environ[_MAX_TURNS]), environ)
    for variable, name in _PERCENTS.items():
        if variable in environ:
            part = _fraction(environ[variable])
            percent = None if part is None else round(part * 100)
            settings = _changed(settings, variable, name, percent, environ)
    context = DEFAULT_CONTEXT_WARNING
    if _CONTEXT in environ:
        part = _fraction(environ[_CONTEXT])
        if part is not None and 0 < part <= 1:
            context = part
        else:
            _warn(_CONTEXT, environ[_CONTEXT], "a number above 0, up to 1", context)
    return OracleConfig(settings=settings, context_warning_threshold=context)


def _changed(
    settings: AgentSettings, variable: str, name: str, value: int | None, environ: Mapping[str, str]
) -> AgentSettings:
    try:
        return settings.changed({name: value})
    except EndstopError as error:
        _warn(variable, environ[variable], error.allowed, getattr(settings, name))
        return settings


def _warn(variable: str, value: str, allowed: str, default: object) -> None:
    _log.warning("%s is %r, which cannot be used (%s): the default %s is", variable, value, allowed, default)


def _whole(text: str) -> int | None:
    return int(text) if text.strip().isdecimal() and len(text) < 20 else None


def _fraction(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) and abs(value) < 1_000 else None
