"""What the store asks of a database: one connection, and what its errors mean.

Statements are written once, with ``?`` for values; a session knows how its driver wants them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from endstop.errors import EndstopError, StoreError
from endstop.store.address import Address


class Session(Protocol):
    """One connection, used by one thread."""

    @property
    def connection(self) -> Any:
        """The driver's own."""
        ...

    def run(self, sql: str, values: Sequence[object] = ()) -> None:
        """Run a statement. Inside a transaction, an error may come as late as the commit."""
        ...

    def changed(self, sql: str, values: Sequence[object] = ()) -> int:
        """Run a statement; how many rows it changed."""
        ...

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a query."""
        ...

    def lines(self, run_id: str, *, after: int, most: int) -> list[str]:
        """The lines of a record that come after a number, in their order, at most so many."""
        ...

    def begin(self) -> None:
        """Begin a transaction that will write."""
        ...

    def commit(self) -> None: ...

    def rollback(self) -> None:
        """Take back what was not committed. Never raises."""
        ...

    def is_lost_by(self, error: Exception) -> bool:
        """The connection is of no more use after this error; with a new one, trying again may help."""
        ...

    def has_table(self, name: str) -> bool: ...

    def close(self) -> None:
        """Let go of the connection. Never raises."""
        ...


class Database(Protocol):
    """A database of one kind, at one place."""

    @property
    def address(self) -> Address: ...

    def connect(self) -> Session:
        """A new session. Raises what its driver raises."""
        ...

    def look(self) -> Session:
        """A new session that changes nothing, not even by being opened."""
        ...

    def server_version(self, session: Session) -> str:
        """Such as ``SQLite 3.40.1``."""
        ...

    def begin_upgrade(self, session: Session) -> None:
        """Begin a transaction in which nobody else changes the tables; wait for one who does."""
        ...

    def is_conflict(self, error: Exception) -> bool:
        """Somebody else has written the same row."""
        ...

    def problem(self, error: Exception) -> StoreError:
        """The error of a driver, in our words."""
        ...


def told(database: Database, error: Exception) -> Exception:
    """What a caller is told of an error: ours as they are, those of a driver in our words, a bug as a bug."""
    is_of_driver = type(error).__module__.partition(".")[0] in ("sqlite3", "psycopg")
    return database.problem(error) if is_of_driver and not isinstance(error, EndstopError) else error
