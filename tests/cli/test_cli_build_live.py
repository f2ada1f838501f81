"""``endstop build`` at work: drawn on a terminal, asking, interrupted once and twice, told to end."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
from build_models import INTENT, PROGRAM, QUICK, sample
from cli_program import Done, in_process_of_its_own, line_with, on_terminal, started

from endstop.store.schema_names import RUNS

INTERRUPTED = "is saved, and the run is left"
FINISHING = "Ctrl-C: the turn under way is finished first"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return sample(tmp_path / "repository")


def building(
    home: Path,
    repository: Path,
    *options: str,
    typed: str = "",
    model: str = "test:works",
    columns: int = 100,
) -> Done:
    return on_terminal(
        home,
        *("build", INTENT, "--repo", str(repository), "--model", model, *QUICK, *options),
        typed=typed,
        columns=columns,
        program=PROGRAM,
    )


@pytest.mark.guarantee("J1", "D7")
def test_on_a_terminal_the_session_is_drawn_with_its_steps_and_bars_and_asks_what_it_needs(
    home: Path, repository: Path
) -> None:
    done = building(home, repository, typed="French\n")
    assert done.code == 0
    drawn = done.plain
    assert "▸ interview   · specify   · price   · build   · done" in drawn
    assert "━" in drawn
    assert "\x1b[?25l" in done.out  # the cursor is hidden while it draws
    assert "The product manager asks:" in drawn
    assert "  In which language?" in drawn
    ending = drawn.rpartition("✓ interview   ✓ specify   ✓ price   ✓ build   ✓ done")[2]
    assert "Done: every success criterion is met" in ending
    assert "endstop session accept run_" in ending
    assert "turn 1 of builder" not in drawn  # who is at work is drawn, and not kept


@pytest.mark.thorough
@pytest.mark.guarantee("G2")
def test_the_price_is_asked_until_the_answer_is_clear_and_an_alternative_can_be_chosen(
    home: Path, repository: Path
) -> None:
    done = building(home, repository, typed="maybe\nno\n", model="example:dear")
    assert done.code == 4
    assert done.plain.count("The price:") == 2
    assert "That was not understood: 'maybe'" in done.plain
    assert "1. Smaller scope (at most $" in done.plain
    assert "✗ price" in done.plain
    later = building(home, repository, typed="\n", model="example:dear", columns=200)
    assert later.code == 6
    assert later.plain.rstrip().endswith("--answer 1")


@pytest.mark.thorough
def test_enter_alone_leaves_the_question_open_and_says_how_to_answer_later(
    home: Path, repository: Path
) -> None:
    later = building(home, repository, typed="\n", columns=200)
    assert later.code == 6
    assert later.plain.count("In which language?") == 1
    run = later.plain.rpartition("Go on with: endstop resume ")[2].split()[0]
    assert "waits for an answer; everything is saved." in later.plain
    again = on_terminal(home, "resume", run, typed="\n", program=PROGRAM, columns=200)
    assert (again.code, "In which language?" in again.plain) == (6, True)
    done = on_terminal(home, "resume", run, typed="French\n", program=PROGRAM)
    assert done.code == 0
    assert f"{run} goes on after" in done.plain
    assert "Done: every success criterion is met" in done.plain


@pytest.mark.thorough
def test_what_is_unusual_about_the_repository_is_asked_about(home: Path, repository: Path) -> None:
    (repository / "notes.txt").write_text("Mine.\n")
    refused = building(home, repository, typed="\n")
    assert refused.code == 2
    assert "Mind: 1 file has a change that no commit holds" in refused.plain
    assert "Nothing was begun." in refused.plain
    accepted = building(home, repository, typed="y\nFrench\n")
    assert accepted.code == 0


@pytest.mark.thorough
@pytest.mark.guarantee("D4")
def test_a_review_is_decided_in_the_middle_of_a_session(home: Path, repository: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("build:\n  turns: 2\n")
    options = ("--policy", str(policy))
    # More than may be granted is said, and asked again.
    typed = "French\napprove\nnearly there\n900\nchanges\nnearly there\nhand it in\n5\n"
    done = building(home, repository, *options, typed=typed, model="test:restless")
    assert done.code == 0, done.plain
    assert "Maximum coding iterations (2) reached" in done.plain
    assert "Allowed:" in done.plain
    later = building(home, repository, *options, typed="French\nlater\n", model="test:restless", columns=200)
    assert later.code == 6
    run = later.plain.rpartition("Decide it: endstop review ")[2].split()[0]
    rejected = on_terminal(home, "resume", run, typed="reject\nenough\n", program=PROGRAM)
    assert rejected.code == 4
    assert "Abandoned." in rejected.plain


@pytest.mark.thorough
def test_non_interactive_asks_nothing_on_a_terminal_either(home: Path, repository: Path) -> None:
    done = building(home, repository, "--non-interactive")
    assert done.code == 0
    assert "In which language?" not in done.plain


@pytest.mark.thorough
@pytest.mark.parametrize("columns", [40, 72])
def test_the_drawing_and_the_ending_fit_the_terminal(home: Path, repository: Path, columns: int) -> None:
    done = building(home, repository, typed="French\n", columns=columns)
    assert done.code == 0
    lines = [line for line in done.plain.replace("\r", "\n").splitlines() if "Your answer" not in line]
    assert max(len(line.rstrip()) for line in lines) <= columns


@pytest.mark.thorough
def test_an_example_answers_by_itself_on_a_terminal(home: Path, tmp_path: Path) -> None:
    done = on_terminal(home, "build", "--example", "vague", "--repo", str(tmp_path / "here"), columns=200)
    assert done.code == 4
    assert "The example answers: Just nicer, you know." in done.plain
    assert f"The sample repository stays: {tmp_path / 'here'}" in done.plain


@pytest.mark.thorough
@pytest.mark.guarantee("D10")
def test_ctrl_c_while_it_asks_leaves_it_waiting_and_says_how_to_go_on(home: Path, repository: Path) -> None:
    asked = building(home, repository, typed="\x03", columns=200)
    assert asked.code == 130, asked.plain
    assert "waits for an answer; everything is saved." in asked.plain
    run = asked.plain.rpartition("Go on with: endstop resume ")[2].split()[0]
    again = on_terminal(home, "resume", run, typed="\x03", program=PROGRAM, columns=200)
    assert (again.code, "Go on with: endstop resume" in again.plain) == (130, True)
    gone = on_terminal(home, "resume", run, typed="\x04", program=PROGRAM, columns=200)
    assert (gone.code, "Go on with: endstop resume" in gone.plain) == (6, True)


@pytest.mark.guarantee("D10")
def test_ctrl_c_twice_at_once_while_it_asks_still_says_how_to_go_on(home: Path, repository: Path) -> None:
    asked = building(home, repository, typed="\x03\x03", columns=200)
    assert asked.code == 130, asked.plain
    assert "waits for an answer; everything is saved." in asked.plain
    assert "Go on with: endstop resume" in asked.plain


@pytest.mark.thorough
@pytest.mark.guarantee("D10", "H5")
def test_ctrl_c_once_finishes_the_turn_and_leaves_the_session_open_to_be_resumed(
    home: Path, repository: Path
) -> None:
    process = _building(home, repository, "test:slow", turns=4)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "")
    assert FINISHING in out
    assert INTERRUPTED in out
    run = out.strip().splitlines()[-1].removeprefix("Go on with: endstop resume ")
    resumed = started(home, "resume", run, program=PROGRAM)
    out, err = resumed.communicate(timeout=30)
    assert (resumed.returncode, err) == (0, "")
    assert "Done: every success criterion is met" in out
    assert in_process_of_its_own(home, "audit", run).code == 0
    rounds = in_process_of_its_own(home, "session", "list", "--json").json[0]["rounds"]
    assert rounds == 1


@pytest.mark.guarantee("D10")
def test_ctrl_c_twice_cuts_the_turn_and_saves(home: Path, repository: Path) -> None:
    process = _building(home, repository, "test:hanging", turns=4)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None  # it would finish its turn, which hangs
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=15)
    assert (process.returncode, err) == (130, "")
    assert INTERRUPTED in out
    refused = in_process_of_its_own(home, "session", "discard", "last")
    assert (refused.code, "has not ended: it was left open" in refused.err) == (2, True)


@pytest.mark.thorough
@pytest.mark.guarantee("D10")
def test_told_to_end_it_saves_and_says_how_to_go_on(home: Path, repository: Path) -> None:
    process = _building(home, repository, "test:hanging", turns=4)
    busy = in_process_of_its_own(home, "session", "accept", "last")
    assert (busy.code, "has not ended: it is still under way" in busy.err) == (2, True)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=15)
    assert process.returncode == 143
    assert INTERRUPTED in out


@pytest.mark.thorough
def test_ctrl_c_in_the_middle_of_all_examples_ends_them_all(home: Path, tmp_path: Path) -> None:
    process = started(home, "build", "--example", "all", "--repo", str(tmp_path / "here"))
    line_with(process, "turn 1 of builder 1")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "")
    assert INTERRUPTED in out
    assert "Example vague" not in out


def _building(home: Path, repository: Path, model: str, *, turns: int) -> subprocess.Popen[str]:
    """The program, at work on its so manieth turn."""
    process = started(
        home,
        *("build", INTENT, "--repo", str(repository), "--model", model, *QUICK),
        program=PROGRAM,
    )
    until = time.monotonic() + 30
    while time.monotonic() < until:
        assert process.poll() is None, process.communicate()
        with suppress(sqlite3.OperationalError):  # it is not there yet
            with closing(sqlite3.connect(f"file:{home / 'endstop.db'}?mode=ro", uri=True)) as database:
                (found,) = database.execute(f"SELECT count(*) FROM {RUNS} WHERE turns >= {turns}").fetchone()
            if found:
                return process
        time.sleep(0.02)
    raise AssertionError("it never came so far")
