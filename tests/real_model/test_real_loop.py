"""Whole runs against a real model in a real server, through the ordinary provider path."""

from __future__ import annotations

import asyncio
import time
from decimal import Decimal
from pathlib import Path

import pytest

from endstop.app import SystemClock, make_agent
from endstop.events.facts import Fact
from endstop.kernel.budget import Budget
from endstop.kernel.finding import Pattern
from endstop.kernel.observation import AssistantSaid, CallSettled
from endstop.kernel.outcome import Cancelled, Completed, Forced, StopRule
from endstop.kernel.verdict import FindingReported
from endstop.loop import Agent, Delta
from endstop.models import Price, make_model
from endstop.runner import Run, Runner
from endstop.store import open_store

STORY = "Tell me a very long story about a ship, with many chapters."


def agent(url: str, budget: Budget, *, max_output_tokens: int) -> Agent:
    price = Price(input_usd_per_million=Decimal("0.1"), output_usd_per_million=Decimal("0.4"))
    model = make_model("openai:smollm2", base_url=url, price=price)
    return make_agent(model=model, budget=budget, max_output_tokens=max_output_tokens)


def settled(facts: tuple[Fact, ...]) -> list[CallSettled]:
    return [fact.payload for fact in facts if isinstance(fact.payload, CallSettled)]


def require_sound(run: Run) -> None:
    checked = run.audit()
    assert checked.holds, str(checked)


async def test_a_run_streams_its_answer_and_settles_at_what_the_server_counted(
    real_server_url: str, tmp_path: Path
) -> None:
    store = await open_store(f"sqlite:///{tmp_path / 'runs.db'}")
    seen: list[Delta] = []
    runner = Runner(store, clock=SystemClock())
    budget = Budget(turns=3, tokens=4_000, cost_usd="0.01", seconds=60)
    run = await runner.run(
        agent(real_server_url, budget, max_output_tokens=120), "Say hello.", listener=seen.append
    )
    stored = await store.run(run.id)
    await store.close()

    assert isinstance(run.outcome, Completed | Forced)
    assert len(seen) > 1
    assert "".join(delta.text for delta in seen).strip()
    calls = settled(run.facts)
    assert all(not call.is_estimate and call.output_tokens > 0 for call in calls)
    assert stored.tokens == sum(call.input_tokens + call.output_tokens for call in calls)
    assert stored.cost_usd == sum(call.cost_usd or 0 for call in calls) > 0
    require_sound(run)


async def test_a_run_is_cancelled_in_mid_stream_and_charged_for_what_had_come(real_server_url: str) -> None:
    runner = Runner(None, clock=SystemClock())
    has_begun = asyncio.Event()

    def begun(_: Delta) -> None:
        has_begun.set()

    run_id = await runner.start(
        agent(real_server_url, Budget(turns=3, seconds=60), max_output_tokens=3_000),
        STORY,
        listener=begun,
    )
    await has_begun.wait()
    asked_s = time.monotonic()
    waiting = asyncio.ensure_future(runner.wait(run_id))
    await runner.cancel(run_id, by="the test")
    run = await waiting

    assert time.monotonic() - asked_s < 0.5
    assert isinstance(run.outcome, Cancelled)
    assert run.answer.strip()
    (call,) = settled(run.facts)
    assert call.is_estimate
    assert call.output_tokens > 0
    require_sound(run)


@pytest.mark.parametrize(
    ("budget", "rule"),
    [
        (Budget(tokens=700, turns=50), StopRule.TOKENS),
        (Budget(turns=2), StopRule.TURNS),
        (Budget(seconds=2.0), StopRule.TIME),
        (Budget(cost_usd="0.0001", turns=50), StopRule.COST),
        (Budget(model_calls=2, turns=50), StopRule.MODEL_CALLS),
    ],
    ids=lambda value: value.value if isinstance(value, StopRule) else "",
)
async def test_a_budget_ends_a_run_that_would_go_on(
    real_server_url: str, budget: Budget, rule: StopRule
) -> None:
    began_s = time.monotonic()
    talker = agent(real_server_url, budget, max_output_tokens=40)  # it never gets to the end of its story
    run = await Runner(None, clock=SystemClock()).run(talker, STORY)

    assert isinstance(run.outcome, Forced)
    assert run.outcome.reason.rule is rule
    if budget.seconds is not None:
        assert time.monotonic() - began_s < budget.seconds + 0.5
    assert any(isinstance(fact.payload, AssistantSaid) and fact.payload.text for fact in run.facts)
    assert run.answer.strip()
    require_sound(run)


async def test_a_model_that_repeats_itself_is_cut_off_in_the_middle_of_its_reply(
    real_server_url: str,
) -> None:
    """A small model that takes the likeliest word every time falls into a loop: nobody scripted that."""
    run = await Runner(None, clock=SystemClock()).run(
        agent(real_server_url, Budget(turns=4, seconds=100), max_output_tokens=2_000),
        STORY,
    )

    found = [fact.payload.finding for fact in run.facts if isinstance(fact.payload, FindingReported)]
    assert [finding.pattern for finding in found][:1] == [Pattern.REPEATED_TEXT]
    assert isinstance(run.outcome, Forced)
    assert run.outcome.reason.rule is StopRule.NO_PROGRESS
    require_sound(run)
