"""Upper bounds: what a run can use at most, known before it starts; and no run without one."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.errors import GrantRefusedError, UnboundedError
from endstop.kernel.agent import AgentConfig
from endstop.kernel.amounts import Amounts
from endstop.kernel.bounds import UpperBound, require_bounded, upper_bound
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.governor import Governor
from endstop.kernel.ledger import ROOT, Ledger
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import CallReserved, CallSettled, TurnEnded, TurnStarted
from endstop.kernel.verdict import LastTurn, Stop


@pytest.mark.guarantee("A13")
@pytest.mark.parametrize(
    ("budget", "bound"),
    [
        (Budget(), UpperBound()),
        (Budget(turns=30), UpperBound(turns=30, model_calls=30)),
        (Budget(model_calls=50), UpperBound(turns=50, model_calls=50)),
        (Budget(tokens=1_000), UpperBound(turns=1_000, model_calls=1_000, tokens=1_000)),
        (Budget(turns=30, tokens=10), UpperBound(turns=10, model_calls=10, tokens=10)),
        (Budget(turns=30, model_calls=20), UpperBound(turns=20, model_calls=20)),
        (
            Budget(turns=30, tool_calls_per_turn=10),
            UpperBound(turns=30, model_calls=30, tool_calls=300),
        ),
        (
            Budget(turns=30, tokens=20, tool_calls_per_turn=10),
            UpperBound(turns=20, model_calls=20, tool_calls=200, tokens=20),
        ),
        (Budget(tool_calls_per_turn=10), UpperBound()),
        (Budget(parallel_tools=3, context_tokens=100), UpperBound()),
        (Budget(cost_usd="0.50"), UpperBound(cost_usd=Decimal("0.5"))),
        (Budget(seconds=60), UpperBound(seconds=60.0)),
    ],
)
def test_a_bound_follows_from_the_limits_and_limits_bound_each_other(
    budget: Budget, bound: UpperBound
) -> None:
    assert upper_bound(budget) == bound


@pytest.mark.guarantee("A8", "A13")
def test_with_grants_the_bound_grows_by_the_cap_on_them() -> None:
    budget = Budget(turns=10, tokens=1_000, cost_usd="0.50", seconds=60, tool_calls_per_turn=2, grant_cap=3)
    assert upper_bound(budget, with_grants=True) == UpperBound(
        turns=40, model_calls=40, tool_calls=80, tokens=4_000, cost_usd=Decimal("2.00"), seconds=240.0
    )


@pytest.mark.guarantee("A8", "A13")
def test_with_no_grants_allowed_the_bound_is_the_budget() -> None:
    budget = Budget(turns=10, cost_usd="0.50", seconds=60, grant_cap=0)
    assert upper_bound(budget, with_grants=True) == upper_bound(budget)


BUDGETS = st.builds(
    Budget,
    turns=st.none() | st.integers(1, 300),
    model_calls=st.none() | st.integers(1, 300),
    tokens=st.none() | st.integers(1, 300),
    cost_usd=st.none() | st.integers(1, 300),
    seconds=st.none() | st.integers(1, 300),
    tool_calls_per_turn=st.none() | st.integers(1, 9),
    grant_cap=st.integers(0, 900).map(lambda hundredths: hundredths / 100),
)


def most_grantable(ledger: Ledger, kind: str, cap: float) -> Ledger:
    """The ledger after the largest grant of one kind that its cap lets through, in whole numbers."""
    for amount in range(int(cap * 100) + 2, 0, -1):
        grant = Grant(**{kind: amount}, by="ada", why="more")  # pyright: ignore[reportArgumentType]
        try:
            return ledger.grant(ROOT, grant)
        except GrantRefusedError:
            continue
    return ledger


@pytest.mark.guarantee("A8", "A13")
@pytest.mark.parametrize("kind", [LimitKind.TURNS, LimitKind.TOKENS, LimitKind.COST_USD, LimitKind.SECONDS])
@pytest.mark.parametrize(
    ("maximum", "cap"), [(100, 0.36), (100, 0.57), (100, 7.97), (10, 1.1), (100, 0.59), (7, 3.0)]
)
def test_no_grants_that_the_cap_lets_through_pass_the_bound(
    kind: LimitKind, maximum: int, cap: float
) -> None:
    limits: dict[str, Any] = {kind.value: maximum, "grant_cap": cap}
    budget = Budget(**limits)
    granted = most_grantable(Ledger.open(budget), kind.value, cap).account(ROOT).maximum(kind)
    bound = getattr(upper_bound(budget, with_grants=True), kind.value)
    assert granted is not None
    assert granted <= bound


@pytest.mark.guarantee("A13")
@given(budget=BUDGETS)
def test_no_bound_is_looser_than_its_own_limit(budget: Budget) -> None:
    bound = upper_bound(budget)
    for kind in ("turns", "model_calls", "tokens", "cost_usd", "seconds"):
        limit, most = getattr(budget, kind), getattr(bound, kind)
        assert limit is None or most <= limit


@pytest.mark.guarantee("A13")
@pytest.mark.parametrize("first", [Budget(turns=5), Budget(tokens=5), Budget(turns=5, tokens=5)])
@pytest.mark.parametrize(
    "further", [{"turns": 50}, {"model_calls": 50}, {"tokens": 50}, {"seconds": 50.0}, {"cost_usd": 50}]
)
def test_a_further_limit_never_loosens_a_bound(first: Budget, further: dict[str, Any]) -> None:
    limits: dict[str, Any] = {"turns": first.turns, "tokens": first.tokens}
    given_too = {name: value for name, value in further.items() if limits.get(name) is None}
    before, after = upper_bound(first), upper_bound(Budget(**{**limits, **given_too}))
    for kind in ("turns", "model_calls", "tokens"):
        most = getattr(before, kind)
        assert most is None or getattr(after, kind) <= most


@pytest.mark.guarantee("A13")
def test_a_bound_that_follows_from_tokens_holds_for_calls_that_report_none() -> None:
    budget = Budget(tokens=5)
    governor = Governor(AgentConfig(budget=budget))
    state = governor.start()
    most = upper_bound(budget).turns
    assert most == 5
    for turn in range(most + 1):
        verdict = governor.verdict(state, at_s=0.0)
        if isinstance(verdict, Stop):
            break
        closing = verdict.limit if isinstance(verdict, LastTurn) else None
        for observation in (
            TurnStarted(at_s=0.0, turn=turn, closing=closing),
            CallReserved(
                at_s=0.0,
                turn=turn,
                reservation="call",
                amounts=Amounts(model_calls=1, tokens=1),
                closing=True,
            ),
            CallSettled(at_s=0.0, turn=turn, reservation="call", cost_usd=Decimal(0)),
            TurnEnded(at_s=0.0, turn=turn),
        ):
            state, _ = governor.step(state, observation)
    assert state.usage().turns <= most


@pytest.mark.guarantee("A13")
@pytest.mark.parametrize(
    "budget", [Budget(turns=1), Budget(model_calls=1), Budget(tokens=1), Budget(seconds=1)]
)
def test_one_limit_on_turns_calls_tokens_or_time_is_enough_to_end_a_run(budget: Budget) -> None:
    bound = require_bounded(budget)
    assert bound.is_bounded
    assert bound == upper_bound(budget)


@pytest.mark.guarantee("A13")
@pytest.mark.parametrize(
    ("budget", "only"),
    [
        (Budget(), "it has no limit"),
        (Budget(cost_usd=1), "it has only a cost limit, and calls may be free"),
    ],
)
def test_a_budget_that_ends_nothing_is_refused_with_what_to_add(budget: Budget, only: str) -> None:
    assert not upper_bound(budget).is_bounded
    with pytest.raises(UnboundedError) as caught:
        require_bounded(budget)
    assert str(caught.value) == (
        f"Nothing in this budget ends a run: {only}. "
        "Allowed: a budget with at least one of turns, model_calls, tokens or seconds. "
        "Add one, such as Budget(turns=30)."
    )
    assert caught.value.code == "unbounded"


@pytest.mark.guarantee("A13")
@pytest.mark.parametrize(
    "budget", [Budget(context_tokens=1_000), Budget(tool_calls_per_turn=1, parallel_tools=1)]
)
def test_a_budget_whose_limits_end_nothing_is_refused_but_not_said_to_have_none(budget: Budget) -> None:
    with pytest.raises(UnboundedError) as caught:
        require_bounded(budget)
    assert "it has no limit" not in str(caught.value)


@pytest.mark.guarantee("A13")
@pytest.mark.parametrize(
    ("bound", "text"),
    [
        (
            UpperBound(),
            "turns unbounded, model calls unbounded, tool calls unbounded, tokens unbounded, "
            "cost unbounded, time unbounded",
        ),
        (
            UpperBound(
                turns=30,
                model_calls=30,
                tool_calls=3_000,
                tokens=200_000,
                cost_usd=Decimal("0.5"),
                seconds=300.0,
            ),
            "turns ≤ 30, model calls ≤ 30, tool calls ≤ 3,000, tokens ≤ 200,000, cost ≤ $0.50, time ≤ 300 s",
        ),
        (
            UpperBound(turns=1, seconds=7_200.5),
            "turns ≤ 1, model calls unbounded, tool calls unbounded, tokens unbounded, "
            "cost unbounded, time ≤ 7,200.5 s",
        ),
    ],
)
def test_a_bound_reads_as_a_sentence(bound: UpperBound, text: str) -> None:
    assert str(bound) == text


@pytest.mark.guarantee("A8")
def test_what_has_no_limit_can_be_granted_nothing() -> None:
    assert Budget(turns=3).most_granted(LimitKind.TOKENS) == 0
    assert Budget(turns=3, grant_cap=2).most_granted(LimitKind.TURNS) == 6


@pytest.mark.guarantee("A13")
def test_without_knowing_the_calls_of_a_turn_turns_and_calls_do_not_bound_each_other() -> None:
    bound = upper_bound(Budget(turns=5, model_calls=50, tokens=20), calls_per_turn=None)
    assert (bound.turns, bound.model_calls) == (5, 20)
    bound = upper_bound(Budget(turns=5), calls_per_turn=2)
    assert (bound.turns, bound.model_calls) == (5, 10)
