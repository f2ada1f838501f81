"""Going on, ending and deciding: ``resume``, ``cancel``, ``review``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cli_program import Endstop
from cli_runs import awaiting_user, run_of, under_review, with_tools_of_its_own

from endstop.app.gallery import demo_agent
from endstop.loop.agent import OnLimit


def test_a_finished_run_is_not_resumed(in_gallery: Endstop) -> None:
    done = in_gallery("resume", "last")
    assert (done.code, done.out) == (2, "")
    assert "has finished" in done.err
    assert in_gallery("resume", "last", "--json").error["code"] == "run_state"


def test_resume_without_a_run_says_that_none_was_left_open(in_gallery: Endstop) -> None:
    assert in_gallery("resume").code == 2
    assert in_gallery("resume", "--all").out == "No run was left open.\n"


def test_all_goes_with_nothing_else(in_gallery: Endstop) -> None:
    assert in_gallery("resume", "last", "--all").code == 2
    assert in_gallery("resume", "--all", "--grant-turns", "1").code == 2


@pytest.mark.guarantee("D4")
def test_a_grant_approves_the_review_and_the_run_goes_on(endstop: Endstop, home: Path) -> None:
    run = under_review(home)
    refused = endstop("resume", run)
    assert (refused.code, f"endstop review {run}" in refused.err) == (2, True)
    done = endstop("resume", run, "--grant-turns", "2", "--why", "nearly there")
    assert done.code == 3
    assert "granted more by me: nearly there" in done.out
    assert "turns 14/14" in done.out
    assert "audit     holds" in done.out


def test_resume_as_json_gives_lines_and_the_outcome_last(endstop: Endstop, home: Path) -> None:
    done = endstop("resume", under_review(home), "--grant-turns", "2", "--json")
    *steps, ended = done.json_lines
    assert {step["event"] for step in steps} == {"turn", "notice"}
    assert ended["event"] == "ended"
    assert ended["spent"]["turns"] == {"used": 14, "limit": 14}
    assert (ended["exit_code"], ended["audit_holds"]) == (done.code, True)


@pytest.mark.guarantee("A8")
def test_a_grant_past_the_cap_is_refused_and_the_review_still_waits(endstop: Endstop, home: Path) -> None:
    run = under_review(home)
    done = endstop("resume", run, "--grant-turns", "1000")
    assert (done.code, "cap on grants" in done.err) == (2, True)
    assert endstop("resume", run, "--grant-turns", "2").code == 3


@pytest.mark.parametrize("options", [("--grant-turns", "0"), ("--grant-turns", "-3"), ("--grant-cost", "x")])
def test_a_grant_of_nothing_or_nonsense_is_refused(
    endstop: Endstop, home: Path, options: tuple[str, str]
) -> None:
    run = under_review(home)
    assert endstop("resume", run, *options).code == 2
    assert endstop("show", run, "--json").json["state"] == "waits for review"


@pytest.mark.guarantee("D7")
def test_a_run_that_asks_the_user_goes_on_with_the_answer(endstop: Endstop, home: Path) -> None:
    run = awaiting_user(home)
    refused = endstop("resume", run)
    assert refused.code == 2
    assert "waits for an answer to: Shall I go on?" in refused.err
    assert f'endstop resume {run} --answer "…"' in refused.err
    done = endstop("resume", run, "--answer", "yes")
    assert done.code == 0
    assert "Here is the answer, after all." in done.out


def test_an_answer_that_nobody_asked_for_is_refused(endstop: Endstop, home: Path) -> None:
    done = endstop("resume", under_review(home), "--answer", "yes", "--grant-turns", "1")
    assert done.code == 2
    assert "waits for a review, not for an answer" in done.err


def test_a_run_with_tools_of_somebody_else_says_where_it_can_go_on(endstop: Endstop, home: Path) -> None:
    run = with_tools_of_its_own(home)
    done = endstop("resume", run, "--grant-turns", "1")
    assert done.code == 2
    assert "Resume it from the program that started it" in done.err


def test_cancel_ends_a_paused_run_and_keeps_its_work(endstop: Endstop, home: Path) -> None:
    run = under_review(home)
    done = endstop("cancel", run)
    assert done.code == 0
    assert f"{run} has ended: cancelled by me." in done.out
    assert endstop("cancel", run).code == 2
    assert endstop("audit", run).code == 0


def test_cancel_as_json(endstop: Endstop, home: Path) -> None:
    run = under_review(home)
    done = endstop("cancel", run, "--after-turn", "--json", ENDSTOP_USER="ann")
    assert done.json == {"run": run, "has_ended": True, "ending": "cancelled by ann"}


@pytest.mark.guarantee("D3")
def test_review_lists_what_waits_and_shows_one_whole(endstop: Endstop, home: Path) -> None:
    assert endstop("review").out == "No review waits to be decided.\n"
    run = under_review(home)
    listed = endstop("review").out
    assert run in listed
    assert "Iteration limit reached (12/12)" in listed
    shown = endstop("review", run).out
    assert "was doing" in shown
    assert "spent" in shown
    assert f"Decide it: endstop review {run} approve --turns 10" in shown
    told = endstop("review", run, "--json").json
    assert set(told) == {
        *("run", "review", "why", "doing", "spent", "findings", "warnings", "changes_asked_in_a_row"),
        *("requested_at", "decision", "by", "decided_at"),
    }
    assert endstop("review", "--json").json == [told]


def test_a_review_for_a_finding_shows_its_evidence(endstop: Endstop, home: Path) -> None:
    run = run_of(home, replace(demo_agent("repeats_call"), on_limit=OnLimit.REVIEW))
    out = endstop("review", run).out
    assert "found: echo was called 3 times in a row" in out
    assert "turn 1, call t1_1: echo" in out


@pytest.mark.guarantee("D4")
def test_approving_says_how_to_go_on(endstop: Endstop, home: Path) -> None:
    run = under_review(home)
    done = endstop("review", run, "approve", "--turns", "2")
    assert done.code == 0
    assert f"Go on with: endstop resume {run}" in done.out
    assert "approved by me" in endstop("review", run).out


@pytest.mark.guarantee("D4")
def test_approving_with_resume_goes_on_at_once(endstop: Endstop, home: Path) -> None:
    done = endstop("review", under_review(home), "approve", "--turns", "2", "--resume")
    assert done.code == 3
    assert "turns 14/14" in done.out


@pytest.mark.guarantee("D4")
def test_asking_for_changes_needs_feedback_and_hands_it_on(endstop: Endstop, home: Path) -> None:
    run = under_review(home)
    assert endstop("review", run, "changes", "--turns", "2").code == 2
    done = endstop("review", run, "changes", "--turns", "2", "--feedback", "be brief", "--json")
    assert done.json["decided"] == "needs_changes"
    assert "User: be brief" in endstop("show", run).out


@pytest.mark.guarantee("D4")
def test_rejecting_ends_the_run_as_abandoned(endstop: Endstop, home: Path) -> None:
    run = under_review(home)
    done = endstop("review", run, "reject", "--why", "not worth it")
    assert done.code == 0
    assert "has ended as abandoned" in done.out
    assert endstop("runs", "--json").json[0]["exit_code"] == 4
    assert "not worth it" in endstop("explain", run).out


def test_a_review_is_decided_once(endstop: Endstop, home: Path) -> None:
    run = under_review(home)
    assert endstop("review", run, "approve", "--turns", "2").code == 0
    again = endstop("review", run, "approve", "--turns", "2", "--json")
    assert (again.code, again.error["code"]) == (2, "run_state")
    assert endstop("review", run, "reject").code == 2


def test_approving_past_the_cap_is_refused_and_the_review_still_waits(endstop: Endstop, home: Path) -> None:
    run = under_review(home)
    done = endstop("review", run, "approve", "--turns", "1000")
    assert (done.code, "cap on grants" in done.err) == (2, True)
    assert [one["run"] for one in endstop("review", "--json").json] == [run]


@pytest.mark.parametrize("words", [("maybe",), ("approve",), ("approve", "--turns", "0")])
def test_a_decision_that_says_nothing_is_refused_and_nothing_is_decided(
    endstop: Endstop, home: Path, words: tuple[str, ...]
) -> None:
    run = under_review(home)
    done = endstop("review", run, *words)
    assert done.code == 2
    assert "To do: " in done.err
    assert [one["run"] for one in endstop("review", "--json").json] == [run]


def test_a_run_that_was_never_under_review_has_none_to_show(in_gallery: Endstop) -> None:
    assert in_gallery("review", "last").code == 2
