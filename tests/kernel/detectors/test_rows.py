"""Rows: how long, and enough of them to show."""

import pytest

from endstop.kernel.detectors.rows import NO_ROW, Row, in_turns
from endstop.kernel.finding import Evidence


def row_of(*keys: str) -> Row:
    row = NO_ROW
    for turn, key in enumerate(keys):
        row = row.after(key, Evidence(turn=turn, what=key))
    return row


def test_equal_keys_lengthen_a_row_and_another_begins_a_new_one() -> None:
    assert row_of("a", "a", "a").count == 3
    assert row_of("a", "a", "b").count == 1
    assert row_of("a", "b", "b").evidence[0].turn == 1


def test_a_row_keeps_the_first_and_last_three_however_long_it_is() -> None:
    row = row_of(*["a"] * 1_000)
    assert row.count == 1_000
    assert [each.turn for each in row.evidence] == [0, 1, 2, 997, 998, 999]


@pytest.mark.parametrize(
    ("count", "is_due"),
    [(0, False), (1, False), (2, False), (3, True), (4, False), (5, False), (6, True), (9, True)],
)
def test_a_row_is_due_at_its_threshold_and_at_each_multiple(count: int, is_due: bool) -> None:
    assert row_of(*["a"] * count).is_due(3) is is_due


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([1], "turn 2"),
        ([1, 1, 1], "turn 2"),
        ([1, 2], "turns 2 and 3"),
        ([1, 2, 3], "turns 2, 3 and 4"),
        ([1, 2, 3, 4], "turns 2 to 5"),
    ],
)
def test_turns_are_told_as_people_count_them(turns: list[int], expected: str) -> None:
    assert in_turns([Evidence(turn=turn, what="x") for turn in turns]) == expected
