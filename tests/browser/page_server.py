"""A real server in a process of its own, for a browser: the oracle, with a model that does as it is told.

The first word of a question is an order: ``slowly 200`` (so many words, one by one), ``tools notes.md``
(searches, reads that file, answers), ``forever`` (a new search every turn, without end), ``hostile``
(Markdown that would like to run), ``think`` (thinks, then answers), ``How`` (searches, reads, and answers at
length); anything else is repeated. It is killed, and started again on the same home.

Usage: python page_server.py HOME PORT PROJECT [priced]
It prints the link for the owner; then, for each name that it reads, a token for a user of that name. What its
model costs nobody knows, unless it is priced.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import uvicorn

from endstop.app import App, Config, SystemClock
from endstop.app.agents import agent_of as known_agent
from endstop.app.oracle import ORACLE, make_oracle
from endstop.events.facts import RunStarted
from endstop.loop.agent import Agent
from endstop.ports import (
    ModelRequest,
    Piece,
    ReplyEnded,
    StoredUser,
    TextPiece,
    ThoughtPiece,
    ToolMessage,
    ToolRequest,
    UserMessage,
    WholeStore,
)
from endstop.runner import Runner
from endstop.server.access import Access
from endstop.server.questions import Wanted
from endstop.server.server import make_server
from endstop.server.serving import Door, listen
from endstop.server.tokens import new_token
from endstop.store import open_store
from endstop.testing.counting import DEFAULT_PRICE, CountedModel, ScriptedPrice

WORD_S = 0.02
HOSTILE = """Before

<script>window.pwned = 1</script><img src=x onerror="window.pwned = 2">

[a link](javascript:window.pwned=3) ![a picture](https://elsewhere.invalid/p.png)
<a href="data:text/html,x">d</a>

```html
<svg onload="window.pwned = 4">
```

After"""
ANSWER = """Every run has a **budget**: turns, tokens, money and time. It is looked at *before* each turn.

- **Warned.** At 70 % of its turns the agent is told to wrap up. You see the same words, in amber.
- **Kept back.** A reserve stays for the last turn, so that there is always an answer to keep.
- **Ended.** At 100 % it finishes with what it has, and says why.

```python
budget = es.Budget(turns=30, tokens=200_000, cost_usd="0.50")
run = await es.run(question, model=model, budget=budget)
```

Nothing is lost: text, sources and the record of every turn stay, and *you* may grant it more.
"""
"""For pictures: what a good answer looks like."""
_DONE = '<signal type="context_sufficient"><confidence>0.9</confidence></signal>'
_MORE = '<signal type="need_turn"><reason>look at part {0}</reason><confidence>0.9</confidence></signal>'


class PageModel(CountedModel):
    """Does what the first word of the question says."""

    def __init__(self, price: ScriptedPrice | None) -> None:
        super().__init__(name="test:page", price=price)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        question = next(m.text for m in reversed(request.messages) if isinstance(m, UserMessage))
        results = sum(isinstance(message, ToolMessage) for message in request.messages)
        order, _, rest = question.partition(" ")
        async for piece in self._do(order, rest, results, has_tools=bool(request.tools)):
            yield piece
        yield ReplyEnded()

    async def _do(self, order: str, rest: str, results: int, *, has_tools: bool) -> AsyncIterator[Piece]:
        match order:
            case "slowly":
                for number in range(int(rest.split()[0])):
                    await asyncio.sleep(WORD_S)
                    yield TextPiece(text=f"word{number} ")
                yield TextPiece(text=_DONE)
            case "tools" if results == 0 and has_tools:
                yield _call("search_code", query="needle")
            case "tools" if results == 1 and has_tools:
                yield _call("read_file", path=rest.split(" in ")[-1])
            case "forever" if has_tools:
                await asyncio.sleep(0.1)
                yield TextPiece(text=f"Part {results} is read. " + _MORE.format(results))
                yield _call("search_code", query=f"part {results}")
            case "hostile":
                yield TextPiece(text=HOSTILE + _DONE)
            case "How" if results < 2 and has_tools:
                await asyncio.sleep(0.3)
                yield ThoughtPiece(text="Limits are explained in the docs. I look there first. ")
                calls = (_call("search_docs", query="limits"), _call("read_file", path="docs/concepts.md"))
                yield calls[results]
            case "How":
                yield TextPiece(text=ANSWER + _DONE)
            case "think":
                yield ThoughtPiece(text="First I weigh it. ")
                yield TextPiece(text=f"Thought through: {rest}" + _DONE)
            case _:
                yield TextPiece(text=f"You said: {order} {rest}" + _DONE)


def _call(tool: str, **arguments: str) -> ToolRequest:
    return ToolRequest(id=f"{tool}-{arguments}", tool=tool, arguments=json.dumps(arguments))


async def _let_in(store: WholeStore) -> None:
    while user := (await asyncio.to_thread(sys.stdin.readline)).strip():
        _say(await _token(store, user))


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def _token(store: WholeStore, user: str) -> str:
    now = SystemClock().unix_s()
    await store.add_user(StoredUser(name=user, added_at=now))
    made = new_token(user, now=now)
    await store.add_token(made.stored)
    return made.secret


async def main(home: Path, port: int, project: str, price: ScriptedPrice | None) -> None:
    url = f"sqlite:///{home / 'endstop.db'}"
    config = Config(home=home, database_url=url, user="ana")
    store = await open_store(url)

    def make_agent(wanted: Wanted) -> Agent:
        return make_oracle(
            wanted.project,
            model=PageModel(price),
            budget=wanted.budget,
            tree=wanted.tree,
            on_limit=wanted.on_limit,
            config=config,
        )

    def agent_of(started: RunStarted) -> Agent | None:
        if started.agent != ORACLE:
            return known_agent(started)
        return make_oracle(
            started.project or project,
            model=PageModel(price),
            budget=started.config.budget,
            on_limit=started.on_limit,
            config=config,
        )

    runner = Runner(store, clock=SystemClock(), agent_of=agent_of)
    app = App(config=config, store=store, runner=runner)
    access = Access.on_loopback(store, user="ana", port=port)
    server = make_server(app, access, make_agent=make_agent, project=project)
    listening = listen(Door(port=port))
    _say(access.one_time_link(port))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_let_in(store))
        await uvicorn.Server(uvicorn.Config(server, log_level="warning")).serve(sockets=[listening])


if __name__ == "__main__":
    is_priced = sys.argv[4:] == ["priced"]
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], DEFAULT_PRICE if is_priced else None))
