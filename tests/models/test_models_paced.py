"""Models that are called only so often: who waits, for how long, and what it costs those who need not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest
from talking import end_of, pieces_of, streaming, text_of

from endstop.app import make_agent
from endstop.errors import InvalidValueError, ModelOverloadedError, StoreError
from endstop.guard.clock import SystemClock
from endstop.kernel.budget import Budget
from endstop.kernel.observation import AssistantSaid, CallSettled
from endstop.kernel.outcome import Cancelled, Completed
from endstop.loop.agent import Agent
from endstop.models.paced import Gate, Paced
from endstop.ports import Model, ModelUsage, ThoughtPiece, UserMessage
from endstop.runner import Runner
from endstop.runner.run import Run
from endstop.testing import MemoryStore, ScriptedModel, fails

NAME = ScriptedModel("Hello.").name


class Moments:
    """Gives out moments, each so far away; remembers when they were taken."""

    def __init__(self, away_s: float = 0.0, *, fails: int = 0) -> None:
        self.away_s = away_s
        self.fails = fails
        self.taken: list[tuple[str, float]] = []

    async def take(self, model: str, per_minute: float) -> float:
        if self.fails:
            self.fails -= 1
            raise StoreError("The database is gone")
        self.taken.append((model, per_minute))
        return self.away_s


def paced(model: Model, moments: Moments, *, sign_every_s: float = 15.0) -> Paced:
    return Paced(model, Gate({model.name: 60.0}, moments.take), sign_every_s=sign_every_s)


async def test_a_model_without_a_rate_is_left_as_it_is() -> None:
    model = ScriptedModel("Hello.")
    moments = Moments()
    assert Gate({"other:model": 60.0}, moments.take).paced(model) is model
    assert Gate({}, moments.take).paced(model) is model


async def test_in_all_but_time_a_paced_model_is_the_one_it_stands_for() -> None:
    model = ScriptedModel("Hello there.")
    moments = Moments()
    made = Gate({NAME: 60.0}, moments.take).paced(model)
    assert isinstance(made, Model)
    assert made.name == NAME
    message = UserMessage(text="How are you?")
    assert made.count(system="Be kind.", messages=[message]) == model.count(
        system="Be kind.", messages=[message]
    )
    usage = ModelUsage(input_tokens=10, output_tokens=10)
    assert made.cost_usd(usage) == model.cost_usd(usage)
    pieces = await pieces_of(made)
    assert text_of(pieces) == "Hello there."
    assert end_of(pieces)
    assert moments.taken == [(NAME, 60.0)]


async def test_each_call_waits_for_its_moment() -> None:
    model = paced(ScriptedModel("Hello.", "Again."), Moments(0.05))
    began = time.monotonic()
    await pieces_of(model)
    await pieces_of(model)
    assert time.monotonic() - began >= 0.1


async def test_a_process_holds_one_moment_at_most_and_calls_come_in_their_order() -> None:
    at_once: list[int] = []
    held = 0
    order: list[int] = []

    async def take(model: str, per_minute: float) -> float:
        nonlocal held
        held += 1
        at_once.append(held)
        await asyncio.sleep(0)
        held -= 1
        return 0.0

    gate = Gate({NAME: 60.0}, take)

    async def call(number: int) -> None:
        await gate.wait(NAME)
        order.append(number)

    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(call(number))
    assert order == list(range(20))
    assert set(at_once) == {1}


async def test_models_do_not_wait_for_each_other() -> None:
    async def take(model: str, per_minute: float) -> float:
        return 0.0 if model == "a:quick" else 60.0

    gate = Gate({"a:quick": 600.0, "a:slow": 1.0}, take)
    slow = asyncio.create_task(gate.wait("a:slow"))
    await asyncio.sleep(0)
    await asyncio.wait_for(gate.wait("a:quick"), 1.0)
    slow.cancel()


async def test_nobody_is_let_through_while_the_gate_cannot_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("endstop.models.paced._AGAIN_S", 0.01)
    moments = Moments(fails=3)
    assert text_of(await pieces_of(paced(ScriptedModel("Hello."), moments))) == "Hello."
    assert (moments.fails, len(moments.taken)) == (0, 1)


async def test_what_goes_wrong_at_a_gate_for_another_reason_is_told() -> None:
    async def take(model: str, per_minute: float) -> float:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await pieces_of(Paced(ScriptedModel("Hello."), Gate({NAME: 1.0}, take)))


async def test_a_call_that_waits_gives_signs_of_life() -> None:
    pieces = await pieces_of(paced(ScriptedModel("Hello."), Moments(0.1), sign_every_s=0.02))
    signs = [piece for piece in pieces if piece == ThoughtPiece(text="")]
    assert 2 <= len(signs) <= 5
    assert pieces[: len(signs)] == signs
    assert text_of(pieces) == "Hello."


async def test_whoever_stops_waiting_leaves_the_gate_to_the_next() -> None:
    moments = Moments(60.0)
    model = paced(ScriptedModel("Hello."), moments)
    first = asyncio.create_task(pieces_of(model))
    while not moments.taken:
        await asyncio.sleep(0)
    moments.away_s = 0.0
    second = asyncio.create_task(pieces_of(model))
    first.cancel()
    assert text_of(await asyncio.wait_for(second, 1.0)) == "Hello."
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_closing_early_ends_the_wait_too() -> None:
    moments = Moments(60.0)
    stream = streaming(paced(ScriptedModel("Hello."), moments, sign_every_s=0.01))
    assert await anext(stream) == ThoughtPiece(text="")
    before = len(asyncio.all_tasks())
    await stream.aclose()
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == before - 1


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf"), 0.001])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(InvalidValueError, match="calls per minute"):
        Gate({NAME: rate}, Moments().take)


# ── in a run ──────────────────────────────────────────────────────────────────────────────────────────────


def agent_with(model: Model, *, seconds: float | None = None, stall_s: float = 60.0) -> Agent:
    return make_agent(model=model, budget=Budget(turns=3, seconds=seconds), stall_s=stall_s)


async def ran(agent: Agent, meanwhile: Callable[[Runner, str], Awaitable[object]] | None = None) -> Run:
    runner = Runner(MemoryStore(), clock=SystemClock())
    run_id = await runner.start(agent, "Hello?")
    if meanwhile is not None:
        await asyncio.sleep(0.05)
        await meanwhile(runner, run_id)
    return await runner.wait(run_id)


async def test_to_wait_longer_than_a_silent_provider_may_take_is_no_failure() -> None:
    model = paced(ScriptedModel("Hello."), Moments(0.5), sign_every_s=0.05)
    run = await ran(agent_with(model, stall_s=0.2))
    assert isinstance(run.outcome, Completed)
    assert run.answer == "Hello."
    assert [fact.type for fact in run.facts if fact.type == "model.failed"] == []
    assert sum(isinstance(fact.payload, CallSettled) for fact in run.facts) == 1
    said = [fact.payload.text for fact in run.facts if isinstance(fact.payload, AssistantSaid)]
    assert said == ["Hello."]


async def test_a_call_that_fails_after_its_wait_is_tried_again_and_has_said_nothing() -> None:
    busy = ScriptedModel(fails(ModelOverloadedError("busy")), "Hello.")
    run = await ran(agent_with(paced(busy, Moments(0.1), sign_every_s=0.02)))
    said = [fact.payload.text for fact in run.facts if isinstance(fact.payload, AssistantSaid)]
    assert said == ["Hello."]
    assert isinstance(run.outcome, Completed)


async def test_the_time_limit_of_the_run_holds_while_it_waits() -> None:
    began = time.monotonic()
    run = await ran(agent_with(paced(ScriptedModel("Hello."), Moments(60.0)), seconds=0.3))
    assert time.monotonic() - began < 3.0
    assert not isinstance(run.outcome, Completed)
    assert run.audit()


@pytest.mark.guarantee("D10")
async def test_a_run_that_waits_for_its_moment_is_cancelled_at_once() -> None:
    began = time.monotonic()
    run = await ran(
        agent_with(paced(ScriptedModel("Hello."), Moments(60.0))),
        lambda runner, run_id: runner.cancel(run_id, by="ada"),
    )
    assert isinstance(run.outcome, Cancelled)
    assert time.monotonic() - began < 1.0
