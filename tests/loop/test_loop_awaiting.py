"""An agent that tells the user where it stands, and waits (D7)."""

from __future__ import annotations

from typing import Any

import pytest
from loop_words import AttentiveModel, agent, of, results, run, runner

from endstop.errors import RunStateError
from endstop.events.facts import UserAwaited
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.escalation import Escalation
from endstop.kernel.outcome import AwaitingUser, Completed, Failed
from endstop.kernel.review import RunPhase
from endstop.loop import Agent
from endstop.ports import Model
from endstop.testing import MemoryStore, ScriptedModel, WantedCall, calls, calls_many, echo_tool, reply, says
from endstop.testing.adversaries.calls import IgnoresLastTurn

ASKS = calls("await_user", message="Shall I go on?")


def manager(model: Model, **parts: Any) -> Agent:
    parts.setdefault("escalation", Escalation(key="product-manager", soft=2, hard=3))
    return agent(model, echo_tool(), awaits_user=True, budget=Budget(turns=50), **parts)


@pytest.mark.guarantee("D7")
async def test_asking_the_user_pauses_the_run_and_the_answer_reaches_the_agent() -> None:
    store = MemoryStore()
    home = runner(store)
    model = AttentiveModel(ASKS, says("Then I am done."))
    done = await home.run(manager(model), "Plan it.")
    assert done.outcome == AwaitingUser(question="Shall I go on?")
    assert (await store.run(done.id)).phase is RunPhase.AWAIT_USER
    finished = await home.resume(done.id, answer="No, thank you.")
    assert model.texts()[-2:] == ["The user has been told. Wait for the answer.", "No, thank you."]
    assert finished.outcome == Completed(answer="Then I am done.")
    assert finished.audit(), str(finished.audit())


@pytest.mark.guarantee("D7")
async def test_at_its_hard_limit_an_agent_that_has_told_the_user_awaits_the_user() -> None:
    home = runner()
    model = ScriptedModel(ASKS, calls("echo", page=1), calls("echo", page=2))
    first = await home.run(manager(model), "Plan it.")
    limit = await home.resume(first.id, answer="Yes.")
    assert limit.outcome == AwaitingUser(question="Shall I go on?")
    assert limit.usage.turns == 3
    assert (await home.wait(first.id)).outcome == limit.outcome
    with pytest.raises(RunStateError, match=r"waits for the user: Shall I go on\?"):
        await home.resume(first.id)
    again = await home.resume(first.id, answer="Take two more.", grant=Grant(turns=2, by="ada", why="ok"))
    assert again.usage.turns == 5
    assert again.outcome == AwaitingUser(question="Shall I go on?")


@pytest.mark.guarantee("D7")
async def test_at_its_hard_limit_an_agent_that_never_told_the_user_has_failed() -> None:
    done = await run(manager(IgnoresLastTurn()))
    assert isinstance(done.outcome, Failed)
    assert done.outcome.code == "await_user_missing"
    assert done.outcome.message.startswith(
        "iteration limit (3) exceeded for key 'product-manager' at iteration 3"
    )
    assert "never told the user where it stands" in done.outcome.message


@pytest.mark.parametrize(
    "arguments", ["", "null", "[]", "{}", '{"message": ""}', '{"message": 7}', "{" * 9_000]
)
async def test_a_question_without_words_is_refused(arguments: str) -> None:
    model = ScriptedModel(reply(calls=[WantedCall(tool="await_user", arguments=arguments)]), says("Fine."))
    done = await run(agent(model, awaits_user=True))
    [(status, text)] = results(done)
    assert status == "failed"
    assert '{"message": "what the user should know"}' in text
    assert isinstance(done.outcome, Completed)


async def test_whatever_ends_the_run_comes_before_the_question() -> None:
    model = ScriptedModel(calls_many(ASKS, *[calls("echo")] * 3))
    done = await run(agent(model, echo_tool(), awaits_user=True))
    assert not isinstance(done.outcome, AwaitingUser)
    assert [each.question for each in of(done.facts, UserAwaited)] == ["Shall I go on?"]
