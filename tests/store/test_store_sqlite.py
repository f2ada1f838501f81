"""SQLite files that are locked, read-only, full, damaged or no databases at all: nothing is lost."""

from __future__ import annotations

import asyncio
import os
import pwd
import sqlite3
import time
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from store_facts import ENDED, begun, facts, turn

from endstop.errors import RecordTakenError, StoreError
from endstop.ports import Store
from endstop.store import open_store, parse_address
from endstop.store.sql_store import SqlStore, database_at


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
async def store(file: Path) -> AsyncIterator[Store]:
    store = await open_store(f"sqlite:///{file}", busy_timeout_s=0.2)
    yield store
    await store.close()


@contextmanager
def locked(file: Path) -> Generator[None]:
    """Another process is in the middle of a long write."""
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()


@contextmanager
def as_somebody_who_may_do_nothing() -> Generator[None]:
    """Root may write everywhere, so for a while we are not root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)


async def test_a_locked_file_is_waited_for(store: Store, file: Path) -> None:
    await store.append(begun())
    with locked(file):
        append = asyncio.ensure_future(store.append(facts("run-1", *turn(1), first=5)))
        await asyncio.sleep(0.05)
        assert not append.done()
    await append
    assert len(await store.record("run-1")) == 9


async def test_a_file_locked_for_too_long_is_told_and_nothing_is_lost(store: Store, file: Path) -> None:
    await store.append(begun())
    with locked(file):
        appends = [store.append(begun(f"run-{number}")) for number in range(2, 6)]
        results = await asyncio.gather(*appends, return_exceptions=True)
    for error in results:
        assert isinstance(error, StoreError)
        assert "is locked by another process" in str(error)
        assert "Nothing was written" in error.to_do
    for number in range(2, 6):
        await store.append(begun(f"run-{number}"))
    assert len(await store.runs()) == 5


@pytest.mark.guarantee("A11")
async def test_a_locked_file_never_holds_up_the_event_loop_or_readers(store: Store, file: Path) -> None:
    await store.append(begun())
    longest_s = 0.0
    with locked(file):
        append = asyncio.ensure_future(store.append(facts("run-1", *turn(1), first=5)))
        while not append.done():
            before = time.monotonic()
            await asyncio.sleep(0.005)
            assert len(await store.record("run-1")) == 5
            assert (await store.run("run-1")).turns == 1
            longest_s = max(longest_s, time.monotonic() - before)
        with pytest.raises(StoreError):
            await append
    assert longest_s < 0.15


async def test_a_full_disk_is_told_and_the_store_goes_on_when_there_is_room(store: Store) -> None:
    await store.append(begun())
    assert isinstance(store, SqlStore)
    writer = store._writer  # pyright: ignore[reportPrivateUsage] - a disk that is full for one connection
    pages = await writer.do(lambda session: session.rows("PRAGMA page_count")[0][0])
    await writer.do(lambda session: session.rows(f"PRAGMA max_page_count = {pages}"))
    large = facts("run-1", *turn(1, text="x" * 500_000), first=5)
    with pytest.raises(StoreError, match=r"disk is full.*Make room"):
        await store.append(large)
    assert await store.record("run-1") == begun()
    assert (await store.run("run-1")).facts == 5
    await writer.do(lambda session: session.rows("PRAGMA max_page_count = 1000000"))
    await store.append(large)
    assert len(await store.record("run-1")) == 9


async def test_among_appends_at_once_only_the_one_that_does_not_fit_fails(store: Store) -> None:
    await store.append(begun())
    assert isinstance(store, SqlStore)
    writer = store._writer  # pyright: ignore[reportPrivateUsage] - as above
    pages = await writer.do(lambda session: session.rows("PRAGMA page_count")[0][0])
    await writer.do(lambda session: session.rows(f"PRAGMA max_page_count = {pages + 20}"))
    large = facts("run-1", *turn(1, text="x" * 500_000), first=5)
    small = [begun(f"run-{number}") for number in range(2, 5)]
    results = await asyncio.gather(
        *(store.append(one) for one in (small[0], large, *small[1:])), return_exceptions=True
    )
    assert [type(result) for result in results] == [type(None), StoreError, type(None), type(None)]
    assert {run.run_id: run.facts for run in await store.runs()} == {f"run-{n}": 5 for n in range(1, 5)}


async def test_a_file_that_cannot_be_written_is_told(file: Path) -> None:
    store = await open_store(f"sqlite:///{file}")
    await store.append(begun())
    await store.close()
    file.parent.chmod(0o755)
    file.chmod(0o444)
    with (
        as_somebody_who_may_do_nothing(),
        pytest.raises(StoreError, match=rf"{file} cannot be (written|opened).*Allow this user") as caught,
    ):
        await written_to(file)
    assert caught.value.allowed
    file.chmod(0o644)
    await written_to(file)


async def written_to(file: Path) -> None:
    store = await open_store(f"sqlite:///{file}", busy_timeout_s=0.2)
    try:
        run = await store.run("run-1")
        await store.append(facts("run-1", *turn(1), first=run.facts))
    finally:
        await store.close()


async def test_a_folder_where_no_file_can_be_made_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o555)
    for parent in (tmp_path, *tmp_path.parents):
        with suppress(PermissionError):
            if parent.owner() == "root" and "pytest" in parent.name:
                parent.chmod(0o755)
    with (
        as_somebody_who_may_do_nothing(),
        pytest.raises(StoreError, match=r"cannot be opened.*Allow this user"),
    ):
        await open_store(f"sqlite:///{folder / 'runs.db'}")
    assert list(folder.iterdir()) == []


async def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"its folder does not exist.*Make the folder .*nowhere first"):
        await open_store(f"sqlite:///{tmp_path / 'nowhere' / 'runs.db'}")
    with pytest.raises(StoreError, match=r"it is a folder.*Name a file in it"):
        await open_store(f"sqlite:///{tmp_path}")


async def test_a_file_that_is_no_database_is_told_and_left_alone(file: Path) -> None:
    file.write_bytes(b"Dear diary, " * 1_000)
    with pytest.raises(StoreError, match=r"is no SQLite database.*move this one out of the way"):
        await open_store(f"sqlite:///{file}")
    assert file.read_bytes() == b"Dear diary, " * 1_000


async def test_a_damaged_file_is_told(file: Path) -> None:
    store = await open_store(f"sqlite:///{file}")
    for number in range(50):
        await store.append(begun(f"run-{number}"))
    await store.close()
    content = bytearray(file.read_bytes())
    content[4_096:] = b"\xff" * (len(content) - 4_096)
    file.write_bytes(content)
    with pytest.raises(StoreError, match=r"is damaged.*backup"):
        await written_to(file)


async def test_a_new_file_that_is_locked_is_told_and_made_later(file: Path) -> None:
    sqlite3.connect(file).execute("PRAGMA journal_mode = WAL").connection.close()
    with locked(file), pytest.raises(StoreError, match="is locked"):
        await open_store(f"sqlite:///{file}", busy_timeout_s=0.1)
    await (await open_store(f"sqlite:///{file}")).close()


async def test_a_file_whose_journal_cannot_be_changed_yet_is_waited_for(file: Path) -> None:
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("CREATE TABLE theirs (n)")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match="is locked"):
        await open_store(f"sqlite:///{file}", busy_timeout_s=0.1)
    opening = asyncio.create_task(open_store(f"sqlite:///{file}", busy_timeout_s=5.0))
    await asyncio.sleep(0.05)
    other.close()
    await (await opening).close()


def test_taking_back_on_a_connection_that_is_gone_is_harmless(file: Path) -> None:
    session = database_at(parse_address(f"sqlite:///{file}"), busy_timeout_s=1.0).connect()
    session.close()
    session.rollback()
    with pytest.raises(sqlite3.ProgrammingError) as caught:
        session.begin()
    assert session.is_lost_by(caught.value)


async def test_a_conflict_in_memory_costs_nothing_that_was_there() -> None:
    store = await open_store("sqlite://")
    await store.append([*begun(), *facts("run-1", ENDED, first=5)])
    with pytest.raises(RecordTakenError):
        await store.append(begun())
    assert len(await store.record("run-1")) == 6
    await store.close()


async def test_a_database_in_memory_is_private_and_gone_at_the_end() -> None:
    first, second = await open_store("sqlite://"), await open_store("sqlite://")
    await asyncio.gather(*(first.append(begun(f"run-{number}")) for number in range(10)))
    assert len(await first.runs()) == 10
    assert await first.record("run-3") == begun("run-3")
    assert await second.runs() == []
    await first.close()
    await second.close()


async def test_a_file_in_a_folder_with_odd_characters_works(tmp_path: Path) -> None:
    folder = tmp_path / "50% of äll 'runs' & \"more\""
    folder.mkdir()
    store = await open_store(f"sqlite:///{folder / 'my runs.db'}")
    await store.append(begun())
    await store.close()
    assert [path.name for path in folder.iterdir()] == ["my runs.db"]


async def test_the_runs_of_a_user_that_are_under_way_are_found_without_a_look_at_the_others(
    tmp_path: Path,
) -> None:
    file = tmp_path / "runs.db"
    await (await open_store(f"sqlite:///{file}")).close()
    with sqlite3.connect(file) as looking:
        plan = looking.execute(
            "EXPLAIN QUERY PLAN SELECT * FROM endstop_runs WHERE user_name = ? AND phase IN (?)"
            " ORDER BY started_at DESC, run_id DESC LIMIT 9",
            ("ana", "RUNNING"),
        ).fetchall()
    looking.close()
    assert "endstop_runs_by_user_and_phase (user_name=? AND phase=?)" in str(plan)
