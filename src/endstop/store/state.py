"""How a database stands, for people who wonder why nothing works: can it be used, and what is to be done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from endstop.errors import EndstopError
from endstop.store.address import Address, parse_address
from endstop.store.schema_names import NEWEST_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseState:
    """What ``endstop doctor`` tells of a database."""

    shown: str
    """Its address, without the password."""
    is_usable: bool
    server: str = ""
    """Such as ``PostgreSQL 15.6``; empty if nobody answered."""
    version: str | None = None
    """Of its tables; None if it has none yet."""
    newest_version: str = NEWEST_VERSION
    runs: int | None = None
    problem: str = ""
    to_do: str = ""


def database_state(url: str) -> DatabaseState:
    """Look at a database, and change nothing. Waits for the server: not for an event loop."""
    address = parse_address(url)
    if address.is_memory:
        return DatabaseState(shown=address.shown, is_usable=True, to_do="Kept in memory: gone at the end")
    if address.kind == "sqlite" and not Path(address.target).exists():
        return _of_missing_file(address)
    from endstop.store.session import told
    from endstop.store.sql_store import database_at

    database = database_at(address, busy_timeout_s=2.0)
    try:
        return _looked_at(address)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the person wants to know
        problem = told(database, error)
    to_do = problem.to_do if isinstance(problem, EndstopError) else ""
    what = problem.what if isinstance(problem, EndstopError) else str(problem)
    return DatabaseState(shown=address.shown, is_usable=False, problem=what, to_do=to_do)


def _of_missing_file(address: Address) -> DatabaseState:
    folder = Path(address.target).parent
    if folder.is_dir():
        return DatabaseState(shown=address.shown, is_usable=True, to_do="It is made when it is first used")
    return DatabaseState(
        shown=address.shown,
        is_usable=False,
        problem=f"The folder {folder} does not exist",
        to_do=f"Make the folder {folder} first",
    )


def _looked_at(address: Address) -> DatabaseState:
    from endstop.store.schema_names import RUNS
    from endstop.store.sql_store import database_at
    from endstop.store.upgrade import require_readable, version_of

    database = database_at(address, busy_timeout_s=2.0)
    session = database.look()
    try:
        server = database.server_version(session)
        version = version_of(session)
        try:
            require_readable(version, address.shown)
        except EndstopError as error:
            return DatabaseState(
                shown=address.shown,
                is_usable=False,
                server=server,
                version=version,
                problem=error.what,
                to_do=error.to_do,
            )
        runs = None if version is None else session.rows(f"SELECT count(*) FROM {RUNS}")[0][0]
        to_do = "" if version == NEWEST_VERSION else "It is brought up to date when it is next used"
        return DatabaseState(
            shown=address.shown, is_usable=True, server=server, version=version, runs=runs, to_do=to_do
        )
    finally:
        session.close()
