"""What a run or scope has used so far."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from endstop.kernel.evolve import quick
from endstop.kernel.limits import money


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What was spent. Money nobody knows the amount of is counted apart, never as zero (A10)."""

    turns: int = 0
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    tokens: int = 0
    known_cost_usd: Decimal = Decimal(0)
    unknown_cost_calls: int = 0
    tool_calls: int = 0
    seconds: float = 0.0

    @property
    def cost_usd(self) -> Decimal | None:
        """The cost, or None when the price of a part of it is unknown."""
        return None if self.unknown_cost_calls else self.known_cost_usd

    @property
    def cost_shown(self) -> str:
        """ "$0.12", "unknown", or "at least $0.12 (3 calls of unknown price)"."""
        if not self.unknown_cost_calls:
            return f"${money(self.known_cost_usd)}"
        if not self.known_cost_usd:
            return "unknown"
        calls = "call" if self.unknown_cost_calls == 1 else "calls"
        return f"at least ${money(self.known_cost_usd)} ({self.unknown_cost_calls} {calls} of unknown price)"

    def __str__(self) -> str:
        turns = "turn" if self.turns == 1 else "turns"
        tools = "tool call" if self.tool_calls == 1 else "tool calls"
        return (
            f"{self.turns:,} {turns}, {self.tokens:,} tokens, {self.tool_calls:,} {tools}, "
            f"{self.seconds:.1f} s, cost {self.cost_shown}"
        )


NO_USAGE = Usage()
