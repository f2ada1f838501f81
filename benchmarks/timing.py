"""How the benchmarks take a time: the best of several repeats, the contenders taking turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping


def best_of(contenders: Mapping[str, Callable[[], object]], *, repeats: int = 7) -> dict[str, float]:
    """Seconds each contender took at its best. They run interleaved, so that a busy moment hits all alike."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(repeats):
        for name, run in contenders.items():
            started = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - started)
    return best
