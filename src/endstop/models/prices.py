"""What model calls cost: a price that was given, or the price list that comes with genai-prices, offline.

Unknown stays unknown: ``None``, never zero (A10).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from endstop.kernel.amounts import dollars
from endstop.ports import ModelUsage

FREE = Decimal(0)

_MILLION = 1_000_000

_LISTED_AS = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "azure-responses": "azure",
    "google-cloud": "google",
    "bedrock": "aws",
    "xai": "x-ai",
}
"""Providers that the price list knows by another name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a million tokens cost, in US dollars."""

    input_usd_per_million: Decimal
    output_usd_per_million: Decimal

    if TYPE_CHECKING:  # money may be given as text or a number; what is read back is always a Decimal

        def __init__(
            self,
            *,
            input_usd_per_million: Decimal | str | float,
            output_usd_per_million: Decimal | str | float,
        ) -> None: ...

    def __post_init__(self) -> None:
        for field in ("input_usd_per_million", "output_usd_per_million"):
            object.__setattr__(self, field, dollars(field, getattr(self, field)))

    def cost_usd(self, usage: ModelUsage) -> Decimal:
        total = (
            usage.input_tokens * self.input_usd_per_million
            + usage.output_tokens * self.output_usd_per_million
        )
        return dollars("cost_usd", total / _MILLION)


def listed_cost_usd(
    usage: ModelUsage, *, provider: str, model: str, base_url: str | None = None
) -> Decimal | None:
    """What the price list says; None when it does not know the model.

    With a ``base_url`` somebody else may serve the model at a price of their own: only the address counts.
    """
    from genai_prices import Usage, calc_price  # takes a quarter of a second, and only real models need it

    tokens = Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
    listed = provider.removeprefix("gateway/")
    try:
        if base_url is None:
            found = calc_price(tokens, model, provider_id=_LISTED_AS.get(listed, listed))
        else:
            found = calc_price(tokens, model, provider_api_url=base_url)
    except LookupError:
        return None
    return dollars("cost_usd", found.total_price)
