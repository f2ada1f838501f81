"""People in the loop: reviews, questions, conversations; and no charge for waiting (A9, D4, D7)."""

from __future__ import annotations

import asyncio

import pytest
from runner_words import AttentiveModel, Gate, agent, more, of, require_audit, runner

from endstop.errors import GrantRefusedError, InvalidValueError, RunStateError
from endstop.events.facts import ReviewDecided
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.observation import RunPaused, RunResumed
from endstop.kernel.outcome import (
    Abandoned,
    AwaitingUser,
    Cancelled,
    Completed,
    Forced,
    StopRule,
    UnderReview,
)
from endstop.kernel.review import Approved, NeedsChanges, Rejected, Review, ReviewDecision, RunPhase
from endstop.loop import Agent, OnLimit
from endstop.ports import Store
from endstop.runner import Run
from endstop.runner.opening import last_question
from endstop.testing import FakeClock, ScriptedModel, calls, echo_tool
from endstop.testing.adversaries.calls import IgnoresLastTurn


def restless(turns: int = 2) -> Agent:
    """Comes under review after so many turns, and would never end by itself."""
    return agent(IgnoresLastTurn(), echo_tool(), budget=Budget(turns=turns), on_limit=OnLimit.REVIEW)


async def under_review(store: Store) -> Run:
    done = await runner(store).run(restless(), "Build it.")
    assert isinstance(done.outcome, UnderReview)
    return done


def finisher() -> Agent:
    return agent(ScriptedModel("Finished."), echo_tool())


@pytest.mark.guarantee("D3", "D4")
async def test_a_review_is_listed_decided_once_and_the_run_goes_on_elsewhere(store: Store) -> None:
    paused = await under_review(store)
    [listed] = await store.reviews(is_open=True)
    assert (listed.run_id, listed.review.why) == (paused.id, "Iteration limit reached (2/2).")
    home = runner(store)
    assert await home.decide(paused.id, Approved(grant=more(3))) == Approved(grant=more(3))
    with pytest.raises(RunStateError, match="No review"):
        await home.decide(paused.id, Approved(grant=more(3)))
    [decided] = await store.reviews(run_id=paused.id)
    assert (decided.decision, decided.by) == ("approved", "ada")
    done = await runner(store).resume(paused.id, agent=finisher())
    assert done.outcome == Completed(answer="Finished.")
    require_audit(done)


@pytest.mark.guarantee("D4")
async def test_deciding_twice_at_once_counts_once(store: Store) -> None:
    paused = await under_review(store)
    answers = await asyncio.gather(
        *(runner(store).decide(paused.id, Approved(grant=more(1))) for _ in range(3)), return_exceptions=True
    )
    assert sum(isinstance(each, Approved) for each in answers) == 1
    record = await store.record(paused.id)
    assert sum(isinstance(fact.payload, ReviewDecided) for fact in record) == 1


@pytest.mark.guarantee("D4")
async def test_a_rejection_ends_the_run_as_abandoned(store: Store) -> None:
    paused = await under_review(store)
    await runner(store).decide(paused.id, Rejected(by="ada", why="it goes nowhere"))
    stored = await store.run(paused.id)
    assert stored.phase is RunPhase.ENDED
    assert stored.ending is not None
    assert "it goes nowhere" in stored.ending
    with pytest.raises(RunStateError, match="has finished"):
        await runner(store).resume(paused.id, agent=finisher())


@pytest.mark.guarantee("A8", "D5")
async def test_a_grant_past_the_cap_is_refused_and_the_review_still_waits(store: Store) -> None:
    paused = await under_review(store)
    with pytest.raises(GrantRefusedError, match="cap on grants"):
        await runner(store).decide(paused.id, Approved(grant=more(7)))
    with pytest.raises(GrantRefusedError, match="cap on grants"):
        await runner(store).resume(paused.id, agent=finisher(), grant=more(7))
    assert (await store.run(paused.id)).phase is RunPhase.BUDGET_REVIEW
    done = await runner(store).resume(paused.id, agent=finisher(), grant=more(2))
    assert isinstance(done.outcome, Completed | Forced)
    require_audit(done)


async def test_a_grant_of_what_has_no_limit_is_a_slip_and_costs_nobody_the_run(store: Store) -> None:
    paused = await under_review(store)
    slip = Grant(tokens=5, by="ada", why="x")
    with pytest.raises(GrantRefusedError, match="no limit on tokens"):
        await runner(store).decide(paused.id, Approved(grant=slip))
    with pytest.raises(GrantRefusedError, match="turns"):
        await runner(store).resume(paused.id, agent=finisher(), grant=slip)
    assert (await store.run(paused.id)).phase is RunPhase.BUDGET_REVIEW


@pytest.mark.guarantee("D4")
async def test_a_run_under_review_is_resumed_only_with_a_grant(store: Store) -> None:
    paused = await under_review(store)
    with pytest.raises(RunStateError, match=r"waits for a review: Iteration limit reached"):
        await runner(store).resume(paused.id, agent=finisher())
    with pytest.raises(RunStateError, match="asks the user nothing"):
        await runner(store).resume(paused.id, agent=finisher(), answer="Yes.", grant=more())
    with pytest.raises(RunStateError, match="asks the user nothing"):
        await runner(store).answer(paused.id, "Yes.")
    done = await runner(store).resume(paused.id, agent=finisher(), grant=more())
    assert done.outcome == Completed(answer="Finished.")
    require_audit(done)


async def test_granting_to_a_run_under_review_approves_it(store: Store) -> None:
    paused = await under_review(store)
    home = runner(store)
    await home.grant(paused.id, more(1))
    assert (await store.run(paused.id)).phase is RunPhase.RUNNING
    assert [grant.amounts for grant in await store.grants(paused.id)] == [{"turns": "1"}]


@pytest.mark.guarantee("D10")
async def test_a_run_under_review_can_be_cancelled(store: Store) -> None:
    paused = await under_review(store)
    assert await runner(store).cancel(paused.id, by="ada")
    assert (await store.run(paused.id)).ending == "cancelled by ada"
    assert (await runner(store).wait(paused.id)).outcome == Cancelled(by="ada")
    assert await store.reviews(is_open=True) == []


async def test_a_review_that_a_reviewer_is_deciding_is_not_decided_by_another(store: Store) -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def ponder(review: Review) -> ReviewDecision:
        asked.set()
        await go_on.wait()
        return Rejected(by="reviewer", why="no")

    home = runner(store)
    one = agent(
        IgnoresLastTurn(), echo_tool(), budget=Budget(turns=2), on_limit=OnLimit.REVIEW, reviewer=ponder
    )
    run_id = await home.start(one, "Go.")
    await asked.wait()
    with pytest.raises(RunStateError, match="being worked on"):
        await home.decide(run_id, Approved(grant=more()))
    go_on.set()
    assert isinstance((await home.wait(run_id)).outcome, Abandoned)


@pytest.mark.guarantee("D10")
async def test_cancelling_while_a_reviewer_ponders_ends_the_run(store: Store) -> None:
    asked = asyncio.Event()

    async def ponder(review: Review) -> ReviewDecision:
        asked.set()
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    home = runner(store)
    one = agent(
        IgnoresLastTurn(), echo_tool(), budget=Budget(turns=2), on_limit=OnLimit.REVIEW, reviewer=ponder
    )
    run_id = await home.start(one, "Go.")
    await asked.wait()
    assert await home.cancel(run_id, by="ada")
    done = await home.wait(run_id)
    assert isinstance(done.outcome, Cancelled)
    assert await store.reviews(is_open=True) == []
    require_audit(done)


ASKS = calls("await_user", message="Which one?")


@pytest.mark.guarantee("D7")
async def test_a_question_is_answered_once_and_the_run_goes_on(store: Store) -> None:
    asking = agent(ScriptedModel(ASKS), awaits_user=True)
    paused = await runner(store).run(asking, "Choose.")
    assert paused.outcome == AwaitingUser(question="Which one?")
    assert paused.answer == ""
    assert last_question(paused.facts) == "Which one?"
    home = runner(store)
    with pytest.raises(InvalidValueError, match="answer"):
        await home.answer(paused.id, " ")
    with pytest.raises(RunStateError, match=r"waits for the user: Which one\?"):
        await home.resume(paused.id, agent=asking)
    with pytest.raises(RunStateError, match="No review"):
        await home.decide(paused.id, Approved(grant=more()))
    await home.answer(paused.id, "The left one.")
    with pytest.raises(RunStateError, match="asks the user nothing"):
        await home.answer(paused.id, "The right one.")
    model = AttentiveModel("Left it is.")
    with pytest.raises(RunStateError, match="asks the user nothing"):
        await home.resume(paused.id, agent=agent(model, awaits_user=True), answer="Again.")
    done = await home.resume(paused.id, agent=agent(model, awaits_user=True))
    assert model.texts()[-1] == "The left one."
    assert last_question(done.facts) == ""
    assert done.outcome == Completed(answer="Left it is.")
    require_audit(done)


@pytest.mark.guarantee("A8", "A9")
async def test_a_run_left_open_can_be_resumed_with_a_grant(store: Store) -> None:
    left, gate = runner(store), Gate()
    run_id = await left.start(agent(gate.model(), gate.tool, budget=Budget(turns=2)), "Go.")
    await gate.begun.wait()
    await left.shutdown(seconds=0)
    pages = [calls("echo", page=page) for page in range(2)]
    going_on = agent(ScriptedModel(*pages, "Done."), echo_tool())
    done = await runner(store).resume(run_id, agent=going_on, grant=more(2))
    assert done.usage.turns == 4
    require_audit(done)


@pytest.mark.guarantee("A9")
async def test_counters_and_the_clock_go_on_where_they_stood(store: Store) -> None:
    clock = FakeClock()
    slow = ScriptedModel(lambda request: (clock.advance(4.0), calls("echo", at=clock.unix_s()))[1])
    one = agent(slow, echo_tool(), budget=Budget(turns=3, seconds=100), on_limit=OnLimit.REVIEW)
    paused = await runner(store, clock=clock).run(one, "Go.")
    before = paused.usage
    assert before.seconds == 12.0
    clock.advance(1_000)
    done = await runner(store, clock=clock).resume(paused.id, agent=finisher(), grant=more(2))
    assert done.usage.seconds == 12.0
    assert done.usage.turns == before.turns + 1
    assert done.usage.tokens > before.tokens
    require_audit(done)


@pytest.mark.guarantee("A9")
async def test_time_spent_waiting_for_a_reviewer_is_not_charged(store: Store) -> None:
    clock = FakeClock()

    async def slowly(review: Review) -> ReviewDecision:
        clock.advance(500)
        return NeedsChanges(feedback="Come to an end.", grant=more(1))

    model = ScriptedModel(calls("echo", page=1), calls("echo", page=2), "Done.")
    one = agent(
        model,
        echo_tool(),
        budget=Budget(turns=2, seconds=10),
        on_limit=OnLimit.REVIEW,
        reviewer=slowly,
    )
    done = await runner(store, clock=clock).run(one, "Go.")
    assert done.usage.seconds == 0.0
    assert isinstance(done.outcome, Completed)
    assert len(of(done, RunPaused)) == len(of(done, RunResumed)) == 1
    require_audit(done)


@pytest.mark.guarantee("A9")
async def test_time_used_before_a_resume_counts_against_the_limit_after_it(store: Store) -> None:
    clock = FakeClock()
    gate = Gate()
    left = runner(store, clock=clock)
    run_id = await left.start(agent(gate.model(), gate.tool, budget=Budget(seconds=100)), "Go.")
    await gate.begun.wait()
    clock.advance(99.0)
    await left.shutdown(seconds=0)
    clock.advance(5_000)
    slow = ScriptedModel(lambda request: (clock.advance(2.0), calls("echo", page=1))[1])
    done = await runner(store, clock=clock).resume(run_id, agent=agent(slow, echo_tool()))
    assert isinstance(done.outcome, Forced)
    assert done.outcome.reason.rule is StopRule.TIME
    assert done.usage.seconds == 101.0


@pytest.mark.guarantee("E10")
async def test_a_follow_up_sees_what_came_before(store: Store) -> None:
    home = runner(store)
    talk = await store.open_conversation(user="ada")
    first = await home.run(agent(ScriptedModel("In login.py.")), "Where?", conversation_id=talk.id)
    model = AttentiveModel("Since May.")
    await home.run(agent(model), "Since when?", conversation_id=talk.id)
    assert model.texts() == ["Where?", "In login.py.", "Since when?"]
    branch = await store.branch_conversation(talk.id, after_run=first.id)
    other = AttentiveModel("Ada.")
    await home.run(agent(other), "By whom?", conversation_id=branch.id)
    assert other.texts() == ["Where?", "In login.py.", "By whom?"]


@pytest.mark.guarantee("E10", "A9")
async def test_a_resumed_follow_up_still_sees_what_came_before_and_no_more(store: Store) -> None:
    home, gate = runner(store), Gate()
    talk = await store.open_conversation()
    await home.run(agent(ScriptedModel(""), budget=Budget(turns=1)), "Where?", conversation_id=talk.id)
    run_id = await home.start(agent(gate.model(), gate.tool), "Since when?", conversation_id=talk.id)
    await gate.begun.wait()
    await home.shutdown(seconds=0)
    late = runner(store)
    await late.run(agent(ScriptedModel("Later.")), "And now?", conversation_id=talk.id)
    model = AttentiveModel("Done.")
    await late.resume(run_id, agent=agent(model))
    assert "And now?" not in model.texts()
    assert model.texts()[0] == "Where?"
    assert model.texts().count("Since when?") == 1
