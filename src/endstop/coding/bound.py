"""What a session can use at most, phase by phase, known before it starts (A13). Pure.

Every phase is bounded by its own turns; the session's budget binds them all, so the whole is never more than
that, whatever the phases add up to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from endstop.coding.policy import Policy, ReviewedBy
from endstop.coding.roles import REVIEWER_TURNS, TOOL_CALLS_PER_TURN
from endstop.kernel.bounds import UpperBound, upper_bound
from endstop.loop.agent import Retries

CALLS_PER_TURN = Retries().attempts
"""A call that fails in a way that may pass is made again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseBound:
    """What one phase can use at most, without the session's budget above it."""

    name: str
    turns: int
    how: str
    """How it comes to so many, in words."""
    seconds: float | None = None
    """Where it has a time limit of its own."""

    @property
    def model_calls(self) -> int:
        return self.turns * CALLS_PER_TURN

    def __str__(self) -> str:
        time = "" if self.seconds is None else f", time ≤ {self.seconds:,g} s"
        return f"{self.name}: turns ≤ {self.turns:,}, model calls ≤ {self.model_calls:,}{time} ({self.how})"


def session_bound(policy: Policy, *, asks_user: bool = True) -> tuple[PhaseBound, ...]:
    """The phases in their order. ``asks_user``: there is somebody to interview."""
    specify, price, build = policy.specify, policy.price, policy.build
    per_round = build.turns + build.tester_turns + policy.critic.turns
    phases = [
        PhaseBound(
            name="specify",
            turns=price.cycles * specify.attempts * specify.turns,
            how=f"{price.cycles} cycles of {specify.attempts} attempts of {specify.turns} turns",
        ),
        PhaseBound(
            name="price",
            turns=price.cycles * price.turns,
            how=f"{price.cycles} cycles of {price.turns} turns",
        ),
        PhaseBound(
            name="plan",
            turns=policy.plan.turns,
            how=f"{policy.plan.turns} turns",
            seconds=policy.plan.seconds,
        ),
        *(
            PhaseBound(
                name=f"round {number}",
                turns=per_round,
                how=f"builder {build.turns}, tester {build.tester_turns}, critic {policy.critic.turns}",
            )
            for number in range(1, build.rounds + 1)
        ),
        PhaseBound(
            name="simplify",
            turns=policy.reflexion.passes * policy.reflexion.turns,
            how=f"{policy.reflexion.passes} passes of {policy.reflexion.turns} turns",
        ),
    ]
    if policy.interview.is_on and asks_user:
        hard = policy.interview.hard
        phases.insert(0, PhaseBound(name="interview", turns=hard, how=f"{hard} turns, then it ends"))
    if policy.review.by is ReviewedBy.AGENT:
        phases.append(_reviews(policy))
    return tuple(phases)


def whole_bound(policy: Policy, *, asks_user: bool = True) -> UpperBound:
    """What the whole session can use at most: what its phases come to, held under its budget."""
    turns = sum(phase.turns for phase in session_bound(policy, asks_user=asks_user))
    held_to = replace(policy.budget(), turns=turns, tool_calls_per_turn=TOOL_CALLS_PER_TURN)
    return upper_bound(held_to, calls_per_turn=CALLS_PER_TURN)


def _reviews(policy: Policy) -> PhaseBound:
    """Planner and builder may be granted more by an agent, up to the cap on grants; each time it is asked."""
    cap = policy.budget().grant_cap
    at_limit = [policy.plan.turns, *[policy.build.turns] * policy.build.rounds]
    granted = [int(turns * cap) for turns in at_limit]
    reviews = sum(-(-more // policy.review.turns) + 1 for more in granted)  # the last one grants nothing
    return PhaseBound(
        name="reviews",
        turns=reviews * REVIEWER_TURNS + sum(granted),
        how=f"{reviews} reviews of {REVIEWER_TURNS} turns, and {sum(granted)} turns they may grant",
    )
