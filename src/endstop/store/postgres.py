"""PostgreSQL: how to connect by URL, and what its errors mean. Needs ``pip install endstop[postgres]``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, LiteralString, cast

from endstop.errors import StoreError
from endstop.store.address import Address
from endstop.store.schema_names import FACTS
from endstop.store.session import Session

if TYPE_CHECKING:
    import psycopg

CONNECTING: dict[str, Any] = {
    "application_name": "endstop",
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
"""How to connect. A server that is gone without a word is noticed within half a minute, not within hours."""

_NOTICING = {
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "11000",
}
"""How the server notices the same of us: sooner, because others wait for what a lost one has locked."""

SILENT_S = 5.0
"""A transaction of ours is never silent for so long: one that is, is given up by the server."""
_SILENT_IN_UPGRADE_S = 60.0
"""But while tables are changed, we load what changes them, which takes long on a slow machine."""

_UPGRADE_LOCK = 0x656E6473746F70
"""The key under which processes wait for each other when they change the tables: "endstop" in ASCII."""

_GOOD_BYES = ("57P", "08", "25P03")
"""How the codes begin that say that the server ends, that the connection broke, or that it was silent."""

_OPTION = re.compile(r"(?:-c\s*|--)([\w-]+)\s*=")
_LINES = f"SELECT line FROM {FACTS} WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?"


class PostgresSession:
    """One connection to a server.

    The statements of a transaction are sent without waiting for each to be answered, in a pipeline: an
    append costs one round trip instead of four. Whoever waits for an answer ends a part of the pipeline: only
    then does the server count how long it hears nothing from us.
    """

    def __init__(self, connection: psycopg.Connection) -> None:
        self.connection = connection
        self._pipeline: psycopg.Pipeline | None = None
        self._pipelines = ExitStack()

    def run(self, sql: str, values: Sequence[object] = ()) -> None:
        self.connection.execute(_percent(sql), values)

    def changed(self, sql: str, values: Sequence[object] = ()) -> int:
        rows = self.rows(f"WITH changed AS ({sql} RETURNING 1) SELECT count(*) FROM changed", values)
        return rows[0][0]

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        cursor = self.connection.execute(_percent(sql), values)
        if self._pipeline is not None:
            self._pipeline.sync()
        return cursor.fetchall()

    def lines(self, run_id: str, *, after: int, most: int) -> list[str]:
        return [line for (line,) in self.rows(_LINES, (run_id, after, most))]

    def begin(self) -> None:
        self._pipeline = self._pipelines.enter_context(self.connection.pipeline())
        self.connection.execute("BEGIN")

    def commit(self) -> None:
        self.connection.execute("COMMIT")
        self._leave_pipeline()

    def rollback(self) -> None:
        import psycopg

        try:
            with suppress(psycopg.Error):  # what had failed before, told already
                self._leave_pipeline()
            self.connection.rollback()
        except psycopg.Error:
            self.connection.close()

    def _leave_pipeline(self) -> None:
        self._pipeline = None
        self._pipelines.close()

    def is_lost_by(self, error: Exception) -> bool:
        """The server may have said good-bye before the connection knows of it."""
        return self.connection.closed or str(getattr(error, "sqlstate", "")).startswith(_GOOD_BYES)

    def has_table(self, name: str) -> bool:
        return self.rows("SELECT to_regclass(?)", (name,))[0][0] is not None

    def close(self) -> None:
        self.connection.close()


class PostgresDatabase:
    """A database on a server."""

    def __init__(self, address: Address, *, busy_timeout_s: float, silent_s: float = SILENT_S) -> None:
        """``silent_s``: a transaction that the server hears nothing of for so long is given up."""
        self.address = address
        self._busy_timeout_s = busy_timeout_s
        self._silent_s = silent_s

    def connect(self) -> PostgresSession:
        try:
            import psycopg
        except ImportError:
            raise StoreError(
                "The driver for PostgreSQL is not installed",
                to_do="Install it with: pip install 'endstop[postgres]'",
            ) from None
        target = self.address.target
        connection = psycopg.connect(target, autocommit=True, **connecting(target))
        try:
            connection.execute(
                *hold_nobody_up(target, patience_s=self._busy_timeout_s, silent_s=self._silent_s)
            )
        except BaseException:
            connection.close()
            raise
        return PostgresSession(connection)

    def look(self) -> PostgresSession:
        return self.connect()  # it takes a statement to change something

    def server_version(self, session: Session) -> str:
        return f"PostgreSQL {session.rows('SHOW server_version')[0][0]}"

    def begin_upgrade(self, session: Session) -> None:
        """Without a pipeline, which SQLAlchemy does not expect."""
        session.run("BEGIN")
        session.run(f"SET LOCAL idle_in_transaction_session_timeout = {_ms(_SILENT_IN_UPGRADE_S)}")
        session.rows("SELECT pg_advisory_xact_lock(?)", (_UPGRADE_LOCK,))

    def is_conflict(self, error: Exception) -> bool:
        return getattr(error, "sqlstate", None) == "23505"

    def problem(self, error: Exception) -> StoreError:
        return StoreError(
            f"The database {self.address.shown} {self._what(error)}",
            allowed="a PostgreSQL server that answers, and a user who may make tables there",
            to_do=_to_do(error),
        )

    def _what(self, error: Exception) -> str:
        import psycopg

        if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None:
            return "has an address that cannot be read"  # the driver's words would quote parts of it
        words = " ".join(self.address.masked(str(error)).split())
        return f"cannot be used ({words[:300]})"


@cache
def _percent(sql: str) -> LiteralString:
    """A statement with the marks that psycopg wants. There is no other question mark or percent in ours."""
    return cast("LiteralString", sql.replace("?", "%s"))


def connecting(conninfo: str) -> dict[str, Any]:
    """How to connect, where the URL does not say so itself."""
    given = _given(conninfo)
    return {name: value for name, value in CONNECTING.items() if name not in given}


def hold_nobody_up(
    conninfo: str, *, patience_s: float, silent_s: float = SILENT_S
) -> tuple[LiteralString, list[str]]:
    """A statement, and its values, after which a session waits for locks no longer than ``patience_s``, and
    the server gives it up when it falls silent, or is cut off, with locks that others need.

    One statement, because each costs a round trip; and not something to connect with, because poolers such
    as PgBouncer refuse that. What the URL sets itself (``?options=-c …``) is left as it is.
    """
    settings = {
        "lock_timeout": _ms(patience_s),
        "idle_in_transaction_session_timeout": _ms(silent_s),
        **_NOTICING,
    }
    options = _OPTION.findall(str(_given(conninfo).get("options", "")))
    given = {name.replace("-", "_") for name in options}
    wanted = [(name, value) for name, value in settings.items() if name not in given]
    calls: list[LiteralString] = ["set_config(%s, %s, false)"] * len(wanted)
    return f"SELECT {', '.join(calls)}", [word for setting in wanted for word in setting]


def _given(conninfo: str) -> dict[str, Any]:
    """What a URL says. Nothing, if it cannot be read: whoever connects is told so."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        return dict(conninfo_to_dict(conninfo))
    except psycopg.ProgrammingError:
        return {}


def _ms(seconds: float) -> str:
    return str(int(seconds * 1_000))


def _to_do(error: Exception) -> str:
    """What helps, by the server's code; while connecting there is none, only words."""
    sqlstate = getattr(error, "sqlstate", None)
    if sqlstate in _ADVICE:
        return _ADVICE[sqlstate]
    words = str(error)
    for sign, advice in _ADVICE_BY_WORDS.items():
        if sign in words:
            return advice
    return "Run endstop doctor to see how it stands"


_NOT_THERE = "Start the server, or mend host and port in the address; then try again"
_WRONG_PASSWORD = "Give the right user and password in the address"
_NO_RIGHT = "Give this user the right to make and use tables there"
_NO_SUCH_DATABASE = "Make it with createdb, or name another one"
_FULL = "Make room on the server's disk, then try again. Nothing was written"
_TOO_MANY = "Close other connections, or raise max_connections on the server; then try again"
_LOCKED = "Another transaction has it locked: wait until it is done, then try again. Nothing was written"

_ADVICE: dict[str | None, str] = {
    "28P01": _WRONG_PASSWORD,
    "28000": _WRONG_PASSWORD,
    "3D000": _NO_SUCH_DATABASE,
    "42501": _NO_RIGHT,
    "3F000": _NO_RIGHT,
    "25006": "The server is read-only: name its primary",
    "53100": _FULL,
    "53300": _TOO_MANY,
    "55P03": _LOCKED,
    "57P01": _NOT_THERE,
    "57P03": "The server is starting or stopping: try again in a moment",
}

_ADVICE_BY_WORDS = {
    "password": _WRONG_PASSWORD,
    "authentication failed": _WRONG_PASSWORD,
    "does not exist": _NO_SUCH_DATABASE,
    "too many": _TOO_MANY,
    "remaining connection slots": _TOO_MANY,
    "starting up": "The server is starting: try again in a moment",
    "refused": _NOT_THERE,
    "timeout expired": _NOT_THERE,
    "No such file": _NOT_THERE,
    "could not translate": _NOT_THERE,
    "resolve host": _NOT_THERE,
    "closed": _NOT_THERE,
}
