"""The oracle from question to ending: its guards, its limits, and how it reads its agent's signals."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest
from oracle_words import (
    AttentiveModel,
    SlowModel,
    ask,
    need_turn,
    of,
    oracle,
    our_tree,
    runner,
    signal,
    with_turn,
)

from endstop.errors import ModelAccessError, ModelBrokeOffError
from endstop.events.facts import SourceCited
from endstop.events.steered import (
    CapabilityMissing,
    FallbackChosen,
    PromptSet,
    QueryClassified,
    TreeChosen,
    TreeTraced,
)
from endstop.kernel.budget import Budget
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import (
    AssistantSaid,
    ScopeEnded,
    ScopeOpened,
    SignalGiven,
    ToolCalled,
    ToolFinished,
    TurnStarted,
)
from endstop.kernel.outcome import (
    TRUNCATED_NOTE,
    UNABLE_ANSWER,
    AwaitingUser,
    Cancelled,
    Completed,
    Failed,
    Forced,
    StopRule,
)
from endstop.kernel.verdict import LimitWarned
from endstop.loop.journal import Delta
from endstop.ports import Source, ToolResult
from endstop.testing import MemoryStore, ScriptedModel, calls, echo_tool, fails, reply
from endstop.testing.echo import PlainTool

LONG = " ".join(f"Sentence {number} of many." for number in range(400))
SUFFICIENT = signal("context_sufficient", 0.9, sources_found=1)


def budget(turns: int = 10, **more: object) -> Budget:
    return Budget(turns=turns, tokens=500_000, seconds=30, **more)  # pyright: ignore[reportArgumentType]


def broken_tool(name: str = "search_code") -> PlainTool:
    async def broken(_: str) -> ToolResult:
        raise OSError("the index is gone")

    return PlainTool(name, broken, description="Searches, and fails.")


def many_reasons() -> list[str]:
    return [f"Step {number}. {need_turn(f'reason {number}')}" for number in range(200)]


# ── the way through ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.guarantee("E7")
async def test_a_question_is_classified_searched_for_and_answered() -> None:
    model = AttentiveModel(calls("echo", text="ducks"), f"They are counted in pond.py. {SUFFICIENT}")
    done = await ask(oracle(model, echo_tool()))
    assert done.outcome == Completed(answer="They are counted in pond.py.")
    assert [one.query_type for one in of(done.facts, QueryClassified)] == ["code"]
    assert [one.tool for one in of(done.facts, ToolCalled)] == ["echo"]
    assert len(of(done.facts, TurnStarted)) == 2


async def test_an_answer_without_a_signal_and_without_tool_calls_is_the_answer() -> None:
    done = await ask(oracle(ScriptedModel("In pond.py.")))
    assert done.outcome == Completed(answer="In pond.py.")


@pytest.mark.guarantee("E8")
async def test_small_talk_is_offered_no_tools() -> None:
    model = AttentiveModel("Hello!")
    await ask(oracle(model, echo_tool()), "hello there!")
    assert model.requests[0].tools == ()


@pytest.mark.guarantee("E9")
async def test_the_same_question_is_asked_with_the_same_prompt() -> None:
    first, second = AttentiveModel("In pond.py."), AttentiveModel("In pond.py.")
    for model in (first, second):
        await ask(oracle(model, echo_tool()))
    assert first.systems == second.systems
    assert first.systems[0]


async def test_after_an_error_the_prompt_has_a_hint_how_to_recover() -> None:
    model = AttentiveModel(calls("search_code", query="ducks"), f"I cannot search. {SUFFICIENT}")
    await ask(oracle(model, broken_tool()))
    assert model.systems[0] != model.systems[1]
    assert len(model.systems[1]) > len(model.systems[0])


async def test_the_record_has_the_tree_the_prompt_and_what_the_nodes_did() -> None:
    done = await ask(oracle(ScriptedModel("In pond.py.")))
    [chosen] = of(done.facts, TreeChosen)
    assert chosen.tree == "oracle-agent"
    assert of(done.facts, PromptSet)
    assert any("success" in step for traced in of(done.facts, TreeTraced) for step in traced.steps)


# ── limits ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.guarantee("A3", "E11")
@pytest.mark.parametrize("most", [1, 2, 3, 30])
async def test_the_last_turn_is_granted_and_then_completion_is_forced(most: int) -> None:
    done = await ask(oracle(ScriptedModel(*many_reasons()), budget=budget(most)))
    started = of(done.facts, TurnStarted)
    assert len(started) == most
    assert [one.closing for one in started] == [None] * (most - 1) + [LimitKind.TURNS]
    assert isinstance(done.outcome, Forced)
    assert done.outcome.reason.rule is StopRule.TURNS
    assert done.outcome.answer.endswith(TRUNCATED_NOTE)


@pytest.mark.guarantee("E11")
@pytest.mark.parametrize("bound", [1, 2, 5, 100, 10_000])
async def test_the_bound_of_the_tree_s_own_loop_changes_nothing_about_the_limit(bound: int) -> None:
    tree = our_tree("oracle-agent", ('max = "max_turns"', f"max = {bound}"))
    done = await ask(oracle(ScriptedModel(*many_reasons()), budget=budget(5), tree=tree))
    assert len(of(done.facts, TurnStarted)) == 5
    assert isinstance(done.outcome, Forced)


@pytest.mark.guarantee("A5")
async def test_with_nothing_said_a_forced_completion_says_so() -> None:
    model = ScriptedModel(lambda request: calls("echo", text=str(len(request.messages))))
    done = await ask(oracle(model, echo_tool(), budget=budget(3)))
    assert isinstance(done.outcome, Forced)
    assert done.outcome.answer == UNABLE_ANSWER


@pytest.mark.guarantee("A5")
async def test_an_answer_on_the_last_turn_is_completed_with_a_warning() -> None:
    model = ScriptedModel(*many_reasons()[:2], "In pond.py.")
    done = await ask(oracle(model, budget=budget(3)))
    assert isinstance(done.outcome, Completed)
    assert done.outcome.answer == "In pond.py."
    assert done.outcome.warnings


@pytest.mark.guarantee("A2")
async def test_the_warning_comes_once_at_seventy_percent() -> None:
    done = await ask(oracle(ScriptedModel(*many_reasons()), budget=budget(10)))
    warned = [one for one in of(done.facts, LimitWarned) if one.limit_type is LimitKind.TURNS]
    assert [one.turn for one in warned] == [7]


@pytest.mark.guarantee("B3", "E7")
async def test_three_equal_reasons_end_in_force_completion_before_the_turn_limit() -> None:
    same = [f"Looking, step {n}. {need_turn('I need MORE  context')}" for n in range(30)]
    done = await ask(oracle(ScriptedModel(*same), budget=budget(30)))
    assert len(of(done.facts, TurnStarted)) == 3
    assert isinstance(done.outcome, Forced)
    assert done.outcome.reason.rule is StopRule.NO_PROGRESS
    assert "Looking, step 0." in done.outcome.answer


@pytest.mark.guarantee("A11")
async def test_the_time_limit_halts_a_stream() -> None:
    model = ScriptedModel(LONG, piece_chars=5)
    slow = SlowModel(model)
    began_s = time.monotonic()
    done = await ask(oracle(slow, budget=Budget(turns=5, tokens=500_000, seconds=0.4)))
    assert time.monotonic() - began_s < 0.4 + 0.5
    assert isinstance(done.outcome, Forced)
    assert done.outcome.reason.rule is StopRule.TIME
    assert of(done.facts, AssistantSaid)[0].is_cut_off


# ── signals ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.guarantee("C3", "C5", "C8")
async def test_a_failing_tool_leads_to_a_need_turn_that_is_parsed_logged_counted_stripped_and_acted_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "endstop.oracle")
    model = AttentiveModel(
        reply(
            text=f"The search failed. {need_turn('the search failed')}",
            calls=[calls("search_code", query="x")],
        ),
        f"I will try otherwise. {need_turn('the search failed')}",
        f"It is in pond.py. {SUFFICIENT}",
    )
    done = await ask(oracle(model, broken_tool()))
    assert done.outcome == Completed(answer="It is in pond.py.")
    assert [one.status.value for one in of(done.facts, ToolFinished)] == ["failed"]
    assert [one.reason for one in of(done.facts, SignalGiven)][:2] == ["the search failed"] * 2
    assert sum("need_turn" in line.getMessage() for line in caplog.records) == 2
    assert all("<signal" not in one.text for one in of(done.facts, AssistantSaid))
    assert len(of(done.facts, TurnStarted)) == 3


@pytest.mark.guarantee("C6")
async def test_a_need_turn_without_confidence_does_not_go_on() -> None:
    done = await ask(oracle(ScriptedModel(f"In pond.py. {need_turn(confidence=0.4)}")))
    assert isinstance(done.outcome, Completed)
    assert len(of(done.facts, TurnStarted)) == 1


@pytest.mark.guarantee("C6")
async def test_a_partial_answer_is_completed_with_its_caveat() -> None:
    said = f"In pond.py. {signal('partial_answer', 0.8, missing='the tests', caveat='I did not run it.')}"
    done = await ask(oracle(ScriptedModel(said)))
    assert isinstance(done.outcome, Completed)
    assert done.outcome.answer == "In pond.py."
    [caveat] = done.outcome.warnings
    assert "I did not run it." in caveat
    assert "the tests" in caveat


@pytest.mark.guarantee("C6")
async def test_a_missing_capability_is_put_on_record() -> None:
    said = f"I cannot run it. {signal('need_capability', 0.9, capability='run_tests', reason='to be sure')}"
    done = await ask(oracle(ScriptedModel(said)))
    [gap] = of(done.facts, CapabilityMissing)
    assert (gap.capability, gap.reason) == ("run_tests", "to be sure")
    assert isinstance(done.outcome, Completed)
    assert done.outcome.warnings


@pytest.mark.guarantee("C6", "C7")
async def test_stuck_goes_through_the_fallback_and_keeps_what_was_written() -> None:
    wrote = "The counting happens in pond.py, but I cannot find who calls it. " * 5
    model = ScriptedModel(f"{wrote}{signal('stuck', 0.8, blocker='no caller found')}", on_exhausted="finish")
    done = await ask(oracle(model))
    assert of(done.facts, FallbackChosen)
    assert isinstance(done.outcome, Completed | AwaitingUser)
    assert wrote.strip() in str(of(done.facts, AssistantSaid)[0].text)


@pytest.mark.guarantee("C7")
async def test_without_a_signal_for_three_turns_the_fallback_is_asked() -> None:
    model = ScriptedModel(
        *(calls("echo", text=f"try {number}") for number in range(5)), "In pond.py.", on_exhausted="finish"
    )
    done = await ask(oracle(model, echo_tool()))
    assert [one.turn for one in of(done.facts, FallbackChosen)][:1] == [2]
    assert done.outcome == Completed(answer="In pond.py.")


@pytest.mark.guarantee("C7")
@pytest.mark.parametrize("kind", ["context_sufficient", "partial_answer", "need_capability", "need_turn"])
async def test_a_signal_that_is_not_sure_goes_through_the_fallback(kind: str) -> None:
    done = await ask(oracle(ScriptedModel(f"Perhaps. {signal(kind, 0.1)}", "In pond.py.")))
    assert of(done.facts, FallbackChosen)[0].turn == 0


@pytest.mark.guarantee("C7")
async def test_escalating_asks_the_user_and_the_answer_lets_it_go_on() -> None:
    store = MemoryStore()
    model = AttentiveModel(
        f"Which of the two ponds do you mean? {signal('stuck', 0.9, blocker='unclear which one you mean')}",
        "In pond.py, then.",
    )
    agent = oracle(model)
    home = runner(store)
    paused = await home.run(agent, "Where are they counted?")
    assert isinstance(paused.outcome, AwaitingUser)
    assert "Which of the two ponds" in paused.outcome.question
    done = await home.resume(paused.id, agent=agent, answer="The large one.")
    assert isinstance(done.outcome, Completed)
    assert "The large one." in model.texts()


@pytest.mark.guarantee("C6", "A7")
async def test_a_recommended_delegation_starts_a_child_run_on_a_part_of_the_budget() -> None:
    wish = signal("delegation_recommended", 0.9, reason="it is long", scope="Read every pond file.")
    model = AttentiveModel(f"That is much. {wish}", "The sub-agent says: 12 ducks.", "12 ducks. ")
    done = await ask(oracle(model, budget=budget(10)))
    [opened] = of(done.facts, ScopeOpened)
    assert opened.budget.turns is not None
    assert opened.budget.turns <= 5
    assert len(of(done.facts, ScopeEnded)) == 1
    assert isinstance(done.outcome, Completed)
    assert any("12 ducks" in text for text in model.texts())


# ── what goes wrong ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_model_that_fails_for_good_ends_the_run_with_what_there_was() -> None:
    model = ScriptedModel(*many_reasons()[:2], fails(ModelAccessError("no key")))
    done = await ask(oracle(model))
    assert isinstance(done.outcome, Failed)
    assert "Step 0." in done.outcome.answer
    assert len(of(done.facts, TurnStarted)) == 3


@pytest.mark.guarantee("H5", "E7")
@pytest.mark.parametrize("at", range(0, 60, 7))
async def test_a_connection_that_drops_at_any_piece_loses_nothing(at: int) -> None:
    text = f"They are counted in pond.py, by hand. {SUFFICIENT}"
    model = ScriptedModel(fails(ModelBrokeOffError("dropped"), after=text[:at]), text, piece_chars=3)
    done = await ask(oracle(model))
    assert done.outcome == Completed(answer="They are counted in pond.py, by hand.")
    said = of(done.facts, AssistantSaid)
    assert said[0].text == text[:at].split("<")[0].strip() or said[0].text.startswith("They") or at == 0


@pytest.mark.guarantee("D10")
async def test_cancelling_in_the_middle_of_a_reply_keeps_what_had_come() -> None:
    home = runner()
    told = asyncio.Event()

    def listen(_: Delta) -> None:
        told.set()

    slow = SlowModel(ScriptedModel(LONG, piece_chars=5))
    run_id = await home.start(oracle(slow), "Where?", listener=listen)
    await told.wait()
    began_s = time.monotonic()
    await home.cancel(run_id, by="me")
    done = await home.wait(run_id)
    assert time.monotonic() - began_s < 0.5
    assert isinstance(done.outcome, Cancelled)
    assert done.outcome.answer.startswith("Sente")
    assert done.audit()


@pytest.mark.guarantee("E1")
async def test_a_guard_in_the_tree_halts_a_reply_while_it_streams() -> None:
    tree = with_turn(
        (
            'BT.inverter { BT.condition("budget.is_out_of_time") },',
            'BT.inverter { BT.condition("reply.is_longer_than", { args = { chars = 100 } }) },',
        )
    )
    slow = SlowModel(ScriptedModel(LONG, "Short.", piece_chars=5))
    done = await ask(oracle(slow, tree=tree, budget=budget(2)))
    first = of(done.facts, AssistantSaid)[0]
    assert first.is_cut_off
    assert 100 < len(first.text) < 400
    assert of(done.facts, AssistantSaid)[1].text == "Short."
    assert isinstance(done.outcome, Completed)


async def test_sources_of_tools_stand_in_the_record() -> None:
    async def found(_: str) -> ToolResult:
        return ToolResult(text="pond.py:3 count()", sources=(Source(title="pond", location="pond.py:3"),))

    model = ScriptedModel(calls("search_code", query="count"), f"See pond.py:3. {SUFFICIENT}")
    done = await ask(oracle(model, PlainTool("search_code", found, description="Searches.")))
    assert [one.location for one in of(done.facts, SourceCited)] == ["pond.py:3"]
