"""Save a run's record, then, in another process or next year: go on with it, explain it, audit it.

Run it: python examples/replay_and_audit.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import endstop as es


def some_turns(guard: es.Guard, until: int) -> None:
    """A few turns of an agent that reads one file after the other."""
    while guard.may_continue():
        with guard.turn(reserve_tokens=1_000) as turn:
            turn.spent(input_tokens=700, output_tokens=80, cost_usd="0.002")
            turn.called("read_file", {"path": f"chapter-{turn.number}.md"}, result="…")
            if turn.number + 1 == until:
                return


with TemporaryDirectory() as folder:
    record = Path(folder) / "run.jsonl"

    guard = es.Guard(es.Budget(turns=8, tokens=50_000, cost_usd="0.50"))
    some_turns(guard, until=3)
    record.write_text("\n".join(es.encode(fact) for fact in guard.facts))
    print(f"The process ends here, after {guard.usage.turns} turns; its record is {len(guard.facts)} facts.")

    facts = es.read_record(record.read_text().splitlines()).require()
    again = es.Guard.resume(facts)
    print(f"Resumed with every counter as it stood: {again.usage.turns} turns, ${again.usage.cost_usd}.")
    again.grant(es.Grant(turns=2, by="me", why="nearly there"))
    some_turns(again, until=99)
    print(again.explain())
    print(again.audit())
