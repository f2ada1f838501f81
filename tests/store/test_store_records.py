"""Records: appended whole and in order, by one at a time, and read back as they were (H1)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from store_facts import ENDED, OpenStore, begun, facts, started, turn

from endstop.errors import (
    FactOrderError,
    InvalidValueError,
    RecordTakenError,
    StoreError,
    UnknownRunError,
)
from endstop.events.facts import Fact
from endstop.ports import Store
from endstop.store.sql_store import SqlStore


@pytest.mark.guarantee("H1", "H4")
async def test_facts_are_read_back_as_they_were_appended(store: Store) -> None:
    first, then = begun(), facts("run-1", *turn(1), ENDED, first=5)
    await store.append(first)
    await store.append(then)
    assert await store.record("run-1") == [*first, *then]


@pytest.mark.guarantee("A9", "H4")
async def test_another_process_reads_the_same_record(store: Store, open_another: OpenStore) -> None:
    await store.append(begun())
    await store.close()
    other = await open_another()
    assert await other.record("run-1") == begun()
    await other.append(facts("run-1", ENDED, first=5))
    assert (await other.run("run-1")).facts == 6


async def test_a_record_can_be_read_from_a_fact_on_and_in_parts(store: Store) -> None:
    await store.append(begun())
    seqs = [fact.seq for fact in await store.record("run-1", after=2)]
    assert seqs == [3, 4]
    assert [fact.seq for fact in await store.record("run-1", after=0, most=2)] == [1, 2]
    assert await store.record("run-1", after=4) == []
    assert await store.record("run-1", after=99) == []
    assert await store.record("run-1", most=0) == []
    assert [fact.seq for fact in await store.record("run-1", after=-7)] == [0, 1, 2, 3, 4]


async def test_a_record_of_ten_thousand_facts_is_read_whole_and_in_order(store: Store) -> None:
    await store.append(begun())
    payloads = [payload for number in range(1, 2_500) for payload in turn(number)]
    await store.append(facts("run-1", *payloads, first=5))
    record = await store.record("run-1")
    assert [fact.seq for fact in record] == list(range(len(payloads) + 5))
    assert [fact.seq for fact in await store.record("run-1", after=999, most=2_001)] == list(
        range(1_000, 3_001)
    )


async def test_an_unknown_run_is_told_apart_from_one_with_nothing_new(store: Store) -> None:
    for looked_for in (store.record("nobody"), store.run("nobody"), store.grants("nobody")):
        with pytest.raises(UnknownRunError, match="no run 'nobody'"):
            await looked_for


async def test_appending_nothing_does_nothing(store: Store) -> None:
    await store.append([])
    assert await store.runs() == []


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("first", [0, 3, 4, 6, 100])
async def test_facts_that_do_not_come_right_after_the_last_one_are_refused(store: Store, first: int) -> None:
    await store.append(begun())
    before = await store.run("run-1")
    with pytest.raises(RecordTakenError, match=f"Fact {first} of run 'run-1'.*stop working on the run"):
        await store.append(facts("run-1", *turn(1), first=first))
    assert await store.record("run-1") == begun()
    assert await store.run("run-1") == before


async def test_a_run_that_nobody_began_cannot_be_gone_on_with(store: Store) -> None:
    with pytest.raises(RecordTakenError):
        await store.append(facts("run-1", *turn(1), first=5))
    with pytest.raises(FactOrderError, match=r"begins with turn\.started"):
        await store.append(facts("run-1", *turn(0)))
    with pytest.raises(UnknownRunError):
        await store.record("run-1")


async def test_one_append_is_of_one_run_and_without_gaps(store: Store) -> None:
    mixed = [*begun("run-1"), *facts("run-2", *turn(0), first=5)]
    with_a_gap = [fact for fact in begun() if fact.seq != 2]
    doubled = [*begun(), begun()[-1]]
    negative = [replace(fact, seq=fact.seq - 1) for fact in begun()]
    for wrong in (mixed, with_a_gap, doubled, negative):
        with pytest.raises(FactOrderError):
            await store.append(wrong)
    assert await store.runs() == []


@pytest.mark.parametrize("time", [float("nan"), float("inf")])
async def test_a_fact_at_no_time_is_refused(store: Store, time: float) -> None:
    with pytest.raises(InvalidValueError, match="finite"):
        await store.append(facts("run-1", started(), time=time))
    assert await store.runs() == []


@pytest.mark.guarantee("H1")
async def test_of_two_processes_that_append_at_once_exactly_one_wins(
    store: Store, open_another: OpenStore
) -> None:
    other = await open_another()
    await store.append(begun())
    for first in range(5, 65, 4):
        mine = facts("run-1", *turn(1), first=first, source="mine")
        others = facts("run-1", *turn(1), first=first, source="other")
        results = await asyncio.gather(store.append(mine), other.append(others), return_exceptions=True)
        refused = [result for result in results if result is not None]
        assert [type(error) for error in refused] == [RecordTakenError]
        winner = mine if results[0] is None else others
        assert await store.record("run-1", after=first - 1) == winner
        assert await other.record("run-1", after=first - 1) == winner
    assert (await store.run("run-1")).facts == 65


@pytest.mark.guarantee("H1")
async def test_of_two_processes_that_begin_the_same_run_exactly_one_wins(
    store: Store, open_another: OpenStore
) -> None:
    other = await open_another()
    for number in range(10):
        run_id = f"run-{number}"
        results = await asyncio.gather(
            store.append(begun(run_id, user="mine")),
            other.append(begun(run_id, user="other")),
            return_exceptions=True,
        )
        assert sorted(type(result).__name__ for result in results) == ["NoneType", "RecordTakenError"]
        assert (await store.run(run_id)).user == ("mine" if results[0] is None else "other")


async def test_a_run_can_change_hands_and_come_back(store: Store, open_another: OpenStore) -> None:
    """What a store remembers of a run does not stand in the way of what others have written."""
    other = await open_another()
    await store.append(begun())
    await other.append(facts("run-1", *turn(1), first=5))
    with pytest.raises(RecordTakenError):
        await store.append(facts("run-1", *turn(1), first=5))
    await store.append(facts("run-1", *turn(2), first=9))
    await other.append(facts("run-1", ENDED, first=13))
    run = await store.run("run-1")
    assert (run.facts, run.turns, run.tokens, run.ending) == (14, 3, 360, "completed")


async def test_a_conflict_of_one_run_does_not_hurt_the_others(store: Store, open_another: OpenStore) -> None:
    other = await open_another()
    run_ids = [f"run-{number}" for number in range(20)]
    for run_id in run_ids:
        await store.append(begun(run_id))
    await other.append(facts("run-7", *turn(1), first=5))
    appends = [store.append(facts(run_id, *turn(1), first=5)) for run_id in run_ids]
    results = await asyncio.gather(*appends, return_exceptions=True)
    refused = [run_id for run_id, result in zip(run_ids, results, strict=True) if result is not None]
    assert refused == ["run-7"]
    assert isinstance(results[7], RecordTakenError)
    for run_id in run_ids:
        assert (await store.run(run_id)).turns == 2
        assert len(await store.record(run_id)) == 9


async def test_a_run_that_has_ended_cannot_be_begun_again(store: Store) -> None:
    await store.append([*begun(), *facts("run-1", ENDED, first=5)])
    with pytest.raises(RecordTakenError, match="goes on with 6"):
        await store.append(begun())
    assert (await store.run("run-1")).ending == "completed"


async def test_a_number_that_is_taken_is_refused_even_where_the_index_lags_behind(
    database_url: str,  # of a database: what is kept in memory has no index that could lag behind
    store: Store,
) -> None:
    await store.append(begun())
    assert isinstance(store, SqlStore)
    await store._writer.do(  # pyright: ignore[reportPrivateUsage] - as nobody should
        lambda session: session.run(
            "INSERT INTO endstop_facts (run_id, seq, type, time, line) VALUES ('run-1', 5, 'x', 0, '{}')"
        )
    )
    with pytest.raises(RecordTakenError, match=r"Fact 5 of run 'run-1' cannot be added\. "):
        await store.append(facts("run-1", *turn(1), first=5))
    assert (await store.run("run-1")).facts == 5


async def test_only_so_many_runs_are_remembered_and_others_go_on_all_the_same(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("endstop.store.appending._MOST_KNOWN", 2)
    for number in range(3):
        for run in range(5):
            first = 0 if number == 0 else 1 + 4 * number
            payloads = begun(f"run-{run}") if number == 0 else facts(f"run-{run}", *turn(number), first=first)
            await store.append(payloads)
    assert {run.facts for run in await store.runs()} == {13}


async def test_appends_that_were_not_awaited_one_by_one_keep_their_order(store: Store) -> None:
    appends = [store.append(begun())]
    appends += [store.append(facts("run-1", *turn(n), first=1 + 4 * n)) for n in range(1, 30)]
    await asyncio.gather(*appends)
    assert [fact.seq for fact in await store.record("run-1")] == list(range(121))
    assert (await store.run("run-1")).turns == 30


async def test_many_runs_at_once_are_all_kept(store: Store) -> None:
    async def go(run_id: str) -> None:
        await store.append(begun(run_id))
        for number in range(1, 4):
            await store.append(facts(run_id, *turn(number), first=1 + 4 * number))

    run_ids = [f"run-{number:03}" for number in range(150)]
    await asyncio.gather(*map(go, run_ids))
    assert {
        run.run_id: (run.facts, run.turns, run.tokens) for run in await store.runs(most=200)
    } == dict.fromkeys(run_ids, (17, 4, 480))


async def test_an_append_whose_caller_was_cancelled_is_whole_and_what_follows_fits(store: Store) -> None:
    await store.append(begun())
    for number in range(1, 40):
        first = 1 + 4 * number
        task = asyncio.ensure_future(store.append(facts("run-1", *turn(number), first=first)))
        await asyncio.sleep(0 if number % 2 else 0.0005)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await store.append(facts("run-1", ENDED, first=161))
    assert [fact.seq for fact in await store.record("run-1")] == list(range(162))
    assert (await store.run("run-1")).turns == 40


HARD_TEXTS = [
    "",
    "nul \x00 inside",
    "half a pair \ud83d",
    "\udfff",
    "\x1a0000",
    "\x1a",
    "a\nb\r\n\u2028c",
    "🔑" * 10,
]


@pytest.mark.parametrize("text", HARD_TEXTS, ids=ascii)
async def test_every_text_comes_back_as_it_was(store: Store, text: str) -> None:
    run_id = f"run {text}"
    record = facts(run_id, started(user=f"u{text}", project=f"p{text}", question=text), *turn(0, text=text))
    await store.append(record, owner=f"o{text}")
    assert await store.record(run_id) == record
    run = await store.run(run_id)
    assert (run.run_id, run.user, run.project, run.question, run.owner) == (
        *(run_id, f"u{text}", f"p{text}", text),
        f"o{text}",
    )
    assert [run.run_id for run in await store.runs(user=f"u{text}", project=f"p{text}")] == [run_id]


async def test_users_whose_names_differ_by_what_cannot_be_stored_stay_two(store: Store) -> None:
    await store.append(begun("run-1", user="ana\x00"))
    await store.append(begun("run-2", user="ana"))
    await store.append(begun("run-3", user="ana\x1a0000"))
    assert [run.run_id for run in await store.runs(user="ana")] == ["run-2"]
    assert [run.run_id for run in await store.runs(user="ana\x00")] == ["run-1"]


async def test_a_megabyte_in_one_fact_is_kept(store: Store) -> None:
    record = facts("run-1", started(), *turn(0, text="ü" * 1_000_000))
    await store.append(record)
    assert await store.record("run-1") == record


async def test_a_closed_store_says_so(store: Store) -> None:
    await store.close()
    with pytest.raises(StoreError, match=r"closed.*open_store"):
        await store.append(begun())
    with pytest.raises(StoreError, match="closed"):
        await store.runs()
    await store.close()


def of_types(record: list[Fact]) -> list[str]:
    return [fact.type for fact in record]


async def test_closing_finishes_what_was_handed_in(store: Store, open_another: OpenStore) -> None:
    pending = [asyncio.ensure_future(store.append(begun(f"run-{number}"))) for number in range(50)]
    await asyncio.sleep(0)
    await store.close()
    await asyncio.gather(*pending)
    other = await open_another()
    assert len(await other.runs(most=100)) == 50
    assert of_types(await other.record("run-49"))[0] == "run.started"
