"""A run followed fact by fact: what it does, in a few words, and what is left of its budget."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from endstop.cli.texts import count, one_line
from endstop.events.facts import Fact, ModelFailed, ReviewRequested, UserAwaited
from endstop.events.summary import Summary, with_child
from endstop.kernel import observation as seen
from endstop.kernel import verdict as noticed
from endstop.kernel.amounts import NOTHING, Amounts
from endstop.kernel.budget import Budget
from endstop.kernel.ledger import ROOT
from endstop.kernel.limits import Meter
from endstop.kernel.usage import NO_USAGE, Usage

_TEXT_CHARS = 60
_MOST_TOOLS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something worth a line: a turn that is over, or something that was noticed."""

    kind: str
    """``turn`` or ``notice``."""
    text: str
    data: dict[str, object]


@dataclass(slots=True)
class _Turn:
    """A turn under way."""

    number: int
    is_last: bool = False
    chars: int = 0
    text: str = ""
    tools: Counter[str] = field(default_factory=Counter[str])
    not_done: Counter[str] = field(default_factory=Counter[str])


class Progress:
    """How a run stands, as far as its facts have come."""

    def __init__(self, *, run_id: str, budget: Budget, facts: Iterable[Fact] = ()) -> None:
        self.run_id = run_id
        self._budget = budget
        self._usage: Usage = NO_USAGE
        self._granted: Amounts = NOTHING
        self._granted_s = 0.0
        self._waited_s = 0.0
        self._paused_at_s: float | None = None
        self._turns: dict[str, _Turn] = {}
        for fact in facts:
            self.add(fact)
        self._seen_at = time.monotonic()

    @property
    def turns_shown(self) -> str:
        """ "3 turns"."""
        return count(self._usage.turns, "turn")

    def add(self, fact: Fact) -> Step | None:
        """Take in a fact; what is worth a line about it."""
        payload = fact.payload
        if isinstance(payload, seen.Observation):
            until = payload.at_s if self._paused_at_s is None else self._paused_at_s
            self._usage = replace(self._usage, seconds=until - self._waited_s)
            self._seen_at = time.monotonic()
            return self._counted(payload)
        return _notice(fact)

    def meters(self, *, is_live: bool = False) -> tuple[Meter, ...]:
        """What was used of each limit; live, with the time since the last fact."""
        usage = self._usage
        if is_live and self._paused_at_s is None:
            usage = replace(usage, seconds=usage.seconds + time.monotonic() - self._seen_at)
        summary = Summary(
            run_id=self.run_id,
            budget=self._budget,
            usage=usage,
            granted=self._granted,
            granted_s=self._granted_s,
        )
        return summary.meters

    def _counted(self, payload: seen.Observation) -> Step | None:
        scope = payload.scope
        match payload:
            case seen.TurnStarted(turn=turn, closing=closing):
                self._usage = replace(self._usage, turns=self._usage.turns + 1)
                self._turns[scope] = _Turn(number=turn + 1, is_last=closing is not None)
            case seen.CallSettled() as settled:
                self._usage = _with_call(self._usage, settled)
            case seen.ChildSettled() as settled:
                self._usage = with_child(self._usage, settled)
            case seen.AssistantSaid(text=text) if scope in self._turns:
                turn = self._turns[scope]
                turn.chars, turn.text = turn.chars + len(text), turn.text or one_line(text, _TEXT_CHARS)
            case seen.ToolCalled(tool=tool) if scope in self._turns:
                self._turns[scope].tools[tool] += 1
            case seen.ToolFinished(status=status) if scope in self._turns:
                if status is not seen.CallStatus.EXECUTED:
                    self._turns[scope].not_done[status.value.replace("_", " ")] += 1
            case seen.TurnEnded() if scope in self._turns:
                return _turn_step(self._turns.pop(scope), scope)
            case seen.RunPaused(at_s=at_s) if self._paused_at_s is None:
                self._paused_at_s = at_s
            case seen.RunResumed(at_s=at_s) if self._paused_at_s is not None:
                self._waited_s, self._paused_at_s = self._waited_s + at_s - self._paused_at_s, None
            case seen.BudgetGranted(scope="run", grant=grant):
                self._granted = self._granted.plus(grant.amounts)
                self._granted_s += grant.seconds
                return _step("notice", f"granted more by {grant.by}: {grant.why}")
            case seen.CancelRequested(by=by, after_turn=after_turn):
                return _step("notice", f"{by} asks it to end {'after this turn' if after_turn else 'now'}")
            case _:
                pass
        return None


def _turn_step(turn: _Turn, scope: str) -> Step:
    where = "" if scope == ROOT else f" of {scope}"
    parts = [f'said {count(turn.chars, "character")}: "{turn.text}"'] if turn.chars else []
    if turn.tools:
        parts.append(f"called {_listed(turn.tools)}")
    if turn.not_done:
        parts.append(", ".join(f"{number:,} {status}" for status, number in turn.not_done.items()))
    last = " (the last)" if turn.is_last else ""
    text = f"turn {turn.number}{last}{where}: {'; '.join(parts) or 'said nothing, called nothing'}"
    data: dict[str, object] = {
        "turn": turn.number,
        "is_last_turn": turn.is_last,
        "scope": scope,
        "characters": turn.chars,
        "tool_calls": dict(turn.tools),
        "not_executed": dict(turn.not_done),
    }
    return _step("turn", text, **data)


def _listed(tools: Counter[str]) -> str:
    named = [
        f"{one_line(tool, 30)} ×{times:,}" if times > 1 else one_line(tool, 30)
        for tool, times in tools.most_common(_MOST_TOOLS)
    ]
    more = len(tools) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


def _notice(fact: Fact) -> Step | None:
    match fact.payload:
        case noticed.LimitWarned(message=message) | noticed.Overrun(message=message):
            return _step("notice", message, type=fact.type)
        case noticed.PriceUnknown(message=message):
            return _step("notice", message, type=fact.type)
        case noticed.FindingReported(finding=finding, response=response):
            return _step("notice", f"found: {finding.message} ({response.value})", type=fact.type)
        case ModelFailed(message=message, retry_in_s=retry_in_s):
            again = "" if retry_in_s is None else f" Trying again in {retry_in_s:g} s."
            return _step("notice", f"the model failed: {message}{again}", type=fact.type)
        case ReviewRequested(review=review):
            return _step("notice", f"a review is asked for: {review.why}", type=fact.type)
        case UserAwaited(question=question):
            return _step("notice", f"the agent asks: {question}", type=fact.type)
        case _:
            return None


def _step(kind: str, text: str, **data: object) -> Step:
    return Step(kind=kind, text=one_line(text, 160), data={"text": text, **data})


def _with_call(usage: Usage, settled: seen.CallSettled) -> Usage:
    is_unknown = settled.cost_usd is None and bool(settled.input_tokens or settled.output_tokens)
    tokens = settled.input_tokens + settled.output_tokens
    return replace(
        usage,
        model_calls=usage.model_calls + settled.model_calls,
        tokens=usage.tokens + tokens,
        known_cost_usd=usage.known_cost_usd + (settled.cost_usd or 0),
        unknown_cost_calls=usage.unknown_cost_calls + int(is_unknown),
    )
