"""Hearing when facts are safe: from whoever hands them to the store, so that nobody needs to ask for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from endstop.events.facts import Fact

OnSaved: TypeAlias = Callable[[int], None]
"""Told that all facts up to this number are safe in the store. Must not wait."""


class Appends(Protocol):
    """Whatever takes the facts of a run."""

    def append(
        self, facts: Sequence[Fact], *, owner: str | None = None, conversation_id: str | None = None
    ) -> Awaitable[None]: ...


class Told:
    """A store that tells what it has saved."""

    def __init__(self, store: Appends, on_saved: OnSaved) -> None:
        self._store = store
        self._on_saved = on_saved

    def append(
        self, facts: Sequence[Fact], *, owner: str | None = None, conversation_id: str | None = None
    ) -> asyncio.Future[None]:
        handed = asyncio.ensure_future(
            self._store.append(facts, owner=owner, conversation_id=conversation_id)
        )
        last = facts[-1].seq
        handed.add_done_callback(lambda done: self._looked_at(done, last))
        return handed

    def _looked_at(self, done: asyncio.Future[None], last: int) -> None:
        """If it failed, whoever handed it over hears of it; there is nothing to tell here."""
        if not done.cancelled() and done.exception() is None:
            self._on_saved(last)
