"""Endstop's own loop. The argument says where its records go: nowhere, ``memory``, or a database's URL."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from decimal import Decimal

from peer import ANSWER, QUESTION, Script, serve

from endstop.guard.clock import SystemClock
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget
from endstop.loop.agent import Agent
from endstop.ports import (
    Message,
    ModelRequest,
    ModelUsage,
    Piece,
    ReplyEnded,
    Store,
    TextPiece,
    ToolRequest,
    ToolSpec,
)
from endstop.runner import Runner
from endstop.store import open_store
from endstop.testing import MemoryStore
from endstop.tools import tool

BUDGET = Budget(
    turns=100_000, tokens=10**10, cost_usd=10**6, seconds=80_000, tool_calls_per_turn=10, parallel_tools=3
)
"""Every kind of limit that binds a turn, and none that is met."""

USAGE = ModelUsage(input_tokens=20, output_tokens=10)
TOKEN_USD = Decimal("0.000001")


class InstantModel:
    """Follows the script that all contenders follow. Like theirs, it counts nothing: its usage is made up."""

    name = "bench:instant"

    def __init__(self) -> None:
        self.followed = Script(turns=0)

    def count(
        self, *, system: str = "", tools: Sequence[ToolSpec] = (), messages: Iterable[Message] = ()
    ) -> int:
        return len(system) + 20 * len(tools) + 20 * len(tuple(messages))

    def cost_usd(self, usage: ModelUsage) -> Decimal:
        return TOKEN_USD * (usage.input_tokens + usage.output_tokens)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        number = await self.followed.next(_turn(request))
        if number is None:
            yield TextPiece(text=ANSWER)
        else:
            yield ToolRequest(id=f"call_{number}", tool="look", arguments=f'{{"number": {number}}}')
        yield ReplyEnded(usage=USAGE)


def _turn(request: ModelRequest) -> int:
    return (len(request.messages) - 1) // 2


class EndstopLoop:
    def __init__(self, address: str) -> None:
        self._address = address
        self._store: Store | None = None
        self._model = InstantModel()

        @tool
        async def look(number: int) -> str:
            """Look a number up."""
            return self._model.followed.look(number)

        self._agent = Agent(model=self._model, tools=(look,), config=AgentConfig(budget=BUDGET))
        self._default_agent = Agent(model=self._model, tools=(look,))

    async def open(self) -> None:
        if self._address == "memory":
            self._store = MemoryStore()
        elif self._address:
            self._store = await open_store(self._address)
        self._runner = Runner(self._store, clock=SystemClock())

    async def run(self, script: Script) -> str:
        self._model.followed = script
        agent = self._default_agent if script.repeats else self._agent
        return str((await self._runner.run(agent, QUESTION)).outcome)

    async def close(self) -> None:
        await self._runner.shutdown()
        if self._store is not None:
            await self._store.close()


if __name__ == "__main__":
    serve(EndstopLoop(sys.argv[1] if len(sys.argv) > 1 else ""))
