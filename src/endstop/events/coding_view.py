"""A coding session as a person follows it: where it stands, what it asks, its rounds, how it ended.

Read from the facts in one pass. A round under way is there before it has ended, with what is known of it.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import TypeVar, cast

from endstop.errors import FactOrderError, brief
from endstop.events import coding
from endstop.events.coding import PriceChoice, PriceDecided, PriceGiven, PriceVerdict, RoundEnded
from endstop.events.coding_standing import (
    Asked,
    AskedFor,
    Phase,
    PriceRules,
    PriceView,
    RoundView,
    SessionView,
    Step,
    StepStanding,
)
from endstop.events.facts import Fact, Payload, RunStarted, UserAwaited
from endstop.kernel.canonical import fold_text
from endstop.kernel.limits import LimitKind, shown
from endstop.kernel.observation import CallSettled, RunEnded, ScopeOpened, UserSaid
from endstop.kernel.outcome import Completed, Ending

_MOST = 100
"""A policy bounds attempts, rounds and passes far below this; a record that somebody else wrote may not."""

_BUILDER = re.compile(r"builder ([0-9]{1,4})")
"""The scope that a round begins with."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def session_view(facts: Iterable[Fact]) -> SessionView:
    """The session of this record, whole or not. The first fact must be ``run.started``."""
    reading: _Reading | None = None
    for fact in facts:
        if reading is not None:
            reading.take(fact.payload)
        elif isinstance(fact.payload, RunStarted):
            reading = _Reading(run_id=fact.run_id, intent=fact.payload.question)
        else:
            break
    if reading is None:
        raise FactOrderError("The record has no run.started", allowed="run.started as the first fact")
    return reading.view()


def similarity(before: Iterable[str], after: Iterable[str]) -> float | None:
    """The issues that two rounds share, of all they have (Jaccard), without case and white space.

    None when neither has any: two rounds with nothing open are not stuck.
    """
    earlier, later = ({fold_text(issue) for issue in issues} for issues in (before, after))
    return len(earlier & later) / len(earlier | later) if earlier or later else None


def short_commit(commit: str) -> str:
    """A commit as people write it."""
    return commit[:7]


def rounds_table(rounds: Sequence[RoundEnded]) -> tuple[str, ...]:
    """The rounds as aligned lines under a heading, so that one sees whether they came nearer to the end."""
    if not rounds:
        return ()
    rows = [("round", "lines", "failing tests", "open issues", "same as before", "cost", "commit")]
    before: RoundEnded | None = None
    for each in rounds:
        same = None if before is None else similarity(before.open_issues, each.open_issues)
        rows.append(
            (
                str(each.round),
                f"+{each.added:,} -{each.removed:,}",
                str(each.failing_tests),
                str(len(each.open_issues)),
                "-" if same is None else f"{same:.0%}",
                "unknown" if each.cost_usd is None else shown(LimitKind.COST_USD, each.cost_usd),
                short_commit(each.commit),
            )
        )
        before = each
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return tuple(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
    )


@dataclass(slots=True, kw_only=True)
class _Round:
    """A round while it is read."""

    number: int
    tests: deque[coding.TestsRun] = field(default_factory=lambda: deque(maxlen=_MOST))
    passes: deque[coding.SimplifyingEnded] = field(default_factory=lambda: deque(maxlen=_MOST))
    criteria: tuple[coding.Criterion, ...] = ()
    found: coding.IssuesFound | None = None
    ended: RoundEnded | None = None
    cost_usd: Decimal | None = Decimal(0)

    def view(self, before: RoundEnded | None, *, at_most: int | None, is_current: bool) -> RoundView:
        ended = self.ended
        same = None if before is None or ended is None else similarity(before.open_issues, ended.open_issues)
        return RoundView(
            number=self.number,
            rounds_at_most=at_most,
            tests=tuple(self.tests),
            criteria=self.criteria,
            issues=() if self.found is None else self.found.issues,
            left_out=0 if self.found is None else self.found.left_out,
            passes=tuple(self.passes),
            ended=ended,
            similarity=same,
            cost_usd=self.cost_usd if ended is None else ended.cost_usd,
            is_under_way=is_current and ended is None,
        )


@dataclass(slots=True, kw_only=True)
class _Reading:
    """What is known of a session after so many facts."""

    run_id: str
    intent: str
    reached: Phase = Phase.SPECIFY
    """The step it is in, or ended in."""
    opened: coding.SessionOpened | None = None
    rules: _Rules = field(default_factory=lambda: _Rules())
    brief: str = ""
    attempts: dict[tuple[int, int], coding.SpecificationGiven] = field(
        default_factory=dict[tuple[int, int], coding.SpecificationGiven]
    )
    specification: coding.Specification | None = None
    prices: dict[int, PriceView] = field(default_factory=dict[int, PriceView])
    answered: str | None = None
    """What was last answered about the price that is open."""
    asked: Asked | None = None
    plan: tuple[str, ...] = ()
    rounds: dict[int, _Round] = field(default_factory=dict[int, _Round])
    conclusion: coding.SessionConcluded | None = None
    outcome: Ending | None = None

    def take(self, payload: Payload) -> None:
        """Read one fact after ``run.started``."""
        match payload:
            case CallSettled() as settled:
                self._pay(settled)
            case ScopeOpened(scope=scope) if (begun := _BUILDER.fullmatch(scope)) is not None:
                self._round(int(begun[1]))
            case UserAwaited(question=question):
                self.asked = self._asked(question)
            case UserSaid(text=text):
                self.asked, self.answered = None, text
            case coding.SessionConcluded() as conclusion:
                self.conclusion = conclusion
            case RunEnded(outcome=outcome):
                self.outcome = outcome
            case _:
                self._prepare(payload)

    def _prepare(self, payload: Payload) -> None:
        """Read what comes before the first round."""
        match payload:
            case coding.SessionOpened() as opened if self.opened is None:
                self.opened, self.rules = opened, _rules_of(opened)
                self.reached = Phase.INTERVIEW if self.rules.holds_interview else Phase.SPECIFY
            case coding.Interviewed(brief=brief):
                self.brief, self.reached, self.asked = brief, Phase.SPECIFY, None
            case coding.SpecificationGiven(cycle=cycle, attempt=attempt, lacking=lacking) as given:
                _keep(self.attempts, (cycle, attempt), given)
                self.specification = None if lacking else given.specification
                self.reached = Phase.SPECIFY if lacking else Phase.PRICE
            case PriceGiven(cycle=cycle) as price:
                _keep(self.prices, cycle, PriceView(price=price))
                self.reached, self.answered = Phase.PRICE, None
            case PriceDecided() as decision:
                self._decide(decision)
            case coding.PlanGiven(tasks=tasks):
                self.plan, self.reached = tasks, Phase.BUILD
            case _:
                self._build(payload)

    def _build(self, payload: Payload) -> None:
        """Read what a round leaves."""
        match payload:
            case coding.TestsRun(round=number) as tests:
                self._round(number).tests.append(tests)
            case coding.CriteriaJudged(round=number, criteria=criteria):
                self._round(number).criteria = criteria
            case coding.IssuesFound(round=number) as found:
                self._round(number).found = found
            case coding.SimplifyingEnded(round=number) as ended:
                self._round(number).passes.append(ended)
            case RoundEnded(round=number) as ended:
                self._round(number).ended = ended
            case _:
                pass

    def _decide(self, decision: PriceDecided) -> None:
        priced = self.prices.get(decision.cycle)
        if priced is not None:
            self.prices[decision.cycle] = PriceView(price=priced.price, decision=decision)
        if decision.choice is PriceChoice.APPROVED:
            self.reached = Phase.BUILD
        elif decision.choice is PriceChoice.ALTERNATIVE:
            self.reached, self.specification = Phase.SPECIFY, None
        self.asked = None

    def _round(self, number: int) -> _Round:
        """The round of this number, begun here if nothing was known of it."""
        self.reached = Phase.BUILD
        if number not in self.rounds:
            _keep(self.rounds, number, _Round(number=number))
        return self.rounds[number]

    def _pay(self, settled: CallSettled) -> None:
        """Add a call to the round under way. What nobody knows makes the sum unknown."""
        current = next(reversed(self.rounds.values()), None)
        if current is None or current.ended is not None or current.cost_usd is None:
            return
        if settled.cost_usd is not None:
            current.cost_usd += settled.cost_usd
        elif settled.model_calls or settled.input_tokens or settled.output_tokens:
            current.cost_usd = None

    def _open_price(self) -> PriceGiven | None:
        last = next(reversed(self.prices.values()), None)
        if last is None or last.decision is not None or last.price.verdict is PriceVerdict.APPROVED:
            return None
        return last.price if self.reached is Phase.PRICE else None

    def _asked(self, question: str) -> Asked:
        """A price is decided by the first answer that is understood: whoever is asked again was not."""
        kind = self._asked_for()
        if kind is not AskedFor.PRICE or self.answered is None:
            return Asked(question=question, kind=kind)
        return Asked(question=question, kind=kind, not_understood=brief(self.answered))

    def _asked_for(self) -> AskedFor | None:
        if self._open_price() is not None:
            return AskedFor.PRICE
        return AskedFor.INTERVIEW if self.reached is Phase.INTERVIEW else None

    def _is_over(self) -> bool:
        return self.conclusion is not None or self.outcome is not None

    def _is_success(self) -> bool:
        if self.conclusion is not None:
            return self.conclusion.kind.startswith("succeeded")
        return isinstance(self.outcome, Completed)

    def _steps(self) -> tuple[Step, ...]:
        steps = [Phase.SPECIFY, Phase.PRICE, Phase.BUILD]
        if self.rules.holds_interview or self.brief:
            steps.insert(0, Phase.INTERVIEW)
        here = steps.index(self.reached)
        now = StepStanding.FAILED if self._is_over() else StepStanding.RUNNING
        if self._is_over() and self._is_success():
            now = StepStanding.DONE
        standings = (
            *(StepStanding.DONE for _ in steps[:here]),
            now,
            *(StepStanding.WAITING for _ in steps[here + 1 :]),
        )
        return tuple(Step(name=step, standing=each) for step, each in zip(steps, standings, strict=True))

    def _round_views(self) -> tuple[RoundView, ...]:
        views: list[RoundView] = []
        before: RoundEnded | None = None
        current = None if self._is_over() else next(reversed(self.rounds.values()), None)
        for each in self.rounds.values():
            views.append(each.view(before, at_most=self.rules.rounds, is_current=each is current))
            before = each.ended
        return tuple(views)

    def view(self) -> SessionView:
        """The session as it stands now."""
        is_over = self._is_over()
        opened = self.opened or _UNOPENED
        return SessionView(
            run_id=self.run_id,
            intent=self.intent,
            phase=Phase.CONCLUDED if is_over else self.reached,
            steps=self._steps(),
            repository=opened.repository,
            base=opened.base,
            branch=opened.branch,
            worktree=opened.worktree,
            test_command=opened.test_command,
            confinement=opened.confinement,
            concerns=opened.concerns,
            asks_user=opened.asks_user,
            brief=self.brief,
            attempts=tuple(self.attempts.values()),
            specification=self.specification,
            prices=tuple(self.prices.values()),
            open_price=None if is_over else self._open_price(),
            price_rules=self.rules.price,
            asked=None if is_over else self.asked,
            plan=self.plan,
            rounds=self._round_views(),
            rounds_at_most=self.rules.rounds,
            conclusion=self.conclusion,
            outcome=self.outcome,
        )


_UNOPENED = coding.SessionOpened(
    repository="", base="", branch="", worktree="", test_command="", confinement="", policy=""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """What the session's policy says that a reader has to know."""

    rounds: int | None = None
    """None when the policy cannot be read."""
    holds_interview: bool = False
    price: PriceRules | None = None


def _rules_of(opened: coding.SessionOpened) -> _Rules:
    try:
        policy: object = json.loads(opened.policy)
    except (ValueError, RecursionError):
        policy = None
    rounds = _entry(_entry(policy, "build"), "rounds")
    return _Rules(
        rounds=rounds if isinstance(rounds, int) else None,
        holds_interview=opened.asks_user and _entry(_entry(policy, "interview"), "is_on") is not False,
        price=_price_rules(_entry(policy, "price")),
    )


def _price_rules(section: object) -> PriceRules | None:
    least = _dollars(_entry(section, "auto_proceed_under_usd"))
    most = _dollars(_entry(section, "reject_over_usd"))
    if least is None or most is None:
        return None
    return PriceRules(auto_proceed_under_usd=least, reject_over_usd=most)


def _dollars(value: object) -> Decimal | None:
    """Money is text in a policy; None if this is none."""
    try:
        amount = Decimal(value) if isinstance(value, str) else Decimal("NaN")
    except InvalidOperation:
        return None
    return amount if amount.is_finite() else None


def _entry(value: object, name: str) -> object:
    return cast("dict[str, object]", value).get(name) if isinstance(value, dict) else None


def _keep(kept: dict[_Key, _Value], key: _Key, value: _Value) -> None:
    """Enter a value, and let the oldest go when there are too many."""
    kept[key] = value
    if len(kept) > _MOST:
        del kept[next(iter(kept))]
