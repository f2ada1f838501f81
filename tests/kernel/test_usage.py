"""Usage: what was spent, in words, with what nobody knows counted apart."""

from dataclasses import FrozenInstanceError
from decimal import Decimal

import pytest

from endstop.kernel.usage import NO_USAGE, Usage


@pytest.mark.guarantee("A10")
@pytest.mark.parametrize(
    ("known", "unknown_calls", "cost"),
    [("0", 0, Decimal(0)), ("0.12", 0, Decimal("0.12")), ("0", 1, None), ("0.12", 3, None)],
)
def test_the_cost_is_unknown_as_soon_as_a_part_of_it_is(
    known: str, unknown_calls: int, cost: Decimal | None
) -> None:
    assert Usage(known_cost_usd=Decimal(known), unknown_cost_calls=unknown_calls).cost_usd == cost


@pytest.mark.guarantee("A10")
@pytest.mark.parametrize(
    ("known", "unknown_calls", "text"),
    [
        ("0", 0, "$0.00"),
        ("0.12", 0, "$0.12"),
        ("1234.5", 0, "$1,234.50"),
        ("0", 1, "unknown"),
        ("0", 7, "unknown"),
        ("0.12", 1, "at least $0.12 (1 call of unknown price)"),
        ("0.12", 3, "at least $0.12 (3 calls of unknown price)"),
    ],
)
def test_an_unknown_cost_is_never_shown_as_zero(known: str, unknown_calls: int, text: str) -> None:
    assert Usage(known_cost_usd=Decimal(known), unknown_cost_calls=unknown_calls).cost_shown == text


@pytest.mark.parametrize(
    ("usage", "text"),
    [
        (NO_USAGE, "0 turns, 0 tokens, 0 tool calls, 0.0 s, cost $0.00"),
        (
            Usage(turns=1, tokens=950, tool_calls=1, seconds=2.04, known_cost_usd=Decimal("0.012")),
            "1 turn, 950 tokens, 1 tool call, 2.0 s, cost $0.012",
        ),
        (
            Usage(turns=1_200, tokens=1_234_567, tool_calls=3_000, seconds=61.25, unknown_cost_calls=2),
            "1,200 turns, 1,234,567 tokens, 3,000 tool calls, 61.2 s, cost unknown",
        ),
    ],
)
def test_usage_reads_as_a_sentence(usage: Usage, text: str) -> None:
    assert str(usage) == text


def test_usage_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        NO_USAGE.turns = 1  # pyright: ignore[reportAttributeAccessIssue]
