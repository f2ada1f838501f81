"""A record in figures, added up from the facts alone."""

from __future__ import annotations

from decimal import Decimal

import pytest
from recorded_runs import (
    BORN_AT,
    RUN_ID,
    Recorded,
    a_fact,
    a_turn,
    new_recorder,
    observed,
    play,
    recorded,
    renumbered,
)

from endstop.errors import RecordError
from endstop.events.summary import summarise
from endstop.kernel.amounts import Amounts
from endstop.kernel.budget import Budget
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import (
    CallReserved,
    CallSettled,
    RunPaused,
    RunResumed,
    TurnStarted,
)
from endstop.kernel.outcome import Completed, Failed, Forced
from endstop.kernel.usage import Usage


@pytest.mark.guarantee("A14", "J1")
def test_what_was_used_is_added_up() -> None:
    assert summarise(recorded("finished")).usage == Usage(
        turns=3,
        model_calls=3,
        input_tokens=150,
        output_tokens=30,
        tokens=180,
        known_cost_usd=Decimal("0.006"),
        tool_calls=3,
        seconds=6.0,
    )


@pytest.mark.guarantee("A14", "A9")
def test_the_sums_are_those_the_governor_came_to(run: Recorded) -> None:
    assert summarise(run.facts).usage == run.states[len(run.facts) - 1].usage()


@pytest.mark.guarantee("A9")
@pytest.mark.parametrize(
    "scenario", ["finished", "waited", "grants", "unknown_price_warned", "review_approved"]
)
def test_the_sums_of_a_run_without_scopes_are_the_governors_at_every_moment(scenario: str) -> None:
    run = play(scenario)
    for seq, state in run.states.items():
        assert summarise(run.facts[: seq + 1]).usage == state.usage(), seq


@pytest.mark.guarantee("J1")
def test_it_says_whose_run_it_was_and_what_was_asked() -> None:
    summary = summarise(recorded("finished"))
    assert (summary.run_id, summary.question, summary.policy) == (RUN_ID, "Where is login?", "default")
    assert summary.budget == Budget(turns=10, tokens=5_000, cost_usd="0.50", seconds=120)


@pytest.mark.guarantee("J1")
def test_it_says_how_and_after_how_many_turns_the_run_ended() -> None:
    summary = summarise(recorded("turn_limit"))
    assert isinstance(summary.ending, Forced)
    assert summary.usage.turns == 10


@pytest.mark.guarantee("J1")
def test_a_run_that_has_not_ended_has_no_ending() -> None:
    summary = summarise(recorded("finished")[:-1])
    assert summary.ending is None


@pytest.mark.guarantee("J1")
def test_findings_and_warnings_are_listed_in_order() -> None:
    stuck = summarise(recorded("identical_calls"))
    assert [found.finding.pattern.value for found in stuck.findings] == ["identical_call"]
    assert [warned.limit_type for warned in summarise(recorded("turn_limit")).warnings] == [LimitKind.TURNS]


@pytest.mark.guarantee("A10")
def test_the_cost_of_calls_of_unknown_price_is_unknown_and_not_zero() -> None:
    usage = summarise(recorded("unknown_price_warned")).usage
    assert usage.cost_usd is None
    assert (usage.unknown_cost_calls, usage.cost_shown) == (3, "unknown")


def settled(cost_usd: str | None, *, turn: int = 0, model_calls: int = 1, tokens: int = 10) -> CallSettled:
    return CallSettled(
        at_s=1.0,
        turn=turn,
        reservation="call",
        input_tokens=tokens,
        cost_usd=None if cost_usd is None else Decimal(cost_usd),
        model_calls=model_calls,
    )


def usage_of(*calls: CallSettled) -> Usage:
    facts = [a_fact(new_recorder().started), *(a_fact(call) for call in calls)]
    return summarise(renumbered(facts)).usage


@pytest.mark.guarantee("A10")
@pytest.mark.parametrize(
    ("costs", "known", "unknown", "cost"),
    [
        ([], "0", 0, "0"),
        (["0"], "0", 0, "0"),
        (["0.1", "0.2"], "0.3", 0, "0.3"),
        ([None], "0", 1, None),
        (["0.1", None], "0.1", 1, None),
        ([None, None, "0"], "0", 2, None),
    ],
)
def test_known_and_unknown_costs_are_counted_apart(
    costs: list[str | None], known: str, unknown: int, cost: str | None
) -> None:
    usage = usage_of(*(settled(one) for one in costs))
    assert usage.known_cost_usd == Decimal(known)
    assert usage.unknown_cost_calls == unknown
    assert usage.cost_usd == (None if cost is None else Decimal(cost))


@pytest.mark.guarantee("A10")
def test_a_settlement_that_used_tokens_at_an_unknown_price_makes_the_cost_unknown() -> None:
    """Also when it is the second part of a call, and so counts as no call of its own."""
    assert usage_of(settled("0.1"), settled(None, model_calls=0)).cost_usd is None


@pytest.mark.guarantee("A10")
def test_a_settlement_of_nothing_costs_nothing() -> None:
    assert usage_of(settled("0.1"), settled(None, model_calls=0, tokens=0)).cost_usd == Decimal("0.1")


@pytest.mark.guarantee("A9")
def test_time_spent_waiting_is_not_counted() -> None:
    assert summarise(recorded("waited")).usage.seconds == 4.0


@pytest.mark.guarantee("A9")
def test_while_a_run_waits_its_time_stands_still() -> None:
    recorder = observed(new_recorder(), RunPaused(at_s=5.0), RunPaused(at_s=7.0), *a_turn(0, 100.0))
    assert summarise(recorder.facts).usage.seconds == 5.0


@pytest.mark.guarantee("A9")
def test_going_on_without_having_waited_takes_no_time_away() -> None:
    recorder = observed(
        new_recorder(), RunResumed(at_s=5.0), RunPaused(at_s=6.0), RunResumed(at_s=9.0), RunResumed(at_s=10.0)
    )
    assert summarise(recorder.facts).usage.seconds == 7.0


@pytest.mark.guarantee("A8", "J1")
def test_grants_of_the_run_are_added_up_and_those_of_its_scopes_are_not() -> None:
    own, scopes = summarise(recorded("grants")), summarise(recorded("scopes"))
    assert (own.granted, own.granted_s) == (Amounts(turns=2), 30.0)
    assert (scopes.granted, scopes.granted_s) == (Amounts(), 0.0)


@pytest.mark.guarantee("J1", "A8")
def test_each_limit_on_what_is_spent_has_a_meter_with_grants() -> None:
    meters = {meter.kind: (meter.used, meter.maximum) for meter in summarise(recorded("grants")).meters}
    assert meters == {LimitKind.TURNS: (5, 5), LimitKind.SECONDS: (10.0, 90.0)}


@pytest.mark.guarantee("J1", "A1")
def test_every_kind_of_limit_that_is_spent_has_its_meter() -> None:
    budget = Budget(turns=9, tokens=9_000, cost_usd=9, seconds=9, model_calls=9, tool_calls_per_turn=9)
    recorder = observed(new_recorder(budget), *a_turn(0, 1.0))
    assert {meter.kind: meter.used for meter in summarise(recorder.facts).meters} == {
        LimitKind.TURNS: 1,
        LimitKind.MODEL_CALLS: 1,
        LimitKind.TOKENS: 60,
        LimitKind.SECONDS: 1.0,
        LimitKind.COST_USD: Decimal(0),
    }


@pytest.mark.guarantee("A6", "A9")
def test_what_was_under_way_when_the_run_ended_counts_at_its_worst_case() -> None:
    """As it does in the books: it may have been spent, and unknown is never zero."""
    recorder = observed(
        new_recorder(),
        TurnStarted(at_s=1.0, turn=0),
        CallReserved(at_s=1.0, turn=0, reservation="call:0", amounts=Amounts(model_calls=1, tokens=300)),
    )
    recorder.end_with(Failed(code="model", message="gone"), at_s=2.0, time=BORN_AT)
    settled_up = recorder.state.ledger.account("run").settled
    usage = summarise(recorder.facts).usage
    assert (usage.turns, usage.tokens) == (settled_up.turns, settled_up.tokens) == (1, 300)


@pytest.mark.guarantee("J1")
def test_what_stands_in_a_record_a_second_time_does_not_start_it_anew() -> None:
    facts = recorded("finished")
    assert summarise((*facts[:5], facts[0], *facts[5:])) == summarise(facts)


@pytest.mark.guarantee("J1")
def test_a_record_that_has_only_started_has_used_nothing() -> None:
    assert summarise(recorded("finished")[:1]).usage == Usage()


@pytest.mark.guarantee("I7")
def test_a_record_without_a_start_cannot_be_summed_up() -> None:
    with pytest.raises(RecordError):
        summarise(recorded("finished")[1:])


@pytest.mark.guarantee("J1")
def test_a_record_is_summed_up_fact_by_fact_as_it_comes() -> None:
    facts = recorded("finished")
    assert summarise(fact for fact in facts) == summarise(facts)


@pytest.mark.guarantee("J1")
def test_a_summary_of_an_ended_run_knows_its_answer() -> None:
    assert summarise(recorded("finished")).ending == Completed(answer="It is in auth.py.")
