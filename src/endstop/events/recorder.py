"""A run being recorded: observations go in, the governor decides, facts come out.

Every driver (the guard, the tool loop, a tree) writes its record through this one class, so that all
records read the same. A recorder made by ``replay`` stands exactly where the record ends and can go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from endstop.errors import ClosedAccountError, FactOrderError, RecordError
from endstop.events.codec import require_next
from endstop.events.facts import NOTES, Derivation, Fact, HintGiven, Note, Payload, RunStarted
from endstop.kernel.amounts import Amounts
from endstop.kernel.decision import make_decision_tree
from endstop.kernel.detectors import Detector
from endstop.kernel.evolve import draft_class
from endstop.kernel.governor import Governor
from endstop.kernel.ledger import CHILD_HOLD, ROOT, is_call_hold
from endstop.kernel.observation import (
    AssistantSaid,
    CallSettled,
    CallStatus,
    ChildSettled,
    Observation,
    RunEnded,
    RunResumed,
    ScopeEnded,
    ScopeOpened,
    ToolCalled,
    ToolFinished,
    TurnEnded,
)
from endstop.kernel.outcome import Ending, StopReason, StopRule, conclude
from endstop.kernel.state import GovernorState
from endstop.kernel.transitions import OF_MORE_SCOPES, closed, opened
from endstop.kernel.usage import Usage
from endstop.kernel.verdict import NOTHING_NOTICED, LimitExceeded, Noticed, Stop, Verdict

Sink = Callable[[Fact], None]
"""Told of each fact as it is recorded. Must not wait and must not raise: a bus's ``publish`` is one."""


_FactDraft = draft_class(Fact)

_INTERRUPTED = "Interrupted: the process ended while this was under way. It may have had its effect."


class Recorder:
    """The record of one run, as it grows."""

    def __init__(
        self,
        started: RunStarted,
        *,
        run_id: str,
        time: float,
        source: str,
        detectors: Iterable[Detector] | None = None,
        sink: Sink | None = None,
    ) -> None:
        self.run_id = run_id
        self.source = source
        self.started = started
        self.governor = Governor(
            started.config,
            tree=make_decision_tree(started.policy),
            detectors=detectors,
            user=started.user,
            project=started.project,
        )
        self.live: GovernorState = self.governor.start()
        """The state to look something up in. It changes as the run goes on, so it is not to be kept; looking
        here spares the copy that asking for ``state`` leads to."""
        self._is_open = False
        """It was written to in place since somebody asked for it."""
        self.facts: list[Fact] = []
        self.endings: dict[str, Ending] = {}
        """How the run and each of its scopes ended, by name."""
        self._final_usage: dict[str, Usage] = {}
        self._texts: dict[str, list[str]] = {}
        self._open_calls: dict[tuple[str, str], ToolCalled] = {}
        self.sink = sink
        self._append(started, time)

    @property
    def state(self) -> GovernorState:
        """The state as it stands: a value, which stays what it is when the run goes on."""
        if self._is_open:
            self._is_open = False
            closed(self.live)
        return self.live

    def observe(self, observation: Observation, *, time: float) -> Noticed:
        """Enter an observation. Raises, and records nothing, if it cannot be."""
        kind = type(observation)
        usage = self.usage(observation.scope) if kind is ScopeEnded else None
        if kind in OF_MORE_SCOPES:
            self.live, noticed = self.governor.observe(self.state, observation)
        elif self._is_open:
            self._is_open = False  # somebody else's detector may ask for the state, and must not close it now
            try:
                noticed = self.governor.enter(self.live, observation)
            finally:
                self._is_open = True
        else:
            state = opened(self.live)
            noticed = self.governor.enter(state, observation)
            self.live, self._is_open = state, True
        remember = self._REMEMBERED.get(kind)
        if remember is not None:
            remember(self, observation)
        if usage is not None:
            self._final_usage[observation.scope] = usage
        if noticed is NOTHING_NOTICED:
            self._append(observation, time)
            return noticed
        derived: list[Derivation] = list(noticed.notices)
        turn = getattr(observation, "turn", 0)
        derived.extend(HintGiven(scope=observation.scope, turn=turn, text=hint) for hint in noticed.hints)
        is_ending = isinstance(observation, RunEnded | ScopeEnded)
        payloads: list[Payload] = [*derived, observation] if is_ending else [observation, *derived]
        if is_ending and derived and self.facts[-1].payload == derived[0]:
            del payloads[0]  # written already, by a process that died before it could write the ending
        for payload in payloads:
            self._append(payload, time)
        return noticed

    def _forget_scope(self, opened: ScopeOpened) -> None:
        """A scope that takes the name of an earlier one begins with nothing."""
        self._texts.pop(opened.scope, None)
        self.endings.pop(opened.scope, None)
        self._final_usage.pop(opened.scope, None)

    def _keep_text(self, said: AssistantSaid) -> None:
        texts = self._texts.setdefault(said.scope, [])
        if said.text.strip():
            texts.append(said.text)

    def _keep_call(self, called: ToolCalled) -> None:
        self._open_calls[called.scope, called.call] = called

    def _drop_call(self, finished: ToolFinished) -> None:
        self._open_calls.pop((finished.scope, finished.call), None)

    def _keep_ending(self, ended: ScopeEnded | RunEnded) -> None:
        self.endings[ended.scope] = ended.outcome

    _REMEMBERED: ClassVar[dict[type, Callable[[Recorder, Any], None]]] = {
        ScopeOpened: _forget_scope,
        AssistantSaid: _keep_text,
        ToolCalled: _keep_call,
        ToolFinished: _drop_call,
        ScopeEnded: _keep_ending,
        RunEnded: _keep_ending,
    }
    """What a driver asks for later: the text, the calls under way, the endings."""

    def note(self, note: Note, *, time: float) -> None:
        """Keep something that the kernel need not know."""
        if self.live.is_over:
            raise ClosedAccountError(f"{type(note).__name__} was reported after the run had ended")
        self._append(note, time)

    def verdict(self, *, at_s: float, scope: str = ROOT) -> Verdict:
        """What the governor says at this moment."""
        return self.governor.verdict(self.live, at_s=at_s, scope=scope)

    def usage(self, scope: str = ROOT) -> Usage:
        """What a scope has used, or had used when it ended."""
        final = self._final_usage.get(scope)
        return self.live.usage(scope) if final is None else final

    def gathered(self, scope: str = ROOT) -> str | None:
        """All text so far, or None where none was reported."""
        texts = self._texts.get(scope)
        return None if texts is None else "\n\n".join(text.strip() for text in texts)

    def is_call_open(self, scope: str, call: str) -> bool:
        """Whether a tool call has no result yet."""
        return (scope, call) in self._open_calls

    def open_calls(self, scope: str = ROOT) -> tuple[ToolCalled, ...]:
        """The tool calls of a scope that have no result yet."""
        return tuple(called for (name, _), called in self._open_calls.items() if name == scope)

    def end(
        self, reason: StopReason, *, at_s: float, time: float, scope: str = ROOT, owes_answer: bool = False
    ) -> Ending:
        """End a scope, or the run, for a reason. What is still open in it ends first; what that used may
        have met a limit that ranks before, so the reason is looked at again. ``owes_answer``: there is an
        answer in the end even if nothing was ever said."""
        at_s = max(at_s, self.state.now_s)
        self._close_below(scope, at_s=at_s, time=time)
        if reason.rule is not StopRule.PARENT:
            verdict = self.verdict(at_s=at_s, scope=scope)
            reason = verdict.reason if isinstance(verdict, Stop) else reason
        own = self.state.scopes[scope]
        texts = self._texts.get(scope) or [""]
        ending = conclude(
            reason,
            gathered=self.gathered(scope) or "" if owes_answer else self.gathered(scope),
            answer=own.answer or texts[-1],
            caveat=own.caveat,
            by=self.state.cancelled_by or "",
        )
        self.end_with(ending, at_s=at_s, time=time, scope=scope)
        return ending

    def end_with(self, ending: Ending, *, at_s: float, time: float, scope: str = ROOT) -> None:
        """End a scope, or the run, with an ending already known."""
        at_s = max(at_s, self.state.now_s)
        self._close_below(scope, at_s=at_s, time=time)
        if scope == ROOT:
            self.observe(RunEnded(at_s=at_s, outcome=ending), time=time)
        else:
            self.observe(ScopeEnded(at_s=at_s, scope=scope, outcome=ending), time=time)

    def _close_below(self, scope: str, *, at_s: float, time: float) -> None:
        """End the scopes below, and close what is under way in this one."""
        for child in self.state.ledger.children(scope):
            above = StopReason(rule=StopRule.PARENT, message="The run above it has ended.")
            self.end(above, at_s=at_s, time=time, scope=child)
        self._close(scope, CallStatus.CANCELLED, "Cancelled: the run ended first.", at_s=at_s, time=time)
        held = self.state.ledger.account(scope).holds.get(CHILD_HOLD)
        if held is not None:
            self.observe(_at_most(held, scope, at_s=at_s), time=time)

    def close_open(self, *, at_s: float, time: float) -> None:
        """Close what a dead process left open, so that the run can go on: calls it was in the middle of are
        reported as interrupted, what it had reserved is settled at the worst case, its turns are over. A
        sub-agent that runs as a run of its own did not die with it: what it may use stays reserved."""
        at_s = max(at_s, self.state.now_s)
        if self.state.paused_at_s is not None:
            self.observe(RunResumed(at_s=at_s), time=time)
        for scope in tuple(self.state.scopes):
            self._close(scope, CallStatus.INTERRUPTED, _INTERRUPTED, at_s=at_s, time=time)

    def _close(self, scope: str, status: CallStatus, why: str, *, at_s: float, time: float) -> None:
        """Answer the open calls of a scope, settle its reservations at the worst case, end its turns."""
        for called in self.open_calls(scope):
            answer = ToolFinished(
                at_s=at_s,
                scope=scope,
                turn=called.turn,
                call=called.call,
                tool=called.tool,
                key=called.key,
                status=status,
                result=why,
            )
            self.observe(answer, time=time)
        own = self.state.scopes[scope]
        for reservation, held in tuple(self.state.ledger.account(scope).holds.items()):
            if not is_call_hold(reservation) or reservation == CHILD_HOLD:
                continue
            settled = CallSettled(
                at_s=at_s,
                scope=scope,
                turn=max(own.turns_started - 1, 0),
                reservation=reservation,
                input_tokens=held.tokens,
                cost_usd=held.cost_usd or None,
                model_calls=held.model_calls,
                is_estimate=True,
            )
            self.observe(settled, time=time)
        for open_turn in sorted(own.open_turns):
            self.observe(TurnEnded(at_s=at_s, scope=scope, turn=open_turn), time=time)

    def _append(self, payload: Payload, time: float) -> None:
        facts = self.facts
        fact = _FactDraft()  # several are made in every turn, so this goes around their constructor
        fact.run_id = self.run_id
        fact.seq = len(facts)
        fact.time = time
        fact.source = self.source
        fact.payload = payload
        fact.__class__ = Fact
        facts.append(fact)
        if self.sink is not None:
            self.sink(fact)


def _at_most(held: Amounts, scope: str, *, at_s: float) -> ChildSettled:
    """A sub-agent elsewhere that nobody waits for: whatever it may use counts as used."""
    is_priced = bool(held.cost_usd)
    return ChildSettled(
        at_s=at_s,
        scope=scope,
        reservation=CHILD_HOLD,
        turns=held.turns,
        model_calls=held.model_calls,
        input_tokens=held.tokens,
        known_cost_usd=held.cost_usd,
        unknown_cost_calls=0 if is_priced else max(held.model_calls, 1),
        is_estimate=True,
    )


def replay(facts: Iterable[Fact], *, detectors: Iterable[Detector] | None = None) -> Recorder:
    """A recorder that stands where the record ends: the same state, the same verdicts.

    ``detectors`` must be given again if the run used its own. What the governor noticed is worked out
    anew, not copied: comparing it with the record is what the audit does. Nobody is told of the facts that
    are replayed; set ``sink`` on the result to hear of those that follow.
    """
    detectors = None if detectors is None else tuple(detectors)
    recorder: Recorder | None = None
    previous: Fact | None = None
    for fact in facts:
        require_next(previous, fact)
        previous = fact
        payload = fact.payload
        if recorder is None:
            if not isinstance(payload, RunStarted):
                raise FactOrderError(
                    f"The record begins with {fact.type}", allowed="run.started as the first fact"
                )
            _require_its_detectors(payload, detectors)
            recorder = Recorder(
                payload, run_id=fact.run_id, time=fact.time, source=fact.source, detectors=detectors
            )
        elif isinstance(payload, Observation):
            recorder.source = fact.source
            recorder.observe(payload, time=fact.time)
        elif isinstance(payload, NOTES):
            recorder.source = fact.source
            recorder.note(payload, time=fact.time)
        elif isinstance(payload, RunStarted):
            raise FactOrderError(f"Fact {fact.seq} starts the run a second time")
    if recorder is None:
        raise FactOrderError("The record is empty", allowed="run.started as the first fact")
    is_last_unfollowed = previous is not None and previous.seq == len(recorder.facts)
    if previous is not None and is_last_unfollowed and isinstance(previous.payload, LimitExceeded):
        recorder.facts.append(previous)  # the process died before it could write the ending it led to
    return recorder


def _require_its_detectors(started: RunStarted, given: tuple[Detector, ...] | None) -> None:
    """A run is judged again by the detectors it had, or not at all."""
    names = None if given is None else tuple(type(detector).__name__ for detector in given)
    if names != started.detectors:
        raise RecordError(
            f"The run used {_named(started.detectors)}, and is to be replayed with {_named(names)}",
            to_do="Give the same detectors again, in the same order",
        )


def _named(detectors: tuple[str, ...] | None) -> str:
    if detectors is None:
        return "the standard detectors"
    return f"detectors of its own ({', '.join(detectors) or 'none'})"
