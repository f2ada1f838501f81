"""The books of a sub-agent that runs as a run of its own: reserved as a whole, settled once (A6, A7)."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.errors import InvalidValueError, UnknownReservationError
from endstop.events.audit import audit
from endstop.events.facts import ChildHandedOut, RunStarted
from endstop.events.recorder import Recorder, replay
from endstop.events.summary import summarise
from endstop.events.timeline import timeline
from endstop.kernel.agent import AgentConfig
from endstop.kernel.amounts import Amounts
from endstop.kernel.budget import Budget, UnknownPrice
from endstop.kernel.ledger import CHILD_HOLD, ROOT
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import AgentFinished, CallReserved, ChildSettled, ScopeEnded, ScopeOpened
from endstop.kernel.outcome import Completed, Failed, StopReason, StopRule
from endstop.kernel.verdict import Overrun, PriceUnknown

CARVED = Budget(turns=5, model_calls=8, tokens=1_000, cost_usd="0.10")
WHOLE = Amounts(turns=5, model_calls=8, tokens=1_000, cost_usd=Decimal("0.10"))
FINISHED = StopReason(rule=StopRule.FINISHED, message="")


def handed(above: Budget | None = None, carved: Budget = CARVED, amounts: Amounts = WHOLE) -> Recorder:
    """A run whose sub-agent is elsewhere."""
    own = above or Budget(turns=10, model_calls=20, tokens=5_000, cost_usd="1.00")
    recorder = Recorder(RunStarted(config=AgentConfig(budget=own)), run_id="r", time=0.0, source="test")
    recorder.observe(ScopeOpened(at_s=1.0, scope="child", budget=carved), time=1.0)
    recorder.note(ChildHandedOut(scope="child", run_id="r.1", agent="reader"), time=1.0)
    reserved = CallReserved(
        at_s=1.0, scope="child", turn=0, reservation=CHILD_HOLD, amounts=amounts, closing=True
    )
    recorder.observe(reserved, time=1.0)
    return recorder


def settled(**used: object) -> ChildSettled:
    return ChildSettled(at_s=2.0, scope="child", reservation=CHILD_HOLD, **used)  # type: ignore[arg-type]


def finish(recorder: Recorder) -> None:
    recorder.observe(AgentFinished(at_s=3.0, answer="Done."), time=3.0)
    recorder.end(FINISHED, at_s=3.0, time=3.0)
    found = audit(recorder.facts)
    assert found, str(found)


@pytest.mark.guarantee("A6", "A7")
@given(
    turns=st.integers(0, 5),
    calls=st.integers(0, 8),
    read=st.integers(0, 500),
    wrote=st.integers(0, 500),
    cents=st.integers(0, 10),
    unknown=st.integers(0, 8),
)
def test_what_it_used_counts_above_and_the_rest_flows_back_exactly(
    turns: int, calls: int, read: int, wrote: int, cents: int, unknown: int
) -> None:
    recorder = handed()
    before = {kind: recorder.state.ledger.left(ROOT, kind) for kind in LimitKind}
    used = settled(
        turns=turns,
        model_calls=calls,
        input_tokens=read,
        output_tokens=wrote,
        known_cost_usd=Decimal(cents) / 100,
        unknown_cost_calls=unknown,
    )
    recorder.observe(used, time=2.0)
    recorder.observe(ScopeEnded(at_s=2.0, scope="child", outcome=Completed(answer="So.")), time=2.0)
    ledger, usage = recorder.state.ledger, recorder.usage()
    assert before[LimitKind.TURNS] == 10 - 5 - 1
    assert ledger.left(ROOT, LimitKind.TURNS) == 10 - turns - 1
    assert ledger.account(ROOT).settled.tokens == max(read + wrote, calls)
    assert (usage.turns, usage.model_calls, usage.tokens) == (turns, calls, read + wrote)
    assert (usage.known_cost_usd, usage.unknown_cost_calls) == (Decimal(cents) / 100, unknown)
    assert usage.cost_usd is None or not unknown
    assert replay(recorder.facts).state == recorder.state
    figures = summarise(recorder.facts).usage
    assert (figures.turns, figures.tokens, figures.cost_usd) == (usage.turns, usage.tokens, usage.cost_usd)
    if not unknown:  # under a cost limit, a price that nobody knows ends the run
        finish(recorder)


@pytest.mark.guarantee("A7")
def test_if_the_run_ends_first_all_that_it_may_use_counts() -> None:
    recorder = handed()
    finish(recorder)
    [guess] = [fact.payload for fact in recorder.facts if isinstance(fact.payload, ChildSettled)]
    assert guess.is_estimate
    assert (guess.turns, guess.model_calls, guess.input_tokens) == (5, 8, 1_000)
    assert (guess.known_cost_usd, guess.unknown_cost_calls) == (Decimal("0.10"), 0)
    assert recorder.usage().turns == 5


@pytest.mark.guarantee("A7", "A10")
def test_if_nothing_limits_its_cost_what_it_may_cost_is_unknown() -> None:
    carved, amounts = Budget(turns=5, model_calls=8), Amounts(turns=5, model_calls=8)
    recorder = handed(above=Budget(turns=10), carved=carved, amounts=amounts)
    finish(recorder)
    assert recorder.usage().unknown_cost_calls == 8
    assert recorder.usage().cost_usd is None


@pytest.mark.guarantee("A7", "H5")
def test_what_a_dead_process_left_open_is_closed_but_not_what_lives_on_elsewhere() -> None:
    recorder = handed()
    recorder.close_open(at_s=2.0, time=2.0)
    assert recorder.state.ledger.held("child", CHILD_HOLD) == WHOLE


@pytest.mark.guarantee("A6")
def test_more_than_was_reserved_is_taken_from_what_is_left_and_the_rest_shown_as_an_overrun() -> None:
    recorder = handed()
    noticed = recorder.observe(settled(turns=7, input_tokens=400), time=2.0)
    [overrun] = noticed.notices
    assert isinstance(overrun, Overrun)
    assert (overrun.scope, overrun.amounts) == ("child", Amounts(turns=2))


@pytest.mark.guarantee("A10")
def test_a_price_that_is_unknown_there_is_warned_of_where_that_is_allowed() -> None:
    allows = UnknownPrice.WARN
    above = Budget(turns=10, cost_usd="1.00", unknown_price=allows)
    carved = Budget(turns=5, cost_usd="0.10", unknown_price=allows)
    recorder = handed(above, carved, Amounts(turns=5, cost_usd=Decimal("0.10")))
    [warned] = recorder.observe(settled(turns=1, model_calls=1, unknown_cost_calls=1), time=2.0).notices
    assert isinstance(warned, PriceUnknown)


def test_it_is_settled_once() -> None:
    recorder = handed()
    recorder.observe(settled(turns=1), time=2.0)
    with pytest.raises(UnknownReservationError):
        recorder.observe(settled(turns=1), time=2.0)


@pytest.mark.parametrize("field", ["turns", "model_calls", "input_tokens", "output_tokens", "tool_calls"])
def test_counts_that_cannot_be_are_refused_and_change_nothing(field: str) -> None:
    recorder = handed()
    with pytest.raises(InvalidValueError):
        recorder.observe(settled(**{field: -1}), time=2.0)
    assert recorder.state.ledger.held("child", CHILD_HOLD) == WHOLE


@pytest.mark.guarantee("A14")
def test_how_it_ended_is_judged_by_its_own_record_and_a_scope_of_the_same_name_here_is_not_excused() -> None:
    claims = ScopeEnded(at_s=2.0, scope="child", outcome=Failed(code="no_progress", message="Stuck."))
    recorder = handed()
    recorder.observe(settled(turns=1), time=2.0)
    recorder.observe(claims, time=2.0)
    finish(recorder)
    again = handed()
    again.observe(settled(turns=1), time=2.0)
    again.observe(claims, time=2.0)
    again.observe(ScopeOpened(at_s=2.0, scope="child", budget=CARVED), time=2.0)
    again.observe(claims, time=2.0)
    again.observe(AgentFinished(at_s=3.0, answer="Done."), time=3.0)
    again.end(FINISHED, at_s=3.0, time=3.0)
    assert "it was ended by no_progress" in str(audit(again.facts))


def test_a_timeline_tells_of_it() -> None:
    recorder = handed()
    recorder.observe(settled(turns=3, input_tokens=900, output_tokens=12), time=2.0)
    lines = {moment.type: (moment.title, moment.detail) for moment in timeline(recorder.facts)}
    assert lines["child.handed_out"] == ("Handed out: reader", "r.1")
    assert lines["child.settled"] == ("Sub-agent settled", "3 turns, 900 in, 12 out")
