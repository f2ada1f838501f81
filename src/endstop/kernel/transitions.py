"""What each observation does to the governor's state. One small function per kind of observation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from endstop.errors import ClosedAccountError, InvalidValueError, LedgerError, ObservationError, PolicyError
from endstop.kernel import wording
from endstop.kernel.agent import RECENT_ACTIONS, AgentConfig, AgentState
from endstop.kernel.amounts import NOTHING, Amounts, dollars
from endstop.kernel.budget import UnknownPrice
from endstop.kernel.canonical import digest
from endstop.kernel.decision import DecisionTree, DefaultDecisionTree, told
from endstop.kernel.evolve import evolve
from endstop.kernel.finding import Response
from endstop.kernel.frozen import frozen_json
from endstop.kernel.ledger import Ledger, is_call_hold, turn_hold
from endstop.kernel.limits import LimitKind, Meter, whole
from endstop.kernel.observation import (
    AgentFinished,
    BudgetGranted,
    CallReserved,
    CallSettled,
    CancelRequested,
    ContextMeasured,
    Observation,
    RunEnded,
    RunPaused,
    RunResumed,
    ScopeEnded,
    ToolCalled,
    ToolFinished,
    TurnEnded,
    TurnStarted,
    UserSaid,
    used_amounts,
)
from endstop.kernel.outcome import Forced, Stopped
from endstop.kernel.state import GovernorState
from endstop.kernel.verdict import (
    FindingReported,
    LimitExceeded,
    Notice,
    Overrun,
    PriceUnknown,
    limit_notice,
)

_RECENT_RESULTS = 12
_MOST_FINDINGS = 20
_MOST_TOKENS = 10**12


@dataclass(frozen=True, slots=True)
class Changed:
    """The state after something was entered, with what was noticed and what the model should be told."""

    state: GovernorState
    notices: tuple[Notice, ...] = ()
    hints: tuple[str, ...] = ()


def apply(state: GovernorState, observation: Observation, config: AgentConfig) -> Changed:
    """Enter an observation: the books, the counters, the detectors."""
    if observation.scope not in state.scopes:
        raise ClosedAccountError(
            f"{type(observation).__name__} was reported for {observation.scope!r}, which is not open",
            allowed=", ".join(state.scopes),
            to_do="A scope that has ended takes no more; open a new one",
        )
    entered = _ENTRIES.get(type(observation), _no_entry)(state, observation)
    if observation.scope not in entered.state.scopes:
        return entered
    return _detected(entered, observation, config)


def extended(
    state: GovernorState,
    observation: Observation,
    view: Callable[[GovernorState, str], AgentState],
    tree: DecisionTree,
) -> GovernorState:
    """Tell the decision tree what it asked to be told, and keep its extensions."""
    if not isinstance(observation, TurnStarted | ToolFinished) or _is_indifferent(tree, observation):
        return state
    before = view(state, observation.scope)
    try:
        if isinstance(observation, TurnStarted):
            after = told("on_turn_start", before, lambda: tree.on_turn_start(before))
        else:
            after = told("on_tool_result", before, lambda: tree.on_tool_result(before, observation))
        if after is before:
            return state
        extensions = frozen_json("extensions", after.extensions)
    except (PolicyError, InvalidValueError) as error:
        return _with_scope(state, observation.scope, policy_failure=f"The run's policy failed: {error}")
    return _with_scope(state, observation.scope, extensions=extensions)


def _is_indifferent(tree: DecisionTree, observation: TurnStarted | ToolFinished) -> bool:
    """Whether a tree leaves this to the default, which does nothing: then it need not be shown the run."""
    name = "on_turn_start" if isinstance(observation, TurnStarted) else "on_tool_result"
    return getattr(getattr(tree, name), "__func__", None) is getattr(DefaultDecisionTree, name)


def _no_entry(state: GovernorState, observation: Observation) -> Changed:
    return Changed(_with_scope(state, observation.scope))


def _turn_started(state: GovernorState, started: TurnStarted) -> Changed:
    own = state.scopes[started.scope]
    if started.turn != own.turns_started:
        raise ObservationError(
            f"Turn {started.turn} was started in {started.scope!r}",
            allowed=f"turn {own.turns_started}, the next one",
            to_do="Number the turns of a scope from 0, one after the other",
        )
    closing = started.closing is not None
    ledger = state.ledger.reserve(started.scope, turn_hold(started.turn), Amounts(turns=1), closing=closing)
    hints = own.pending_hints
    state = _with_scope(
        state,
        started.scope,
        ledger=ledger,
        turns_started=own.turns_started + 1,
        open_turns=own.open_turns | {started.turn},
        closing=started.closing,
        pending_hints=(),
        has_called=False,
        has_new_result=False,
        is_finished=False,
    )
    return Changed(state, hints=hints)


def _turn_ended(state: GovernorState, ended: TurnEnded) -> Changed:
    own = state.scopes[ended.scope]
    if ended.turn not in own.open_turns:
        raise ObservationError(
            f"Turn {ended.turn} was ended in {ended.scope!r} and is not open",
            allowed=", ".join(map(str, sorted(own.open_turns))) or "none is open",
            to_do="End each turn once, after it was started",
        )
    ledger = state.ledger.settle(ended.scope, turn_hold(ended.turn), Amounts(turns=1))
    stale = own.stale_turns
    if own.has_called:
        stale = 0 if own.has_new_result else stale + 1
    return Changed(
        _with_scope(
            state,
            ended.scope,
            ledger=ledger,
            open_turns=own.open_turns - {ended.turn},
            stale_turns=stale,
        )
    )


def _reserved(state: GovernorState, reserved: CallReserved) -> Changed:
    if not is_call_hold(reserved.reservation):
        raise ObservationError(
            f"A call was reserved as {reserved.reservation!r}",
            allowed="names that do not begin like those of turns and scopes",
            to_do='Name it otherwise, such as "call:7"',
        )
    ledger = state.ledger.reserve(
        reserved.scope, reserved.reservation, reserved.amounts, closing=reserved.closing
    )
    return Changed(_with_scope(state, reserved.scope, ledger=ledger))


def _settled(state: GovernorState, settled: CallSettled) -> Changed:
    """Settle a call at what it used. What goes past its reservation is taken from what is left; what does
    not fit even there is entered as an overrun, in the open."""
    for field in ("input_tokens", "output_tokens", "model_calls"):
        whole(field, getattr(settled, field), smallest=0, largest=_MOST_TOKENS)
    name, reservation = settled.scope, settled.reservation
    held = state.ledger.held(name, reservation)
    is_something = settled.model_calls or settled.input_tokens or settled.output_tokens
    is_unknown = settled.cost_usd is None and bool(is_something)
    known = Decimal(0) if settled.cost_usd is None else dollars("cost_usd", settled.cost_usd)
    used = used_amounts(settled, known)
    ledger, past = state.ledger, NOTHING
    excess = used.minus(held)
    if not excess.is_nothing:
        fitting = ledger.fit(name, excess, closing=True)
        past = excess.minus(fitting)
        ledger = ledger.top_up(name, reservation, fitting, closing=True).overrun(name, past)
    ledger = ledger.settle(name, reservation, used.minus(past), final=settled.is_final)
    own = state.scopes[name]
    state = _with_scope(
        state,
        name,
        ledger=ledger,
        model_calls=own.model_calls + settled.model_calls,
        input_tokens=own.input_tokens + settled.input_tokens,
        output_tokens=own.output_tokens + settled.output_tokens,
        known_cost_usd=own.known_cost_usd + used.cost_usd,
        unknown_cost_calls=own.unknown_cost_calls + (max(settled.model_calls, 1) if is_unknown else 0),
    )
    if past.is_nothing and not is_unknown:
        return Changed(state)
    return _settlement_noticed(state, settled, past, is_unknown=is_unknown)


def _settlement_noticed(
    state: GovernorState, settled: CallSettled, past: Amounts, *, is_unknown: bool
) -> Changed:
    notices: list[Notice] = []
    if not past.is_nothing:
        notices.append(
            Overrun(
                scope=settled.scope,
                turn=settled.turn,
                amounts=past,
                message="More was used than was reserved and left. Reserve the worst case before a call, and "
                "cap its output at what was reserved.",
            )
        )
    limits_cost = any(account.budget.cost_usd is not None for account in state.ledger.lineage(settled.scope))
    warns = state.ledger.account(settled.scope).budget.unknown_price is UnknownPrice.WARN
    if is_unknown and limits_cost and warns and not state.is_price_warned:
        notices.append(
            PriceUnknown(
                scope=settled.scope,
                turn=settled.turn,
                message="The price of a call is unknown: the cost limit counts only calls of known price.",
            )
        )
        state = evolve(state, is_price_warned=True)
    return Changed(state, notices=tuple(notices))


def _context_measured(state: GovernorState, measured: ContextMeasured) -> Changed:
    tokens = whole("context tokens", measured.tokens, smallest=0, largest=_MOST_TOKENS)
    return Changed(_with_scope(state, measured.scope, context_tokens=tokens))


def _tool_called(state: GovernorState, called: ToolCalled) -> Changed:
    own = state.scopes[called.scope]
    recent = (*own.recent_actions, f"{called.tool}({called.arguments})"[:200])[-RECENT_ACTIONS:]
    return Changed(
        _with_scope(
            state, called.scope, recent_actions=recent, tool_calls=own.tool_calls + 1, has_called=True
        )
    )


def _tool_finished(state: GovernorState, finished: ToolFinished) -> Changed:
    own = state.scopes[finished.scope]
    result = digest(f"{finished.key}\n{finished.result}")
    is_new = finished.is_waiting or result not in own.recent_results
    recent = (*own.recent_results, result)[-_RECENT_RESULTS:]
    return Changed(
        _with_scope(state, finished.scope, recent_results=recent, has_new_result=own.has_new_result or is_new)
    )


def _user_said(state: GovernorState, said: UserSaid) -> Changed:
    return Changed(
        _with_scope(state, said.scope, findings=(), stale_turns=0, is_finished=False, recent_results=())
    )


def _agent_finished(state: GovernorState, finished: AgentFinished) -> Changed:
    return Changed(_with_scope(state, finished.scope, is_finished=True, answer=finished.answer))


def _cancel_requested(state: GovernorState, request: CancelRequested) -> Changed:
    after_turn = request.after_turn and (state.cancelled_by is None or state.cancels_after_turn)
    cancelled_by = state.cancelled_by or request.by or "somebody"
    return Changed(evolve(state, cancelled_by=cancelled_by, cancels_after_turn=after_turn))


def _paused(state: GovernorState, paused: RunPaused) -> Changed:
    at_s = paused.at_s if state.paused_at_s is None else state.paused_at_s
    return Changed(evolve(state, paused_at_s=at_s))


def _resumed(state: GovernorState, resumed: RunResumed) -> Changed:
    if state.paused_at_s is None:
        return Changed(state)
    waited = resumed.at_s - state.paused_at_s
    scopes = {name: evolve(scope, last_activity_s=resumed.at_s) for name, scope in state.scopes.items()}
    return Changed(
        evolve(
            state,
            waited_s=state.waited_s + waited,
            paused_at_s=None,
            scopes=scopes,
        )
    )


def _granted(state: GovernorState, granted: BudgetGranted) -> Changed:
    """More budget. Who grants it has seen what was found, so findings are answered by it; and it calls off
    the closing turn that was due for the limit it raises."""
    ledger = state.ledger.grant(granted.scope, granted.grant)
    closing = state.scopes[granted.scope].closing
    if closing is not None:
        more = granted.grant.seconds if closing is LimitKind.SECONDS else granted.grant.amounts.of(closing)
        closing = None if more else closing
    return Changed(_with_scope(state, granted.scope, ledger=ledger, closing=closing, findings=()))


def _scope_ended(state: GovernorState, ended: ScopeEnded) -> Changed:
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
    notices = _exceeded(state, ended)
    return Changed(evolve(state, ledger=ledger, scopes=scopes), notices=notices)


def _run_ended(state: GovernorState, ended: RunEnded) -> Changed:
    others = [name for name in state.scopes if name != ended.scope]
    if others:
        raise LedgerError(
            f"The run cannot end: still open are {', '.join(others)}", to_do="End its scopes first"
        )
    ledger = _settled_up(state.ledger, ended.scope)
    return Changed(evolve(state, ledger=ledger, ending=ended.outcome), notices=_exceeded(state, ended))


def _exceeded(state: GovernorState, ended: ScopeEnded | RunEnded) -> tuple[Notice, ...]:
    """The notice that a limit ended this, if one did."""
    reason = ended.outcome.reason if isinstance(ended.outcome, Forced | Stopped) else None
    if reason is None or reason.limit is None or reason.current is None or reason.maximum is None:
        return ()
    meter = Meter(kind=reason.limit, used=reason.current, maximum=reason.maximum)
    account = state.ledger.account(ended.scope)
    is_forced = isinstance(ended.outcome, Forced)
    turn = account.settled.turns
    return (limit_notice(LimitExceeded, meter, account, turn=turn, message=reason.message, forced=is_forced),)


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


def _detected(changed: Changed, observation: Observation, config: AgentConfig) -> Changed:
    """Show the observation to every detector of its scope, and keep what they find."""
    own = changed.state.scopes[observation.scope]
    watch, found = own.watch.after(observation)
    if watch is own.watch and not found:
        return changed
    if not found:
        return Changed(
            _with_scope(changed.state, observation.scope, watch=watch), changed.notices, changed.hints
        )
    turn = max(own.turns_started - 1, 0)
    reports = tuple(
        FindingReported(scope=observation.scope, finding=one, response=config.response(one), turn=turn)
        for one in found
    )
    nudges = [
        f"{wording.sentence(report.finding.message)} {report.finding.advice or wording.TRY_OTHERWISE}"
        for report in reports
        if report.response is Response.NUDGE
    ]
    state = _with_scope(
        changed.state,
        observation.scope,
        watch=watch,
        findings=(*own.findings, *found)[-_MOST_FINDINGS:],
        pending_hints=(*own.pending_hints, *nudges)[-_MOST_FINDINGS:],
    )
    return Changed(state, notices=(*changed.notices, *reports), hints=changed.hints)


def _with_scope(
    state: GovernorState, name: str, *, ledger: Ledger | None = None, **changes: object
) -> GovernorState:
    """The state with one scope changed, and active as of now; with other books, if they are given."""
    scope = evolve(state.scopes[name], last_activity_s=state.now_s, **changes)
    scopes = {**state.scopes, name: scope}
    return evolve(state, scopes=scopes, ledger=state.ledger if ledger is None else ledger)


_Entry = Callable[[GovernorState, Any], Changed]

_ENTRIES: dict[type[Observation], _Entry] = {
    TurnStarted: _turn_started,
    TurnEnded: _turn_ended,
    CallReserved: _reserved,
    CallSettled: _settled,
    ContextMeasured: _context_measured,
    ToolCalled: _tool_called,
    ToolFinished: _tool_finished,
    UserSaid: _user_said,
    AgentFinished: _agent_finished,
    CancelRequested: _cancel_requested,
    RunPaused: _paused,
    RunResumed: _resumed,
    BudgetGranted: _granted,
    ScopeEnded: _scope_ended,
    RunEnded: _run_ended,
}
