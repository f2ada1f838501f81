"""What a call is settled at: the provider's count where it can be true, our own where it cannot (A6, A10)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from endstop.errors import (
    ModelAccessError,
    ModelOverloadedError,
    ModelRefusedError,
    ModelUnreachableError,
    UnknownModelError,
)
from endstop.events.facts import UsageDisputed
from endstop.kernel.amounts import Amounts, dollars
from endstop.kernel.evolve import maker, quick
from endstop.kernel.ledger import Ledger
from endstop.kernel.observation import CallSettled
from endstop.loop.reading import Reading
from endstop.ports import AssistantMessage, Model, ModelUsage

_MOST_TOKENS = 10**12

_NOTHING_SPENT = (
    UnknownModelError,
    ModelAccessError,
    ModelUnreachableError,
    ModelOverloadedError,
    ModelRefusedError,
)
"""Failures that come before a provider has done any work, if nothing of the reply has come."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """How a call is settled, and what was wrong with the provider's own count, if anything."""

    settled: CallSettled
    disputed: UsageDisputed | None = None


_call_settled = maker(CallSettled)
_settlement = maker(Settlement)


def settlement(
    reading: Reading,
    model: Model,
    ledger: Ledger,
    *,
    reserved: Amounts,
    input_tokens: int,
    at_s: float,
    scope: str,
    turn: int,
    reservation: str,
) -> Settlement:
    """Settle a call by what has come of it. ``input_tokens`` is our own count of what was sent."""
    if isinstance(reading.error, _NOTHING_SPENT) and not reading.has_begun:
        free = CallSettled(
            at_s=at_s, scope=scope, turn=turn, reservation=reservation, cost_usd=_FREE, model_calls=0
        )
        return Settlement(settled=free)
    reported = _plausible(reading.usage)
    claimed = 0 if reported is None else reported.input_tokens + reported.output_tokens
    is_believed = 0 < claimed <= reserved.tokens or 0 < claimed - reserved.tokens <= _spare(ledger, scope)
    usage = (
        reported
        if reported is not None and is_believed
        else _own_count(reading, model, reserved, input_tokens)
    )
    cost = _cost(model, usage)
    if cost is not None and cost > reserved.cost_usd:
        more = ledger.fit(scope, Amounts(cost_usd=cost - reserved.cost_usd), closing=True)
        is_believed = is_believed and reserved.cost_usd + more.cost_usd == cost
        cost = reserved.cost_usd + more.cost_usd
    settled = _call_settled(
        at_s=at_s,
        scope=scope,
        turn=turn,
        reservation=reservation,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=cost,
        is_estimate=not is_believed,
    )
    if reading.usage is None or is_believed:
        return _settlement(settled=settled)
    counted = usage.input_tokens + usage.output_tokens
    return Settlement(
        settled=settled,
        disputed=UsageDisputed(scope=scope, turn=turn, reported_tokens=claimed, counted_tokens=counted),
    )


_FREE = Decimal(0)


def _spare(ledger: Ledger, scope: str) -> int:
    """How many tokens more than it reserved a call can be charged for: what is left."""
    return ledger.fit(scope, Amounts(tokens=_MOST_TOKENS), closing=True).tokens


def _own_count(reading: Reading, model: Model, reserved: Amounts, input_tokens: int) -> ModelUsage:
    """Our own count of a call: at most what was reserved for it, and never nothing."""
    said = AssistantMessage(text=reading.text + reading.thought, calls=tuple(reading.calls))
    output = model.count(messages=(said,)) if reading.has_begun else 0
    sent = min(max(input_tokens, 1), reserved.tokens)
    return ModelUsage(input_tokens=sent, output_tokens=min(output, reserved.tokens - sent))


def _plausible(usage: object) -> ModelUsage | None:
    """A provider's report, if it is one that can be counted with."""
    match usage:
        case ModelUsage(input_tokens=int() as sent, output_tokens=int() as said):
            return usage if 0 <= sent <= _MOST_TOKENS and 0 <= said <= _MOST_TOKENS else None
        case _:
            return None


def _cost(model: Model, usage: ModelUsage) -> Decimal | None:
    cost = model.cost_usd(usage)
    return None if cost is None else dollars("cost_usd", cost)
