"""How a coding session stands, as values: its steps, what it asks, its prices, its rounds, its end."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from endstop.events import coding
from endstop.events.coding import PriceDecided, PriceGiven, RoundEnded
from endstop.kernel.outcome import Ending


class Phase(StrEnum):
    """Where a session stands. All but the last are the steps it takes."""

    INTERVIEW = "interview"
    SPECIFY = "specify"
    PRICE = "price"
    BUILD = "build"
    CONCLUDED = "concluded"


class StepStanding(StrEnum):
    """How far a step is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    """The session ended in it, and not because it was done."""


class AskedFor(StrEnum):
    """What an answer of the user decides."""

    INTERVIEW = "interview"
    PRICE = "price"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the stepper."""

    name: Phase
    standing: StepStanding


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the user is asked, and has not answered."""

    question: str
    kind: AskedFor | None = None
    """None when an agent asks of its own accord, outside the interview."""
    not_understood: str | None = None
    """The answer before, in short, if it was not understood: then a price is asked about again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRules:
    """What the session's policy says to prices."""

    auto_proceed_under_usd: Decimal
    """Nobody is asked about less."""
    reject_over_usd: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceView:
    """A price, and what was decided about it, if it was."""

    price: PriceGiven
    decision: PriceDecided | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundView:
    """One round, ended or not."""

    number: int
    rounds_at_most: int | None = None
    tests: tuple[coding.TestsRun, ...] = ()
    """The last of them tells how the round's work stands."""
    criteria: tuple[coding.Criterion, ...] = ()
    issues: tuple[coding.Issue, ...] = ()
    left_out: int = 0
    passes: tuple[coding.SimplifyingEnded, ...] = ()
    ended: RoundEnded | None = None
    similarity: float | None = None
    """How much its open issues are those of the round before: 1.0 is all. None when there is nothing to
    compare."""
    cost_usd: Decimal | None = None
    """What it has cost so far; None when nobody knows."""
    is_under_way: bool = False

    @property
    def commit(self) -> str | None:
        return None if self.ended is None else self.ended.commit

    @property
    def files(self) -> int | None:
        return None if self.ended is None else self.ended.files

    @property
    def added(self) -> int | None:
        return None if self.ended is None else self.ended.added

    @property
    def removed(self) -> int | None:
        return None if self.ended is None else self.ended.removed

    @property
    def open_issues(self) -> tuple[str, ...]:
        return () if self.ended is None else self.ended.open_issues

    @property
    def failing_tests(self) -> int | None:
        """None as long as no tests were run."""
        if self.ended is not None:
            return self.ended.failing_tests
        return self.tests[-1].failures if self.tests else None

    @property
    def summary(self) -> str:
        return "" if self.ended is None else self.ended.summary


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """A coding session, as far as its record tells."""

    run_id: str
    intent: str
    phase: Phase
    steps: tuple[Step, ...]
    repository: str = ""
    base: str = ""
    branch: str = ""
    worktree: str = ""
    test_command: str = ""
    confinement: str = ""
    concerns: tuple[str, ...] = ()
    asks_user: bool = True
    brief: str = ""
    """What the interview brought."""
    attempts: tuple[coding.SpecificationGiven, ...] = ()
    specification: coding.Specification | None = None
    """The one that holds: complete, and not given up for an alternative."""
    prices: tuple[PriceView, ...] = ()
    open_price: PriceGiven | None = None
    """The price that somebody has to decide about, with its alternatives."""
    price_rules: PriceRules | None = None
    """None when the policy cannot be read."""
    asked: Asked | None = None
    plan: tuple[str, ...] = ()
    rounds: tuple[RoundView, ...] = ()
    rounds_at_most: int | None = None
    conclusion: coding.SessionConcluded | None = None
    outcome: Ending | None = None

    @property
    def ended_rounds(self) -> tuple[RoundEnded, ...]:
        return tuple(each.ended for each in self.rounds if each.ended is not None)

    @property
    def saved_at(self) -> str | None:
        """The commit that holds the work, if any was saved."""
        if self.conclusion is not None and self.conclusion.checkpoint:
            return self.conclusion.checkpoint
        return self.ended_rounds[-1].commit if self.ended_rounds else None
