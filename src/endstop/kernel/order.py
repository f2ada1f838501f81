"""Which rule ends a run when several are met at once (A12). The one place that knows the order."""

from __future__ import annotations

from collections.abc import Iterator

from endstop.kernel import wording
from endstop.kernel.agent import AgentState
from endstop.kernel.finding import Finding, Pattern, Response
from endstop.kernel.limits import LimitKind, Meter
from endstop.kernel.outcome import StopReason, StopRule

_RULE_OF_LIMIT = {
    LimitKind.TURNS: StopRule.TURNS,
    LimitKind.MODEL_CALLS: StopRule.MODEL_CALLS,
    LimitKind.TOKENS: StopRule.TOKENS,
    LimitKind.COST_USD: StopRule.COST,
    LimitKind.CONTEXT_TOKENS: StopRule.CONTEXT,
    LimitKind.SECONDS: StopRule.TIME,
}

FINISHED = StopReason(rule=StopRule.FINISHED, message="The agent finished.")

ENFORCED = frozenset({StopRule.CANCELLED, StopRule.PRICE_UNKNOWN, *_RULE_OF_LIMIT.values()})
"""The rules that hold whatever a decision tree says: no policy can run away."""


def rules_met(state: AgentState) -> Iterator[StopReason]:
    """Every rule that is met, the winning one first.

    Cancellation; natural stop; turns; tokens, with cost, context and unknown prices; time; no progress;
    error limit; then stop conditions of the caller's own.
    """
    if state.is_cancelled:
        yield StopReason(rule=StopRule.CANCELLED, message="Cancelled.")
    if state.is_finished:
        yield _natural_stop(state)
    for meter in state.meters:
        if meter.kind is not LimitKind.SECONDS:
            yield from _limit_rule(state, meter)
    if state.is_price_unknown:
        yield StopReason(
            rule=StopRule.PRICE_UNKNOWN,
            message="A call has no known price, so the cost limit cannot be kept. Tell its cost, or set "
            'unknown_price="warn" to go on with a warning.',
        )
    time = state.meter(LimitKind.SECONDS)
    if time is not None:
        yield from _limit_rule(state, time)
    yield from _finding_rule(state, StopRule.NO_PROGRESS)
    yield from _finding_rule(state, StopRule.ERROR_LIMIT)
    if state.config.stop is not None and (why := state.config.stop.met(state)):
        yield StopReason(rule=StopRule.CONDITION, message=f"Stop condition met: {why}.")


def last_turn_limit(state: AgentState) -> LimitKind | None:
    """The limit that leaves room for the closing turn and no other, if there is one."""
    return next((meter.kind for meter in state.meters if meter.is_last), None)


def _natural_stop(state: AgentState) -> StopReason:
    """The model finished; in the closing turn, with a warning that names the limit (A5)."""
    meter = state.meter(state.closing) if state.closing else None
    if meter is None:
        return FINISHED
    return _stop(StopRule.FINISHED, meter, wording.completed_at(meter))


def _limit_rule(state: AgentState, meter: Meter) -> Iterator[StopReason]:
    kind = meter.kind
    ends_between_turns = kind in (LimitKind.TURNS, LimitKind.MODEL_CALLS)
    if meter.is_reached and not (ends_between_turns and state.is_in_turn):
        yield _stop(_RULE_OF_LIMIT[kind], meter, wording.reached(meter))
    elif state.closing is kind and not state.is_in_turn:
        yield _stop(_RULE_OF_LIMIT[kind], meter, wording.closed_in(meter))


def _stop(rule: StopRule, meter: Meter, message: str) -> StopReason:
    return StopReason(rule=rule, message=message, limit=meter.kind, current=meter.used, maximum=meter.maximum)


def _finding_rule(state: AgentState, rule: StopRule) -> Iterator[StopReason]:
    for finding in state.findings:
        response = state.config.response(finding)
        if rule_of_finding(finding) is rule and response in (Response.STOP, Response.ASK):
            yield StopReason(
                rule=rule,
                message=wording.sentence(finding.message),
                finding=finding,
                asks=response is Response.ASK,
            )


def rule_of_finding(finding: Finding) -> StopRule:
    """The rule a finding counts under."""
    return StopRule.ERROR_LIMIT if finding.pattern is Pattern.ERROR_STREAK else StopRule.NO_PROGRESS
