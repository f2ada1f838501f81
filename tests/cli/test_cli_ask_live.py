"""``endstop ask`` while it is at work: drawn on a terminal, interrupted once and twice, told to end."""

from __future__ import annotations

import fcntl
import signal
import sqlite3
import subprocess
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
from ask_models import PROGRAM
from cli_program import in_process_of_its_own, on_terminal, started

from endstop.store.schema_names import RUNS

INTERRUPTED = "is saved, and the run is left open"
FINISHING = "Ctrl-C: the turn under way is finished first"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "limits.py").write_text(
        '"""Limits."""\n\n\ndef check_limits(turns, most):\n    return turns < most\n'
    )
    return folder


@pytest.mark.guarantee("J1")
def test_on_a_terminal_the_answer_is_drawn_as_markdown_while_it_comes_with_two_lines_of_bars(
    home: Path, project: Path
) -> None:
    done = on_terminal(
        home, "ask", "Where?", "--project", str(project), "--model", "test:thoughtful", program=PROGRAM
    )
    assert done.code == 0
    frames = done.plain.split("test:thoughtful on project, run_")
    assert "turns" in frames[1]
    assert [line.split()[0] for line in frames[1].splitlines() if "━" in line] == ["turns", "tokens"]
    final = frames[-1]
    assert "━" not in final  # the bars make way for the answer
    assert "thought: Where could limits be?" in final
    assert "search_code limits … 1 found" in final
    assert "They are in limits.py, see limits.py:4." in final
    assert " • two" in final
    assert "**" not in final
    assert "Sources\r\n   1. limits.py:" in final


@pytest.mark.parametrize("columns", [40, 72])
def test_the_drawing_fits_the_terminal(home: Path, project: Path, columns: int) -> None:
    done = on_terminal(
        home,
        *("ask", "Where?", "--project", str(project), "--model", "test:thoughtful", "--cost", "1"),
        columns=columns,
        program=PROGRAM,
    )
    assert done.code == 0
    widest = max(len(line.rstrip()) for line in done.plain.replace("\r", "\n").splitlines())
    assert widest <= columns


@pytest.mark.guarantee("J2")
def test_on_a_terminal_the_built_in_model_says_once_what_it_is(home: Path, project: Path) -> None:
    done = on_terminal(home, "ask", "Where is check_limits?", "--project", str(project))
    final = done.plain[done.plain.rindex("endstop:extractive on project") :]
    assert final.count("No language model is at work") == 1
    assert "def check_limits(turns, most):" in final


def test_on_a_terminal_an_ending_that_is_not_plain_is_said_in_one_line(home: Path, project: Path) -> None:
    done = on_terminal(
        home,
        *("ask", "Where?", "--project", str(project), "--model", "test:endless", "--max-turns", "14"),
        program=PROGRAM,
        columns=200,
    )
    assert done.code == 3
    assert "Why: endstop explain run_" in done.plain.rstrip().splitlines()[-1]
    assert "more before these" in done.plain


@pytest.mark.guarantee("D10")
def test_ctrl_c_once_finishes_the_turn_and_leaves_the_run_open_to_be_resumed(
    home: Path, project: Path
) -> None:
    process = _asking(home, project, "test:slow")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    assert FINISHING in err
    assert "search_code limits … 1 found" in err  # the turn was finished, its tool call, too
    assert INTERRUPTED in err
    run = err.strip().splitlines()[-1].removeprefix("Go on with: endstop resume ")
    resumed = started(home, "resume", run, program=PROGRAM)
    out, err = resumed.communicate(timeout=20)
    assert (resumed.returncode, "Said in the end." in out) == (0, True)
    assert in_process_of_its_own(home, "audit", run).code == 0


@pytest.mark.guarantee("D10")
def test_ctrl_c_twice_cuts_the_turn_saves_what_was_said_and_leaves_the_run_open(
    home: Path, project: Path
) -> None:
    process = _asking(home, project, "test:hanging", "--json")
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None  # it would finish its turn, which hangs
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, err) == (130, "")
    assert FINISHING in out
    assert '"event": "interrupted"' in out
    shown = in_process_of_its_own(home, "show", "last", "--all")
    assert "A few words, and then" in shown.out
    assert "left open" in shown.out


@pytest.mark.guarantee("D10")
def test_told_to_end_it_saves_and_says_how_to_go_on(home: Path, project: Path) -> None:
    process = _asking(home, project, "test:hanging")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out) == (143, "")
    assert INTERRUPTED in err


@pytest.mark.guarantee("A11")
def test_whoever_does_not_read_what_is_said_beside_the_answer_does_not_hold_up_the_run(
    home: Path, project: Path
) -> None:
    options = (
        "--project",
        str(project),
        "--model",
        "test:endless",
        "--max-turns",
        "100",
        "--tokens",
        "2000000",
    )
    process = started(home, "ask", "Where?", *options, program=PROGRAM)
    assert process.stderr is not None
    fcntl.fcntl(process.stderr, fcntl.F_SETPIPE_SZ, 4_096)
    _until(home, "ended_at IS NOT NULL", process)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 3
    assert "Looking, 1." in out
    assert len(err) > 4_096


def test_a_reader_that_goes_away_does_no_harm_to_the_run(home: Path, project: Path) -> None:
    process = _asking(home, project, "test:slow")
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(timeout=20) == 141
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    assert in_process_of_its_own(home, "audit", "last").code == 0


def _asking(home: Path, project: Path, model: str, *options: str) -> subprocess.Popen[str]:
    """The program, asked, and at work on its first turn."""
    process = started(
        home, "ask", "Where?", "--project", str(project), "--model", model, *options, program=PROGRAM
    )
    _until(home, "turns > 0", process)
    return process


def _until(home: Path, is_so: str, process: subprocess.Popen[str]) -> None:
    """Wait until it is so of a run. The database is looked at directly: a command would take too long."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        assert process.poll() is None, process.communicate()
        with suppress(sqlite3.OperationalError):  # it is not there yet
            with closing(sqlite3.connect(f"file:{home / 'endstop.db'}?mode=ro", uri=True)) as database:
                (found,) = database.execute(f"SELECT count(*) FROM {RUNS} WHERE {is_so}").fetchone()
            if found:
                return
        time.sleep(0.02)
    raise AssertionError("it never was so")
