"""Hearing which facts are safe: after the store has them, never before, and not if it failed."""

from __future__ import annotations

import asyncio

import pytest
from runner_words import agent, runner

from endstop.errors import StoreError
from endstop.ports import Store
from endstop.runner.saved import Told
from endstop.testing import MemoryStore, ScriptedModel, calls


async def test_whoever_wants_to_hears_what_is_safe_up_to_the_last_fact(store: Store) -> None:
    saved: list[int] = []
    home = runner(store)
    asked = agent(ScriptedModel(calls("echo", text="x"), "Done."))
    run_id = await home.start(asked, "Why?", on_saved=saved.append)
    assert saved, "it is told of before the start returns"
    run = await home.wait(run_id)
    assert saved == sorted(saved)
    assert saved[-1] == run.facts[-1].seq == (await store.run(run_id)).facts - 1


class Failing(MemoryStore):
    async def append(self, *facts: object, **options: object) -> None:
        raise StoreError("locked")


async def test_what_could_not_be_saved_is_not_told_of(store: Store) -> None:
    saved: list[int] = []
    home = runner(store)
    whole = await home.run(agent(ScriptedModel("Done.")), "Why?")
    with pytest.raises(StoreError):
        await Told(Failing(), saved.append).append(whole.facts)
    await asyncio.sleep(0)
    assert saved == []
