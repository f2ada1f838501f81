"""What the oracle's tree costs beside the plain tool loop, and how soon it halts a reply.

The same agent (a scripted model that says how it stands, one trivial tool, as many turns) is run by the tool
loop and by the oracle's tree, side by side: with a model that answers at once, and with one that takes 100 ms
(E12). Then: how long it takes to read, check and bound a tree of 300 lines, and how long after the time limit
a stream is halted.

    python benchmarks/bench_oracle.py [runs to take the best of, default 7]
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from statistics import median

from endstop.app.oracle import tree_library
from endstop.guard.clock import SystemClock
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget
from endstop.loop.agent import Agent
from endstop.oracle.leaves import LEAVES
from endstop.oracle.prompting import PromptFiles
from endstop.oracle.services import OracleParts
from endstop.oracle.steering import TreeSteering, counts_of
from endstop.ports import Model, ModelRequest, Piece, TextPiece
from endstop.runner import Run, Runner
from endstop.testing import ScriptedModel, calls, echo_tool, reply
from endstop.testing.replies import WantedReply
from endstop.tree.bounds import tree_bound
from endstop.tree.lua import read_tree
from endstop.tree.validate import checked

TURNS = 30
SLOW_S = 0.1
LIMIT_S = 0.3
TREE = tree_library().get("oracle-agent")
PARTS = OracleParts(prompts=PromptFiles())
_NEED_TURN = '<signal type="need_turn"><reason>look at {0}</reason><confidence>0.9</confidence></signal>'


def script(*, delay_s: float, has_signals: bool = True) -> ScriptedModel:
    """A different call each turn, with the signal that the prompt asks for, and an answer at last."""
    wanted = [
        reply(
            text=_NEED_TURN.format(number) if has_signals else "",
            calls=[calls("echo", text=f"word {number}")],
        )
        for number in range(TURNS - 1)
    ]
    return Remote(*wanted, "Done.", delay_s=delay_s)


class Remote(ScriptedModel):
    """Its reply comes after a while from elsewhere, as from a socket: a timer of the event loop would round
    what is done beside the waiting up to whole milliseconds."""

    def __init__(self, *replies: WantedReply, delay_s: float) -> None:
        super().__init__(*replies)
        self._far_s = delay_s

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        if self._far_s:
            await asyncio.to_thread(time.sleep, self._far_s)
        async for piece in super().stream(request):
            yield piece


def agent(model: Model, *, is_steered: bool, budget: Budget) -> Agent:
    steering = TreeSteering(tree=TREE, leaves=LEAVES, parts=PARTS) if is_steered else None
    return Agent(
        model=model, tools=(echo_tool(),), config=AgentConfig(budget=budget), steering=steering, name="bench"
    )


async def run(model: Model, *, is_steered: bool, budget: Budget) -> Run:
    made = agent(model, is_steered=is_steered, budget=budget)
    return await Runner(None, clock=SystemClock()).run(made, "Where are the limits enforced?")


def per_turn_s(*, is_steered: bool, delay_s: float, has_signals: bool = True) -> float:
    budget = Budget(turns=TURNS + 10, tokens=10**7, tool_calls_per_turn=10, parallel_tools=3)
    model = script(delay_s=delay_s, has_signals=has_signals)
    began_s = time.perf_counter()
    done = asyncio.run(run(model, is_steered=is_steered, budget=budget))
    took_s = time.perf_counter() - began_s
    assert done.answer == "Done.", done.outcome
    return took_s / TURNS


class Endless(ScriptedModel):
    """Says another word every millisecond, for ever."""

    last_s = 0.0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        del request
        number = 0
        while True:
            await asyncio.sleep(0.001)
            number += 1
            self.last_s = time.perf_counter()
            yield TextPiece(text=f"word {number} ")


def halted_after_s(*, is_steered: bool) -> tuple[float, float]:
    """How long after the limit the last piece came, and how long after it the run had ended."""
    model = Endless()
    began_s = time.perf_counter()
    budget = Budget(turns=5, tokens=10**7, seconds=LIMIT_S)
    asyncio.run(run(model, is_steered=is_steered, budget=budget))
    due_s = began_s + LIMIT_S
    return model.last_s - due_s, time.perf_counter() - due_s


def long_tree() -> str:
    """Our turn with more routes: 300 lines of Lua."""
    text = Path(tree_library().path("agent-turn")).read_text()
    route = (
        '  BT.sequence("route {0}", {{\n'
        '    BT.condition("signals.signal_type_is", {{ args = {{ type = "stuck" }} }}),\n'
        '    BT.condition {{ expression = "tool_errors > {0}" }},\n'
        '    BT.action("answer.accept_answer"),\n'
        "  }}),\n"
    )
    missing = (300 - text.count("\n")) // 5
    more = "".join(route.format(number) for number in range(missing))
    before = '  BT.sequence("need_turn",'
    assert before in text
    return text.replace(before, more + before, 1)


def loaded_s(text: str) -> float:
    library = tree_library()
    began_s = time.perf_counter()
    tree = checked(read_tree(text, file="agent-turn.lua"), library.get, leaves=LEAVES)
    budget = Budget(turns=30, tokens=200_000, tool_calls_per_turn=10, parallel_tools=3)
    tree_bound(tree, leaves=LEAVES, counts=counts_of(budget), budget=budget, calls_per_turn=4)
    return time.perf_counter() - began_s


def best(times: int, measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(times))


def _more_with_a_tree(*, has_signals: bool) -> float:
    """How much longer a run takes with a tree than without, one right after the other."""
    loop_s = per_turn_s(is_steered=False, delay_s=SLOW_S, has_signals=has_signals)
    return per_turn_s(is_steered=True, delay_s=SLOW_S, has_signals=has_signals) / loop_s - 1


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    print(f"{TURNS} turns, each with one tool call; the best of {times} runs\n")
    loop_s = tree_s = float("inf")
    for _ in range(times):  # side by side, so that other work on the machine falls on both
        loop_s = min(loop_s, per_turn_s(is_steered=False, delay_s=0.0))
        tree_s = min(tree_s, per_turn_s(is_steered=True, delay_s=0.0))
    print(f"{'a turn takes, µs':42}{'tool loop':>12}{'tree':>12}{'ratio':>8}")
    at_once = f"{loop_s * 1e6:12.0f}{tree_s * 1e6:12.0f}{tree_s / loop_s:8.2f}"
    print(f"{'with a model that answers at once':42}{at_once}\n")
    for has_signals in (True, False):  # without them the fallback is asked in every turn
        more = sorted(_more_with_a_tree(has_signals=has_signals) for _ in range(5))
        spoken = "says" if has_signals else "does not say"
        print(
            f"a model that takes 100 ms and {spoken} how it stands: with a tree {median(more):.2%} more, "
            f"in pairs of runs from {more[0]:.2%} to {more[-1]:.2%} (E12: under 1 %)"
        )
    print()
    text = long_tree()
    print(
        f"a tree of {text.count(chr(10))} lines is read, checked and bounded in "
        f"{best(times, lambda: loaded_s(text)) * 1e3:.1f} ms (wanted: under 20)\n"
    )
    for name, is_steered in (("tool loop", False), ("tree", True)):
        after = [halted_after_s(is_steered=is_steered) for _ in range(times)]
        print(
            f"{name}: after the time limit, the last piece came at "
            f"{median(a for a, _ in after) * 1e3:+.1f} ms, and the run had ended at "
            f"{median(b for _, b in after) * 1e3:+.1f} ms (at worst {max(b for _, b in after) * 1e3:+.1f})"
        )


if __name__ == "__main__":
    main()
