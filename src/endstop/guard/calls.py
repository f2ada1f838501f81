"""The tool calls of one turn: which may run, and what came of them. Each gets exactly one result."""

from __future__ import annotations

from endstop.guard.books import Books
from endstop.kernel.canonical import action_key
from endstop.kernel.observation import CallStatus, ToolFinished, tool_called


class Calls:
    """Counts and records the tool calls of one turn."""

    def __init__(self, books: Books, scope: str) -> None:
        self._books = books
        self._scope = scope
        self._count = 0

    def refusal(self, turn: int, tool: str, arguments: object, *, is_last_turn: bool) -> str | None:
        """None if the call may run. Else why not, for the model: recorded as the result of the call."""
        status, why = self._refused(tool, arguments, is_last_turn=is_last_turn)
        if why is not None:
            self.answered(turn, tool, arguments, status=status, result=why)
        return why

    def answered(
        self,
        turn: int,
        tool: str,
        arguments: object,
        *,
        status: CallStatus,
        result: str,
        is_waiting: bool = False,
        is_cursor: bool = False,
        changes_something: bool = False,
    ) -> None:
        """Record a call with its result."""
        self._count += 1
        call = f"{turn + 1}.{self._count}"
        now_s = self._books.now_s
        called = tool_called(
            at_s=now_s,
            scope=self._scope,
            turn=turn,
            call=call,
            tool=tool,
            arguments=arguments,
            is_cursor=is_cursor,
        )
        self._books.enter(called)
        self._books.enter(
            ToolFinished(
                at_s=now_s,
                scope=self._scope,
                turn=turn,
                call=call,
                tool=tool,
                key=called.key,
                status=status,
                result=result,
                is_waiting=is_waiting,
                is_cursor=is_cursor,
                changes_something=changes_something,
            )
        )

    def _refused(self, tool: str, arguments: object, *, is_last_turn: bool) -> tuple[CallStatus, str | None]:
        if is_last_turn:
            return CallStatus.SKIPPED, "Not run: this is the last turn. Answer with what you have."
        most = self._books.tool_calls_per_turn(self._scope)
        if most is not None and self._count >= most:
            return CallStatus.SKIPPED, f"Not run: at most {most} tool calls per turn. Ask again next turn."
        watch = self._books.recorder.state.scopes[self._scope].watch
        if watch.is_tripped(tool, action_key(tool, arguments)):
            return CallStatus.TRIPPED, (
                f"Not run: {tool} failed the same way too often with these arguments. Try something else."
            )
        return CallStatus.EXECUTED, None
