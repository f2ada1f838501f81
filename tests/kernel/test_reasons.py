"""How often the same reason came in a row (C5)."""

import pytest

from endstop.kernel.reasons import NO_STREAK, ReasonStreak


def counts(*reasons: str | None) -> list[int]:
    streak, seen = NO_STREAK, list[int]()
    for reason in reasons:
        streak = streak.after(reason)
        seen.append(streak.count)
    return seen


@pytest.mark.guarantee("C5")
@pytest.mark.parametrize(
    ("reasons", "expected"),
    [
        (["more files"], [1]),
        (["more files", "more files", "more files"], [1, 2, 3]),
        (["more files", "fewer files", "more files"], [1, 1, 1]),
        (["more files", "more files", None, "more files"], [1, 2, 0, 1]),
        ([None, None], [0, 0]),
        (["More  files", "more files\n", "MORE FILES"], [1, 2, 3]),
        (["caf\u00e9", "cafe\u0301"], [1, 2]),
        (["", ""], [1, 2]),
    ],
)
def test_the_same_reason_in_a_row_is_counted_from_one(reasons: list[str | None], expected: list[int]) -> None:
    assert counts(*reasons) == expected


def test_a_streak_is_a_value() -> None:
    assert NO_STREAK.after("x") == ReasonStreak(reason="x", count=1)
    assert ReasonStreak() == NO_STREAK
