"""The sentences about limits, word for word."""

from decimal import Decimal

import pytest

from endstop.kernel.limits import LimitKind, Meter, Number
from endstop.kernel.wording import approaching, closed_in, completed_at, last_turn, reached, sentence


def meter(kind: LimitKind, used: Number, maximum: Number) -> Meter:
    return Meter(kind=kind, used=used, maximum=maximum)


SEVEN_OF_TEN = meter(LimitKind.TURNS, 7, 10)


@pytest.mark.guarantee("A2", "I2")
@pytest.mark.parametrize(
    ("standing", "words"),
    [
        (SEVEN_OF_TEN, "iteration limit (7/10)"),
        (meter(LimitKind.TOKENS, 160_000, 200_000), "token limit (160,000/200,000)"),
        (meter(LimitKind.CONTEXT_TOKENS, 70_000, 100_000), "context limit (70,000/100,000)"),
        (meter(LimitKind.COST_USD, Decimal("0.40"), Decimal("0.50")), "cost limit ($0.40/$0.50)"),
        (meter(LimitKind.SECONDS, 61.0, 90.0), "time limit (61 s/90 s)"),
        (meter(LimitKind.MODEL_CALLS, 40, 50), "model call limit (40/50)"),
    ],
)
def test_a_warning_says_the_current_value_the_limit_and_what_to_do(standing: Meter, words: str) -> None:
    assert approaching(standing) == f"Approaching {words}. Consider wrapping up your response."


@pytest.mark.guarantee("I2")
def test_the_warning_of_seven_turns_of_ten_is_word_for_word_that_of_the_requirements() -> None:
    assert (
        approaching(SEVEN_OF_TEN) == "Approaching iteration limit (7/10). Consider wrapping up your response."
    )


@pytest.mark.parametrize(
    ("text", "ended"),
    [("Done", "Done."), ("Done.", "Done."), ("Done!", "Done!"), ("Done?", "Done?"), ("Done…", "Done…")],
)
def test_a_sentence_ends_once(text: str, ended: str) -> None:
    assert sentence(text) == ended


@pytest.mark.guarantee("A3", "I2")
@pytest.mark.parametrize(
    ("standing", "sentence"),
    [
        (meter(LimitKind.TURNS, 30, 30), "Iteration limit reached (30/30)."),
        (meter(LimitKind.MODEL_CALLS, 50, 50), "Model call limit reached (50/50)."),
        (meter(LimitKind.SECONDS, 61.0, 60.0), "Time limit reached (61 s/60 s)."),
    ],
)
def test_a_limit_that_is_reached_is_named_with_its_figures(standing: Meter, sentence: str) -> None:
    assert reached(standing) == sentence


@pytest.mark.guarantee("A4")
def test_a_limit_that_closed_in_says_that_the_closing_turn_was_taken() -> None:
    standing = meter(LimitKind.TOKENS, 195_000, 200_000)
    assert (
        closed_in(standing)
        == "Token limit closed in (195,000/200,000): what is left pays for no further turn."
    )


@pytest.mark.guarantee("A5")
def test_an_answer_of_the_closing_turn_names_the_limit() -> None:
    standing = meter(LimitKind.TURNS, 30, 30)
    assert completed_at(standing) == "Completed on the last turn the iteration limit allowed (30/30)."


@pytest.mark.guarantee("A4")
@pytest.mark.parametrize(
    ("kind", "word"),
    [(LimitKind.TURNS, "iteration"), (LimitKind.COST_USD, "cost"), (LimitKind.SECONDS, "time")],
)
def test_the_model_is_told_that_it_is_on_its_last_turn_without_tools(kind: LimitKind, word: str) -> None:
    assert last_turn(kind) == (
        f"This is your last turn: the {word} limit is reached after it. "
        "No tools are available. Write the best answer you can from what you have."
    )
