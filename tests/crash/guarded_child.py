"""A guarded loop in a process of its own, whose record is a file. Run by the crash test, and killed by it.

It goes on from whatever the file holds, writes each fact as soon as it is made, and says "ready" before its
first turn. Usage: python guarded_child.py RECORD
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import endstop as es


def readable_part(path: Path) -> tuple[es.Fact, ...]:
    """The facts up to the line that the last process was writing when it died; the rest is cut off."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    whole = [line for line in lines if line.endswith(b"\n")]
    facts = es.read_record(whole).require()
    path.write_bytes(b"".join(whole))
    return facts


def main() -> None:
    path = Path(sys.argv[1])
    facts = readable_part(path)
    guard = (
        es.Guard.resume(facts) if facts else es.Guard(es.Budget(turns=150, tokens=400_000), run_id="crash")
    )
    written = len(facts)
    with path.open("ab", buffering=0) as file:

        def save() -> None:
            nonlocal written
            for fact in guard.facts[written:]:
                line = es.encode(fact).encode() + b"\n"
                middle = len(line) // 2
                file.write(line[:middle])  # in two parts, so that a kill can fall in the middle of a line
                file.write(line[middle:])
                written += 1
            os.fsync(file.fileno())

        save()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while guard.may_continue():
            with guard.turn(reserve_tokens=1_000) as turn:
                save()
                time.sleep(0.002)
                turn.spent(input_tokens=700, output_tokens=50)
                save()
                turn.called("read", {"page": turn.number}, result=f"page {turn.number}")
                save()
            save()
        save()


if __name__ == "__main__":
    main()
