"""The checks of ``endstop doctor``, one function each. They look, and change nothing."""

from __future__ import annotations

import asyncio
import os
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from endstop.app import Config, open_app, read_config
from endstop.cli.checked import Checked
from endstop.errors import EndstopError
from endstop.models import make_model
from endstop.store import DatabaseState, database_state, parse_address

_EXTRAS = {
    "providers": ("pydantic_ai", "models of providers"),
    "postgres": ("psycopg", "a PostgreSQL database"),
    "scale": ("procrastinate", "workers on PostgreSQL"),
    "mcp": ("mcp", "MCP servers as tools"),
    "local": ("xllamacpp", "GGUF files as models"),
}


async def check_up() -> list[Checked]:
    """Look at everything."""
    config = read_config()
    found = [_python(), _version(), _home(config)]
    database, state = _database(config)
    found.append(database)
    found.append(_model(config))
    found.append(_project())
    found += [_extra(name) for name in _EXTRAS]
    if state is not None and state.is_usable and state.version == state.newest_version:
        found += await _runs(config)
        if _may_hand_out(config):
            from endstop.cli.checkup_queue import queue_checks

            found += await queue_checks(config.database_url)
    return found


def _python() -> Checked:
    return Checked(name="python", state="ok", detail=".".join(str(part) for part in sys.version_info[:3]))


def _version() -> Checked:
    return Checked(name="endstop", state="ok", detail=version("endstop"))


def _home(config: Config) -> Checked:
    """The folder where things are kept; it is made when it is first needed."""
    name, home = "home folder", config.home
    try:
        if home.is_dir():
            can_write = os.access(home, os.W_OK | os.X_OK)
            to_do = (
                "" if can_write else "Allow this user to write there, or set ENDSTOP_HOME to another folder"
            )
            detail = str(home) if can_write else f"{home} cannot be written"
            return Checked(name=name, state="ok" if can_write else "broken", detail=detail, to_do=to_do)
        above = next(folder for folder in home.absolute().parents if folder.exists())
        if not home.exists() and above.is_dir() and os.access(above, os.W_OK | os.X_OK):
            return Checked(name=name, state="ok", detail=f"{home} (made when it is first used)")
    except OSError:
        pass  # it cannot even be looked at
    return Checked(
        name=name,
        state="broken",
        detail=f"{home} is no folder, and cannot be made",
        to_do="Set ENDSTOP_HOME to a folder that can be made and written to",
    )


def _database(config: Config) -> tuple[Checked, DatabaseState | None]:
    try:
        address = parse_address(config.database_url)
        is_ours = address.kind == "sqlite" and Path(address.target).parent == config.home.absolute()
        if is_ours and not config.home.exists():
            made = Checked(
                name="database", state="ok", detail=f"{address.shown} (made when it is first used)"
            )
            return made, None
        state = database_state(config.database_url)
    except EndstopError as error:
        problem = f"{error.what}. Allowed: {error.allowed}" if error.allowed else error.what
        return Checked(name="database", state="broken", detail=problem, to_do=error.to_do), None
    if not state.is_usable:
        broken = Checked(name="database", state="broken", detail=state.problem, to_do=state.to_do)
        return broken, state
    target = Path(address.target) if address.kind == "sqlite" and address.target else None
    if target is not None and target.exists() and not os.access(target, os.W_OK):
        detail, to_do = f"{state.shown} cannot be written", "Allow this user to write the file and its folder"
        return Checked(name="database", state="broken", detail=detail, to_do=to_do), state
    parts = [state.shown, state.server, f"version {state.version}" if state.version else "", _size(target)]
    parts.append("" if state.runs is None else f"{state.runs:,} runs")
    detail = ", ".join(part for part in parts if part)
    return Checked(name="database", state="ok", detail=detail, to_do=state.to_do), state


def _size(target: Path | None) -> str:
    if target is None or not target.exists():
        return ""
    size = float(sum(one.stat().st_size for one in target.parent.glob(f"{target.name}*")))
    for unit in ("bytes", "kB", "MB"):
        if size < 1_000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1_000
    return f"{size:.1f} GB"


def _model(config: Config) -> Checked:
    try:
        made = make_model(config.model)
    except EndstopError as error:
        detail = f"{config.model}: {error.what}"
        return Checked(name="model", state="broken", detail=detail, to_do=error.to_do)
    close = getattr(made, "close", None)
    if close is not None:
        close()
    if made.name == "endstop:extractive":
        return Checked(
            name="model",
            state="ok",
            detail="extractive: built in, no language model; answers with passages it finds",
            to_do="For a real one: ENDSTOP_MODEL=provider:model, and the key its provider asks for",
        )
    return Checked(name="model", state="ok", detail=f"{made.name} (not called to find out)")


def _project() -> Checked:
    try:
        folder = Path.cwd()
    except OSError as error:
        detail = f"The current folder cannot be read: {error.strerror}"
        return Checked(name="project folder", state="broken", detail=detail, to_do="Go to another folder")
    if not os.access(folder, os.R_OK | os.X_OK):
        detail = f"{folder} cannot be read"
        return Checked(name="project folder", state="attention", detail=detail, to_do="Go to another folder")
    return Checked(name="project folder", state="ok", detail=str(folder))


def _extra(name: str) -> Checked:
    package, purpose = _EXTRAS[name]
    if find_spec(package) is not None:
        return Checked(name=f"extra {name}", state="ok", detail=f"installed ({purpose})")
    return Checked(
        name=f"extra {name}",
        state="note",
        detail=f"not installed; needed only for {purpose}",
        to_do=f"pip install 'endstop[{name}]'",
    )


async def _runs(config: Config) -> list[Checked]:
    try:
        async with asyncio.timeout(10), open_app(config) as app:
            left = await app.runner.left_open()
            waiting = await app.store.reviews(is_open=True)
            handed: frozenset[str] = frozenset()
            if left and _may_hand_out(config):
                from endstop.cli.checkup_queue import handed_out

                handed = await handed_out(config.database_url, [one.run_id for one in left])
    except EndstopError as error:
        return [Checked(name="runs", state="broken", detail=error.what, to_do=error.to_do)]
    return [
        _pending(
            "runs left open",
            [one.run_id for one in left if one.run_id not in handed],
            "Go on with them: endstop resume --all",
        ),
        _pending("open reviews", [one.run_id for one in waiting], "Decide them: endstop review"),
    ]


def _may_hand_out(config: Config) -> bool:
    """Whether there can be workers: on PostgreSQL, with what they need installed."""
    return parse_address(config.database_url).kind == "postgresql" and find_spec("procrastinate") is not None


def _pending(name: str, run_ids: list[str], to_do: str) -> Checked:
    if not run_ids:
        return Checked(name=name, state="ok", detail="none")
    shown = ", ".join(run_ids[:3]) + (" …" if len(run_ids) > 3 else "")
    return Checked(name=name, state="attention", detail=f"{len(run_ids):,}: {shown}", to_do=to_do)
