"""What a guard and its scopes share: the recorder, the clocks, and a lock around both.

Every entry is made under the lock, so threads and tasks can share a guard: two calls at once cannot both
take the last tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from threading import RLock

from endstop.errors import ClosedAccountError, LedgerError
from endstop.events.bus import Bus
from endstop.events.facts import Note
from endstop.events.recorder import Recorder
from endstop.kernel.budget import Budget
from endstop.kernel.evolve import evolve
from endstop.kernel.ledger import ROOT
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import (
    CancelRequested,
    IterationEnded,
    Observation,
    RunPaused,
    RunResumed,
    ScopeOpened,
)
from endstop.kernel.outcome import Ending, StopReason
from endstop.kernel.review import Review, ReviewDecision
from endstop.kernel.state import GovernorState
from endstop.kernel.verdict import Noticed, Verdict
from endstop.kernel.views import meters
from endstop.ports import Clock

_STAYS_TRUE_S = 0.02
"""A verdict holds this long if nothing is observed: a time limit is noticed at most so much later."""

Reviewer = Callable[[Review], ReviewDecision]
"""Asked when a limit would end a run: grants more, asks for changes, or rejects."""


class Books:
    """One run's recorder with its clock."""

    def __init__(self, recorder: Recorder, *, clock: Clock, bus: Bus) -> None:
        self.recorder = recorder
        self.bus = bus
        self.lock = RLock()
        self._clock = clock
        self._waiting = 0
        self._last_verdict: tuple[GovernorState, str, float, Verdict] | None = None
        self._zero_s = clock.monotonic_s() - recorder.state.now_s
        recorder.sink = bus.publish
        payloads = [fact.payload for fact in recorder.facts]
        self._scopes_opened = sum(isinstance(payload, ScopeOpened) for payload in payloads)
        self._iterations = Counter(one.scope for one in payloads if isinstance(one, IterationEnded))

    @property
    def now_s(self) -> float:
        """The run's clock: goes on from where the record stood, and never back."""
        return max(self._clock.monotonic_s() - self._zero_s, self.recorder.state.now_s)

    @property
    def unix_s(self) -> float:
        return self._clock.unix_s()

    def enter(self, observation: Observation) -> Noticed:
        """Enter an observation. For those who hold the lock."""
        return self.recorder.observe(observation, time=self.unix_s)

    def observe(self, make: Callable[[float], Observation]) -> Noticed:
        """Enter an observation made for this moment."""
        with self.lock:
            return self.enter(make(self.now_s))

    def record(self, payload: Observation | Note) -> None:
        """Enter an observation, or keep a note. For those who hold the lock."""
        if isinstance(payload, Observation):
            self.enter(payload)
        else:
            self.recorder.note(payload, time=self.unix_s)

    def verdict(self, scope: str) -> Verdict:
        """What the governor says now. Asked again at once, with nothing new observed, it says the same."""
        state, at_s = self.recorder.state, self.now_s
        last = self._last_verdict
        if last is not None and last[0] is state and last[1] == scope and at_s - last[2] < _STAYS_TRUE_S:
            return last[3]
        verdict = self.recorder.verdict(at_s=at_s, scope=scope)
        self._last_verdict = (state, scope, at_s, verdict)
        return verdict

    def end(self, scope: str, reason: StopReason) -> None:
        self.recorder.end(reason, at_s=self.now_s, time=self.unix_s, scope=scope)

    def end_with(self, scope: str, ending: Ending) -> None:
        self.recorder.end_with(ending, at_s=self.now_s, time=self.unix_s, scope=scope)

    def is_open(self, scope: str) -> bool:
        return scope not in self.recorder.endings and ROOT not in self.recorder.endings

    def require_open(self, scope: str) -> None:
        if not self.is_open(scope):
            raise ClosedAccountError(
                f"{'The run' if scope == ROOT else f'The scope {scope!r}'} has ended",
                to_do="It takes nothing more: start a new guard, or open a new scope",
            )

    def seconds_left(self, scope: str) -> float | None:
        """What is left of the tightest time limit over a scope; None if there is none."""
        state = evolve(self.recorder.state, now_s=self.now_s)
        meter = next((one for one in meters(state, scope) if one.kind is LimitKind.SECONDS), None)
        return None if meter is None else float(meter.remaining)

    def tool_calls_per_turn(self, scope: str) -> int | None:
        """The smallest limit on tool calls per turn, of the scope's own and all above."""
        found = [account.budget.tool_calls_per_turn for account in self.recorder.state.ledger.lineage(scope)]
        return min((most for most in found if most is not None), default=None)

    def open_scope(self, name: str, parent: str, budget: Budget) -> None:
        """Open a scope below another, with the ways of its parent where its own budget does not say."""
        if name in self.recorder.endings or name in self.recorder.state.scopes:
            raise LedgerError(
                f"There was a scope {name!r} in this run already", to_do="Give each scope a name of its own"
            )
        above = self.recorder.state.ledger.account(parent).budget
        own = replace(
            budget,
            finish_reserve=above.finish_reserve,
            grant_cap=above.grant_cap,
            unknown_price=above.unknown_price,
        )
        self.observe(lambda at_s: ScopeOpened(at_s=at_s, scope=name, parent=parent, budget=own))

    def next_scope_name(self) -> str:
        """A name nobody has used in this run."""
        self._scopes_opened += 1
        return f"scope-{self._scopes_opened}"

    def next_iteration(self, scope: str) -> int:
        """The number of the round of work that has ended: counted from 0, on from where the record stood."""
        number = self._iterations.get(scope, 0)
        self._iterations[scope] = number + 1
        return number

    def cancel(self, by: str, *, after_turn: bool) -> None:
        with self.lock:
            if self.is_open(ROOT):
                self.observe(lambda at_s: CancelRequested(at_s=at_s, by=by, after_turn=after_turn))

    @contextmanager
    def waiting(self, why: str) -> Generator[None]:
        """Time that passes in here is not charged: the run waits for a person, or for several."""
        with self.lock:
            self._waiting += 1
            if self._waiting == 1:
                self.observe(lambda at_s: RunPaused(at_s=at_s, why=why))
        try:
            yield
        finally:
            with self.lock:
                self._waiting -= 1
                if self._waiting == 0 and self.is_open(ROOT):
                    self.observe(lambda at_s: RunResumed(at_s=at_s))
