"""Signals in the loop: where they lead, and that nobody sees them (C3, C6); empty replies, prose (B4, B6)."""

from __future__ import annotations

import pytest
from loop_words import AttentiveModel, agent, of, run, submit_tool

from endstop.errors import ModelBrokeOffError
from endstop.events.facts import HintGiven, SignalRejected
from endstop.kernel.budget import Budget
from endstop.kernel.observation import AssistantSaid, SignalGiven
from endstop.kernel.outcome import Completed, Failed, Forced, StopRule
from endstop.loop import Delta
from endstop.testing import ScriptedModel, calls, echo_tool, fails, reply, says
from endstop.testing.adversaries.calls import OnlyProse, RepliesEmptily
from endstop.testing.adversaries.signals import need_turn_signal


def signal(type_: str, confidence: float) -> str:
    return f'<signal type="{type_}"><reason>why</reason><confidence>{confidence}</confidence></signal>'


@pytest.mark.guarantee("C6")
@pytest.mark.parametrize(("confidence", "turns"), [(0.5, 2), (0.9, 2), (0.49, 1), (0.0, 1)])
async def test_need_turn_goes_on_from_a_confidence_of_a_half(confidence: float, turns: int) -> None:
    model = AttentiveModel(says("So far." + signal("need_turn", confidence)), "The end.")
    done = await run(agent(model))
    assert done.usage.turns == turns
    assert done.answer == ("The end." if turns == 2 else "So far.")
    if turns == 2:
        assert model.texts(1) == ["Where is the login?", "So far.", "Go on."]


@pytest.mark.guarantee("C6", "C8")
@pytest.mark.parametrize("type_", ["context_sufficient", "stuck", "need_capability", "partial_answer"])
async def test_every_other_signal_ends_with_what_the_agent_wrote(type_: str) -> None:
    done = await run(agent(ScriptedModel(says("This much." + signal(type_, 0.9)))))
    assert done.outcome == Completed(answer="This much.")
    assert [each.type for each in of(done.facts, SignalGiven)] == [type_]


@pytest.mark.guarantee("B3")
async def test_the_same_reason_three_times_is_no_progress() -> None:
    model = ScriptedModel(says("More." + signal("need_turn", 0.9)))
    done = await run(agent(model))
    assert isinstance(done.outcome, Forced)
    assert done.outcome.reason.rule is StopRule.NO_PROGRESS
    assert done.usage.turns == 3


@pytest.mark.guarantee("C3")
@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, None])
async def test_no_part_of_a_signal_is_ever_shown(size: int | None) -> None:
    shown: list[Delta] = []
    text = "Is a <b> less than c < d? " + need_turn_signal(1) + " And <sig"
    model = ScriptedModel(says(text), says("Done."), piece_chars=size)
    await run(agent(model), listener=shown.append)
    first = [delta.text for delta in shown if delta.turn == 0]
    assert "".join(first).replace(" ", "") == "Isa<b>lessthanc<d?And<sig"
    assert not any("signal" in piece or "reason" in piece for piece in first)


@pytest.mark.guarantee("C3")
async def test_thoughts_are_shown_as_such() -> None:
    shown: list[Delta] = []
    await run(agent(ScriptedModel(reply(thought="Hm.", text="Yes."))), listener=shown.append)
    assert [(delta.text, delta.is_thought) for delta in shown] == [("Hm.", True), ("Yes.", False)]


async def test_what_looked_like_a_signal_when_a_reply_broke_off_is_shown_with_it() -> None:
    shown: list[Delta] = []
    model = ScriptedModel(fails(ModelBrokeOffError("lost"), after="One <si"), "Done.")
    await run(agent(model), listener=shown.append)
    assert "".join(delta.text for delta in shown) == "One <siDone."


@pytest.mark.guarantee("H3")
async def test_a_listener_that_raises_is_not_called_again_and_harms_nothing() -> None:
    heard: list[Delta] = []

    def listen(delta: Delta) -> None:
        heard.append(delta)
        raise RuntimeError("deaf")

    done = await run(agent(ScriptedModel("One two three four.", piece_chars=4)), listener=listen)
    assert len(heard) == 1
    assert done.outcome == Completed(answer="One two three four.")


@pytest.mark.guarantee("C4")
async def test_a_malformed_signal_counts_as_none_and_is_logged() -> None:
    done = await run(agent(ScriptedModel('Well.<signal type="need_turn">no field</signal>')))
    assert done.outcome == Completed(answer="Well.")
    assert len(of(done.facts, SignalRejected)) == 1


async def test_an_empty_reply_is_asked_for_once_more_and_then_fails_the_run() -> None:
    model = AttentiveModel("", "  ", "never asked")
    done = await run(agent(model))
    assert model.texts(1)[-1] == "Your reply was empty. Use a tool, or answer."
    assert isinstance(done.outcome, Failed)
    assert done.outcome.code == "empty_replies"


async def test_one_empty_reply_is_forgiven() -> None:
    done = await run(agent(AttentiveModel("", calls("echo", page=1), "", "Here."), echo_tool()))
    assert done.outcome == Completed(answer="Here.")


async def test_an_empty_closing_reply_is_a_forced_end() -> None:
    done = await run(agent(AttentiveModel(""), budget=Budget(turns=1)))
    assert isinstance(done.outcome, Forced)


@pytest.mark.guarantee("B6")
async def test_an_agent_that_must_use_tools_is_reminded_once_and_ended_the_second_time() -> None:
    model = OnlyProse()
    done = await run(agent(model, echo_tool(), terminal=submit_tool()))
    assert len(model.requests) == 2
    assert isinstance(done.outcome, Forced)
    assert done.outcome.reason.rule is StopRule.NO_PROGRESS
    [hint] = of(done.facts, HintGiven)
    assert "You must use your tools" in hint.text


@pytest.mark.guarantee("B6")
async def test_a_tool_call_after_the_reminder_begins_anew() -> None:
    model = AttentiveModel("I think.", calls("echo", page=1), "I think again.", calls("submit", ok=1))
    done = await run(agent(model, echo_tool(), terminal=submit_tool()))
    assert "You must use your tools" in model.texts(1)[-1]
    assert isinstance(done.outcome, Completed)


@pytest.mark.guarantee("B4")
async def test_silence_of_an_agent_that_must_use_tools_ends_it() -> None:
    done = await run(agent(RepliesEmptily(), echo_tool(), must_use_tools=True))
    assert isinstance(done.outcome, Forced)
    assert done.outcome.reason.rule is StopRule.NO_PROGRESS
    assert all(not each.text for each in of(done.facts, AssistantSaid))
