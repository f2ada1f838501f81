"""SQLite: how to connect to a file, and what its errors mean.

The journal is a write-ahead log and is synchronised with the disk at checkpoints: the death of this process
loses nothing, and a power cut may lose the last moments but never half of an append.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from endstop.errors import StoreError
from endstop.store.address import Address
from endstop.store.schema_names import FACTS
from endstop.store.session import Session

_STATEMENTS_KEPT = 512
_PAGES_IN_LOG = 4_000
"""The log is carried over into the file when it has so many (16 MB): the appends between are cheaper."""

_PAGE = 1_000
"""Lines fetched at once: few steps, and no text that is very large."""

_LINES = (
    f"SELECT group_concat(line, char(10)), max(seq) FROM"
    f" (SELECT seq, line FROM {FACTS} WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?)"
)


class SqliteSession:
    """One connection to a file, or to a database in memory."""

    def __init__(self, path: str, *, busy_timeout_s: float, only_looks: bool = False) -> None:
        self._is_memory = not path
        self.connection = sqlite3.connect(
            f"{Path(path).absolute().as_uri()}?mode=ro" if only_looks else path or ":memory:",
            uri=only_looks,
            timeout=busy_timeout_s,
            isolation_level=None,
            cached_statements=_STATEMENTS_KEPT,
            check_same_thread=False,
        )
        if only_looks:
            return
        try:
            self._use_log(busy_timeout_s)
            self.connection.execute("PRAGMA synchronous = NORMAL")
            self.connection.execute(f"PRAGMA wal_autocheckpoint = {_PAGES_IN_LOG}")
        except BaseException:
            self.connection.close()
            raise

    def run(self, sql: str, values: Sequence[object] = ()) -> None:
        self.connection.execute(sql, values)  # type: ignore[arg-type]

    def changed(self, sql: str, values: Sequence[object] = ()) -> int:
        return self.connection.execute(sql, values).rowcount  # type: ignore[arg-type]

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql, values).fetchall()  # type: ignore[arg-type]

    def lines(self, run_id: str, *, after: int, most: int) -> list[str]:
        """In pages, each fetched as one value: every row fetched lets go of the interpreter, and getting it
        back beside a busy event loop can take 5 ms. Lines hold no line feed, so they can be joined by one."""
        found: list[str] = []
        while most > 0:
            page = min(most, _PAGE)
            joined, last = self.connection.execute(_LINES, (run_id, after, page)).fetchone()
            if joined is None:
                break
            lines = joined.split("\n")
            found.extend(lines)
            after, most = last, most - len(lines)
            if len(lines) < page:
                break
        return found

    def begin(self) -> None:
        self.connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self.connection.commit()

    def rollback(self) -> None:
        try:
            self.connection.rollback()
        except sqlite3.Error:
            self.connection.close()

    def is_lost_by(self, error: Exception) -> bool:
        """What is in memory is never given up for a new connection, which would be empty."""
        if self._is_memory:
            return False
        is_closed = isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error)
        return is_closed or _code(error) in _NEEDS_REOPENING

    def has_table(self, name: str) -> bool:
        return bool(self.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)))

    def close(self) -> None:
        self.connection.close()

    def _use_log(self, patience_s: float) -> None:
        """Changing to the log needs the file alone, and does not wait by itself for others to let go."""
        until = time.monotonic() + patience_s
        while True:
            try:
                self.connection.execute("PRAGMA journal_mode = WAL").fetchone()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(0.01)
            else:
                return


class SqliteDatabase:
    """A file, or a database in memory that only its first session has."""

    def __init__(self, address: Address, *, busy_timeout_s: float) -> None:
        self.address = address
        self._busy_timeout_s = busy_timeout_s

    def connect(self) -> SqliteSession:
        return SqliteSession(self.address.target, busy_timeout_s=self._busy_timeout_s)

    def look(self) -> SqliteSession:
        return SqliteSession(self.address.target, busy_timeout_s=self._busy_timeout_s, only_looks=True)

    def server_version(self, session: Session) -> str:
        return f"SQLite {session.rows('SELECT sqlite_version()')[0][0]}"

    def begin_upgrade(self, session: Session) -> None:
        session.begin()  # one that writes has the whole file

    def is_conflict(self, error: Exception) -> bool:
        return isinstance(error, sqlite3.IntegrityError)

    def problem(self, error: Exception) -> StoreError:
        path = Path(self.address.target)
        code = _code(error)
        what, to_do = _WORDS.get(code, (f"failed ({error})", "Run endstop doctor to see how it stands"))
        if code == sqlite3.SQLITE_CANTOPEN:
            what, to_do = _why_not_opened(path)
        name = str(path) if self.address.target else "in memory"
        allowed = "a file that can be read and written, in a folder where files can be made"
        return StoreError(f"The database {name} {what}", allowed=allowed, to_do=to_do)


def _code(error: Exception) -> int:
    """The kind of an error: its extended code without the detail."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


_NEEDS_REOPENING = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
    }
)

_LOCKED = (
    "is locked by another process",
    "Wait until it is done, or end it; then try again. Nothing was written",
)
_DAMAGED = (
    "is damaged",
    "Put back a copy from a backup, or save what can be read with: sqlite3 FILE .recover",
)
_WORDS = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_READONLY: (
        "cannot be written",
        "Allow this user to write the file and its folder, or name another one",
    ),
    sqlite3.SQLITE_PERM: ("cannot be used by this user", "Change its permissions, or name another one"),
    sqlite3.SQLITE_FULL: ("cannot grow: the disk is full", "Make room, then try again. Nothing was written"),
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: ("is no SQLite database", "Name another file, or move this one out of the way"),
    sqlite3.SQLITE_IOERR: ("cannot be read or written: the disk failed", "Look at the disk, then try again"),
}


def _why_not_opened(path: Path) -> tuple[str, str]:
    try:
        if path.is_dir():
            return "cannot be opened: it is a folder", "Name a file in it"
        if not path.parent.is_dir():
            return "cannot be opened: its folder does not exist", f"Make the folder {path.parent} first"
    except OSError:
        pass  # not even its folder may be looked at
    return "cannot be opened", "Allow this user to read and write the file and its folder"
