"""Stop conditions: met or not, why, and how they are joined with | and &."""

from decimal import Decimal
from typing import Any

import pytest

from endstop.errors import InvalidValueError
from endstop.kernel.agent import AgentConfig, AgentState
from endstop.kernel.conditions import (
    AllOf,
    AnyOf,
    Condition,
    CostReached,
    Idle,
    NoProgress,
    SecondsPassed,
    TokensUsed,
    TurnsTaken,
    cost_usd,
    idle,
    no_progress,
    require_known,
    seconds,
    tokens,
    turns,
)
from endstop.kernel.usage import Usage

MET = turns(1)
UNMET = turns(1_000)


class Homemade(Condition):
    """A condition that cannot be written into a record."""

    def met(self, state: AgentState) -> str | None:
        return "because"


def standing(
    *,
    turn: int = 5,
    tokens_used: int = 0,
    cost: str = "0",
    elapsed_s: float = 0.0,
    idle_s: float = 0.0,
    stale_turns: int = 0,
) -> AgentState:
    usage = Usage(tokens=tokens_used, known_cost_usd=Decimal(cost), seconds=elapsed_s)
    return AgentState(turn=turn, usage=usage, idle_s=idle_s, stale_turns=stale_turns)


@pytest.mark.parametrize(
    ("condition", "state", "why"),
    [
        (turns(30), standing(turn=29), None),
        (turns(30), standing(turn=30), "30 of 30 turns taken"),
        (turns(30), standing(turn=31), "31 of 30 turns taken"),
        (tokens(1_000), standing(tokens_used=999), None),
        (tokens(1_000), standing(tokens_used=1_000), "1,000 of 1,000 tokens used"),
        (tokens(1_000), standing(tokens_used=1_234), "1,234 of 1,000 tokens used"),
        (cost_usd("0.50"), standing(cost="0.499999"), None),
        (cost_usd("0.50"), standing(cost="0.5"), "$0.50 of $0.50 spent"),
        (seconds(60), standing(elapsed_s=59.9), None),
        (seconds(60), standing(elapsed_s=60.0), "60.0 of 60 seconds passed"),
        (seconds(0.5), standing(elapsed_s=0.75), "0.8 of 0.5 seconds passed"),
        (idle(60), standing(idle_s=59.9), None),
        (idle(60), standing(idle_s=60.0), "nothing happened for 60.0 seconds"),
        (idle(60), standing(idle_s=61.25), "nothing happened for 61.2 seconds"),
        (no_progress(3), standing(stale_turns=2), None),
        (no_progress(3), standing(stale_turns=3), "3 turns in a row brought nothing new"),
    ],
)
def test_a_condition_is_met_from_its_figure_on_and_says_why(
    condition: Condition, state: AgentState, why: str | None
) -> None:
    assert condition.met(state) == why


def test_any_of_them_is_met_by_the_first_that_is() -> None:
    either = turns(100) | tokens(10) | turns(5)
    assert either.met(standing(turn=5, tokens_used=20)) == "20 of 10 tokens used"
    assert either.met(standing(turn=5)) == "5 of 5 turns taken"
    assert either.met(standing(turn=4)) is None


def test_all_of_them_are_met_together_and_the_reason_names_each() -> None:
    both = turns(5) & tokens(10)
    assert both.met(standing(turn=5, tokens_used=20)) == "5 of 5 turns taken and 20 of 10 tokens used"
    assert both.met(standing(turn=5)) is None
    assert both.met(standing(turn=4, tokens_used=20)) is None


def test_chains_stay_flat_however_they_are_bracketed() -> None:
    one, two, three, four = (turns(number) for number in (1, 2, 3, 4))
    assert (
        (one | two) | (three | four)
        == one | (two | (three | four))
        == AnyOf(conditions=(one, two, three, four))
    )
    assert (
        (one & two) & (three & four)
        == one & (two & (three & four))
        == AllOf(conditions=(one, two, three, four))
    )


def test_and_binds_tighter_than_or() -> None:
    condition = turns(30) | idle(60) & no_progress(3)
    assert condition == AnyOf(conditions=(turns(30), AllOf(conditions=(idle(60), no_progress(3)))))
    assert condition.met(standing(idle_s=61)) is None
    assert condition.met(standing(idle_s=61, stale_turns=3)) == (
        "nothing happened for 61.0 seconds and 3 turns in a row brought nothing new"
    )


def test_brackets_change_what_is_joined() -> None:
    condition = (turns(30) | idle(60)) & no_progress(3)
    assert condition == AllOf(conditions=(AnyOf(conditions=(turns(30), idle(60))), no_progress(3)))
    assert condition.met(standing(turn=30)) is None


@pytest.mark.parametrize(
    ("first", "second", "either", "both"),
    [
        (MET, MET, True, True),
        (MET, UNMET, True, False),
        (UNMET, MET, True, False),
        (UNMET, UNMET, False, False),
    ],
)
def test_joining_follows_the_truth_tables(
    first: Condition, second: Condition, either: bool, both: bool
) -> None:
    state = standing()
    assert (bool((first | second).met(state)), bool((first & second).met(state))) == (either, both)


def test_conditions_are_plain_values() -> None:
    assert turns(30) == TurnsTaken(at_least=30)
    assert tokens(10) == TokensUsed(at_least=10)
    assert cost_usd("0.50") == cost_usd(0.5) == CostReached(at_least=Decimal("0.5"))
    assert seconds(60) == SecondsPassed(at_least=60.0)
    assert idle(60) == Idle(at_least=60.0)
    assert no_progress(3) == NoProgress(turns=3)
    assert len({turns(3), turns(3), turns(4)}) == 2


@pytest.mark.parametrize(("make", "largest"), [(turns, 10**6), (tokens, 10**12), (no_progress, 1_000)])
def test_a_count_can_be_as_large_as_a_limit_and_not_one_larger(make: Any, largest: int) -> None:
    make(largest)
    with pytest.raises(InvalidValueError, match=f"to {largest:,}"):
        make(largest + 1)


@pytest.mark.parametrize("bad", [0, -1, 10**13, 1.0, float("nan"), float("inf"), True, "30", None])
@pytest.mark.parametrize(
    ("make", "field"), [(turns, "turns"), (tokens, "tokens"), (no_progress, "no_progress")]
)
def test_a_count_out_of_bounds_is_refused_by_name(make: Any, field: str, bad: Any) -> None:
    with pytest.raises(InvalidValueError, match=rf"^{field} is .*a whole number from 1 to"):
        make(bad)


@pytest.mark.parametrize("bad", [0, -1, "-0.01", float("nan"), float("inf"), True, "much", None, 10**10])
def test_a_cost_out_of_bounds_is_refused_by_name(bad: Any) -> None:
    with pytest.raises(InvalidValueError, match=r"^cost_usd is .*dollars from 0\.000001"):
        cost_usd(bad)


@pytest.mark.parametrize("bad", [0, -1, 0.0, float("nan"), float("-inf"), True, "60", None, Decimal(60)])
@pytest.mark.parametrize(("make", "field"), [(seconds, "seconds"), (idle, "idle")])
def test_a_time_out_of_bounds_is_refused_by_name(make: Any, field: str, bad: Any) -> None:
    with pytest.raises(InvalidValueError, match=rf"^{field} is .*seconds above 0"):
        make(bad)


@pytest.mark.parametrize("bad", [float("inf"), 10**9, 10**400], ids=["inf", "1e9", "1e400"])
@pytest.mark.parametrize(("make", "field"), [(seconds, "seconds"), (idle, "idle")])
def test_a_time_that_is_too_long_is_refused_with_the_longest_that_is_allowed(
    make: Any, field: str, bad: Any
) -> None:
    with pytest.raises(InvalidValueError) as caught:
        make(bad)
    assert caught.value.field == field
    assert "1,000,000,000" in caught.value.allowed


@pytest.mark.parametrize("stranger", [30, "turns(30)", None, True, str])
def test_only_conditions_can_be_joined(stranger: Any) -> None:
    for join in (lambda: turns(30) | stranger, lambda: turns(30) & stranger):
        with pytest.raises(InvalidValueError, match=r"^condition is .*conditions, such as turns\(30\)"):
            join()


@pytest.mark.parametrize(
    "condition",
    [
        *(turns(1), tokens(1), cost_usd(1), seconds(1), idle(1), no_progress(1)),
        turns(1) | tokens(1) & idle(1),
    ],
)
def test_what_is_made_of_ours_alone_can_stop_a_run(condition: Condition) -> None:
    require_known(condition)
    assert AgentConfig(stop=condition).stop is condition


@pytest.mark.parametrize(
    "condition",
    [Homemade(), turns(1) | Homemade(), turns(1) & Homemade(), turns(1) | (tokens(1) & Homemade())],
)
def test_a_condition_of_somebody_elses_is_refused_however_deep_it_hides(condition: Condition) -> None:
    with pytest.raises(InvalidValueError, match=r"^stop is .*register a decision tree with @decision_tree"):
        require_known(condition)


@pytest.mark.parametrize("nonsense", [None, "turns(30)", 30])
def test_what_is_no_condition_is_refused_as_a_stop(nonsense: Any) -> None:
    with pytest.raises(InvalidValueError, match=r"^stop is "):
        require_known(nonsense)
