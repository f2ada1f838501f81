"""Where things are kept, and what is used unless somebody says otherwise. Read from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from endstop.errors import InvalidValueError

DEFAULT_MODEL = "extractive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Where things are kept, and what is used unless somebody says otherwise."""

    home: Path
    database_url: str
    model: str = DEFAULT_MODEL
    user: str = "me"
    fallback: str = "heuristics"
    """What chooses how to go on with an agent that does not say how it stands: this, or ``bert`` (C7)."""

    @property
    def cache(self) -> Path:
        """For what can be made again: the indexes of project folders."""
        return self.home / "cache"


def read_config(environ: Mapping[str, str] | None = None) -> Config:
    """The configuration, from ENDSTOP_HOME, _DATABASE_URL, _MODEL, _USER and _FALLBACK."""
    environ = os.environ if environ is None else environ
    home = _home(environ)
    return Config(
        home=home,
        database_url=environ.get("ENDSTOP_DATABASE_URL") or f"sqlite:///{(home / 'endstop.db').absolute()}",
        model=environ.get("ENDSTOP_MODEL") or DEFAULT_MODEL,
        user=environ.get("ENDSTOP_USER") or "me",
        fallback=environ.get("ENDSTOP_FALLBACK") or "heuristics",
    )


def _home(environ: Mapping[str, str]) -> Path:
    given = environ.get("ENDSTOP_HOME")
    try:
        return Path(given or _data_home(environ) / "endstop").expanduser()
    except RuntimeError:  # nobody knows the home folder of this user, or of the one it names
        raise InvalidValueError(
            "ENDSTOP_HOME",
            given or "",
            allowed="the path of a folder",
            to_do="Set ENDSTOP_HOME to a folder, by its whole path",
        ) from None


def _data_home(environ: Mapping[str, str]) -> Path:
    given = environ.get("XDG_DATA_HOME")
    return Path(given) if given else Path.home() / ".local" / "share"


def require_folder(config: Config) -> None:
    """Make the folder for the database, if it is to be one of ours."""
    if not config.database_url.startswith(f"sqlite:///{config.home.absolute()}"):
        return
    try:
        config.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise InvalidValueError(
            "ENDSTOP_HOME",
            str(config.home),
            allowed=f"a folder that can be made and written to ({error.strerror})",
            to_do="Set ENDSTOP_HOME to one, or ENDSTOP_DATABASE_URL to a database",
        ) from None
