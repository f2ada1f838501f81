"""Many at once: threads and tasks can share a guard, and a dead process loses nothing."""

from __future__ import annotations

import asyncio
import threading

import pytest

import endstop as es
from endstop.errors import LedgerError
from endstop.guard import Turn
from endstop.testing import FakeClock


@pytest.mark.guarantee("A6")
def test_threads_cannot_take_the_last_tokens_twice() -> None:
    guard = es.Guard(es.Budget(turns=1_000, tokens=5_000, finish_reserve=0))
    barrier = threading.Barrier(8)
    granted: list[int] = []

    def work() -> None:
        barrier.wait()
        while guard.may_continue():
            try:
                with guard.turn(reserve_tokens=70) as turn:
                    most = turn.max_tokens or 0
                    turn.spent(input_tokens=min(70, most))
                    granted.append(min(70, most))
            except LedgerError:
                return

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    guard.cancel()
    guard.may_continue()
    assert sum(granted) <= 5_000
    assert guard.usage.tokens == sum(granted)
    assert "budget.overrun" not in {fact.type for fact in guard.facts}
    audited = guard.audit()
    assert audited.holds, str(audited)


@pytest.mark.guarantee("A6")
async def test_tasks_that_overlap_cannot_take_the_last_turn_twice() -> None:
    guard = es.Guard(es.Budget(turns=3))
    taken: list[int] = []

    async def work() -> None:
        while guard.may_continue():
            try:
                async with guard.turn() as turn:
                    await asyncio.sleep(0)
                    taken.append(turn.number)
            except LedgerError:
                await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(work())
    assert sorted(taken) == [0, 1, 2]
    assert isinstance(guard.outcome, es.Stopped)


async def test_async_and_sync_record_the_same() -> None:
    def report(turn: Turn) -> None:
        turn.spent(input_tokens=10, cost_usd=0)
        turn.called("search", {"q": 1})

    sync = es.Guard(es.Budget(turns=5), clock=FakeClock(), run_id="same")
    while sync.may_continue():
        with sync.turn() as turn:
            report(turn)
    tasks = es.Guard(es.Budget(turns=5), clock=FakeClock(), run_id="same")
    async with tasks:
        while tasks.may_continue():
            async with tasks.turn() as turn:
                report(turn)
    assert sync.facts == tasks.facts


async def test_a_cancelled_task_is_settled_and_the_cancellation_passed_on() -> None:
    guard = es.Guard(es.Budget(turns=5, tokens=1_000))
    started = asyncio.Event()

    async def hang() -> None:
        async with guard.turn(reserve_tokens=100):
            started.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(hang())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert guard.usage.tokens == 100
    assert guard.may_continue()


async def test_scopes_run_side_by_side_within_their_parent() -> None:
    guard = es.Guard(es.Budget(turns=20, tokens=2_000, finish_reserve=0))

    async def branch(number: int) -> int:
        async with guard.scope(f"branch-{number}", turns=3, tokens=300) as part:
            while part.may_continue():
                async with part.turn(reserve_tokens=100) as turn:
                    await asyncio.sleep(0)
                    turn.spent(input_tokens=80)
        return part.usage.tokens

    used = await asyncio.gather(*(branch(number) for number in range(4)))
    assert list(used) == [240] * 4
    assert guard.usage.tokens == 960
    guard.finish("merged")
    assert guard.audit().holds


@pytest.mark.guarantee("A9", "H1", "H5")
def test_a_dead_process_is_resumed_with_every_counter_and_the_clock() -> None:
    clock = FakeClock()
    guard = es.Guard(es.Budget(turns=10, tokens=5_000, seconds=100), clock=clock)
    for page in range(3):
        with guard.turn(reserve_tokens=200) as turn:
            clock.advance(10)
            turn.spent(input_tokens=150, cost_usd="0.01")
            turn.called("read", {"page": page})
    dying = guard.turn(reserve_tokens=500)
    dying.__enter__()
    saved = [es.encode(fact) for fact in guard.facts]

    later = FakeClock(now_s=1_000_000)
    again = es.Guard.resume(es.read_record(saved).require(), clock=later)
    assert again.usage.turns == 4
    assert again.usage.tokens == 3 * 150 + 500
    assert again.usage.seconds == pytest.approx(30)
    assert again.may_continue()
    with again.turn() as turn:
        assert turn.number == 4
        assert turn.seconds_left == pytest.approx(70)
    again.finish("done")
    assert again.audit().holds


def test_a_run_is_resumed_with_the_detectors_it_had_or_not_at_all() -> None:
    guard = es.Guard(es.Budget(turns=9), detectors=es.standard_detectors()[:1])
    with pytest.raises(es.errors.RecordError, match="detectors of its own"):
        es.Guard.resume(guard.facts)
    with pytest.raises(es.errors.RecordError, match="the standard detectors"):
        es.Guard.resume(es.Guard(es.Budget(turns=9)).facts, detectors=())
    assert es.Guard.resume(guard.facts, detectors=es.standard_detectors()[:1]).may_continue()


def test_a_run_that_has_ended_stays_ended_when_resumed() -> None:
    guard = es.Guard(es.Budget(turns=1))
    guard.finish("done")
    again = es.Guard.resume(guard.facts)
    assert not again.may_continue()
    assert again.outcome == guard.outcome
    assert again.facts == guard.facts


@pytest.mark.guarantee("A6", "A14")
def test_while_others_are_at_work_the_answer_is_no_but_the_run_has_not_ended() -> None:
    guard = es.Guard(es.Budget(turns=5, tokens=100, finish_reserve=0))
    with guard.turn(reserve_tokens=100) as turn:
        turn.spent(input_tokens=100)
        assert not guard.may_continue()
        assert guard.outcome is None
        turn.called("read", {"page": 1}, result="the last page")
    assert not guard.may_continue()
    assert isinstance(guard.outcome, es.Stopped)
    assert guard.audit().holds
