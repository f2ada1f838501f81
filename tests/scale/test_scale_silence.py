"""Whoever falls silent with something locked is given up by the server; and looking costs little."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import LiteralString

import psycopg
import pytest
from scale_cast import Play, agent, maker
from scale_lines import line_to

from endstop.app import SystemClock
from endstop.errors import StoreError
from endstop.events.facts import Fact, ModelTold
from endstop.runner.scale import engine as engines
from endstop.runner.scale.dispatcher import Dispatcher
from endstop.runner.scale.engine import Engine, Handed
from endstop.store import open_store, parse_address
from endstop.store.postgres import PostgresDatabase
from endstop.store.session import Session

WRITE = "INSERT INTO endstop_facts (run_id, seq, type, time, line) VALUES (?, 1, 'none', 0, '')"

SETTINGS: LiteralString = """
SELECT current_setting('lock_timeout') AS patience,
       current_setting('idle_in_transaction_session_timeout') AS silence,
       current_setting('tcp_keepalives_idle') AS keepalive,
       current_setting('tcp_user_timeout') AS unanswered
"""


@pytest.fixture
async def engine(postgres_url: str) -> AsyncGenerator[Engine]:
    async with Engine(postgres_url) as opened:
        yield opened


@pytest.mark.guarantee("H5")
async def test_a_worker_that_falls_silent_in_the_middle_of_an_append_keeps_nobody_from_the_run(
    engine: Engine, postgres_url: str
) -> None:
    store = await open_store(postgres_url)
    dispatcher = Dispatcher(store, engine, clock=SystemClock(), agent_of=maker(None))
    play = Play()
    run_id = await dispatcher.start(agent(play), play.question)
    (first,) = await store.record(run_id)

    def begin_to_write(session: Session) -> None:
        session.begin()
        assert session.changed(WRITE, (run_id,)) == 1

    async with line_to(postgres_url) as line:
        database = PostgresDatabase(parse_address(line.url(postgres_url)), busy_timeout_s=1.0, silent_s=0.5)
        silent = await asyncio.to_thread(database.connect)
        await asyncio.to_thread(begin_to_write, silent)
        line.freeze()
        began_s = time.monotonic()
        note = ModelTold(turn=1, text="Somebody else goes on.")
        fact = Fact(run_id=run_id, seq=1, time=first.time, source="other", payload=note)
        await store.append([fact])
        assert 0.2 < time.monotonic() - began_s < 3.0, "it had to wait, and not for long"
        assert await store.record(run_id) == [first, fact]
        line.mend()
        with pytest.raises(psycopg.Error) as caught:
            await asyncio.to_thread(silent.commit)
        assert silent.is_lost_by(caught.value), "and it opens a new connection when it wakes"
        silent.close()
    await store.close()


async def test_connections_of_the_queue_are_given_up_like_those_of_the_store(engine: Engine) -> None:
    (row,) = await engine.together((SETTINGS, {}))
    assert row == {"patience": "10s", "silence": "5s", "keepalive": "5", "unanswered": "11000"}


async def test_what_an_address_says_of_connections_holds_for_the_queue(postgres_url: str) -> None:
    url = f"{postgres_url}?application_name=mine&options=-c%20lock_timeout%3D3s"
    async with Engine(url) as engine:
        (row,) = await engine.together(
            ("SELECT current_setting('application_name') AS name, current_setting('lock_timeout') AS s", {})
        )
    assert row == {"name": "mine", "s": "3s"}


async def test_an_address_that_cannot_be_read_is_told_when_the_queue_is_opened() -> None:
    engine = Engine("postgresql://ana:geheim@127.0.0.1/runs?nonsense=1")
    with pytest.raises(StoreError, match="cannot be opened") as caught:
        await engine.open()
    assert "geheim" not in str(caught.value)


async def test_runs_that_need_not_be_known_any_more_are_forgotten_part_by_part_in_a_circle(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "_LOOKED_AT_ONCE", 2)

    await announced(engine, "b", "c", "d", "e", "f")
    await engine.announce(Handed(run_id="g"))  # just now: it may begin yet
    assert await engine.lost() == []
    assert await known(engine) == ["d", "e", "f", "g"]
    await engine.announce(Handed(run_id="d"))  # again, and just now
    await announced(engine, "a")
    assert await engine.lost() == []
    assert await known(engine) == ["a", "d", "f", "g"]
    assert await engine.lost() == []
    assert await known(engine) == ["a", "d", "g"]
    for _ in range(2):  # the end is found, and then it begins anew
        assert await engine.lost() == []
    assert await known(engine) == ["d", "g"]


async def announced(engine: Engine, *names: str) -> None:
    """Announce runs that never begin, an hour ago."""
    for name in names:
        await engine.announce(Handed(run_id=name))
    long_ago: LiteralString = "UPDATE endstop_handed SET handed_at = now() - interval '1 hour'"
    await engine.together((f"{long_ago} WHERE run_id = ANY(%(names)s)", {"names": list(names)}))


async def known(engine: Engine) -> list[str]:
    rows = await engine.together(("SELECT run_id FROM endstop_handed ORDER BY run_id", {}))
    return [row["run_id"] for row in rows]


async def test_however_many_runs_wait_for_people_a_look_for_the_lost_reads_few(postgres_url: str) -> None:
    waiting, looks = 20_000, 10
    async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as connection:
        async with Engine(postgres_url) as engine:
            await connection.execute(
                """
                INSERT INTO endstop_runs (run_id, phase, agent, model, question, facts, turns, tokens,
                                          started_at, changed_at)
                SELECT 'run_' || n, CASE n WHEN 7 THEN 'RUNNING' ELSE 'AWAIT_USER' END,
                       'oracle', 'a:model', '', 1, 0, 0, 0, 0
                  FROM generate_series(1, %s::int) n
                """,
                (waiting,),
            )
            await connection.execute(
                """
                INSERT INTO endstop_handed (run_id, queue, handed_at)
                SELECT run_id, 'oracle', now() - interval '1 day' FROM endstop_runs
                """
            )
            await connection.execute("ANALYZE")
            before = await rows_read(connection)
            for _ in range(looks):
                assert [lost.run_id for lost in await engine.lost()] == ["run_7"]
        async with asyncio.timeout(10):
            while (read := await rows_read(connection) - before) == 0:  # the server counts when it has time
                await asyncio.sleep(0.05)
    assert read < looks * waiting / 10


async def rows_read(connection: psycopg.AsyncConnection) -> int:
    """How many rows of the runs handed out were read so far, by whoever has left."""
    found = await connection.execute(
        """
        SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'endstop_handed'
        """
    )
    (number,) = await found.fetchone() or (0,)
    return int(number)
