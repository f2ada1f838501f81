"""An agent that a tree of your own steers, with the oracle's leaves; and the limit that holds beneath it.

A tree decides in which order things are done. It never decides how much may be spent: turns, tokens and
money are reserved beneath it, and when a limit is reached the run ends, whatever the tree says.

Run it: python examples/trees/t05_an_agent_with_your_tree.py
"""

import asyncio

import endstop as es
from endstop.oracle.leaves import LEAVES
from endstop.oracle.prompting import PromptFiles
from endstop.oracle.services import OracleParts
from endstop.oracle.steering import TreeSteering
from endstop.ports import ModelRequest
from endstop.testing import MemoryStore, ScriptedModel
from endstop.tree import checked, read_tree

# llm_call is one whole turn. The loop asks for 10,000 rounds, which nobody will pay for.
ESSAY = """
return BT.tree("essay", {
    blackboard = { outline = "string" },
    root = BT.sequence("an essay", {
        BT.llm_call("outline", { prompt = "Outline it, no more.", tools = false, output = "outline" }),
        BT.repeat_until("drafts", {
            max = 10000,
            fn = "signals.signal_type_is", args = { type = "context_sufficient" },
            BT.llm_call("draft", { prompt = "Write it out, after this outline: {outline}" }),
        }),
        BT.action("answer.accept_answer"),
    }),
})
"""

PLEASED = ScriptedModel(
    "1. ponds 2. ducks",
    'Ponds have ducks.<signal type="need_turn"><reason>too short</reason></signal>',
    'Ponds have water, and therefore ducks.<signal type="context_sufficient"></signal>',
)


def never_pleased(request: ModelRequest) -> str:
    """What a model says that always finds something to mend."""
    count = len(request.messages)
    return f'Draft {count}.<signal type="need_turn"><reason>mistake {count}</reason></signal>'


steering = TreeSteering(
    tree=checked(read_tree(ESSAY, file="essay.lua"), leaves=LEAVES),
    leaves=LEAVES,
    parts=OracleParts(prompts=PromptFiles()),
)


async def main() -> None:
    for name, model in (("pleased", PLEASED), ("never pleased", ScriptedModel(never_pleased))):
        run = await es.run(
            "Write an essay about ponds.",
            model=model,
            budget=es.Budget(turns=4),
            steering=steering,
            store=MemoryStore(),
        )
        print(f"{name}: {run.usage.turns} turns, {run.outcome}")
        print(f"   {run.answer.splitlines()[-1]}")
        print(f"   {'The audit holds.' if run.audit() else 'The audit is BROKEN.'}")


asyncio.run(main())
