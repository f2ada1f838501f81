"""The index of a folder: SQLite with full-text search, brought up to date before each search.

A file is read again only when its time or size has changed, and indexed again only when its content has. The
index is a cache: when it is broken it is made anew, and when it cannot be written it lives in memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import threading
import time
import weakref
from collections.abc import Generator, Iterator, Sequence
from itertools import islice
from pathlib import Path

from endstop.errors import ToolError
from endstop.tools.project.folder import Folder
from endstop.tools.project.passages import is_prose, passages
from endstop.tools.project.walk import FoundFile, Walker

MOST_FILE_BYTES = 1_000_000
TOO_LARGE = "over 1 MB"
BINARY = "binary"
UNREADABLE = "unreadable"

_LAYOUT = 1
_BATCH = 100
_PROBED_BYTES = 8_192
_BUSY_S = 2.0
_UNSURE_NS = 2_000_000_000
"""A file that changed so shortly before it was read may have changed again under the same time."""

_TABLES = """
CREATE TABLE IF NOT EXISTS files (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL,
    hash BLOB, skipped TEXT, text TEXT
);
CREATE INDEX IF NOT EXISTS files_seen ON files (path, mtime_ns, size);
CREATE VIRTUAL TABLE IF NOT EXISTS code USING fts5(
    text, content='files', content_rowid='id', tokenize='trigram', detail=none
);
CREATE TABLE IF NOT EXISTS passages (
    id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL, path TEXT NOT NULL, line INTEGER NOT NULL,
    heading TEXT NOT NULL, text TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS passages_of_file ON passages (file_id);
CREATE VIRTUAL TABLE IF NOT EXISTS prose USING fts5(
    path, heading, text, content='passages', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2'
);
"""


class Index:
    """What can be searched of a folder. Safe to use from several threads and processes."""

    def __init__(self, folder: Folder, *, cache_dir: Path | None = None) -> None:
        self.folder = folder
        self.walker = Walker(folder)
        self._file = None if cache_dir is None else cache_dir / f"{_name_for(folder.root)}.sqlite3"
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def searching(self) -> Generator[sqlite3.Connection]:
        """The database, up to date, for one search at a time."""
        with self._lock:
            try:
                connection = self._refreshed()
            except sqlite3.DatabaseError:
                self._start_anew()
                connection = self._refreshed()
            yield connection

    def _refreshed(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._opened()
            weakref.finalize(self, self._connection.close)
        if self._connection.in_transaction:  # a thread that was told to stop left it open
            self._connection.rollback()
        try:
            self._refresh(self._connection)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) and "busy" not in str(error):
                raise
            # Another process is at it: what it has done so far is good enough.
        return self._connection

    def _opened(self) -> sqlite3.Connection:
        if self._file is not None:
            with contextlib.suppress(OSError, sqlite3.OperationalError):
                self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                return _connected(str(self._file))
        return _connected(":memory:")

    def _start_anew(self) -> None:
        """The database is broken: throw it away. If that fails, go on in memory."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._file is None:
            return
        try:
            for ending in ("", "-wal", "-shm"):
                Path(f"{self._file}{ending}").unlink(missing_ok=True)
        except OSError:
            self._file = None

    def _refresh(self, connection: sqlite3.Connection) -> None:
        found = self.walker.files()
        rows: Iterator[tuple[str, int, int]] = connection.execute("SELECT path, mtime_ns, size FROM files")
        known = {path: (mtime_ns, size) for path, mtime_ns, size in rows}
        changed = [one for one in found if known.pop(one.path, None) != (one.mtime_ns, one.size)]
        for batch in _batches(changed):
            with _writing(connection):
                for one in batch:
                    self._take_in(connection, one)
        gone = list(known)
        for start in range(0, len(gone), _BATCH):
            with _writing(connection):
                for path in gone[start : start + _BATCH]:
                    _forget(connection, path)

    def _take_in(self, connection: sqlite3.Connection, one: FoundFile) -> None:
        """Index one file, unless its content is as it was."""
        skipped, text, content_hash = self._content(one)
        is_sure = time.time_ns() - one.mtime_ns > _UNSURE_NS
        mtime_ns = one.mtime_ns if is_sure else -1
        kept = connection.execute("SELECT hash, skipped FROM files WHERE path = ?", (one.path,)).fetchone()
        if kept == (content_hash, skipped):
            connection.execute(
                "UPDATE files SET mtime_ns = ?, size = ? WHERE path = ?", (mtime_ns, one.size, one.path)
            )
            return
        _forget(connection, one.path)
        file_id = connection.execute(
            "INSERT INTO files (path, mtime_ns, size, hash, skipped, text) VALUES (?, ?, ?, ?, ?, ?)",
            (one.path, mtime_ns, one.size, content_hash, skipped, text),
        ).lastrowid
        if text is not None and file_id is not None:
            connection.execute("INSERT INTO code (rowid, text) VALUES (?, ?)", (file_id, text))
            if is_prose(one.path):
                _take_in_prose(connection, file_id, one.path, text)

    def _content(self, one: FoundFile) -> tuple[str | None, str | None, bytes | None]:
        """Why a file is not searched, or its text and the hash of it."""
        if one.size > MOST_FILE_BYTES:
            return TOO_LARGE, None, None
        try:
            raw = self.folder.read(one.path, most_bytes=MOST_FILE_BYTES)
        except ToolError:
            return UNREADABLE, None, None
        text = text_of(raw)
        if text is None:
            return BINARY, None, None
        return None, text, hashlib.blake2b(raw, digest_size=16).digest()


def text_of(raw: bytes) -> str | None:
    """The text in a file, its line ends all alike; None if it is a binary file."""
    if b"\0" in raw[:_PROBED_BYTES]:
        return None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


def _name_for(root: str) -> str:
    root_hash = hashlib.blake2b(root.encode(errors="surrogateescape"), digest_size=12).hexdigest()
    return f"index-{_LAYOUT}-{root_hash}"


def _connected(file: str) -> sqlite3.Connection:
    connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False, timeout=_BUSY_S)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")  # after a power cut it is made anew
        connection.executescript(_TABLES)
        with _writing(connection):
            pass
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _writing(connection: sqlite3.Connection) -> Generator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _batches(files: Sequence[FoundFile]) -> Iterator[list[FoundFile]]:
    """Small enough that a search which is cut off has done something for the next one."""
    rest = iter(files)
    while batch := list(islice(rest, _BATCH)):
        yield batch


def _forget(connection: sqlite3.Connection, path: str) -> None:
    kept = connection.execute("SELECT id, text FROM files WHERE path = ?", (path,)).fetchone()
    if kept is None:
        return
    file_id, text = kept
    if text is not None:
        connection.execute("INSERT INTO code (code, rowid, text) VALUES ('delete', ?, ?)", (file_id, text))
        connection.execute(
            "INSERT INTO prose (prose, rowid, path, heading, text) "
            "SELECT 'delete', id, path, heading, text FROM passages WHERE file_id = ?",
            (file_id,),
        )
        connection.execute("DELETE FROM passages WHERE file_id = ?", (file_id,))
    connection.execute("DELETE FROM files WHERE id = ?", (file_id,))


def _take_in_prose(connection: sqlite3.Connection, file_id: int, path: str, text: str) -> None:
    connection.executemany(
        "INSERT INTO passages (file_id, path, line, heading, text) VALUES (?, ?, ?, ?, ?)",
        [(file_id, path, one.line, one.heading, one.text) for one in passages(text)],
    )
    connection.execute(
        "INSERT INTO prose (rowid, path, heading, text) "
        "SELECT id, path, heading, text FROM passages WHERE file_id = ?",
        (file_id,),
    )
