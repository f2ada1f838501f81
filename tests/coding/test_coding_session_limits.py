"""What ends a session early, or has it wait: limits, cancellation, budget reviews (G6, G7, D2 to D5)."""

from __future__ import annotations

import asyncio
import contextlib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from cast_words import (
    CODE,
    LATE_S,
    Cast,
    Session,
    builds,
    finds,
    in_time,
    kind_of,
    of,
    require_kept_promises,
    reviews,
    simplifies,
    with_roles,
    write,
)

from endstop.coding.policy import Policy
from endstop.coding.policy_rules import (
    PriceRules,
    ReflexionRules,
    ReviewedBy,
    ReviewRules,
    SessionRules,
)
from endstop.events.coding import SessionConcluded, SimplifyingEnded
from endstop.events.facts import ReviewDecided, ReviewRequested
from endstop.kernel.budget import Grant
from endstop.kernel.observation import ToolCalled
from endstop.kernel.outcome import Abandoned, Cancelled, Stopped, UnderReview
from endstop.kernel.review import Approved, NeedsChanges, Rejected
from endstop.ports import Model, Store
from endstop.runner import Run
from endstop.testing import calls
from endstop.testing.adversaries.streams import Hangs

# ── the limits of a session ───────────────────────────────────────────────────────────────────────────────


BUSY = with_roles(builder=lambda request: [write(f"new_{len(request.messages)}.py", "word = 1\n" * 200)])
"""A builder that writes file after file, and never hands anything in."""


@pytest.mark.thorough
@pytest.mark.guarantee("G6", "G7")
@pytest.mark.parametrize(
    ("rules", "kind", "key"),
    [
        (SessionRules(model_calls=5), "session_exhausted", "session.model_calls"),
        (SessionRules(tokens=9_000), "token_limit", "session.tokens"),
        (SessionRules(cost_usd=Decimal("0.01")), "budget_exhausted", "session.cost_usd"),
    ],
    ids=["model calls", "tokens", "money"],
)
async def test_each_limit_of_a_session_ends_it_by_its_own_name_with_what_to_do_and_the_work_kept(
    rules: SessionRules, kind: str, key: str, tmp_path: Path, store: Store
) -> None:
    price = PriceRules(auto_proceed_under_usd=Decimal("0.01"))
    session = Session(tmp_path, store, BUSY, policy=Policy(session=rules, price=price))
    run = await session.run()
    assert require_kept_promises(session, run) == kind
    assert isinstance(run.outcome, Stopped)
    (concluded,) = of(run, SessionConcluded)
    assert key in concluded.next_steps[0]
    assert concluded.suggestion
    assert session.commits(run) == ["Unfinished work, kept when the session ended"]
    assert session.file(run, "new_1.py").startswith("word = 1")


@pytest.mark.thorough
@pytest.mark.guarantee("G6", "A11")
async def test_the_time_of_a_session_ends_it_in_the_middle_of_a_reply(tmp_path: Path, store: Store) -> None:
    session, run = await in_time(
        lambda home: Session(home, store, models={"builder": Hangs()}, limits={"seconds": 1.5}), tmp_path
    )
    assert require_kept_promises(session, run) == "session_timeout"
    assert run.usage.seconds <= 1.5 + LATE_S
    assert "session.minutes" in of(run, SessionConcluded)[0].next_steps[0]


@pytest.mark.thorough
@pytest.mark.guarantee("G6", "A11")
async def test_the_time_of_a_session_ends_it_in_the_middle_of_its_tests(tmp_path: Path, store: Store) -> None:
    roles = with_roles(builder=builds(CODE, "import time\n\ndef test_slow():\n    time.sleep(60)\n"))
    session, run = await in_time(lambda home: Session(home, store, roles, limits={"seconds": 2.0}), tmp_path)
    assert require_kept_promises(session, run) == "session_timeout"
    assert run.usage.seconds <= 2.0 + LATE_S
    assert session.commits(run) == ["Unfinished work, kept when the session ended"]


def test_the_limits_of_a_session_are_those_of_the_law() -> None:
    rules = SessionRules()
    assert (rules.minutes, rules.model_calls, rules.cost_usd, rules.tokens) == (30, 50, 10, 500_000)


# ── cancelled ─────────────────────────────────────────────────────────────────────────────────────────────

PHASES = ("interviewer", "specifier", "pricer", "planner", "builder", "tester", "critic", "simplifier")


class Gated(Cast):
    """A cast that tells when it is asked, and takes a moment to answer."""

    def __init__(self, roles: Any) -> None:
        super().__init__(roles, delay_s=0.3)
        self.begun = asyncio.Event()

    def stream(self, request: Any) -> Any:
        self.begun.set()
        return super().stream(request)


def cancellable(home: Path, store: Store, role: str, model: Model) -> Session:
    roles = with_roles(interviewer=[calls("submit_brief", brief="Double.")])
    return Session(
        home,
        store,
        roles,
        policy=Policy(reflexion=ReflexionRules(least_lines=0)),
        asks_user=True,
        models={role: model},
    )


SOME = (("specifier", False), ("builder", True), ("tester", False), ("simplifier", True))
"""Phases and ways to cancel that ``make test`` tries; the others are for those who have more time."""


@pytest.mark.guarantee("G7", "D10")
@pytest.mark.parametrize(
    ("role", "after_turn"),
    [
        pytest.param(role, after_turn, marks=() if (role, after_turn) in SOME else pytest.mark.thorough)
        for role in PHASES
        for after_turn in (False, True)
    ],
)
async def test_a_session_can_be_cancelled_in_every_phase(
    role: str, after_turn: bool, tmp_path: Path, store: Store
) -> None:
    slow = Gated(with_roles(interviewer=[calls("submit_brief", brief="Double.")]))
    session = cancellable(tmp_path, store, role, slow)
    home = session.runner
    run_id = await home.start(await session.beginning(), "Add a function that doubles.")
    await slow.begun.wait()
    await home.cancel(run_id, by="ada", after_turn=after_turn)
    run = await home.wait(run_id)
    assert run.outcome == Cancelled(by="ada")
    assert require_kept_promises(session, run) == "cancelled"
    called = [one for one in of(run, ToolCalled) if one.scope.startswith(role[:9])]
    assert len(called) == (1 if after_turn else 0)
    turns_before = PHASES.index(role) + after_turn
    has_written = turns_before > PHASES.index("builder")
    assert session.commits(run) == ["Unfinished work, kept when the session ended"] * has_written


@pytest.mark.guarantee("G7", "D10")
async def test_a_session_can_be_cancelled_while_its_tests_run(tmp_path: Path, store: Store) -> None:
    slow = "import pathlib, time\n\ndef test_slow():\n    pathlib.Path('begun').touch()\n    time.sleep(60)\n"
    session = Session(tmp_path, store, with_roles(builder=builds(CODE, slow)))
    home = session.runner
    run_id = await home.start(await session.beginning(), "Add a function that doubles.")
    while not (tmp_path / "worktrees" / run_id / "begun").exists():
        await asyncio.sleep(0.02)
    await home.cancel(run_id, by="ada")
    run = await home.wait(run_id)
    assert run.outcome == Cancelled(by="ada")
    assert require_kept_promises(session, run) == "cancelled"
    assert session.file(run, "numbers_.py") == CODE.strip()


# ── budget review ─────────────────────────────────────────────────────────────────────────────────────────


def late(after: int) -> Any:
    """A builder that hands in its work after so many turns."""
    others = [write(f"new_{number}.py", f"NEW = {number}\n") for number in range(after - 2)]
    return [*others, *builds()]


def more(turns: int) -> Grant:
    return Grant(turns=turns, by="ada", why="it is nearly there")


async def under_review(home: Path, store: Store, after: int = 10) -> tuple[Session, Run]:
    session = Session(home, store, with_roles(builder=late(after)))
    paused = await session.run()
    assert isinstance(paused.outcome, UnderReview)
    assert paused.outcome.review.why == "Maximum coding iterations (8) reached"
    assert paused.outcome.review.doing
    assert paused.outcome.review.spent
    assert session.untouched()
    return session, paused


@pytest.mark.guarantee("D2", "D3", "D4")
async def test_a_builder_at_its_hard_limit_is_reviewed_and_approved_goes_on(
    tmp_path: Path, store: Store
) -> None:
    session, paused = await under_review(tmp_path, store)
    await session.runner.decide(paused.id, Approved(grant=more(4)))
    run = await session.resume(paused)
    assert require_kept_promises(session, run) == "succeeded"
    assert session.model.asked.count("builder 1") == 11


@pytest.mark.thorough
@pytest.mark.guarantee("D4")
async def test_a_review_that_needs_changes_tells_the_builder(tmp_path: Path, store: Store) -> None:
    session, paused = await under_review(tmp_path, store)
    await session.runner.decide(paused.id, NeedsChanges(feedback="Write less.", grant=more(4)))
    run = await session.resume(paused)
    assert require_kept_promises(session, run) == "succeeded"
    assert "Write less." in session.model.heard["builder 1"]


@pytest.mark.guarantee("D4", "G7")
async def test_a_rejected_builder_ends_the_session_as_abandoned_with_its_work_saved(
    tmp_path: Path, store: Store
) -> None:
    session, paused = await under_review(tmp_path, store)
    await session.runner.decide(paused.id, Rejected(by="ada", why="It goes nowhere"))
    run = await session.resume(paused)
    assert require_kept_promises(session, run) == "abandoned"
    assert isinstance(run.outcome, Abandoned)
    assert "Maximum coding iterations (8) reached" in run.outcome.reason
    assert "It goes nowhere" in run.outcome.reason
    assert run.outcome.checkpoint is not None
    assert session.file(run, "new_0.py") == "NEW = 0"


@pytest.mark.guarantee("G7", "D10")
async def test_a_session_under_review_can_be_cancelled(tmp_path: Path, store: Store) -> None:
    session, paused = await under_review(tmp_path, store)
    home = session.runner
    assert await home.cancel(paused.id, by="ada")
    run = await home.wait(paused.id)
    assert run.outcome == Cancelled(by="ada")
    assert require_kept_promises(session, run) == "cancelled"
    assert session.commits(run) == ["Unfinished work, kept when the session ended"]


def reviewed_by_agent(home: Path, store: Store, *decisions: Any, after: int = 10, turns: int = 4) -> Session:
    roles = with_roles(builder=late(after), reviewer=decisions)
    return Session(
        home,
        store,
        roles,
        policy=Policy(
            review=ReviewRules(by=ReviewedBy.AGENT, turns=turns), session=SessionRules(model_calls=80)
        ),
    )


@pytest.mark.thorough
@pytest.mark.guarantee("D4")
async def test_a_reviewer_agent_approves_and_the_build_goes_on_without_a_person(
    tmp_path: Path, store: Store
) -> None:
    session = reviewed_by_agent(tmp_path, store, reviews("approved"))
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded"
    assert [decided.by for decided in of(run, ReviewDecided)] == ["reviewer"]
    assert "Maximum coding iterations (8) reached" in session.model.heard["reviewer"]


@pytest.mark.thorough
@pytest.mark.guarantee("D4")
async def test_a_reviewer_agent_asks_for_changes_and_the_builder_hears_it(
    tmp_path: Path, store: Store
) -> None:
    session = reviewed_by_agent(tmp_path, store, reviews("needs_changes", "Write less."))
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded"
    assert "Write less." in session.model.heard["builder 1"]


@pytest.mark.guarantee("D4", "G7")
async def test_a_reviewer_agent_rejects_and_the_session_is_abandoned(tmp_path: Path, store: Store) -> None:
    session = reviewed_by_agent(tmp_path, store, reviews("rejected", "It goes nowhere"))
    run = await session.run()
    assert require_kept_promises(session, run) == "abandoned"
    assert isinstance(run.outcome, Abandoned)
    assert "It goes nowhere" in run.outcome.reason
    assert run.outcome.checkpoint is not None


@pytest.mark.guarantee("D5")
async def test_a_reviewer_that_asks_for_changes_for_ever_is_rejected_after_six(
    tmp_path: Path, store: Store
) -> None:
    session = reviewed_by_agent(tmp_path, store, reviews("needs_changes"), after=99, turns=1)
    run = await session.run()
    assert require_kept_promises(session, run) == "abandoned"
    decided = of(run, ReviewDecided)
    assert [type(one.decision) for one in decided] == [NeedsChanges] * 6 + [Rejected]
    assert decided[-1].by == "endstop"
    warned = [bool(one.review.warnings) for one in of(run, ReviewRequested)]
    assert warned == [False] * 3 + [True] * 4


@pytest.mark.guarantee("D5", "A8")
async def test_a_reviewer_that_approves_for_ever_is_capped_by_the_cap_on_grants(
    tmp_path: Path, store: Store
) -> None:
    session = reviewed_by_agent(tmp_path, store, reviews("approved"), after=99)
    run = await session.run()
    assert require_kept_promises(session, run) == "abandoned"
    decided = of(run, ReviewDecided)
    assert all(isinstance(one.decision, Approved) for one in decided[:-1])
    assert isinstance(decided[-1].decision, Rejected)
    assert decided[-1].by == "endstop"
    assert session.model.asked.count("builder 1") <= 32, "eight, and three times as many by grants"


@pytest.mark.guarantee("D4")
async def test_where_the_reviewer_agent_decides_nothing_a_person_does(tmp_path: Path, store: Store) -> None:
    session = reviewed_by_agent(tmp_path, store, "I would rather talk.")
    paused = await session.run()
    assert isinstance(paused.outcome, UnderReview)
    await session.runner.decide(paused.id, Rejected(by="ada", why="Enough"))
    run = await session.resume(paused)
    assert require_kept_promises(session, run) == "abandoned"


@pytest.mark.guarantee("G6", "D4")
async def test_a_session_that_cannot_pay_its_reviewer_ends_and_waits_for_nobody(
    tmp_path: Path, store: Store
) -> None:
    session = Session(
        tmp_path,
        store,
        with_roles(builder=late(10), reviewer=[reviews("approved")]),
        policy=Policy(review=ReviewRules(by=ReviewedBy.AGENT), session=SessionRules(model_calls=11)),
    )
    run = await session.run()
    assert require_kept_promises(session, run) == "session_exhausted"
    assert [decided.by for decided in of(run, ReviewDecided)] == ["endstop"]
    assert "reviewer" not in session.model.asked


@pytest.mark.thorough
@pytest.mark.guarantee("G6", "D4", "A11")
async def test_the_time_that_a_reviewer_agent_takes_is_the_sessions(tmp_path: Path, store: Store) -> None:
    session, run = await in_time(
        lambda home: Session(
            home,
            store,
            with_roles(builder=late(10)),
            policy=Policy(review=ReviewRules(by=ReviewedBy.AGENT)),
            models={"reviewer": Hangs()},
            limits={"seconds": 2.0},
        ),
        tmp_path,
    )
    assert require_kept_promises(session, run) == "session_timeout"


@pytest.mark.thorough
@pytest.mark.guarantee("D4", "D10", "H5")
@pytest.mark.parametrize("is_told", [False, True], ids=["cut off", "told to end"])
async def test_a_session_left_while_its_reviewer_works_goes_on_without_a_person(
    is_told: bool, tmp_path: Path, store: Store
) -> None:
    slow = Gated(with_roles(reviewer=[reviews("approved")]))
    session = Session(
        tmp_path,
        store,
        with_roles(builder=late(10)),
        policy=Policy(review=ReviewRules(by=ReviewedBy.AGENT)),
        models={"reviewer": slow},
    )
    home = session.runner
    if is_told:
        await home.start(await session.beginning(), "Double.", run_id="run_left")
        await slow.begun.wait()
        await home.shutdown()
    else:
        working = asyncio.create_task(home.run(await session.beginning(), "Double.", run_id="run_left"))
        await slow.begun.wait()
        working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await working
    run = await session.runner.resume("run_left", agent=session.agent(), takes_over=True)
    assert require_kept_promises(session, run) == "succeeded"
    assert [decided.by for decided in of(run, ReviewDecided)] == ["reviewer"]


@pytest.mark.thorough
@pytest.mark.guarantee("H5", "D3")
async def test_a_session_that_waited_in_its_second_round_repeats_nothing_of_the_first(
    tmp_path: Path, store: Store
) -> None:
    session = Session(
        tmp_path,
        store,
        with_roles(builder_2=late(10), critic_1=[finds(("critical", "It breaks on text"))]),
    )
    paused = await session.run()
    assert isinstance(paused.outcome, UnderReview)
    run = await session.resume(paused, grant=more(4))
    assert require_kept_promises(session, run) == "succeeded"
    once = ("specifier 1", "pricer 1", "planner", "tester 1", "critic 1")
    assert [session.model.asked.count(role) for role in once] == [1] * len(once)
    assert session.commits(run) == ["Add double (round 1)", "Add double (round 2)"]


@pytest.mark.thorough
@pytest.mark.guarantee("H5", "G5")
async def test_a_session_left_in_its_second_simplification_goes_on_there(
    tmp_path: Path, store: Store
) -> None:
    shorter = "".join(f"STEP_{place} = {place}\n" for place in range(20))
    slow = Gated(
        with_roles(simplifier_1=simplifies(("steps.py", shorter)), simplifier_2=simplifies(("steps.py", "")))
    )
    session = Session(
        tmp_path,
        store,
        with_roles(builder=[write("steps.py", shorter * 3), *builds()]),
        models={"simplifier": slow},
    )
    home = session.runner
    run_id = await home.start(await session.beginning(), "Double.")
    while "simplifier 2" not in slow.asked:
        await asyncio.sleep(0.01)
    await home.shutdown()
    run = await session.runner.resume(run_id, agent=session.agent(), takes_over=True)
    assert require_kept_promises(session, run) == "succeeded"
    assert [(one.number, one.is_kept) for one in of(run, SimplifyingEnded)] == [(1, True), (2, True)]
    assert session.commits(run) == ["Add double (round 1)"]
    assert session.file(run, "steps.py") == ""


@pytest.mark.guarantee("G2", "G6")
async def test_a_pricer_that_says_it_takes_nothing_gets_a_build_of_nothing(
    tmp_path: Path, store: Store
) -> None:
    nothing = calls("submit_price", input_tokens=0, output_tokens=0, model_calls=1, minutes=0)
    session = Session(tmp_path, store, with_roles(pricer=[nothing]))
    run = await session.run()
    assert require_kept_promises(session, run) == "token_limit"
    assert session.model.asked == ["specifier 1", "pricer 1"]


@pytest.mark.thorough
@pytest.mark.guarantee("D3")
async def test_a_session_under_review_has_no_ending_and_goes_on_where_it_stood(
    tmp_path: Path, store: Store
) -> None:
    session, paused = await under_review(tmp_path, store)
    assert of(paused, SessionConcluded) == []
    assert (session.home / "worktrees" / paused.id / "new_0.py").exists()
    again = await session.resume(paused, grant=more(4))
    assert kind_of(again) == "succeeded"
