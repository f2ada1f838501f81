"""Where records are kept: SQLite by default, PostgreSQL by URL, behind one port (H4).

Start with ``sql_store`` (the port), then ``appending`` (how facts are written), ``writer`` and ``lane`` (the
threads that do it). ``sqlite`` and ``postgres`` know what differs between the two; ``upgrade`` and
``migrations`` make and change the tables that ``schema`` draws. Drivers, SQLAlchemy and Alembic are
imported when they are needed: to open a database that is up to date takes nothing but its driver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from endstop.store.address import parse_address
from endstop.store.state import DatabaseState, database_state

if TYPE_CHECKING:
    from endstop.ports import WholeStore

__all__ = ["DatabaseState", "database_state", "open_store", "parse_address"]


async def open_store(url: str, *, busy_timeout_s: float = 5.0) -> WholeStore:
    """Open a database, making or updating its tables as needed.

    ``sqlite:///runs.db`` (``sqlite:////…`` for a path from the root), ``sqlite://`` for one in memory that
    is gone when it is closed, or ``postgresql://user@host/name``. ``busy_timeout_s`` is how long a write
    waits for another process that has the database locked.
    """
    from endstop.store.sql_store import SqlStore

    return await SqlStore.open(parse_address(url), busy_timeout_s=busy_timeout_s)
