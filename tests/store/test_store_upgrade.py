"""Making and updating tables: on opening, in one piece, and never on a database from the future."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from store_facts import begun

from endstop.errors import NewerStoreError, StoreError
from endstop.ports import Store
from endstop.store import database_state, open_store
from endstop.store.schema import metadata
from endstop.store.schema_names import NEWEST_VERSION, VERSION
from endstop.store.upgrade import MIGRATIONS
from postgres import PASSWORD, PostgresServer, free_port

OPEN = """
import asyncio, sys
from endstop.store import open_store
async def main():
    store = await open_store(sys.argv[1])
    await store.runs()
    await store.close()
asyncio.run(main())
print(*sorted({name.split(".")[0] for name in sys.modules}))
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without any tables."""
    if request.param == "postgresql":
        return request.getfixturevalue("empty_postgres_url")
    return f"sqlite:///{tmp_path / 'runs.db'}"


def driver_url(url: str) -> str:
    return url.replace("postgresql://", "postgresql+psycopg://")


def run_in(url: str, statement: str) -> None:
    engine = create_engine(driver_url(url))
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()


async def test_migrations_make_the_tables_that_are_drawn(empty_url: str) -> None:
    store = await open_store(empty_url)
    await store.close()
    engine = create_engine(driver_url(empty_url))
    with engine.connect() as connection:
        options = {"version_table": VERSION, "compare_type": True}
        differences = compare_metadata(MigrationContext.configure(connection, opts=options), metadata)
    engine.dispose()
    assert differences == []


def test_the_newest_version_is_the_last_migration_and_they_are_numbered() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    scripts = ScriptDirectory.from_config(config)
    assert scripts.get_heads() == [NEWEST_VERSION]
    revisions = sorted(script.revision for script in scripts.walk_revisions())
    assert revisions == [f"{number:04}" for number in range(1, len(revisions) + 1)]


async def test_several_who_open_a_new_database_at_once_all_can(empty_url: str) -> None:
    stores = await asyncio.gather(*(open_store(empty_url) for _ in range(5)))
    await asyncio.gather(*(store.append(begun(f"run-{n}")) for n, store in enumerate(stores)))
    assert len(await stores[0].runs()) == 5
    for store in stores:
        await store.close()


def test_several_processes_that_open_a_new_database_at_once_all_can(empty_url: str) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", OPEN, empty_url], stdout=subprocess.DEVNULL) for _ in range(3)
    ]
    assert [process.wait(timeout=30) for process in processes] == [0, 0, 0]


async def test_a_newer_database_is_refused_and_left_untouched(empty_url: str) -> None:
    store = await open_store(empty_url)
    await store.append(begun())
    await store.close()
    run_in(empty_url, f"UPDATE {VERSION} SET version_num = '9999'")
    with pytest.raises(NewerStoreError, match=rf"version 9999.*up to {NEWEST_VERSION}.*update this one"):
        await open_store(empty_url)
    state = database_state(empty_url)
    assert (state.is_usable, state.version) == (False, "9999")
    assert "newer Endstop" in state.to_do
    run_in(empty_url, f"UPDATE {VERSION} SET version_num = '{NEWEST_VERSION}'")
    store = await open_store(empty_url)
    assert await store.record("run-1") == begun()
    await store.close()


async def test_a_version_that_nobody_has_made_is_refused(empty_url: str) -> None:
    await (await open_store(empty_url)).close()
    run_in(empty_url, f"UPDATE {VERSION} SET version_num = 'a1b2c3'")
    with pytest.raises(StoreError, match="'a1b2c3' that no Endstop has made"):
        await open_store(empty_url)


async def test_an_upgrade_that_fails_leaves_nothing_half_made(empty_url: str) -> None:
    run_in(empty_url, "CREATE TABLE endstop_settings (mine INTEGER)")
    with pytest.raises(StoreError, match="endstop_settings"):
        await open_store(empty_url)
    assert database_state(empty_url).version is None
    run_in(empty_url, "DROP TABLE endstop_settings")
    store = await open_store(empty_url)
    await store.append(begun())
    await store.close()


async def test_the_tables_of_others_are_left_alone(empty_url: str) -> None:
    run_in(empty_url, "CREATE TABLE runs (mine INTEGER)")
    await (await open_store(empty_url)).close()
    run_in(empty_url, "INSERT INTO runs VALUES (1)")


def modules_after(code: str, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
        # What measures coverage loads modules of its own, a database among them.
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")},
    )
    return set(done.stdout.split())


async def test_opening_a_database_that_is_up_to_date_loads_nothing_but_its_driver(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    assert {"sqlalchemy", "alembic"} <= modules_after(OPEN, url)
    assert not {"sqlalchemy", "alembic", "psycopg"} & modules_after(OPEN, url)


def test_importing_the_store_loads_no_driver() -> None:
    code = "import sys, endstop.store; print(*sys.modules)"
    assert not {"sqlalchemy", "alembic", "psycopg", "sqlite3"} & modules_after(code)


async def test_the_state_of_a_database_is_told(store: Store, database_url: str) -> None:
    await store.append(begun())
    state = database_state(database_url)
    assert (state.is_usable, state.version, state.newest_version) == (True, NEWEST_VERSION, NEWEST_VERSION)
    assert (state.runs, state.problem, state.to_do) == (1, "", "")
    assert state.server.startswith(("SQLite 3.", "PostgreSQL 1"))
    assert PASSWORD not in repr(state)
    assert "s3cret" not in repr(state)


def test_a_database_that_is_not_there_yet_is_no_problem_and_is_not_made(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    state = database_state(f"sqlite:///{file}")
    assert (state.is_usable, state.version, state.to_do) == (True, None, "It is made when it is first used")
    assert not file.exists()
    sqlite3.connect(file).close()
    assert "brought up to date" in database_state(f"sqlite:///{file}").to_do
    assert database_state("sqlite://").is_usable


def test_looking_at_the_database_of_others_leaves_it_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "theirs 50%.db"
    theirs = sqlite3.connect(file)
    theirs.execute("CREATE TABLE runs (mine INTEGER)")
    theirs.close()
    before = file.read_bytes()
    assert database_state(f"sqlite:///{file}").version is None
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_a_database_that_cannot_be_used_is_told_with_what_to_do(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    state = database_state(f"sqlite:///{tmp_path / 'nowhere' / 'runs.db'}")
    assert (state.is_usable, state.to_do) == (False, f"Make the folder {tmp_path / 'nowhere'} first")
    diary = tmp_path / "diary.db"
    diary.write_text("Dear diary, " * 1_000)
    state = database_state(f"sqlite:///{diary}")
    assert not state.is_usable
    assert "is no SQLite database" in state.problem
    state = database_state(f"postgresql://ana:geheim@127.0.0.1:{free_port()}/runs")
    assert not state.is_usable
    assert "Start the server" in state.to_do
    assert "geheim" not in repr(state)
    state = database_state(postgres_server.url("postgres", password="wrong"))
    assert "right user and password" in state.to_do
