"""What a tree did, read from the record of a run; and what it could have done at most.

In the terminal: endstop tree trace last, and endstop tree bound oracle-agent.

Run it: python examples/trees/t07_read_a_trace.py
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import endstop as es
from endstop.app import read_config
from endstop.app.oracle import make_oracle
from endstop.events.steered import TreeChosen, TreeTraced
from endstop.loop import Retries
from endstop.oracle.leaves import LEAVES
from endstop.oracle.steering import counts_of
from endstop.testing import MemoryStore, ScriptedModel, calls
from endstop.tree import RunStatus, draw_text, expanded, from_json, tree_bound

BUDGET = es.Budget(turns=8, tokens=100_000, tool_calls_per_turn=4)
MODEL = ScriptedModel(
    calls("list_files"),
    'In pond.py.<signal type="context_sufficient"><confidence>0.9</confidence></signal>',
)


async def ask(folder: str) -> Sequence[es.Fact]:
    (Path(folder) / "pond.py").write_text("def count_ducks(): ...")
    config = read_config({"ENDSTOP_HOME": folder})
    agent = make_oracle(folder, model=MODEL, budget=BUDGET, config=config)
    run = await es.run("Where are the ducks counted?", agent=agent, store=MemoryStore())
    print(f"{run.outcome}: {run.answer}\n")
    return run.facts


with TemporaryDirectory() as folder:
    facts = asyncio.run(ask(folder))

# The tree is in the record, whole: that of this run, whatever has become of its file since.
(chosen,) = (fact.payload for fact in facts if isinstance(fact.payload, TreeChosen))
tree = from_json(chosen.spec)
places = list(expanded(tree))

# Each turn leaves a note: "12 success" says that node 12 came to stand so in it. What follows the last
# turn is noted apart.
latest: dict[int, RunStatus | None] = {}
for note in (fact.payload for fact in facts if isinstance(fact.payload, TreeTraced)):
    deeds: list[str] = []
    for step in note.steps:
        index, status = step.split(" ")
        latest[int(index)] = None if status == "halted" else RunStatus(status)
        node = places[int(index)].node
        if node.kind == "action" and status == "success":
            deeds.append(node.name.partition(".")[2])
    print(f"turn {note.turn + 1}: {', '.join(deeds)}")

# Drawn with how each node stood last; line n of the drawing is node n - 1. Of the whole drawing: the nodes
# that decide what follows a reply. Those without a status were never reached.
drawn = draw_text(tree, statuses={at: status for at, status in latest.items() if status}).splitlines()
(route,) = (place for place in places if place.node.name == "route")
print()
for place in places:
    if place.depth == route.depth + 1 and place.path.startswith(route.path):
        print(drawn[place.index + 1][3 * place.depth :])

# What a run of this tree can use at most was known before it began. The tree's loops bound one pass over
# it; the budget bounds the run.
tries = Retries().attempts  # a turn may try its model call again
bound = tree_bound(tree, leaves=LEAVES, counts=counts_of(BUDGET), budget=BUDGET, calls_per_turn=tries)
print(f"\nper pass: {bound.per_pass.turns} turns, {bound.per_pass.leaf_runs:,} runs of leaves")
print(f"per run: {bound.per_run}")
