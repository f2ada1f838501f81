"""The tree of bench_tree.py in py_trees. Each leaf is a behaviour of the smallest kind that there is."""

# pyright: basic, reportMissingImports=false
# The peer lives in an environment of its own, which the type checker does not see.

from __future__ import annotations

import json
import sys
import time
from typing import Any

from py_trees.behaviour import Behaviour
from py_trees.common import Status
from py_trees.composites import Selector, Sequence


class Holds(Behaviour):
    def update(self) -> Status:
        return Status.SUCCESS


class Fails(Behaviour):
    def update(self) -> Status:
        return Status.FAILURE


def made(plain: Any) -> Behaviour:
    kind, *rest = plain
    if kind in ("condition", "action"):
        return Holds(kind) if rest[0] else Fails(kind)
    composite = Sequence if kind.endswith("sequence") else Selector
    return composite(kind, memory=not kind.startswith("reactive"), children=[made(child) for child in rest])


def main() -> None:
    roots: list[Behaviour] = []
    for line in sys.stdin:
        request = json.loads(line)
        root = roots[0] if roots else made(request["tree"])
        roots = [root]
        started = time.perf_counter()
        for _ in range(request["ticks"]):
            root.tick_once()
        seconds = (time.perf_counter() - started) / request["ticks"]
        print(json.dumps({"seconds": seconds, "status": root.status.name.lower()}), flush=True)


if __name__ == "__main__":
    main()
