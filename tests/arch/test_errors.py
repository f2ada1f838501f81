"""Errors: every one can cross a process, and says what to do."""

from __future__ import annotations

import pickle

import pytest

from endstop.errors import (
    EndstopError,
    EscalationError,
    InvalidValueError,
    IterationLimitError,
    NotEnoughLeftError,
    TooManyError,
    brief,
    cause,
)

LIMIT = IterationLimitError("coding_56c6", 8, 8)


@pytest.mark.parametrize(
    "error",
    [
        LIMIT,
        EscalationError(LIMIT, ValueError("no")),
        InvalidValueError("turns", -3, allowed="1 or more"),
        NotEnoughLeftError("too much", allowed="less", to_do="ask for less"),
        TooManyError("too many runs", allowed="8 at once", to_do="Wait", retry_after_s=2.5),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_crosses_a_process_with_all_it_says(error: EndstopError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert (again.what, again.allowed, again.to_do) == (error.what, error.allowed, error.to_do)


def test_how_long_to_wait_crosses_a_process_too() -> None:
    error = TooManyError("too many runs", retry_after_s=2.5)
    assert pickle.loads(pickle.dumps(error)).retry_after_s == 2.5


@pytest.mark.guarantee("I7")
def test_a_bad_value_is_told_what_to_do_even_if_nobody_thought_of_it() -> None:
    assert str(InvalidValueError("turns", 0, allowed="1 or more")) == (
        "turns is 0. Allowed: 1 or more. Use a value that is allowed."
    )


def test_values_and_errors_that_cannot_be_shown_do_not_break_a_message() -> None:
    class Rude(Exception):  # noqa: N818 - it is rude
        def __repr__(self) -> str:
            raise RuntimeError("no")

        __str__ = __repr__

    assert brief(Rude()) == "a Rude that cannot be shown"
    assert cause(Rude()) == "Rude"
    assert brief("x" * 100) == "'" + "x" * 76 + "..."
