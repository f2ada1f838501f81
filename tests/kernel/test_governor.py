"""The governor: observations in, verdicts out, and nothing that cannot have happened."""

from __future__ import annotations

from decimal import Decimal

import pytest

from endstop.errors import ClosedAccountError, EndstopError, InvalidValueError, LedgerError, ObservationError
from endstop.kernel.agent import AgentConfig
from endstop.kernel.amounts import Amounts
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.governor import Governor
from endstop.kernel.ledger import ROOT
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import (
    AgentFinished,
    AssistantSaid,
    BudgetGranted,
    CallReserved,
    CallSettled,
    CallUnaffordable,
    CancelRequested,
    ContextMeasured,
    Observation,
    RunEnded,
    RunPaused,
    RunResumed,
    ScopeEnded,
    ScopeOpened,
    ToolFinished,
    TurnEnded,
    TurnStarted,
    UserSaid,
    tool_called,
)
from endstop.kernel.outcome import Completed, Stopped, StopReason, StopRule
from endstop.kernel.state import GovernorState
from endstop.kernel.verdict import GoOn, LastTurn, LimitWarned, Stop, Verdict

DONE = Completed(answer="done")


def governor(**limits: int) -> Governor:
    return Governor(AgentConfig(budget=Budget(**(limits or {"turns": 5}))))  # type: ignore[arg-type]


def after(judge: Governor, *observations: Observation) -> GovernorState:
    state = judge.start()
    for observation in observations:
        state, _ = judge.step(state, observation)
    return state


def turns(count: int, *, first: int = 0) -> list[Observation]:
    taken: list[Observation] = []
    for turn in range(first, first + count):
        taken += [TurnStarted(at_s=turn, turn=turn), TurnEnded(at_s=turn, turn=turn)]
    return taken


@pytest.mark.guarantee("A3")
@pytest.mark.parametrize(
    ("taken", "expected"),
    [(0, GoOn()), (28, GoOn()), (29, LastTurn(limit=LimitKind.TURNS))],
)
def test_at_29_of_30_one_more_turn_is_granted(taken: int, expected: Verdict) -> None:
    judge = governor(turns=30)
    # The twenty-ninth turn and the last one are told apart by the finish reserve of one turn.
    state = after(judge, *turns(min(taken, 29)))
    assert judge.verdict(state, at_s=100) == expected


@pytest.mark.guarantee("A3", "A12")
def test_at_30_of_30_completion_is_forced_whatever_the_model_still_asks_for() -> None:
    judge = governor(turns=3)
    closing = TurnStarted(at_s=2, turn=2, closing=LimitKind.TURNS)
    state = after(judge, *turns(2), closing, AssistantSaid(at_s=2, turn=2, text="I need more"))
    assert judge.verdict(state, at_s=2) == LastTurn(limit=LimitKind.TURNS)
    state, verdict = judge.step(state, TurnEnded(at_s=2, turn=2))
    assert isinstance(verdict, Stop)
    assert verdict.reason.rule is StopRule.TURNS


@pytest.mark.guarantee("A2")
@pytest.mark.parametrize(("max_turns", "warned_at"), [(5, 3), (10, 7), (30, 21), (1, 0), (2, 1)])
def test_the_warning_comes_at_the_start_of_the_turn_that_reaches_it_once(
    max_turns: int, warned_at: int
) -> None:
    judge = governor(turns=max_turns)
    state, warned = judge.start(), list[int]()
    for turn in range(max_turns):
        closing = LimitKind.TURNS if turn == max_turns - 1 else None
        state, noticed = judge.observe(state, TurnStarted(at_s=turn, turn=turn, closing=closing))
        warned += [turn for notice in noticed.notices if isinstance(notice, LimitWarned)]
        state, _ = judge.observe(state, TurnEnded(at_s=turn, turn=turn))
    assert warned == [warned_at]


@pytest.mark.guarantee("A2", "I2")
def test_a_warning_says_how_the_limit_stands() -> None:
    judge = governor(turns=10)
    state = after(judge, *turns(7))
    _, noticed = judge.observe(state, TurnStarted(at_s=7, turn=7))
    (warning,) = noticed.notices
    assert isinstance(warning, LimitWarned)
    assert (warning.turn, warning.max_turns, warning.percentage, warning.remaining) == (7, 10, 70.0, 3)
    assert noticed.hints == (warning.message,)


@pytest.mark.guarantee("H1")
def test_step_is_pure() -> None:
    judge = governor(turns=5)
    state = after(judge, *turns(2))
    before = repr(state)
    observation = TurnStarted(at_s=9, turn=2)
    assert judge.step(state, observation) == judge.step(state, observation)
    assert repr(state) == before


@pytest.mark.guarantee("A14")
@pytest.mark.parametrize(
    "late", [UserSaid(at_s=9), RunEnded(at_s=9, outcome=DONE), TurnStarted(at_s=9, turn=2)]
)
def test_after_the_ending_there_is_nothing(late: Observation) -> None:
    judge = governor(turns=5)
    state, verdict = judge.step(after(judge, *turns(2)), RunEnded(at_s=8, outcome=DONE))
    assert isinstance(verdict, Stop)
    assert state.ending == DONE
    with pytest.raises(ClosedAccountError, match="after the run had ended"):
        judge.step(state, late)


IMPOSSIBLE: list[tuple[Observation, type[EndstopError], str]] = [
    (UserSaid(at_s=0.5), ObservationError, "times that do not go back"),
    (UserSaid(at_s=float("nan")), ObservationError, "times that do not go back"),
    (UserSaid(at_s=2, scope="nowhere"), ClosedAccountError, "not open"),
    (TurnStarted(at_s=2, turn=1), ObservationError, "turn 2, the next one"),
    (TurnStarted(at_s=2, turn=7), ObservationError, "turn 2, the next one"),
    (TurnEnded(at_s=2, turn=1), ObservationError, "none is open"),
    (CallSettled(at_s=2, turn=1, reservation="x"), LedgerError, "no open reservation 'x'"),
    (
        CallReserved(at_s=2, turn=1, reservation="turn:9", amounts=Amounts(tokens=1)),
        ObservationError,
        "reserved as 'turn:9'",
    ),
    (ContextMeasured(at_s=2, tokens=-1), InvalidValueError, "context tokens is -1"),
    (ScopeEnded(at_s=2, outcome=DONE), LedgerError, "ended by RunEnded"),
    (ScopeOpened(at_s=2, scope="a", parent="b", budget=Budget(turns=1)), ClosedAccountError, "'b'"),
    (BudgetGranted(at_s=2, grant=Grant(tokens=5, by="me", why="more")), LedgerError, "no token limit"),
]


@pytest.mark.parametrize(("observation", "error", "words"), IMPOSSIBLE)
def test_what_cannot_have_happened_is_refused_and_changes_nothing(
    observation: Observation, error: type[EndstopError], words: str
) -> None:
    judge = governor(turns=5)
    state = after(judge, *turns(2))
    before = repr(state)
    with pytest.raises(error, match=words):
        judge.step(state, observation)
    assert repr(state) == before


@pytest.mark.parametrize("field", ["input_tokens", "output_tokens", "model_calls"])
def test_usage_that_runs_backwards_is_refused(field: str) -> None:
    judge = governor(turns=5)
    reserved = CallReserved(at_s=2, turn=2, reservation="call", amounts=Amounts(tokens=10))
    state = after(judge, *turns(2), TurnStarted(at_s=2, turn=2), reserved)
    settled = CallSettled(at_s=2, turn=2, reservation="call", **{field: -1})  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match=f"{field} is -1"):
        judge.step(state, settled)


def test_a_run_or_scope_cannot_end_before_what_is_open_in_it() -> None:
    judge = governor(turns=9)
    outer = ScopeOpened(at_s=0, scope="outer", budget=Budget(turns=4))
    inner = ScopeOpened(at_s=0, scope="inner", parent="outer", budget=Budget(turns=2))
    state = after(judge, outer, inner)
    with pytest.raises(LedgerError, match="still open are outer, inner"):
        judge.step(state, RunEnded(at_s=1, outcome=DONE))
    with pytest.raises(LedgerError, match="still open are inner"):
        judge.step(state, ScopeEnded(at_s=1, scope="outer", outcome=DONE))
    with pytest.raises(LedgerError, match="already"):
        judge.step(state, outer)


@pytest.mark.guarantee("A6")
def test_what_is_under_way_when_a_run_ends_is_settled_at_its_worst_case() -> None:
    judge = governor(turns=9, tokens=1_000)
    reserved = CallReserved(at_s=0, turn=0, reservation="call", amounts=Amounts(tokens=300, model_calls=1))
    state = after(judge, TurnStarted(at_s=0, turn=0), reserved, RunEnded(at_s=1, outcome=DONE))
    account = state.ledger.account(ROOT)
    assert (account.settled.tokens, account.settled.turns, account.reserved.tokens) == (300, 1, 0)


@pytest.mark.guarantee("A7")
def test_a_scope_that_ended_gets_no_further_verdict() -> None:
    judge = governor(turns=9)
    state = after(judge, ScopeOpened(at_s=0, scope="part", budget=Budget(turns=4)))
    outcome = Stopped(reason=StopReason(rule=StopRule.PARENT, message="The run above it has ended."))
    state, verdict = judge.step(state, ScopeEnded(at_s=1, scope="part", outcome=outcome))
    assert isinstance(verdict, Stop)
    assert judge.verdict(state, at_s=1) == GoOn()


@pytest.mark.guarantee("A9")
def test_pausing_twice_and_resuming_without_a_pause_are_harmless() -> None:
    judge = governor(turns=9)
    state = after(
        judge,
        RunResumed(at_s=1),
        RunPaused(at_s=2),
        RunPaused(at_s=5),
        RunResumed(at_s=12),
        RunResumed(at_s=13),
    )
    assert state.waited_s == 10
    assert state.usage().seconds == 3


@pytest.mark.guarantee("D10")
def test_a_cancellation_can_be_made_sooner_but_not_later() -> None:
    judge = governor(turns=9)
    later = CancelRequested(at_s=0, by="ann", after_turn=True)
    at_once = CancelRequested(at_s=0, by="bob")
    in_turn = TurnStarted(at_s=0, turn=0)
    assert judge.verdict(after(judge, in_turn, later), at_s=0) == GoOn()
    for order in ((later, at_once), (at_once, later)):
        assert isinstance(judge.verdict(after(judge, in_turn, *order), at_s=0), Stop)


@pytest.mark.guarantee("A12")
def test_a_model_that_finished_and_takes_another_turn_has_not_finished() -> None:
    judge = governor(turns=9)
    state = after(judge, *turns(1), AgentFinished(at_s=1, answer="done"))
    assert isinstance(judge.verdict(state, at_s=1), Stop)
    state, verdict = judge.step(state, TurnStarted(at_s=1, turn=1))
    assert verdict == GoOn()
    state, _ = judge.step(state, AgentFinished(at_s=1))
    _, verdict = judge.step(state, UserSaid(at_s=1, text="and now?"))
    assert verdict == GoOn()


@pytest.mark.guarantee("F2")
def test_a_policy_sees_the_last_three_actions() -> None:
    judge = governor(turns=9)
    calls = [tool_called(at_s=0, turn=0, call=str(n), tool="read", arguments={"page": n}) for n in range(5)]
    state = after(judge, TurnStarted(at_s=0, turn=0), *calls)
    assert judge.view(state).recent_actions == ('read({"page":2})', 'read({"page":3})', 'read({"page":4})')


def test_turns_are_stale_while_their_calls_bring_only_what_is_known() -> None:
    judge = governor(turns=9)
    state = judge.start()
    stale: list[int] = []
    for turn, result in enumerate(["a", "b", "a", "b", "c"]):
        called = tool_called(at_s=turn, turn=turn, call=str(turn), tool="look", arguments={})
        finished = ToolFinished(
            at_s=turn, turn=turn, call=str(turn), tool="look", key=called.key, result=result
        )
        for observation in (
            TurnStarted(at_s=turn, turn=turn),
            called,
            finished,
            TurnEnded(at_s=turn, turn=turn),
        ):
            state, _ = judge.step(state, observation)
        stale.append(judge.view(state).stale_turns)
    assert stale == [0, 0, 1, 2, 0]


def test_cost_is_kept_to_the_last_digit_across_many_small_calls() -> None:
    judge = Governor(AgentConfig(budget=Budget(turns=2_000, cost_usd=1)))
    state = judge.start()
    state, _ = judge.observe(state, TurnStarted(at_s=0, turn=0))
    for number in range(1_000):
        name = f"call:{number}"
        cost = Decimal("0.000001234567")
        for observation in (
            CallReserved(at_s=0, turn=0, reservation=name, amounts=Amounts(cost_usd=cost)),
            CallSettled(at_s=0, turn=0, reservation=name, input_tokens=1, cost_usd=cost),
        ):
            state, _ = judge.observe(state, observation)
    assert state.usage().cost_usd == Decimal("0.001234567")


@pytest.mark.guarantee("A6")
def test_when_no_call_can_be_paid_for_any_more_the_run_ends_by_that_limit() -> None:
    judge = governor(turns=5, tokens=1_000)
    state = after(judge, *turns(1), CallUnaffordable(at_s=2, limit=LimitKind.TOKENS))
    verdict = judge.verdict(state, at_s=2)
    assert isinstance(verdict, Stop)
    assert verdict.reason.rule is StopRule.TOKENS


def test_the_largest_usage_there_can_be_is_taken() -> None:
    judge = governor(turns=5)
    state = after(
        judge,
        CallReserved(at_s=0, turn=0, reservation="call:0", amounts=Amounts(model_calls=1)),
        CallSettled(at_s=0, turn=0, reservation="call:0", input_tokens=10**12, output_tokens=1),
    )
    assert state.usage().tokens == 10**12 + 1
