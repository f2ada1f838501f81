"""The messages of a run, as they grow and as they are read again from its record (A9, H5)."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from loop_words import AttentiveModel, agent, run

from endstop.errors import ModelBrokeOffError
from endstop.kernel.budget import Budget
from endstop.kernel.observation import ToolCalled
from endstop.loop.history import History, messages_of
from endstop.ports import AssistantMessage, Message, UserMessage
from endstop.testing import ScriptedModel, calls, echo_tool, fails, reply, says
from endstop.testing.adversaries.signals import need_turn_signal


def normal(messages: Iterable[Message]) -> list[object]:
    """Messages with their arguments as the record writes them."""
    found: list[object] = []
    for each in messages:
        if isinstance(each, AssistantMessage):
            found.append((each.text, [(call.id, call.tool) for call in each.calls]))
        else:
            found.append(each)
    return found


async def test_the_record_gives_the_messages_that_the_model_got() -> None:
    model = AttentiveModel(
        reply(text="I look.", calls=[calls("echo", page=1), calls("echo", page=2)]),
        fails(ModelBrokeOffError("lost"), after="Half"),
        says("So far." + need_turn_signal(1)),
        "",
        reply(text="", calls=[calls("echo", page=3)]),
        reply(text="It goes on", truncated=True),
        "Done.",
    )
    done = await run(agent(model, echo_tool(), budget=Budget(turns=9)))
    assert normal(messages_of(done.facts))[:-1] == normal(model.heard[-1])


def test_the_size_of_a_history_is_the_providers_count_and_what_came_since() -> None:
    model = ScriptedModel("x")
    history = History(model, system="Be brief.", tools=())
    history.add(UserMessage(text="word " * 100))
    counted = history.tokens
    history.measured(50)
    assert history.tokens == 50
    history.add(UserMessage(text="more"))
    assert history.tokens == 50 + 5
    for nonsense in (0, -1, counted * 10):
        history.measured(nonsense)
        assert history.tokens == 55


def test_an_empty_record_has_no_messages() -> None:
    assert messages_of([]) == []


@pytest.mark.guarantee("H5")
async def test_what_a_model_wrote_is_kept_to_the_letter_though_white_space_is_folded_to_compare_it() -> None:
    program = "def double(number):\n    return number  *  2\n"
    wanted = json.dumps({"text": program})
    done = await run(agent(ScriptedModel(calls("echo", text=program), "Done."), echo_tool()))
    [called] = [fact.payload for fact in done.facts if isinstance(fact.payload, ToolCalled)]
    assert called.arguments == '{"text":"def double(number): return number * 2"}'
    assert json.loads(called.exact_arguments) == json.loads(wanted)
    [asked] = [one for one in messages_of(done.facts) if isinstance(one, AssistantMessage) and one.calls]
    assert json.loads(asked.calls[0].arguments) == {"text": program}


async def test_what_is_the_same_to_the_letter_is_kept_once() -> None:
    done = await run(agent(ScriptedModel(calls("echo", text="plain words"), "Done."), echo_tool()))
    [called] = [fact.payload for fact in done.facts if isinstance(fact.payload, ToolCalled)]
    assert (called.written, called.exact_arguments) == (None, '{"text":"plain words"}')
