"""What a guarded turn costs against the same loop unguarded, at turn 10, 1,000 and 100,000.

The loop makes one "model call" and one tool call per turn; both are instant, so all that is measured is the
guard. A real model call takes about a second: the last column puts the cost beside that.

    python benchmarks/bench_guard.py [most turns, default 100000]
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable

import endstop as es

WINDOW = 200
"""Turns measured around each mark."""

BUDGET = es.Budget(turns=1_000_000, tokens=10**11, cost_usd=1_000_000, seconds=1_000_000)


def bare(turns: int) -> Callable[[], object]:
    """The loop without a guard: it still counts, as any hand-written loop would."""

    def run() -> object:
        used, results = 0, []
        for turn in range(turns):
            used += 1_100
            results = [("search", {"query": turn}, f"result {turn}")]
        return used, results

    return run


def turn_costs(marks: tuple[int, ...]) -> dict[int, float]:
    """Seconds per turn in a window up to each mark, in one long guarded run."""
    guard = es.Guard(BUDGET)
    costs: dict[int, float] = {}
    window = min(WINDOW, *marks)
    starts = {mark - window: mark for mark in marks}
    started = 0.0
    turn_number = 0
    while turn_number <= max(marks) and guard.may_continue():
        if turn_number in starts:
            gc.collect()
            started = time.perf_counter()
        with guard.turn(reserve_tokens=4_000, reserve_cost_usd="0.01") as turn:
            turn.spent(input_tokens=1_000, output_tokens=100, cost_usd="0.002")
            turn.called("search", {"query": turn_number}, result=f"result {turn_number}")
        turn_number += 1
        if turn_number in marks:
            costs[turn_number] = (time.perf_counter() - started) / window
    return costs


def main() -> None:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    marks = tuple(mark for mark in (10, 1_000, 100_000) if mark <= most)
    gc.disable()  # the record of 100,000 turns is kept in memory; collecting it is not the guard's work
    unguarded = bare(1_000)
    unguarded()
    started = time.perf_counter()
    unguarded()
    floor = (time.perf_counter() - started) / 1_000
    runs = [turn_costs(marks) for _ in range(3)]
    best = {mark: min(run[mark] for run in runs) for mark in marks}
    first = best[marks[0]]
    print("cost of a guarded turn (one model call, one tool call)\n")
    print(
        f"{'at turn':>10} {'µs':>8} {'against turn 10':>16} {'against unguarded':>18} {'of a 1 s call':>14}"
    )
    for mark, cost in best.items():
        print(f"{mark:>10,} {cost * 1e6:>8.1f} {cost / first:>15.2f}x {cost / floor:>17.0f}x {cost:>13.4%}")
    print(f"{'unguarded':>10} {floor * 1e6:>8.2f}")


if __name__ == "__main__":
    main()
