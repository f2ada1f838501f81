"""PostgreSQL servers that are away, refuse, or break off in the middle: nothing is lost or doubled."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import traceback
from collections.abc import AsyncIterator

import psycopg
import pytest
from store_facts import begun, facts, turn

from endstop.errors import InvalidValueError, RecordTakenError, StoreError
from endstop.ports import Store
from endstop.store import open_store, parse_address
from endstop.store.sql_store import database_at
from postgres import PASSWORD, PostgresServer, free_port, running_server


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[Store]:
    store = await open_store(postgres_url, busy_timeout_s=0.5)
    yield store
    await store.close()


def end_all_connections(server: PostgresServer, url: str) -> None:
    name = url.rpartition("/")[2]
    server.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")


async def test_a_connection_that_was_lost_is_opened_again(
    store: Store, postgres_url: str, postgres_server: PostgresServer
) -> None:
    await store.append(begun())
    assert len(await store.record("run-1")) == 5
    for number in range(1, 4):
        end_all_connections(postgres_server, postgres_url)
        await store.append(facts("run-1", *turn(number), first=1 + 4 * number))
        assert len(await store.record("run-1")) == 5 + 4 * number
        assert (await store.run("run-1")).turns == number + 1


@pytest.mark.guarantee("H1", "H5")
@pytest.mark.timeout(60)
async def test_connections_that_break_at_any_moment_lose_and_double_nothing(
    store: Store, postgres_url: str, postgres_server: PostgresServer
) -> None:
    acknowledged = {f"run-{number}": 0 for number in range(10)}

    async def go(run_id: str) -> None:
        await store.append(begun(run_id))
        acknowledged[run_id] = 5
        for number in range(1, 40):
            await store.append(facts(run_id, *turn(number), first=1 + 4 * number))
            acknowledged[run_id] = 5 + 4 * number

    is_over = False

    async def break_it() -> None:
        while not is_over:
            await asyncio.to_thread(end_all_connections, postgres_server, postgres_url)
            await asyncio.sleep(0.01)

    breaking = asyncio.create_task(break_it())
    results = await asyncio.gather(*map(go, acknowledged), return_exceptions=True)
    is_over = True  # not cancelled: its thread would go on, and break what is looked at below
    await breaking
    for result in results:
        assert result is None or type(result) is StoreError  # broke twice in a row: said so, never "taken"
    there = {run.run_id for run in await store.runs()}
    for run_id, known in acknowledged.items():
        if run_id not in there:
            assert known == 0  # its very first append broke, and its caller was told
            continue
        seqs = [fact.seq for fact in await store.record(run_id)]
        assert seqs == list(range(len(seqs)))
        assert len(seqs) >= known
        assert (await store.run(run_id)).facts == len(seqs)


async def test_a_server_that_went_away_is_told_and_used_again_when_it_is_back() -> None:
    with running_server() as server:
        server.run("CREATE DATABASE ours")
        store = await open_store(server.url("ours"))
        await store.append(begun())
    with pytest.raises(StoreError, match="Start the server") as caught:
        await store.append(facts("run-1", *turn(1), first=5))
    assert PASSWORD not in str(caught.value)
    with pytest.raises(StoreError):
        await store.runs()
    await store.close()


async def test_a_server_that_is_not_there_is_told() -> None:
    with pytest.raises(StoreError, match=r"refused.*Start the server, or mend host and port"):
        await open_store(f"postgresql://ana:geheim@127.0.0.1:{free_port()}/runs")


@pytest.mark.parametrize(
    ("change", "advice"),
    [
        (("s3cret%20word", "wr0ng%20word"), "right user and password"),
        (("endstop:", "nobody:"), "right user and password"),
        (("/postgres", "/nowhere"), "createdb"),
    ],
)
async def test_a_server_that_refuses_is_told_without_the_password(
    postgres_server: PostgresServer, change: tuple[str, str], advice: str
) -> None:
    url = postgres_server.url("postgres").replace(*change)
    with pytest.raises(StoreError, match=advice) as caught:
        await open_store(url)
    told = "".join(traceback.format_exception(caught.value))
    for secret in (PASSWORD, "s3cret", "wr0ng"):
        assert secret not in told


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ana:pa:ss@wo@rd@127.0.0.1:1/runs",
        "postgresql://ana:pass@word/with#signs@[::1/runs",
        "postgresql://ana@127.0.0.1:port/runs?password=pa%20ss@word",
        "postgresql://ana:pass%zzword@127.0.0.1/runs",
        "postgresql://ana:password@127.0.0.1/runs?nonsense=1",
    ],
)
async def test_an_address_that_cannot_be_read_is_told_without_the_password(url: str) -> None:
    with pytest.raises((StoreError, InvalidValueError)) as caught:
        await open_store(url)
    told = "".join(traceback.format_exception(caught.value))
    for secret in ("pa:ss", "ss@wo", "wo@rd", "word/with", "pa%20ss", "zzword", ":password@", "=password"):
        assert secret not in told


async def test_a_user_who_may_make_no_tables_is_told(
    postgres_server: PostgresServer, empty_postgres_url: str
) -> None:
    postgres_server.run("DROP ROLE IF EXISTS guest")
    postgres_server.run("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    url = empty_postgres_url.replace("endstop:s3cret%20word", "guest:guest")
    with psycopg.connect(empty_postgres_url, autocommit=True) as connection:
        connection.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
    with pytest.raises(StoreError, match="right to make and use tables"):
        await open_store(url)


async def test_tables_locked_for_too_long_are_told_and_nothing_is_lost(
    store: Store, postgres_url: str
) -> None:
    await store.append(begun())
    with psycopg.connect(postgres_url) as other:
        other.execute("LOCK TABLE endstop_facts IN EXCLUSIVE MODE")
        with pytest.raises(StoreError, match=r"has it locked.*Nothing was written"):
            await store.append(facts("run-1", *turn(1), first=5))
        assert len(await store.record("run-1")) == 5
    await store.append(facts("run-1", *turn(1), first=5))


async def test_a_server_that_turns_read_only_is_told(
    store: Store, postgres_url: str, postgres_server: PostgresServer
) -> None:
    await store.append(begun())
    name = postgres_url.rpartition("/")[2]
    postgres_server.run(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    end_all_connections(postgres_server, postgres_url)
    with pytest.raises(StoreError, match="read-only: name its primary"):
        await store.append(facts("run-1", *turn(1), first=5))
    postgres_server.run(f"ALTER DATABASE {name} SET default_transaction_read_only = off")
    end_all_connections(postgres_server, postgres_url)
    await store.append(facts("run-1", *turn(1), first=5))
    assert len(await store.record("run-1")) == 9


class CutOff:
    """Stands between a store and its server, and cuts the connection off around the next commit."""

    def __init__(self, server: PostgresServer, database: str) -> None:
        self._server_port = server.port
        self._url = server.url(database)
        self._listener: asyncio.Server | None = None
        self._open: list[asyncio.StreamWriter] = []
        self.cuts_before_commit = False
        self.cuts_after_commit = False
        self.cuts = 0

    async def __aenter__(self) -> CutOff:
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._listener is not None
        self._listener.close()
        for writer in self._open:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    @property
    def url(self) -> str:
        assert self._listener is not None
        port = self._listener.sockets[0].getsockname()[1]
        return (
            self._url.replace(f":{self._server_port}/", f":{port}/") + "?sslmode=disable&gssencmode=disable"
        )

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        server, to_server = await asyncio.open_connection("127.0.0.1", self._server_port)
        self._open += [to_client, to_server]

        async def pass_on(
            source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, is_answer: bool
        ) -> None:
            with contextlib.suppress(ConnectionError):
                while data := await source.read(65_536):
                    is_due = self.cuts_after_commit if is_answer else self.cuts_before_commit
                    if is_due and b"COMMIT" in data:
                        self.cuts += 1
                        self.cuts_before_commit = self.cuts_after_commit = False
                        break
                    sink.write(data)
            to_client.close()
            to_server.close()

        await asyncio.gather(
            pass_on(client, to_server, is_answer=False), pass_on(server, to_client, is_answer=True)
        )


@pytest.mark.guarantee("H1", "H5")
@pytest.mark.parametrize("is_committed", [False, True])
async def test_a_connection_that_breaks_around_a_commit_loses_and_doubles_nothing(
    postgres_url: str, postgres_server: PostgresServer, is_committed: bool
) -> None:
    """Nobody knows then whether it was committed: the store looks, and its caller need not care."""
    async with CutOff(postgres_server, postgres_url.rpartition("/")[2]) as between:
        store = await open_store(between.url)
        await store.append(begun())
        opened = await store.open_conversation(title="before")
        for cut in range(1, 4):
            between.cuts_after_commit, between.cuts_before_commit = is_committed, not is_committed
            await store.append(facts("run-1", *turn(cut), first=1 + 4 * cut))
            assert between.cuts == cut
        between.cuts_after_commit, between.cuts_before_commit = is_committed, not is_committed
        await asyncio.gather(
            store.append(facts("run-1", *turn(4), first=17)),
            store.append(begun("run-2"), conversation_id=opened.id),
            store.open_conversation(title="after"),
        )
        assert between.cuts == 4
        between.cuts_after_commit, between.cuts_before_commit = is_committed, not is_committed
        branch = await store.branch_conversation(opened.id, after_run="run-2")
        assert [fact.seq for fact in await store.record("run-1")] == list(range(21))
        assert (await store.run("run-1")).turns == 5
        assert (await store.run("run-2")).conversation_id == opened.id
        assert (await store.conversation(opened.id)).run_ids == ("run-2",)
        assert (await store.conversation(branch.id)).run_ids == ("run-2",)
        assert len(await store.conversations()) == 3
        await store.close()


async def test_facts_of_another_that_look_alike_are_not_taken_for_ours(
    store: Store, postgres_url: str, postgres_server: PostgresServer
) -> None:
    await store.append(begun())
    other = await open_store(postgres_url)
    await other.append(facts("run-1", *turn(1), first=5, source="other"))
    await other.close()
    end_all_connections(postgres_server, postgres_url)
    with pytest.raises(RecordTakenError):
        await store.append(facts("run-1", *turn(1), first=5))


def test_a_driver_that_is_not_installed_is_told() -> None:
    code = (
        "import sys, asyncio; sys.modules['psycopg'] = None\n"
        "from endstop.store import open_store, database_state\n"
        "print(database_state('postgresql://localhost/runs').to_do)\n"
        "asyncio.run(open_store('postgresql://localhost/runs'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=30
    )
    assert "pip install 'endstop[postgres]'" in done.stdout
    assert "StoreError: The driver for PostgreSQL is not installed" in done.stderr


def test_taking_back_on_a_connection_that_is_gone_is_harmless(postgres_url: str) -> None:
    session = database_at(parse_address(postgres_url), busy_timeout_s=1.0).connect()
    session.begin()
    session.close()
    session.rollback()
    session.close()
