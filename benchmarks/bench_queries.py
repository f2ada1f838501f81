"""How often the query classifier is right on a labelled set, who is taken for whom, and the mistakes (E8).

Run it with ``python benchmarks/bench_queries.py [dev|test]``; without a part, both are shown. What the parts
are is told in ``tests/oracle/README.md``.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from time import perf_counter

from endstop.oracle.query import QueryType, classify

QUERIES = Path(__file__).parent.parent / "tests" / "oracle" / "queries.jsonl"
PARTS = ("dev", "test")


def labelled(part: str) -> list[tuple[str, QueryType]]:
    """The queries of a part, each with its type."""
    rows = [json.loads(line) for line in QUERIES.read_text(encoding="utf-8").splitlines()]
    return [(str(row["query"]), QueryType(row["type"])) for row in rows if row["part"] == part]


def show(part: str) -> None:
    rows = labelled(part)
    began = perf_counter()
    answers = [classify(query) for query, _ in rows]
    took_us = (perf_counter() - began) / len(rows) * 1e6
    seen = Counter((type_, answer.type) for (_, type_), answer in zip(rows, answers, strict=True))
    right = sum(count for (is_, taken), count in seen.items() if is_ is taken)
    print(f"{part}: {right} of {len(rows)} right, {right / len(rows):.1%}; {took_us:.0f} µs a query")
    print(f"{'is, taken for':>16}" + "".join(f"{type_:>16}" for type_ in QueryType))
    for is_ in QueryType:
        print(f"{is_:>16}" + "".join(f"{seen[is_, taken]:>16}" for taken in QueryType))
    for (query, type_), answer in zip(rows, answers, strict=True):
        if answer.type is not type_:
            print(f"  {type_} → {answer.type} ({answer.confidence}, {answer.why}): {query!r}")
    print()


def main() -> None:
    for part in sys.argv[1:] or PARTS:
        show(part)


if __name__ == "__main__":
    main()
