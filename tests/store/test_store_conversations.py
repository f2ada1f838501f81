"""Conversations: runs that follow each other, and branches that share their beginning."""

from __future__ import annotations

import asyncio

import pytest
from store_facts import OpenStore, begun, facts, turn

from endstop.errors import FactOrderError, UnknownConversationError, UnknownRunError
from endstop.ports import Store


async def test_a_conversation_has_the_runs_that_were_begun_in_it(
    store: Store, open_another: OpenStore
) -> None:
    opened = await store.open_conversation(user="ana", project="shop", title="Login \x00")
    assert (opened.user, opened.project, opened.title, opened.run_ids) == ("ana", "shop", "Login \x00", ())
    for number in range(3):
        await store.append(begun(f"run-{number}"), conversation_id=opened.id)
    await store.append(facts("run-0", *turn(1), first=5), conversation_id=opened.id)
    other = await open_another()
    found = await other.conversation(opened.id)
    assert found.run_ids == ("run-0", "run-1", "run-2")
    assert (found.id, found.created_at, found.title) == (opened.id, opened.created_at, opened.title)
    assert (await other.run("run-1")).conversation_id == opened.id
    await other.append(begun("run-3"))
    assert (await other.run("run-3")).conversation_id is None


async def test_a_run_in_a_conversation_that_is_not_there_is_not_begun(store: Store) -> None:
    with pytest.raises(UnknownConversationError, match="'nowhere'"):
        await store.append(begun(), conversation_id="nowhere")
    assert await store.runs() == []
    with pytest.raises(UnknownConversationError):
        await store.conversation("nowhere")
    with pytest.raises(UnknownConversationError):
        await store.branch_conversation("nowhere", after_run="run-1")


async def test_a_run_that_is_refused_is_in_no_conversation(store: Store) -> None:
    opened = await store.open_conversation()
    with pytest.raises(FactOrderError):
        await store.append(facts("run-1", *turn(0)), conversation_id=opened.id)
    assert (await store.conversation(opened.id)).run_ids == ()


async def test_a_branch_shares_the_runs_up_to_and_including_one(store: Store) -> None:
    origin = await store.open_conversation(user="ana", project="shop", title="Login")
    for number in range(3):
        await store.append(begun(f"run-{number}"), conversation_id=origin.id)
    branch = await store.branch_conversation(origin.id, after_run="run-1")
    assert branch.run_ids == ("run-0", "run-1")
    assert (branch.branch_of, branch.user, branch.project, branch.title) == (
        origin.id,
        "ana",
        "shop",
        "Login",
    )
    await store.append(begun("run-9"), conversation_id=branch.id)
    assert (await store.conversation(branch.id)).run_ids == ("run-0", "run-1", "run-9")
    assert (await store.conversation(origin.id)).run_ids == ("run-0", "run-1", "run-2")
    again = await store.branch_conversation(branch.id, after_run="run-9")
    assert again.run_ids == ("run-0", "run-1", "run-9")
    assert (await store.run("run-0")).conversation_id == origin.id


async def test_a_branch_begins_after_a_run_of_its_origin(store: Store) -> None:
    origin = await store.open_conversation()
    await store.append(begun("elsewhere"))
    for unknown in ("nobody", "elsewhere"):
        with pytest.raises(UnknownRunError, match="Branch after one of its runs"):
            await store.branch_conversation(origin.id, after_run=unknown)
    assert len(await store.conversations()) == 1


async def test_conversations_are_listed_newest_first(store: Store) -> None:
    opened = [
        await store.open_conversation(user=user, title=str(n)) for n, user in enumerate(("ana", "bob", "ana"))
    ]
    await store.append(begun("run-1"), conversation_id=opened[0].id)
    listed = await store.conversations(user="ana")
    assert [one.title for one in listed] == ["2", "0"]
    assert listed[1].run_ids == ("run-1",)
    assert [one.title for one in await store.conversations()] == ["2", "1", "0"]
    assert [one.title for one in await store.conversations(most=1)] == ["2"]
    assert await store.conversations(user="nobody") == []


async def test_two_processes_that_add_to_a_conversation_at_once_both_do(
    store: Store, open_another: OpenStore
) -> None:
    other = await open_another()
    opened = await store.open_conversation()
    stores = [store, other]
    runs = [f"run-{number:02}" for number in range(30)]
    await asyncio.gather(
        *(stores[n % 2].append(begun(run_id), conversation_id=opened.id) for n, run_id in enumerate(runs))
    )
    found = await store.conversation(opened.id)
    assert sorted(found.run_ids) == runs


async def test_a_conversation_that_is_deleted_leaves_its_runs_and_its_branches(
    store: Store, open_another: OpenStore
) -> None:
    origin = await store.open_conversation(user="ana")
    kept = await store.open_conversation(user="ana")
    for number in range(2):
        await store.append(begun(f"run-{number}"), conversation_id=origin.id)
    branch = await store.branch_conversation(origin.id, after_run="run-0")
    await store.delete_conversation(origin.id)
    other = await open_another()
    with pytest.raises(UnknownConversationError):
        await other.conversation(origin.id)
    with pytest.raises(UnknownConversationError):
        await other.delete_conversation(origin.id)
    assert {one.id for one in await other.conversations(user="ana")} == {kept.id, branch.id}
    left = await other.conversation(branch.id)
    assert (left.run_ids, left.branch_of) == (("run-0",), None)
    assert (await other.run("run-1")).conversation_id is None
    assert len(await other.record("run-1")) == 5
