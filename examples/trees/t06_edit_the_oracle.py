"""The oracle's tree, edited: a copy, a guard more, and the difference it makes.

In the terminal the copy is made with: endstop tree copy agent-turn. It is a file in the folder trees of your
home folder (endstop doctor tells which), and from then on it stands in the place of the built-in tree.

Run it: python examples/trees/t06_edit_the_oracle.py
"""

import asyncio
from difflib import unified_diff
from pathlib import Path
from tempfile import TemporaryDirectory

import endstop as es
from endstop.app import Config, read_config
from endstop.app.oracle import make_oracle, tree_library
from endstop.ports import ModelRequest
from endstop.testing import MemoryStore, ScriptedModel

# Built in: an agent that wants another turn for the same reason three times in a row is stuck.
# Here it has to answer after the second time, with what it has.
OLD = '  leave("cancelled", '
NEW = """\
  BT.sequence("said that before", {
    BT.condition("signals.consecutive_same_reason_gte", { args = { count = 2 } }),
    BT.action("budget.force_completion", { args = { why = "It asked for the same thing twice." } }),
  }),
"""


def always_wants_more(request: ModelRequest) -> str:
    looked = f"I looked in {len(request.messages)} places."
    return f'{looked}<signal type="need_turn"><reason>more context</reason></signal>'


async def ask(config: Config) -> None:
    """Ask the oracle about a folder, with the trees that this configuration has."""
    agent = make_oracle(Path(__file__).parent, model=ScriptedModel(always_wants_more), config=config)
    run = await es.run("Where are the ducks counted?", agent=agent, store=MemoryStore())
    print(f"   {run.usage.turns} turns, {run.outcome}")


def main(home: Path) -> None:
    config = read_config({"ENDSTOP_HOME": str(home)})
    library = tree_library(config)
    print("as it is built in:")
    asyncio.run(ask(config))

    before = library.source("agent-turn")
    (home / "trees").mkdir()
    copy = home / "trees" / "agent-turn.lua"
    copy.write_text(before.replace(OLD, NEW + OLD))
    changes = unified_diff(before.splitlines(), library.source("agent-turn").splitlines(), n=0, lineterm="")
    print("\n".join(line for line in changes if line.startswith("+ ")))
    print("with your own copy:")
    asyncio.run(ask(config))

    # A file that becomes broken while a program runs does no harm: the last good tree is used on.
    good = library.get("oracle-agent")
    copy.write_text(copy.read_text().replace("count = 2", 'count = "two"'))
    print("with a mistake in it:")
    print(f"   {library.trouble('oracle-agent')}")
    print(f"   the good one is still in use: {library.get('oracle-agent') == good}")


with TemporaryDirectory() as folder:
    main(Path(folder))
