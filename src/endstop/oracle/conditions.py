"""What a tree can ask about the run it steers. Each asks the governor or looks at the reply; none decides.

Where there is no run or no blackboard a condition fails. It never raises.
"""

from __future__ import annotations

from endstop.kernel.limits import LimitKind
from endstop.kernel.outcome import StopReason, StopRule
from endstop.kernel.verdict import LastTurn, Stop
from endstop.loop.turns import wants_another_turn as asks_for_turn
from endstop.oracle.fallback import needs_fallback as fallback_reason
from endstop.oracle.registry import condition
from endstop.oracle.services import OracleServices

_LIMITS = frozenset(
    {
        StopRule.TURNS,
        StopRule.MODEL_CALLS,
        StopRule.TOKENS,
        StopRule.COST,
        StopRule.CONTEXT,
        StopRule.PRICE_UNKNOWN,
        StopRule.TIME,
    }
)
_STUCK = frozenset({StopRule.NO_PROGRESS, StopRule.ERROR_LIMIT})


def _stop(run: OracleServices) -> StopReason | None:
    """Why the governor says that the run must stop, if it does."""
    verdict = run.verdict()
    return verdict.reason if isinstance(verdict, Stop) else None


# ── the budget ────────────────────────────────────────────────────────────────────────────────────────────


@condition("budget.turns_remaining")
def turns_remaining(run: OracleServices, *, at_least: int = 1) -> bool:
    """So many turns are left, by the run's limit. Without a limit there always are."""
    meter = run.turns.view.meter(LimitKind.TURNS)
    return meter is None or meter.remaining >= at_least


@condition("budget.is_at_budget_limit")
def is_at_budget_limit(run: OracleServices) -> bool:
    """Only the closing turn is left, or it is under way."""
    return isinstance(run.verdict(), LastTurn) or (run.turns.is_under_way and run.turns.is_closing)


@condition("budget.is_over_budget")
def is_over_budget(run: OracleServices) -> bool:
    """The governor says that a limit is reached."""
    reason = _stop(run)
    return reason is not None and reason.rule in _LIMITS


@condition("budget.is_out_of_time")
def is_out_of_time(run: OracleServices) -> bool:
    """The time limit is reached. Also true in the middle of a turn."""
    reason = _stop(run)
    return reason is not None and reason.rule is StopRule.TIME


@condition("budget.is_warning_due")
def is_warning_due(run: OracleServices) -> bool:
    """A limit has come so near that the agent is to be told to wrap up (A2)."""
    return run.is_warning_due


# ── the run ───────────────────────────────────────────────────────────────────────────────────────────────


@condition("run.is_cancelled")
def is_cancelled(run: OracleServices) -> bool:
    """Somebody wants the run to end."""
    return run.is_cancelled


@condition("run.must_stop")
def must_stop(run: OracleServices) -> bool:
    """The governor says stop, for whatever reason."""
    return run.must_stop


@condition("run.is_finished")
def is_finished(run: OracleServices) -> bool:
    """The agent is known to be done."""
    return run.turns.is_finished


@condition("run.has_failed")
def has_failed_for_good(run: OracleServices) -> bool:
    """The latest turn went wrong for good: the model failed, or said nothing again and again."""
    return run.turns.has_failed


@condition("run.is_stuck_loop")
def is_stuck_loop(run: OracleServices) -> bool:
    """The governor says that the run makes no progress, or that its tools fail in a row."""
    reason = _stop(run)
    return reason is not None and reason.rule in _STUCK


# ── signals ───────────────────────────────────────────────────────────────────────────────────────────────


@condition("signals.has_signal")
def has_signal(run: OracleServices) -> bool:
    """The latest reply said how the agent stands."""
    return run.signal is not None


@condition("signals.check_signal")
def check_signal(run: OracleServices, *, type: str = "", confidence: float = 0.0) -> bool:  # noqa: A002 - as trees write it
    """The latest reply has a signal: of this type and at least this confidence, where they are given."""
    signal = run.signal
    return signal is not None and signal.confidence >= confidence and (not type or signal.type.value == type)


@condition("signals.signal_type_is")
def signal_type_is(run: OracleServices, *, type: str) -> bool:  # noqa: A002 - as trees write it
    """The signal of the latest reply is of this type."""
    return run.signal is not None and run.signal.type.value == type


@condition("signals.signal_confidence_above")
def signal_confidence_above(run: OracleServices, *, threshold: float = 0.5) -> bool:
    """The signal of the latest reply has at least this confidence."""
    return run.signal is not None and run.signal.confidence >= threshold


@condition("signals.has_repeated_signal")
def has_repeated_signal(run: OracleServices) -> bool:
    """The agent has asked for another turn for the same reason as often as counts as stuck (B3)."""
    most = run.turns.agent.config.thresholds.same_reason
    return run.turns.signals.same_reason.count >= most


@condition("signals.consecutive_same_reason_gte")
def consecutive_same_reason_gte(run: OracleServices, *, count: int = 3) -> bool:
    """The agent has asked for another turn for the same reason so often in a row (C5)."""
    return run.turns.signals.same_reason.count >= count


@condition("signals.wants_another_turn")
def wants_another_turn(run: OracleServices) -> bool:
    """The agent asks for another turn, and means it: ``need_turn`` with at least 0.5 (C6)."""
    return run.turns.reply is not None and asks_for_turn(run.turns.reply)


@condition("fallback.needs_fallback")
def needs_fallback(run: OracleServices) -> bool:
    """No signal for 3 turns, a confidence under 0.3, or stuck: a classifier is to choose (C7)."""
    return (
        fallback_reason(run.signal, turns_without_signal=run.turns.signals.turns_without_signal) is not None
    )


# ── the reply ─────────────────────────────────────────────────────────────────────────────────────────────


@condition("tools.no_tool_calls")
def no_tool_calls(run: OracleServices) -> bool:
    """The latest reply asks for no tool."""
    return run.turns.reply is not None and not run.turns.reply.calls


@condition("tools.has_tool_calls")
def has_tool_calls(run: OracleServices) -> bool:
    """The latest reply asks for a tool."""
    return run.turns.reply is not None and bool(run.turns.reply.calls)


@condition("tools.has_failed")
def has_failed(run: OracleServices) -> bool:
    """A tool call of the latest reply has failed."""
    return any(message.is_error for message in run.turns.results)


@condition("reply.is_longer_than")
def is_longer_than(run: OracleServices, *, chars: int) -> bool:
    """The reply that streams now is longer than this already. Looked at again with every piece of it."""
    return run.turns.chars_so_far > chars


@condition("reply.has_text")
def has_text(run: OracleServices) -> bool:
    """The latest reply says something."""
    return run.turns.reply is not None and bool(run.turns.reply.text.strip())
