"""Runs are started, waited for, resumed, cancelled and left: in this process, on a real store."""

from __future__ import annotations

import asyncio
import subprocess
import time
from dataclasses import replace

import pytest
from runner_words import Gate, agent, more, of, require_audit, runner

from endstop.errors import (
    EndstopError,
    InvalidValueError,
    PriceUnknownError,
    RecordTakenError,
    RunStateError,
    StoreError,
    UnknownRunError,
)
from endstop.events.facts import RunStarted, RunTaken
from endstop.kernel.budget import Budget
from endstop.kernel.detectors import Detector, standard_detectors
from endstop.kernel.observation import AssistantSaid, BudgetGranted, ToolFinished
from endstop.kernel.outcome import AwaitingUser, Cancelled, Completed, Forced
from endstop.kernel.review import RunPhase
from endstop.loop import Agent
from endstop.loop.journal import Delta
from endstop.ports import CancelAsked, Store, StoredRun
from endstop.runner.owner import Owner, is_worked_on
from endstop.testing import Runaway, ScriptedModel, calls, echo_tool
from endstop.testing.adversaries.streams import Hangs, Stubborn


async def test_a_run_gives_back_its_outcome_and_its_record_is_in_the_store(store: Store) -> None:
    done = await runner(store).run(agent(ScriptedModel("Here.")), "Where?", user="ada", project="login")
    assert done.outcome == Completed(answer="Here.")
    assert done.answer == "Here."
    assert [fact.payload for fact in await store.record(done.id)] == [fact.payload for fact in done.facts]
    stored = await store.run(done.id)
    assert (stored.phase, stored.user, stored.project) == (RunPhase.ENDED, "ada", "login")
    assert str(done.explain()).startswith("Completed after 1 turn.")
    require_audit(done)


@pytest.mark.parametrize("question", ["", "  ", None, 7])
async def test_a_run_without_a_question_is_refused(store: Store, question: str) -> None:
    with pytest.raises(InvalidValueError, match="question"):
        await runner(store).run(agent(ScriptedModel("x")), question)
    assert await store.runs() == []


async def test_the_same_run_id_twice_is_refused_and_the_first_run_is_not_harmed(store: Store) -> None:
    first = await runner(store).run(agent(ScriptedModel("First.")), "Go.", run_id="r")
    with pytest.raises(RecordTakenError):
        await runner(store).run(agent(ScriptedModel("Second.")), "Go.", run_id="r")
    assert len(await store.record("r")) == len(first.facts)


async def test_a_run_in_the_background_can_be_waited_for_before_and_after_its_end(store: Store) -> None:
    home = runner(store)
    run_id = await home.start(agent(ScriptedModel("Here.")), "Where?")
    early = await home.wait(run_id)
    late = await home.wait(run_id)
    assert early.outcome == late.outcome == Completed(answer="Here.")


async def test_ceasing_to_wait_does_not_stop_a_run(store: Store) -> None:
    home, gate = runner(store), Gate()
    run_id = await home.start(agent(gate.model(), gate.tool), "Go.")
    await gate.begun.wait()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(home.wait(run_id), 0.01)
    gate.opened.set()
    assert (await home.wait(run_id)).outcome == Completed(answer="Done.")


async def test_waiting_for_what_is_not_in_the_background_is_refused(store: Store) -> None:
    home, gate = runner(store), Gate()
    with pytest.raises(UnknownRunError):
        await home.wait("nobody")
    with pytest.raises(UnknownRunError):
        await runner(None).wait("nobody")
    running = asyncio.create_task(home.run(agent(gate.model(), gate.tool), "Go.", run_id="r"))
    await gate.begun.wait()
    with pytest.raises(RunStateError, match="background"):
        await home.wait("r")
    gate.opened.set()
    await running


async def test_a_run_that_ended_long_ago_is_waited_for_by_its_record(store: Store) -> None:
    home = runner(store)
    model = ScriptedModel(calls("await_user", message="Which one?"))
    asking = await home.run(agent(model, awaits_user=True), "Go.")
    done = await home.run(agent(ScriptedModel("Here.")), "Go.")
    assert (await runner(store).wait(done.id)).outcome == Completed(answer="Here.")
    assert (await runner(store).wait(asking.id)).outcome == AwaitingUser(question="Which one?")


async def test_of_runs_that_nobody_waits_for_only_the_last_results_are_kept() -> None:
    home = runner(None)
    run_ids = [await home.start(agent(ScriptedModel("x")), "Go.") for _ in range(260)]
    for run_id in run_ids[-10:]:
        await home.wait(run_id)
    await home.wait(await home.start(agent(ScriptedModel("x")), "Go."))
    with pytest.raises(UnknownRunError):
        await home.wait(run_ids[0])
    assert (await home.wait(run_ids[-1])).outcome == Completed(answer="x")


async def test_a_run_in_the_background_that_breaks_warns_nobody_but_who_waits(store: Store) -> None:
    home, gate = runner(store), Gate()
    run_id = await home.start(agent(gate.model(), gate.tool), "Go.")
    await gate.begun.wait()
    await store.close()
    gate.opened.set()
    with pytest.raises(StoreError):
        await home.wait(run_id)


@pytest.mark.guarantee("A10")
async def test_a_price_that_nobody_knows_is_refused_at_the_start_and_on_resuming(store: Store) -> None:
    budget = Budget(turns=2, cost_usd="1")
    unpriced = agent(ScriptedModel("x", price=None), budget=budget)
    with pytest.raises(PriceUnknownError):
        await runner(store).run(unpriced, "Go.")
    gate = Gate()
    left = runner(store)
    run_id = await left.start(agent(gate.model(), gate.tool, budget=budget), "Go.")
    await gate.begun.wait()
    await left.shutdown(seconds=0)
    with pytest.raises(PriceUnknownError):
        await runner(store).resume(run_id, agent=unpriced)


@pytest.mark.guarantee("D10")
async def test_shutdown_lets_every_run_finish_its_turn_and_leaves_it_open(store: Store) -> None:
    home, gate = runner(store), Gate()
    run_id = await home.start(agent(gate.model(), gate.tool), "Go.")
    await gate.begun.wait()
    asyncio.get_running_loop().call_later(0.05, gate.opened.set)
    await home.shutdown()
    left = await home.wait(run_id)
    assert left.outcome is None
    assert [each.status.value for each in of(left, ToolFinished)] == ["executed"]
    done = await runner(store).resume(run_id, agent=agent(ScriptedModel("And done.")))
    assert done.outcome == Completed(answer="And done.")
    assert [each.status.value for each in of(done, ToolFinished)] == ["executed"]
    require_audit(done)


@pytest.mark.guarantee("D10")
async def test_shutdown_cuts_off_what_takes_too_long_and_keeps_what_it_said(store: Store) -> None:
    home = runner(store)
    told = asyncio.Semaphore(0)

    def listen(_: Delta) -> None:
        told.release()

    run_id = await home.start(agent(Hangs(pieces=2)), "Go.", listener=listen)
    waiting = asyncio.create_task(home.run(agent(Hangs(pieces=2)), "Go.", listener=listen))
    for _ in range(4):
        await told.acquire()
    began_s = time.monotonic()
    await home.shutdown(seconds=0.05)
    assert time.monotonic() - began_s < 1.0
    for left in (await home.wait(run_id), await waiting):
        assert left.outcome is None
        assert of(left, AssistantSaid)[-1].text
        done = await runner(store).resume(left.id, agent=agent(ScriptedModel("On.")))
        assert done.outcome == Completed(answer="On.")
        require_audit(done)


async def test_shutdown_with_nothing_under_way_is_at_once_and_may_be_repeated(store: Store) -> None:
    home = runner(store)
    await home.shutdown()
    await home.shutdown()
    left = await home.run(agent(ScriptedModel("x")), "Go.")
    assert left.outcome is None


async def test_shutdown_lets_go_of_a_model_that_will_not_be_cancelled(store: Store) -> None:
    home = runner(store)
    run_id = await home.start(agent(Stubborn(for_s=2)), "Go.")
    await asyncio.sleep(0.05)
    await home.shutdown(seconds=0.01)
    assert (await home.wait(run_id)).outcome is None


@pytest.mark.guarantee("H5")
async def test_a_finished_run_is_not_resumed_decided_answered_or_cancelled(store: Store) -> None:
    home = runner(store)
    done = await home.run(agent(ScriptedModel("Here.")), "Where?")
    with pytest.raises(RunStateError, match=r"has finished: completed"):
        await home.resume(done.id, agent=agent(ScriptedModel("x")))
    with pytest.raises(RunStateError):
        await home.cancel(done.id, by="ada")
    with pytest.raises(RunStateError):
        await home.answer(done.id, "Yes.")
    with pytest.raises(RunStateError):
        await home.grant(done.id, more())
    assert len(await store.record(done.id)) == len(done.facts)


async def test_an_unknown_run_is_said_to_be_unknown(store: Store) -> None:
    home = runner(store)
    with pytest.raises(UnknownRunError):
        await home.resume("nobody", agent=agent(ScriptedModel("x")))
    with pytest.raises(UnknownRunError):
        await home.cancel("nobody", by="ada")
    with pytest.raises(UnknownRunError):
        home.bus("nobody")
    with pytest.raises(UnknownRunError, match="not kept here"):
        await runner(None).resume("nobody", agent=agent(ScriptedModel("x")))
    assert await runner(None).left_open() == []


@pytest.mark.guarantee("H1")
async def test_a_run_that_is_being_worked_on_is_not_resumed_by_another(store: Store) -> None:
    first, gate = runner(store), Gate()
    run_id = await first.start(agent(gate.model(), gate.tool), "Go.")
    await gate.begun.wait()
    while (await store.run(run_id)).beat_at is None:
        await asyncio.sleep(0.005)
    with pytest.raises(RunStateError, match="being worked on by process"):
        await runner(store).resume(run_id, agent=agent(ScriptedModel("x")))
    with pytest.raises(RunStateError, match="this process"):
        await first.resume(run_id, agent=agent(ScriptedModel("x")), takes_over=True)
    assert await runner(store).left_open() == []
    gate.opened.set()
    assert (await first.wait(run_id)).outcome == Completed(answer="Done.")


@pytest.mark.guarantee("H1")
async def test_of_two_runners_on_one_run_one_goes_on_and_the_other_stops_cleanly(store: Store) -> None:
    first, gate = runner(store), Gate()
    run_id = await first.start(agent(gate.model("Mine."), gate.tool), "Go.")
    await gate.begun.wait()
    second = await runner(store).resume(run_id, agent=agent(ScriptedModel("Mine now.")), takes_over=True)
    gate.opened.set()
    with pytest.raises(RecordTakenError):
        await first.wait(run_id)
    assert second.outcome == Completed(answer="Mine now.")
    assert len(of(second, RunTaken)) == 1
    assert [fact.seq for fact in await store.record(run_id)] == list(range(len(second.facts)))
    require_audit(second)


@pytest.mark.guarantee("H1")
async def test_of_two_who_resume_at_once_one_wins(store: Store) -> None:
    left, gate = runner(store), Gate()
    run_id = await left.start(agent(gate.model(), gate.tool), "Go.")
    await gate.begun.wait()
    await left.shutdown(seconds=0)
    resumed = await asyncio.gather(
        *(runner(store).resume(run_id, agent=agent(ScriptedModel("Mine."))) for _ in range(3)),
        return_exceptions=True,
    )
    won = [each for each in resumed if not isinstance(each, BaseException)]
    lost = [each for each in resumed if isinstance(each, BaseException)]
    assert [run.outcome for run in won] == [Completed(answer="Mine.")]
    assert all(isinstance(error, RecordTakenError | RunStateError) for error in lost), lost


@pytest.mark.guarantee("H5")
async def test_runs_left_open_are_recovered_where_their_agent_can_be_made_anew(store: Store) -> None:
    left, gate = runner(store), Gate()
    for name in ("known", "unknown", "broken", "no model"):
        gate = Gate()
        await left.start(agent(gate.model(), gate.tool, name=name), "Go.", run_id=f"r {name}")
        await gate.begun.wait()
    await left.shutdown(seconds=0)
    asked: list[str] = []

    def agent_of(started: RunStarted) -> Agent | None:
        asked.append(started.agent)
        if started.agent == "broken":
            raise ImportError("no such module")
        if started.agent == "no model":
            raise InvalidValueError("model", "x", allowed="another")
        return agent(ScriptedModel("Recovered."), name="known") if started.agent == "known" else None

    home = runner(store, agent_of=agent_of)
    assert {run.run_id for run in await home.left_open()} == {
        *("r known", "r unknown", "r broken", "r no model"),
    }
    assert await home.recover() == ["r known"]
    assert (await home.wait("r known")).outcome == Completed(answer="Recovered.")
    assert sorted(asked) == ["broken", "known", "no model", "unknown"]
    assert {run.run_id for run in await home.left_open()} == {"r unknown", "r broken", "r no model"}
    with pytest.raises(RunStateError, match="making it failed with ImportError: no such module"):
        await home.resume("r broken")
    with pytest.raises(RunStateError, match="somebody's own code"):
        await home.resume("r unknown")


@pytest.mark.guarantee("D10")
async def test_a_run_that_is_not_under_way_is_cancelled_at_once(store: Store) -> None:
    left, gate = runner(store), Gate()
    run_id = await left.start(agent(gate.model(), gate.tool), "Go.")
    await gate.begun.wait()
    await left.shutdown(seconds=0)
    assert await runner(store).cancel(run_id, by="ada")
    stored = await store.run(run_id)
    assert (stored.phase, stored.ending) == (RunPhase.ENDED, "cancelled by ada")


@pytest.mark.guarantee("D10")
@pytest.mark.parametrize("after_turn", [False, True])
async def test_a_run_of_another_process_is_asked_to_end(store: Store, after_turn: bool) -> None:
    first, gate = runner(store), Gate()
    run_id = await first.start(agent(gate.model(), gate.tool), "Go.")
    await gate.begun.wait()
    while (await store.run(run_id)).beat_at is None:
        await asyncio.sleep(0.005)
    assert await runner(store).cancel(run_id, by="ada", after_turn=after_turn) is False
    if after_turn:
        listening = first.bus(run_id).subscribe("run.cancel_requested")
        while not listening.take():
            await asyncio.sleep(0.005)
        gate.opened.set()
    done = await first.wait(run_id)
    assert isinstance(done.outcome, Cancelled)
    statuses = [each.status.value for each in of(done, ToolFinished)]
    assert statuses == (["executed"] if after_turn else ["cancelled"])


async def test_a_request_to_cancel_a_run_that_is_over_changes_nothing(store: Store) -> None:
    home = runner(store)
    done = await home.run(agent(ScriptedModel("Here.")), "Where?")
    home._cancel_live(CancelAsked(run_id=done.id, by="ada"))  # pyright: ignore[reportPrivateUsage]
    assert len(await store.record(done.id)) == len(done.facts)


async def test_who_cancels_must_say_who_it_is(store: Store) -> None:
    with pytest.raises(InvalidValueError, match="by"):
        await runner(store).cancel("r", by=" ")


@pytest.mark.guarantee("A8")
async def test_a_run_that_is_under_way_can_be_granted_more(store: Store) -> None:
    home, gate = runner(store), Gate()
    model = ScriptedModel(calls("gate"), calls("echo", page=1), calls("echo", page=2), "Done.")
    run_id = await home.start(agent(model, gate.tool, echo_tool(), budget=Budget(turns=2)), "Go.")
    await gate.begun.wait()
    await home.grant(run_id, more(2))
    with pytest.raises(EndstopError, match="cap on grants"):
        await home.grant(run_id, more(900))
    gate.opened.set()
    done = await home.wait(run_id)
    assert done.usage.turns == 4
    assert [each.grant.turns for each in of(done, BudgetGranted)] == [2]
    require_audit(done)


async def test_detectors_of_its_own_are_needed_again_to_go_on_with_a_run(store: Store) -> None:
    own: tuple[Detector, ...] = standard_detectors()[:1]
    left, gate = runner(store), Gate()
    run_id = await left.start(agent(gate.model(), gate.tool, detectors=own), "Go.")
    await gate.begun.wait()
    await left.shutdown(seconds=0)
    with pytest.raises(RunStateError, match="cannot be made anew"):
        await runner(store).cancel(run_id, by="ada")
    elsewhere = runner(store, agent_of=lambda started: agent(ScriptedModel("On."), detectors=own))
    done = await elsewhere.resume(run_id)
    assert done.outcome == Completed(answer="On.")
    require_audit(done)


async def test_an_owner_is_read_as_it_is_written() -> None:
    here = Owner.this()
    assert Owner.read(str(here)) == here
    assert here.is_here
    assert here.lives
    for nonsense in (None, "", "machine", "machine/x/token", "/"):
        assert Owner.read(nonsense) is None
    assert not Owner(machine=here.machine, process=2**22 + 1, token="x").lives
    assert Owner(machine=here.machine, process=1, token="x").lives


async def test_a_run_whose_owner_has_died_is_open_to_all(store: Store) -> None:
    left, gate = runner(store), Gate()
    run_id = await left.start(agent(gate.model(), gate.tool), "Go.")
    await gate.begun.wait()
    dead = str(Owner(machine=Owner.this().machine, process=2**22 + 1, token="x"))
    await left.shutdown(seconds=0)
    record = await store.record(run_id)
    taken = replace(record[-1], seq=len(record), payload=RunTaken(owner=dead))
    await store.append([taken], owner=dead)
    await store.beat(dead, (run_id,), at=time.time())
    done = await runner(store).resume(run_id, agent=agent(ScriptedModel("On.")))
    assert done.outcome == Completed(answer="On.")


async def test_a_runaway_in_the_background_ends_by_its_budget(store: Store) -> None:
    home = runner(store)
    run_ids = [
        await home.start(agent(Runaway(delay_s=0.001), echo_tool(), budget=Budget(turns=5)), "Go.")
        for _ in range(20)
    ]
    done = [await home.wait(run_id) for run_id in run_ids]
    assert all(isinstance(run.outcome, Completed | Forced) for run in done)
    assert {run.usage.turns for run in done} == {5}


def test_a_process_that_has_died_and_was_not_cleared_away_does_not_live() -> None:
    with subprocess.Popen(["true"]) as process:
        owner = Owner(machine=Owner.this().machine, process=process.pid, token="x")
        until_s = time.monotonic() + 5
        while owner.lives and time.monotonic() < until_s:
            time.sleep(0.001)
        assert not owner.lives
        assert process.returncode is None, "it is still a zombie"


@pytest.mark.parametrize(
    ("owner", "beat_ago_s", "is_busy"),
    [
        (None, 0.0, False),
        ("nonsense", 0.0, False),
        ("this process", None, False),
        ("this process", 0.0, True),
        ("this process", 16.0, False),
        ("elsewhere/7/token", 14.0, True),
        ("elsewhere/7/token", 16.0, False),
    ],
)
def test_a_run_is_worked_on_while_its_owner_lives_and_beats(
    owner: str | None, beat_ago_s: float | None, is_busy: bool
) -> None:
    beat_at = None if beat_ago_s is None else 1_000.0 - beat_ago_s
    owner = str(Owner.this()) if owner == "this process" else owner
    run = StoredRun(
        run_id="r", phase=RunPhase.RUNNING, started_at=0, changed_at=0, owner=owner, beat_at=beat_at
    )
    assert is_worked_on(run, now=1_000.0) is is_busy
