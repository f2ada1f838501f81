"""The tool calls of one reply. Each gets exactly one result, whatever happens (D9)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from endstop.errors import (
    EndstopError,
    ToolArgumentsError,
    ToolError,
    ToolRefusedError,
    UnknownToolError,
    brief,
    cause,
)
from endstop.events.facts import SourceCited
from endstop.kernel.evolve import maker, quick
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import CallStatus, ToolCalled, ToolFinished, tool_called
from endstop.kernel.texts import readable, shortened
from endstop.kernel.verdict import Stop
from endstop.loop.agent import Agent
from endstop.loop.bounded import Ended, Overseer
from endstop.loop.journal import Journal, smallest_limit
from endstop.loop.toolbox import Toolbox
from endstop.ports import RunChild, Source, Tool, ToolContext, ToolMessage, ToolRequest, ToolResult

MOST_ARGUMENT_CHARS = 100_000
_MOST_SOURCES = 20
_NAME_CHARS = 64


@dataclass(slots=True)
class _Call:
    """One call, and its answer once it has one."""

    request: ToolRequest
    called: ToolCalled
    tool: Tool | None = None
    answer: ToolMessage | None = None
    value: object = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What came of the calls of one reply."""

    messages: tuple[ToolMessage, ...]
    ending: ToolResult | None = None
    """The result of the terminal tool, if it was called and did its job."""


_answered = maker(Answered)
_request = maker(ToolRequest)
_message = maker(ToolMessage)
_context = maker(ToolContext)
_finished = maker(ToolFinished)


class Calls:
    """Answers the tool calls of one run or scope."""

    def __init__(
        self,
        journal: Journal,
        agent: Agent,
        toolbox: Toolbox,
        overseer: Overseer,
        scope: str,
        run_child: RunChild,
        *,
        is_beside: bool = False,
    ) -> None:
        """``is_beside``: calls are made in tasks of their own, beside whatever drives."""
        self._journal = journal
        self._agent = agent
        self._toolbox = toolbox
        self._overseer = overseer
        self._scope = scope
        self._run_child = run_child
        self._is_beside = is_beside
        self._terminal = None if agent.terminal is None else agent.terminal.spec.name
        self._most_per_turn = smallest_limit(journal, scope, LimitKind.TOOL_CALLS_PER_TURN)
        self._most_at_once = smallest_limit(journal, scope, LimitKind.PARALLEL_TOOLS)

    def numbered(self, turn: int, requests: Sequence[ToolRequest]) -> tuple[ToolRequest, ...]:
        """The requests with names of our own: unique in the run, whatever the model called them."""
        return tuple(
            [
                self.named(f"t{turn + 1}_{place}", request.tool, request.arguments)
                for place, request in enumerate(requests, 1)
            ]
        )

    def named(self, call: str, tool: str, arguments: str) -> ToolRequest:
        """A request under a name of our own, fit for the record."""
        return _request(
            id=call,
            tool=readable(tool)[:_NAME_CHARS],
            arguments=shortened(arguments, MOST_ARGUMENT_CHARS),
        )

    async def answer(
        self,
        turn: int,
        requests: Sequence[ToolRequest],
        *,
        closing: bool,
        not_run: str | None,
        most: int | None = None,
    ) -> Answered:
        """Run what may be run, ``most`` calls at most, and give the rest a result that says why not.

        ``not_run``: none may.
        """
        calls = [self._called(turn, request) for request in requests]
        wanted = self._sorted_out(calls, closing=closing, not_run=not_run, most=most)
        if wanted:
            if self._journal.is_kept:
                await self._saved(wanted)
            if len(wanted) == 1:
                await self._run(wanted[0], closing=closing, is_beside=self._is_beside)
            else:
                await self._run_all(wanted, closing=closing)
        messages = tuple([call.answer for call in calls if call.answer is not None])
        return _answered(messages=messages, ending=None if self._terminal is None else self._ending(calls))

    def _ending(self, calls: list[_Call]) -> ToolResult | None:
        """The result of the terminal tool, if it was called and did its job."""
        for call in calls:
            if call.request.tool == self._terminal and isinstance(call.value, ToolResult):
                return call.value
        return None

    def refuse(self, turn: int, requests: Sequence[ToolRequest], why: str) -> tuple[ToolMessage, ...]:
        """Give calls that nobody is going to run a result that says so."""
        calls = [self._called(turn, request) for request in requests]
        for call in calls:
            self._answered(call, CallStatus.SKIPPED, why)
        return tuple(call.answer for call in calls if call.answer is not None)

    async def _saved(self, wanted: list[_Call]) -> None:
        """What is about to have an effect stands in the record before it happens."""
        for call in wanted:
            if call.tool is not None and call.tool.traits.changes_something:
                await self._journal.flush()
                return
        await self._journal.hand_over()

    def answer_open(self, status: CallStatus, why: str) -> None:
        """Answer what is still open, because nobody waits for it any more."""
        recorder = self._journal.recorder
        for called in recorder.open_calls(self._scope):
            self._journal.enter(self._finished(called, status, why))

    def _called(self, turn: int, request: ToolRequest) -> _Call:
        try:
            tool = self._toolbox.get(request.tool)
        except UnknownToolError:
            tool = None
        called = tool_called(
            at_s=self._journal.now_s,
            scope=self._scope,
            turn=turn,
            call=request.id,
            tool=request.tool,
            arguments=request.arguments,
            is_cursor=tool is not None and tool.traits.is_cursor,
        )
        self._journal.enter(called)
        return _Call(request, called, tool)

    def _sorted_out(
        self, calls: list[_Call], *, closing: bool, not_run: str | None, most: int | None
    ) -> list[_Call]:
        """The calls to run, the terminal one last. The others are answered here."""
        wanted: list[_Call] = []
        for call in calls:
            if not_run is not None:
                self._answered(call, CallStatus.SKIPPED, not_run)
            elif closing and call.request.tool != self._terminal:
                self._answered(call, CallStatus.SKIPPED, "Not run: this is the last turn. " + self._use_now)
            elif self._most_per_turn is not None and len(wanted) >= self._most_per_turn:
                why = f"Not run: at most {self._most_per_turn} tool calls per turn. Ask again next turn."
                self._answered(call, CallStatus.SKIPPED, why)
            elif most is not None and len(wanted) >= most:
                why = "Not run: this part of the work has no tool calls left. Go on without."
                self._answered(call, CallStatus.SKIPPED, why)
            elif call.tool is None:
                self._answered(call, CallStatus.FAILED, self._unknown(call.request.tool))
            else:
                wanted.append(call)
        if len(wanted) > 1:
            wanted.sort(key=lambda call: call.request.tool == self._terminal)
        return wanted

    @property
    def _use_now(self) -> str:
        return f"Call {self._terminal} now." if self._terminal else "Answer with what you have."

    def _unknown(self, name: str) -> str:
        try:
            self._toolbox.get(name)
        except UnknownToolError as error:
            return str(error)
        raise AssertionError("it was not there a moment ago")

    async def _run_all(self, calls: list[_Call], *, closing: bool) -> None:
        terminal = [call for call in calls if call.request.tool == self._terminal]
        room = asyncio.Semaphore(self._most_at_once or len(calls))

        async def run(call: _Call) -> None:
            async with room:
                if not self._stopped_first(call):
                    await self._run(call, closing=closing, is_beside=True)

        async with asyncio.TaskGroup() as group:
            for call in calls[: len(calls) - len(terminal)]:
                group.create_task(run(call))
        for call in terminal:
            await run(call)

    def _stopped_first(self, call: _Call) -> bool:
        """Whether the run has to stop before this call of a turn; then it is answered so."""
        verdict = self._journal.verdict(self._scope)
        if isinstance(verdict, Stop):
            self._answered(call, CallStatus.CANCELLED, f"Not run: {verdict.reason.message}")
            return True
        return False

    async def _run(self, call: _Call, *, closing: bool, is_beside: bool = False) -> None:
        tool = call.tool
        assert tool is not None, "only known tools are run"
        called = call.called
        watch = self._journal.recorder.live.scopes[self._scope].watch
        if watch.is_tripped(called.tool, called.key):
            why = f"Not run: {called.tool} failed the same way too often with these arguments."
            self._answered(call, CallStatus.TRIPPED, f"{why} Try something else.")
            return
        left = self._journal.seconds_left(self._scope, closing=closing)
        if left is not None and left <= 0:
            self._answered(call, CallStatus.CANCELLED, "Not run: the run has no time left for it.")
            return
        allowed = tool.traits.timeout_s or self._agent.tool_timeout_s
        attempt = _Attempt(tool, call.request.arguments, self._context(called, left))
        run = self._overseer.run_beside if is_beside else self._overseer.run
        ended = await run(attempt.make(), seconds=allowed if left is None else min(left, allowed))
        self._judge(call, attempt, ended, allowed)

    def _judge(self, call: _Call, attempt: _Attempt, ended: Ended, allowed: float) -> None:
        match ended:
            case Ended.BY_ITSELF:
                result = attempt.result
                if attempt.failure is not None:
                    self._answered(call, _status_of(attempt.failure), _words_of(attempt.failure))
                elif isinstance(result, ToolResult):
                    call.value = result
                    self._answered(call, CallStatus.EXECUTED, result.text, result)
                else:
                    self._answered(
                        call, CallStatus.FAILED, f"The tool gave {brief(result)}, which is no result."
                    )
            case Ended.CUT:
                self._answered(
                    call, CallStatus.CANCELLED, "Cancelled: it was cut off, and may have had its effect."
                )
            case Ended.OUT_OF_TIME | Ended.STALLED:
                why = f"Timed out: no result within {allowed:g} s, or within the time the run has left."
                self._answered(call, CallStatus.TIMED_OUT, why)

    def _context(self, called: ToolCalled, seconds_left: float | None) -> ToolContext:
        return _context(
            run_id=self._journal.run_id,
            scope=self._scope,
            turn=called.turn,
            call=called.call,
            seconds_left=seconds_left,
            run_child=self._run_child,
        )

    def _answered(self, call: _Call, status: CallStatus, text: str, result: ToolResult | None = None) -> None:
        if not self._journal.recorder.is_call_open(self._scope, call.called.call):
            return  # the run or the turn was ended while this was under way, and that has answered it
        finished = self._finished(call.called, status, text, call.tool, result)
        self._journal.enter(finished)
        if result is not None:
            for source in _sources(result):
                self._journal.note(
                    SourceCited(
                        scope=self._scope,
                        title=readable(source.title),
                        location=readable(source.location),
                        passage=readable(shortened(source.passage, 2_000)),
                    )
                )
        call.answer = _message(
            call=call.request.id, tool=call.request.tool, text=finished.result, is_error=finished.is_error
        )

    def _finished(
        self,
        called: ToolCalled,
        status: CallStatus,
        text: object,
        tool: Tool | None = None,
        result: ToolResult | None = None,
    ) -> ToolFinished:
        most = self._agent.max_result_chars
        shown = text if isinstance(text, str) else brief(text, most=most)
        return _finished(
            at_s=self._journal.now_s,
            scope=self._scope,
            turn=called.turn,
            call=called.call,
            tool=called.tool,
            key=called.key,
            status=status,
            result=readable(shortened(shown, most)),
            is_waiting=result is not None and bool(result.is_waiting),
            changes_something=tool is not None and tool.traits.changes_something,
            is_cursor=called.is_cursor,
        )


class _Attempt:
    """One call of a tool: what it gave, or what it failed with."""

    __slots__ = ("_arguments", "_context", "_tool", "failure", "result")

    def __init__(self, tool: Tool, arguments: str, context: ToolContext) -> None:
        self._tool = tool
        self._arguments = arguments
        self._context = context
        self.result: object = None
        self.failure: BaseException | None = None

    async def make(self) -> None:
        try:
            self.result = await self._tool.call(self._arguments, self._context)
        except GeneratorExit:
            raise
        except BaseException as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling()):
                raise
            self.failure = error  # a tool may raise anything at all, and only its own call has failed


_NO_SOURCES = ()


def _sources(result: ToolResult) -> list[Source]:
    """The sources of a result that are some: tools are not trusted to know what one is."""
    if result.sources is _NO_SOURCES:
        return []
    given = cast("object", result.sources)
    if not isinstance(given, tuple | list):
        return []
    sources: list[Source] = []
    for one in cast("Sequence[object]", given)[:_MOST_SOURCES]:
        match one:
            case Source(title=str(), location=str(), passage=str()):
                sources.append(one)
            case _:
                continue
    return sources


def _status_of(failure: BaseException) -> CallStatus:
    return CallStatus.REFUSED if isinstance(failure, ToolRefusedError) else CallStatus.FAILED


def _words_of(failure: BaseException) -> str:
    if isinstance(failure, ToolArgumentsError | ToolError | EndstopError):
        return str(failure)
    return f"The tool failed with {cause(failure)}"
