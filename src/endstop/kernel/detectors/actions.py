"""Tool calls as detectors see them: one action for each, in the order in which the model asked for them.

Calls of one turn may run side by side and finish in any order. A row of actions must not depend on
which tool was faster, so an answer is held until the calls asked for before it have been answered.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from endstop.kernel.canonical import canonical_error, fingerprint, squash_space
from endstop.kernel.evolve import draft_class, maker, quick
from endstop.kernel.finding import Evidence
from endstop.kernel.observation import (
    CallStatus,
    Observation,
    ToolCalled,
    ToolFinished,
    TurnEnded,
    TurnStarted,
)

_MOST_OPEN = 128
"""Calls beyond this many in one turn are taken in the order in which they finish."""

_SHOWN_CHARS = 120
_READ_CHARS = 4 * _SHOWN_CHARS
"""More of a text is not looked at to show the beginning of it."""

_NO_PAGE = frozenset({CallStatus.SKIPPED, CallStatus.CANCELLED, CallStatus.INTERRUPTED})
"""A cursor call that ended so brought nothing that could be compared."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One answered tool call, with the arguments it was made with."""

    finished: ToolFinished
    what: str
    """The call as people would write it: ``search_docs({"query":"login"})``, cut if it is long."""
    seen: Evidence = field(init=False, repr=False, compare=False)

    @property
    def tool(self) -> str:
        return self.finished.tool.strip()

    @property
    def is_waiting(self) -> bool:
        return self.finished.is_waiting

    @property
    def is_success(self) -> bool:
        """The tool did its job. One that still waits has not done it yet (B9)."""
        return self.finished.status is CallStatus.EXECUTED and not self.finished.is_waiting

    @property
    def error(self) -> str | None:
        """What the tool said when it failed to do its job."""
        return self.finished.result if self.finished.is_error and not self.finished.is_waiting else None

    @property
    def identity(self) -> str | None:
        """Equal for actions that are the same. None for a cursor call that brought no page: pass over it."""
        if not self.finished.is_cursor:
            return self.finished.key
        return None if self.finished.status in _NO_PAGE else f"{self.tool}\n{self.result_key}"

    @property
    def result_key(self) -> str:
        """Equal for equal results, and for errors that differ only in time stamps and the like."""
        is_page = self.finished.status is CallStatus.EXECUTED
        result = self.finished.result
        return fingerprint(result if is_page else canonical_error(result))

    def __post_init__(self) -> None:
        object.__setattr__(self, "seen", _evidence_of(self.finished, self.what))


_evidence = maker(Evidence)
_ActionDraft = draft_class(Action)


def _evidence_of(finished: ToolFinished, what: str) -> Evidence:
    return _evidence(turn=finished.turn, call=finished.call, what=what)


def _action(finished: ToolFinished, what: str) -> Action:
    """An action, made cheaply: there is one for every call."""
    action = _ActionDraft()
    action.finished = finished
    action.what = what
    action.seen = _evidence_of(finished, what)
    action.__class__ = Action
    return action


Seen: TypeAlias = Observation | Action
"""What a detector is shown: every observation, and beside it each answered call as one action."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class _OpenCall:
    call: str
    what: str
    action: Action | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCalls:
    """The calls of the turn under way whose turn in the row has not come yet."""

    calls: tuple[_OpenCall, ...] = ()

    def after(self, observation: Observation) -> tuple[OpenCalls, tuple[Action, ...]]:
        """What is open after ``observation``, and the actions that it completes. Most complete none."""
        if isinstance(observation, ToolFinished):
            return self._answered(observation)
        if isinstance(observation, ToolCalled):
            if len(self.calls) >= _MOST_OPEN:
                return self, ()
            what = shortened(f"{observation.tool}({observation.arguments[:_READ_CHARS]})")
            opened = _open_call(call=observation.call, what=what)
            return _open_calls(calls=(*self.calls, opened)), ()
        if self.calls and isinstance(observation, TurnStarted | TurnEnded):
            # A call that nobody answered must not hold back the others for ever.
            return NO_OPEN_CALLS, tuple(each.action for each in self.calls if each.action is not None)
        return self, ()

    def _answered(self, finished: ToolFinished) -> tuple[OpenCalls, tuple[Action, ...]]:
        calls = self.calls
        if len(calls) == 1 and calls[0].call == finished.call:
            return NO_OPEN_CALLS, (_action(finished, calls[0].what),)
        unanswered = (n for n, each in enumerate(calls) if each.call == finished.call and each.action is None)
        place = next(unanswered, None)
        if place is None:
            return self, (_action(finished, f"{finished.tool}(…)"),)
        answered = replace(calls[place], action=_action(finished, calls[place].what))
        calls = (*calls[:place], answered, *calls[place + 1 :])
        actions: list[Action] = []
        for each in calls:
            if each.action is None:
                break
            actions.append(each.action)
        return OpenCalls(calls=calls[len(actions) :]), tuple(actions)


_open_call = maker(_OpenCall)
_open_calls = maker(OpenCalls)
NO_OPEN_CALLS = OpenCalls()
CALL_CONCERNS = (ToolCalled, ToolFinished, TurnStarted, TurnEnded)
"""What ``OpenCalls`` has to be told."""


def shortened(text: str) -> str:
    """``text`` on one line and cut to a length that people read."""
    line = squash_space(text[:_READ_CHARS])
    is_whole = len(line) <= _SHOWN_CHARS and len(text) <= _READ_CHARS
    return line if is_whole else line[: _SHOWN_CHARS - 1] + "…"
