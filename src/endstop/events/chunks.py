"""Facts as the chunks a chat shows (I1, I2). The types and their fields never change; new ones may come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from endstop.events.facts import Fact, RunStarted, SourceCited, Thought
from endstop.events.plain import written
from endstop.events.steered import TreeChosen, TreeTraced
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.finding import Finding, Response
from endstop.kernel.ledger import ROOT
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import (
    AssistantSaid,
    BudgetGranted,
    CallSettled,
    ContextMeasured,
    RunEnded,
    RunPaused,
    RunResumed,
    SignalGiven,
    ToolCalled,
    ToolFinished,
    TurnStarted,
)
from endstop.kernel.order import rule_of_finding
from endstop.kernel.outcome import (
    Abandoned,
    Cancelled,
    Completed,
    Ending,
    Failed,
    Forced,
    Stopped,
    StopRule,
)
from endstop.kernel.verdict import FindingReported, LimitExceeded, LimitNotice, LimitWarned
from endstop.kernel.wording import sentence


class ChunkType(StrEnum):
    THINKING = "thinking"
    CONTENT = "content"
    SOURCE = "source"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    CONTEXT_UPDATE = "context_update"
    SYSTEM = "system"
    DONE = "done"
    ERROR = "error"
    BUDGET = "budget"
    """What the run may use: the first chunk there is."""
    GRANT = "grant"
    SIGNAL = "signal"
    TREE = "tree"
    TRACE = "trace"
    PAUSED = "paused"
    RESUMED = "resumed"


class SystemType(StrEnum):
    LIMIT_WARNING = "limit_warning"
    LIMIT_REACHED = "limit_reached"
    NO_PROGRESS = "no_progress"
    ERROR_LIMIT = "error_limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One thing to show. Who has seen it asks for what follows its ``id``."""

    seq: int
    """The fact it comes from."""
    part: int = 0
    """Which of the chunks of that fact it is."""
    type: ChunkType
    data: dict[str, object]

    @property
    def id(self) -> str:
        return f"{self.seq}.{self.part}"

    def to_json(self) -> dict[str, object]:
        return {"type": self.type.value, **self.data}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningPath:
    """Which nodes of the tree are running while it sleeps. For those who watch live: never on record."""

    scope: str = ROOT
    path: tuple[int, ...]
    """Their indexes, from the root down."""
    names: tuple[str, ...]


METERED = (
    LimitKind.TURNS,
    LimitKind.TOKENS,
    LimitKind.COST_USD,
    LimitKind.SECONDS,
    LimitKind.MODEL_CALLS,
)
"""The limits that people watch being used up. The others hold within a turn."""

_ADVICE_AT_LIMIT = {
    LimitKind.TURNS: "What was gathered is kept. Continue with more turns, or ask something narrower.",
    LimitKind.SECONDS: "What was gathered is kept. Continue with more time, or ask something narrower.",
    LimitKind.CONTEXT_TOKENS: "What was gathered is kept. Start afresh, or ask something narrower.",
}
_ADVICE_ELSE = "What was gathered is kept. Continue with more budget, or ask something narrower."


def chunks(facts: Iterable[Fact]) -> Iterator[Chunk]:
    """The chunks of a record, in order. A record that has ended gives ``done`` as its last."""
    for fact in facts:
        yield from chunks_of(fact)


def chunks_of(fact: Fact) -> Iterator[Chunk]:
    """What one fact shows: often nothing."""
    match fact.payload:
        case Thought(text=text):
            yield _chunk(fact, ChunkType.THINKING, content=text)
        case AssistantSaid(text=text) if text:
            yield _chunk(fact, ChunkType.CONTENT, content=text)
        case SourceCited(title=title, location=location, passage=passage):
            yield _chunk(fact, ChunkType.SOURCE, title=title, location=location, passage=passage)
        case ToolCalled(call=call, tool=tool, arguments=arguments):
            yield _chunk(fact, ChunkType.TOOL_CALL, call_id=call, tool=tool, arguments=arguments)
        case ToolFinished(call=call, tool=tool) as finished:
            yield _chunk(
                fact,
                ChunkType.TOOL_RESULT,
                call_id=call,
                tool=tool,
                status=finished.status.value,
                result=finished.result,
                is_error=finished.is_error,
            )
        case TurnStarted(turn=turn, closing=closing):
            yield _chunk(fact, ChunkType.CONTEXT_UPDATE, turn=turn, is_last_turn=closing is not None)
        case CallSettled() as settled:
            yield _chunk(
                fact,
                ChunkType.CONTEXT_UPDATE,
                turn=settled.turn,
                input_tokens=settled.input_tokens,
                output_tokens=settled.output_tokens,
                cost_usd=written(settled.cost_usd),
            )
        case ContextMeasured(tokens=tokens):
            yield _chunk(fact, ChunkType.CONTEXT_UPDATE, context_tokens=tokens)
        case LimitWarned() as warned:
            yield _limit_chunk(fact, SystemType.LIMIT_WARNING, warned, warned.message)
        case LimitExceeded() as exceeded:
            advice = _ADVICE_AT_LIMIT.get(exceeded.limit_type, _ADVICE_ELSE)
            yield _limit_chunk(fact, SystemType.LIMIT_REACHED, exceeded, f"{exceeded.message} {advice}")
        case FindingReported(finding=finding, response=Response.STOP | Response.ASK):
            yield _finding_chunk(fact, finding)
        case RunEnded(outcome=outcome):
            yield from _ending_chunks(fact, outcome)
        case _:
            yield from _chunks_for_watchers(fact)


def _chunks_for_watchers(fact: Fact) -> Iterator[Chunk]:
    """What a chat can do without, and a page that shows meters, signals and the tree cannot."""
    match fact.payload:
        case RunStarted() as started:
            yield _chunk(fact, ChunkType.BUDGET, **_budget_data(started), started_at=fact.time, at=fact.time)
        case BudgetGranted(grant=grant):
            yield _chunk(fact, ChunkType.GRANT, added=granted(grant), by=grant.by, why=grant.why)
        case SignalGiven() as signal:
            yield _chunk(
                fact,
                ChunkType.SIGNAL,
                turn=signal.turn,
                signal_type=signal.type,
                reason=signal.reason,
                confidence=signal.confidence,
            )
        case TreeChosen(tree=tree, hash=digest):
            yield _chunk(fact, ChunkType.TREE, tree=tree, hash=digest)
        case TreeTraced(turn=turn, steps=steps):
            yield _chunk(fact, ChunkType.TRACE, turn=turn, steps=list(steps))
        case RunPaused(why=why):
            yield _chunk(fact, ChunkType.PAUSED, why=why, at=fact.time)
        case RunResumed():
            yield _chunk(fact, ChunkType.RESUMED, why="", at=fact.time)
        case _:
            return


def limits_of(budget: Budget) -> dict[str, object]:
    """The limits that are set and metered, as plain values. Money is text."""
    return {kind.value: written(budget.limits[kind].maximum) for kind in METERED if kind in budget.limits}


def granted(grant: Grant) -> dict[str, object]:
    """What a grant adds: only what is more than nothing. Money is text."""
    amounts = {kind.value: getattr(grant, kind.value) for kind in METERED}
    return {name: written(amount) for name, amount in amounts.items() if amount}


def percent_of(part: float) -> float:
    """A part of one in percent: 70 and not 70.0, nor 70.00000000000001."""
    percent = round(float(part) * 100, 3)  # a reserve of 0 is whole
    return int(percent) if percent.is_integer() else percent


def _budget_data(started: RunStarted) -> dict[str, object]:
    budget = started.config.budget
    warn_at = {kind: budget.limits[kind].warn_at for kind in METERED if kind in budget.limits}
    return {
        "limits": limits_of(budget),
        "warn_percent": {kind.value: percent_of(part) for kind, part in warn_at.items() if part is not None},
        "reserve_percent": percent_of(budget.finish_reserve),
        "model": started.model,
    }


def _chunk(fact: Fact, kind: ChunkType, **data: object) -> Chunk:
    scope = getattr(fact.payload, "scope", ROOT)
    if scope != ROOT:
        data["scope"] = scope
    return Chunk(seq=fact.seq, type=kind, data=data)


def _limit_chunk(fact: Fact, kind: SystemType, notice: LimitNotice, message: str) -> Chunk:
    return _chunk(
        fact,
        ChunkType.SYSTEM,
        system_type=kind.value,
        system_message=message,
        metadata={
            "current_value": written(notice.current_value),
            "limit_value": written(notice.limit_value),
            "percent": notice.percentage,
            "limit_type": notice.limit_type.value,
        },
    )


def _finding_chunk(fact: Fact, finding: Finding) -> Chunk:
    is_errors = rule_of_finding(finding) is StopRule.ERROR_LIMIT
    return _chunk(
        fact,
        ChunkType.SYSTEM,
        system_type=(SystemType.ERROR_LIMIT if is_errors else SystemType.NO_PROGRESS).value,
        system_message=f"{sentence(finding.message)} {finding.advice}",
        metadata={
            "current_value": finding.times,
            "limit_value": finding.times,
            "percent": 100.0,
            "limit_type": finding.pattern.value,
        },
    )


def _ending_chunks(fact: Fact, outcome: Ending) -> Iterator[Chunk]:
    done = _chunk(fact, ChunkType.DONE, **_done_data(outcome))
    if isinstance(outcome, Failed):
        yield _chunk(fact, ChunkType.ERROR, code=outcome.code, message=outcome.message)
        done = replace(done, part=1)
    yield done


def _done_data(outcome: Ending) -> dict[str, object]:
    data: dict[str, object] = {
        "outcome": type(outcome).__name__.lower(),
        "answer": "",
        "is_forced": isinstance(outcome, Forced),
        "warnings": [],
    }
    match outcome:
        case Completed(answer=answer, warnings=warnings):
            data.update(answer=answer, warnings=list(warnings))
        case Forced(answer=answer, reason=reason):
            data.update(answer=answer, reason=reason.message, rule=reason.rule.value)
        case Stopped(reason=reason):
            data.update(reason=reason.message, rule=reason.rule.value)
        case Abandoned():
            data.update(reason=outcome.reason, next_steps=list(outcome.next_steps))
        case Cancelled(by=by, answer=answer):
            data.update(answer=answer, reason=f"Cancelled by {by}.")
        case Failed(message=message, answer=answer):
            data.update(answer=answer, reason=message)
        case _:
            assert_never(outcome)
    return data
