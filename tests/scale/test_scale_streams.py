"""Streams of runs that live in workers: no word is lost or repeated, whoever dies in the middle of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import psycopg
import pytest
from scale_cast import Play
from scale_clients import Follower, asked, server
from scale_lines import line_to, restarted
from scale_stage import Stage, at_length, said, stage, until

from endstop.store.address import parse_address
from postgres import PostgresServer

pytestmark = pytest.mark.timeout(90)

TALE = Play(steps=1, words=80, word_s=0.02, thoughts=10)
"""About two seconds of words."""


async def require_whole(on: Stage, *followers: Follower) -> None:
    for follower in followers:
        facts = await on.store.record(follower.run_id)
        assert follower.text == said(facts)
        assert follower.text.endswith(TALE.answer)
        assert follower.types.count("done") == 1
        assert follower.thinking.count("t0 ") == 1


@pytest.mark.thorough
@pytest.mark.guarantee("I1")
async def test_clients_of_two_servers_hear_every_word_as_it_is_said(
    postgres_url: str, tmp_path: Path
) -> None:
    async with (
        stage(postgres_url, tmp_path) as on,
        server(postgres_url, tmp_path) as one,
        server(postgres_url, tmp_path) as two,
    ):
        await on.worker()
        run_id = await asked(one, TALE)
        here, there = (Follower(run_id=run_id, servers=[each]) for each in (one, two))
        hopping = Follower(run_id=run_id, servers=[one, two])

        async def hop() -> None:
            while "done" not in hopping.types:
                await hopping.follow(pieces=5)

        await asyncio.gather(here.follow(), there.follow(), hop())
        await require_whole(on, here, there, hopping)
        assert min(here.pieces, there.pieces) > 10, "it came at once, not as it was said"
        assert hopping.connections > 2
        assert here.retracted == there.retracted == hopping.retracted == 0


@pytest.mark.guarantee("I1", "H5")
@pytest.mark.parametrize("way", ["kill", pytest.param("stop", marks=at_length)])
async def test_the_worker_dies_in_the_middle_of_an_answer_and_the_answer_goes_on(
    way: str, postgres_url: str, tmp_path: Path
) -> None:
    async with stage(postgres_url, tmp_path) as on, server(postgres_url, tmp_path) as one:
        first, spare = await on.worker_and_spare()
        run_id = await asked(one, TALE)
        follower = Follower(run_id=run_id, servers=[one])
        following = asyncio.create_task(follower.follow())
        await until(lambda: follower.pieces >= 8, "words come")
        spare.wake()
        getattr(first, way)()
        await until(lambda: follower.retracted == 1, "what was said and lost is taken back")
        if way == "stop":
            first.wake()
        await following
        await require_whole(on, follower)
        await on.require_sound([run_id])
        assert follower.connections == 1, "its stream went on all the time"


@at_length
@pytest.mark.guarantee("I1", "H5")
async def test_the_server_is_restarted_under_a_client_that_follows(postgres_url: str, tmp_path: Path) -> None:
    async with stage(postgres_url, tmp_path) as on:
        await on.worker()
        async with server(postgres_url, tmp_path) as one:
            run_id = await asked(one, TALE)
            follower = Follower(run_id=run_id, servers=[one])
            following = asyncio.create_task(follower.follow())
            await until(lambda: follower.pieces >= 8, "words come")
            port = one.port
        async with server(postgres_url, tmp_path, port=port) as again:
            follower.servers = [again]
            await following
        await require_whole(on, follower)
        assert follower.connections > 1
        assert follower.retracted == 0, "the run has never stopped"


@at_length
@pytest.mark.guarantee("I1", "H4")
async def test_the_database_is_restarted_under_a_client_that_follows(
    own_server: list[PostgresServer], tmp_path: Path
) -> None:
    url = own_server[0].url("own")
    async with stage(url, tmp_path) as on, server(url, tmp_path) as one:
        await on.worker()
        run_id = await asked(one, TALE)
        follower = Follower(run_id=run_id, servers=[one])
        following = asyncio.create_task(follower.follow())
        await until(lambda: follower.pieces >= 8, "words come")
        own_server.append(await restarted(own_server[0], down_s=0.3))
        await following
        await on.ended([run_id])
        await require_whole(on, follower)
        other = Follower(run_id=await asked(one, TALE), servers=[one])
        await other.follow()
        await require_whole(on, other)
        assert other.pieces > 10, "the server hears of words again"


@at_length
@pytest.mark.parametrize("way", ["cut", "freeze"])
async def test_a_worker_cut_off_in_the_middle_of_an_answer_tells_nothing_of_it_later(
    way: str, postgres_url: str, tmp_path: Path
) -> None:
    async with (
        stage(postgres_url, tmp_path) as on,
        line_to(postgres_url) as line,
        server(postgres_url, tmp_path) as one,
    ):
        first = await on.worker(url=line.url(postgres_url))
        spare = await on.worker()
        spare.stop()
        run_id = await asked(one, TALE)
        follower = Follower(run_id=run_id, servers=[one])
        following = asyncio.create_task(follower.follow())
        await until(lambda: follower.pieces >= 8, "words come")
        spare.wake()
        getattr(line, way)()
        await until(lambda: follower.retracted == 1, "what was said and lost is taken back")
        before = follower.pieces
        await until(lambda: follower.pieces > before + 5, "words come again")
        line.mend()
        await following
        await require_whole(on, follower)
        assert first.is_alive


@pytest.mark.thorough
async def test_garbage_on_the_channel_disturbs_nobody(postgres_url: str, tmp_path: Path) -> None:
    async with stage(postgres_url, tmp_path) as on, server(postgres_url, tmp_path) as one:
        await on.worker()
        run_id = await asked(one, TALE)
        follower = Follower(run_id=run_id, servers=[one])
        following = asyncio.create_task(follower.follow())
        await until(lambda: follower.pieces >= 5, "words come")
        piece = {"r": run_id, "f": 1e999, "a": 0, "t": 0, "x": "?", "o": 0}
        garbage = [
            "",
            "no JSON",
            "7",
            "null",
            '["a", 3, null, [], {}]',
            '[{"r": []}]',
            "[" * 7_900,
            json.dumps([piece]),
            json.dumps([{"r": run_id}]),
            json.dumps([{**piece, "f": -1}]),
            json.dumps([{**piece, "f": "x"}]),
        ]
        with psycopg.connect(parse_address(postgres_url).target, autocommit=True) as connection:
            for payload in garbage:
                connection.execute("SELECT pg_notify('endstop_live', %s)", (payload,))
        before = follower.pieces
        await following
        await require_whole(on, follower)
        assert follower.pieces > before + 10, "it was told nothing more until the end"
