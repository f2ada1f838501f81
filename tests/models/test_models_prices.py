"""What calls cost: listed, given, free, or unknown."""

from __future__ import annotations

from decimal import Decimal

import pytest

from endstop.errors import InvalidValueError
from endstop.models import Price, make_model
from endstop.models.prices import listed_cost_usd
from endstop.ports import ModelUsage

THOUSANDS = ModelUsage(input_tokens=1_000, output_tokens=1_000)


@pytest.mark.parametrize(
    ("provider", "model", "cost"),
    [
        ("openai", "gpt-4o", "0.0125"),
        ("openai-chat", "gpt-4o", "0.0125"),
        ("openai-responses", "gpt-4o", "0.0125"),
        ("gateway/openai", "gpt-4o", "0.0125"),
        ("anthropic", "claude-sonnet-4-5", "0.018"),
        ("google", "gemini-2.5-flash", "0.0028"),
        ("google-cloud", "gemini-2.5-flash", "0.0028"),
    ],
)
def test_listed_prices_are_found_by_the_names_of_the_providers(provider: str, model: str, cost: str) -> None:
    assert listed_cost_usd(THOUSANDS, provider=provider, model=model) == Decimal(cost)


@pytest.mark.guarantee("A10")
@pytest.mark.parametrize(
    ("provider", "model", "base_url"),
    [
        ("openai", "never-heard-of", None),
        ("nobody", "gpt-4o", None),
        ("openai", "gpt-4o", "http://127.0.0.1:8080/v1"),
    ],
)
def test_an_unknown_price_is_none_and_never_zero(provider: str, model: str, base_url: str | None) -> None:
    assert listed_cost_usd(THOUSANDS, provider=provider, model=model, base_url=base_url) is None


def test_the_address_decides_whose_price_counts() -> None:
    cost = listed_cost_usd(THOUSANDS, provider="openai", model="gpt-4o", base_url="https://api.openai.com/v1")

    assert cost == Decimal("0.0125")


def test_a_price_that_was_given_is_what_counts() -> None:
    price = Price(input_usd_per_million=Decimal("0.5"), output_usd_per_million=Decimal(2))
    model = make_model("openai:own", base_url="http://127.0.0.1:1/v1", price=price)

    assert model.cost_usd(THOUSANDS) == Decimal("0.0025")


def test_a_model_at_an_address_of_its_own_has_no_price_unless_one_is_given() -> None:
    assert make_model("openai:gpt-4o", base_url="http://127.0.0.1:1/v1").cost_usd(THOUSANDS) is None


def test_costs_are_exact_and_rounded_up() -> None:
    price = Price(input_usd_per_million=Decimal("0.0000001"), output_usd_per_million=Decimal(0))

    assert price.cost_usd(ModelUsage(input_tokens=1)) == Decimal("1e-12")


@pytest.mark.parametrize("amount", [Decimal(-1), Decimal("NaN"), "much"])
def test_a_price_must_be_money(amount: Decimal) -> None:
    with pytest.raises(InvalidValueError, match="output_usd_per_million"):
        Price(input_usd_per_million=Decimal(1), output_usd_per_million=amount)


def test_the_built_in_model_is_free() -> None:
    assert make_model("extractive").cost_usd(THOUSANDS) == 0
