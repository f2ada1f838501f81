"""What each observation changes in the scope it was made in. One small function per kind of observation.

An entry is given a state that is open, and the state of its scope in it, and sets in them what differs. It
raises before it changes anything if what was observed cannot be.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from endstop.errors import ObservationError
from endstop.kernel.agent import RECENT_ACTIONS
from endstop.kernel.amounts import NOTHING, Amounts, dollars
from endstop.kernel.budget import UnknownPrice
from endstop.kernel.canonical import fingerprint
from endstop.kernel.ledger import is_call_hold, turn_hold
from endstop.kernel.limits import LimitKind, whole
from endstop.kernel.observation import (
    AgentFinished,
    BudgetGranted,
    CallReserved,
    CallSettled,
    CallUnaffordable,
    ChildSettled,
    ContextMeasured,
    Observation,
    ToolCalled,
    ToolFinished,
    TurnEnded,
    TurnStarted,
    UserSaid,
    used_amounts,
)
from endstop.kernel.verdict import NOTHING_NOTICED, Notice, Noticed, Overrun, PriceUnknown

_RECENT_RESULTS = 12
_MOST_TOKENS = 10**12
_MOST_ACTION_CHARS = 200
_ONE_TURN = Amounts(turns=1)
_NO_MONEY = Decimal(0)


def _turn_started(state: Any, own: Any, started: TurnStarted) -> Noticed:
    if started.turn != own.turns_started:
        raise ObservationError(
            f"Turn {started.turn} was started in {started.scope!r}",
            allowed=f"turn {own.turns_started}, the next one",
            to_do="Number the turns of a scope from 0, one after the other",
        )
    closing = started.closing is not None
    state.ledger = state.ledger.reserve(started.scope, turn_hold(started.turn), _ONE_TURN, closing=closing)
    hints = own.pending_hints
    own.turns_started += 1
    own.open_turns = own.open_turns | {started.turn}
    own.closing = started.closing
    own.pending_hints = ()
    own.has_called = False
    own.has_new_result = False
    own.is_finished = False
    return Noticed(hints=hints) if hints else NOTHING_NOTICED


def _turn_ended(state: Any, own: Any, ended: TurnEnded) -> Noticed:
    if ended.turn not in own.open_turns:
        raise ObservationError(
            f"Turn {ended.turn} was ended in {ended.scope!r} and is not open",
            allowed=", ".join(map(str, sorted(own.open_turns))) or "none is open",
            to_do="End each turn once, after it was started",
        )
    state.ledger = state.ledger.settle(ended.scope, turn_hold(ended.turn), _ONE_TURN)
    own.open_turns = own.open_turns - {ended.turn}
    if own.has_called:
        own.stale_turns = 0 if own.has_new_result else own.stale_turns + 1
    return NOTHING_NOTICED


def _reserved(state: Any, own: Any, reserved: CallReserved) -> Noticed:  # noqa: ARG001
    if not is_call_hold(reserved.reservation):
        raise ObservationError(
            f"A call was reserved as {reserved.reservation!r}",
            allowed="names that do not begin like those of turns and scopes",
            to_do='Name it otherwise, such as "call:7"',
        )
    state.ledger = state.ledger.reserve(
        reserved.scope, reserved.reservation, reserved.amounts, closing=reserved.closing
    )
    return NOTHING_NOTICED


def _settled(state: Any, own: Any, settled: CallSettled) -> Noticed:
    """Settle a call at what it used. What goes past its reservation is taken from what is left; what does
    not fit even there is entered as an overrun, in the open."""
    _require_counts(settled)
    name, reservation, ledger = settled.scope, settled.reservation, state.ledger
    held = ledger.held(name, reservation)
    is_something = settled.model_calls or settled.input_tokens or settled.output_tokens
    is_unknown = settled.cost_usd is None and bool(is_something)
    known = _NO_MONEY if settled.cost_usd is None else dollars("cost_usd", settled.cost_usd)
    used, past = used_amounts(settled, known, are_checked=True), NOTHING
    if not used.is_within(held):
        ledger, past = _excess_entered(ledger, name, reservation, used.minus(held))
    state.ledger = ledger.settle(name, reservation, used.minus(past), final=settled.is_final)
    own.model_calls += settled.model_calls
    own.input_tokens += settled.input_tokens
    own.output_tokens += settled.output_tokens
    own.known_cost_usd += used.cost_usd
    if is_unknown:
        own.unknown_cost_calls += max(settled.model_calls, 1)
    if past.is_nothing and not is_unknown:
        return NOTHING_NOTICED
    return _settlement_noticed(state, settled.scope, settled.turn, past, is_unknown=is_unknown)


def _excess_entered(ledger: Any, name: str, reservation: str, excess: Amounts) -> tuple[Any, Amounts]:
    """Take what goes past a reservation from what is left. The ledger, and what did not fit even there."""
    fitting = ledger.fit(name, excess, closing=True)
    past = excess.minus(fitting)
    return ledger.top_up(name, reservation, fitting, closing=True).overrun(name, past), past


def _child_settled(state: Any, own: Any, settled: ChildSettled) -> Noticed:
    """Settle all that was reserved for a sub-agent that ran as a run of its own."""
    for field in _CHILD_COUNTS:
        whole(field, getattr(settled, field), smallest=0, largest=_MOST_TOKENS)
    name, reservation, ledger = settled.scope, settled.reservation, state.ledger
    used, past = settled.amounts, NOTHING
    held = ledger.held(name, reservation)
    if not used.is_within(held):
        ledger, past = _excess_entered(ledger, name, reservation, used.minus(held))
    state.ledger = ledger.settle(name, reservation, used.minus(past))
    own.model_calls += settled.model_calls
    own.input_tokens += settled.input_tokens
    own.output_tokens += settled.output_tokens
    own.known_cost_usd += used.cost_usd
    own.unknown_cost_calls += settled.unknown_cost_calls
    own.tool_calls += settled.tool_calls
    return _settlement_noticed(state, name, 0, past, is_unknown=settled.unknown_cost_calls > 0)


_CHILD_COUNTS = (
    "turns",
    "model_calls",
    "input_tokens",
    "output_tokens",
    "unknown_cost_calls",
    "tool_calls",
)


def _require_counts(settled: CallSettled) -> None:
    taken, given, calls = settled.input_tokens, settled.output_tokens, settled.model_calls
    if type(taken) is type(given) is type(calls) is int and 0 <= (taken | given | calls) <= _MOST_TOKENS:
        return
    for field in ("input_tokens", "output_tokens", "model_calls"):
        whole(field, getattr(settled, field), smallest=0, largest=_MOST_TOKENS)


def _settlement_noticed(state: Any, scope: str, turn: int, past: Amounts, *, is_unknown: bool) -> Noticed:
    notices: list[Notice] = []
    if not past.is_nothing:
        notices.append(
            Overrun(
                scope=scope,
                turn=turn,
                amounts=past,
                message="More was used than was reserved and left. Reserve the worst case before a call, and "
                "cap its output at what was reserved.",
            )
        )
    if is_unknown and not state.is_price_warned and _warns_of_unknown_prices(state, scope):
        notices.append(
            PriceUnknown(
                scope=scope,
                turn=turn,
                message="The price of a call is unknown: the cost limit counts only calls of known price.",
            )
        )
        state.is_price_warned = True
    return Noticed(notices=tuple(notices)) if notices else NOTHING_NOTICED


def _warns_of_unknown_prices(state: Any, scope: str) -> bool:
    limits_cost = any(account.budget.cost_usd is not None for account in state.ledger.lineage(scope))
    return limits_cost and state.ledger.account(scope).budget.unknown_price is UnknownPrice.WARN


def _unaffordable(state: Any, own: Any, refused: CallUnaffordable) -> Noticed:  # noqa: ARG001
    """No turn fits any more, so the closing turn counts as taken."""
    own.closing = refused.limit
    return NOTHING_NOTICED


def _context_measured(state: Any, own: Any, measured: ContextMeasured) -> Noticed:  # noqa: ARG001
    own.context_tokens = whole("context tokens", measured.tokens, smallest=0, largest=_MOST_TOKENS)
    return NOTHING_NOTICED


def _tool_called(state: Any, own: Any, called: ToolCalled) -> Noticed:  # noqa: ARG001
    action = f"{called.tool}({called.arguments[:_MOST_ACTION_CHARS]})"[:_MOST_ACTION_CHARS]
    own.recent_actions = (*own.recent_actions, action)[-RECENT_ACTIONS:]
    own.tool_calls += 1
    own.has_called = True
    return NOTHING_NOTICED


def _tool_finished(state: Any, own: Any, finished: ToolFinished) -> Noticed:  # noqa: ARG001
    result = f"{finished.key}\n{fingerprint(finished.result)}"
    if finished.is_waiting or result not in own.recent_results:
        own.has_new_result = True
    own.recent_results = (*own.recent_results, result)[-_RECENT_RESULTS:]
    return NOTHING_NOTICED


def _user_said(state: Any, own: Any, said: UserSaid) -> Noticed:  # noqa: ARG001
    own.findings = ()
    own.stale_turns = 0
    own.is_finished = False
    own.recent_results = ()
    return NOTHING_NOTICED


def _agent_finished(state: Any, own: Any, finished: AgentFinished) -> Noticed:  # noqa: ARG001
    own.is_finished = True
    own.answer = finished.answer
    own.caveat = finished.caveat
    return NOTHING_NOTICED


def _granted(state: Any, own: Any, granted: BudgetGranted) -> Noticed:
    """More budget. Who grants it has seen what was found, so findings are answered by it; and it calls off
    the closing turn that was due for the limit it raises."""
    grant = granted.grant
    state.ledger = state.ledger.grant(granted.scope, grant)
    own.findings = ()
    if own.closing is not None:
        more = grant.seconds if own.closing is LimitKind.SECONDS else grant.amounts.of(own.closing)
        own.closing = None if more else own.closing
    return NOTHING_NOTICED


_Entry = Callable[[Any, Any, Any], Noticed]

ENTRIES: dict[type[Observation], _Entry] = {
    TurnStarted: _turn_started,
    TurnEnded: _turn_ended,
    CallReserved: _reserved,
    CallSettled: _settled,
    ChildSettled: _child_settled,
    CallUnaffordable: _unaffordable,
    ContextMeasured: _context_measured,
    ToolCalled: _tool_called,
    ToolFinished: _tool_finished,
    UserSaid: _user_said,
    AgentFinished: _agent_finished,
    BudgetGranted: _granted,
}
