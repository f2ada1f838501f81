"""The oracle after an interruption, with a changed tree, in a conversation, and over a real folder."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from oracle_words import AttentiveModel, need_turn, of, oracle, our_tree, runner, with_turn

from endstop.app import Config, agent_of
from endstop.app.conversations import conversation_for
from endstop.app.oracle import make_oracle, tree_library
from endstop.errors import InvalidValueError, RunStateError, TreeError
from endstop.events.facts import RunStarted
from endstop.events.steered import TreeChosen
from endstop.guard.clock import SystemClock
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.observation import TurnStarted
from endstop.kernel.outcome import Completed, Forced, StopRule
from endstop.runner import Runner
from endstop.store import open_store
from endstop.testing import MemoryStore, ScriptedModel, calls, echo_tool


@pytest.fixture
def config(tmp_path: Path) -> Config:
    home = tmp_path / "home"
    home.mkdir()
    return Config(home=home, database_url=f"sqlite:///{home / 'endstop.db'}")


@pytest.fixture
def pond(tmp_path: Path) -> Path:
    """A small project."""
    folder = tmp_path / "pond"
    folder.mkdir()
    (folder / "pond.py").write_text("def count_ducks(ducks):\n    return len(ducks)\n")
    (folder / "README.md").write_text("# Pond\n\nDucks are counted at dawn.\n")
    return folder


@pytest.mark.guarantee("E5")
async def test_a_run_goes_on_with_the_tree_it_was_started_with() -> None:
    store = MemoryStore()
    model = ScriptedModel(*(f"Step {n}. {need_turn(f'reason {n}')}" for n in range(9)))
    first = oracle(
        model, budget=Budget(turns=2, tokens=100_000), on_limit="review", tree=our_tree("oracle-agent")
    )
    home = runner(store)
    paused = await home.run(first, "Where?")
    changed = with_turn(('BT.action("budget.emit_budget_exceeded"), ', ""))
    other = oracle(model, budget=Budget(turns=2, tokens=100_000), on_limit="review", tree=changed)
    done = await home.resume(paused.id, agent=other, grant=Grant(turns=2, by="me", why="go on"))
    [chosen] = of(done.facts, TreeChosen)
    assert chosen.hash == our_tree("oracle-agent").hash != changed.hash
    assert len(of(done.facts, TurnStarted)) == 4


@pytest.mark.guarantee("C5", "A9")
async def test_the_same_reason_is_counted_across_a_resume() -> None:
    store = MemoryStore()
    slow = ScriptedModel(f"Looking. {need_turn('more')}", delay_s=0.05)
    home = runner(store)
    agent = oracle(slow, budget=Budget(turns=20, tokens=100_000))
    run_id = await home.start(agent, "Where?")
    while len(slow.requests) < 2:
        await asyncio.sleep(0.01)
    await home.shutdown()
    left = await home.wait(run_id)
    assert left.outcome is None
    done = await runner(store).resume(run_id, agent=agent)
    assert len(of(done.facts, TurnStarted)) == 3
    assert isinstance(done.outcome, Forced)
    assert done.outcome.reason.rule is StopRule.NO_PROGRESS
    assert done.audit()


@pytest.mark.guarantee("E10")
async def test_a_follow_up_sees_what_came_before_and_a_conversation_branches(config: Config) -> None:
    store = await open_store(config.database_url)
    home = Runner(store, clock=SystemClock())
    model = AttentiveModel("In pond.py.", "At dawn.", "By hand.")
    agent = oracle(model)
    opened = await conversation_for(store, "Where?", user="me")
    first = await home.run(agent, "Where?", conversation_id=opened.id)
    followed = await conversation_for(store, "When?", follows=await store.run(first.id))
    assert followed.id == opened.id
    await home.run(agent, "When?", conversation_id=followed.id)
    assert model.texts() == ["Where?", "In pond.py.", "When?"]
    branched = await conversation_for(store, "How?", follows=await store.run(first.id))
    assert branched.id != opened.id
    await home.run(agent, "How?", conversation_id=branched.id)
    assert model.texts() == ["Where?", "In pond.py.", "How?"]
    assert len((await store.conversation(opened.id)).run_ids) == 2
    await store.close()


async def test_what_belongs_to_no_conversation_cannot_be_followed() -> None:
    store = MemoryStore()
    done = await runner(store).run(oracle(ScriptedModel("Hi.")), "Where?")
    with pytest.raises(RunStateError, match="no conversation"):
        await conversation_for(store, "And?", follows=await store.run(done.id))


@pytest.mark.guarantee("J2", "E7")
async def test_offline_the_built_in_model_answers_with_passages_of_the_project(
    config: Config, pond: Path
) -> None:
    done = await runner().run(make_oracle(pond, config=config), "Where are ducks counted?")
    assert isinstance(done.outcome, Completed)
    assert "pond.py:1" in done.answer
    assert "No language model" in done.answer
    assert done.audit()


@pytest.mark.guarantee("E5")
async def test_a_changed_copy_of_a_tree_changes_what_the_next_run_does(config: Config, pond: Path) -> None:
    async def turns_taken() -> int:
        model = ScriptedModel(*(calls("search_code", query=f"duck{'s' * n}") for n in range(3)), "Done.")
        done = await runner().run(make_oracle(pond, model=model, config=config), "Where?")
        return len(of(done.facts, TurnStarted))

    assert await turns_taken() == 4
    own = config.home / "trees"
    own.mkdir()
    text = tree_library(config).source("agent-turn")
    before = 'leave("finished",'
    assert before in text
    ends_early = 'leave("enough", "tools.has_tool_calls", BT.action("budget.force_completion")),'
    (own / "agent-turn.lua").write_text(text.replace(before, f"{ends_early}\n  {before}"))
    assert await turns_taken() == 1


@pytest.mark.guarantee("E5")
def test_a_copy_that_breaks_while_the_process_runs_keeps_the_last_good_tree(
    config: Config, pond: Path
) -> None:
    own = config.home / "trees"
    own.mkdir()
    good = (
        tree_library(config)
        .source("agent-turn")
        .replace('"failed", "run.has_failed"', '"broke", "run.has_failed"')
    )
    (own / "agent-turn.lua").write_text(good)
    first = tree_library(config).get("oracle-agent")
    (own / "agent-turn.lua").write_text(good + "\nthis is no Lua")
    make_oracle(pond, config=config)
    assert tree_library(config).get("oracle-agent").hash == first.hash
    trouble = tree_library(config).trouble("oracle-agent")
    assert trouble is not None
    assert "agent-turn.lua" in str(trouble)


@pytest.mark.guarantee("E5")
def test_a_broken_copy_is_refused_with_its_file_and_line(config: Config, pond: Path) -> None:
    own = config.home / "trees"
    own.mkdir()
    (own / "agent-turn.lua").write_text(
        'return BT.tree("agent-turn", {\n  root = BT.action("turn.take_trun") })'
    )
    with pytest.raises(TreeError, match=r"agent-turn\.lua:2.*take_turn"):
        make_oracle(pond, config=config)


async def test_an_oracle_is_made_anew_from_its_record(
    config: Config, pond: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENDSTOP_HOME", str(config.home))
    store = await open_store(config.database_url)
    home = Runner(store, clock=SystemClock(), agent_of=agent_of)
    run_id = await home.start(make_oracle(pond, config=config), "Where are ducks counted?", project=str(pond))
    await home.shutdown()
    assert (await home.wait(run_id)).outcome is None
    again = Runner(store, clock=SystemClock(), agent_of=agent_of)
    done = await again.resume(run_id)
    assert isinstance(done.outcome, Completed)
    assert "pond.py:1" in done.answer
    assert isinstance(done.facts[0].payload, RunStarted)
    await store.close()


@pytest.mark.parametrize("folder", ["nowhere", "pond.py", "\0"])
def test_a_project_that_is_no_folder_is_refused(config: Config, pond: Path, folder: str) -> None:
    with pytest.raises(InvalidValueError, match="project"):
        make_oracle(pond / folder, config=config)


async def test_shutting_down_leaves_the_run_open_after_its_turn() -> None:
    store = MemoryStore()
    home = runner(store)
    model = ScriptedModel(*(calls("echo", text=str(n)) for n in range(50)), delay_s=0.02)
    run_id = await home.start(oracle(model, echo_tool(), budget=Budget(turns=50, tokens=10**6)), "Where?")
    while not model.requests:
        await asyncio.sleep(0.005)
    await home.shutdown()
    left = await home.wait(run_id)
    assert left.outcome is None
    assert len(model.requests) < 5
