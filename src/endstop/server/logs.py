"""What the server writes to stderr: one line for each thing that happened, and never a secret."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TextIO, cast

_SECRET = re.compile(r"\bes_[A-Za-z0-9_-]{8,}|es_[A-Za-z0-9_-]{30,}")
_IN_URL = re.compile(r"(?i)\b(token|key|secret|password)=[^&\s\"']+")
_BEARER = re.compile(r"(?i)\b(bearer)\s+\S+")
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


def log_to(stream: TextIO | None = None) -> logging.Handler:
    """Have Endstop and uvicorn log to a stream, stderr if none is given, and to nowhere else.

    Of what agents log, only warnings: the rest has words of users and models in it.
    """
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(LineFormatter())
    for name in ("endstop", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(logging.WARNING)
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
