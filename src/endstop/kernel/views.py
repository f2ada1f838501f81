"""Reading the governor's state: the meters that bind a scope, and the view its decision tree is shown."""

from __future__ import annotations

from endstop.kernel.agent import AgentConfig, AgentState
from endstop.kernel.budget import UnknownPrice
from endstop.kernel.finding import Response
from endstop.kernel.ledger import Account
from endstop.kernel.limits import Limit, LimitKind, Meter, Number, minus
from endstop.kernel.outcome import StopRule
from endstop.kernel.state import GovernorState

_MILD = (Response.GO_ON, Response.NUDGE)
"""What is done about a finding that ends nothing."""

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
    used = _used(state, account, kind, scope)
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


def _used(state: GovernorState, account: Account, kind: LimitKind, scope: str) -> Number:
    if kind is LimitKind.SECONDS:
        return max(state.charged_s - state.scopes[account.id].opened_charged_s, 0.0)
    if kind is LimitKind.CONTEXT_TOKENS:
        return state.scopes[scope].context_tokens
    return account.used(kind)


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


def is_at_ease(state: GovernorState, scope: str, config: AgentConfig, *, at_s: float) -> bool:
    """Whether a scope is so far from all its limits, and so quiet, that no rule can be met.

    False says nothing: then the view has to be made, and every rule looked at.
    """
    own = state.scopes[scope]
    if (
        own.is_finished
        or own.closing is not None
        or own.policy_failure is not None
        or state.cancelled_by is not None
        or (own.findings and any(config.response(one) not in _MILD for one in own.findings))
        or (own.unknown_cost_calls and _refuses_unknown_prices(state, scope))
    ):
        return False
    now_s = max(at_s, state.now_s) if state.paused_at_s is None else state.paused_at_s
    charged_s = now_s - state.waited_s
    account = state.ledger.accounts[scope]
    while True:
        seconds = charged_s - state.scopes[account.id].opened_charged_s
        if not account.is_below(account.marks, seconds, own.context_tokens):
            return False
        if account.parent is None:
            return True
        account = state.ledger.accounts[account.parent]


def is_plainly_finished(state: GovernorState, scope: str) -> bool:
    """Whether the model finished of its own accord, and no rule that ranks before that can be met."""
    own = state.scopes[scope]
    return (
        own.is_finished and own.closing is None and own.policy_failure is None and state.cancelled_by is None
    )


def may_warn(state: GovernorState, scope: str) -> bool:
    """Whether a warning may be due that was not given yet. True says only that the meters have to be read."""
    context_tokens, charged_s = state.scopes[scope].context_tokens, state.charged_s
    account = state.ledger.accounts[scope]
    while True:
        seconds = charged_s - state.scopes[account.id].opened_charged_s
        is_quiet = account.is_below(account.warning_marks, seconds, context_tokens)
        if not is_quiet and not _has_warned(state, account, scope):
            return True
        if account.parent is None:
            return False
        account = state.ledger.accounts[account.parent]


def _has_warned(state: GovernorState, account: Account, scope: str) -> bool:
    """Whether all warnings that may be due of an account's limits were given."""
    return all(
        (account.id, kind) in state.warned
        or _used(state, account, kind, scope) < getattr(account.warning_marks, kind.value)
        for kind in account.budget.limits
        if kind not in _CEILINGS_PER_TURN
    )


def _refuses_unknown_prices(state: GovernorState, scope: str) -> bool:
    return any(
        account.budget.cost_usd is not None and account.budget.unknown_price is UnknownPrice.REFUSE
        for account in state.ledger.lineage(scope)
    )
