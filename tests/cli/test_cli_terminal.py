"""On a real terminal: live bars, colour or none, narrow ones, and questions."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_program import Endstop, on_terminal
from cli_runs import under_review


@pytest.mark.guarantee("J1")
def test_a_demo_is_drawn_live_with_bars(home: Path) -> None:
    done = on_terminal(home, "demo", "hangs_mid_stream", "cycle_of_two", "--seconds", "1")
    assert done.code == 0
    assert "\x1b[?25l" in done.out  # the cursor is hidden while it draws
    assert "\x1b[?25h" in done.out
    assert "━" in done.out
    assert "every run ended: 2 of 2, inside its budget, audits hold" in done.plain


def test_no_color_means_no_colour(gallery: Path) -> None:
    coloured = on_terminal(gallery, "show", "last")
    plain = on_terminal(gallery, "show", "last", env={"NO_COLOR": "1"})
    assert "\x1b[31m" in coloured.out or "\x1b[33m" in coloured.out
    assert not any(f"\x1b[{number}m" in plain.out for number in (31, 32, 33, 36))


def test_a_dumb_terminal_gets_plain_lines(home: Path) -> None:
    done = on_terminal(home, "demo", "recovers", env={"TERM": "dumb"})
    assert "\x1b" not in done.out
    assert "every run ended: 1 of 1" in done.out


@pytest.mark.parametrize(
    ("command", "columns"),
    [("runs", 30), ("runs", 100), ("show", 20), ("settings", 50), ("audit", 45), ("doctor", 40)],
)
def test_tables_and_lines_fit_the_terminal(gallery: Path, command: str, columns: int) -> None:
    arguments = (command, "last") if command in ("show", "audit") else (command,)
    done = on_terminal(gallery, *arguments, columns=columns)
    assert done.code == 0
    widest = max(len(line.rstrip()) for line in done.plain.splitlines())
    assert widest <= columns


def test_a_run_that_waits_says_how_to_go_on_below_a_table_that_had_to_be_cut(home: Path) -> None:
    run = under_review(home)
    done = on_terminal(home, "runs", columns=100)
    assert f"{run} waits for review: endstop review {run}" in done.plain


@pytest.mark.guarantee("D4")
def test_a_review_is_decided_by_answering_questions(home: Path, endstop: Endstop) -> None:
    run = under_review(home)
    later = on_terminal(home, "review", run, typed="\n")
    assert (later.code, "Nothing was decided." in later.plain) == (0, True)
    done = on_terminal(home, "review", run, "--resume", typed="approve\nnearly there\n2\n")
    assert done.code == 3
    assert "nearly there" in endstop("show", run).out


@pytest.mark.guarantee("D4")
def test_changes_and_rejections_are_asked_for_in_words(home: Path, endstop: Endstop) -> None:
    run = under_review(home)
    changed = on_terminal(home, "review", run, typed="changes\nit wanders\nbe brief\n3\n")
    assert (changed.code, "may go on" in changed.plain) == (0, True)
    assert "User: be brief" in endstop("show", run).out
    other = under_review(home)
    rejected = on_terminal(home, "review", other, typed="reject\nenough\n")
    assert (rejected.code, "has ended as abandoned" in rejected.plain) == (0, True)
