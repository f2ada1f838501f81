"""What breaks around a run (policies, the store, the caller), and what is left of it (F3, H1, H5)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from loop_words import AttentiveModel, agent, of, run, runner

from endstop.errors import RecordTakenError, StoreError
from endstop.events.facts import Fact
from endstop.guard.clock import SystemClock
from endstop.kernel.agent import AgentState
from endstop.kernel.budget import Budget
from endstop.kernel.decision import DefaultDecisionTree, decision_tree
from endstop.kernel.observation import AssistantSaid, CallReserved, CallSettled, ToolFinished, TurnEnded
from endstop.kernel.outcome import Completed, Failed, Forced, StopRule
from endstop.ports import ModelRequest, Piece, TextPiece, ToolContext, ToolResult
from endstop.runner import Runner
from endstop.testing import MemoryStore, Runaway, ScriptedModel, calls, echo_tool, reply
from endstop.testing.adversaries.streams import Stubborn
from endstop.testing.counting import CountedModel
from endstop.testing.echo import PlainTool
from endstop.tools import tool

STEP = reply(text="I have looked.", calls=[calls("echo", page=1)])


def policy(name: str, **methods: Callable[..., Any]) -> str:
    """A decision tree with some methods of its own, registered under a name."""
    decision_tree(name)(type("Tree", (DefaultDecisionTree,), methods))
    return name


def raises(*_: object) -> Any:
    raise ZeroDivisionError("a policy with a bug")


def answers_nonsense(*_: object) -> Any:
    return 42


def goes_on(*_: object) -> Any:
    return True, "on and on"


def after_one_turn(answer: object) -> Callable[..., Any]:
    def should_continue(self: object, state: AgentState) -> Any:
        if not state.turn:
            return True, ""
        return answer() if callable(answer) else answer

    return should_continue


@pytest.mark.guarantee("F3")
@pytest.mark.parametrize(
    ("name", "methods"),
    [
        ("loop-raises", {"should_continue": after_one_turn(raises)}),
        ("loop-no-tuple", {"should_continue": after_one_turn("go on")}),
        ("loop-no-reason", {"should_continue": after_one_turn((False, ""))}),
        ("loop-none", {"should_continue": after_one_turn(None)}),
        ("loop-result-raises", {"on_tool_result": raises}),
        ("loop-result-nonsense", {"on_tool_result": answers_nonsense}),
    ],
)
async def test_a_policy_that_raises_or_answers_nonsense_ends_the_run_with_its_work_saved(
    name: str, methods: dict[str, Any]
) -> None:
    done = await run(agent(ScriptedModel(STEP), echo_tool(), policy=policy(name, **methods)))
    assert isinstance(done.outcome, Failed)
    assert done.outcome.code == "policy_error"
    assert done.answer == "I have looked."


@pytest.mark.guarantee("F3")
async def test_a_policy_can_end_a_run_in_its_own_words() -> None:
    name = policy("loop-enough", should_continue=after_one_turn((False, "that is enough")))
    done = await run(agent(ScriptedModel(STEP), echo_tool(), policy=name))
    assert isinstance(done.outcome, Forced)
    assert done.outcome.reason.rule is StopRule.POLICY
    assert "that is enough" in done.outcome.reason.message


@pytest.mark.guarantee("F3", "E11")
async def test_a_policy_that_always_goes_on_cannot_pass_a_limit() -> None:
    name = policy("loop-never-enough", should_continue=goes_on)
    done = await run(agent(Runaway(), echo_tool(), policy=name, budget=Budget(turns=4)))
    assert done.usage.turns == 4
    assert isinstance(done.outcome, Forced)
    assert done.outcome.reason.rule is StopRule.TURNS


class FailingStore(MemoryStore):
    """Takes so many appends, and then fails for as long as it is told to."""

    def __init__(self, *, after: int, error: StoreError | None = None) -> None:
        super().__init__()
        self.left = after
        self.error = error or StoreError("The disk is full", to_do="Make room")

    async def append(
        self, facts: Sequence[Fact], *, owner: str | None = None, conversation_id: str | None = None
    ) -> None:
        if self.left <= 0:
            raise self.error
        self.left -= 1
        await super().append(facts, owner=owner, conversation_id=conversation_id)


@pytest.mark.guarantee("H1", "H5")
@pytest.mark.parametrize("after", [1, 2, 3, 4, 5])
async def test_a_store_that_fails_in_mid_run_stops_it_and_the_record_can_be_resumed(after: int) -> None:
    store = FailingStore(after=after)
    pages = [calls("echo", page=page) for page in range(3)]
    with pytest.raises(StoreError, match="disk is full"):
        await runner(store).run(agent(ScriptedModel(*pages), echo_tool()), "Go.", run_id="r")
    store.left = 1_000
    done = await runner(store).resume("r", agent=agent(ScriptedModel("I went on."), echo_tool()))
    assert done.outcome == Completed(answer="I went on.")
    assert done.audit(), str(done.audit())


async def test_a_store_that_fails_before_anything_is_kept_starts_no_run() -> None:
    model = ScriptedModel("never asked")
    with pytest.raises(StoreError):
        await runner(FailingStore(after=0)).run(agent(model), "Go.")
    assert model.requests == []


@pytest.mark.guarantee("H1")
async def test_a_store_that_fails_under_a_sub_agent_stops_the_whole_run() -> None:
    store = FailingStore(after=4)
    child = agent(Runaway(), echo_tool(), budget=Budget(turns=20))

    @tool
    async def delegate(context: ToolContext) -> str:
        assert context.run_child is not None
        return str(await context.run_child(child, "Dig."))

    with pytest.raises(StoreError, match="disk is full"):
        await runner(store).run(agent(ScriptedModel(calls("delegate"), "Done."), delegate), "Go.")


@pytest.mark.guarantee("H1")
async def test_a_run_that_another_has_taken_stops_cleanly() -> None:
    store = MemoryStore()
    gate = asyncio.Event()

    async def wait(arguments: str) -> ToolResult:
        await gate.wait()
        return ToolResult(text="at last")

    first = runner(store)
    model = ScriptedModel(calls("wait"), "Mine.")
    run_id = await first.start(agent(model, PlainTool("wait", wait)), "Go.")
    while len(await store.record(run_id)) < 6:
        await asyncio.sleep(0)
    second = await runner(store).resume(run_id, agent=agent(ScriptedModel("Mine now.")), takes_over=True)
    gate.set()
    with pytest.raises(RecordTakenError):
        await first.wait(run_id)
    assert second.outcome == Completed(answer="Mine now.")
    assert [each.status.value for each in of(second.facts, ToolFinished)] == ["interrupted"]
    assert await store.record(run_id) == list(second.facts)


class SaysAndWaits(CountedModel):
    """Says half a sentence and then waits until it is closed."""

    def __init__(self) -> None:
        super().__init__(name="test:waits")
        self.has_spoken = asyncio.Event()
        self.is_closed = False

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        try:
            yield TextPiece(text="Half a sentence")
            self.has_spoken.set()
            await asyncio.get_running_loop().create_future()
        finally:
            self.is_closed = True


@pytest.mark.guarantee("D10", "H5")
async def test_a_caller_who_gives_up_leaves_a_run_that_can_be_resumed_with_its_text_kept() -> None:
    store = MemoryStore()
    model = SaysAndWaits()
    running = asyncio.create_task(runner(store).run(agent(model), "Go.", run_id="r"))
    await model.has_spoken.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert model.is_closed
    record = await store.record("r")
    assert [each.text for each in of(record, AssistantSaid)] == ["Half a sentence"]
    assert len(of(record, CallSettled)) == len(of(record, CallReserved)) == 1
    assert of(record, CallSettled)[0].output_tokens > 0
    assert len(of(record, TurnEnded)) == 1
    next_model = AttentiveModel("And the rest.")
    done = await runner(store).resume("r", agent=agent(next_model))
    assert next_model.texts() == ["Go.", "Half a sentence", "Go on."]
    assert done.outcome == Completed(answer="And the rest.")
    assert done.audit(), str(done.audit())


@pytest.mark.guarantee("D10", "H5", "D9")
async def test_a_caller_who_gives_up_during_a_tool_call_leaves_it_answered() -> None:
    store = MemoryStore()
    begun = asyncio.Event()

    async def wait(arguments: str) -> ToolResult:
        begun.set()
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    model = ScriptedModel(reply(text="I try.", calls=[calls("wait", page=page) for page in (1, 2)]))
    running = asyncio.create_task(runner(store).run(agent(model, PlainTool("wait", wait)), "Go.", run_id="r"))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    answers = of(await store.record("r"), ToolFinished)
    assert [each.status.value for each in answers] == ["cancelled", "cancelled"]
    assert all("may have had its effect" in each.result for each in answers)
    done = await runner(store).resume("r", agent=agent(ScriptedModel("Done.")))
    assert done.audit(), str(done.audit())


@pytest.mark.guarantee("D10")
async def test_a_caller_who_gives_up_twice_leaves_no_task_behind() -> None:
    before = asyncio.all_tasks()
    running = asyncio.create_task(runner().run(agent(Stubborn(for_s=0.5)), "Go."))
    await asyncio.sleep(0.02)
    for _ in range(3):
        running.cancel()
        await asyncio.sleep(0.01)
    with pytest.raises(asyncio.CancelledError):
        await running
    until_s = asyncio.get_running_loop().time() + 2
    while asyncio.all_tasks() != before and asyncio.get_running_loop().time() < until_s:
        await asyncio.sleep(0.01)
    assert asyncio.all_tasks() == before


async def test_a_run_without_a_store_is_kept_nowhere_and_ends_all_the_same() -> None:
    done = await Runner(None, clock=SystemClock()).run(agent(ScriptedModel("Done.")), "Go.")
    assert done.outcome == Completed(answer="Done.")
