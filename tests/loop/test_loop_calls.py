"""The tool calls of a reply: each gets one result; so many per turn, so many at once (D8, D9, B1, B5, B9)."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from loop_words import AttentiveModel, agent, of, results, run

from endstop.errors import ToolArgumentsError, ToolRefusedError
from endstop.events.facts import SourceCited
from endstop.kernel.budget import Budget
from endstop.kernel.observation import ToolCalled
from endstop.kernel.outcome import Completed, Forced, StopRule
from endstop.ports import Source, Tool, ToolContext, ToolMessage, ToolResult, ToolTraits
from endstop.testing import ScriptedModel, WantedCall, calls, calls_many, echo_tool, reply, says
from endstop.testing.adversaries.calls import RepeatsCall
from endstop.testing.echo import PlainTool
from endstop.tools import tool


def many(number: int, name: str = "echo") -> Any:
    return calls_many(*(calls(name, page=page) for page in range(number)))


def raising(error: Exception, **traits: Any) -> PlainTool:
    async def fail(arguments: str) -> ToolResult:
        raise error

    return PlainTool("fail", fail, traits=ToolTraits(**traits))


def giving(result: object) -> PlainTool:
    async def give(arguments: str) -> ToolResult:
        return cast("ToolResult", result)

    return PlainTool("fail", give)


class Crowd:
    """A tool that knows how many of its calls were under way at once."""

    def __init__(self) -> None:
        self.now = 0
        self.most = 0
        self.calls = 0
        self.tool = PlainTool("crowd", self._enter)

    async def _enter(self, arguments: str) -> ToolResult:
        self.calls += 1
        self.now += 1
        self.most = max(self.most, self.now)
        for _ in range(5):
            await asyncio.sleep(0)
        self.now -= 1
        return ToolResult(text="ok")


@pytest.mark.guarantee("D9")
async def test_at_most_so_many_calls_per_turn_are_run_and_the_rest_are_told_why_not() -> None:
    crowd = Crowd()
    model = ScriptedModel(many(5, "crowd"), "Done.")
    done = await run(agent(model, crowd.tool, budget=Budget(turns=5, tool_calls_per_turn=2)))
    assert crowd.calls == 2
    assert [status for status, _ in results(done)].count("skipped") == 3
    assert ("skipped", "Not run: at most 2 tool calls per turn. Ask again next turn.") in results(done)
    assert isinstance(done.outcome, Completed)


@pytest.mark.guarantee("D9")
@pytest.mark.parametrize(("most", "seen"), [(1, 1), (3, 3), (None, 8)])
async def test_at_most_so_many_calls_run_at_once(most: int | None, seen: int) -> None:
    crowd = Crowd()
    budget = Budget(turns=5, parallel_tools=most)
    await run(agent(ScriptedModel(many(8, "crowd"), "Done."), crowd.tool, budget=budget))
    assert crowd.calls == 8
    assert crowd.most == seen


@pytest.mark.guarantee("D8", "D9")
async def test_the_calls_of_a_truncated_reply_are_not_run_and_the_model_is_told_to_be_shorter() -> None:
    crowd = Crowd()
    model = AttentiveModel(reply(text="So", calls=[calls("crowd")], truncated=True), "Done.")
    done = await run(agent(model, crowd.tool))
    assert crowd.calls == 0
    told = "Not run: your reply was cut off at its greatest length. Be shorter, and ask again."
    assert results(done) == [("skipped", told)]
    assert model.texts()[-1] == told


@pytest.mark.guarantee("D8")
async def test_a_truncated_text_is_no_answer_and_the_model_is_asked_to_be_shorter() -> None:
    model = AttentiveModel(reply(text="It goes on and", truncated=True), "It is here.")
    done = await run(agent(model))
    assert model.texts()[-1].endswith("Be shorter, and say it again as a whole.")
    assert done.answer == "It is here."


@pytest.mark.guarantee("D9")
async def test_two_calls_with_one_id_get_a_result_each() -> None:
    twins = reply(
        calls=[WantedCall(tool="echo", arguments=f'{{"page": {page}}}', id="same") for page in (1, 2)]
    )
    model = AttentiveModel(twins, "Done.")
    done = await run(agent(model, echo_tool()))
    answers = [each for each in model.heard[1] if isinstance(each, ToolMessage)]
    assert [each.text for each in answers] == ['{"page": 1}', '{"page": 2}']
    assert len({each.call for each in answers}) == 2
    assert len(of(done.facts, ToolCalled)) == 2


@pytest.mark.guarantee("D9", "B2")
@pytest.mark.parametrize(
    ("broken", "status", "words"),
    [
        (raising(ToolRefusedError("Not for you")), "refused", "Not for you."),
        (raising(ToolArgumentsError("No such page")), "failed", "No such page."),
        (raising(RuntimeError("it broke")), "failed", "The tool failed with RuntimeError: it broke"),
        (giving("no result"), "failed", "'no result'"),
        (giving(ToolResult(text=cast("str", 42))), "executed", "42"),
    ],
)
async def test_whatever_a_tool_does_the_model_gets_one_result(broken: Tool, status: str, words: str) -> None:
    done = await run(agent(ScriptedModel(calls("fail"), "Done."), broken))
    [(found, text)] = results(done)
    assert found == status
    assert words in text
    assert isinstance(done.outcome, Completed)


@pytest.mark.guarantee("D9")
async def test_an_unknown_tool_is_answered_with_what_was_probably_meant() -> None:
    done = await run(agent(ScriptedModel(calls("ehco"), "Done."), echo_tool()))
    [(status, text)] = results(done)
    assert status == "failed"
    assert text == "There is no tool 'ehco'. Allowed: echo. Probably echo was meant."


async def test_without_tools_an_unknown_one_is_answered_with_that() -> None:
    done = await run(agent(ScriptedModel(calls("magic"), "Done.")))
    assert "none: there are no tools here" in results(done)[0][1]


async def test_of_many_tools_only_some_are_listed() -> None:
    tools = [echo_tool(f"tool_{number}") for number in range(40)]
    done = await run(agent(ScriptedModel(calls("zzz"), "Done."), *tools))
    assert "and 10 more" in results(done)[0][1]


async def test_results_are_cut_to_what_a_model_can_read() -> None:
    model = ScriptedModel(calls("echo", text="x" * 5_000), "Done.")
    done = await run(agent(model, echo_tool(), max_result_chars=1_000))
    [(_, text)] = results(done)
    assert len(text) == 1_000
    assert "characters left out" in text


async def test_a_tool_that_takes_too_long_is_timed_out_by_its_own_limit() -> None:
    async def wait(arguments: str) -> ToolResult:
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    slow = PlainTool("wait", wait, traits=ToolTraits(timeout_s=0.05))
    done = await run(agent(ScriptedModel(calls("wait"), "Done."), slow))
    assert results(done) == [
        ("timed_out", "Timed out: no result within 0.05 s, or within the time the run has left.")
    ]
    assert isinstance(done.outcome, Completed)


@pytest.mark.guarantee("B5")
async def test_a_call_that_fails_the_same_way_three_times_is_tripped_and_not_run_again() -> None:
    tried: list[str] = []

    async def fail(arguments: str) -> ToolResult:
        tried.append(arguments)
        raise RuntimeError(f"refused at 12:00:0{len(tried)}")

    pages = [reply(calls=[calls("fail", page=1), calls("echo", page=number)]) for number in range(6)]
    model = AttentiveModel(*pages, "Done.")
    responses = {"identical_call": "go_on", "cycle": "go_on", "error_streak": "go_on"}
    done = await run(agent(model, PlainTool("fail", fail), echo_tool(), responses=responses))
    assert len(tried) == 3
    tripped = [text for status, text in results(done) if status == "tripped"]
    assert len(tripped) == 3
    assert tripped[0].endswith("Try something else.")


@pytest.mark.guarantee("B5")
async def test_a_tool_that_changes_something_resets_what_was_tripped() -> None:
    tried: list[str] = []

    async def fail(arguments: str) -> ToolResult:
        tried.append(arguments)
        raise RuntimeError("refused")

    change = echo_tool("change", traits=ToolTraits(changes_something=True))
    fails_once, changes = calls("fail"), calls("change", to=1)
    model = ScriptedModel(
        fails_once, fails_once, fails_once, fails_once, changes, fails_once, "Done.", on_exhausted="finish"
    )
    responses = {"identical_call": "go_on", "error_streak": "go_on"}
    done = await run(agent(model, PlainTool("fail", fail), change, responses=responses))
    assert len(tried) == 4
    assert [status for status, _ in results(done)].count("tripped") == 1


@pytest.mark.guarantee("B1")
async def test_the_same_call_three_times_in_a_row_is_no_progress() -> None:
    done = await run(agent(RepeatsCall(), echo_tool()))
    assert isinstance(done.outcome, Forced)
    assert done.outcome.reason.rule is StopRule.NO_PROGRESS
    assert done.usage.turns == 3


@pytest.mark.guarantee("B1")
async def test_repeats_in_one_turn_are_no_progress_too_and_those_after_them_are_not_run() -> None:
    crowd = Crowd()
    five = calls_many(*(calls("crowd") for _ in range(5)))
    done = await run(agent(ScriptedModel(five), crowd.tool, budget=Budget(turns=9, parallel_tools=1)))
    assert isinstance(done.outcome, Forced)
    assert done.outcome.reason.rule is StopRule.NO_PROGRESS
    assert done.usage.turns == 1
    assert {status for status, _ in results(done)} <= {"executed", "cancelled"}
    assert crowd.calls < 5


@pytest.mark.guarantee("B1")
async def test_a_cursor_may_be_repeated_while_it_brings_something_new() -> None:
    pages = iter(range(6))

    async def turn_page(arguments: str) -> ToolResult:
        return ToolResult(text=f"page {next(pages)}")

    cursor = PlainTool("next_page", turn_page, traits=ToolTraits(is_cursor=True))
    model = ScriptedModel(*[calls("next_page")] * 6, "Done.")
    done = await run(agent(model, cursor))
    assert isinstance(done.outcome, Completed)


@pytest.mark.guarantee("B9")
async def test_declared_waiting_is_not_no_progress() -> None:
    answers = iter([True] * 6)

    async def look(arguments: str) -> ToolResult:
        is_waiting = next(answers, False)
        return ToolResult(text="Still building." if is_waiting else "Built.", is_waiting=is_waiting)

    model = ScriptedModel(*[calls("look")] * 7, "It is built.")
    done = await run(agent(model, PlainTool("look", look)))
    assert done.outcome == Completed(answer="It is built.")
    assert done.usage.turns == 8


@pytest.mark.guarantee("D1")
async def test_the_terminal_tool_runs_after_the_others_of_its_reply_and_ends_the_loop() -> None:
    order: list[str] = []

    async def note(arguments: str) -> ToolResult:
        await asyncio.sleep(0)
        order.append("note")
        return ToolResult(text="noted")

    async def end(arguments: str) -> ToolResult:
        order.append("end")
        return ToolResult(text="The end.", value=42)

    model = ScriptedModel(calls_many(calls("end"), calls("note")))
    done = await run(agent(model, PlainTool("note", note), terminal=PlainTool("end", end)))
    assert order == ["note", "end"]
    assert done.result == 42
    assert done.outcome == Completed(answer="The end.")


@pytest.mark.guarantee("D1")
async def test_a_terminal_tool_that_refuses_its_arguments_lets_the_loop_go_on() -> None:
    @tool
    def submit(grade: int) -> ToolResult:
        return ToolResult(text=f"Grade {grade}.", value=grade)

    model = ScriptedModel(calls("submit", grade="no number"), calls("submit", grade=2))
    done = await run(agent(model, terminal=submit))
    assert [status for status, _ in results(done)] == ["failed", "executed"]
    assert done.result == 2
    assert isinstance(done.outcome, Completed)


async def test_sources_that_a_tool_found_are_cited_in_the_record() -> None:
    async def search(arguments: str) -> ToolResult:
        found = tuple(Source(title="login", location=f"src/login.py:{line}") for line in range(30))
        return ToolResult(text="found", sources=found)

    done = await run(agent(ScriptedModel(calls("search"), "Done."), PlainTool("search", search)))
    assert len(of(done.facts, SourceCited)) == 20
    assert of(done.facts, SourceCited)[0].location == "src/login.py:0"


@pytest.mark.parametrize(
    "nonsense", [None, 7, "text", [1, None], [Source(title=cast("str", 1), location="x")]]
)
async def test_sources_that_are_none_are_passed_over(nonsense: object) -> None:
    found = ToolResult(text="found", sources=cast("Any", nonsense))
    done = await run(agent(ScriptedModel(calls("fail"), "Done."), giving(found)))
    assert of(done.facts, SourceCited) == []
    assert results(done) == [("executed", "found")]
    assert isinstance(done.outcome, Completed)


async def test_a_tool_knows_its_call_and_how_much_time_is_left() -> None:
    known: list[ToolContext] = []

    @tool
    def look(context: ToolContext) -> str:
        known.append(context)
        return "ok"

    done = await run(agent(ScriptedModel(calls("look"), "Done."), look, budget=Budget(turns=3, seconds=20)))
    [context] = known
    assert context.run_id == done.id
    assert (context.scope, context.turn, context.call) == ("run", 0, "t1_1")
    assert context.seconds_left is not None
    assert 10 < context.seconds_left < 20


async def test_odd_text_from_a_tool_or_a_model_can_be_read_again() -> None:
    odd = "a lone \ud800 surrogate and a \0 NUL"
    model = ScriptedModel(reply(text=odd, calls=[calls("echo", text=odd)]), says(odd))
    done = await run(agent(model, echo_tool()))
    assert isinstance(done.outcome, Completed)
