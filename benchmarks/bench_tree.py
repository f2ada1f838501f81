"""What a tick of a tree of 20 nodes costs, beside py_trees and beside the same tree written by hand.

Every node is ticked at every tick, and no leaf does anything: all that is measured is the engine. The first
time, py_trees is installed into an environment of its own. Then: what the tree adds to a turn of a model.

    python benchmarks/bench_tree.py [--rounds 15]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

from peers.contenders import Asked, Contender, NoAnswerError, started
from timing import best_of

from endstop.tree.engine import Tree
from endstop.tree.leaves import LeafContext, Leaves
from endstop.tree.services import Share
from endstop.tree.spec import NodeSpec, TreeSpec

PLAIN: list[Any] = [
    "reactive_sequence",
    *[["condition", True]] * 4,
    [
        "selector",
        ["sequence", ["condition", True], ["condition", True], ["condition", False]],
        ["sequence", ["condition", True], ["condition", True], ["action", True], ["action", False]],
        ["sequence", ["condition", True], ["action", True], ["action", True], ["condition", True]],
    ],
]
"""Four guards, then three ways to go on, of which the last one works: 20 nodes."""

LEAVES = {
    ("condition", True): "holds",
    ("condition", False): "fails",
    ("action", True): "do",
    ("action", False): "try",
}

TICKS = 2_000
PEER_TICKS = 200
TURNS = 2_000
MODEL_S = 0.1
"""What a fast model takes for a turn (E12)."""

PY_TREES = Contender(name="py_trees", script="py_trees_ticks.py", peer="py_trees")


class NoServices:
    """A model that answers at once, and nothing else."""

    @property
    def now_s(self) -> float:
        return time.monotonic()

    async def llm_call(self, *, prompt: str, offers_tools: bool) -> str | None:
        return prompt if offers_tools else None

    async def tool_call(self, tool: str, arguments: Mapping[str, object]) -> str | None:
        return f"{tool} {arguments}"

    def open_share(self, name: str, limits: Mapping[str, int | float | str]) -> Share:
        raise NotImplementedError(f"{name} {limits}")


def leaves() -> Leaves:
    found = Leaves()

    @found.condition("holds")
    def holds(leaf: LeafContext) -> bool:  # pyright: ignore[reportUnusedFunction]
        del leaf
        return True

    @found.condition("fails")
    def fails(leaf: LeafContext) -> bool:  # pyright: ignore[reportUnusedFunction]
        del leaf
        return False

    @found.action("do")
    def do(leaf: LeafContext) -> bool:  # pyright: ignore[reportUnusedFunction]
        del leaf
        return True

    @found.action("try")
    def try_(leaf: LeafContext) -> bool:  # pyright: ignore[reportUnusedFunction]
        del leaf
        return False

    return found


def node(plain: list[Any]) -> NodeSpec:
    kind, *rest = plain
    if kind in ("condition", "action"):
        fn = LEAVES[kind, rest[0]]
        return NodeSpec(kind=kind, name=fn, parameters={"fn": fn})
    return NodeSpec(kind=kind, name=kind, children=tuple(node(child) for child in rest))


def tree(root: NodeSpec, *, is_traced: bool = False) -> Tree:
    return Tree(
        TreeSpec(name="bench", root=root),
        leaves=leaves(),
        services=NoServices(),
        counts={},
        is_traced=is_traced,
    )


def holds() -> bool:
    return True


def fails() -> bool:
    return False


def by_hand() -> bool:
    """The same tree as a person would write it for this one case."""
    if not (holds() and holds() and holds() and holds()):
        return False
    if holds() and holds() and fails():
        return True
    if holds() and holds() and holds() and fails():
        return True
    return holds() and holds() and holds() and holds()


def ticks_of(tick: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(TICKS):
            tick()

    return run


@contextlib.contextmanager
def peer() -> Generator[Asked | None, None, None]:
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        asked = None
        try:
            asked = stack.enter_context(started(PY_TREES, folder=Path(folder), postgres_url=None))
        except NoAnswerError as error:
            print(f"py_trees is not measured: {error}")
        yield asked


def tick_costs(rounds: int) -> dict[str, float]:
    """Seconds per tick at its best, the contenders taking turns."""
    ours, traced = tree(node(PLAIN)), tree(node(PLAIN), is_traced=True)
    assert len(ours.nodes) == 20
    contenders = {
        "by hand": ticks_of(by_hand),
        "Endstop": ticks_of(ours.tick),
        "Endstop, traced": ticks_of(traced.tick),
    }
    best = dict.fromkeys(contenders, float("inf"))
    with peer() as asked:
        for _ in range(rounds):
            for name, seconds in best_of(contenders, repeats=1).items():
                best[name] = min(best[name], seconds / TICKS)
            if asked is not None:
                answer = asked.ask("ticks", tree=PLAIN, ticks=PEER_TICKS)
                assert answer["status"] == "success"
                best[PY_TREES.name] = min(best.get(PY_TREES.name, float("inf")), answer["seconds"])
    return best


def turn_cost(rounds: int) -> float:
    """Seconds that a tree with guards adds to each turn of a model, all its ticks and tasks together."""
    guards = [NodeSpec(kind="condition", name="guard", parameters={"fn": "holds"})] * 4
    turn = NodeSpec(kind="llm_call", name="turn", parameters={"prompt": "go on"})
    body = NodeSpec(kind="reactive_sequence", name="guarded", children=(*guards, turn))
    root = NodeSpec(
        kind="repeat_until", name="turns", parameters={"max": TURNS, "ends_in": "failure"}, children=(body,)
    )
    best = float("inf")
    for _ in range(rounds):
        running = tree(root)
        began = time.perf_counter()
        asyncio.run(running.run())
        best = min(best, (time.perf_counter() - began) / TURNS)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15, help="measurements to take the best of")
    rounds: int = parser.parse_args().rounds
    costs = tick_costs(rounds)
    ours = costs["Endstop"]
    print("\na tick of a tree of 20 nodes\n")
    print(f"{'':<20}{'µs':>10}{'times Endstop':>16}")
    for name, seconds in costs.items():
        print(f"{name:<20}{seconds * 1e6:>10.2f}{seconds / ours:>16.2f}")
    if PY_TREES.name in costs:
        print(f"\npy_trees against Endstop: {costs[PY_TREES.name] / ours:.1f}x (aim: ≥ 10x)")
    added = turn_cost(max(rounds // 3, 1))
    share = added / MODEL_S
    print(f"a turn under a tree with four guards: {added * 1e6:.1f} µs more,")
    print(f"{share:.3%} of a turn of {MODEL_S * 1e3:.0f} ms (aim: < 1 %)")


if __name__ == "__main__":
    main()
