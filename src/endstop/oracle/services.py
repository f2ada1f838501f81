"""What a tree runs on when it steers a run: the run's turns, and the oracle's own parts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import cast

from endstop.events.facts import Payload, SignalRejected, SourceCited
from endstop.kernel.ledger import ROOT
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import CallStatus, ToolFinished
from endstop.kernel.verdict import Stop, Verdict
from endstop.kernel.views import may_warn, meters
from endstop.loop.shares import Share
from endstop.loop.turns import Turns
from endstop.oracle.fallback import Chooser, choose
from endstop.oracle.prompting import PromptFiles, compose
from endstop.oracle.query import QueryType, tools_first
from endstop.signals import Signal


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleParts:
    """What an oracle is made of, beside its model, its tools and its tree."""

    prompts: PromptFiles
    choose: Chooser = choose
    """Chooses what to do about an agent that does not say how it stands, or is stuck (C7)."""
    chooser_takes_time: bool = False
    """It is asked in a thread of its own, so that nothing waits for it."""
    project: str = ""
    """The name of the project, for the prompt."""


class OracleServices:
    """One run, as its tree sees it. The engine's ``Services``, and what the leaves of this room need."""

    def __init__(self, turns: Turns, parts: OracleParts) -> None:
        self.turns = turns
        self.parts = parts
        self.fallbacks = 0
        """How often the fallback was asked since a tool last did its job."""
        self.tool_errors_in_a_row = 0
        self._recovery: tuple[str, ...] = ()
        self._prompts: dict[tuple[QueryType, tuple[str, ...]], tuple[str, tuple[str, ...]]] = {}
        self._turn_from = 0
        """Where in the record the latest turn begins."""
        self._sources: dict[str, None] = {}
        self._facts_read = 0
        self._turn_free = asyncio.Lock()

    @property
    def now_s(self) -> float:
        return self.turns.journal.now_s

    @property
    def question(self) -> str:
        return self.turns.journal.recorder.started.question

    @property
    def signal(self) -> Signal | None:
        """The signal of the latest reply."""
        return None if self.turns.reply is None else self.turns.reply.signal

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody wants the run to end. Asked at every tick, so nobody who does not is quick."""
        return self.turns.journal.recorder.live.cancelled_by is not None and self.turns.view.is_cancelled

    @property
    def sources(self) -> tuple[str, ...]:
        """Where what the tools have found stands, each place once."""
        facts = self.turns.journal.recorder.facts
        for fact in facts[self._facts_read :]:
            if isinstance(fact.payload, SourceCited) and fact.payload.scope == self.turns.scope:
                self._sources.setdefault(fact.payload.location)
        self._facts_read = len(facts)
        return tuple(self._sources)

    @property
    def is_warning_due(self) -> bool:
        """Whether a limit is near. Asked in every turn, so the meters are read only where one may be."""
        state, scope = self.turns.journal.recorder.live, self.turns.scope
        if scope == ROOT and not state.warned and not may_warn(state, scope):
            return False
        return any(meter.is_warning_due for meter in meters(state, scope))

    @property
    def turns_left(self) -> int | None:
        """None when turns are not limited."""
        left = (
            int(meter.remaining)
            for meter in meters(self.turns.journal.recorder.live, self.turns.scope)
            if meter.kind is LimitKind.TURNS
        )
        return next(left, None)

    def verdict(self) -> Verdict:
        """What the governor says now. Asking changes nothing."""
        return self.turns.journal.verdict(self.turns.scope)

    @property
    def must_stop(self) -> bool:
        return isinstance(self.verdict(), Stop)

    @property
    def gathered(self) -> str:
        """All that the model has said."""
        return self.turns.journal.recorder.gathered(self.turns.scope) or ""

    @property
    def recovery(self) -> tuple[str, ...]:
        """The situations of the latest turn that the model is given a hint for."""
        reply = self.turns.reply
        if reply is None:
            return ()
        is_empty = reply.is_whole and not reply.calls and not reply.text.strip()
        own = ("truncated",) if reply.is_truncated else ("empty",) if is_empty else ()
        is_malformed = any(isinstance(payload, SignalRejected) for payload in self._payloads_of_turn())
        return (*own, *self._recovery, *(("malformed_signal",) if is_malformed else ()))

    def prepare(self, kind: QueryType) -> None:
        """Have the model given the prompt for this sort of question, and the tools for it, in their order."""
        asked = kind, self.recovery
        prepared = self._prompts.get(asked)
        if prepared is None:
            prepared = self._prompts[asked] = self._prepared(*asked)
        system, tools = prepared
        self.turns.prepare(system=system, tools=tools)

    def _prepared(self, kind: QueryType, recovery: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        by_name = {spec.name: spec for spec in self.turns.tools}
        tools = tools_first(kind, list(by_name))
        system = compose(
            kind,
            tools=[by_name[name] for name in tools],
            recovery=recovery,
            project=self.parts.project,
            files=self.parts.prompts,
        )
        return system, tools

    def tools_were_run(self) -> None:
        """Look at what came of the tool calls of the turn under way."""
        results = [payload for payload in self._payloads_of_turn() if isinstance(payload, ToolFinished)]
        for result in results:
            self.tool_errors_in_a_row = self.tool_errors_in_a_row + 1 if result.is_error else 0
        if any(result.status is CallStatus.EXECUTED for result in results):
            self.fallbacks = 0
        self._recovery = tuple(dict.fromkeys(name for one in results if (name := _hint_for(one))))

    def _payloads_of_turn(self) -> list[Payload]:
        """What was recorded since the latest turn began, oldest first."""
        scope = self.turns.scope
        payloads = [fact.payload for fact in self.turns.journal.recorder.facts[self._turn_from :]]
        return [payload for payload in payloads if getattr(payload, "scope", None) == scope]

    async def take_turn(self, *, offers_tools: bool = True) -> bool:
        """Begin a turn and make its model call. False if there was none to be had, or it failed."""
        async with self._turn_free:  # parts of a tree that run beside each other take turns one by one
            self.turns.end()
            if not self.turns.begin(offers_tools=offers_tools):
                return False
            self._recovery = ()
            self._turn_from = len(self.turns.journal.recorder.facts)
            reply = await self.turns.ask()
        return reply.failure is None and reply.unaffordable is None

    async def llm_call(self, *, prompt: str, offers_tools: bool) -> str | None:
        """One whole turn: told, asked, its tools run, ended."""
        if prompt:
            self.turns.tell(prompt)
        if not await self.take_turn(offers_tools=offers_tools):
            self.turns.end()
            return None
        await self.turns.answer()
        self.turns.end()
        return None if self.turns.reply is None else self.turns.reply.text

    async def tool_call(self, tool: str, arguments: Mapping[str, object]) -> str | None:
        message = await self.turns.call_tool(tool, json.dumps(arguments, ensure_ascii=False))
        return None if message.is_error else message.text

    def open_share(self, name: str, limits: Mapping[str, int | float | str]) -> Share:  # noqa: ARG002
        money = limits.get("cost_usd")
        return self.turns.open_share(
            turns=cast("int | None", limits.get("turns")),
            tokens=cast("int | None", limits.get("tokens")),
            cost_usd=None if money is None else Decimal(str(money)),
            seconds=cast("float | None", limits.get("seconds")),
            tool_calls=cast("int | None", limits.get("tool_calls")),
        )


def _hint_for(result: ToolFinished) -> str | None:
    """The name of the hint that helps after such a result."""
    match result.status:
        case CallStatus.TRIPPED:
            return "tool_tripped"
        case CallStatus.FAILED if result.result.startswith("There is no tool"):
            return "unknown_tool"
        case CallStatus.FAILED:
            return "tool_failed"
        case CallStatus.TIMED_OUT:
            return "timed_out"
        case CallStatus.REFUSED:
            return "refused"
        case _:
            return None
