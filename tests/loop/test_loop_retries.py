"""Model errors: tried again with backoff inside the time limit, then an end with the work saved (D11)."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import cast

import pytest
from loop_words import AttentiveModel, agent, of, run, runner, words_of

from endstop.errors import (
    InvalidValueError,
    ModelAccessError,
    ModelBrokeOffError,
    ModelOverloadedError,
    ModelUnreachableError,
)
from endstop.events.facts import ModelFailed, Thought
from endstop.kernel.budget import Budget
from endstop.kernel.observation import AssistantSaid
from endstop.kernel.outcome import Completed, Failed, Forced, StopRule
from endstop.loop import Retries
from endstop.ports import Model, ModelRequest, Piece, TextPiece
from endstop.testing import MemoryStore, ScriptedModel, calls, echo_tool, fails, reply
from endstop.testing.adversaries.errors import Catastrophe
from endstop.testing.adversaries.streams import NoStream, StreamsGarbage
from endstop.testing.counting import CountedModel


@pytest.mark.guarantee("D11")
async def test_a_failure_that_may_pass_is_tried_again_with_longer_and_longer_waits() -> None:
    model = ScriptedModel(*[fails(ModelOverloadedError("busy"))] * 3, "At last.")
    done = await run(agent(model, retries=Retries(first_wait_s=0.002, factor=3.0)))
    waits = [each.retry_in_s for each in of(done.facts, ModelFailed)]
    assert waits == [0.002, pytest.approx(0.006), pytest.approx(0.018)]
    assert done.outcome == Completed(answer="At last.")
    assert done.usage.turns == 1


@pytest.mark.guarantee("D11")
async def test_what_the_provider_asks_for_is_waited_for_up_to_the_longest_wait() -> None:
    model = ScriptedModel(
        fails(ModelOverloadedError("busy", retry_after_s=0.03)),
        fails(ModelOverloadedError("busy", retry_after_s=3_600)),
        fails(ModelOverloadedError("busy", retry_after_s=-5)),
        "At last.",
    )
    done = await run(agent(model, retries=Retries(first_wait_s=0.001, longest_wait_s=0.05)))
    assert [each.retry_in_s for each in of(done.facts, ModelFailed)] == [0.03, 0.05, 0.0]


@pytest.mark.guarantee("D11")
async def test_when_all_tries_fail_the_run_ends_with_its_work_saved() -> None:
    model = ScriptedModel(
        reply(text="I have begun.", calls=[calls("echo", page=1)]),
        fails(ModelUnreachableError("nobody there")),
    )
    done = await run(agent(model, echo_tool()))
    assert isinstance(done.outcome, Failed)
    assert (done.outcome.code, done.answer) == ("model_unreachable", "I have begun.")
    assert "nobody there" in done.outcome.message
    assert len(model.requests) == 5
    assert of(done.facts, ModelFailed)[-1].retry_in_s is None


@pytest.mark.guarantee("D11")
async def test_a_failure_that_will_not_pass_is_not_tried_again() -> None:
    model = ScriptedModel(fails(ModelAccessError("the key is wrong")))
    done = await run(agent(model))
    assert len(model.requests) == 1
    assert isinstance(done.outcome, Failed)
    assert done.outcome.code == "model_access"


@pytest.mark.guarantee("D11", "A11")
async def test_no_wait_goes_past_the_time_limit() -> None:
    began_s = time.monotonic()
    model = ScriptedModel(fails(ModelOverloadedError("busy", retry_after_s=10)))
    done = await run(agent(model, budget=Budget(seconds=0.5), retries=Retries(longest_wait_s=10)))
    assert time.monotonic() - began_s < 0.5
    assert isinstance(done.outcome, Failed)
    assert done.outcome.code == "model_overloaded"


@pytest.mark.guarantee("D11")
async def test_what_was_said_before_it_broke_off_is_kept_and_then_the_whole_counts() -> None:
    model = AttentiveModel(
        fails(ModelBrokeOffError("lost"), after="Half an ans"), "Half an answer and the rest."
    )
    done = await run(agent(model))
    assert [(each.text, each.is_cut_off) for each in of(done.facts, AssistantSaid)] == [
        ("Half an ans", True),
        ("Half an answer and the rest.", False),
    ]
    assert done.answer == "Half an answer and the rest."
    assert model.texts(1) == ["Where is the login?"]


async def test_calls_of_a_reply_that_broke_off_are_not_run() -> None:
    broken = reply(text="I call", calls=[calls("echo", page=1)])
    model = ScriptedModel(
        lambda request: broken.__class__(
            text=broken.text, calls=broken.calls, error=ModelBrokeOffError("lost")
        ),
        "Done.",
    )
    done = await run(agent(model, echo_tool()))
    assert done.usage.tool_calls == 0
    assert done.answer == "Done."


class Silent(CountedModel):
    """Says something, and the stream is over without a word that the reply is."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        yield TextPiece(text="And so")


async def test_a_stream_that_ends_without_an_end_has_broken_off() -> None:
    done = await run(agent(Silent(name="test:silent")))
    assert isinstance(done.outcome, Failed)
    assert done.outcome.code == "model_broke_off"
    assert "And so" in done.answer


@pytest.mark.parametrize("model", [NoStream(), StreamsGarbage()], ids=["no stream", "garbage"])
async def test_a_model_that_is_none_fails_the_run(model: Model) -> None:
    done = await run(agent(model))
    assert isinstance(done.outcome, Failed)
    assert done.outcome.code == "model_failed"


@pytest.mark.parametrize("error", [Exception("a bug"), Catastrophe("the worst"), SystemExit(3)], ids=repr)
async def test_a_model_that_raises_anything_fails_the_run_and_nothing_else(error: BaseException) -> None:
    done = await run(agent(ScriptedModel(fails(error, after="A word first."))))
    assert isinstance(done.outcome, Failed)
    assert type(error).__name__ in done.outcome.message
    assert done.answer == "A word first."


class CannotPrice(ScriptedModel):
    def cost_usd(self, usage: object) -> Decimal | None:
        raise RuntimeError("no price list")


async def test_a_model_that_cannot_tell_its_price_fails_the_run() -> None:
    done = await run(agent(CannotPrice("Fine.")))
    assert isinstance(done.outcome, Failed)
    assert done.outcome.code == "driver_failed"
    assert "no price list" in done.outcome.message


class CannotCount(ScriptedModel):
    def count(self, *, system: str = "", tools: object = (), messages: object = ()) -> int:
        raise RuntimeError("cannot count")


async def test_a_model_that_cannot_count_starts_no_run() -> None:
    store = MemoryStore()
    with pytest.raises(RuntimeError, match="cannot count"):
        await runner(store).run(agent(CannotCount("x")), "Go.")
    assert await store.runs() == []


async def test_thoughts_are_kept_apart_from_the_answer() -> None:
    done = await run(agent(ScriptedModel(reply(thought="Let me see.", text="Here."))))
    assert [each.text for each in of(done.facts, Thought)] == ["Let me see."]
    assert done.answer == "Here."


@pytest.mark.guarantee("B4")
async def test_a_reply_that_repeats_itself_is_cut_off_and_kept() -> None:
    model = ScriptedModel("The same old words. " * 300, piece_chars=7, keeps_to_cap=False)
    done = await run(agent(model))
    assert isinstance(done.outcome, Forced)
    assert done.outcome.reason.rule is StopRule.NO_PROGRESS
    assert 10 <= done.answer.count("The same old words.") < 100


async def test_a_reply_far_past_its_cap_is_cut_there() -> None:
    model = ScriptedModel(words_of(2_000), keeps_to_cap=False)
    done = await run(agent(model, max_output_tokens=50, budget=Budget(turns=1)))
    assert len(done.answer) < 1_000
    assert isinstance(done.outcome, Forced)


@pytest.mark.parametrize(
    "wrong",
    [
        {"attempts": 0},
        {"attempts": 2.5},
        {"first_wait_s": -1},
        {"factor": "x"},
        {"longest_wait_s": float("nan")},
    ],
)
def test_retries_out_of_bounds_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidValueError):
        Retries(**cast("dict[str, int]", wrong))


def test_the_waits_never_pass_the_longest() -> None:
    retries = Retries(attempts=20, first_wait_s=1, factor=10, longest_wait_s=7)
    assert [retries.wait_s(failures, None) for failures in (1, 2, 19)] == [1, 7, 7]
