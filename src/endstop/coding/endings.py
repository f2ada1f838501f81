"""How a session ends, in words a person can act on (G6, G7). Pure.

There are five ways and no other: succeeded, succeeded with warnings, abandoned, stopped by a limit,
cancelled. Each says what to do next, and names the key of the policy and the command for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import assert_never

from endstop.coding.policy import Policy
from endstop.coding.specifying import attempt_words
from endstop.coding.submissions import TOO_MANY_TASKS
from endstop.events.coding import (
    Alternative,
    Criterion,
    PriceDecided,
    PriceGiven,
    PriceVerdict,
    RoundEnded,
    SessionConcluded,
    SpecificationGiven,
)
from endstop.events.coding_view import rounds_table
from endstop.kernel.limits import money
from endstop.kernel.outcome import (
    Abandoned,
    Cancelled,
    Completed,
    Ending,
    Failed,
    Forced,
    Stopped,
    StopReason,
    StopRule,
)
from endstop.kernel.texts import shortened
from endstop.kernel.wording import sentence

SUCCEEDED = "succeeded"
WITH_WARNINGS = "succeeded_with_warnings"
ABANDONED = "abandoned"
SESSION_TIMEOUT = "session_timeout"
SESSION_EXHAUSTED = "session_exhausted"
BUDGET_EXHAUSTED = "budget_exhausted"
TOKEN_LIMIT = "token_limit"
STUCK = "stuck"
CANCELLED = "cancelled"

_MOST_OPEN_SHOWN = 10
_MOST_FAILURE_CHARS = 1_000
_EDIT = "`endstop policy edit`"
_VERDICTS = MappingProxyType(
    {PriceVerdict.APPROVED: "yes", PriceVerdict.ASK: "to ask", PriceVerdict.REJECTED: "no"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stop:
    """What a rule that stops a session is called, and what can be done about it."""

    kind: str
    suggestion: str
    step: str


def _limit(kind: str, what: str, key: str) -> _Stop:
    return _Stop(
        kind=kind,
        suggestion=f"Ask for less in one session, or give it more {what}.",
        step=f"For more {what} raise {key}, with {_EDIT}.",
    )


_CALLS = _limit(SESSION_EXHAUSTED, "model calls", "session.model_calls")
_TOKENS = _limit(TOKEN_LIMIT, "tokens", "session.tokens")
_STUCK = _Stop(
    kind=STUCK,
    suggestion="Change the task: another round of the same will not help.",
    step="Say in your request how to go about what stayed open, or ask for less.",
)
_OTHERWISE = _Stop(
    kind=ABANDONED,
    suggestion="See what stopped it, and begin again when that is mended.",
    step="See the record with `endstop explain {run}`.",
)
_STOPS: Mapping[StopRule, _Stop] = MappingProxyType(
    {
        StopRule.TIME: _limit(SESSION_TIMEOUT, "time", "session.minutes"),
        StopRule.MODEL_CALLS: _CALLS,
        StopRule.TURNS: _CALLS,
        StopRule.COST: _limit(BUDGET_EXHAUSTED, "money", "session.cost_usd"),
        StopRule.TOKENS: _TOKENS,
        StopRule.CONTEXT: _TOKENS,
        StopRule.NO_PROGRESS: _STUCK,
        StopRule.ERROR_LIMIT: _STUCK,
        StopRule.CANCELLED: _Stop(
            kind=CANCELLED,
            suggestion="You ended it. What it had done is kept.",
            step="Begin again with `endstop build` when you like.",
        ),
    }
)
"""The other rules are no limits of a session; what they end is abandoned."""


def kind_of(reason: StopReason) -> str:
    """What a session that was stopped for this reason is called."""
    return _STOPS.get(reason.rule, _OTHERWISE).kind


def concluded_by(
    reason: StopReason,
    run_id: str,
    rounds: Sequence[RoundEnded] = (),
    checkpoint: str | None = None,
    *,
    criteria: tuple[Criterion, ...] = (),
) -> SessionConcluded:
    """How a session stands that a limit, a finding or a person has stopped. Its progress is saved."""
    stop = _STOPS.get(reason.rule, _OTHERWISE)
    stayed = _stayed_open(rounds) if stop is _STUCK else []
    return SessionConcluded(
        kind=stop.kind,
        suggestion=stop.suggestion,
        next_steps=(stop.step.format(run=run_id), *stayed, *work_steps(run_id, rounds, checkpoint)),
        checkpoint=checkpoint,
        criteria=criteria,
    )


def concluded(
    ending: Ending,
    run_id: str,
    rounds: Sequence[RoundEnded] = (),
    checkpoint: str | None = None,
    *,
    criteria: tuple[Criterion, ...] = (),
) -> SessionConcluded:
    """How a session stands that ends so, whatever the ending is."""
    match ending:
        case Forced(reason=reason) | Stopped(reason=reason):
            return concluded_by(reason, run_id, rounds, checkpoint, criteria=criteria)
        case Cancelled():
            reason = StopReason(rule=StopRule.CANCELLED, message=str(ending))
            return concluded_by(reason, run_id, rounds, checkpoint, criteria=criteria)
        case Completed(warnings=warnings):
            kind = WITH_WARNINGS if warnings else SUCCEEDED
            suggestion = (
                "See what is open before you accept it." if warnings else "Look at it, and accept it."
            )
            steps = work_steps(run_id, rounds, checkpoint)
        case Abandoned():
            kind, suggestion = ABANDONED, ending.suggestion
            steps = (*ending.next_steps, *work_steps(run_id, rounds, checkpoint))
        case Failed(message=message):
            given_up = failed("session", message)
            kind, suggestion = ABANDONED, given_up.suggestion
            steps = (*given_up.next_steps, *work_steps(run_id, rounds, checkpoint))
        case _:
            assert_never(ending)
    return SessionConcluded(
        kind=kind,
        suggestion=suggestion,
        next_steps=tuple(dict.fromkeys(steps)),
        checkpoint=checkpoint,
        criteria=criteria,
    )


def work_steps(run_id: str, rounds: Sequence[RoundEnded], checkpoint: str | None = None) -> tuple[str, ...]:
    """What can be done with the work there is. Without any there is nothing to do."""
    if not rounds:
        return (f"What it had begun is in commit {checkpoint}.",) if checkpoint else ()
    steps = [
        f"Take the work as it stands: `endstop session accept {run_id}`.",
        f"Or throw it away: `endstop session discard {run_id}`.",
    ]
    better = _better_words(rounds)
    if better:
        steps.insert(
            0, f"{better} Go back to it: `endstop session restore {run_id} {best_round(rounds).round}`."
        )
    return tuple(steps)


def other_steps(conclusion: SessionConcluded, run_id: str, rounds: Sequence[RoundEnded]) -> tuple[str, ...]:
    """What to do next besides accepting, discarding and restoring, for a place that has buttons for those."""
    better = _better_words(rounds) if rounds else ""
    with_buttons = set(work_steps(run_id, rounds)) if rounds else set[str]()
    steps = (
        better if better and step.startswith(better) and step in with_buttons else step
        for step in conclusion.next_steps
    )
    return tuple(step for step in steps if step not in with_buttons)


def best_round(rounds: Sequence[RoundEnded]) -> RoundEnded:
    """The round with the fewest open issues, of equals the last.

    One whose tests pass is better than any whose tests fail: that was not looked at any further, and so its
    list of open issues is short.
    """
    return min(
        reversed(rounds), key=lambda one: (one.failing_tests > 0, len(one.open_issues), one.failing_tests)
    )


# ── the ways to succeed ───────────────────────────────────────────────────────────────────────────────────


def succeeded(summary: str, rounds: Sequence[RoundEnded]) -> Completed:
    """Done: all four hold."""
    return Completed(answer="\n\n".join(part for part in (summary, _table(rounds)) if part))


def best_effort(summary: str, rounds: Sequence[RoundEnded]) -> Completed:
    """The rounds are used up: the current state is accepted, with a warning that says what is open (G4)."""
    last = rounds[-1]
    warnings = [
        f"Accepted as best effort after {_count(last.round, 'round')}, "
        f"with {_count(len(last.open_issues), 'open issue')}.",
        *_open_words(last.open_issues),
    ]
    better = _better_words(rounds)
    if better:
        warnings.append(better)
    return replace(succeeded(summary, rounds), warnings=tuple(warnings))


# ── the ways to give up ───────────────────────────────────────────────────────────────────────────────────


def price_rejected(
    prices: Sequence[PriceGiven],
    decisions: Sequence[PriceDecided] = (),
    specifications: Sequence[SpecificationGiven] = (),
) -> Abandoned:
    """Price and alternatives were all rejected (G2). The last price is the one it is about."""
    price = prices[-1]
    by = decisions[-1].by if decisions else "the policy"
    return Abandoned(
        reason=f"The price ({_price(price)}) was rejected by {by}",
        suggestion="Ask for less, or allow it to cost more",
        next_steps=(
            *(_offer(one) for one in price.alternatives),
            f"To allow a higher price raise price.reject_over_usd, with {_EDIT}.",
        ),
        tried=_tried(specifications, prices, decisions),
    )


def cycles_used_up(
    policy: Policy,
    prices: Sequence[PriceGiven],
    decisions: Sequence[PriceDecided] = (),
    specifications: Sequence[SpecificationGiven] = (),
) -> Abandoned:
    """Specifying and pricing went round as often as they may (G3)."""
    cycles = policy.price.cycles
    return Abandoned(
        reason=f"No specification at an acceptable price in {_count(cycles, 'cycle')}",
        suggestion="Ask for a smaller part of it first",
        next_steps=(
            *(_offer(one) for one in (prices[-1].alternatives if prices else ())),
            f"For a higher price raise price.reject_over_usd, for more cycles price.cycles, with {_EDIT}.",
        ),
        tried=_tried(specifications, prices, decisions),
    )


def plan_too_large(policy: Policy, tried: Sequence[str] = ()) -> Abandoned:
    """No plan that one session can do (G5)."""
    most = policy.plan.most_tasks
    return Abandoned(
        reason=f"No plan of at most {_count(most, 'task')} was handed in",
        suggestion=TOO_MANY_TASKS,
        next_steps=(
            "Ask for the first part alone, and for the others in sessions of their own.",
            f"To allow longer plans raise plan.most_tasks, for more time plan.seconds, with {_EDIT}.",
        ),
        tried=tuple(tried),
    )


def nothing_handed_in(role: str) -> Abandoned:
    """A part that all others rest on ended without a result."""
    return Abandoned(
        reason=f"The {role} handed in nothing",
        suggestion="Use a model that is better at calling tools, or give it more turns",
        next_steps=(f"Name another model in models.{role}, with {_EDIT}.",),
    )


def failed(part: str, message: str, tried: Sequence[str] = ()) -> Abandoned:
    """Something broke that nobody here can mend: a model past its retries, git, the disk."""
    return Abandoned(
        reason=f"The {part} failed: {shortened(message, _MOST_FAILURE_CHARS)}",
        suggestion="Mend what failed, then begin again",
        next_steps=(
            "See what is set up with `endstop doctor`.",
            *((f"Or name another model in models.{part}, with {_EDIT}.",) if part != "session" else ()),
        ),
        tried=tuple(tried),
    )


# ── words ─────────────────────────────────────────────────────────────────────────────────────────────────


def _tried(
    specifications: Sequence[SpecificationGiven],
    prices: Sequence[PriceGiven],
    decisions: Sequence[PriceDecided],
) -> tuple[str, ...]:
    """All that was tried, cycle by cycle."""
    cycles = sorted({one.cycle for one in (*specifications, *prices, *decisions)})
    return tuple(
        words
        for cycle in cycles
        for words in (
            *(attempt_words(one) for one in specifications if one.cycle == cycle),
            *(
                f"Cycle {cycle}: the price was {_price(one)}; the policy said {_VERDICTS[one.verdict]}."
                for one in prices
                if one.cycle == cycle
            ),
            *(f"Cycle {cycle}: {_decision(one)}." for one in decisions if one.cycle == cycle),
        )
    )


def _decision(decided: PriceDecided) -> str:
    if decided.alternative is None:
        return f"{decided.choice.value} by {decided.by}"
    return f"{decided.by} chose {decided.alternative.kind.value.replace('_', ' ')}"


def _offer(one: Alternative) -> str:
    price = "" if one.price_usd is None else f" (at most ${money(one.price_usd)})"
    return sentence(f"{one.kind.value.replace('_', ' ').capitalize()}{price}: {one.what}")


def _price(price: PriceGiven) -> str:
    return "unknown" if price.price_usd is None else f"${money(price.price_usd)}"


def _better_words(rounds: Sequence[RoundEnded]) -> str:
    """That an earlier round stood better than the last; nothing if none did."""
    best = best_round(rounds)
    if best.round == rounds[-1].round:
        return ""
    return f"Round {best.round} stood better ({_standing(best)}) than the last ({_standing(rounds[-1])})."


def _standing(ended: RoundEnded) -> str:
    return f"{_count(len(ended.open_issues), 'open issue')}, {_count(ended.failing_tests, 'failing test')}"


def _stayed_open(rounds: Sequence[RoundEnded]) -> list[str]:
    """What was open in the last two rounds alike."""
    if len(rounds) < 2:
        return []
    before, last = rounds[-2:]
    return [
        f"It stayed open: {words}"
        for words in _open_words([one for one in last.open_issues if one in before.open_issues])
    ]


def _open_words(issues: Sequence[str]) -> list[str]:
    shown = [sentence(issue) for issue in issues[:_MOST_OPEN_SHOWN]]
    more = len(issues) - len(shown)
    return [*shown, f"And {more:,} more."] if more else shown


def _table(rounds: Sequence[RoundEnded]) -> str:
    return "\n".join(rounds_table(rounds))


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
