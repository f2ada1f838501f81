"""The state of a run that the governor keeps: the ledger, and for each open scope what rules need to know.

Everything here has a size that does not grow with the length of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType

from endstop.kernel.detectors import Watch
from endstop.kernel.evolve import quick
from endstop.kernel.finding import Finding
from endstop.kernel.ledger import ROOT, Ledger
from endstop.kernel.limits import LimitKind
from endstop.kernel.outcome import Ending
from endstop.kernel.usage import Usage


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeState:
    """What is known of a run itself, or of one of its open scopes."""

    opened_at_s: float
    opened_charged_s: float
    """The charged time (without waiting for people) when it was opened."""
    watch: Watch
    last_activity_s: float
    turns_started: int = 0
    open_turns: frozenset[int] = frozenset()
    closing: LimitKind | None = None
    is_finished: bool = False
    answer: str = ""
    caveat: str = ""
    findings: tuple[Finding, ...] = ()
    pending_hints: tuple[str, ...] = ()
    recent_actions: tuple[str, ...] = ()
    recent_results: tuple[str, ...] = ()
    has_called: bool = False
    """In the turn under way: a tool was called, and (below) it brought something new."""
    has_new_result: bool = False
    stale_turns: int = 0
    context_tokens: int = 0
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    known_cost_usd: Decimal = Decimal(0)
    unknown_cost_calls: int = 0
    tool_calls: int = 0
    extensions: Mapping[str, object] = field(default_factory=lambda: MappingProxyType(dict[str, object]()))
    policy_failure: str | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class GovernorState:
    """All the governor knows of a run. ``Governor.step`` takes one and returns the next."""

    ledger: Ledger
    scopes: Mapping[str, ScopeState]
    now_s: float = 0.0
    waited_s: float = 0.0
    """Time spent waiting for people: not charged."""
    paused_at_s: float | None = None
    cancelled_by: str | None = None
    cancels_after_turn: bool = False
    warned: frozenset[tuple[str, LimitKind]] = frozenset()
    """The warnings given: once per limit, and the limit is known by its account."""
    is_price_warned: bool = False
    ending: Ending | None = None

    @property
    def is_over(self) -> bool:
        return self.ending is not None

    @property
    def charged_s(self) -> float:
        """Time on the run's clock that counts: without waiting for people."""
        until = self.now_s if self.paused_at_s is None else self.paused_at_s
        return until - self.waited_s

    def usage(self, scope: str = ROOT) -> Usage:
        """What was used in this scope and, once they are closed, in the scopes below it."""
        account = self.ledger.account(scope)
        own = self.scopes[scope]
        return Usage(
            turns=account.settled.turns,
            model_calls=own.model_calls,
            input_tokens=own.input_tokens,
            output_tokens=own.output_tokens,
            tokens=own.input_tokens + own.output_tokens,
            known_cost_usd=own.known_cost_usd,
            unknown_cost_calls=own.unknown_cost_calls,
            tool_calls=own.tool_calls,
            seconds=self.charged_s - own.opened_charged_s,
        )
