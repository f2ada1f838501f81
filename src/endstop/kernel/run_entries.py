"""What observations change in the run as a whole: it is cancelled, waits, goes on, or a part of it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from endstop.errors import LedgerError
from endstop.kernel.evolve import evolve
from endstop.kernel.ledger import Ledger
from endstop.kernel.limits import Meter
from endstop.kernel.observation import (
    CancelRequested,
    Observation,
    RunEnded,
    RunPaused,
    RunResumed,
    ScopeEnded,
)
from endstop.kernel.outcome import Forced, Stopped
from endstop.kernel.state import GovernorState
from endstop.kernel.verdict import NOTHING_NOTICED, LimitExceeded, Noticed, limit_notice

Entered = tuple[GovernorState, Noticed]


def _cancel_requested(state: GovernorState, request: CancelRequested) -> Entered:
    after_turn = request.after_turn and (state.cancelled_by is None or state.cancels_after_turn)
    cancelled_by = state.cancelled_by or request.by or "somebody"
    return evolve(state, cancelled_by=cancelled_by, cancels_after_turn=after_turn), NOTHING_NOTICED


def _paused(state: GovernorState, paused: RunPaused) -> Entered:
    at_s = paused.at_s if state.paused_at_s is None else state.paused_at_s
    return evolve(state, paused_at_s=at_s), NOTHING_NOTICED


def _resumed(state: GovernorState, resumed: RunResumed) -> Entered:
    if state.paused_at_s is None:
        return state, NOTHING_NOTICED
    waited = resumed.at_s - state.paused_at_s
    scopes = {name: evolve(scope, last_activity_s=resumed.at_s) for name, scope in state.scopes.items()}
    return evolve(state, waited_s=state.waited_s + waited, paused_at_s=None, scopes=scopes), NOTHING_NOTICED


def _scope_ended(state: GovernorState, ended: ScopeEnded) -> Entered:
    account = state.ledger.account(ended.scope)
    if account.parent is None:
        raise LedgerError("The run itself is ended by RunEnded, not by ScopeEnded")
    own = state.scopes[ended.scope]
    ledger = _settled_up(state.ledger, ended.scope).close(ended.scope)
    scopes = {name: scope for name, scope in state.scopes.items() if name != ended.scope}
    parent = scopes[account.parent]
    scopes[account.parent] = evolve(
        parent,
        last_activity_s=ended.at_s,
        model_calls=parent.model_calls + own.model_calls,
        input_tokens=parent.input_tokens + own.input_tokens,
        output_tokens=parent.output_tokens + own.output_tokens,
        known_cost_usd=parent.known_cost_usd + own.known_cost_usd,
        unknown_cost_calls=parent.unknown_cost_calls + own.unknown_cost_calls,
        tool_calls=parent.tool_calls + own.tool_calls,
    )
    return evolve(state, ledger=ledger, scopes=scopes), _exceeded(state, ended)


def _run_ended(state: GovernorState, ended: RunEnded) -> Entered:
    others = [name for name in state.scopes if name != ended.scope]
    if others:
        raise LedgerError(
            f"The run cannot end: still open are {', '.join(others)}", to_do="End its scopes first"
        )
    ledger = _settled_up(state.ledger, ended.scope)
    return evolve(state, ledger=ledger, ending=ended.outcome), _exceeded(state, ended)


def _exceeded(state: GovernorState, ended: ScopeEnded | RunEnded) -> Noticed:
    """The notice that a limit ended this, if one did."""
    reason = ended.outcome.reason if isinstance(ended.outcome, Forced | Stopped) else None
    if reason is None or reason.limit is None or reason.current is None or reason.maximum is None:
        return NOTHING_NOTICED
    meter = Meter(kind=reason.limit, used=reason.current, maximum=reason.maximum)
    account = state.ledger.account(ended.scope)
    is_forced = isinstance(ended.outcome, Forced)
    turn = account.settled.turns
    notice = limit_notice(LimitExceeded, meter, account, turn=turn, message=reason.message, forced=is_forced)
    return Noticed(notices=(notice,))


def _settled_up(ledger: Ledger, name: str) -> Ledger:
    """The ledger with every open reservation of an account settled at its worst case: what was under way
    may have been spent, and unknown is never zero."""
    children = ledger.children(name)
    if children:
        raise LedgerError(
            f"{name!r} cannot end: still open are {', '.join(children)}", to_do="End them first"
        )
    for reservation, held in ledger.account(name).holds.items():
        ledger = ledger.settle(name, reservation, held)
    return ledger


RUN_ENTRIES: dict[type[Observation], Callable[[GovernorState, Any], Entered]] = {
    CancelRequested: _cancel_requested,
    RunPaused: _paused,
    RunResumed: _resumed,
    ScopeEnded: _scope_ended,
    RunEnded: _run_ended,
}
