"""A record as lines for people."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from payload_examples import EXAMPLES
from recorded_runs import Recorded, a_fact, recorded

from endstop.events.facts import Payload, Severity, Thought
from endstop.events.timeline import Moment, timeline
from endstop.kernel.budget import Grant
from endstop.kernel.observation import BudgetGranted, CallSettled


def moment(payload: Payload) -> Moment:
    (line,) = timeline([a_fact(payload, seq=3)])
    return line


TOLD = {
    "run.started": ("Run started", ""),
    "run.started in full": ("Run started", "Wo ist „login“? 🔑"),
    "run.paused": ("Run paused", "asking the user"),
    "run.resumed": ("Run resumed", ""),
    "run.cancel_requested": ("Cancelled by ana", "after the turn"),
    "run.ended completed": ("Ended: completed", ""),
    "run.ended with a warning": ("Ended: completed", ""),
    "run.ended forced": ("Ended: forced", ""),
    "run.ended forced by a finding": ("Ended: forced", ""),
    "run.ended stopped": ("Ended: stopped", ""),
    "run.ended abandoned": ("Ended: abandoned", ""),
    "run.ended cancelled": ("Ended: cancelled", ""),
    "run.ended failed": ("Ended: failed", ""),
    "scope.opened": ("Scope opened", "reader"),
    "scope.ended": ("Scope ended", "reader"),
    "turn.started": ("Turn 1", ""),
    "turn.started closing": ("Turn 10", "the last one"),
    "turn.ended": ("Turn ended", ""),
    "budget.reserved": ("Budget reserved", ""),
    "budget.settled, cost unknown": ("Model called", "0 in, 0 out, cost unknown"),
    "budget.overrun": ("More used than reserved", "More was used."),
    "budget.price_unknown": ("Unknown price", "The price of a call is unknown."),
    "budget.iteration.warning": ("Limit", "Approaching it. Consider wrapping up your response."),
    "budget.iteration.exceeded": ("Limit", "Limit reached."),
    "context.measured": ("Context measured", ""),
    "assistant.said": ("Assistant", "Ligne 1\nZeile 2\t🙂"),
    "assistant.repeated": ("Cut off: said the same 10 times", "and so on "),
    "assistant.thought": ("Thought", "Hmm."),
    "assistant.cited": ("Source: Auth", "auth.py:12"),
    "signal.parsed": ("Signal: stuck", "no access"),
    "signal.rejected": ("Signal not taken: no such type", '<signal type="no"/>'),
    "tool.called": ("Call: search", '{"q":"login"}'),
    "tool.finished": ("Result: search (executed)", "found"),
    "tool.finished failed": ("Result: search (failed)", "no"),
    "tool.tripped": ("Found: failing call (nudge)", "fetch fails."),
    "agent.errors.detected": ("Found: error streak (ask)", "3 errors in a row."),
    "agent.finished": ("Agent finished", "It is in auth.py."),
    "hint.given": ("Told the model", "Consider wrapping up your response."),
    "iteration.ended": ("Iteration ended", ""),
    "user.said": ("User", "And the other one?"),
    "review.requested": ("Review asked for", "Maximum coding iterations (8) reached"),
    "review.decided approved": ("Review decided by ana", "Approved"),
    "review.decided needs changes": ("Review decided by ana", "NeedsChanges"),
    "review.decided rejected": ("Review decided by ana", "Rejected"),
}


@pytest.mark.guarantee("H1", "I5")
@pytest.mark.parametrize("example", TOLD)
def test_a_fact_is_told_in_plain_words(example: str) -> None:
    line = moment(EXAMPLES[example])
    assert (line.title, line.detail) == TOLD[example]


@pytest.mark.guarantee("I5")
@pytest.mark.parametrize("example", EXAMPLES)
def test_every_fact_has_a_title(example: str) -> None:
    assert moment(EXAMPLES[example]).title


@pytest.mark.guarantee("I5")
def test_a_record_is_told_fact_by_fact_in_order(run: Recorded) -> None:
    lines = list(timeline(run.facts))
    assert [(line.seq, line.time, line.type, line.severity) for line in lines] == [
        (fact.seq, fact.time, fact.type, fact.severity) for fact in run.facts
    ]


@pytest.mark.guarantee("I5")
def test_the_time_on_the_runs_clock_stays_until_something_says_otherwise() -> None:
    notices = [line for line in timeline(recorded("turn_limit")) if line.type.startswith("budget.iteration")]
    assert [line.at_s for line in notices] == [14.0, 20.0]


@pytest.mark.guarantee("I5")
def test_a_line_says_in_which_scope_and_turn_it_happened() -> None:
    line = moment(EXAMPLES["budget.settled, cost unknown"])
    assert (line.scope, line.turn, line.severity) == ("reader", 0, Severity.DEBUG)


@pytest.mark.guarantee("I5")
def test_a_line_that_belongs_to_no_turn_has_none() -> None:
    line = moment(EXAMPLES["run.started"])
    assert (line.scope, line.turn, line.at_s) == ("run", None, 0.0)


@pytest.mark.guarantee("I5", "A7")
def test_a_limit_of_a_scope_is_told_in_that_scope() -> None:
    limits = [line for line in timeline(recorded("scopes")) if line.title == "Limit"]
    assert limits
    assert {line.scope for line in limits} <= {"reader", "writer", "checker"}


@pytest.mark.guarantee("I5")
@pytest.mark.parametrize(("length", "shown"), [(200, 200), (201, 200), (5_000, 200)])
def test_a_long_text_is_cut_and_says_so(length: int, shown: int) -> None:
    detail = moment(Thought(turn=0, text="x" * length)).detail
    assert len(detail) == shown
    assert detail.endswith("…") is (length > shown)


def settled(cost_usd: Decimal | None) -> CallSettled:
    return CallSettled(
        at_s=1.0, turn=0, reservation="call:0", input_tokens=1_500, output_tokens=250, cost_usd=cost_usd
    )


@pytest.mark.guarantee("I5")
@pytest.mark.parametrize("cost", ["0", "0.25", "0.0042", "0.0000001", "12"])
def test_a_model_call_is_told_with_what_it_used_in_plain_digits(cost: str) -> None:
    used, shown = moment(settled(Decimal(cost))).detail.split("$")
    assert used == "1,500 in, 250 out, "
    assert "E" not in shown
    assert Decimal(shown) == Decimal(cost)


@pytest.mark.guarantee("I5", "A10")
def test_a_model_call_of_unknown_price_is_told_as_such() -> None:
    assert moment(settled(None)).detail == "1,500 in, 250 out, cost unknown"


@pytest.mark.guarantee("I5", "A8")
def test_a_grant_is_told_with_who_gave_what_and_why() -> None:
    line = moment(EXAMPLES["budget.granted"])
    assert line.title.startswith("Granted by ana: ")
    for part in ("5 turns", "6 model calls", "7", "0.1", "30.5 seconds"):
        assert part in line.title
    assert line.detail == "nearly there"


@pytest.mark.guarantee("I5", "A8")
def test_a_grant_is_told_without_what_it_does_not_give() -> None:
    granted = BudgetGranted(at_s=1.0, grant=Grant(turns=2, by="ana", why="nearly there"))
    assert moment(granted).title == "Granted by ana: 2 turns"


@pytest.mark.guarantee("D10", "I5")
def test_a_cancellation_is_told_with_when_it_takes_effect() -> None:
    request = EXAMPLES["run.cancel_requested"]
    assert moment(replace(request, after_turn=False)).detail == "at once"  # pyright: ignore[reportCallIssue]


@pytest.mark.guarantee("I5", "C8")
def test_a_signal_without_a_reason_is_told_all_the_same() -> None:
    signal = EXAMPLES["signal.parsed"]
    assert moment(replace(signal, reason=None)).detail == ""  # pyright: ignore[reportCallIssue]
