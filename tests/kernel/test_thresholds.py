"""Thresholds: the exact defaults of section B, and bounds that name what is wrong."""

from dataclasses import FrozenInstanceError, fields

import pytest

from endstop.errors import InvalidValueError
from endstop.kernel.thresholds import DEFAULT_THRESHOLDS, Thresholds

DEFAULTS = {
    "identical_calls": 3,
    "identical_results": 3,
    "errors_in_a_row": 3,
    "same_reason": 3,
    "cycle_rounds": 3,
    "longest_cycle": 3,
    "silent_messages": 3,
    "repeated_chunks": 10,
    "smallest_chunk_chars": 20,
    "largest_chunk_chars": 2_000,
    "failures_to_trip": 3,
    "tool_reminders": 1,
    "convergence_iterations": 3,
    "convergence_lines": 10,
}

BOUNDS = {
    **dict.fromkeys(DEFAULTS, (2, 100)),
    "longest_cycle": (2, 8),
    "smallest_chunk_chars": (2, 500),
    "largest_chunk_chars": (20, 4_000),
    "tool_reminders": (0, 10),
    "convergence_iterations": (3, 100),
    "convergence_lines": (0, 10_000),
}


@pytest.mark.guarantee("B1", "B2", "B3", "B4", "B5", "B6", "B7")
def test_defaults_are_the_figures_of_the_requirements() -> None:
    assert {field.name: getattr(DEFAULT_THRESHOLDS, field.name) for field in fields(Thresholds)} == DEFAULTS


@pytest.mark.guarantee("B11")
@pytest.mark.parametrize(("name", "bounds"), BOUNDS.items())
def test_each_threshold_can_be_set_within_its_bounds(name: str, bounds: tuple[int, int]) -> None:
    for value in bounds:
        assert getattr(Thresholds(**{name: value}), name) == value


@pytest.mark.guarantee("B11")
@pytest.mark.parametrize(("name", "bounds"), BOUNDS.items())
def test_a_value_outside_its_bounds_is_refused_by_name(name: str, bounds: tuple[int, int]) -> None:
    for value in (bounds[0] - 1, bounds[1] + 1):
        with pytest.raises(InvalidValueError, match=name) as caught:
            Thresholds(**{name: value})
        assert caught.value.field == name


@pytest.mark.guarantee("B11")
@pytest.mark.parametrize("value", [True, 3.0, "3", None])
def test_only_whole_numbers_are_thresholds(value: object) -> None:
    with pytest.raises(InvalidValueError, match="identical_calls"):
        Thresholds(identical_calls=value)  # pyright: ignore[reportArgumentType]


def test_the_smallest_chunk_may_not_exceed_the_largest() -> None:
    assert Thresholds(smallest_chunk_chars=50, largest_chunk_chars=50).largest_chunk_chars == 50
    with pytest.raises(InvalidValueError, match=r"smallest_chunk_chars is 51.*which is 50.*Lower the one"):
        Thresholds(smallest_chunk_chars=51, largest_chunk_chars=50)


def test_thresholds_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        DEFAULT_THRESHOLDS.identical_calls = 4  # pyright: ignore[reportAttributeAccessIssue]
