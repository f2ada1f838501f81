"""The live streams: runs on one side, any number of clients on the other, the store between them (H3, I1).

A client has nothing but a cursor. It reads what is at hand of a run that is under way here; if it has fallen
behind, or the run lives in another process or in none, it reads the record. So a slow client slows nobody,
and one that is gone has cost nothing.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from endstop.errors import (
    EndstopError,
    InvalidValueError,
    NewerFactError,
    RecordError,
    StoreError,
    UnknownFactError,
)
from endstop.events.chunks import ChunkType
from endstop.events.facts import Fact
from endstop.loop.agent import Agent
from endstop.ports import Store
from endstop.runner import Runner
from endstop.server.live import LiveRun
from endstop.server.measuring import Measures
from endstop.server.stream import Cursor, StreamEvent, Telling, looks_back_to
from endstop.store.patience import be_patient

if TYPE_CHECKING:  # the driver of PostgreSQL comes with it
    from endstop.server.remote import RemoteRun, RemoteRuns

HEARTBEAT_S = 15.0
"""A stream that is silent for so long says that it is alive."""

POLL_S = 0.25
"""How often the record of a run is looked at that lives in another process."""

REMOTE_POLL_S = 2.0
"""The same where workers tell of new facts, which may get lost."""

RECOVER_S = 30.0
"""How often a server looks for runs whose process has died, be it another server on the same database."""

TOO_OLD_S = 60.0
"""A client whose run has facts that this server is too old for is kept so long before it comes back."""

NOTICED_TYPES = ("review.requested", "user.awaited", "run.ended")
"""The facts that a user is notified of."""

_RECOVERED_AT_ONCE = 8
"""Whole records are read for it: so many at once are enough to be quick, and leave room for others."""

_PAGE = 500
_FEW = 16
_LOOK_BACK = 64


def new_run_id() -> str:
    return f"run_{os.urandom(6).hex()}"


class Hub:
    """One per server."""

    def __init__(
        self,
        store: Store,
        runner: Runner,
        *,
        measures: Measures | None = None,
        poll_s: float = POLL_S,
        heartbeat_s: float = HEARTBEAT_S,
        recover_s: float = RECOVER_S,
        remote: RemoteRuns | None = None,
    ) -> None:
        """``remote``: runs live in workers, and are heard of by this."""
        self.poll_s = poll_s
        self._remote = remote
        self.heartbeat_s = heartbeat_s
        self.recover_s = recover_s
        self.is_closing = False
        self.measures = Measures() if measures is None else measures
        self.measures.live_runs = lambda: len(self._live)
        self._store = store
        self._runner = runner
        self._live: dict[str, LiveRun] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._sleepers: set[asyncio.Event] = set()
        self._notice_watchers: set[asyncio.Event] = set()
        self._given_up: set[str] = set()
        """Runs left open that cannot be gone on with here: no use reading their records again and again."""

    # ── runs ──────────────────────────────────────────────────────────────────────────────────────────────

    async def start(self, agent: Agent, question: str, *, run_id: str | None = None, **options: Any) -> str:
        """Start a run in the background, with its streams; its id. It outlives every connection."""
        run_id = run_id or new_run_id()
        return await self._opened(
            run_id, lambda live: self._runner.start(agent, question, **live, run_id=run_id, **options)
        )

    async def resume(self, run_id: str, **options: Any) -> str:
        """Go on with a run in the background, with its streams."""
        return await self._opened(
            run_id, lambda live: self._runner.resume_in_background(run_id, **live, **options)
        )

    async def recover(self) -> list[str]:
        """Go on with every run that was left open and whose agent can be made anew; their ids."""
        left_open = {stored.run_id for stored in await self._runner.left_open()}
        self._given_up &= left_open
        resumed: list[str] = []
        at_once = asyncio.Semaphore(_RECOVERED_AT_ONCE)

        async def go_on(run_id: str) -> None:
            async with at_once:
                try:
                    resumed.append(await self.resume(run_id))
                except StoreError:
                    return  # somebody else has taken it, or the database fails: the next look will tell
                except EndstopError:
                    self._given_up.add(run_id)

        async with asyncio.TaskGroup() as group:
            for run_id in left_open - self._given_up:
                group.create_task(go_on(run_id))
        return resumed

    def listen(self) -> None:
        """From now on, hear of the runs that live in workers, if they do."""
        if self._remote is not None:
            self._remote.start()

    def keep_recovering(self) -> None:
        """From now on, go on with runs left open: those there are, and those of servers that die."""
        self._spawn(self._keep_recovering())

    async def _keep_recovering(self) -> None:
        be_patient()
        while not self.is_closing:
            with suppress(StoreError):  # there is a next time
                await self.recover()
            await asyncio.sleep(self.recover_s)

    async def _opened(self, run_id: str, begin: Callable[[dict[str, Any]], Awaitable[str]]) -> str:
        be_patient()
        if not self._runner.is_inline:
            return await begin({})
        live = LiveRun(run_id, self._store, on_safe=self._seen, is_told=True)
        await begin({"bus": live.bus, "listener": live, "on_saved": live.saved})
        self._live[run_id] = live
        self._spawn(live.keep_up())
        self._spawn(self._attend(live))
        return run_id

    async def _attend(self, live: LiveRun) -> None:
        """Stay with a run until this process works on it no longer, and all it recorded is safe."""
        with suppress(Exception):  # how it ended is on record
            await self._runner.wait(live.run_id)
        live.leave()
        if self._live.get(live.run_id) is live:
            del self._live[live.run_id]

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # ── streams ───────────────────────────────────────────────────────────────────────────────────────────

    async def telling(self, run_id: str, cursor: Cursor) -> Telling:
        """What a client is to be told that has come so far. Refuses an id that this run cannot have given."""
        stored = await self._store.run(run_id)
        if cursor.seq >= stored.facts:
            raise InvalidValueError(
                "Last-Event-ID",
                str(cursor),
                allowed=f"an id of this run, which has {stored.facts} facts",
                to_do="Send none, to begin anew",
            )
        return Telling(cursor, await self._before(run_id, cursor.seq))

    async def follow(self, run_id: str, telling: Telling) -> AsyncGenerator[StreamEvent | None]:
        """Everything from there on, up to ``done``. None stands for a sign of life."""
        with self.sleeper() as woken:
            time_s = asyncio.get_running_loop().time
            last_s = time_s()
            while not self.is_closing:
                live = self._live.get(run_id) or (None if self._remote is None else self._remote.of(run_id))
                woken.clear()
                if live is not None:
                    live.watch(woken)
                try:
                    try:
                        facts = await self._facts(run_id, telling.seq, live)
                    except (UnknownFactError, NewerFactError) as error:
                        yield _unreadable(error)
                        async for sign in self._signs(woken, TOO_OLD_S):
                            yield sign
                        return
                    for event in self._told(telling, facts, live):
                        yield event
                        last_s = time_s()
                    if telling.is_over:
                        return
                    if facts:
                        continue
                    left_s = last_s + self.heartbeat_s - time_s()
                    if left_s <= 0:
                        yield None
                        last_s = time_s()
                        continue
                    await slept(woken, min(left_s, self._look_s(live)))
                    if self._remote is not None and not woken.is_set():
                        is_there = await self._remote.has_worker(run_id)
                        at = time.time() - (0.0 if is_there else time_s() - last_s)
                        for event in telling.see_worker(is_there=is_there, at=at):
                            yield event
                finally:
                    if live is not None:
                        live.unwatch(woken)

    async def _signs(self, woken: asyncio.Event, seconds: float) -> AsyncGenerator[None]:
        """Nothing but signs of life, for so long, or until the server is to end."""
        time_s = asyncio.get_running_loop().time
        until_s = time_s() + seconds
        while not self.is_closing and (left_s := until_s - time_s()) > 0:
            woken.clear()
            await slept(woken, min(left_s, self.heartbeat_s))
            yield None

    def _look_s(self, live: LiveRun | RemoteRun | None) -> float:
        """How long a stream may sleep that is told of what is new, is told of it most times, or is not."""
        if live is None:
            return self.poll_s
        return self.heartbeat_s if isinstance(live, LiveRun) else max(self.poll_s, REMOTE_POLL_S)

    def _told(
        self, telling: Telling, facts: list[Fact], live: LiveRun | RemoteRun | None
    ) -> Iterator[StreamEvent]:
        for fact in facts:
            yield from telling.tell(fact)
        if facts or telling.is_over:
            return
        if not isinstance(live, LiveRun):
            yield from telling.caught_up()
        if live is None or telling.is_over:
            return
        reply = live.reply_now()
        if reply is not None and (isinstance(live, LiveRun) or reply.after == telling.seq):
            # A worker may have died in the middle of it: then facts of another follow, and it is void.
            heard = telling.hear(reply)
            if heard:
                yield from telling.see_worker(is_there=True, at=time.time())
            yield from heard
        if live.running is not None:
            yield from telling.see(live.running)

    async def _facts(self, run_id: str, seq: int, live: LiveRun | RemoteRun | None) -> list[Fact]:
        at_hand = None if live is None else live.after(seq)
        if at_hand is not None:
            return at_hand
        for most in (_PAGE, _FEW):
            with suppress(UnknownFactError, NewerFactError):  # a newer worker wrote it: up to there, then
                return await self._store.record(run_id, after=seq, most=most)
        return await self._store.record(run_id, after=seq, most=1)

    async def _before(self, run_id: str, seq: int) -> list[Fact]:
        """The facts up to one, from the turn on in which it is."""
        if seq < 0:
            return []
        most = min(_LOOK_BACK, seq + 1)  # and none that comes after it: a newer worker may have written it
        near = await self._store.record(run_id, after=seq - most, most=most)
        if not near or any(looks_back_to(fact) for fact in near):
            return near
        return await self._store.record(run_id, most=seq + 1)

    # ── notifications, and the end ────────────────────────────────────────────────────────────────────────

    @contextmanager
    def sleeper(self, *, for_notices: bool = False) -> Generator[asyncio.Event]:
        """Something that a stream sleeps on: set when the server is to end, or there is a notification."""
        woken = asyncio.Event()
        self._sleepers.add(woken)
        if for_notices:
            self._notice_watchers.add(woken)
        self.measures.open_streams += 1
        try:
            yield woken
        finally:
            self.measures.open_streams -= 1
            self._sleepers.discard(woken)
            self._notice_watchers.discard(woken)

    def _seen(self, fact: Fact) -> None:
        """A fact of a run that is under way here is safe."""
        self.measures.count(fact)
        if fact.type in NOTICED_TYPES:
            for watcher in self._notice_watchers:
                watcher.set()

    def close(self) -> None:
        """End every stream, so that the server can end. Clients come back with their last id."""
        self.is_closing = True
        for woken in self._sleepers:
            woken.set()

    async def stop(self, seconds: float) -> None:
        """Let the turns under way finish, within so many seconds; then end every stream."""
        await self._runner.shutdown(seconds=seconds)
        self.close()

    async def aclose(self) -> None:
        """End every stream, and whatever still attends a run."""
        self.close()
        if self._remote is not None:
            await self._remote.stop()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def slept(woken: asyncio.Event, seconds: float) -> None:
    """Sleep until woken, but no longer than that."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await woken.wait()


def _unreadable(error: RecordError) -> StreamEvent:
    """The last thing that a client is told whose run has facts that this server is too old for. It has no id:
    whoever comes back, to a newer server, goes on from there."""
    return StreamEvent(id="", type=ChunkType.ERROR.value, data={"code": error.code, "message": str(error)})
