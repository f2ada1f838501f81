"""What a tree can use at most, known before it runs (A13). A loop without a bound is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from types import MappingProxyType
from typing import TypeVar

from endstop.errors import InvalidValueError, UnboundedError
from endstop.kernel.amounts import dollars
from endstop.kernel.bounds import UpperBound, upper_bound
from endstop.kernel.budget import Budget
from endstop.tree.kinds import MOST_SECONDS, MOST_TIMES
from endstop.tree.leaves import LeafCost, Leaves
from endstop.tree.problems import Problem
from endstop.tree.references import MOST_PROBLEMS, folded
from endstop.tree.restarts import LOOPS, leaf_of, restart_problems
from endstop.tree.spec import NodeSpec, PlainValue, TreeSpec

MOST_LEAF_RUNS = 1_000_000

GREATEST_COUNTS: Mapping[str, int] = MappingProxyType(
    {"max_turns": 100, "max_tool_calls_per_turn": 50, "max_parallel_tools": 10}
)
"""The most that a configuration can say for each named count."""

_PER_TURN = "max_tool_calls_per_turn"

_NO_BOUND = "which is no bound worth the name"
_SMALLER = "Give its loops smaller bounds: those inside each other multiply"

_FREE = Decimal(0)
_UNCOUNTABLE = 10**12
_MOST_MONEY = Decimal(_UNCOUNTABLE)
"""Counted no further: far past what is refused, and no number grows for ever."""

Amount = TypeVar("Amount", int, float, Decimal)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassBound:
    """What one pass can use at most, from its first tick to its end. None: the tree does not say."""

    leaf_runs: int = 0
    """How often leaves can run. What reactive nodes and guards look at again at every tick counts once."""
    turns: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    own_tool_calls: int = 0
    """Those of them that the tree makes itself, and no reply of a model asked for."""
    tokens: int | None = 0
    cost_usd: Decimal | None = _FREE
    seconds: float | None = 0.0


_NOTHING = PassBound()
_LEAF_RUN = PassBound(leaf_runs=1)
_SLOW_LEAF_RUN = PassBound(leaf_runs=1, seconds=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeBound:
    """What a tree can use at most, in one pass and in a whole run."""

    per_pass: PassBound
    """From the tree's own loops and ``budget`` nodes, and never more than the run has."""
    per_run: UpperBound
    """From the run's budget, which binds whatever the tree does (E11).

    A tree that ends before its agent is done is begun anew, so its own figures do not bound a run. A pass
    without a turn is the last one; so there is at most one pass more than there are turns.
    """


def tree_bound(
    tree: TreeSpec, *, leaves: Leaves, counts: Mapping[str, int], budget: Budget, calls_per_turn: int
) -> TreeBound:
    """What this tree can use at most under this budget. ``counts`` gives the named counts their numbers."""
    one = _one_pass(tree, leaves, counts)
    if one.leaf_runs > MOST_LEAF_RUNS:
        raise UnboundedError(
            f"One pass of {tree.name!r} could run {_many(one.leaf_runs)} leaves, {_NO_BOUND}",
            allowed=f"{MOST_LEAF_RUNS:,} leaves",
            to_do=_SMALLER,
        )
    run = upper_bound(budget, calls_per_turn=calls_per_turn)
    per_turn = budget.tool_calls_per_turn or _count(_PER_TURN, counts, otherwise=MOST_TIMES)
    run = replace(run, tool_calls=_tool_calls(one, run, per_turn))
    return TreeBound(
        per_pass=replace(
            one,
            turns=_least(one.turns, run.turns),
            model_calls=_least(one.turns * calls_per_turn, run.model_calls),
            tool_calls=_least(one.tool_calls, run.tool_calls),
            tokens=_least(one.tokens, run.tokens),
            cost_usd=_least(one.cost_usd, run.cost_usd),
            seconds=_least(one.seconds, run.seconds),
        ),
        per_run=run,
    )


def bound_problems(
    tree: TreeSpec, *, leaves: Leaves, counts: Mapping[str, int] = GREATEST_COUNTS
) -> tuple[Problem, ...]:
    """Loops without a bound worth the name, with the greatest counts that a configuration can say."""
    problems = list(islice(restart_problems(tree, leaves), MOST_PROBLEMS))
    runs = _one_pass(tree, leaves, counts).leaf_runs
    if runs > MOST_LEAF_RUNS:
        problems.append(
            Problem(
                file=tree.file,
                line=tree.root.line,
                what=f"One pass of {tree.name!r} could run {_many(runs)} leaves, {_NO_BOUND};"
                f" {MOST_LEAF_RUNS:,} are allowed",
                to_do=_SMALLER,
            )
        )
    return tuple(problems)


def _one_pass(tree: TreeSpec, leaves: Leaves, counts: Mapping[str, int]) -> PassBound:
    per_turn = _count(_PER_TURN, counts, otherwise=MOST_TIMES)

    def use(node: NodeSpec, below_it: Sequence[PassBound]) -> PassBound:
        own = _of_leaf(node, leaves, per_turn)
        parts = below_it if below_it and own is _NOTHING else (*below_it, own)
        whole = parts[0] if len(parts) == 1 else _sum(parts, is_parallel=node.kind == "parallel")
        return _of_node(node, whole, counts)

    return folded(tree, use, nothing=_NOTHING)


def _of_node(node: NodeSpec, all_below: PassBound, counts: Mapping[str, int]) -> PassBound:
    given = node.parameters
    if node.kind in LOOPS:
        return _times(all_below, _count(given.get(LOOPS[node.kind]), counts, otherwise=MOST_TIMES))
    if node.kind == "timeout":
        return replace(all_below, seconds=_least(all_below.seconds, _seconds(given.get("seconds"))))
    if node.kind == "budget":
        calls = _count(given.get("tool_calls"), counts, otherwise=_UNCOUNTABLE)
        return replace(
            all_below,
            turns=min(all_below.turns, _count(given.get("turns"), counts, otherwise=_UNCOUNTABLE)),
            tool_calls=min(all_below.tool_calls, calls),
            own_tool_calls=min(all_below.own_tool_calls, calls),
            tokens=_least(all_below.tokens, _whole(given.get("tokens"))),
            cost_usd=_least(all_below.cost_usd, _money(given.get("cost_usd"))),
            seconds=_least(all_below.seconds, _seconds(given.get("seconds"))),
        )
    return all_below


def _of_leaf(node: NodeSpec, leaves: Leaves, per_turn: int) -> PassBound:
    """What a node uses itself. Decorators with a condition by name run a leaf as well."""
    match node.kind:
        case "llm_call":
            is_offered_tools = node.parameters.get("tools") is not False
            return _leaf_run(turns=1, reply_calls=per_turn if is_offered_tools else 0)
        case "tool_call":
            return _leaf_run(own_calls=1)
        case "action":
            leaf = leaf_of(node, leaves)
            cost = LeafCost() if leaf is None else leaf.cost
            reply_calls = per_turn if cost.runs_tools else 0
            return _leaf_run(turns=cost.turns, reply_calls=reply_calls, own_calls=cost.tool_calls)
        case "condition":
            return _LEAF_RUN
        case _:
            return _LEAF_RUN if "fn" in node.parameters else _NOTHING


def _leaf_run(*, turns: int = 0, reply_calls: int = 0, own_calls: int = 0) -> PassBound:
    """One run of a leaf that may take time. Without a turn it costs nothing."""
    if not turns and not reply_calls and not own_calls:
        return _SLOW_LEAF_RUN
    return PassBound(
        leaf_runs=1,
        turns=turns,
        tool_calls=reply_calls + own_calls,
        own_tool_calls=own_calls,
        tokens=None if turns else 0,
        cost_usd=None if turns else _FREE,
        seconds=None,
    )


def _tool_calls(one: PassBound, run: UpperBound, per_turn: int) -> int | None:
    """What a run can call: the calls of its replies, each once, and the tree's own, in each pass."""
    if run.turns is None:
        return None if one.tool_calls else 0
    passes = run.turns + 1
    return min(one.tool_calls * passes, one.own_tool_calls * passes + per_turn * run.turns)


def _sum(parts: Sequence[PassBound], *, is_parallel: bool) -> PassBound:
    """All of them one after the other, or beside each other: then the time is that of the slowest."""
    tokens = [part.tokens for part in parts]
    costs = [part.cost_usd for part in parts]
    seconds = [part.seconds for part in parts]
    lasting = max if is_parallel else sum
    return PassBound(
        leaf_runs=_capped(sum(part.leaf_runs for part in parts)),
        turns=_capped(sum(part.turns for part in parts)),
        tool_calls=_capped(sum(part.tool_calls for part in parts)),
        own_tool_calls=_capped(sum(part.own_tool_calls for part in parts)),
        tokens=None if None in tokens else _capped(sum(one or 0 for one in tokens)),
        cost_usd=None if None in costs else min(sum((one or _FREE for one in costs), _FREE), _MOST_MONEY),
        seconds=None if None in seconds else float(lasting(one or 0.0 for one in seconds)),
    )


def _times(one: PassBound, times: int) -> PassBound:
    return PassBound(
        leaf_runs=_capped(one.leaf_runs * times),
        turns=_capped(one.turns * times),
        tool_calls=_capped(one.tool_calls * times),
        own_tool_calls=_capped(one.own_tool_calls * times),
        tokens=None if one.tokens is None else _capped(one.tokens * times),
        cost_usd=None if one.cost_usd is None else min(one.cost_usd * times, _MOST_MONEY),
        seconds=None if one.seconds is None else one.seconds * times,
    )


def _capped(count: int) -> int:
    return min(count, _UNCOUNTABLE)


def _many(count: int) -> str:
    return f"{count:,}" if count < _UNCOUNTABLE else f"more than {_UNCOUNTABLE:,}"


def _least(first: Amount | None, second: Amount | None) -> Amount | None:
    if first is None or second is None:
        return second if first is None else first
    return min(first, second)


def _count(value: PlainValue, counts: Mapping[str, int], *, otherwise: int) -> int:
    """The number that a count stands for; ``otherwise`` for what is none, which is refused elsewhere."""
    found = counts.get(value) if isinstance(value, str) else value
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else otherwise


def _whole(value: PlainValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _seconds(value: PlainValue) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_SECONDS:
        return None
    return float(value)


def _money(value: PlainValue) -> Decimal | None:
    try:
        return dollars("cost_usd", value)
    except InvalidValueError:
        return None
