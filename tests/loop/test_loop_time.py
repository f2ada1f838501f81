"""Time limits cut off what hangs; somebody who cancels does, too (A11, D10)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from loop_words import agent, of, results, run, runner

from endstop.errors import ModelOverloadedError
from endstop.events.facts import ModelFailed
from endstop.kernel.budget import Budget
from endstop.kernel.observation import AssistantSaid, TurnEnded
from endstop.kernel.outcome import Cancelled, Completed, Failed, Forced, Outcome, StopRule
from endstop.loop import Delta, Retries
from endstop.ports import Model, ModelRequest, Piece, ReplyEnded, TextPiece, Tool, ToolRequest, ToolResult
from endstop.runner import Runner
from endstop.testing import Runaway, ScriptedModel, calls, echo_tool, fails, reply
from endstop.testing.adversaries.streams import DripsTokens, Hangs, Stubborn
from endstop.testing.adversaries.tools import ForkingTool, HangingTool, StubbornTool
from endstop.testing.bad_functions import block_for_ever, busy_loop
from endstop.testing.counting import CountedModel
from endstop.testing.echo import PlainTool
from endstop.tools import tool

LIMIT_S = 0.3
LATEST_S = LIMIT_S + 0.5


def require_in_time(outcome: Outcome | None, began_s: float) -> None:
    assert time.monotonic() - began_s < LATEST_S
    assert isinstance(outcome, Forced)
    assert outcome.reason.rule is StopRule.TIME


@pytest.mark.guarantee("A11")
@pytest.mark.parametrize(
    "model",
    [Hangs(), Hangs(pieces=2), DripsTokens(interval_s=0.04), Stubborn(for_s=1.5)],
    ids=["hangs", "hangs_mid_stream", "drips", "stubborn"],
)
async def test_a_time_limit_cuts_a_stream(model: Model) -> None:
    began_s = time.monotonic()
    done = await run(agent(model, budget=Budget(seconds=LIMIT_S)))
    require_in_time(done.outcome, began_s)


@pytest.mark.guarantee("A11")
@pytest.mark.parametrize(
    "slow",
    [
        HangingTool(),
        StubbornTool(for_s=1.5),
        ForkingTool(seconds=5),
        tool(block_for_ever),
        tool(busy_loop),
    ],
    ids=lambda one: one.spec.name,
)
async def test_a_time_limit_cuts_a_tool_also_one_that_blocks(slow: Tool) -> None:
    began_s = time.monotonic()
    model = ScriptedModel(
        reply(text="I try.", calls=[calls(slow.spec.name, **_seconds(slow))]), "Never said in time."
    )
    done = await run(agent(model, slow, budget=Budget(seconds=LIMIT_S, finish_reserve=0)))
    require_in_time(done.outcome, began_s)
    assert [status for status, _ in results(done)] == ["timed_out"]
    assert "I try." in done.answer


def _seconds(slow: Tool) -> dict[str, float]:
    return {"seconds": 1.5} if slow.spec.name in ("block_for_ever", "busy_loop") else {}


@pytest.mark.guarantee("A11")
async def test_a_tool_that_has_no_time_left_is_not_begun() -> None:
    begun: list[str] = []

    async def touch(arguments: str) -> ToolResult:
        begun.append(arguments)
        return ToolResult(text="touched")

    class Slow(CountedModel):
        async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
            time.sleep(0.12)  # a model that blocks the event loop, too
            yield ToolRequest(id="1", tool="touch", arguments="{}")
            yield ReplyEnded()

    done = await run(agent(Slow(name="test:slow"), PlainTool("touch", touch), budget=Budget(seconds=0.1)))
    assert begun == []
    assert isinstance(done.outcome, Forced)
    assert done.outcome.reason.rule is StopRule.TIME


@pytest.mark.guarantee("D11")
async def test_a_reply_from_which_nothing_comes_is_given_up_and_tried_again() -> None:
    retries = Retries(attempts=2, first_wait_s=0.001)
    done = await run(agent(Hangs(pieces=1), stall_s=0.05, retries=retries))
    assert isinstance(done.outcome, Failed)
    assert done.outcome.code == "model_unreachable"
    assert "Nothing came from the model for 0.05 s" in done.outcome.message
    assert [each.is_cut_off for each in of(done.facts, AssistantSaid)] == [True, True]


async def test_a_reply_that_keeps_coming_is_not_given_up() -> None:
    class Drips(CountedModel):
        async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
            for word in ["It", "takes", "its", "time,", "but", "it", "comes", "to", "its", "end."]:
                await asyncio.sleep(0.02)
                yield TextPiece(text=word + " ")
            yield ReplyEnded()

    done = await run(agent(Drips(name="test:drips"), stall_s=0.1))
    assert isinstance(done.outcome, Completed)


async def started(home: Runner, *parts: object, **options: object) -> tuple[str, asyncio.Event]:
    """A run in the background, and an event that is set when it has said something."""
    shown = asyncio.Event()

    def listen(delta: Delta) -> None:
        shown.set()

    run_id = await home.start(agent(*parts, **options), "Go.", listener=listen)  # type: ignore[arg-type]
    return run_id, shown


@pytest.mark.guarantee("D10")
async def test_cancelling_at_once_cuts_the_stream_and_keeps_what_was_said() -> None:
    home = runner()
    run_id, shown = await started(home, Hangs(pieces=2))
    await shown.wait()
    began_s = time.monotonic()
    assert await home.cancel(run_id, by="ada")
    done = await home.wait(run_id)
    assert time.monotonic() - began_s < 0.5
    assert isinstance(done.outcome, Cancelled)
    assert done.outcome.by == "ada"
    assert of(done.facts, AssistantSaid)[-1].text.strip() in done.answer
    assert done.answer
    assert done.audit(), str(done.audit())


@pytest.mark.guarantee("D10")
async def test_cancelling_at_once_ends_tools_and_waits_too() -> None:
    home = runner()
    run_id, shown = await started(
        home,
        ScriptedModel(reply(text="I try.", calls=[calls("hang"), calls("echo")])),
        HangingTool(),
        echo_tool(),
    )
    await shown.wait()
    called = home.bus(run_id).subscribe("tool.finished")
    while not called.take():
        await asyncio.sleep(0)
    assert await home.cancel(run_id, by="ada")
    done = await home.wait(run_id)
    assert isinstance(done.outcome, Cancelled)
    assert sorted(status for status, _ in results(done)) == ["cancelled", "executed"]


@pytest.mark.guarantee("D10")
async def test_cancelling_after_the_turn_lets_the_turn_finish() -> None:
    home = runner()
    gate = asyncio.Event()

    async def wait(arguments: str) -> ToolResult:
        await gate.wait()
        return ToolResult(text="finished")

    model = ScriptedModel(reply(text="I look.", calls=[calls("wait")]))
    run_id, shown = await started(home, model, PlainTool("wait", wait))
    await shown.wait()
    assert await home.cancel(run_id, by="ada", after_turn=True)
    gate.set()
    done = await home.wait(run_id)
    assert isinstance(done.outcome, Cancelled)
    assert results(done) == [("executed", "finished")]
    assert len(of(done.facts, TurnEnded)) == 1
    assert len(model.requests) == 1


@pytest.mark.guarantee("D10", "D11")
async def test_cancelling_ends_the_wait_before_a_retry() -> None:
    home = runner()
    run_id = await home.start(
        agent(
            ScriptedModel(fails(ModelOverloadedError("busy", retry_after_s=20.0))),
            retries=Retries(longest_wait_s=20.0),
            budget=Budget(turns=3),
        ),
        "Go.",
    )
    listening = home.bus(run_id).subscribe("model.failed")
    while not listening.take():
        await asyncio.sleep(0)
    assert await home.cancel(run_id, by="ada")
    done = await home.wait(run_id)
    assert isinstance(done.outcome, Cancelled)
    assert of(done.facts, ModelFailed)[0].retry_in_s == 20.0


async def test_a_cancelled_run_says_no_more() -> None:
    home = runner()
    run_id, shown = await started(home, Runaway(delay_s=0.001), echo_tool(), budget=Budget(turns=10_000))
    await asyncio.sleep(0.01)
    assert await home.cancel(run_id, by="ada")
    done = await home.wait(run_id)
    assert isinstance(done.outcome, Cancelled)
    assert not shown.is_set()
