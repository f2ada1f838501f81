"""Python's garbage collector, set for a program that holds many runs at once.

A run keeps its record in memory while it is under way, and the collector, as Python sets it, looks through
all records of all runs again and again: with a thousand runs at once that is a third of the time. What a run
leaves behind is freed without the collector, so little is lost by letting it look less often.

That is for a program to choose, never for a library: only programs of ours call this. It imports nothing of
ours, so that the benchmarks can set the collector alike for everybody they measure.
"""

from __future__ import annotations

import gc

_NEW_OBJECTS = 50_000
"""There are so many more objects than before when the collector looks at the new ones. Python has 700."""

_YOUNGER_ROUNDS = 20
"""So many looks at what is younger come before one at what is older. Python has 10."""


def set_collector() -> None:
    """Call it once, when the program has loaded what it needs and before it starts its first run."""
    gc.collect()
    gc.freeze()  # modules and classes stay for good: nobody needs to look through them
    gc.set_threshold(_NEW_OBJECTS, _YOUNGER_ROUNDS, _YOUNGER_ROUNDS)
