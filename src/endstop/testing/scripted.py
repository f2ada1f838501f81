"""Sequences of observations, written tersely for tests.

script = ObservationScript()
script.turn(call("search", {"q": "login"})).turn(text="Let me think.").user().turn(call("search", {"q": 1}))
for observation in script: ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar, cast

from endstop.kernel.detectors import Detector, Watch
from endstop.kernel.finding import Finding
from endstop.kernel.ledger import ROOT
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import (
    AgentFinished,
    AssistantSaid,
    CallStatus,
    IterationEnded,
    Observation,
    SignalGiven,
    ToolFinished,
    TurnEnded,
    TurnStarted,
    UserSaid,
    tool_called,
)

AnyDetector = TypeVar("AnyDetector", bound=Detector)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedCall:
    """A tool call and how it ends."""

    tool: str
    arguments: object
    status: CallStatus
    result: str
    is_waiting: bool
    is_cursor: bool
    changes_something: bool


def call(
    tool: str,
    arguments: object = None,
    *,
    ok: bool = True,
    result: str = "",
    status: CallStatus | None = None,
    waiting: bool = False,
    cursor: bool = False,
    changes: bool = False,
) -> ScriptedCall:
    """A call for a script. ``ok`` means executed or failed; ``status`` says it more closely."""
    return ScriptedCall(
        tool=tool,
        arguments={} if arguments is None else arguments,
        status=status or (CallStatus.EXECUTED if ok else CallStatus.FAILED),
        result=result,
        is_waiting=waiting,
        is_cursor=cursor,
        changes_something=changes,
    )


class ObservationScript:
    """Builds observations with turns and a clock that count up. Iterate over it to have them."""

    def __init__(self, *, scope: str = ROOT) -> None:
        self.observations: list[Observation] = []
        self._scope = scope
        self._turn = 0
        self._iteration = 0

    def __iter__(self) -> Iterator[Observation]:
        return iter(self.observations)

    @property
    def _at_s(self) -> float:
        return float(len(self.observations))

    def turn(
        self,
        *calls: ScriptedCall,
        text: str | None = "",
        signal: str | None = None,
        signal_reason: str | None = None,
        closing: LimitKind | None = None,
        finished: bool = False,
        answered_in: tuple[int, ...] | None = None,
    ) -> ObservationScript:
        """One turn. ``text`` is None for no message at all; ``answered_in`` is the order of the answers."""
        turn, scope = self._turn, self._scope
        self._turn += 1
        self.add(TurnStarted(at_s=self._at_s, scope=scope, turn=turn, closing=closing))
        if text is not None:
            self.add(AssistantSaid(at_s=self._at_s, scope=scope, turn=turn, text=text))
        if signal is not None or signal_reason is not None:
            self.add(
                SignalGiven(
                    at_s=self._at_s,
                    scope=scope,
                    turn=turn,
                    type=signal or "need_turn",
                    confidence=0.8,
                    reason=signal_reason,
                )
            )
        names = [f"call-{turn}-{number}" for number in range(len(calls))]
        for name, each in zip(names, calls, strict=True):
            self.add(
                tool_called(
                    at_s=self._at_s,
                    scope=scope,
                    turn=turn,
                    call=name,
                    tool=each.tool,
                    arguments=each.arguments,
                    is_cursor=each.is_cursor,
                )
            )
        for number in answered_in if answered_in is not None else range(len(calls)):
            self.add(self._answer(turn, names[number], calls[number]))
        if finished:
            self.add(AgentFinished(at_s=self._at_s, scope=scope))
        return self.add(TurnEnded(at_s=self._at_s, scope=scope, turn=turn))

    def user(self, text: str = "") -> ObservationScript:
        """The user says something."""
        return self.add(UserSaid(at_s=self._at_s, scope=self._scope, text=text))

    def iteration(
        self,
        *issues: str,
        failing_tests: int = 0,
        lines_of_code: int | None = None,
        cost_usd: str | None = None,
    ) -> ObservationScript:
        """A round of iterating work ends."""
        self._iteration += 1
        return self.add(
            IterationEnded(
                at_s=self._at_s,
                scope=self._scope,
                iteration=self._iteration - 1,
                issues=issues,
                failing_tests=failing_tests,
                lines_of_code=lines_of_code,
                cost_usd=None if cost_usd is None else Decimal(cost_usd),
            )
        )

    def add(self, observation: Observation) -> ObservationScript:
        """Any other observation."""
        self.observations.append(observation)
        return self

    def _answer(self, turn: int, name: str, answered: ScriptedCall) -> ToolFinished:
        key = tool_called(
            at_s=0.0, turn=turn, call=name, tool=answered.tool, arguments=answered.arguments
        ).key
        return ToolFinished(
            at_s=self._at_s,
            scope=self._scope,
            turn=turn,
            call=name,
            tool=answered.tool,
            key=key,
            status=answered.status,
            result=answered.result,
            is_waiting=answered.is_waiting,
            changes_something=answered.changes_something,
            is_cursor=answered.is_cursor,
        )


def watch(detector: AnyDetector, observations: Iterable[Observation]) -> tuple[AnyDetector, list[Finding]]:
    """Show observations to a detector: how it is afterwards, and what it found."""
    watching = Watch(detectors=(detector,))
    findings: list[Finding] = []
    for observation in observations:
        watching, found = watching.after(observation)
        findings.extend(found)
    return cast("AnyDetector", watching.detectors[0]), findings
