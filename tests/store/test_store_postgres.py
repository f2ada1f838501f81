"""PostgreSQL servers that are away, refuse, or break off in the middle: nothing is lost or doubled."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import AsyncIterator

import psycopg
import pytest
from store_facts import begun, facts, turn

from endstop.errors import InvalidValueError, RecordTakenError, StoreError
from endstop.ports import Store
from endstop.store import open_store, parse_address
from endstop.store.postgres import PostgresDatabase, PostgresSession
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


def connected(url: str, *, silent_s: float = 5.0) -> PostgresSession:
    return PostgresDatabase(parse_address(url), busy_timeout_s=1.5, silent_s=silent_s).connect()


def noticing(session: PostgresSession) -> tuple[int, ...]:
    """What this end of a connection does to notice that the other is gone."""
    options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)
    with socket.socket(fileno=session.connection.fileno()) as line:
        found = tuple(line.getsockopt(socket.IPPROTO_TCP, option) for option in options)
        line.detach()  # it is the driver's
    return found


def setting(session: PostgresSession, name: str) -> str:
    return session.rows("SELECT current_setting(?)", (name,))[0][0]


@pytest.mark.guarantee("H5")
def test_both_ends_notice_within_half_a_minute_that_the_other_is_gone(postgres_url: str) -> None:
    session = connected(postgres_url, silent_s=2.5)
    assert noticing(session) == (10, 5, 3, 25_000)
    names = ("idle", "interval", "count")
    assert [setting(session, f"tcp_keepalives_{name}") for name in names] == ["5", "2", "3"]
    assert setting(session, "tcp_user_timeout") == "11000"
    assert setting(session, "idle_in_transaction_session_timeout") == "2500ms"
    assert setting(session, "lock_timeout") == "1500ms"
    session.close()


def test_what_an_address_says_of_connections_holds(postgres_url: str) -> None:
    options = "-c%20idle_in_transaction_session_timeout%3D7s%20--lock-timeout%3D8s%20-cdeadlock_timeout%3D9s"
    session = connected(f"{postgres_url}?keepalives_idle=77&application_name=mine&options={options}")
    assert noticing(session) == (77, 5, 3, 25_000)
    assert setting(session, "application_name") == "mine"
    assert setting(session, "idle_in_transaction_session_timeout") == "7s"
    assert setting(session, "lock_timeout") == "8s"
    assert setting(session, "deadlock_timeout") == "9s"
    assert setting(session, "tcp_keepalives_idle") == "5"
    session.close()


def test_a_change_of_the_tables_may_be_silent_for_longer(postgres_url: str) -> None:
    database = PostgresDatabase(parse_address(postgres_url), busy_timeout_s=1.0, silent_s=0.1)
    session = database.connect()
    database.begin_upgrade(session)
    time.sleep(0.4)  # as long as it takes to load what changes them
    session.run("CREATE TABLE changed (x int)")
    session.commit()
    assert session.has_table("changed")
    assert setting(session, "idle_in_transaction_session_timeout") == "100ms", "only there"
    session.close()


def test_an_error_in_the_middle_of_a_transaction_is_told_by_whoever_waits_for_an_answer(
    postgres_url: str,
) -> None:
    session = connected(postgres_url)
    session.begin()
    session.run("INSERT INTO endstop_settings (user_name, chosen) VALUES (?, ?)", ("ana", "{}"))
    session.run("INSERT INTO endstop_settings (user_name, chosen) VALUES (?, ?)", ("ana", "{}"))
    with pytest.raises(psycopg.errors.UniqueViolation):
        session.rows("SELECT 1")
    session.rollback()
    assert session.rows("SELECT count(*) FROM endstop_settings") == [(0,)]
    session.close()


def test_a_session_that_was_given_up_for_its_silence_is_lost_even_if_it_does_not_know_yet(
    postgres_url: str,
) -> None:
    session = connected(postgres_url)
    assert session.is_lost_by(psycopg.errors.IdleInTransactionSessionTimeout())
    assert not session.is_lost_by(psycopg.errors.UniqueViolation())
    session.close()
