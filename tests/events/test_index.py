"""The index of a run: what its facts make of it, append by append."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from endstop.errors import FactOrderError
from endstop.events.facts import Fact, Payload, ReviewDecided, ReviewRequested, RunStarted, UserAwaited
from endstop.events.index import (
    MOST_CHARS,
    GrantEntered,
    ReviewClosed,
    ReviewOpened,
    RunIndex,
    granted_amounts,
    index,
    require_one_append,
)
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Grant
from endstop.kernel.observation import (
    BudgetGranted,
    CallSettled,
    RunEnded,
    RunPaused,
    RunResumed,
    TurnStarted,
    UserSaid,
)
from endstop.kernel.outcome import Abandoned, Completed, Failed
from endstop.kernel.review import Approved, NeedsChanges, Rejected, Review, ReviewDecision, RunPhase

STARTED = RunStarted(
    config=AgentConfig(), user="ana", project="shop", question="Where?", agent="oracle", model="test:one"
)
GRANT = Grant(turns=5, by="ana", why="nearly there")
REVIEW = Review(id="review:1", why="Maximum coding iterations (8) reached")
ASKED = ReviewRequested(review=REVIEW)
AWAITED = UserAwaited(turn=1, question="Which one?")
ENDED = RunEnded(at_s=9.0, outcome=Completed(answer="There."))


def decided(decision: ReviewDecision, *, scope: str = "run") -> ReviewDecided:
    return ReviewDecided(scope=scope, review_id="review:1", decision=decision, by="ana")


APPROVED = decided(Approved(grant=GRANT))
CHANGES = decided(NeedsChanges(feedback="Look elsewhere.", grant=GRANT))
REJECTED = decided(Rejected(by="ana", why="enough"))


def settled(*, tokens: int = 100, cost_usd: str | None = "0.01", model_calls: int = 1) -> CallSettled:
    cost = None if cost_usd is None else Decimal(cost_usd)
    return CallSettled(
        at_s=1.0, turn=0, reservation="c", input_tokens=tokens, cost_usd=cost, model_calls=model_calls
    )


def facts(*payloads: Payload, first: int = 0) -> list[Fact]:
    return [
        Fact(run_id="run-1", seq=seq, time=100.0 + seq, source="test", payload=payload)
        for seq, payload in enumerate(payloads, start=first)
    ]


def after(*payloads: Payload) -> RunIndex:
    return index(None, facts(STARTED, *payloads)).run


def test_a_run_begins_with_what_its_first_fact_says() -> None:
    assert after() == RunIndex(
        run_id="run-1",
        phase=RunPhase.RUNNING,
        user="ana",
        project="shop",
        agent="oracle",
        model="test:one",
        question="Where?",
        facts=1,
        started_at=100.0,
        changed_at=100.0,
    )


def test_turns_tokens_and_cost_are_added_up() -> None:
    turn = TurnStarted(at_s=0.0, turn=0)
    run = after(turn, settled(), turn, settled(tokens=50, cost_usd="0.002"))
    assert (run.turns, run.tokens, run.cost_usd, run.facts) == (2, 150, Decimal("0.012"), 5)


@pytest.mark.guarantee("A10")
def test_an_unknown_cost_makes_the_whole_unknown_for_good() -> None:
    run = after(settled(), settled(cost_usd=None), settled())
    assert run.cost_usd is None
    assert index(run, facts(settled(), first=4)).run.cost_usd is None


def test_a_call_that_was_never_made_costs_nothing() -> None:
    assert after(settled(), settled(tokens=0, cost_usd=None, model_calls=0)).cost_usd == Decimal("0.01")


@pytest.mark.parametrize(
    ("payloads", "phase"),
    [
        ((RunPaused(at_s=1.0, why="a review"),), RunPhase.RUNNING),
        ((ASKED,), RunPhase.BUDGET_REVIEW),
        ((ASKED, RunPaused(at_s=1.0)), RunPhase.BUDGET_REVIEW),
        ((ASKED, UserSaid(at_s=1.0, text="?")), RunPhase.BUDGET_REVIEW),
        ((ASKED, APPROVED), RunPhase.RUNNING),
        ((ASKED, CHANGES), RunPhase.RUNNING),
        ((ASKED, REJECTED), RunPhase.BUDGET_REVIEW),
        ((ASKED, decided(Rejected(by="ana", why="enough"), scope="reader")), RunPhase.RUNNING),
        ((ASKED, RunPaused(at_s=1.0), RunResumed(at_s=1.0)), RunPhase.RUNNING),
        ((AWAITED,), RunPhase.AWAIT_USER),
        ((AWAITED, RunPaused(at_s=1.0)), RunPhase.AWAIT_USER),
        ((AWAITED, UserSaid(at_s=1.0, text="This one.")), RunPhase.RUNNING),
        ((AWAITED, RunResumed(at_s=1.0)), RunPhase.RUNNING),
        ((ENDED,), RunPhase.ENDED),
        ((ENDED, ASKED, AWAITED, APPROVED, RunResumed(at_s=1.0), UserSaid(at_s=1.0)), RunPhase.ENDED),
    ],
    ids=lambda value: value if isinstance(value, RunPhase) else "+".join(type(one).__name__ for one in value),
)
def test_the_phase_follows_the_facts(payloads: tuple[Payload, ...], phase: RunPhase) -> None:
    assert after(*payloads).phase is phase


def test_an_ending_is_told_in_words_with_its_exit_code() -> None:
    run = after(RunEnded(at_s=1.0, outcome=Abandoned(reason="too vague")))
    assert (run.ended_at, run.ending, run.exit_code) == (101.0, "abandoned: too vague", 4)
    assert after().ending is None


def test_long_questions_and_endings_are_cut() -> None:
    long = RunEnded(at_s=1.0, outcome=Failed(code="x", message="m" * 5_000))
    run = index(None, facts(replace(STARTED, question="q" * 5_000), long)).run
    assert run.ending is not None
    assert (len(run.question), len(run.ending)) == (MOST_CHARS, MOST_CHARS)
    assert run.question.endswith("q…")
    exact = index(None, facts(replace(STARTED, question="q" * MOST_CHARS))).run
    assert exact.question == "q" * MOST_CHARS


@pytest.mark.guarantee("A8")
def test_reviews_and_grants_are_entered_in_their_order() -> None:
    change = index(
        after(), facts(ASKED, BudgetGranted(at_s=2.0, grant=GRANT), APPROVED, CHANGES, REJECTED, first=1)
    )
    assert change.entries == (
        ReviewOpened(review=REVIEW, at=101.0),
        GrantEntered(seq=2, by="ana", why="nearly there", amounts={"turns": "5"}, at=102.0),
        ReviewClosed(review_id="review:1", decision="approved", by="ana", at=103.0),
        ReviewClosed(review_id="review:1", decision="needs_changes", by="ana", at=104.0),
        ReviewClosed(review_id="review:1", decision="rejected", by="ana", at=105.0),
    )
    assert change.run.changed_at == 105.0


def test_granted_amounts_are_plain_text_and_only_what_was_granted() -> None:
    grant = Grant(turns=1, model_calls=2, tokens=3_000, cost_usd="0.0000001", seconds=0.5, by="a", why="b")
    assert granted_amounts(grant) == {
        "turns": "1",
        "model_calls": "2",
        "tokens": "3000",
        "cost_usd": "0.0000001",
        "seconds": "0.5",
    }
    assert granted_amounts(Grant(seconds=30, by="a", why="b")) == {"seconds": "30"}


def test_the_index_is_the_same_however_the_facts_are_cut_into_appends() -> None:
    payloads = [TurnStarted(at_s=0.0, turn=0), settled(), ASKED, APPROVED, settled(), AWAITED, ENDED]
    record = facts(STARTED, *payloads)
    whole = index(None, record)
    run: RunIndex | None = None
    entries: list[object] = []
    for fact in record:
        change = index(run, [fact])
        run = change.run
        entries.extend(change.entries)
    assert run == whole.run
    assert tuple(entries) == whole.entries


def test_a_record_that_does_not_begin_with_its_start_is_refused() -> None:
    with pytest.raises(FactOrderError, match=r"'run-1' begins with turn\.started"):
        index(None, facts(TurnStarted(at_s=0.0, turn=0)))


def test_one_append_is_of_one_run_and_without_gaps() -> None:
    record = facts(STARTED, ENDED)
    require_one_append([])
    require_one_append(record)
    require_one_append(facts(ENDED, first=7))
    for wrong in (record[::-1], [record[0], record[0]], [record[0], replace(record[1], run_id="run-2")]):
        with pytest.raises(FactOrderError):
            require_one_append(wrong)
    with pytest.raises(FactOrderError, match="number -1"):
        require_one_append(facts(STARTED, first=-1))
