"""The log of the server: one line for each thing, with the run it is about, and never a secret."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from endstop.errors import StoreError
from endstop.server.logs import LineFormatter, log_to, without_secrets

SECRET = "es_" + "Ab3-_xYz" * 5 + "Qr7"
"""Of the form of a real one, and the same in every process that collects these tests."""

LOGGERS = (
    *("endstop", "endstop.server", "uvicorn"),
    *("psycopg", "psycopg.pool", "psycopg_pool", "procrastinate"),
)
REFUSED = 'connection to server at "db", port 5432 failed: Connection refused'


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What the server logs, while it logs there; all as before after it."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [(each, each.handlers[:], each.propagate, each.level) for each in loggers]
    stream = io.StringIO()
    log_to(stream)
    yield stream
    for logger, handlers, propagate, level in before:
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)


def test_a_line_has_time_level_words_and_pairs(log: io.StringIO) -> None:
    fields = {"method": "GET", "path": "/api/runs", "status": 200, "user": None, "name": "two words"}
    logging.getLogger("endstop.server.requests").info("request", extra={"fields": fields, "run_id": "run_7"})
    time, rest = log.getvalue().split(" ", 1)
    assert time.endswith("Z")
    assert rest == 'info request run=run_7 method=GET path=/api/runs status=200 name="two words"\n'


@pytest.mark.parametrize(
    "text",
    [
        f"GET /?token={SECRET} HTTP/1.1",
        f"Authorization: Bearer {SECRET}",
        f"cookie endstop_8765={SECRET}; other=1",
        f"/path/{SECRET}/x",
        f"TOKEN={SECRET}&a=b",
        f"x{SECRET}",
        SECRET[:20],
    ],
)
def test_whatever_is_logged_no_secret_is(log: io.StringIO, text: str) -> None:
    logging.getLogger("uvicorn.error").warning("Invalid request %s", text)
    logging.getLogger("endstop.server").error("failed", extra={"fields": {"path": text}})
    assert SECRET[3:15] not in log.getvalue()
    assert len(log.getvalue().splitlines()) == 2


def test_a_key_in_an_address_is_taken_out_and_the_rest_is_left() -> None:
    assert without_secrets("GET /x?key=abc&page=2 password=hunter2") == "GET /x?key=…&page=2 password=…"
    assert without_secrets("rules_of_the_house expires_at_noon") == "rules_of_the_house expires_at_noon"


def test_nobody_can_write_lines_of_their_own(log: io.StringIO) -> None:
    path = "/x\n2026-01-01T00:00:00.000Z info request user=root\x1b[2J\r"
    logging.getLogger("endstop.server").info("asked for %s", path, extra={"fields": {"path": path}})
    assert len(log.getvalue().splitlines()) == 1
    assert "\x1b" not in log.getvalue()


def test_of_an_exception_only_its_kind_is_logged(log: io.StringIO) -> None:
    logging.getLogger("uvicorn.error").error("It failed", exc_info=ValueError("what the user asked"))
    told = "Traceback (most recent call last):\n  File x\nKeyError: what the user asked\n"
    logging.getLogger("uvicorn.error").error(told)
    assert "error=ValueError" in log.getvalue()
    assert log.getvalue().endswith("failed with KeyError\n")
    assert "what the user asked" not in log.getvalue()


def test_what_agents_say_of_their_turns_stays_out_of_the_log(log: io.StringIO) -> None:
    logging.getLogger("endstop.oracle").info("words of a model")
    logging.getLogger("endstop.oracle").warning("a warning")
    logging.getLogger("uvicorn.error").info("Started server process")
    assert "a warning" in log.getvalue()
    assert len(log.getvalue().splitlines()) == 1


@pytest.mark.usefixtures("log")
def test_without_a_stream_it_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    handler = log_to()
    assert isinstance(handler.formatter, LineFormatter)
    logging.getLogger("endstop.server").info("ready")
    assert capsys.readouterr().err.endswith("info ready\n")


def test_a_database_that_is_gone_is_one_line_whatever_the_drivers_make_of_it(log: io.StringIO) -> None:
    refused = OSError(f"{REFUSED}\n\tIs the server running on that host?")
    pool = logging.getLogger("psycopg.pool")
    logging.getLogger("psycopg").warning("error ignored terminating %r: %s", "pipeline", refused)
    pool.warning("discarding closed connection: %s", "connection")
    for _ in range(50):
        pool.warning("error connecting in %r: %s", "pool-1", refused)
    pool.warning("reconnection attempt in pool %r failed after %s sec", "pool-1", 4)
    for number in range(8):
        failed = StoreError("The queue of runs could not be written")
        logging.getLogger("procrastinate.worker").error("Job %s ended", number, exc_info=failed)
    (line,) = log.getvalue().splitlines()
    assert " warning the database cannot be used; it is tried again until it can why=" in line
    assert "Connection refused" in line
    assert line.endswith("error=OSError")


def test_a_database_that_was_back_for_a_while_and_is_gone_again_is_told_again(log: io.StringIO) -> None:
    for at_s in (0, 30, 80, 130, 200, 210):  # there is more than a minute before the last two
        record = logging.LogRecord("psycopg.pool", logging.WARNING, "", 0, "%s", (OSError("gone"),), None)
        record.created = 1_000_000.0 + at_s
        logging.getLogger("psycopg.pool").handle(record)
    assert len(log.getvalue().splitlines()) == 2


def test_a_run_that_the_database_failed_is_told_without_the_words_of_the_error(log: io.StringIO) -> None:
    error = StoreError("what the user asked")
    logging.getLogger("procrastinate.worker.worker").error("Job failed: %s", error, exc_info=error)
    assert log.getvalue().endswith(
        "the database cannot be used; it is tried again until it can error=StoreError\n"
    )


def test_errors_of_drivers_that_are_something_else_are_told_by_their_kind(log: io.StringIO) -> None:
    error = KeyError("what the user asked")
    logging.getLogger("procrastinate.worker").error(f"Job failed: {error!r}, {error}", exc_info=error)
    logging.getLogger("psycopg").error("a callback failed: %s", error)
    first, second = log.getvalue().splitlines()
    assert first.endswith("error Job failed: KeyError, KeyError error=KeyError")
    assert second.endswith("error a callback failed: KeyError")


def test_what_drivers_say_without_an_error_is_told_if_it_may_matter(log: io.StringIO) -> None:
    logging.getLogger("procrastinate.worker").warning("a warning")
    logging.getLogger("procrastinate.worker").info("Starting worker")
    logging.getLogger("psycopg.pool").error("no pool any more")
    logging.getLogger("psycopg.pool").warning("discarding closed connection")
    assert [line.split(" ", 1)[1] for line in log.getvalue().splitlines()] == [
        "warning a warning",
        "error no pool any more",
    ]


def test_no_password_of_the_database_gets_into_the_log(log: io.StringIO) -> None:
    wrong = OSError("connection failed: host=db password=hunter2 dbname=runs")
    logging.getLogger("psycopg.pool").warning("error connecting in %r: %s", "pool-1", wrong)
    assert "host=db" in log.getvalue()
    assert "hunter2" not in log.getvalue()
