"""The store in memory keeps what the databases keep, and refuses what they refuse."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, cast

import pytest

from endstop.errors import (
    FactOrderError,
    InvalidValueError,
    RecordTakenError,
    StoreError,
    UnknownConversationError,
    UnknownRunError,
)
from endstop.events.facts import Fact, Payload, ReviewDecided, ReviewRequested, RunStarted
from endstop.events.index import index
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Grant
from endstop.kernel.observation import BudgetGranted, CallSettled, RunEnded, TurnEnded, TurnStarted, UserSaid
from endstop.kernel.outcome import Completed
from endstop.kernel.review import Approved, Review, RunPhase
from endstop.ports import CancelAsked, Store
from endstop.testing import MemoryStore

STARTED = RunStarted(config=AgentConfig(), user="ada", project="engine", question="How?")
CENT = Decimal("0.01")
TURN = (
    TurnStarted(at_s=1.0, turn=0),
    CallSettled(
        at_s=2.0, turn=0, reservation="r", input_tokens=10, output_tokens=5, cost_usd=Decimal("0.01")
    ),
    TurnEnded(at_s=3.0, turn=0),
)
GRANT = Grant(turns=5, by="bob", why="nearly there")
REVIEW = Review(id="review-1", why="Maximum coding iterations (8) reached")


def facts(*payloads: Payload, run_id: str = "run-1", first: int = 0, time: float = 100.0) -> list[Fact]:
    return [
        Fact(run_id=run_id, seq=first + place, time=time + first + place, source="test", payload=payload)
        for place, payload in enumerate(payloads)
    ]


async def store_with(*records: Iterable[Fact]) -> MemoryStore:
    store = MemoryStore()
    for record in records:
        await store.append(list(record))
    return store


def test_it_is_a_store() -> None:
    store: Store = MemoryStore()
    assert store


async def test_what_was_appended_can_be_read_from_any_place() -> None:
    first, second = facts(STARTED, *TURN), facts(*TURN, first=4)
    store = await store_with(first, second)
    assert await store.record("run-1") == [*first, *second]
    assert await store.record("run-1", after=3) == second
    assert await store.record("run-1", after=3, most=2) == second[:2]
    assert await store.record("run-1", after=-50, most=0) == []
    assert await store.record("run-1", after=99) == []


async def test_what_was_read_cannot_be_used_to_change_the_record() -> None:
    store = await store_with(facts(STARTED, *TURN))
    (await store.record("run-1")).clear()
    assert len(await store.record("run-1")) == 4


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("first", [0, 2, 3, 5, 100])
async def test_an_append_that_does_not_come_right_after_the_last_fact_is_refused(first: int) -> None:
    store = await store_with(facts(STARTED, *TURN))
    payloads = (STARTED,) if first == 0 else TURN
    with pytest.raises(RecordTakenError, match="goes on with 4"):
        await store.append(facts(*payloads, first=first))
    assert len(await store.record("run-1")) == 4
    assert (await store.run("run-1")).facts == 4


async def test_of_two_that_append_at_once_one_wins() -> None:
    store = await store_with(facts(STARTED))
    results = await asyncio.gather(
        *(store.append(facts(*TURN, first=1), owner=owner) for owner in ("a", "b")), return_exceptions=True
    )
    assert [type(each) for each in results] == [type(None), RecordTakenError]
    assert (await store.run("run-1")).owner == "a"


async def test_facts_out_of_order_are_refused_and_none_is_kept() -> None:
    store = await store_with(facts(STARTED))
    mixed = [*facts(TURN[0], first=1), *facts(TURN[1], run_id="run-2", first=2)]
    gap = [*facts(TURN[0], first=1), *facts(TURN[1], first=3)]
    for wrong in (mixed, gap, facts(TURN[0], first=-1)):
        with pytest.raises(FactOrderError):
            await store.append(wrong)
    assert len(await store.record("run-1")) == 1


async def test_a_record_begins_with_the_start_of_its_run() -> None:
    store = MemoryStore()
    with pytest.raises(FactOrderError, match=r"run\.started"):
        await store.append(facts(*TURN))
    with pytest.raises(UnknownRunError):
        await store.record("run-1")


async def test_appending_nothing_does_nothing() -> None:
    store = MemoryStore()
    await store.append([])
    assert await store.runs() == []


async def test_a_run_is_listed_as_its_facts_tell_whenever_it_is_asked_for() -> None:
    record = facts(STARTED, *TURN, *TURN)
    store = await store_with(record[:4])
    assert (await store.run("run-1")).turns == 1
    await store.append(record[4:], owner="worker-1")
    run = await store.run("run-1")
    known = index(None, record).run
    assert (run.turns, run.tokens, run.cost_usd) == (2, 30, Decimal("0.02"))
    assert (run.facts, run.user, run.project, run.question) == (7, "ada", "engine", "How?")
    assert (run.started_at, run.changed_at, run.owner) == (known.started_at, known.changed_at, "worker-1")


async def test_a_list_shows_no_more_tokens_than_a_database_could_hold() -> None:
    absurd = CallSettled(at_s=1.0, turn=0, reservation="r", input_tokens=10**30)
    store = await store_with(facts(STARTED, absurd))
    assert (await store.run("run-1")).tokens == 2**63 - 1
    assert (await store.record("run-1"))[1].payload == absurd


async def test_runs_are_listed_newest_first_and_filtered() -> None:
    ended = RunEnded(at_s=1.0, outcome=Completed(answer="So."))
    bob = RunStarted(config=AgentConfig(), user="bob", project="engine")
    store = await store_with(
        facts(STARTED, run_id="a", time=1.0),
        facts(STARTED, ended, run_id="b", time=2.0),
        facts(bob, run_id="c", time=3.0),
    )

    async def listed(**wanted: Any) -> list[str]:
        return [run.run_id for run in await store.runs(**wanted)]

    assert await listed() == ["c", "b", "a"]
    assert await listed(user="ada") == ["b", "a"]
    assert await listed(project="other") == []
    assert await listed(phases=[RunPhase.ENDED]) == ["b"]
    assert await listed(phases=iter([RunPhase.RUNNING, RunPhase.AWAIT_USER])) == ["c", "a"]
    assert await listed(most=2) == ["c", "b"]
    assert await listed(before=3.0) == ["b", "a"]
    assert await listed(most=0) == []
    assert (await store.run("b")).exit_code == 0


@pytest.mark.parametrize("most", [-1, True, 1.5, 10**9])
async def test_a_number_of_runs_that_is_none_is_refused(most: object) -> None:
    store = MemoryStore()
    with pytest.raises(InvalidValueError, match="most"):
        await store.runs(most=cast("int", most))
    with pytest.raises(InvalidValueError, match="most"):
        await store.conversations(most=cast("int", most))


async def test_grants_are_listed_with_who_and_why() -> None:
    store = await store_with(facts(STARTED, BudgetGranted(at_s=1.0, grant=GRANT)))
    (grant,) = await store.grants("run-1")
    assert (grant.seq, grant.by, grant.why, dict(grant.amounts)) == (1, "bob", "nearly there", {"turns": "5"})


async def test_reviews_are_open_until_somebody_decides() -> None:
    store = await store_with(facts(STARTED, ReviewRequested(review=REVIEW)), facts(STARTED, run_id="run-2"))
    (asked,) = await store.reviews(is_open=True)
    assert (asked.run_id, asked.review, asked.decision) == ("run-1", REVIEW, None)
    assert (await store.run("run-1")).phase is RunPhase.BUDGET_REVIEW
    decided = ReviewDecided(review_id="review-1", decision=Approved(grant=GRANT), by="bob")
    await store.append(facts(decided, first=2))
    (told,) = await store.reviews(run_id="run-1", is_open=False)
    assert (told.decision, told.by, told.decided_at) == ("approved", "bob", 102.0)
    assert await store.reviews(is_open=True) == []
    assert await store.reviews(run_id="run-2") == await store.reviews(run_id="nobody") == []


async def test_reviews_are_listed_newest_first() -> None:
    requested = [ReviewRequested(review=Review(id=f"review-{number}", why="Why")) for number in range(3)]
    store = await store_with(facts(STARTED, *requested))
    assert [each.review.id for each in await store.reviews()] == ["review-2", "review-1", "review-0"]


async def test_a_decision_of_a_review_that_nobody_asked_for_is_passed_over() -> None:
    decided = ReviewDecided(review_id="other", decision=Approved(grant=GRANT), by="bob")
    store = await store_with(facts(STARTED, decided))
    assert await store.reviews() == []


async def test_an_owner_says_that_it_is_alive() -> None:
    store = await store_with(facts(STARTED))
    await store.beat("worker-1", ["run-1", "nobody"], at=7.0)
    run = await store.run("run-1")
    assert (run.owner, run.beat_at) == ("worker-1", 7.0)


async def test_one_that_woke_up_late_does_not_get_its_run_back_by_being_alive() -> None:
    store = await store_with(facts(STARTED))
    await store.beat("worker-1", ["run-1"], at=7.0)
    await store.append(facts(UserSaid(at_s=1.0), first=1), owner="worker-2")
    await store.beat("worker-1", ["run-1"], at=8.0)
    run = await store.run("run-1")
    assert run.owner == "worker-2"
    assert run.beat_at == (await store.record("run-1"))[-1].time


@pytest.mark.parametrize("after_turn", [True, False])
async def test_a_request_to_end_at_once_stands_above_one_to_end_after_the_turn(after_turn: bool) -> None:
    store = await store_with(facts(STARTED), facts(STARTED, run_id="run-2"))
    for first in (after_turn, not after_turn):
        await store.ask_cancel(CancelAsked(run_id="run-1", by="ada", after_turn=first))
    (asked,) = await store.cancels_asked(["run-2", "run-1", "run-1", "nobody"])
    assert (asked.by, asked.after_turn) == ("ada", False)


async def test_a_later_request_of_the_same_kind_replaces_the_earlier_one() -> None:
    store = await store_with(facts(STARTED))
    for by in ("ada", "bob"):
        await store.ask_cancel(CancelAsked(run_id="run-1", by=by))
    assert [asked.by for asked in await store.cancels_asked(["run-1"])] == ["bob"]


async def test_settings_are_replaced_as_a_whole_and_not_shared() -> None:
    store = MemoryStore()
    assert await store.settings("ada") == {}
    values: dict[str, object] = {"max_iterations": 5, "list": [1, 2]}
    await store.save_settings("ada", values)
    values["max_iterations"] = 99
    cast("dict[str, object]", await store.settings("ada")).clear()
    assert await store.settings("ada") == {"max_iterations": 5, "list": [1, 2]}
    await store.save_settings("ada", {"other": None})
    assert await store.settings("ada") == {"other": None}
    assert await store.settings("bob") == {}


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}])
async def test_settings_that_no_database_could_keep_are_refused(value: object) -> None:
    store = MemoryStore()
    await store.save_settings("ada", {"kept": 1})
    with pytest.raises(InvalidValueError, match="settings"):
        await store.save_settings("ada", {"value": value})
    assert await store.settings("ada") == {"kept": 1}


async def test_runs_join_the_conversation_they_begin_in() -> None:
    store = MemoryStore()
    talk = await store.open_conversation(user="ada", project="engine", title="Login")
    for run_id in ("a", "b"):
        await store.append(facts(STARTED, run_id=run_id), conversation_id=talk.id)
    await store.append(facts(*TURN, run_id="a", first=1), conversation_id=talk.id)
    told = await store.conversation(talk.id)
    assert (told.run_ids, told.user, told.project, told.title) == (("a", "b"), "ada", "engine", "Login")
    assert (await store.run("a")).conversation_id == talk.id


async def test_a_branch_shares_the_runs_up_to_where_it_leaves() -> None:
    store = MemoryStore()
    talk = await store.open_conversation(user="ada", title="Login")
    for run_id in ("a", "b", "c"):
        await store.append(facts(STARTED, run_id=run_id), conversation_id=talk.id)
    branch = await store.branch_conversation(talk.id, after_run="b")
    await store.append(facts(STARTED, run_id="d"), conversation_id=branch.id)
    assert (await store.conversation(branch.id)).run_ids == ("a", "b", "d")
    assert (branch.branch_of, branch.user, branch.title) == (talk.id, "ada", "Login")
    assert (await store.conversation(talk.id)).run_ids == ("a", "b", "c")
    with pytest.raises(UnknownRunError, match="Branch after one of its runs"):
        await store.branch_conversation(talk.id, after_run="d")


async def test_conversations_are_listed_newest_first() -> None:
    store = MemoryStore()
    talks = [await store.open_conversation(user=user) for user in ("ada", "bob", "ada")]
    assert [each.id for each in await store.conversations()] == [each.id for each in reversed(talks)]
    assert [each.id for each in await store.conversations(user="ada", most=1)] == [talks[2].id]


async def test_what_is_not_there_is_said_clearly() -> None:
    store = MemoryStore()
    with pytest.raises(UnknownRunError, match="endstop runs"):
        await store.run("nobody")
    with pytest.raises(UnknownRunError):
        await store.grants("nobody")
    with pytest.raises(UnknownRunError):
        await store.ask_cancel(CancelAsked(run_id="nobody", by="ada"))
    with pytest.raises(UnknownConversationError):
        await store.conversation("nothing")
    with pytest.raises(UnknownConversationError):
        await store.append(facts(STARTED), conversation_id="nothing")
    with pytest.raises(UnknownRunError):
        await store.run("run-1")


async def test_a_closed_store_says_so_and_loses_nothing() -> None:
    store = await store_with(facts(STARTED))
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.append(facts(*TURN, first=1))
    with pytest.raises(StoreError, match="closed"):
        await store.runs()
    assert len(await store.another().record("run-1")) == 1


async def test_stores_on_the_same_memory_see_the_same_and_are_closed_apart() -> None:
    store = MemoryStore()
    other = store.another()
    await store.append(facts(STARTED))
    await store.close()
    await other.append(facts(*TURN, first=1))
    assert (await other.run("run-1")).turns == 1
    assert await MemoryStore().runs() == []


@pytest.mark.parametrize("time", [float("nan"), float("inf")])
async def test_a_fact_at_no_time_is_refused(time: float) -> None:
    store = MemoryStore()
    with pytest.raises(InvalidValueError, match="finite"):
        await store.append(facts(STARTED, time=time))
    assert await store.runs() == []


async def test_an_append_costs_the_same_in_a_long_record() -> None:
    store = await store_with(facts(STARTED))
    for place in range(2_000):
        await store.append(facts(UserSaid(at_s=float(place)), first=place + 1))
    assert (await store.run("run-1")).facts == 2_001
