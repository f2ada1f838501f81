"""Runs an adversary under a budget, and recounts from the record what it used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType

from endstop.events.facts import Fact
from endstop.guard.clock import SystemClock
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget
from endstop.kernel.observation import (
    AssistantSaid,
    CallReserved,
    CallSettled,
    RunEnded,
    ToolCalled,
    ToolFinished,
    TurnStarted,
)
from endstop.kernel.outcome import Cancelled, Completed, Failed, Forced, Outcome, Stopped
from endstop.loop import Agent, Retries
from endstop.ports import Model, Tool
from endstop.runner import Run, Runner
from endstop.store import open_store
from endstop.testing import Adversary

BUDGETS: Mapping[str, Budget] = MappingProxyType(
    {
        "turns": Budget(turns=5),
        "tokens": Budget(tokens=2_500),
        "cost": Budget(cost_usd="0.006", turns=60),
        "seconds": Budget(seconds=0.25),
        "model_calls": Budget(model_calls=5),
        "context": Budget(context_tokens=2_500, turns=60),
        "mixed": Budget(
            turns=8,
            tokens=20_000,
            cost_usd="0.03",
            seconds=0.4,
            model_calls=9,
            context_tokens=8_000,
            tool_calls_per_turn=4,
            parallel_tools=2,
        ),
    }
)
"""One for each kind of limit, with what it takes to be bounded."""

GENEROUS = Budget(turns=14, tokens=2_000_000, seconds=0.8, tool_calls_per_turn=10, parallel_tools=3)
"""So much of everything that what is wrong with an adversary shows first."""

LATE_S = 0.5
"""A time limit may be passed by this much (A11)."""

QUICK = Retries(first_wait_s=0.01, longest_wait_s=0.05)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A run that has ended, as its caller and as its record have it."""

    run: Run
    record: list[Fact]


def budget_for(adversary: Adversary, budget: Budget) -> Budget:
    """The budget, with a time limit where nothing else would ever end it."""
    return replace(budget, seconds=0.25) if adversary.needs_time_limit and budget.seconds is None else budget


def agent_of(model: Model, tools: tuple[Tool, ...], budget: Budget, *, must_use_tools: bool = False) -> Agent:
    return Agent(
        model=model,
        tools=tools,
        config=AgentConfig(budget=budget, must_use_tools=must_use_tools),
        retries=QUICK,
        max_output_tokens=400,
    )


async def tried(agent: Agent, folder: Path) -> Tried:
    """Run an agent on a database of its own, and read the record again from there."""
    store = await open_store(f"sqlite:///{folder / 'runs.db'}")
    try:
        runner = Runner(store, clock=SystemClock())
        run = await runner.run(agent, "Find out what is wrong with the login, and say so.")
        return Tried(run=run, record=await store.record(run.id))
    finally:
        await store.close()


async def in_time(make_agent: Callable[[], Agent], folder: Path) -> Tried:
    """Run an agent. A machine that is busy with other things may be late once, but not three times."""
    for _ in range(2):
        agent = make_agent()
        done = await tried(agent, folder)
        limit_s = agent.config.budget.seconds
        if limit_s is None or done.run.usage.seconds <= limit_s + LATE_S:
            return done
    return await tried(make_agent(), folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """What a record says was used, by plain addition."""

    turns: int
    model_calls: int
    tokens: int
    cost_usd: Decimal
    largest_input: int
    most_calls_run: int
    """The most tool calls that were really run in one turn."""


def recounted(record: Iterable[Fact]) -> Count:
    payloads = [fact.payload for fact in record]
    settled = [each for each in payloads if isinstance(each, CallSettled)]
    finished = [each for each in payloads if isinstance(each, ToolFinished)]
    run = [each.turn for each in finished if each.status in ("executed", "failed", "timed_out", "refused")]
    return Count(
        turns=sum(isinstance(each, TurnStarted) for each in payloads),
        model_calls=sum(each.model_calls for each in settled),
        tokens=sum(each.input_tokens + each.output_tokens for each in settled),
        cost_usd=sum((each.cost_usd or Decimal(0) for each in settled), Decimal(0)),
        largest_input=max((each.input_tokens for each in settled), default=0),
        most_calls_run=max((run.count(turn) for turn in set(run)), default=0),
    )


def over_budget(count: Count, budget: Budget) -> list[str]:
    """What was used past its limit, in words."""
    pairs: list[tuple[str, int | Decimal, int | Decimal | None]] = [
        ("turns", count.turns, budget.turns),
        ("model calls", count.model_calls, budget.model_calls),
        ("tokens", count.tokens, budget.tokens),
        ("cost", count.cost_usd, budget.cost_usd),
        ("context", count.largest_input, budget.context_tokens),
        ("tool calls in a turn", count.most_calls_run, budget.tool_calls_per_turn),
    ]
    return [f"{used} {name} of {most}" for name, used, most in pairs if most is not None and used > most]


def unreserved(record: Iterable[Fact]) -> list[str]:
    """Model calls that were settled without having been reserved, or never settled (A6)."""
    is_open: set[str] = set()
    wrong: list[str] = []
    for fact in record:
        if isinstance(fact.payload, CallReserved):
            is_open.add(fact.payload.reservation)
        elif isinstance(fact.payload, CallSettled):
            if fact.payload.reservation not in is_open:
                wrong.append(fact.payload.reservation)
            is_open.discard(fact.payload.reservation)
    return [*wrong, *is_open]


def unanswered(record: Iterable[Fact]) -> list[str]:
    """Tool calls that do not have exactly one result (D9)."""
    called = [fact.payload.call for fact in record if isinstance(fact.payload, ToolCalled)]
    answered = [fact.payload.call for fact in record if isinstance(fact.payload, ToolFinished)]
    return sorted(set(called) ^ set(answered)) + [
        call for call in set(called) if called.count(call) != 1 or answered.count(call) != 1
    ]


def endings(record: Iterable[Fact]) -> list[int]:
    return [fact.seq for fact in record if isinstance(fact.payload, RunEnded)]


def said(record: Iterable[Fact]) -> list[str]:
    """All texts of the model, as the record has them."""
    texts = [fact.payload.text for fact in record if isinstance(fact.payload, AssistantSaid)]
    return [text for text in texts if text.strip()]


def names_a_rule(outcome: Outcome | None) -> bool:
    """Whether it says in words by which rule it ended, or with what it failed."""
    match outcome:
        case Forced(reason=reason) | Stopped(reason=reason):
            return bool(reason.rule and reason.message)
        case Failed(code=code, message=message):
            return bool(code and message)
        case Completed(answer=answer):
            return bool(answer.strip())
        case Cancelled() | _:
            return False
