"""What a coding session can use at most, phase by phase, told before it starts (A13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endstop.cli.bound import bound_shown, bound_values
from endstop.cli.output import Column, Output
from endstop.coding.bound import CALLS_PER_TURN, session_bound, whole_bound

if TYPE_CHECKING:
    from endstop.coding.policy import Policy

_COLUMNS = (
    Column(name="phase"),
    Column(name="turns", is_number=True),
    Column(name="model calls", is_number=True),
    Column(name="how it comes to that", may_shrink=True),
)


def say_session_bound(output: Output, policy: Policy, *, asks_user: bool) -> None:
    """The whole output of a command that runs nothing."""
    if output.is_json:
        output.document(session_bound_json(policy, asks_user=asks_user))
    else:
        tell_session_bound(output, policy, asks_user=asks_user)


def tell_session_bound(output: Output, policy: Policy, *, asks_user: bool) -> None:
    """Print what each phase can use, and what the budget of the session leaves of that."""
    whole = whole_bound(policy, asks_user=asks_user)
    output.say("What this session can use at most:", style="bold")
    rows = [
        (phase.name, f"{phase.turns:,}", f"{phase.model_calls:,}", _how(phase.how, phase.seconds))
        for phase in session_bound(policy, asks_user=asks_user)
    ]
    last = ("together", bound_shown(whole, "turns"), bound_shown(whole, "model_calls"), "under its budget")
    output.table(_COLUMNS, [*rows, last])
    output.say(
        f"Never more than {bound_shown(whole, 'model_calls')} model calls, {bound_shown(whole, 'tokens')} "
        f"tokens, {bound_shown(whole, 'cost_usd')} and {bound_shown(whole, 'seconds')}, whatever the phases "
        f"add up to. A turn may try its model call {CALLS_PER_TURN} times."
    )


def session_bound_json(policy: Policy, *, asks_user: bool) -> dict[str, object]:
    """The same, for programs."""
    return {
        "of": "a coding session",
        "phases": [
            {
                "phase": phase.name,
                "turns": phase.turns,
                "model_calls": phase.model_calls,
                "seconds": phase.seconds,
                "how": phase.how,
            }
            for phase in session_bound(policy, asks_user=asks_user)
        ],
        "whole": bound_values(whole_bound(policy, asks_user=asks_user)),
    }


def _how(how: str, seconds: float | None) -> str:
    return how if seconds is None else f"{how}, at most {seconds:,g} s"
