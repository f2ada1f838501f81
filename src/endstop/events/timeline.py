"""A record as a list of moments, for people who want to see what happened when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from endstop.events.coding_words import told_of_coding
from endstop.events.facts import (
    ChildHandedOut,
    EscalationReached,
    Fact,
    HintGiven,
    ModelFailed,
    ModelTold,
    Payload,
    ReviewDecided,
    ReviewRequested,
    RunDelegated,
    RunStarted,
    RunTaken,
    Severity,
    SignalRejected,
    SourceCited,
    Thought,
    UsageDisputed,
    UserAwaited,
)
from endstop.events.steered import (
    CapabilityMissing,
    FallbackChosen,
    PromptSet,
    QueryClassified,
    TreeChosen,
    TreeTraced,
)
from endstop.kernel import observation as seen
from endstop.kernel import verdict as noticed
from endstop.kernel.budget import Grant
from endstop.kernel.ledger import ROOT

_MOST_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One line of the timeline."""

    seq: int
    time: float
    at_s: float
    """Seconds on the run's clock."""
    scope: str
    turn: int | None
    type: str
    severity: Severity
    title: str
    detail: str = ""


def timeline(facts: Iterable[Fact]) -> Iterator[Moment]:
    """Every fact as a line, in order."""
    at_s = 0.0
    for fact in facts:
        at_s = getattr(fact.payload, "at_s", at_s)
        title, detail = _told(fact)
        yield Moment(
            seq=fact.seq,
            time=fact.time,
            at_s=at_s,
            scope=getattr(fact.payload, "scope", ROOT),
            turn=getattr(fact.payload, "turn", None),
            type=fact.type,
            severity=fact.severity,
            title=title,
            detail=detail if len(detail) <= _MOST_CHARS else f"{detail[: _MOST_CHARS - 1]}…",
        )


def _told(fact: Fact) -> tuple[str, str]:
    """A fact as a title and a detail."""
    match fact.payload:
        case RunStarted(question=question):
            return "Run started", question
        case noticed.LimitWarned(message=message) | noticed.LimitExceeded(message=message):
            return "Limit", message
        case noticed.FindingReported(finding=finding, response=response):
            return f"Found: {finding.pattern.value.replace('_', ' ')} ({response.value})", finding.message
        case noticed.Overrun(message=message):
            return "More used than reserved", message
        case noticed.PriceUnknown(message=message):
            return "Unknown price", message
        case HintGiven(text=text) | ModelTold(text=text):
            return "Told the model", text
        case SignalRejected(problem=problem, text=text):
            return f"Signal not taken: {problem}", text
        case SourceCited(title=title, location=location):
            return f"Source: {title}", location
        case Thought(text=text):
            return "Thought", text
        case ModelFailed(attempt=attempt, message=message, retry_in_s=retry_in_s):
            again = "not tried again" if retry_in_s is None else f"tried again in {retry_in_s:g} s"
            return f"Model failed, try {attempt}: {again}", message
        case UsageDisputed(reported_tokens=reported, counted_tokens=counted):
            return "Usage not believed", f"{reported:,} tokens reported, {counted:,} counted"
        case UserAwaited(question=question):
            return "Asked the user", question
        case EscalationReached(key=key, limit=limit, is_hard=is_hard, failure=failure):
            return f"{'Hard' if is_hard else 'Soft'} limit of {key} ({limit})", failure or ""
        case RunTaken():
            return "Taken on by another process", ""
        case RunDelegated(parent=parent):
            return "Works for another run", parent
        case ChildHandedOut(agent=agent, run_id=run_id):
            return f"Handed out: {agent}", run_id
        case ReviewRequested(review=review):
            return "Review asked for", review.why
        case ReviewDecided(by=by, decision=decision):
            return f"Review decided by {by}", type(decision).__name__
        case _:
            return _told_of_steering(fact.payload) or told_of_coding(fact.payload) or _told_observation(fact)


def _told_of_steering(payload: Payload) -> tuple[str, str] | None:
    match payload:
        case TreeChosen(tree=tree, hash=digest):
            return f"Steered by the tree {tree}", digest
        case TreeTraced(steps=steps):
            return "Tree", ", ".join(steps)
        case QueryClassified(query_type=query_type, why=why):
            return f"Question about: {query_type}", why
        case PromptSet(tools=tools):
            return "Prompt composed", f"with {', '.join(tools)}" if tools else "without tools"
        case CapabilityMissing(capability=capability, reason=reason):
            return f"Cannot: {capability}", reason
        case FallbackChosen(action=action, why=why):
            return f"Fallback: {action.replace('_', ' ')}", why
        case _:
            return None


def _told_observation(fact: Fact) -> tuple[str, str]:
    match fact.payload:
        case seen.TurnStarted(turn=turn, closing=closing):
            return f"Turn {turn + 1}", "the last one" if closing else ""
        case seen.CallSettled() as settled:
            cost = "cost unknown" if settled.cost_usd is None else f"${settled.cost_usd:f}"
            return "Model called", f"{settled.input_tokens:,} in, {settled.output_tokens:,} out, {cost}"
        case seen.ChildSettled(turns=turns, input_tokens=read, output_tokens=wrote):
            return "Sub-agent settled", f"{turns:,} turns, {read:,} in, {wrote:,} out"
        case seen.CallUnaffordable(limit=limit):
            return "No further call fits", f"what is left of {limit.value.replace('_', ' ')} is too little"
        case seen.AssistantSaid(text=text):
            return "Assistant", text
        case seen.ReplyRepeated(chunk=chunk, times=times):
            return f"Cut off: said the same {times} times", chunk
        case seen.SignalGiven(type=kind, reason=reason):
            return f"Signal: {kind}", reason or ""
        case seen.ToolCalled(tool=tool, arguments=arguments):
            return f"Call: {tool}", arguments
        case seen.ToolFinished(tool=tool, status=status, result=result):
            return f"Result: {tool} ({status.value})", result
        case seen.RunPaused(why=why):
            return "Run paused", why
        case seen.UserSaid(text=text):
            return "User", text
        case seen.AgentFinished(answer=answer):
            return "Agent finished", answer
        case seen.CancelRequested(by=by, after_turn=after_turn):
            return f"Cancelled by {by}", "after the turn" if after_turn else "at once"
        case seen.BudgetGranted(grant=grant):
            return f"Granted by {grant.by}: {_granted(grant)}", grant.why
        case seen.ScopeOpened(scope=scope) | seen.ScopeEnded(scope=scope):
            return fact.type.replace(".", " ").capitalize(), scope
        case seen.RunEnded(outcome=outcome):
            return f"Ended: {type(outcome).__name__.lower()}", ""
        case _:
            return fact.type.replace(".", " ").capitalize(), ""


def _granted(grant: Grant) -> str:
    parts = [
        f"{value} {name}"
        for name, value in (
            ("turns", grant.turns),
            ("model calls", grant.model_calls),
            ("tokens", grant.tokens),
            ("dollars", grant.cost_usd),
            ("seconds", grant.seconds),
        )
        if value
    ]
    return ", ".join(parts)
