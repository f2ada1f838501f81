"""Taking a run on whose process died: what was cut off, and the time it had used (A9, H5)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from runner_words import agent, runner

from endstop.events.recorder import Recorder, replay
from endstop.kernel.observation import CallStatus, ToolFinished, TurnStarted, tool_called
from endstop.kernel.review import RunPhase
from endstop.loop import Agent
from endstop.ports import Store, StoredRun, ToolTraits
from endstop.runner.opening import lived_on_s, new_recorder, taken_over
from endstop.testing import ScriptedModel, echo_tool


def with_tool(traits: ToolTraits) -> Agent:
    return replace(agent(ScriptedModel("hello")), tools=(echo_tool("act", traits=traits),))


def cut_off_in_a_call(made: Agent) -> Recorder:
    recorder = new_recorder(made, "Act.", time=100.0)
    recorder.observe(TurnStarted(at_s=1.0, turn=0), time=101.0)
    recorder.observe(tool_called(at_s=2.0, turn=0, call="t1_1", tool="act", arguments="{}"), time=102.0)
    return recorder


@pytest.mark.guarantee("H5")
@pytest.mark.parametrize(
    ("traits", "word"),
    [
        (ToolTraits(changes_something=True), "may have had its effect"),
        (ToolTraits(changes_something=True, is_idempotent=True), "can be called again"),
        (ToolTraits(), "can be called again"),
    ],
    ids=["with effects", "idempotent", "without effects"],
)
def test_a_call_that_was_cut_off_is_reported_and_whether_it_can_be_made_again(
    traits: ToolTraits, word: str
) -> None:
    made = with_tool(traits)
    recorder = cut_off_in_a_call(made)
    taken_over(recorder, "another", time=110.0, agent=made)
    (finished,) = [fact.payload for fact in recorder.facts if isinstance(fact.payload, ToolFinished)]
    assert finished.status is CallStatus.INTERRUPTED
    assert word in finished.result


@pytest.mark.guarantee("A9")
def test_the_time_the_dead_process_was_seen_alive_counts() -> None:
    made = with_tool(ToolTraits())
    recorder = cut_off_in_a_call(made)
    stored = StoredRun(run_id="r", phase=RunPhase.RUNNING, started_at=100.0, changed_at=102.0, beat_at=109.5)
    lived_s = lived_on_s(stored, recorder.facts)
    assert lived_s == 7.5
    taken_over(recorder, "another", time=900.0, lived_s=lived_s, agent=made)
    assert recorder.usage().seconds == 9.5


@pytest.mark.guarantee("A9", "D10")
async def test_it_counts_for_whoever_cancels_what_the_dead_process_left(store: Store) -> None:
    recorder = cut_off_in_a_call(with_tool(ToolTraits()))
    await store.append(recorder.facts, owner="a machine/1/gone")
    await store.beat("a machine/1/gone", (recorder.run_id,), at=109.5)
    assert await runner(store).cancel(recorder.run_id, by="ada")
    assert replay(await store.record(recorder.run_id)).usage().seconds == 9.5


@pytest.mark.parametrize(
    "stored",
    [
        StoredRun(run_id="r", phase=RunPhase.RUNNING, started_at=1, changed_at=1),
        StoredRun(run_id="r", phase=RunPhase.RUNNING, started_at=1, changed_at=1, beat_at=50.0),
        StoredRun(run_id="r", phase=RunPhase.AWAIT_USER, started_at=1, changed_at=1, beat_at=500.0),
    ],
    ids=["never seen", "seen before its last fact", "waiting for the user"],
)
def test_otherwise_no_time_is_charged(stored: StoredRun) -> None:
    assert lived_on_s(stored, cut_off_in_a_call(with_tool(ToolTraits())).facts) == 0.0
