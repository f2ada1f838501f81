"""``endstop build --example``: all four endings with one command, without a model or a key (issue 7)."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from cli_program import COMMAND, Done, Endstop, environment, in_process_of_its_own

from endstop.cli import build_examples

pytestmark = pytest.mark.timeout(240)  # real tests are run a dozen times

NAMES = ("accepted", "vague", "dear", "stuck")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("examples")


@pytest.fixture(scope="module")
def everything(place: Path) -> Done:
    """All four, in a process of its own."""
    done = subprocess.run(
        [*COMMAND, "build", "--example", "all", "--repo", str(place / "repositories")],
        env=environment(place / "home"),
        capture_output=True,
        text=True,
        timeout=200,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return Done(code=done.returncode, out=done.stdout, err=done.stderr)


def part(everything: Done, name: str) -> str:
    """What was told of one of them."""
    _, _, told = everything.out.partition(f"Example {name}: ")
    return told.partition("The sample repository stays:")[0]


@pytest.mark.guarantee("J1", "G7")
def test_one_command_shows_all_four_endings_and_says_that_each_is_right(everything: Done) -> None:
    assert (everything.code, everything.err) == (0, "")
    table = everything.out.rpartition("exit code")[2].splitlines()[1:5]
    assert [(row.split()[0], row.split()[1], row.split()[-2]) for row in table] == [
        ("accepted", "yes", "0"),
        ("vague", "yes", "4"),
        ("dear", "yes", "4"),
        ("stuck", "yes", "5"),
    ]
    assert "every example ended as it should" in everything.out
    assert everything.out.count("What this session can use at most:") == 1


def test_the_accepted_one_shows_a_finding_that_is_mended_and_a_pass_that_is_taken_back(
    everything: Done,
) -> None:
    told = part(everything, "accepted")
    assert "The example answers: Most hours first, please." in told
    assert "Specification, cycle 1, attempt 1: lacks risk level" in told
    assert "critical: An empty timesheet ends in a ZeroDivisionError (timesheet.py:" in told
    assert "Round 1 ended: 1 open issue" in told
    assert "failed: test_timesheet.py::" in told
    assert "simplifying 2, taken back" in told
    assert "met, verified: test_" in told


def test_the_vague_one_says_what_each_attempt_lacked_and_how_to_ask(everything: Done) -> None:
    told = part(everything, "vague")
    assert len(re.findall(r"Specification, cycle 1, attempt \d: lacks", told)) == 3
    assert "✗ specify" in told
    assert "What was tried" in told
    assert "Rephrase your request more specifically." in told


def test_the_dear_one_offers_alternatives_before_it_gives_up(everything: Done) -> None:
    told = part(everything, "dear")
    assert [f"{number}. " in told for number in (1, 2, 3)] == [True] * 3
    assert "Price: rejected by me" in told
    assert "raise price.reject_over_usd" in told


def test_the_stuck_one_ends_with_the_table_of_its_rounds(everything: Done) -> None:
    told = part(everything, "stuck")
    assert "Stopped: it is stuck." in told
    assert told.count("100%") == 2
    assert "It stayed open: Critical: Work past midnight" in told


@pytest.mark.parametrize("name", NAMES)
def test_its_repository_stays_and_is_as_it_was(everything: Done, place: Path, name: str) -> None:
    folder = place / "repositories" / name
    assert f"The sample repository stays: {folder}" in everything.out
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=folder, capture_output=True, text=True, check=True
    )
    assert status.stdout == ""


@pytest.mark.guarantee("G7")
def test_explain_says_of_an_abandoned_session_what_was_tried_and_what_to_do(
    everything: Done, place: Path
) -> None:
    run = re.search(r"example:vague on vague, (run_\w+)", everything.out)
    assert run is not None
    told = in_process_of_its_own(place / "home", "explain", run[1]).out
    assert "specification, cycle 1, attempt 3: lacks" in told
    assert "What to do:\n  Rephrase your request more specifically" in told
    assert f"endstop session show {run[1]}" in told


def test_a_single_one_has_the_exit_code_of_its_outcome_and_json_lines(
    endstop: Endstop, tmp_path: Path
) -> None:
    done = endstop("build", "--example", "vague", "--json", TMPDIR=str(tmp_path))
    lines = done.json_lines
    assert done.code == 4
    assert [line["event"] for line in lines[:3]] == ["example", "bound", "started"]
    assert (Path(lines[0]["folder"]) / "timesheet.py").is_file()
    assert [line["event"] for line in lines].count("asked") == 1
    assert lines[-1]["session"]["kind"] == "abandoned"


def test_a_folder_that_is_not_empty_is_refused_and_left_alone(endstop: Endstop, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("Mine.")
    done = endstop("build", "--example", "vague", "--repo", str(tmp_path))
    assert (done.code, "a folder that is empty" in done.err) == (2, True)
    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == ["mine.txt"]


@pytest.mark.parametrize("is_json", [False, True])
def test_one_that_does_not_end_as_it_should_is_said(
    endstop: Endstop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_json: bool
) -> None:
    short = {name: build_examples.EXAMPLES[name] for name in ("vague", "dear")}
    monkeypatch.setattr(build_examples, "EXAMPLES", short)
    monkeypatch.setattr(build_examples, "ENDS_AS", {"vague": "abandoned", "dear": "succeeded"})
    options = ("--json",) if is_json else ()
    done = endstop("build", "--example", "all", "--repo", str(tmp_path / "here"), *options)
    assert done.code == 1
    if is_json:
        result = done.json_lines[-1]
        assert (result["event"], result["holds"]) == ("result", False)
        assert [(one["example"], one["is_right"]) for one in result["examples"]] == [
            ("vague", True),
            ("dear", False),
        ]
    else:
        assert "not as it should: dear" in done.out
