"""Trouble that can be foreseen: each is said in words with what to do, and no traceback is shown."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest
from cli_program import Endstop

from endstop.app import open_app, read_config
from endstop.cli import program
from endstop.cli.demo import verdict
from endstop.cli.ending import code_of, rule_shown
from endstop.cli.errors import exit_code_of, fault, tell
from endstop.cli.output import Column, Output, fitted
from endstop.cli.resume import tell_left_open
from endstop.cli.texts import clean, count, one_line
from endstop.errors import GrantRefusedError, RecordTakenError, StoreError
from endstop.kernel.outcome import (
    Abandoned,
    AwaitingUser,
    Cancelled,
    Completed,
    Failed,
    Outcome,
    Stopped,
    StopReason,
    StopRule,
    UnderReview,
)
from endstop.kernel.review import Review
from endstop.runner import Run


@pytest.mark.guarantee("I7")
@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("runs", "--nonsense"),
        ("runs", "--limit", "0"),
        ("runs", "--limit", "x"),
        ("show",),
        ("show", "a", "b"),
        ("demo", "nonsense"),
        ("demo", "recovers", "--seconds", "0"),
        ("demo", "recovers", "--seconds", "nan"),
        ("bound", "--turns", "1e3"),
    ],
)
def test_a_command_line_that_cannot_be_read_is_a_usage_error(
    endstop: Endstop, arguments: tuple[str, ...]
) -> None:
    done = endstop(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("endstop: ")
    assert "To do: " in done.err
    told = endstop(*arguments, "--json")
    assert told.code == 2
    assert told.error["to_do"]


def test_a_database_that_is_none(endstop: Endstop, home: Path) -> None:
    home.mkdir()
    (home / "endstop.db").write_text("this is no database, but it is long enough to be taken for one" * 50)
    done = endstop("runs")
    assert (done.code, done.out) == (1, "")
    assert "is no SQLite database" in done.err
    assert endstop("demo", "recovers", "--json").error["code"] == "store_failed"
    assert endstop("doctor").code == 1


def test_a_database_of_a_newer_version_is_left_alone(endstop: Endstop, home: Path) -> None:
    assert endstop("demo", "recovers").code == 0
    _change(home, "UPDATE {version} SET version_num = '9999'")
    done = endstop("runs", "--json")
    assert (done.code, done.error["code"]) == (1, "newer_store")
    assert done.error["to_do"]
    assert endstop("doctor").code == 1


def test_a_database_that_another_process_has_locked(endstop: Endstop, home: Path) -> None:
    assert endstop("demo", "recovers").code == 0
    holder = sqlite3.connect(home / "endstop.db", isolation_level=None)
    try:
        holder.execute("BEGIN EXCLUSIVE")
        done = endstop("settings", "set", "max_iterations=5")
    finally:
        holder.close()
    assert done.code == 1
    assert "locked by another process" in done.err
    assert endstop("settings", "set", "max_iterations=5").code == 0


@pytest.mark.parametrize(
    "environ",
    [
        {"ENDSTOP_HOME": "/dev/null/home"},
        {"ENDSTOP_DATABASE_URL": "sqlite:////nowhere/at/all.db"},
        {"ENDSTOP_DATABASE_URL": "sqlite:////"},
        {"ENDSTOP_DATABASE_URL": "oracle://me:secret@host/x"},
        {"ENDSTOP_DATABASE_URL": "postgresql://me:secret@127.0.0.1:1/x"},
    ],
)
def test_a_place_where_nothing_can_be_kept(endstop: Endstop, environ: dict[str, str]) -> None:
    done = endstop("runs", **environ)
    assert done.code in (1, 2)
    assert done.err.startswith("endstop: ")
    assert "To do: " in done.err
    assert "secret" not in done.err


@pytest.mark.parametrize("command", ["runs", "doctor"])
def test_a_home_folder_of_somebody_who_is_not_there(endstop: Endstop, command: str) -> None:
    done = endstop(command, ENDSTOP_HOME="~nobody-of-that-name/x")
    assert (done.code, "ENDSTOP_HOME" in done.err) == (2, True)


def test_an_interrupt_that_came_too_early_or_too_late_says_so(
    endstop: Endstop, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert endstop("demo", "recovers").code == 0
    run = endstop("runs", "--json").json[0]["run"]

    async def told(run_id: str) -> None:
        async with open_app(read_config({"ENDSTOP_HOME": str(home)})) as app:
            await tell_left_open(app, Output(is_json=False), run_id)

    asyncio.run(told("run_nope"))
    assert "before the run began" in capsys.readouterr().out
    asyncio.run(told(run))
    assert "had just ended" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("outcome", "rule", "code"),
    [
        (None, "left open", 6),
        (Completed(answer="yes"), "finished", 0),
        (Completed(answer="yes", warnings=("Late.",)), "finished, with a warning", 3),
        (Abandoned(reason="no"), "abandoned", 4),
        (Cancelled(by="ann"), "cancelled by ann", 4),
        (Failed(code="model_access", message="no"), "failed: model access", 1),
        (Stopped(reason=StopReason(rule=StopRule.NO_PROGRESS, message="no")), "no progress", 5),
        (UnderReview(review=Review(id="1", why="why")), "paused for review", 6),
        (AwaitingUser(question="what?"), "waits for an answer", 6),
    ],
)
@pytest.mark.guarantee("J1")
def test_every_outcome_has_its_words_and_its_exit_code(outcome: Outcome | None, rule: str, code: int) -> None:
    assert rule_shown(Run(id="run_1", outcome=outcome, facts=())) == rule
    assert code_of(outcome) == code


def test_what_nobody_foresaw_is_said_in_words_too(capsys: pytest.CaptureFixture[str]) -> None:
    tell(fault(ZeroDivisionError("by zero")), is_json=False)
    told = capsys.readouterr().err
    assert "ZeroDivisionError: by zero" in told
    assert "ENDSTOP_DEBUG=1" in told


def test_a_fault_of_our_own_ends_a_command_in_words_and_with_a_traceback_only_when_asked_for(
    endstop: Endstop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(program, "_app", fail)
    done = endstop("runs")
    assert (done.code, "ZeroDivisionError" in done.err) == (1, True)
    with pytest.raises(ZeroDivisionError):
        endstop("runs", ENDSTOP_DEBUG="1")


def test_the_gallery_says_so_when_something_did_not_hold() -> None:
    assert verdict(2, 2, [], []) == "every run ended: 2 of 2, inside its budget, audits hold"
    assert verdict(1, 2, ["a"], ["b"]) == "runs that ended: 1 of 2; past their budget: a; audit broken: b"


def test_refusals_and_failures_have_codes_of_their_own() -> None:
    assert exit_code_of(GrantRefusedError("too much")) == 2
    assert exit_code_of(StoreError("full")) == 1
    assert exit_code_of(RecordTakenError("taken")) == 1


def test_text_is_made_safe_for_a_terminal() -> None:
    assert clean("a\x1b[31mb\r\n\tc\u202e\ud800") == "a\ufffd[31mb\n\tc\ufffd"
    assert one_line("a  b\n c") == "a b c"
    assert one_line("x" * 100, 10) == "x" * 9 + "…"
    assert (count(1, "turn"), count(2_000, "turn")) == ("1 turn", "2,000 turns")


def test_columns_that_may_shrink_give_way_and_no_others() -> None:
    columns = (Column(name="run"), Column(name="why", may_shrink=True))
    assert fitted([16, 60], columns, 50) == [16, 32]
    assert fitted([16, 30], columns, 50) == [16, 30]
    assert fitted([16, 60], columns, 20) == []
    assert fitted([60], (Column(name="run"),), 20) == []


def _change(home: Path, statement: str) -> None:
    database = sqlite3.connect(home / "endstop.db")
    with database:
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        version = next(name for name in names if "version" in name)
        database.execute(statement.format(version=version))
    database.close()
