"""An agent under a budget: a model, a tool, limits. One that finishes, one that is stopped, and why.

The models are stand-ins that follow a script, so that this runs without a key. With one, write
model="anthropic:claude-sonnet-5" in their place, and leave the store out to keep the record on disk.

Run it: python examples/run_an_agent.py
"""

import asyncio
from typing import Annotated

import endstop as es
from endstop.testing import MemoryStore, ScriptedModel, calls

PAGES = {"login": "Logins use session cookies.", "sessions": "A session lasts a week."}


@es.tool
def search_docs(query: Annotated[str, "One word"]) -> list[str]:
    """Search the documentation."""
    return [page for page in PAGES.values() if query in page.lower()]


DILIGENT = ScriptedModel(
    calls("search_docs", query="login"),
    calls("search_docs", query="session"),
    "Logins use session cookies, and a session lasts a week.",
)
STUCK = ScriptedModel(calls("search_docs", query="logout"))  # the last reply is repeated for ever


async def main() -> None:
    for name, model in (("diligent", DILIGENT), ("stuck", STUCK)):
        run = await es.run(
            "How does the login work?",
            name=name,
            model=model,
            tools=[search_docs],
            budget=es.Budget(turns=20, tokens=50_000, cost_usd="0.25"),
            store=MemoryStore(),
        )
        match run.outcome:
            case es.Completed(answer=answer):
                print(f"{name}: {answer}")
            case outcome:
                print(f"{name}: {outcome}")
        print(run.explain())
        print("The audit holds." if run.audit() else "The audit is BROKEN.")
        print()


asyncio.run(main())
