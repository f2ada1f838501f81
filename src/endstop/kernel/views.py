"""Reading the governor's state: the meters that bind a scope, and the view its decision tree is shown."""

from __future__ import annotations

from collections.abc import Iterator

from endstop.kernel.agent import AgentConfig, AgentState
from endstop.kernel.amounts import SPENT_KINDS
from endstop.kernel.budget import UnknownPrice
from endstop.kernel.ledger import Account
from endstop.kernel.limits import LimitKind, Meter, minus
from endstop.kernel.outcome import StopRule
from endstop.kernel.state import GovernorState, ScopeState


def meters(state: GovernorState, scope: str) -> tuple[Meter, ...]:
    """Every limit that binds a scope: its own, and its ancestors' where it has none."""
    lineage = tuple(state.ledger.lineage(scope))
    found = [meter for kind in SPENT_KINDS if (meter := _spent_meter(lineage, kind))]
    found.extend(_tightest_time(state, lineage))
    found.extend(_context_meter(lineage, state.scopes[scope]))
    return tuple(found)


def agent_state(
    state: GovernorState, scope: str, config: AgentConfig, *, user: str | None, project: str | None
) -> AgentState:
    """The view of a scope that its decision tree is shown."""
    own = state.scopes[scope]
    is_in_turn = bool(own.open_turns)
    bound = meters(state, scope)
    refuses = any(
        account.budget.cost_usd is not None and account.budget.unknown_price is UnknownPrice.REFUSE
        for account in state.ledger.lineage(scope)
    )
    is_cancelled = state.cancelled_by is not None and not (state.cancels_after_turn and is_in_turn)
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
        termination_reason=StopRule.CANCELLED
        if is_cancelled
        else StopRule.FINISHED
        if own.is_finished
        else None,
        config=config,
        meters=bound,
        is_in_turn=is_in_turn,
        is_finished=own.is_finished,
        is_cancelled=is_cancelled,
        is_price_unknown=refuses and own.unknown_cost_calls > 0,
        closing=own.closing,
        extensions=own.extensions,
    )


def _spent_meter(lineage: tuple[Account, ...], kind: LimitKind) -> Meter | None:
    """The nearest account that limits the kind. An ancestor's finish reserve is not a scope's to use."""
    for depth, account in enumerate(lineage):
        maximum = account.maximum(kind)
        if maximum is None:
            continue
        finish = account.budget.finish(kind)
        return Meter(
            kind=kind,
            used=account.used(kind),
            maximum=maximum if depth == 0 else minus(maximum, finish),
            warn_at=account.budget.threshold(kind),
            finish=finish if depth == 0 else 0,
            owner=account.id,
        )
    return None


def _tightest_time(state: GovernorState, lineage: tuple[Account, ...]) -> Iterator[Meter]:
    """The time limit that is reached first, of the scope's own and all its ancestors'."""
    found: list[Meter] = []
    for depth, account in enumerate(lineage):
        maximum = account.maximum(LimitKind.SECONDS)
        if maximum is None:
            continue
        finish = account.budget.finish(LimitKind.SECONDS)
        found.append(
            Meter(
                kind=LimitKind.SECONDS,
                used=max(state.charged_s - state.scopes[account.id].opened_charged_s, 0.0),
                maximum=maximum if depth == 0 else minus(maximum, finish),
                warn_at=account.budget.threshold(LimitKind.SECONDS),
                finish=finish if depth == 0 else 0.0,
                owner=account.id,
            )
        )
    if found:
        yield min(found, key=lambda meter: float(meter.remaining))


def _context_meter(lineage: tuple[Account, ...], own: ScopeState) -> Iterator[Meter]:
    for account in lineage:
        maximum = account.budget.context_tokens
        if maximum is not None:
            yield Meter(
                kind=LimitKind.CONTEXT_TOKENS,
                used=own.context_tokens,
                maximum=maximum,
                warn_at=account.budget.threshold(LimitKind.CONTEXT_TOKENS),
                owner=account.id,
            )
            return
