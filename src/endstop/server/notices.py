"""What a user is notified of: a review that waits, a question of an agent, a run that has ended.

Read from the records, so that it does not matter which process works on a run. Two runs may come on record
in another order than they happened, so each look goes back a little, and nothing is told twice.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from endstop.errors import InvalidValueError, NewerFactError
from endstop.events.facts import Fact, ReviewRequested, UserAwaited
from endstop.kernel.observation import RunEnded
from endstop.ports import Store
from endstop.server.hub import NOTICED_TYPES, Hub, slept

_LOOK_BACK_S = 10.0
_LOOK_EVERY_S = 1.0
_MOST = 5_000
_ID = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)/(\d{1,12})/(.{1,500})", re.DOTALL | re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class NoticePlace:
    """Where a notification stands among the others of its user."""

    time: float
    run_id: str = ""
    seq: int = -1

    def __str__(self) -> str:
        return f"{self.time!r}/{self.seq}/{self.run_id}"

    @classmethod
    def read(cls, text: str) -> NoticePlace:
        found = _ID.fullmatch(text)
        if found is None:
            raise InvalidValueError(
                "Last-Event-ID", text, allowed="an id of this stream", to_do="Send none, to begin from now on"
            )
        return cls(time=float(found[1]), seq=int(found[2]), run_id=found[3])


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One notification."""

    place: NoticePlace
    data: dict[str, object]

    @classmethod
    def of(cls, fact: Fact) -> Notice:
        data: dict[str, object] = {"type": fact.type, "run_id": fact.run_id, "time": fact.time}
        match fact.payload:
            case ReviewRequested(review=review):
                data |= {"review_id": review.id, "why": review.why}
            case UserAwaited(question=question):
                data |= {"question": question}
            case RunEnded(outcome=outcome):
                data |= {"outcome": type(outcome).__name__.lower(), "ending": str(outcome)}
            case _:  # pragma: no cover - there are no others
                raise AssertionError(f"nobody is notified of {fact.type}")
        return cls(place=NoticePlace(time=fact.time, run_id=fact.run_id, seq=fact.seq), data=data)

    def to_sse(self) -> bytes:
        return f"id: {self.place}\ndata: {json.dumps(self.data, separators=(',', ':'))}\n\n".encode()


async def follow_notices(
    hub: Hub, store: Store, user: str, after: NoticePlace
) -> AsyncGenerator[Notice | None]:
    """What a user is to know that comes after a place. None stands for a sign of life."""
    told: dict[NoticePlace, None] = {}
    newest = after.time
    time_s = asyncio.get_running_loop().time
    last_s = time_s()
    with hub.sleeper(for_notices=True) as woken:
        while not hub.is_closing:
            woken.clear()
            since = newest - _LOOK_BACK_S
            for fact in await _noticed(store, user, since):
                notice = Notice.of(fact)
                if notice.place <= after or notice.place in told:
                    continue
                told[notice.place] = None
                newest = max(newest, notice.place.time)
                yield notice
                last_s = time_s()
            told = {place: None for place in told if place.time >= newest - _LOOK_BACK_S}
            if time_s() - last_s >= hub.heartbeat_s:
                yield None
                last_s = time_s()
            await slept(woken, min(_LOOK_EVERY_S, hub.heartbeat_s))


async def _noticed(store: Store, user: str, since: float) -> list[Fact]:
    """The facts of a user's runs that make notifications; none while a newer worker's are among them."""
    try:
        return await store.notices(user, types=NOTICED_TYPES, since=since, most=_MOST)
    except NewerFactError:
        return []
