"""A clock that moves only when it is told to."""

import pytest

from endstop.errors import InvalidValueError
from endstop.testing import FakeClock


def test_it_stands_still_until_it_is_advanced() -> None:
    clock = FakeClock()
    assert clock.monotonic_s() == 0.0
    assert clock.advance(2.5) == 2.5
    assert clock.advance(0) == clock.monotonic_s() == 2.5


def test_it_can_begin_anywhere() -> None:
    assert FakeClock(100.0).advance(1) == 101.0


def test_it_tells_the_time_of_day_as_well() -> None:
    clock = FakeClock(3.0)
    morning = clock.unix_s()
    clock.advance(60)
    assert (clock.monotonic_s(), clock.unix_s() - morning) == (63.0, 60.0)


@pytest.mark.parametrize("seconds", [-1, -0.001, float("nan")])
def test_it_refuses_to_go_backwards(seconds: float) -> None:
    clock = FakeClock(5.0)
    with pytest.raises(InvalidValueError, match="never goes backwards"):
        clock.advance(seconds)
    assert clock.monotonic_s() == 5.0
