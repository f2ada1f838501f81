"""A record in figures: how far it came, what it used of what it was allowed, what was found, how it ended.

Read from the facts by plain addition, without the governor, so that it also says what a record holds that
the governor of this version would judge differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from endstop.errors import FactOrderError
from endstop.events.facts import Fact, RunStarted
from endstop.kernel.amounts import NOTHING, Amounts
from endstop.kernel.budget import Budget
from endstop.kernel.ledger import ROOT, Account
from endstop.kernel.limits import LimitKind, Meter
from endstop.kernel.observation import (
    BudgetGranted,
    CallSettled,
    ChildSettled,
    Observation,
    RunEnded,
    RunPaused,
    RunResumed,
    ToolCalled,
    TurnEnded,
)
from endstop.kernel.outcome import Ending
from endstop.kernel.usage import NO_USAGE, Usage
from endstop.kernel.verdict import FindingReported, LimitWarned


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A run in figures."""

    run_id: str
    budget: Budget
    question: str = ""
    policy: str = ""
    usage: Usage = NO_USAGE
    granted: Amounts = NOTHING
    granted_s: float = 0.0
    findings: tuple[FindingReported, ...] = ()
    warnings: tuple[LimitWarned, ...] = ()
    ending: Ending | None = None
    waits_for: str | None = None

    @property
    def meters(self) -> tuple[Meter, ...]:
        """Each limit on what is spent or passes, with what was used of it."""
        account = Account(id=ROOT, budget=self.budget, granted=self.granted, granted_s=self.granted_s)
        used: Mapping[LimitKind, int | float] = {
            LimitKind.TURNS: self.usage.turns,
            LimitKind.MODEL_CALLS: self.usage.model_calls,
            LimitKind.TOKENS: self.usage.tokens,
            LimitKind.SECONDS: self.usage.seconds,
        }
        meters: list[Meter] = []
        for kind in (*used, LimitKind.COST_USD):
            maximum = account.maximum(kind)
            if maximum is not None:
                spent = self.usage.known_cost_usd if kind is LimitKind.COST_USD else used[kind]
                meters.append(Meter(kind=kind, used=spent, maximum=maximum))
        return tuple(meters)


def summarise(facts: Iterable[Fact]) -> Summary:
    """The figures of a record, whole or not. The first fact must be ``run.started``."""
    summary: Summary | None = None
    usage = NO_USAGE
    findings: list[FindingReported] = []
    warnings: list[LimitWarned] = []
    granted, granted_s = NOTHING, 0.0
    waited_s, paused_at_s, waits_for = 0.0, None, None
    for fact in facts:
        match fact.payload:
            case RunStarted() as started if summary is None:
                summary = Summary(
                    run_id=fact.run_id,
                    budget=started.config.budget,
                    question=started.question,
                    policy=started.policy,
                )
            case CallSettled() as settled:
                usage = _with_call(usage, settled)
            case ChildSettled() as settled:
                usage = with_child(usage, settled)
            case TurnEnded():
                usage = replace(usage, turns=usage.turns + 1)
            case ToolCalled():
                usage = replace(usage, tool_calls=usage.tool_calls + 1)
            case BudgetGranted(scope="run", grant=grant):
                granted, granted_s = granted.plus(grant.amounts), granted_s + grant.seconds
            case FindingReported() as finding:
                findings.append(finding)
            case LimitWarned() as warned:
                warnings.append(warned)
            case RunPaused(at_s=at_s, why=why) if paused_at_s is None:
                paused_at_s, waits_for = at_s, why
            case RunResumed(at_s=at_s) if paused_at_s is not None:
                waited_s, paused_at_s, waits_for = waited_s + at_s - paused_at_s, None, None
            case RunEnded(outcome=ending) if summary is not None:
                summary = replace(summary, ending=ending)
            case _:
                pass
        if isinstance(fact.payload, Observation):
            until = fact.payload.at_s if paused_at_s is None else paused_at_s
            usage = replace(usage, seconds=until - waited_s)
    if summary is None:
        raise FactOrderError("The record has no run.started", allowed="run.started as the first fact")
    return replace(
        summary,
        usage=usage,
        granted=granted,
        granted_s=granted_s,
        findings=tuple(findings),
        warnings=tuple(warnings),
        waits_for=waits_for,
    )


def _with_call(usage: Usage, settled: CallSettled) -> Usage:
    used_something = settled.model_calls or settled.input_tokens or settled.output_tokens
    is_unknown = settled.cost_usd is None and bool(used_something)
    return replace(
        usage,
        model_calls=usage.model_calls + settled.model_calls,
        input_tokens=usage.input_tokens + settled.input_tokens,
        output_tokens=usage.output_tokens + settled.output_tokens,
        tokens=usage.tokens + settled.input_tokens + settled.output_tokens,
        known_cost_usd=usage.known_cost_usd + (settled.cost_usd or 0),
        unknown_cost_calls=usage.unknown_cost_calls + (max(settled.model_calls, 1) if is_unknown else 0),
    )


def with_child(usage: Usage, settled: ChildSettled) -> Usage:
    """What was used, and what a sub-agent used that ran as a run of its own."""
    return replace(
        usage,
        turns=usage.turns + settled.turns,
        model_calls=usage.model_calls + settled.model_calls,
        input_tokens=usage.input_tokens + settled.input_tokens,
        output_tokens=usage.output_tokens + settled.output_tokens,
        tokens=usage.tokens + settled.input_tokens + settled.output_tokens,
        known_cost_usd=usage.known_cost_usd + settled.known_cost_usd,
        unknown_cost_calls=usage.unknown_cost_calls + settled.unknown_cost_calls,
        tool_calls=usage.tool_calls + settled.tool_calls,
    )
