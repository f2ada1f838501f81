"""``endstop settings``: the eight values a user can set for agents, with their bounds (I3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from endstop.cli.errors import UsageError
from endstop.cli.options import Json
from endstop.cli.output import Column, Output
from endstop.cli.running import with_app

if TYPE_CHECKING:
    from collections.abc import Sequence

    from endstop.app import App
    from endstop.kernel.settings import AgentSettings, SettingBounds

_ACTIONS = ("get", "set", "reset")
_COLUMNS = (
    Column(name="setting"),
    Column(name="value", is_number=True),
    Column(name="default", is_number=True),
    Column(name="allowed"),
    Column(name="", may_shrink=True),
)
_UNSET = frozenset({"none", "null", "unset", ""})


def settings(
    action: Annotated[
        str, typer.Argument(metavar="get|set|reset", help="What to do.", show_default=False)
    ] = "get",
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME[=VALUE]", help="Of which settings.", show_default=False),
    ] = None,
    is_json: Json = False,
) -> None:
    """See and change what agents may use by default. Kept in the database, per user.

    \b
    Examples:
      endstop settings
      endstop settings set max_iterations=50 cost_limit_usd=0.50
      endstop settings set cost_limit_usd=none
      endstop settings reset max_iterations
      endstop settings reset

    Several are set together or, if one is out of bounds, not at all (exit code 2).

    With --json: a list of objects with name, value, default, smallest, largest (money as text), is_changed.
    """
    given = names or []
    if action not in _ACTIONS:
        raise UsageError(
            f"There is nothing to do called {action!r}",
            allowed=", ".join(_ACTIONS),
            to_do="Write endstop settings set NAME=VALUE",
        )

    async def work(app: App, output: Output) -> int:
        if action == "set":
            await _set(app, given)
        elif action == "reset":
            await _reset(app, given)
        shown = given if action == "get" else ()
        _require_known(shown)
        _tell(app, output, await app.settings(), shown)
        return 0

    with_app(work, is_json=is_json)


async def _set(app: App, given: Sequence[str]) -> None:
    if not given:
        raise UsageError(
            "Nothing was given to set", allowed="NAME=VALUE, once or more", to_do="See endstop settings"
        )
    values = {**await app.store.settings(app.config.user), **dict(_parsed(each) for each in given)}
    checked = app.default_settings.changed(values).to_values()
    await app.store.save_settings(app.config.user, {name: checked[name] for name in values})


async def _reset(app: App, given: Sequence[str]) -> None:
    _require_known(given)
    stored = await app.store.settings(app.config.user)
    kept = {name: value for name, value in stored.items() if given and name not in given}
    await app.store.save_settings(app.config.user, kept)


def _parsed(text: str) -> tuple[str, object]:
    """``NAME=VALUE`` as a name and a value: a whole number if it looks like one, else as it stands."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals:
        raise UsageError(
            f"{text!r} says no value", allowed="NAME=VALUE", to_do=f"Write endstop settings set {name}=VALUE"
        )
    if name == "cost_limit_usd":
        return name, None if value.lower() in _UNSET else value
    digits = value.replace("_", "").replace(",", "")
    return name, int(digits) if digits.removeprefix("-").isdecimal() and len(digits) < 20 else value


def _require_known(names: Sequence[str]) -> None:
    from endstop.kernel.settings import DEFAULT_SETTINGS

    for name in names:
        DEFAULT_SETTINGS.changed({name: getattr(DEFAULT_SETTINGS, name, None)})


def _tell(app: App, output: Output, current: AgentSettings, names: Sequence[str]) -> None:
    from endstop.kernel.settings import SETTING_BOUNDS

    values, defaults = current.to_values(), app.default_settings.to_values()
    wanted = [name for name in SETTING_BOUNDS if name in names or not names]
    if output.is_json:
        output.document([_json(name, values[name], defaults[name], SETTING_BOUNDS[name]) for name in wanted])
        return
    rows = [
        (
            name,
            _shown(values[name]),
            _shown(defaults[name]),
            _allowed(SETTING_BOUNDS[name]),
            "" if values[name] == defaults[name] else "changed",
        )
        for name in wanted
    ]
    output.table(_COLUMNS, rows)


def _json(name: str, value: object, default: object, bounds: SettingBounds) -> dict[str, object]:
    from endstop.events.plain import written

    return {
        "name": name,
        "value": value,
        "default": default,
        "smallest": written(bounds.smallest),
        "largest": written(bounds.largest),
        "is_changed": value != default,
    }


def _shown(value: int | str | None) -> str:
    return "no limit" if value is None else f"{value:,}" if isinstance(value, int) else value


def _allowed(bounds: SettingBounds) -> str:
    none = "" if bounds.default is not None else ", or none"
    return f"{bounds.smallest:,} to {bounds.largest:,}{none}"
