"""What servers and workers write to stderr: one line for each thing that happened, and never a secret."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TextIO, cast

from endstop.errors import StoreError

_SECRET = re.compile(r"\bes_[A-Za-z0-9_-]{8,}|es_[A-Za-z0-9_-]{30,}")
_IN_URL = re.compile(r"(?i)\b(token|key|secret|password)=[^&\s\"']+")
_BEARER = re.compile(r"(?i)\b(bearer)\s+\S+")
_OF_DATABASE = ("psycopg", "psycopg_pool", "procrastinate")
"""What talks to the database, and hands out runs."""
_POOLS = ("psycopg.pool", "psycopg_pool")
_QUIET_S = 60.0
"""A database of which nothing bad was heard for so long was back in the meantime."""

_PLAIN = re.compile(r"[\w./:@+-]+", re.ASCII)


class LineFormatter(logging.Formatter):
    """``2026-01-31T12:00:00.000Z info request method=GET path=/api/runs status=200 ms=3 user=ana``.

    ``extra={"fields": {…}}`` and ``extra={"run_id": …}`` become the pairs at the end.
    """

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        parts = [time.replace("+00:00", "Z"), record.levelname.lower(), _message(record)]
        parts.extend(
            f"{name}={_value(value)}" for name, value in _fields(record).items() if value is not None
        )
        if record.exc_info and record.exc_info[0] is not None:  # its words may be a user's: only its kind
            parts.append(f"error={record.exc_info[0].__name__}")
        return without_secrets(" ".join(parts))


class Outages(logging.Filter):
    """One line for each time that the database is gone, in place of hundreds by the drivers that notice."""

    def __init__(self) -> None:
        super().__init__()
        self._last_s = -_QUIET_S

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.partition(".")[0] not in _OF_DATABASE:
            return True
        is_of_pool = record.name.startswith(_POOLS)
        error = _error_in(record)
        if error is None:  # of the pool, it is such as a connection that was lost, and is opened anew
            return not is_of_pool or record.levelno >= logging.ERROR
        if is_of_pool or isinstance(error, StoreError) or type(error).__name__ == "ConnectorException":
            return self._is_news(record, error, is_of_pool=is_of_pool)
        _take_out_words(record, error)
        return True

    def _is_news(self, record: logging.LogRecord, error: BaseException, *, is_of_pool: bool) -> bool:
        """Whether nobody was told yet that the database is gone; then the record says so, in our words."""
        is_new = record.created - self._last_s > _QUIET_S
        self._last_s = record.created
        record.msg, record.args = "the database cannot be used; it is tried again until it can", None
        record.exc_info = (type(error), error, None)
        if is_of_pool:  # it failed to connect: so nobody has said anything to the database yet
            record.fields = {"why": str(error).strip().partition("\n")[0]}
        return is_new


def log_to(stream: TextIO | None = None) -> logging.Handler:
    """Have Endstop, uvicorn and the drivers of the database log to a stream, stderr if none is given, and to
    nowhere else.

    Of what agents log, only warnings: the rest has words of users and models in it.
    """
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(LineFormatter())
    handler.addFilter(Outages())
    for name in ("endstop", "uvicorn", *_OF_DATABASE):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(logging.WARNING)
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # warnings are of errors that we tell of, too
    logging.getLogger("psycopg.pool").setLevel(logging.WARNING)
    logging.getLogger("endstop.server").setLevel(logging.INFO)
    return handler


def without_secrets(text: str) -> str:
    """A text with everything taken out that looks like a secret."""
    text = _BEARER.sub(r"\1 …", _IN_URL.sub(r"\1=…", text))
    return _SECRET.sub("es_…", text)


def _message(record: logging.LogRecord) -> str:
    """What it says. Some hand in a traceback as their words: of that, only the kind of the error."""
    text = record.getMessage()
    if "Traceback (most recent call last)" in text:
        return f"failed with {text.strip().splitlines()[-1].partition(':')[0]}"
    return _one_line(text)


def _error_in(record: logging.LogRecord) -> BaseException | None:
    """The error that a record is about, however it was handed in."""
    if record.exc_info and record.exc_info[1] is not None:
        return record.exc_info[1]
    given = record.args if isinstance(record.args, tuple) else ()
    return next((each for each in given if isinstance(each, BaseException)), None)


def _take_out_words(record: logging.LogRecord, error: BaseException) -> None:
    """Leave only the kind of an error that others have put into theirs: its words may be a user's."""
    text = record.getMessage()
    for words in filter(None, (repr(error), str(error))):
        text = text.replace(words, type(error).__name__)
    record.msg, record.args = text, None


def _fields(record: logging.LogRecord) -> dict[str, object]:
    run_id = getattr(record, "run_id", None)
    given = cast("Mapping[str, object]", getattr(record, "fields", {}))
    return {**({} if run_id is None else {"run": run_id}), **given}


def _value(value: object) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text[:500])


def _one_line(text: str) -> str:
    """Without what would make two lines of it, or drive a terminal: others choose some of the words."""
    return text if text.isprintable() else json.dumps(text)[1:-1]
