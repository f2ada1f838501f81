"""A store that forgets everything when the process ends: for tests, examples and benchmarks."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import count
from math import isfinite
from typing import assert_never, cast

from endstop.errors import (
    FactOrderError,
    InvalidValueError,
    RecordTakenError,
    StoreError,
    UnknownConversationError,
    UnknownRunError,
)
from endstop.events.facts import Fact, RunStarted
from endstop.events.index import (
    GrantEntered,
    IndexEntry,
    ReviewClosed,
    ReviewOpened,
    RunIndex,
    index,
    require_one_append,
)
from endstop.kernel.limits import whole
from endstop.kernel.review import RunPhase
from endstop.ports import CancelAsked, Conversation, StoredGrant, StoredReview, StoredRun
from endstop.testing.memory_access import AccessMemory, MemoryAccess

_MOST_LISTED = 100_000
_MOST_TOKENS = 2**63 - 1
"""A list shows no more, because a database cannot. The record has it all."""
_INDEX_FIELDS = tuple(each.name for each in fields(RunIndex))


@dataclass(slots=True, kw_only=True)
class _Kept:
    """One run: its facts, and the index of them as far as somebody has asked for it."""

    facts: list[Fact]
    conversation_id: str | None = None
    owner: str | None = None
    beat_at: float | None = None
    known: RunIndex | None = None
    reviews: dict[str, StoredReview] = field(default_factory=dict[str, StoredReview])
    grants: list[StoredGrant] = field(default_factory=list[StoredGrant])


class _Memory:
    """What stores on the same memory share."""

    def __init__(self) -> None:
        self.access = AccessMemory()
        self.runs: dict[str, _Kept] = {}
        self.cancels: dict[str, CancelAsked] = {}
        self.settings: dict[str, str] = {}
        self.conversations: dict[str, Conversation] = {}
        self.ids = count(1)


class MemoryStore(MemoryAccess):
    """The ``Store`` port in memory, with the same fencing and the same lists as the databases.

    Appending only keeps the facts; the index is worked out when it is asked for.
    """

    def __init__(self) -> None:
        self._all = _Memory()
        self._is_closed = False

    def another(self) -> MemoryStore:
        """A further store on the same memory, as another process would open one on the same database."""
        store = MemoryStore()
        store._all = self._all
        return store

    @property
    def _memory(self) -> _Memory:
        if self._is_closed:
            raise StoreError(
                "The store is closed",
                to_do="Open it again: what is in memory with store.another(), a database with open_store",
            )
        return self._all

    @property
    def _access(self) -> AccessMemory:
        return self._memory.access

    async def append(
        self, facts: Sequence[Fact], *, owner: str | None = None, conversation_id: str | None = None
    ) -> None:
        if not facts:
            return
        require_one_append(facts)
        for fact in facts:
            if not isfinite(fact.time):
                raise InvalidValueError(
                    "fact", fact, allowed="finite numbers only", to_do="Give it a time that is one"
                )
        first = facts[0]
        kept = self._memory.runs.get(first.run_id)
        if first.seq != (0 if kept is None else len(kept.facts)):
            raise _taken(first, 0 if kept is None else len(kept.facts))
        if kept is None:
            kept = self._begun(first, conversation_id)
        kept.facts.extend(facts)
        if owner is not None:
            kept.owner, kept.beat_at = owner, facts[-1].time

    def _begun(self, first: Fact, conversation_id: str | None) -> _Kept:
        if not isinstance(first.payload, RunStarted):
            raise FactOrderError(
                f"The record of {first.run_id!r} begins with {first.type}",
                allowed="run.started as the first fact",
                to_do="Append the facts of a run from the first one on",
            )
        if conversation_id is not None:
            told = self._conversation(conversation_id)
            self._memory.conversations[conversation_id] = replace(told, run_ids=(*told.run_ids, first.run_id))
        kept = _Kept(facts=[], conversation_id=conversation_id)
        self._memory.runs[first.run_id] = kept
        return kept

    async def record(self, run_id: str, *, after: int = -1, most: int | None = None) -> list[Fact]:
        start = max(after + 1, 0)
        end = None if most is None else start + whole("most", most, smallest=0, largest=2**62)
        return self._kept(run_id).facts[start:end]

    async def run(self, run_id: str) -> StoredRun:
        return _stored(self._indexed(run_id))

    async def runs(
        self,
        *,
        user: str | None = None,
        project: str | None = None,
        phases: Iterable[RunPhase] = (),
        agent: str | None = None,
        text: str | None = None,
        ending: str | None = None,
        most: int = 50,
        before: float | None = None,
        before_run: str | None = None,
    ) -> list[StoredRun]:
        whole("most", most, smallest=0, largest=_MOST_LISTED)
        wanted = {RunPhase(phase) for phase in phases}
        found = [
            run
            for run in (_stored(self._indexed(run_id)) for run_id in self._memory.runs)
            if (user is None or run.user == user)
            and (project is None or run.project == project)
            and (not wanted or run.phase in wanted)
            and (agent is None or run.agent == agent)
            and (text is None or text.lower() in run.question.lower())
            and (ending is None or (run.ending or "").startswith(ending))
            and (before is None or (run.started_at, run.run_id) < (before, before_run or ""))
        ]
        found.sort(key=lambda run: (run.started_at, run.run_id), reverse=True)
        return found[:most]

    async def reviews(
        self, *, run_id: str | None = None, user: str | None = None, is_open: bool | None = None
    ) -> list[StoredReview]:
        known = self._memory.runs
        found = [
            review
            for each in (known if run_id is None else {run_id} & known.keys())
            for review in self._indexed(each).reviews.values()
            if (is_open is None or is_open == (review.decision is None))
            and (user is None or _stored(self._indexed(each)).user == user)
        ]
        found.sort(key=lambda each: (each.requested_at, each.run_id, each.review.id), reverse=True)
        return found

    async def notices(self, user: str, *, types: Iterable[str], since: float, most: int = 500) -> list[Fact]:
        whole("most", most, smallest=0, largest=_MOST_LISTED)
        wanted = frozenset(types)
        found = [
            fact
            for run_id, kept in self._memory.runs.items()
            if _stored(self._indexed(run_id)).user == user
            for fact in kept.facts
            if fact.type in wanted and fact.time >= since
        ]
        found.sort(key=lambda fact: (fact.time, fact.run_id, fact.seq))
        return found[:most]

    async def grants(self, run_id: str) -> list[StoredGrant]:
        return list(self._indexed(run_id).grants)

    async def beat(self, owner: str, run_ids: Iterable[str], *, at: float) -> None:
        for run_id in run_ids:
            kept = self._memory.runs.get(run_id)
            if kept is not None and kept.owner in (None, owner):  # one that woke up late gets no run back
                kept.owner, kept.beat_at = owner, at

    async def ask_cancel(self, asked: CancelAsked) -> None:
        self._kept(asked.run_id)
        before = self._memory.cancels.get(asked.run_id)
        if before is None or before.after_turn or not asked.after_turn:  # at once stands above after the turn
            self._memory.cancels[asked.run_id] = asked

    async def cancels_asked(self, run_ids: Iterable[str]) -> list[CancelAsked]:
        cancels = self._memory.cancels
        return [cancels[run_id] for run_id in dict.fromkeys(run_ids) if run_id in cancels]

    async def settings(self, user: str) -> Mapping[str, object]:
        return cast("dict[str, object]", json.loads(self._memory.settings.get(user, "{}")))

    async def save_settings(self, user: str, values: Mapping[str, object]) -> None:
        try:
            self._memory.settings[user] = json.dumps(dict(values), allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise InvalidValueError(
                "settings", values, allowed="text, finite numbers, true, false, null, lists and mappings"
            ) from None

    async def open_conversation(
        self, *, user: str | None = None, project: str | None = None, title: str = ""
    ) -> Conversation:
        return self._opened(
            Conversation(
                id=f"conversation-{next(self._memory.ids)}",
                user=user,
                project=project,
                title=title,
                created_at=time.time(),
            )
        )

    async def branch_conversation(self, conversation_id: str, *, after_run: str) -> Conversation:
        origin = self._conversation(conversation_id)
        if after_run not in origin.run_ids:
            raise UnknownRunError(
                f"There is no run {after_run!r} in the conversation {conversation_id!r}",
                allowed=", ".join(origin.run_ids) or "none: it has no runs yet",
                to_do="Branch after one of its runs",
            )
        shared = origin.run_ids[: origin.run_ids.index(after_run) + 1]
        return self._opened(
            replace(
                origin,
                id=f"conversation-{next(self._memory.ids)}",
                created_at=time.time(),
                run_ids=shared,
                branch_of=origin.id,
            )
        )

    async def conversation(self, conversation_id: str) -> Conversation:
        return self._conversation(conversation_id)

    async def conversations(self, *, user: str | None = None, most: int = 50) -> list[Conversation]:
        whole("most", most, smallest=0, largest=_MOST_LISTED)
        newest_first = reversed(self._memory.conversations.values())
        return [each for each in newest_first if user is None or each.user == user][:most]

    async def delete_conversation(self, conversation_id: str) -> None:
        self._conversation(conversation_id)
        for kept in self._memory.runs.values():
            if kept.conversation_id == conversation_id:
                kept.conversation_id = None
        del self._memory.conversations[conversation_id]
        for other in tuple(self._memory.conversations.values()):
            if other.branch_of == conversation_id:
                self._memory.conversations[other.id] = replace(other, branch_of=None)

    async def close(self) -> None:
        """Refuse everything from now on. What it holds can be read with ``another()``. Twice does no harm."""
        self._is_closed = True

    def _opened(self, conversation: Conversation) -> Conversation:
        self._memory.conversations[conversation.id] = conversation
        return conversation

    def _kept(self, run_id: str) -> _Kept:
        kept = self._memory.runs.get(run_id)
        if kept is None:
            raise UnknownRunError(
                f"There is no run {run_id!r}", to_do="List the runs there are with `endstop runs`"
            )
        return kept

    def _conversation(self, conversation_id: str) -> Conversation:
        told = self._memory.conversations.get(conversation_id)
        if told is None:
            raise UnknownConversationError(
                f"There is no conversation {conversation_id!r}",
                to_do="Open one first, or list those there are",
            )
        return told

    def _indexed(self, run_id: str) -> _Kept:
        """The run with its index brought up to its last fact."""
        kept = self._kept(run_id)
        seen = 0 if kept.known is None else kept.known.facts
        if seen < len(kept.facts):
            change = index(kept.known, kept.facts[seen:])
            kept.known = change.run
            for entry in change.entries:
                _enter(kept, run_id, entry)
        return kept


def _stored(kept: _Kept) -> StoredRun:
    known = {name: getattr(kept.known, name) for name in _INDEX_FIELDS}
    known["tokens"] = min(known["tokens"], _MOST_TOKENS)
    return StoredRun(
        **known,
        conversation_id=kept.conversation_id,
        owner=kept.owner,
        beat_at=kept.beat_at,
    )


def _enter(kept: _Kept, run_id: str, entry: IndexEntry) -> None:
    match entry:
        case ReviewOpened(review=review, at=at):
            kept.reviews[review.id] = StoredReview(run_id=run_id, review=review, requested_at=at)
        case ReviewClosed(review_id=review_id, decision=decision, by=by, at=at):
            if (asked := kept.reviews.get(review_id)) is not None:
                kept.reviews[review_id] = replace(asked, decision=decision, by=by, decided_at=at)
        case GrantEntered(seq=seq, by=by, why=why, amounts=amounts, at=at):
            kept.grants.append(
                StoredGrant(run_id=run_id, seq=seq, by=by, why=why, amounts=amounts, granted_at=at)
            )
        case _:
            assert_never(entry)


def _taken(first: Fact, expected: int) -> RecordTakenError:
    return RecordTakenError(
        f"Fact {first.seq} of run {first.run_id!r} cannot be added: the record goes on with {expected}",
        allowed=f"fact {expected} next",
        to_do="Another has written to this record: stop working on the run",
    )
