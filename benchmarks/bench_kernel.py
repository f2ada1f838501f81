"""What the kernel and the recorder take of one turn of a tool loop, at turn 10, 100 and 1,000 of one run.

A turn is seven observations and three verdicts: no model, no tool, no clock, no store. Nothing repeats, so no
detector reports anything. The second table splits the turn into its parts; making the observations is the
driver's own cost and stands beside it, and so does writing the facts as JSON, which the store does.

    python benchmarks/bench_kernel.py [runs to take the best of, default 15]
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from statistics import median

from endstop.events.codec import encode
from endstop.events.facts import RunStarted
from endstop.events.recorder import Recorder
from endstop.kernel.agent import AgentConfig
from endstop.kernel.amounts import Amounts
from endstop.kernel.budget import Budget
from endstop.kernel.observation import (
    AssistantSaid,
    CallReserved,
    CallSettled,
    Observation,
    ToolFinished,
    TurnEnded,
    TurnStarted,
    tool_called,
)

MARKS = (10, 100, 1_000)
WINDOW = 10
"""Turns measured up to each mark: few, so that other work on the machine seldom falls into all repeats."""
VERDICTS = 3
NOTHING = "nothing"
BUDGET = Budget(
    turns=100_000,
    tokens=10**9,
    cost_usd=10_000,
    seconds=100_000,
    tool_calls_per_turn=10,
    parallel_tools=3,
)
RESERVED = Amounts(model_calls=1, tokens=4_000, cost_usd=Decimal("0.01"))
COST = Decimal("0.002")


def observations(turn: int) -> list[Observation]:
    """What a tool loop reports of one turn with one call."""
    at_s = turn * 0.01
    called = tool_called(
        at_s=at_s, turn=turn, call=f"call_{turn}", tool="search", arguments=f'{{"query":"word {turn}"}}'
    )
    return [
        TurnStarted(at_s=at_s, turn=turn),
        CallReserved(at_s=at_s, turn=turn, reservation=f"call:{turn}", amounts=RESERVED),
        CallSettled(
            at_s=at_s,
            turn=turn,
            reservation=f"call:{turn}",
            input_tokens=1_000,
            output_tokens=100,
            cost_usd=COST,
        ),
        AssistantSaid(at_s=at_s, turn=turn, text=f"I will look for word {turn}."),
        called,
        ToolFinished(
            at_s=at_s,
            turn=turn,
            call=called.call,
            tool=called.tool,
            key=called.key,
            result=f"src/words.py:{turn}: word {turn}",
        ),
        TurnEnded(at_s=at_s, turn=turn),
    ]


def recorder() -> Recorder:
    return Recorder(
        RunStarted(config=AgentConfig(budget=BUDGET)), run_id="run_1", time=1_750_000_000.25, source="loop"
    )


def take_turn(run: Recorder, seen: Sequence[Observation]) -> None:
    """One turn as a tool loop would take it."""
    started, reserved, settled, said, called, finished, ended = seen
    at_s, unix_s = started.at_s, 1_750_000_000.25
    run.verdict(at_s=at_s)
    run.observe(started, time=unix_s)
    run.observe(reserved, time=unix_s)
    run.observe(settled, time=unix_s)
    run.observe(said, time=unix_s)
    run.verdict(at_s=at_s)
    run.observe(called, time=unix_s)
    run.observe(finished, time=unix_s)
    run.verdict(at_s=at_s)
    run.observe(ended, time=unix_s)


def turn_costs(turns: Sequence[Sequence[Observation]]) -> dict[int, float]:
    """Seconds per turn in a window that ends at each mark, in one run."""
    run = recorder()
    costs: dict[int, float] = {}
    done = 0
    for mark in MARKS:
        first = mark - WINDOW
        for seen in turns[done:first]:
            take_turn(run, seen)
        started = time.perf_counter()
        for seen in turns[first:mark]:
            take_turn(run, seen)
        costs[mark] = (time.perf_counter() - started) / (mark - first)
        done = mark
    return costs


def part_costs(turns: Sequence[Sequence[Observation]]) -> dict[str, float]:
    """Seconds of each part in a usual turn of one run, and of a part that does nothing: what timing costs."""
    run = recorder()
    costs: dict[str, list[float]] = {}
    clock = time.perf_counter

    def timed(name: str, call: Callable[[], object]) -> None:
        started = clock()
        call()
        costs.setdefault(name, []).append(clock() - started)

    for number, seen in enumerate(turns):
        timed("(making the observations)", lambda number=number: observations(number))
        for observation in seen:
            name = type(observation).__name__
            timed(name, lambda observation=observation: run.observe(observation, time=1_750_000_000.25))
        timed("verdict", lambda seen=seen: run.verdict(at_s=seen[0].at_s))
        timed(NOTHING, lambda: None)
    size = len(turns[0])
    for first in range(1, len(run.facts), size):
        facts = run.facts[first : first + size]
        timed(f"(writing {size} facts as JSON)", lambda facts=facts: [encode(fact) for fact in facts])
    return {name: median(cost) for name, cost in costs.items()}


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    turns = [observations(number) for number in range(max(MARKS))]
    gc.disable()
    runs: list[dict[int, float]] = []
    parts: list[dict[str, float]] = []
    for _ in range(repeats):
        runs.append(turn_costs(turns))
        parts.append(part_costs(turns))
        gc.collect()
    best = {mark: min(run[mark] for run in runs) for mark in MARKS}
    print(f"kernel and recorder, per turn of seven observations and {VERDICTS} verdicts\n")
    print(f"{'at turn':>10} {'µs':>8} {'against turn 10':>16}")
    for mark, cost in best.items():
        print(f"{mark:>10,} {cost * 1e6:>8.1f} {cost / best[MARKS[0]]:>15.2f}x")
    print("\nits parts, µs per turn\n")
    clock = min(part.pop(NOTHING) for part in parts)
    for name in parts[0]:
        cost = (min(part[name] for part in parts) - clock) * (VERDICTS if name == "verdict" else 1)
        print(f"{name:>30} {cost * 1e6:>8.1f}")


if __name__ == "__main__":
    main()
