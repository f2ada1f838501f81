"""The burndown of a record: the same figures as the summary, at every point, and never too many of them."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_runs import Recorded, a_fact, recorded

from endstop.errors import FactOrderError
from endstop.events.burndown import Burndown, MarkKind, burndown, thinned
from endstop.events.facts import Fact, Payload, RunStarted
from endstop.events.summary import summarise
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import (
    BudgetGranted,
    CallSettled,
    RunEnded,
    RunPaused,
    RunResumed,
    ScopeOpened,
    TurnEnded,
)
from endstop.kernel.outcome import Completed
from endstop.kernel.verdict import LimitWarned


def told(*payloads: Payload, budget: Budget | None = None) -> Burndown:
    started = RunStarted(config=AgentConfig(budget=budget or Budget(turns=10, cost_usd="0.50", seconds=60)))
    facts = [a_fact(payload, seq=seq) for seq, payload in enumerate((started, *payloads))]
    return burndown(facts)


def settled(at_s: float, tokens: int, cost_usd: str | None) -> CallSettled:
    return CallSettled(
        at_s=at_s,
        turn=0,
        reservation="call",
        input_tokens=tokens,
        cost_usd=None if cost_usd is None else Decimal(cost_usd),
    )


def test_its_last_point_is_what_the_summary_says(run: Recorded) -> None:
    summary, last = summarise(run.facts), burndown(run.facts).points[-1]
    assert (last.turns, last.tokens) == (summary.usage.turns, summary.usage.tokens)
    assert last.seconds == pytest.approx(summary.usage.seconds)
    is_known = summary.usage.unknown_cost_calls == 0
    assert last.cost_usd == (summary.usage.known_cost_usd if is_known else None)


def test_its_last_allowance_is_what_the_meters_say(run: Recorded) -> None:
    meters = {meter.kind: meter.maximum for meter in summarise(run.facts).meters}
    allowed = burndown(run.facts).limits[-1]
    for kind in (LimitKind.TURNS, LimitKind.TOKENS, LimitKind.COST_USD, LimitKind.SECONDS):
        assert getattr(allowed, kind.value) == meters.get(kind)


def test_nothing_is_ever_given_back(run: Recorded) -> None:
    points = burndown(run.facts).points
    for earlier, later in pairwise(points):
        assert earlier.seq < later.seq
        assert earlier.at_s <= later.at_s
        assert (earlier.turns, earlier.tokens) <= (later.turns, later.tokens)
        assert earlier.seconds <= later.seconds + 1e-9


def test_there_is_a_point_from_the_first_fact_on() -> None:
    found = told()
    assert [(point.seq, point.turns, point.cost_usd) for point in found.points] == [(0, 0, Decimal(0))]
    assert [(one.at_s, one.turns, one.tokens, one.seconds) for one in found.limits] == [(0.0, 10, None, 60.0)]
    assert found.marks == ()


def test_every_call_and_every_turn_is_a_point() -> None:
    found = told(settled(1.0, 100, "0.01"), settled(2.0, 50, "0.02"), TurnEnded(at_s=2.5, turn=0))
    assert [(one.at_s, one.turns, one.tokens, one.cost_usd) for one in found.points] == [
        (0.0, 0, 0, Decimal(0)),
        (1.0, 0, 100, Decimal("0.01")),
        (2.0, 0, 150, Decimal("0.03")),
        (2.5, 1, 150, Decimal("0.03")),
    ]


@pytest.mark.guarantee("A10")
def test_a_cost_is_unknown_from_the_first_call_on_whose_cost_nobody_knows() -> None:
    found = told(settled(1.0, 100, "0.01"), settled(2.0, 50, None), settled(3.0, 50, "0.01"))
    costs = [point.cost_usd for point in found.points]
    assert costs == [Decimal(0), Decimal("0.01"), None, None]


def test_time_spent_waiting_for_a_person_is_not_charged() -> None:
    found = told(
        settled(1.0, 1, "0"),
        RunPaused(at_s=2.0, why="Which one?"),
        RunResumed(at_s=100.0),
        settled(101.0, 1, "0"),
    )
    assert [(one.at_s, one.seconds) for one in found.points] == [
        (0.0, 0.0),
        (1.0, 1.0),
        (2.0, 2.0),
        (100.0, 2.0),
        (101.0, 3.0),
    ]


@pytest.mark.guarantee("A9")
def test_each_grant_raises_what_is_allowed_and_leaves_what_has_no_limit() -> None:
    first = Grant(turns=5, tokens=100, cost_usd="0.10", by="ana", why="nearly there")
    found = told(
        BudgetGranted(at_s=3.0, grant=first),
        BudgetGranted(at_s=4.0, grant=Grant(seconds=30, by="ben", why="slow")),
    )
    assert [(one.at_s, one.turns, one.tokens, one.cost_usd, one.seconds) for one in found.limits] == [
        (0.0, 10, None, Decimal("0.50"), 60.0),
        (3.0, 15, None, Decimal("0.60"), 60.0),
        (4.0, 15, None, Decimal("0.60"), 90.0),
    ]
    assert [(mark.kind.value, mark.text) for mark in found.marks] == [
        ("grant", "Granted by ana: nearly there"),
        ("grant", "Granted by ben: slow"),
    ]


def test_what_happened_is_marked_in_its_order() -> None:
    found = told(
        settled(1.0, 1, "0"),
        RunPaused(at_s=2.0, why="Which one?"),
        RunResumed(at_s=2.5),
        RunEnded(at_s=3.0, outcome=Completed(answer="a")),
    )
    assert [(mark.at_s, mark.seq, mark.kind.value, mark.text) for mark in found.marks] == [
        (2.0, 2, "paused", "Which one?"),
        (2.5, 3, "resumed", "It goes on."),
        (3.0, 4, "ended", "completed"),
    ]


def test_a_warning_and_a_limit_are_marked_where_they_were_met() -> None:
    facts = recorded("turn_limit")
    marks = burndown(facts).marks
    assert [mark.kind for mark in marks] == [MarkKind.WARNING, MarkKind.LIMIT, MarkKind.ENDED]
    (warned,) = (fact for fact in facts if isinstance(fact.payload, LimitWarned))
    assert (marks[0].seq, marks[0].text) == (
        warned.seq,
        "Approaching iteration limit (7/10). Consider wrapping up your response.",
    )
    assert marks[0].at_s == getattr(facts[warned.seq - 1].payload, "at_s", None)
    assert marks[1].text == "Iteration limit reached (10/10)."


def test_what_was_found_is_marked() -> None:
    (found, _) = burndown(recorded("identical_calls")).marks
    assert found.kind is MarkKind.FINDING
    assert "3 times in a row" in found.text


def test_what_happens_to_the_budget_of_a_scope_is_no_mark_of_the_run() -> None:
    grant = Grant(turns=5, by="ana", why="for the reader")
    opened = ScopeOpened(at_s=0.0, scope="reader", budget=Budget(turns=3))
    found = told(opened, BudgetGranted(at_s=3.0, scope="reader", grant=grant))
    assert found.marks == ()
    assert len(found.limits) == 1


def test_a_long_run_has_few_points() -> None:
    found = told(*(settled(float(number), 1, "0") for number in range(5_000)))
    assert len(found.points) == 500
    assert (found.points[0].tokens, found.points[-1].tokens) == (0, 5_000)


@given(length=st.integers(0, 300), most=st.integers(2, 60))
def test_what_is_thinned_keeps_its_ends_its_order_and_its_evenness(length: int, most: int) -> None:
    kept = thinned(range(length), most)
    assert len(kept) == min(length, most)
    assert list(kept) == sorted(set(kept))
    if length:
        assert (kept[0], kept[-1]) == (0, length - 1)
        gaps = {later - earlier for earlier, later in pairwise(kept)}
        assert not gaps or max(gaps) - min(gaps) <= 1


@pytest.mark.parametrize("facts", [[], [a_fact(TurnEnded(at_s=0.0, turn=0), seq=0)]])
def test_what_does_not_begin_with_the_beginning_is_refused(facts: list[Fact]) -> None:
    with pytest.raises(FactOrderError, match=r"run\.started"):
        burndown(facts)
