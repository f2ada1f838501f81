"""The last turn, and what is kept when a limit ends a run (A3, A4, A5)."""

from __future__ import annotations

import pytest
from loop_words import AttentiveModel, agent, of, results, run, submit_tool, words_of

from endstop.kernel.budget import Budget
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import CallSettled, TurnStarted
from endstop.kernel.outcome import TRUNCATED_NOTE, UNABLE_ANSWER, Completed, Forced, StopRule
from endstop.testing import Runaway, calls, echo_tool, reply, says
from endstop.testing.adversaries.calls import IgnoresLastTurn

NO_TOOLS = "No tools are available. Write the best answer you can from what you have."


@pytest.mark.guarantee("A4")
async def test_on_the_last_turn_the_model_is_told_so_and_gets_no_tools() -> None:
    model = AttentiveModel(calls("echo", query="a"), calls("echo", query="b"), says("What I found."))
    done = await run(agent(model, echo_tool(), budget=Budget(turns=3)))
    assert [request.tools for request in model.requests] == [("echo",), ("echo",), ()]
    assert model.texts()[-1] == f"This is your last turn: the iteration limit is reached after it. {NO_TOOLS}"
    assert done.usage.turns == 3


@pytest.mark.guarantee("A4", "D1")
async def test_on_the_last_turn_of_a_tool_loop_only_the_terminal_tool_is_left() -> None:
    model = AttentiveModel(calls("echo", query="a"), calls("submit", grade=1))
    done = await run(agent(model, echo_tool(), terminal=submit_tool(), budget=Budget(turns=2)))
    assert [request.tools for request in model.requests] == [("echo", "submit"), ("submit",)]
    assert model.texts()[-1].endswith("Only submit is available: call it now, with the best result you have.")
    assert done.result == {"grade": 1}
    assert isinstance(done.outcome, Completed)
    assert done.outcome.warnings == ("Completed on the last turn the iteration limit allowed (2/2).",)


@pytest.mark.guarantee("A4", "D9")
async def test_other_tools_called_on_the_last_turn_are_not_run() -> None:
    model = AttentiveModel(calls("echo", query="a"), calls("echo", query="b"))
    done = await run(agent(model, echo_tool(), terminal=submit_tool(), budget=Budget(turns=2)))
    assert results(done)[-1] == ("skipped", "Not run: this is the last turn. Call submit now.")


@pytest.mark.guarantee("A3", "A4")
async def test_one_turn_is_exactly_one_turn_and_then_an_explanation() -> None:
    done = await run(agent(IgnoresLastTurn(), echo_tool(), budget=Budget(turns=1)))
    assert done.usage.turns == 1
    assert isinstance(done.outcome, Forced)
    assert done.outcome.reason.rule is StopRule.TURNS
    assert done.outcome.reason.message == "Iteration limit reached (1/1)."
    assert results(done) == [("skipped", "Not run: this is the last turn. Answer with what you have.")]


@pytest.mark.guarantee("A5")
async def test_without_any_text_a_forced_answer_says_that_it_could_not_be_completed() -> None:
    done = await run(agent(IgnoresLastTurn(), echo_tool(), budget=Budget(turns=3)))
    assert done.answer == UNABLE_ANSWER == "[Unable to complete: budget limit reached]"


@pytest.mark.guarantee("A5")
async def test_with_text_a_forced_answer_keeps_all_of_it_and_adds_the_note_after_a_blank_line() -> None:
    model = AttentiveModel(
        reply(text="First I look.", calls=[calls("echo", query="a")]),
        reply(text="Then I look again.", calls=[calls("echo", query="b")]),
    )
    done = await run(agent(model, echo_tool(), budget=Budget(turns=2)))
    assert isinstance(done.outcome, Forced)
    assert TRUNCATED_NOTE == "[Response truncated due to budget limit]"
    assert done.answer == f"First I look.\n\nThen I look again.\n\n{TRUNCATED_NOTE}"


@pytest.mark.guarantee("A5")
async def test_a_closing_answer_that_stands_by_itself_completes_with_a_warning() -> None:
    done = await run(agent(Runaway(), echo_tool(), budget=Budget(turns=3)))
    assert done.outcome == Completed(
        answer="This is what I have found so far.",
        warnings=("Completed on the last turn the iteration limit allowed (3/3).",),
    )


@pytest.mark.guarantee("A5", "C6")
async def test_a_closing_answer_that_wants_another_turn_is_forced() -> None:
    wants = says(
        'Half of it.<signal type="need_turn"><reason>more</reason><confidence>0.9</confidence></signal>'
    )
    done = await run(agent(AttentiveModel(wants), budget=Budget(turns=1)))
    assert isinstance(done.outcome, Forced)
    assert done.answer == f"Half of it.\n\n{TRUNCATED_NOTE}"


@pytest.mark.guarantee("A4", "A6")
@pytest.mark.parametrize(
    ("budget", "kind"),
    [
        (Budget(tokens=5_000), LimitKind.TOKENS),
        (Budget(cost_usd="0.006", turns=100), LimitKind.COST_USD),
        (Budget(model_calls=4), LimitKind.MODEL_CALLS),
    ],
)
async def test_what_is_set_aside_for_the_closing_turn_pays_for_it(budget: Budget, kind: LimitKind) -> None:
    done = await run(agent(Runaway(), echo_tool(), budget=budget, max_output_tokens=300))
    assert of(done.facts, TurnStarted)[-1].closing is kind
    assert isinstance(done.outcome, Completed)
    assert done.outcome.warnings
    assert done.answer == "This is what I have found so far."


@pytest.mark.guarantee("A4", "A11")
async def test_a_run_whose_time_runs_out_still_writes_its_answer() -> None:
    budget = Budget(seconds=0.6, finish_reserve=0.5)
    done = await run(agent(Runaway(delay_s=0.05), echo_tool(), budget=budget))
    assert of(done.facts, TurnStarted)[-1].closing is LimitKind.SECONDS
    assert done.answer == "This is what I have found so far."
    assert isinstance(done.outcome, Completed)
    assert "time limit" in done.outcome.warnings[0]


@pytest.mark.guarantee("A6")
async def test_a_budget_too_small_for_any_call_ends_the_run_without_one() -> None:
    model = AttentiveModel(says("never asked"))
    done = await run(agent(model, budget=Budget(tokens=3)))
    assert model.requests == []
    assert isinstance(done.outcome, Forced)
    assert done.outcome.reason.rule is StopRule.TOKENS
    assert done.answer == UNABLE_ANSWER


@pytest.mark.guarantee("A2")
async def test_hints_come_after_all_results_of_the_turn_and_once() -> None:
    step = reply(calls=[calls("echo", query="a"), calls("other", query="b")])
    model = AttentiveModel(step, reply(calls=[calls("echo", query="c")]), calls("echo", query="d"), "Done.")
    await run(agent(model, echo_tool(), echo_tool("other"), budget=Budget(turns=4, tokens=100_000)))
    kinds = [type(message).__name__ for message in model.heard[2]]
    assert kinds == [
        *("UserMessage", "AssistantMessage", "ToolMessage", "ToolMessage"),
        *("AssistantMessage", "ToolMessage", "UserMessage"),
    ]
    hint = "Approaching iteration limit (2/4). Consider wrapping up your response."
    assert model.texts(2)[-1] == hint
    assert model.texts(3).count(hint) == 1


async def test_a_context_limit_ends_a_run_before_a_call_that_would_pass_it() -> None:
    model = AttentiveModel(reply(text=words_of(60), calls=[calls("echo", query="x" * 400)]))
    budget = Budget(context_tokens=1_000, turns=50)
    done = await run(agent(model, echo_tool(), budget=budget, responses={"identical_call": "go_on"}))
    assert isinstance(done.outcome, Forced)
    assert done.outcome.reason.rule is StopRule.CONTEXT
    assert words_of(60).strip() in done.answer
    assert all(each.input_tokens <= 1_000 for each in of(done.facts, CallSettled))


@pytest.mark.parametrize("tokens", range(90, 400, 5))
async def test_a_hint_that_takes_the_last_room_of_an_ordinary_turn_breaks_nothing(tokens: int) -> None:
    budget = Budget(tokens=tokens, turns=20, warn_at={"tokens": 0.05}, finish_reserve=0.3)
    done = await run(agent(Runaway(), echo_tool(), budget=budget, max_output_tokens=80))
    assert isinstance(done.outcome, Forced | Completed)
