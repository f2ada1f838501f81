"""Escalation and budget review: soft, hard, paused, decided, rejected in the end (D2, D3, D4, D5, A8)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest
from loop_words import AttentiveModel, agent, of, run, runner, submit_tool

from endstop.errors import IterationLimitError
from endstop.events.facts import EscalationReached, ReviewDecided, ReviewRequested
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.escalation import Escalation
from endstop.kernel.observation import BudgetGranted, TurnStarted
from endstop.kernel.outcome import Abandoned, Completed, Failed, Forced, UnderReview
from endstop.kernel.review import Approved, NeedsChanges, Rejected, Review, ReviewDecision, RunPhase
from endstop.loop import Agent, OnLimit
from endstop.runner import Run, Runner
from endstop.testing import MemoryStore, Runaway, calls, echo_tool
from endstop.testing.adversaries.calls import IgnoresLastTurn, RepeatsCall

Decide = Callable[[Review], Awaitable[ReviewDecision]]


def more(turns: int = 2) -> Grant:
    return Grant(turns=turns, by="ada", why="it is nearly there")


def coder(**parts: Any) -> Agent:
    """An unattended agent with a hard limit of eight iterations, which it never keeps by itself."""
    parts.setdefault("escalation", Escalation(key="coding_56c6", hard=8))
    parts.setdefault("budget", Budget(turns=100, tokens=1_000_000))
    return agent(IgnoresLastTurn(), echo_tool(), terminal=submit_tool(), **parts)


def reviewed_by(*decisions: ReviewDecision | object) -> tuple[list[Review], Decide]:
    """A reviewer that decides as it is told, and what it was shown."""
    shown: list[Review] = []

    async def decide(review: Review) -> ReviewDecision:
        decision = decisions[min(len(shown), len(decisions) - 1)]
        shown.append(review)
        if isinstance(decision, Exception):
            raise decision
        return cast("ReviewDecision", decision)

    return shown, decide


@pytest.mark.guarantee("D2", "D3")
async def test_a_hard_limit_calls_its_handler_and_pauses_the_run_for_review() -> None:
    reached: list[IterationLimitError] = []
    escalation = Escalation(key="coding_56c6", hard=8, on_hard=reached.append)
    done = await run(coder(escalation=escalation))
    assert [str(each) for each in reached] == [
        "iteration limit (8) exceeded for key 'coding_56c6' at iteration 8"
    ]
    assert isinstance(done.outcome, UnderReview)
    review = done.outcome.review
    assert review.why == "Maximum coding iterations (8) reached"
    assert review.origin == "RUNNING"
    assert "echo" in review.doing
    assert "8 turns" in review.spent
    assert len(of(done.facts, TurnStarted)) == 8
    [noted] = of(done.facts, EscalationReached)
    assert (noted.key, noted.limit, noted.iteration, noted.is_hard) == ("coding_56c6", 8, 8, True)


@pytest.mark.guarantee("D2")
async def test_a_soft_limit_warns_once_and_goes_on() -> None:
    warned: list[tuple[str, int, int]] = []
    escalation = Escalation(
        key="pm", soft=3, hard=6, on_soft=lambda key, limit, at: warned.append((key, limit, at))
    )
    done = await run(coder(escalation=escalation))
    assert warned == [("pm", 3, 3)]
    soft, hard = of(done.facts, EscalationReached)
    assert (soft.is_hard, soft.iteration) == (False, 3)
    assert (hard.is_hard, hard.iteration) == (True, 6)
    assert len([fact for fact in done.facts if fact.type == "budget.iteration.warning"]) == 1


@pytest.mark.guarantee("D2")
async def test_a_handler_that_fails_is_an_error_in_which_the_limit_is_still_visible() -> None:
    def fail(limit: IterationLimitError) -> None:
        raise ValueError("nobody to tell")

    done = await run(coder(escalation=Escalation(key="coding_56c6", hard=2, on_hard=fail)))
    assert isinstance(done.outcome, Failed)
    assert done.outcome.code == "escalation_failed"
    assert "iteration limit (2) exceeded for key 'coding_56c6' at iteration 2" in done.outcome.message
    assert "nobody to tell" in done.outcome.message
    assert of(done.facts, EscalationReached)[0].failure


@pytest.mark.guarantee("D2")
async def test_an_agent_that_finishes_on_its_last_iteration_has_reached_no_limit() -> None:
    reached: list[IterationLimitError] = []
    model = AttentiveModel(calls("echo", page=1), calls("submit", ok=True))
    escalation = Escalation(key="coding", hard=2, on_hard=reached.append)
    done = await run(agent(model, echo_tool(), terminal=submit_tool(), escalation=escalation))
    assert reached == []
    assert isinstance(done.outcome, Completed)
    assert done.result == {"ok": True}


async def test_a_smaller_limit_on_turns_stands_and_is_what_escalates() -> None:
    done = await run(coder(budget=Budget(turns=3), escalation=Escalation(key="coding", hard=8, soft=2)))
    assert isinstance(done.outcome, UnderReview)
    assert done.outcome.review.why == "Maximum coding iterations (3) reached"


@pytest.mark.guarantee("D4", "A8")
async def test_an_approval_is_a_grant_and_the_run_goes_on_where_it_was() -> None:
    shown, decide = reviewed_by(Approved(grant=more(3)), Rejected(by="ada", why="enough"))
    done = await run(coder(reviewer=decide))
    assert [each.why for each in shown] == [
        "Maximum coding iterations (8) reached",
        "Maximum coding iterations (11) reached",
    ]
    assert [each.grant for each in of(done.facts, BudgetGranted)] == [more(3)]
    assert len(of(done.facts, TurnStarted)) == 11
    assert isinstance(done.outcome, Abandoned)


@pytest.mark.guarantee("D4")
async def test_needs_changes_hands_the_feedback_to_the_agent() -> None:
    model = AttentiveModel(*[calls("echo", page=page) for page in range(3)], calls("submit", ok=True))
    _, decide = reviewed_by(NeedsChanges(feedback="Write the tests first.", grant=more(4)))
    done = await run(
        agent(
            model,
            echo_tool(),
            terminal=submit_tool(),
            escalation=Escalation(key="coding", hard=2),
            reviewer=decide,
        )
    )
    assert "Write the tests first." in model.texts(2)
    assert model.requests[2].tools == ("echo", "submit")
    assert isinstance(done.outcome, Completed)


@pytest.mark.guarantee("D4")
async def test_a_rejection_ends_as_abandoned_with_the_work_saved() -> None:
    _, decide = reviewed_by(Rejected(by="ada", why="it goes nowhere"))
    done = await run(coder(reviewer=decide))
    assert isinstance(done.outcome, Abandoned)
    assert "Maximum coding iterations (8) reached" in done.outcome.reason
    assert "it goes nowhere" in done.outcome.reason
    assert len(of(done.facts, TurnStarted)) == 8


@pytest.mark.guarantee("D5")
async def test_three_kind_reviews_add_a_warning_and_six_reject_without_asking() -> None:
    shown, decide = reviewed_by(NeedsChanges(feedback="Once more.", grant=more(1)))
    done = await run(coder(reviewer=decide, escalation=Escalation(key="coding", hard=2)))
    assert [bool(each.warnings) for each in shown] == [False] * 3 + [True] * 3
    assert "3 times in a row" in shown[3].warnings[0]
    assert len(of(done.facts, ReviewRequested)) == 7
    last = of(done.facts, ReviewDecided)[-1]
    assert (last.by, isinstance(last.decision, Rejected)) == ("endstop", True)
    assert isinstance(done.outcome, Abandoned)
    assert "6 times in a row" in done.outcome.reason


@pytest.mark.guarantee("D5", "A8")
async def test_approvals_are_capped_by_the_cap_on_grants() -> None:
    shown, decide = reviewed_by(Approved(grant=more(2)))
    done = await run(coder(reviewer=decide, escalation=Escalation(key="coding", hard=2)))
    assert sum(each.grant.turns for each in of(done.facts, BudgetGranted)) == 6
    assert isinstance(done.outcome, Abandoned)
    assert "cap on grants" in done.outcome.reason
    assert len(shown) == 4


@pytest.mark.parametrize(
    "nonsense",
    [None, "yes", 42, RuntimeError("the reviewer is out")],
    ids=["none", "text", "number", "raises"],
)
async def test_a_reviewer_that_fails_or_answers_nonsense_leaves_it_to_a_person(nonsense: object) -> None:
    _, decide = reviewed_by(nonsense)
    done = await run(coder(reviewer=decide))
    assert isinstance(done.outcome, UnderReview)


async def test_a_reviewer_whose_grant_changes_nothing_is_not_asked_again() -> None:
    shown, decide = reviewed_by(Approved(grant=Grant(tokens=1, by="ada", why="kindness")))
    done = await run(coder(reviewer=decide))
    assert len(shown) == 1
    assert isinstance(done.outcome, UnderReview)
    assert done.outcome.review.why == "Maximum coding iterations (8) reached"


@pytest.mark.guarantee("D3")
async def test_any_limit_can_lead_to_a_review() -> None:
    done = await run(agent(IgnoresLastTurn(), echo_tool(), budget=Budget(turns=2), on_limit=OnLimit.REVIEW))
    assert isinstance(done.outcome, UnderReview)
    assert done.outcome.review.why == "Iteration limit reached (2/2)."


@pytest.mark.guarantee("D3", "B8")
async def test_a_review_of_what_is_stuck_shows_what_was_found() -> None:
    done = await run(agent(RepeatsCall(), echo_tool(), responses={"identical_call": "ask"}))
    assert isinstance(done.outcome, UnderReview)
    assert [each.pattern.value for each in done.outcome.review.findings] == ["identical_call"]


async def test_what_no_budget_could_mend_is_not_reviewed() -> None:
    done = await run(agent(Runaway(), echo_tool(), budget=Budget(turns=2), on_limit=OnLimit.REVIEW))
    assert isinstance(done.outcome, Completed)


async def paused(home: Runner, **parts: Any) -> Run:
    done = await home.run(coder(**parts), "Build it.")
    assert isinstance(done.outcome, UnderReview)
    return done


@pytest.mark.guarantee("D3", "D4")
async def test_a_person_decides_and_the_run_goes_on_from_the_store() -> None:
    store = MemoryStore()
    home = runner(store)
    done = await paused(home)
    assert (await store.run(done.id)).phase is RunPhase.BUDGET_REVIEW
    await home.decide(done.id, NeedsChanges(feedback="Stop looking.", grant=more(2)))
    assert (await store.run(done.id)).phase is RunPhase.RUNNING
    model = AttentiveModel(calls("submit", ok=True))
    finished = await home.resume(done.id, agent=agent(model, echo_tool(), terminal=submit_tool()))
    assert model.texts()[-1] == "Stop looking."
    assert isinstance(finished.outcome, Completed)
    assert finished.usage.turns == 9
    assert finished.audit(), str(finished.audit())


@pytest.mark.guarantee("D2", "D3")
async def test_a_grant_of_something_else_leads_to_the_same_review_again() -> None:
    home = runner()
    done = await paused(home)
    again = await home.resume(done.id, grant=Grant(tokens=10, by="ada", why="a slip"))
    assert isinstance(again.outcome, UnderReview)
    assert again.outcome.review.why == "Maximum coding iterations (8) reached"
    assert again.outcome.review.id == "review:2"


@pytest.mark.guarantee("D3")
async def test_a_run_without_escalation_ends_at_its_limit_and_asks_nobody() -> None:
    done = await run(agent(IgnoresLastTurn(), echo_tool(), budget=Budget(turns=2)))
    assert isinstance(done.outcome, Forced)
    assert of(done.facts, EscalationReached) == []
