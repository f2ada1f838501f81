"""Trouble that can be foreseen: each is said in words with what to do, and no traceback is shown."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from cli_program import Endstop

from endstop.cli.errors import exit_code_of, fault, tell
from endstop.cli.output import Column, fitted
from endstop.cli.texts import clean, count, one_line
from endstop.errors import GrantRefusedError, RecordTakenError, StoreError


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


def test_what_nobody_foresaw_is_said_in_words_too(capsys: pytest.CaptureFixture[str]) -> None:
    tell(fault(ZeroDivisionError("by zero")), is_json=False)
    told = capsys.readouterr().err
    assert "ZeroDivisionError: by zero" in told
    assert "ENDSTOP_DEBUG=1" in told


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
