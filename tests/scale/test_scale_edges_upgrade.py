"""Old and new workers side by side: what one is too old for waits for another, and nothing breaks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest
from scale_cast import Play, agent, maker

from endstop.app import SystemClock
from endstop.errors import StoreError
from endstop.events import codec
from endstop.events.audit import audit
from endstop.events.facts import ModelTold
from endstop.kernel.review import RunPhase
from endstop.ports import WholeStore
from endstop.runner import Runner
from endstop.runner.scale import tables, worker
from endstop.runner.scale.dispatcher import Dispatcher
from endstop.runner.scale.engine import Engine
from endstop.runner.scale.tables import functions_in, misfit_of
from endstop.runner.scale.worker import Worker
from endstop.store import open_store
from endstop.store.address import parse_address

NEW = "model.told"
"""A type of fact that old workers have not heard of."""


@pytest.fixture
async def store(postgres_url: str) -> AsyncGenerator[WholeStore]:
    opened = await open_store(postgres_url)
    yield opened
    await opened.close()


@pytest.fixture
async def engine(postgres_url: str) -> AsyncGenerator[Engine]:
    async with Engine(postgres_url) as opened:
        yield opened


@asynccontextmanager
async def at_work(url: str, store: WholeStore, folder: Path) -> AsyncGenerator[Worker]:
    async with Engine(url) as own:
        runner = Runner(store, clock=SystemClock(), agent_of=maker(folder / "effects.log"))
        made = Worker(store, own, runner, beat_s=0.2, silent_s=2.0)
        working = asyncio.create_task(made.run())
        try:
            yield made
        finally:
            await made.drain(seconds=5)
            await working


async def handed_out(store: WholeStore, engine: Engine) -> str:
    """A run with a fact that only new workers know."""
    dispatcher = Dispatcher(store, engine, clock=SystemClock(), agent_of=maker(None))
    play = Play(steps=2)
    run_id = await dispatcher.start(agent(play), play.question, user="ada")
    (first,) = await store.record(run_id)
    note = ModelTold(turn=1, text="Something new.")
    await store.append([type(first)(run_id=run_id, seq=1, time=first.time, source="new", payload=note)])
    return run_id


async def until(is_so: Callable[[], bool], *, seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not is_so():
            await asyncio.sleep(0.02)


def unknown(patched: pytest.MonkeyPatch) -> None:
    known = {name: kind for name, kind in codec.PAYLOAD_OF_TYPE.items() if name != NEW}
    patched.setattr(codec, "PAYLOAD_OF_TYPE", known)


def of_a_newer_version(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(codec, "VERSION", 0)


@pytest.mark.thorough
@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("too_old", [unknown, of_a_newer_version])
async def test_a_run_that_a_worker_is_too_old_for_is_parked_and_a_newer_one_goes_on_with_it(
    store: WholeStore,
    engine: Engine,
    postgres_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    too_old: Callable[[pytest.MonkeyPatch], None],
) -> None:
    monkeypatch.setattr(worker, "_PARKED_S", 0.3)
    run_id = await handed_out(store, engine)
    with monkeypatch.context() as old, caplog.at_level(logging.WARNING):
        too_old(old)
        async with at_work(postgres_url, store, tmp_path):
            await until(lambda: caplog.text.count("run parked") >= 2)  # it asks again, and leaves it again
        stored = await store.run(run_id)
        assert (stored.phase, stored.facts) == (RunPhase.RUNNING, 2)  # as it was
        assert (await engine.state(silent_s=2.0)).waiting == 1
    async with at_work(postgres_url, store, tmp_path):
        async with asyncio.timeout(10):
            while (await store.run(run_id)).phase is not RunPhase.ENDED:
                await asyncio.sleep(0.05)
    facts = await store.record(run_id)
    assert audit(facts).holds
    assert NEW in [fact.type for fact in facts]


async def test_a_parked_run_does_not_hold_up_others(
    store: WholeStore,
    engine: Engine,
    postgres_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parked = await handed_out(store, engine)
    dispatcher = Dispatcher(store, engine, clock=SystemClock(), agent_of=maker(None))
    play = Play(steps=1)
    fine = await dispatcher.start(agent(play), play.question, user="ada")
    unknown(monkeypatch)
    async with at_work(postgres_url, store, tmp_path), asyncio.timeout(10):
        await dispatcher.wait(fine)
    assert (await store.run(parked)).phase is RunPhase.RUNNING


async def test_a_parked_run_has_waited_since_it_was_handed_out(
    store: WholeStore,
    engine: Engine,
    postgres_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await handed_out(store, engine)
    await changed(postgres_url, "UPDATE endstop_handed SET handed_at = now() - interval '1 h'")
    unknown(monkeypatch)
    with caplog.at_level(logging.WARNING):
        async with at_work(postgres_url, store, tmp_path):
            await until(lambda: "run parked" in caplog.text)
    oldest = (await engine.state(silent_s=2.0)).oldest_wait_s
    assert oldest is not None
    assert oldest >= 3_600


# ── the tables of the engine ──────────────────────────────────────────────────────────────────────────────


async def changed(url: str, statement: str) -> None:
    async with await psycopg.AsyncConnection.connect(
        parse_address(url).target, autocommit=True
    ) as connection:
        await connection.execute(statement.encode())


async def test_tables_of_an_older_engine_are_refused_and_the_migrations_named(postgres_url: str) -> None:
    async with Engine(postgres_url):
        pass  # they are there now
    await changed(postgres_url, "DROP FUNCTION procrastinate_retry_job_v2")
    with pytest.raises(StoreError, match=r"older Procrastinate") as refused:
        await Engine(postgres_url).open()
    assert "03.04.00_01_pre_add_retry_failed_job_procedure.sql" in refused.value.to_do
    assert "s3cret" not in str(refused.value)


async def test_tables_of_a_newer_engine_are_refused(postgres_url: str) -> None:
    async with Engine(postgres_url):
        pass
    await changed(
        postgres_url, "ALTER FUNCTION procrastinate_fetch_job_v2 RENAME TO procrastinate_fetch_job_v9"
    )
    with pytest.raises(StoreError, match=r"newer Procrastinate") as refused:
        await Engine(postgres_url).open()
    assert "pip install -U 'endstop[scale]'" in refused.value.to_do


async def test_tables_as_they_are_made_today_are_accepted(postgres_url: str) -> None:
    async with Engine(postgres_url):
        pass
    async with Engine(postgres_url) as again:
        await again.require_tables()
        assert await again.is_there()


async def test_whoever_only_looks_makes_no_tables(postgres_url: str) -> None:
    looking = Engine(postgres_url)
    await looking.open(only_looks=True)
    assert not await looking.is_there()
    await looking.close()


MIGRATIONS = {
    "01.sql": "CREATE FUNCTION procrastinate_a_v1() ...; CREATE OR REPLACE FUNCTION procrastinate_b() ...",
    "02.sql": "create function public.procrastinate_a_v2() ...",
    "03.sql": "DROP FUNCTION procrastinate_a_v1; CREATE FUNCTION procrastinate_c() ...",
}
NEEDED = ("procrastinate_a_v2", "procrastinate_b", "procrastinate_c")


@pytest.mark.parametrize(
    ("there", "first"),
    [
        (("procrastinate_a_v1", "procrastinate_b"), "02.sql"),
        (("procrastinate_a_v1", "procrastinate_a_v2", "procrastinate_b"), "03.sql"),
        (("procrastinate_a_v2", "procrastinate_b"), "03.sql"),
        ((), "01.sql"),
    ],
)
def test_the_functions_that_are_missing_tell_which_migration_comes_next(
    there: tuple[str, ...], first: str
) -> None:
    found = misfit_of(there, needed=NEEDED, migrations=MIGRATIONS)
    assert found is not None
    assert (found.is_newer, found.first_migration) == (False, first)


def test_what_is_there_beside_what_is_needed_does_no_harm() -> None:
    """During an upgrade the functions of both versions are there."""
    there = (*NEEDED, "procrastinate_a_v1", "procrastinate_a_v3")
    assert misfit_of(there, needed=NEEDED, migrations=MIGRATIONS) is None


def test_what_no_migration_of_ours_made_comes_from_a_newer_one() -> None:
    there = ("procrastinate_a_v3", "procrastinate_b", "procrastinate_c")
    found = misfit_of(there, needed=NEEDED, migrations=MIGRATIONS)
    assert found is not None
    assert found.is_newer


def test_a_function_that_no_migration_made_is_not_the_end_of_it() -> None:
    found = misfit_of((), needed=("procrastinate_x",), migrations={})
    assert found is not None
    assert found.first_migration == "the first"


def test_the_installed_engine_comes_with_all_its_migrations() -> None:
    """What its newest tables have can be found in its migrations, too: else nobody could be told the way."""
    made = frozenset[str]().union(*(functions_in(text) for text in tables.migrations().values()))
    assert tables.needed() <= made
