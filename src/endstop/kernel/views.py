"""Reading the governor's state: the meters that bind a scope, and the view its decision tree is shown."""

from __future__ import annotations

from endstop.kernel.agent import AgentConfig, AgentState
from endstop.kernel.budget import UnknownPrice
from endstop.kernel.ledger import Account
from endstop.kernel.limits import Limit, LimitKind, Meter, minus
from endstop.kernel.outcome import StopRule
from endstop.kernel.state import GovernorState

_CEILINGS_PER_TURN = (LimitKind.TOOL_CALLS_PER_TURN, LimitKind.PARALLEL_TOOLS)


def meters(state: GovernorState, scope: str) -> tuple[Meter, ...]:
    """Every limit that binds a scope, in the order of A12: its own, and its ancestors' where it has none.

    Of several time limits the one that is reached first counts. An ancestor's finish reserve is not a scope's
    to use, so its limit is met that much earlier in here.
    """
    found: dict[LimitKind, Meter] = {}
    is_own = True
    for account in state.ledger.lineage(scope):
        for kind, limit in account.budget.limits.items():
            if kind in _CEILINGS_PER_TURN or (kind in found and kind is not LimitKind.SECONDS):
                continue
            meter = _meter(state, account, limit, scope, is_own=is_own)
            if kind not in found or meter.remaining < found[kind].remaining:
                found[kind] = meter
        is_own = False
    if len(state.ledger.accounts) == 1:
        return tuple(found.values())
    return tuple(found[kind] for kind in LimitKind if kind in found)


def _meter(state: GovernorState, account: Account, limit: Limit, scope: str, *, is_own: bool) -> Meter:
    kind = limit.kind
    if kind is LimitKind.SECONDS:
        used = max(state.charged_s - state.scopes[account.id].opened_charged_s, 0.0)
    elif kind is LimitKind.CONTEXT_TOKENS:
        used = state.scopes[scope].context_tokens
    else:
        used = account.used(kind)
    maximum = account.maximum(kind)
    assert maximum is not None, "the account limits this kind"
    return Meter(
        kind=kind,
        used=used,
        maximum=maximum if is_own else minus(maximum, limit.finish),
        warn_at=limit.warn_at,
        finish=limit.finish if is_own else 0,
        owner=account.id,
    )


def agent_state(
    state: GovernorState, scope: str, config: AgentConfig, *, user: str | None, project: str | None
) -> AgentState:
    """The view of a scope that its decision tree is shown."""
    own = state.scopes[scope]
    is_in_turn = bool(own.open_turns)
    is_cancelled = state.cancelled_by is not None and not (state.cancels_after_turn and is_in_turn)
    termination = StopRule.CANCELLED if is_cancelled else StopRule.FINISHED if own.is_finished else None
    return AgentState(
        user=user,
        project=project,
        turn=state.ledger.account(scope).settled.turns,
        usage=state.usage(scope),
        start_time_s=own.opened_at_s,
        now_s=state.now_s,
        idle_s=state.now_s - own.last_activity_s,
        recent_actions=own.recent_actions,
        stale_turns=own.stale_turns,
        findings=own.findings,
        termination_reason=termination,
        config=config,
        meters=meters(state, scope),
        is_in_turn=is_in_turn,
        is_finished=own.is_finished,
        is_cancelled=is_cancelled,
        is_price_unknown=own.unknown_cost_calls > 0 and _refuses_unknown_prices(state, scope),
        closing=own.closing,
        extensions=own.extensions,
    )


def _refuses_unknown_prices(state: GovernorState, scope: str) -> bool:
    return any(
        account.budget.cost_usd is not None and account.budget.unknown_price is UnknownPrice.REFUSE
        for account in state.ledger.lineage(scope)
    )
