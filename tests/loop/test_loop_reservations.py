"""Nothing is spent that is not reserved first, and every call is settled at what can be true (A6, A10)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any, cast

import pytest
from loop_words import agent, of, run, words_of

from endstop.errors import InvalidValueError, ModelBrokeOffError, ModelOverloadedError, PriceUnknownError
from endstop.events.facts import UsageDisputed
from endstop.kernel.amounts import Amounts
from endstop.kernel.budget import Budget
from endstop.kernel.ledger import Ledger
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import CallReserved, CallSettled
from endstop.kernel.outcome import Completed, Failed, Forced, StopRule
from endstop.kernel.terms import CallTerms, call_terms
from endstop.kernel.verdict import PriceUnknown
from endstop.ports import ModelRequest, ModelUsage, Piece, ReplyEnded, TextPiece, ToolContext
from endstop.testing import Runaway, ScriptedModel, calls, echo_tool, fails, reply, says
from endstop.testing.adversaries.streams import Hangs
from endstop.testing.counting import CountedModel
from endstop.tools import tool


@pytest.mark.guarantee("A6")
async def test_the_output_cap_is_clamped_to_what_is_left_and_never_reserved_past_it() -> None:
    model = ScriptedModel(calls("echo", query="a"), calls("echo", query="b"), "Done.")
    done = await run(agent(model, echo_tool(), budget=Budget(tokens=900), max_output_tokens=800))
    left = 900
    for reserved, settled in zip(of(done.facts, CallReserved), of(done.facts, CallSettled), strict=True):
        assert reserved.amounts.tokens <= left
        left -= settled.input_tokens + settled.output_tokens
    assert model.requests[0].max_output_tokens == 800
    assert model.requests[1].max_output_tokens < 800


@pytest.mark.guarantee("A6")
async def test_a_call_is_reserved_at_its_input_and_the_whole_cap_and_settled_at_what_it_used() -> None:
    model = ScriptedModel(says("Four words are here."))
    done = await run(agent(model, budget=Budget(tokens=10_000, cost_usd="1"), max_output_tokens=500))
    [reserved], [settled] = of(done.facts, CallReserved), of(done.facts, CallSettled)
    assert reserved.amounts.tokens == settled.input_tokens + 500
    assert settled.output_tokens == 5
    assert settled.cost_usd == Decimal(settled.input_tokens + 2 * 5) / 1_000_000
    assert reserved.amounts.cost_usd == Decimal(settled.input_tokens + 2 * 500) / 1_000_000
    assert not settled.is_estimate


@pytest.mark.guarantee("A6")
@pytest.mark.parametrize(
    "told",
    [
        ModelUsage(),
        ModelUsage(input_tokens=10**18, output_tokens=10**18),
        ModelUsage(input_tokens=60_000, output_tokens=60_000),
        ModelUsage(input_tokens=-5, output_tokens=3),
        ModelUsage(input_tokens=cast("int", float("nan"))),
        cast("ModelUsage", "many"),
    ],
)
async def test_usage_that_cannot_be_is_settled_at_our_own_count_and_disputed(told: ModelUsage) -> None:
    done = await run(agent(ScriptedModel(reply(text="An answer of ours.", usage=told))))
    [settled], [disputed] = of(done.facts, CallSettled), of(done.facts, UsageDisputed)
    assert settled.is_estimate
    assert settled.input_tokens > 0
    assert settled.output_tokens > 0
    assert disputed.counted_tokens == settled.input_tokens + settled.output_tokens
    assert isinstance(done.outcome, Completed)


class TellsNothing(CountedModel):
    """Answers, and never says what that took."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        yield TextPiece(text="An answer.")
        yield ReplyEnded()


async def test_usage_that_is_not_told_is_settled_at_our_own_count_and_no_dispute() -> None:
    done = await run(agent(TellsNothing(name="test:silent")))
    [settled] = of(done.facts, CallSettled)
    assert settled.is_estimate
    assert settled.output_tokens > 0
    assert of(done.facts, UsageDisputed) == []


async def test_more_than_was_reserved_is_believed_while_it_fits() -> None:
    told = ModelUsage(input_tokens=900, output_tokens=900)
    done = await run(agent(ScriptedModel(reply(text="Fine.", usage=told)), max_output_tokens=100))
    [settled] = of(done.facts, CallSettled)
    assert (settled.input_tokens, settled.output_tokens) == (900, 900)
    assert not settled.is_estimate


async def test_a_cost_past_what_is_left_is_settled_at_what_is_left() -> None:
    told = ModelUsage(input_tokens=90_000, output_tokens=1)
    model = ScriptedModel(reply(text="Dear.", usage=told))
    done = await run(agent(model, budget=Budget(cost_usd="0.01", turns=5), max_output_tokens=100))
    [settled] = of(done.facts, CallSettled)
    assert settled.cost_usd == Decimal("0.01")
    assert settled.is_estimate


@pytest.mark.guarantee("A6", "A11")
async def test_a_stream_that_is_cut_off_is_settled_at_our_own_count_never_at_zero() -> None:
    done = await run(agent(Hangs(pieces=3), budget=Budget(seconds=0.2)))
    settled = of(done.facts, CallSettled)
    assert all(each.is_estimate and each.input_tokens > 0 for each in settled)
    assert settled[0].output_tokens > 0


async def test_a_call_that_was_refused_before_any_work_costs_nothing() -> None:
    model = ScriptedModel(fails(ModelOverloadedError("busy")), "Done.")
    done = await run(agent(model))
    first, second = of(done.facts, CallSettled)
    assert (first.model_calls, first.input_tokens, first.cost_usd) == (0, 0, Decimal(0))
    assert second.model_calls == 1
    assert done.usage.model_calls == 1


async def test_a_call_that_failed_after_it_had_begun_is_paid_for() -> None:
    model = ScriptedModel(fails(ModelOverloadedError("busy"), after="Some words first."), "Done.")
    done = await run(agent(model))
    assert of(done.facts, CallSettled)[0].output_tokens > 0
    assert done.usage.model_calls == 2


@pytest.mark.guarantee("A6", "D11")
async def test_retries_keep_within_the_limit_on_model_calls() -> None:
    model = ScriptedModel(fails(ModelBrokeOffError("lost"), after="Half a"))
    done = await run(agent(model, budget=Budget(model_calls=2)))
    assert len(model.requests) == 2
    assert sum(each.model_calls for each in of(done.facts, CallSettled)) == 2
    assert isinstance(done.outcome, Forced)
    assert done.outcome.reason.rule is StopRule.MODEL_CALLS
    assert "Half a" in done.answer


async def test_a_retry_that_only_the_finish_reserve_could_pay_for_becomes_the_closing_turn() -> None:
    model = ScriptedModel(fails(ModelBrokeOffError("lost"), after=words_of(60)), "That is all.")
    done = await run(agent(model, budget=Budget(tokens=500, finish_reserve=0.4), max_output_tokens=2_000))
    assert done.answer.endswith("That is all.")
    assert isinstance(done.outcome, Completed)
    assert done.outcome.warnings


@pytest.mark.guarantee("A10")
async def test_an_unknown_price_under_a_cost_limit_is_refused_before_anything_is_asked() -> None:
    model = ScriptedModel("never asked", price=None)
    with pytest.raises(PriceUnknownError, match="unknown_price"):
        await run(agent(model, budget=Budget(cost_usd="1", turns=3)))
    assert model.requests == []


@pytest.mark.guarantee("A10")
async def test_an_unknown_price_can_be_allowed_with_a_warning_and_is_never_zero() -> None:
    model = ScriptedModel("Done.", price=None)
    done = await run(agent(model, budget=Budget(cost_usd="1", turns=3, unknown_price="warn")))
    assert isinstance(done.outcome, Completed)
    assert len(of(done.facts, PriceUnknown)) == 1
    [settled] = of(done.facts, CallSettled)
    assert settled.cost_usd is None
    assert done.usage.unknown_cost_calls == 1


class ForgetsItsPrice(ScriptedModel):
    """Knows its price when it is asked for it in the beginning, and no longer after that."""

    _asked = 0

    def cost_usd(self, usage: ModelUsage) -> Decimal | None:
        self._asked += 1
        return super().cost_usd(usage) if self._asked == 1 else None


@pytest.mark.guarantee("A10")
async def test_a_price_that_becomes_unknown_ends_a_run_under_a_cost_limit() -> None:
    model = ForgetsItsPrice(reply(text="A start.", calls=[calls("echo", query="a")]))
    done = await run(agent(model, echo_tool(), budget=Budget(cost_usd="1", turns=5)))
    assert isinstance(done.outcome, Failed)
    assert done.outcome.code == "price_unknown"
    assert "A start." in done.answer


class SteepModel(ScriptedModel):
    """Costs nothing up to a hundred tokens of output, and a dollar for each after that."""

    def cost_usd(self, usage: ModelUsage) -> Decimal | None:
        return Decimal(max(usage.output_tokens - 100, 0))


async def test_the_output_is_clamped_to_what_the_money_pays_for_also_where_prices_are_not_linear() -> None:
    model = SteepModel("Done.")
    await run(agent(model, budget=Budget(cost_usd="5", turns=2, finish_reserve=0), max_output_tokens=4_000))
    assert model.requests[0].max_output_tokens == 105


@pytest.mark.guarantee("A6", "A7")
async def test_two_calls_at_once_cannot_both_take_the_last_tokens() -> None:
    children = [Runaway(delay_s=0.005), Runaway(delay_s=0.005)]

    @tool
    async def delegate(number: int, context: ToolContext) -> str:
        assert context.run_child is not None
        child = agent(children[number], echo_tool(), budget=Budget(turns=50), max_output_tokens=300)
        return str(await context.run_child(child, "Dig."))

    both = reply(calls=[calls("delegate", number=0), calls("delegate", number=1)])
    model = ScriptedModel(both, "Both are done.")
    done = await run(agent(model, delegate, budget=Budget(tokens=6_000, turns=60), max_output_tokens=300))
    spent = sum(each.input_tokens + each.output_tokens for each in of(done.facts, CallSettled))
    assert spent <= 6_000
    assert all(child.requests for child in children)
    assert isinstance(done.outcome, Completed)


def terms(ledger: Ledger, **changed: Any) -> CallTerms | LimitKind:
    asked: dict[str, Any] = {"input_tokens": 100, "output_cap": 1_000, "closing": None}
    return call_terms(ledger, "run", cost_of=lambda sent, said: Decimal(0), **{**asked, **changed})


@pytest.mark.parametrize("count", [-2_000, 0.5, 10**16])
def test_a_count_of_tokens_that_cannot_be_is_refused(count: Any) -> None:
    with pytest.raises(InvalidValueError, match=r"^tokens is .*a whole number from 0"):
        terms(Ledger.open(Budget(turns=3)), input_tokens=count)


@pytest.mark.guarantee("A6")
def test_terms_name_the_limit_that_allows_no_call() -> None:
    ledger = Ledger.open(Budget(turns=1, model_calls=1))
    assert terms(ledger) == CallTerms(
        amounts=Amounts(model_calls=1, tokens=1_100), max_output_tokens=1_000, closing=LimitKind.TURNS
    )
    held = ledger.reserve("run", "turn:0", Amounts(turns=1), closing=True)
    assert terms(held) is LimitKind.TURNS
    assert terms(held, is_in_turn=True) is LimitKind.MODEL_CALLS
    assert isinstance(terms(held, is_in_turn=True, closing=LimitKind.TURNS), CallTerms)
