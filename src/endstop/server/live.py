"""One run that is under way in this process, as its streams see it: the latest facts, and the reply so far.

Facts come over the bus before they are in the store. They are shown only once they are safe there: else a
client could have seen what a crash takes back, and its id would lie.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import islice

from endstop.errors import EndstopError
from endstop.events.bus import Bus
from endstop.events.chunks import RunningPath
from endstop.events.facts import Fact, Thought
from endstop.kernel.ledger import ROOT
from endstop.kernel.observation import AssistantSaid
from endstop.loop.journal import Delta
from endstop.ports import Store
from endstop.server.stream import LiveReply

_MOST_RECENT = 256
"""So many facts are at hand for those who keep up; whoever falls behind reads the record."""

_CAPACITY = 10_000
"""So many facts may come between two looks at the bus."""

_FIRST_LOOK_S = 0.002
_LONGEST_LOOK_S = 0.25
_LAST_LOOKS_S = 2.0
"""So long, after a run was left, its last facts are waited for. A store that failed will not have them."""


class LiveRun:
    """The facts and the live reply of one run. Any number of streams read from it; none can hold it up.

    It is the run's listener: called with whatever is shown of it while it goes on.
    """

    hears_running = True
    """Whoever shows where a tree stands asks for this first: most listeners know of pieces of text only."""

    def __init__(
        self,
        run_id: str,
        store: Store,
        *,
        on_safe: Callable[[Fact], None],
        capacity: int = _CAPACITY,
        is_told: bool = False,
    ) -> None:
        """``is_told``: somebody calls ``saved``, and the store need not be asked what it has."""
        self.run_id = run_id
        self.bus = Bus()
        self.reply: LiveReply | None = None
        self.running: RunningPath | None = None
        """Where its tree stands; None if it has none, or nobody works on it any more."""
        self._store = store
        self._on_safe = on_safe
        self._woken = asyncio.Event()
        self._is_told = is_told
        wake = None if is_told else self._woken.set
        self._subscription = self.bus.subscribe(capacity=capacity, wake=wake)
        self._published: deque[Fact] = deque()
        """Not known to be safe yet."""
        self._last_seq = -1
        self._recent: deque[Fact] = deque(maxlen=_MOST_RECENT)
        self._watchers: set[asyncio.Event] = set()
        self._is_left = False

    def __call__(self, shown: Delta | RunningPath) -> None:
        """Be shown a piece of a reply, or where the tree stands."""
        if isinstance(shown, Delta):
            self.listen(shown)
        elif shown.scope == ROOT and shown != self.running:
            self.running = shown
            self._tell_watchers()

    def listen(self, delta: Delta) -> None:
        """A piece of a reply has come."""
        self._drain()
        if delta.scope != ROOT:
            return
        if self.reply is None:
            self.reply = LiveReply(after=self._last_seq, turn=delta.turn)
        self.reply.pieces.append((delta.is_thought, delta.text))
        self._tell_watchers()

    def after(self, seq: int) -> list[Fact] | None:
        """The safe facts after one, as far as they are at hand; None if the record has to be asked."""
        recent = self._recent
        if not recent or seq + 1 < recent[0].seq:
            return None
        return list(islice(recent, seq + 1 - recent[0].seq, None))

    def reply_now(self) -> LiveReply | None:
        """The reply that streams now; None if there is none, or it has come on record."""
        self._drain()
        return self.reply

    def watch(self, watcher: asyncio.Event) -> None:
        """Set ``watcher`` whenever there is something new."""
        self._watchers.add(watcher)

    def unwatch(self, watcher: asyncio.Event) -> None:
        self._watchers.discard(watcher)

    def leave(self) -> None:
        """Nobody works on the run any more."""
        self._is_left = True
        self.running = None
        self._woken.set()

    def saved(self, seq: int) -> None:
        """The store has the facts up to this one."""
        self._drain()
        self._show(seq + 1)

    async def keep_up(self) -> None:
        """Find out which facts are safe, until the run is left and all are."""
        look_s, waited_s = _FIRST_LOOK_S, 0.0
        while True:
            self._woken.clear()
            self._drain()
            if not self._is_left and (self._is_told or not self._published):
                await self._woken.wait()
            elif self._published and await self._release():
                look_s, waited_s = _FIRST_LOOK_S, 0.0
            elif not self._published or (self._is_left and waited_s > _LAST_LOOKS_S):
                break
            else:
                await asyncio.sleep(look_s)
                waited_s += look_s
                look_s = min(look_s * 2, _LONGEST_LOOK_S)
        self._subscription.close()
        self._tell_watchers()

    async def _release(self) -> bool:
        """Show the facts that the store has; whether there were some."""
        stored = 0
        with suppress(EndstopError):  # not there yet, or the store fails: then the run tells
            stored = (await self._store.run(self.run_id)).facts
        return self._show(stored)

    def _show(self, stored: int) -> bool:
        """Show the first so many facts, as far as they have come; whether there were some."""
        released = False
        while self._published and self._published[0].seq < stored:
            fact = self._published.popleft()
            if self._recent and fact.seq != self._recent[-1].seq + 1:
                self._recent.clear()  # the queue was too short: the record has them
            self._recent.append(fact)
            self._on_safe(fact)
            released = True
        if released:
            self._tell_watchers()
        return released

    def _drain(self) -> None:
        """Take what has come over the bus. A reply that comes on record now is no longer live."""
        for fact in self._subscription.take():
            self._published.append(fact)
            self._last_seq = fact.seq
            if isinstance(fact.payload, Thought | AssistantSaid) and fact.payload.scope == ROOT:
                self.reply = None

    def _tell_watchers(self) -> None:
        for watcher in self._watchers:
            watcher.set()
