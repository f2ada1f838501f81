"""A coding session followed fact by fact: what happened in it, which part is at work, where it stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from endstop.cli.build_words import Line, lines_of
from endstop.cli.progress import Progress, Step
from endstop.events.coding import CODING_FACTS, TestsRun
from endstop.events.coding_standing import SessionView
from endstop.events.coding_view import session_view
from endstop.events.coding_words import told_of_coding
from endstop.events.facts import Fact, UserAwaited
from endstop.events.plain import written
from endstop.kernel.budget import Budget
from endstop.kernel.ledger import ROOT
from endstop.kernel.observation import RunEnded, RunPaused, ScopeEnded, ScopeOpened, TurnStarted

ASKED, CODING = "asked", "coding"
_TESTED_AFTER = ("builder", "simplifier")
"""When one of these is done, the tests are run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStep(Step):
    """Something worth some lines."""

    lines: tuple[Line, ...] = ()


class SessionProgress(Progress):
    """How a session stands, as far as its facts have come."""

    def __init__(self, *, run_id: str, budget: Budget, facts: Iterable[Fact] = ()) -> None:
        self._record: list[Fact] = []
        self._view: SessionView | None = None
        self._most_turns: dict[str, int | None] = {}
        self._under_way = ""
        super().__init__(run_id=run_id, budget=budget, facts=facts)

    @property
    def view(self) -> SessionView | None:
        """The session as it stands; None before its first fact."""
        if self._view is None and self._record:
            self._view = session_view(self._record)
        return self._view

    @property
    def under_way(self) -> str:
        """Who is at work, in a few words."""
        return self._under_way

    def add(self, fact: Fact) -> Step | None:
        """Take in a fact; what is worth some lines about it."""
        self._record.append(fact)
        self._view = None
        self._notice_part(fact)
        step = super().add(fact)
        if isinstance(fact.payload, UserAwaited):
            question = fact.payload.question
            return Step(kind=ASKED, text=question, data={"question": question})
        if fact.type not in CODING_FACTS:
            return _placed(step, fact)
        title, detail = told_of_coding(fact.payload) or ("", "")
        return SessionStep(
            kind=CODING,
            text=title,
            data={"type": fact.type, "title": title, "detail": detail, "fact": written(fact.payload)},
            lines=lines_of(fact.payload),
        )

    def _notice_part(self, fact: Fact) -> None:
        match fact.payload:
            case ScopeOpened(scope=scope, budget=budget):
                self._most_turns[scope] = budget.turns
            case TurnStarted(scope=scope, turn=turn) if scope != ROOT:
                most = self._most_turns.get(scope)
                of = "" if most is None else f" of {most:,}"
                self._under_way = f"{scope}, turn {turn + 1:,}{of}"
            case ScopeEnded(scope=scope):
                self._under_way = "the tests run" if scope.startswith(_TESTED_AFTER) else ""
            case TestsRun() | RunPaused() | RunEnded():
                self._under_way = ""
            case _:
                pass


def _placed(step: Step | None, fact: Fact) -> Step | None:
    """A notice with the part of the session that it is about."""
    scope: str = getattr(fact.payload, "scope", ROOT)
    if step is None or step.kind != "notice" or scope == ROOT:
        return step
    return replace(step, text=f"{scope}: {step.text}", data={**step.data, "scope": scope})
