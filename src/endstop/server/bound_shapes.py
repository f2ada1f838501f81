"""Upper bounds as the API tells them (A13): figures for programs, and one line for people."""

from __future__ import annotations

from decimal import Decimal

from pydantic import BaseModel, Field

from endstop.events.plain import written
from endstop.kernel.bounds import UpperBound
from endstop.kernel.budget import Budget
from endstop.kernel.limits import money
from endstop.loop.agent import Retries
from endstop.oracle.leaves import LEAVES
from endstop.oracle.steering import counts_of
from endstop.ports import Model, ModelUsage
from endstop.tree.bounds import PassBound, TreeBound, tree_bound
from endstop.tree.spec import TreeSpec

CALLS_PER_TURN = Retries().attempts

_NAMES = ("turns", "model_calls", "tool_calls", "tokens", "cost_usd", "seconds")


class BoundShape(BaseModel):
    """At most so much of each; null where nothing bounds it. Money is text."""

    turns: int | None = Field(examples=[30])
    model_calls: int | None = Field(examples=[120])
    tool_calls: int | None = Field(examples=[300])
    tokens: int | None = Field(examples=[200_000])
    cost_usd: str | None = Field(examples=["0.42"])
    seconds: float | None = Field(examples=[300.0])

    @classmethod
    def of(cls, bound: UpperBound | PassBound) -> BoundShape:
        return cls.model_validate({name: written(getattr(bound, name)) for name in _NAMES})


class TreeBoundShape(BaseModel):
    """What a tree can use at most: in one pass, and in a whole run."""

    leaf_runs_per_pass: int
    per_pass: BoundShape
    per_run: BoundShape

    @classmethod
    def of(cls, bound: TreeBound) -> TreeBoundShape:
        return cls(
            leaf_runs_per_pass=bound.per_pass.leaf_runs,
            per_pass=BoundShape.of(bound.per_pass),
            per_run=BoundShape.of(bound.per_run),
        )


def bound_under(tree: TreeSpec, budget: Budget) -> TreeBound:
    """What a run of this tree can use at most under this budget."""
    return tree_bound(
        tree, leaves=LEAVES, counts=counts_of(budget), budget=budget, calls_per_turn=CALLS_PER_TURN
    )


def dearest_usd(model: Model, tokens: int | None) -> Decimal | None:
    """What so many tokens can cost at most, however they are shared out; None if nobody knows.

    Where reading more makes writing dearer (some price lists have such steps), the two are added up.
    """
    if tokens is None:
        return None
    read = model.cost_usd(ModelUsage(input_tokens=tokens))
    wrote = model.cost_usd(ModelUsage(output_tokens=tokens))
    both = model.cost_usd(ModelUsage(input_tokens=tokens, output_tokens=tokens))
    if read is None or wrote is None or both is None:
        return None
    return max(read, wrote) if both <= read + wrote else both


def in_words(bound: UpperBound) -> str:
    """ "at most 30 turns · 200k tokens · $0.42"; what has no bound is left out."""
    parts = [
        "" if bound.turns is None else f"{bound.turns:,} {'turn' if bound.turns == 1 else 'turns'}",
        "" if bound.tokens is None else f"{_rounded_up(bound.tokens)} tokens",
        "" if bound.cost_usd is None else f"${money(bound.cost_usd)}",
        "" if bound.seconds is None else f"{bound.seconds:,g} s",
    ]
    return "at most " + " · ".join(part for part in parts if part)


def _rounded_up(tokens: int) -> str:
    """Shorter where it is long; never less than it is, for it is a bound."""
    if tokens < 10_000:
        return f"{tokens:,}"
    if tokens < 1_000_000:
        return f"{-(-tokens // 1_000)}k"
    return f"{-(-tokens // 10_000) / 100:g}M"
