"""Endstop's own loop. The argument says where its records go: nowhere, ``memory``, or a database's URL."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator

from peer import ANSWER, QUESTION, Script, serve

from endstop.guard.clock import SystemClock
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget
from endstop.loop.agent import Agent
from endstop.ports import ModelRequest, Piece, Store
from endstop.runner import Runner
from endstop.store import open_store
from endstop.testing import MemoryStore, ScriptedModel, ScriptedReply, WantedCall, says
from endstop.tools import tool

BUDGET = Budget(
    turns=100_000, tokens=10**10, cost_usd=10**6, seconds=80_000, tool_calls_per_turn=10, parallel_tools=3
)
"""Every kind of limit that binds a turn, and none that is met."""


class FollowingModel(ScriptedModel):
    """Follows the script that all contenders follow."""

    def __init__(self) -> None:
        super().__init__(self._reply)
        self.followed = Script(turns=0)

    def follow(self, script: Script) -> None:
        self.followed = script
        self._delay_s = script.delay_s
        self.requests.clear()

    def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        if self.followed.holds and _turn(request) >= self.followed.turns:
            return self._held(request)
        return super().stream(request)

    async def _held(self, request: ModelRequest) -> AsyncIterator[Piece]:
        await self.followed.hold()
        async for piece in super().stream(request):
            yield piece

    def _reply(self, request: ModelRequest) -> ScriptedReply:
        number = self.followed.next_now(_turn(request))
        if number is None:
            return says(ANSWER)
        return ScriptedReply(calls=(WantedCall(tool="look", arguments=f'{{"number": {number}}}'),))


def _turn(request: ModelRequest) -> int:
    return (len(request.messages) - 1) // 2


class EndstopLoop:
    def __init__(self, address: str) -> None:
        self._address = address
        self._store: Store | None = None
        self._model = FollowingModel()

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
        if self._model.followed is not script:
            self._model.follow(script)
        agent = self._default_agent if script.repeats else self._agent
        return str((await self._runner.run(agent, QUESTION)).outcome)

    async def close(self) -> None:
        await self._runner.shutdown()
        if self._store is not None:
            await self._store.close()


if __name__ == "__main__":
    serve(EndstopLoop(sys.argv[1] if len(sys.argv) > 1 else ""))
