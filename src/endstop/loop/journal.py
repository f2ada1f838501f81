"""One run's record as a driver writes it: entered at once, handed to the store in batches."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from endstop.errors import StoreError
from endstop.events.bus import Bus
from endstop.events.facts import Fact, Note
from endstop.events.recorder import Recorder
from endstop.kernel.ledger import ROOT
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import Observation
from endstop.kernel.outcome import Ending, StopReason
from endstop.kernel.terms import time_left_s
from endstop.kernel.verdict import Noticed, Verdict
from endstop.ports import Clock, Store

if TYPE_CHECKING:
    from endstop.events.chunks import RunningPath


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """A piece of a reply that is still streaming. Not a fact: the whole reply will be one."""

    run_id: str
    scope: str
    turn: int
    text: str
    is_thought: bool = False


Listener = Callable[[Delta], None]
"""Shown a reply as it streams. Must not wait; one that fails is not called again."""


_MOST_HANDED = 8
"""So many appends may be under way: a store that cannot keep up slows its runs down."""


class Journal:
    """Writes the record of one run. All its drivers (the run's and its children's) share it."""

    def __init__(
        self,
        recorder: Recorder,
        *,
        clock: Clock,
        store: Store | None = None,
        owner: str | None = None,
        bus: Bus | None = None,
        listener: Listener | None = None,
        conversation_id: str | None = None,
    ) -> None:
        self.recorder = recorder
        self._bus = bus
        self.listener = listener
        self._watchers: list[Callable[[Fact], None]] = []
        self._monotonic_s = clock.monotonic_s
        self._unix_s = clock.unix_s
        self._store = store
        self.is_kept = store is not None
        """There is a store to hand the record to."""
        self._owner = owner
        self._conversation_id = conversation_id
        self._zero_s = clock.monotonic_s() - recorder.state.now_s
        self._handed_to = len(recorder.facts)
        """The store has been handed the facts before this one."""
        self._handed: deque[asyncio.Future[None]] = deque()
        """Appends that were handed over, and not looked at since."""
        self._failure: StoreError | None = None
        self._tell_others()

    @property
    def bus(self) -> Bus:
        """Where whoever wants to can hear of each fact. Nothing is published before somebody asks for it."""
        if self._bus is None:
            self._bus = Bus()
            self._tell_others()
        return self._bus

    @property
    def run_id(self) -> str:
        return self.recorder.run_id

    @property
    def now_s(self) -> float:
        """The run's clock: goes on from where the record stood, and never back."""
        now_s, before_s = self._monotonic_s() - self._zero_s, self.recorder.live.now_s
        return now_s if now_s > before_s else before_s

    @property
    def unix_s(self) -> float:
        return self._unix_s()

    def save_from(self, seq: int) -> None:
        """Hand the store also what was recorded before this journal was opened, from this fact on."""
        self._handed_to = seq
        if self._bus is not None:
            for fact in self.recorder.facts[seq:]:
                self._bus.publish(fact)

    def watch(self, watcher: Callable[[Fact], None]) -> None:
        """Tell ``watcher`` of everything that is recorded. It must not wait, and must not raise."""
        self._watchers.append(watcher)
        self._tell_others()

    def unwatch(self, watcher: Callable[[Fact], None]) -> None:
        self._watchers.remove(watcher)
        self._tell_others()

    def _tell_others(self) -> None:
        """Have the recorder tell those who want to hear of facts, at no cost where nobody does."""
        told = [*(() if self._bus is None else (self._bus.publish,)), *self._watchers]
        self.recorder.sink = self._told if len(told) > 1 else told[0] if told else None

    def _told(self, fact: Fact) -> None:
        if self._bus is not None:
            self._bus.publish(fact)
        for watcher in self._watchers:
            watcher(fact)

    def enter(self, observation: Observation) -> Noticed:
        return self.recorder.observe(observation, time=self._unix_s())

    def note(self, note: Note) -> None:
        self.recorder.note(note, time=self._unix_s())

    def record(self, payload: Observation | Note) -> None:
        """Enter an observation, or keep a note."""
        if isinstance(payload, Observation):
            self.enter(payload)
        else:
            self.note(payload)

    def verdict(self, scope: str) -> Verdict:
        return self.recorder.verdict(at_s=self.now_s, scope=scope)

    def seconds_left(self, scope: str, *, closing: bool) -> float | None:
        """How long a call may take that begins now; None where no time limit is set."""
        return time_left_s(self.recorder.live, scope, at_s=self.now_s, closing=closing)

    def is_open(self, scope: str) -> bool:
        state = self.recorder.live
        return scope in state.scopes and state.ending is None

    def end(self, reason: StopReason, *, scope: str = ROOT) -> Ending:
        return self.recorder.end(reason, at_s=self.now_s, time=self.unix_s, scope=scope, owes_answer=True)

    def end_with(self, ending: Ending, *, scope: str = ROOT, at_s: float | None = None) -> Ending:
        """End it with an ending already known; ``at_s`` is when that was, if not now."""
        self.recorder.end_with(
            ending, at_s=self.now_s if at_s is None else at_s, time=self.unix_s, scope=scope
        )
        return ending

    @property
    def hears_running(self) -> bool:
        """Whether whoever listens wants to be shown where a tree stands, too: it says so by an attribute of
        this name. Most want pieces of text only."""
        return getattr(self.listener, "hears_running", False) is True

    def show(self, shown: Delta | RunningPath) -> None:
        """Let whoever listens see a piece of a reply; or, if they want that, where the tree stands."""
        if self.listener is None:
            return
        try:
            self.listener(cast("Delta", shown))
        except Exception:  # noqa: BLE001 - a listener's fault stays the listener's
            self.listener = None

    async def hand_over(self) -> None:
        """Hand the store what it does not have yet, as one append. Whether it is safe, ``flush`` tells.

        A store that has failed once is not written to again: a part of the record would be missing. Whoever
        asks next is told the same, also where a sub-agent met it first and its tool took it for a failure.
        """
        if self._store is None:
            return
        self._look_at_done()
        if self._failure is not None:
            raise self._failure
        batch = self.recorder.facts[self._handed_to :]
        if not batch:
            return
        self._handed_to += len(batch)
        handed = self._store.append(batch, owner=self._owner, conversation_id=self._conversation_id)
        self._handed.append(asyncio.ensure_future(handed))
        if len(self._handed) > _MOST_HANDED:
            await self.flush()

    async def flush(self) -> None:
        """Hand over all there is. When this returns, it is safe."""
        await self.hand_over()
        while self._handed:
            await asyncio.wait(self._handed)  # which leaves them alone if we are cancelled
            self._look_at_done()  # unless a child was quicker to look at them
        if self._failure is not None:
            raise self._failure

    async def settled(self) -> None:
        """Wait until nothing is on its way to the store any more, whatever comes of it."""
        while self._handed:
            if not self._handed[0].done():
                await asyncio.wait((self._handed[0],))
            else:
                with suppress(Exception):
                    self._looked_at(self._handed.popleft())

    def _look_at_done(self) -> None:
        while self._handed and self._handed[0].done():
            self._looked_at(self._handed.popleft())

    def _looked_at(self, handed: asyncio.Future[None]) -> None:
        error = None if handed.cancelled() else handed.exception()
        if isinstance(error, StoreError):
            self._failure = self._failure or error
        elif error is not None:
            raise error


def smallest_limit(journal: Journal, scope: str, kind: LimitKind) -> int | None:
    """The smallest limit of a kind that is set for a scope or above it."""
    found = [account.budget.maximum(kind) for account in journal.recorder.state.ledger.lineage(scope)]
    return min((int(most) for most in found if most is not None), default=None)
