"""The bus: hands facts to whoever listens (H3).

Publishing only puts a fact into each listener's own queue; no listener's code runs there. So one that is slow
or fails harms neither the run nor the others. A queue that is full drops its oldest facts and counts them:
the record has them all, and a listener that sees ``missed`` reads on from there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from endstop.events.facts import Fact
from endstop.kernel.limits import whole

DEFAULT_CAPACITY = 1_000

Wake = Callable[[], None]
"""Called after a fact was queued, to wake a listener that sleeps: sets an event, and does nothing else."""


class Subscription:
    """One listener's queue. Take from it whenever it suits."""

    def __init__(self, bus: Bus, *, types: tuple[str, ...], capacity: int, wake: Wake | None) -> None:
        self._bus = bus
        self._types = types
        self._wake = wake
        self._queue: deque[Fact] = deque(maxlen=capacity)
        self.missed = 0
        """How many facts were dropped because the queue was full."""
        self.failure: Exception | None = None
        """What its ``wake`` raised, if it did. It is not called again."""

    def wants(self, fact_type: str) -> bool:
        """Whether this listener asked for such facts: by whole name, or by the first parts of it."""
        return not self._types or any(
            fact_type == wanted or fact_type.startswith(f"{wanted}.") for wanted in self._types
        )

    def take(self) -> tuple[Fact, ...]:
        """All facts that have arrived since the last time, oldest first. Never waits."""
        taken: list[Fact] = []
        while self._queue:
            taken.append(self._queue.popleft())
        return tuple(taken)

    def close(self) -> None:
        """Stop listening. What has arrived can still be taken."""
        self._bus.unsubscribe(self)

    def offer(self, fact: Fact) -> None:
        """Queue a fact. For the bus."""
        if len(self._queue) == self._queue.maxlen:
            self.missed += 1
        self._queue.append(fact)
        if self._wake is None:
            return
        try:
            self._wake()
        except Exception as error:  # noqa: BLE001 - a listener's fault stays the listener's
            self.failure = error
            self._wake = None


class Bus:
    """Hands each fact to every listener that wants it."""

    def __init__(self) -> None:
        self._subscriptions: tuple[Subscription, ...] = ()

    def subscribe(
        self, *types: str, capacity: int = DEFAULT_CAPACITY, wake: Wake | None = None
    ) -> Subscription:
        """Listen to these types (``"budget"`` means all that begin with it), or to everything."""
        whole("capacity", capacity, smallest=1, largest=1_000_000)
        subscription = Subscription(self, types=types, capacity=capacity, wake=wake)
        self._subscriptions = (*self._subscriptions, subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        self._subscriptions = tuple(one for one in self._subscriptions if one is not subscription)

    def publish(self, fact: Fact) -> None:
        """Hand a fact to everybody who wants it. Never waits, never raises."""
        for subscription in self._subscriptions:
            if subscription.wants(fact.type):
                subscription.offer(fact)
