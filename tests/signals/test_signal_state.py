"""What the signals of a run add up to, turn by turn."""

from __future__ import annotations

from typing import cast

import pytest

from endstop.kernel.reasons import NO_STREAK
from endstop.signals import Signal, SignalState, SignalType


def need_turn(reason: str | int | None = "read the file") -> Signal:
    return Signal(type=SignalType.NEED_TURN, fields={} if reason is None else {"reason": reason})


STUCK = Signal(type=SignalType.STUCK)


def after(*turns: Signal | None) -> SignalState:
    state = SignalState()
    for signal in turns:
        state = state.after_turn(signal)
    return state


@pytest.mark.guarantee("C5")
def test_a_run_starts_with_nothing() -> None:
    state = SignalState()
    assert (state.last, state.count, dict(state.counts_by_type), state.recent) == (None, 0, {}, ())
    assert (state.same_reason, state.turns_without_signal) == (NO_STREAK, 0)


@pytest.mark.guarantee("C5")
def test_the_last_signal_stays_through_turns_without_one() -> None:
    assert after(need_turn(), STUCK, None, None).last == STUCK


@pytest.mark.guarantee("C5")
def test_all_signals_are_counted() -> None:
    state = after(need_turn(), None, STUCK, need_turn("other"))
    assert state.count == 3
    assert state.counts_by_type == {SignalType.NEED_TURN: 2, SignalType.STUCK: 1}


@pytest.mark.guarantee("C5")
def test_the_latest_20_are_at_hand_oldest_first() -> None:
    state = after(*(need_turn(number) for number in range(25)))
    assert [signal.reason for signal in state.recent] == [str(number) for number in range(5, 25)]
    assert state.count == 25


@pytest.mark.guarantee("C5")
@pytest.mark.parametrize(
    ("turns", "count"),
    [
        ([need_turn()], 1),
        ([need_turn(), need_turn()], 2),
        ([need_turn(), need_turn("  Read\nthe   FILE ")], 2),
        ([need_turn(), need_turn("something else")], 1),
        ([need_turn(), need_turn("something else"), need_turn()], 1),
        ([need_turn(), None], 0),
        ([need_turn(), None, need_turn()], 1),
        ([need_turn(), STUCK], 0),
        ([need_turn(), STUCK, need_turn()], 1),
        ([need_turn(7), need_turn("7")], 2),
        ([need_turn(None), need_turn(None), need_turn("")], 3),
        ([need_turn(None), need_turn()], 1),
        ([STUCK, None], 0),
    ],
)
def test_how_often_the_same_reason_came_in_a_row(turns: list[Signal | None], count: int) -> None:
    assert after(*turns).same_reason.count == count


@pytest.mark.guarantee("C5")
@pytest.mark.parametrize(
    ("turns", "count"),
    [([None], 1), ([None, None], 2), ([None, STUCK], 0), ([STUCK, None], 1), ([None, need_turn(), None], 1)],
)
def test_turns_without_a_signal(turns: list[Signal | None], count: int) -> None:
    assert after(*turns).turns_without_signal == count


def test_a_reason_of_another_type_is_no_reason_for_a_turn() -> None:
    gap = Signal(type=SignalType.NEED_CAPABILITY, fields={"reason": "read the file"})
    assert after(need_turn(), gap).same_reason == NO_STREAK


def test_an_earlier_state_is_not_touched() -> None:
    before = after(need_turn())
    before.after_turn(STUCK)
    assert before == after(need_turn())
    with pytest.raises(TypeError):
        cast("dict[SignalType, int]", before.counts_by_type)[SignalType.STUCK] = 1
