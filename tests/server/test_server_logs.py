"""The log of the server: one line for each thing, with the run it is about, and never a secret."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from endstop.server.logs import LineFormatter, log_to, without_secrets

SECRET = "es_" + "Ab3-_xYz" * 5 + "Qr7"
"""Of the form of a real one, and the same in every process that collects these tests."""


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What the server logs, while it logs there; all as before after it."""
    loggers = [logging.getLogger(name) for name in ("endstop", "uvicorn", "endstop.server")]
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
