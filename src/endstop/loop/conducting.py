"""A run of several parts, each an agent of its own on a part of the budget: a pipeline.

Whoever conducts it is a plain function from the beginning to the end, and is called from the beginning each
time the run goes on: after a pause, and after a crash. Each step is done once: a part by the name of its
scope, anything else by the note it leaves in the record. So there is no second copy of where a run stands,
and no step that could be forgotten in it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from endstop.errors import NotEnoughLeftError
from endstop.events.facts import Note, ReviewDecided, ReviewRequested, UserAwaited
from endstop.kernel.amounts import SPENT_KINDS
from endstop.kernel.budget import Budget
from endstop.kernel.ledger import ROOT
from endstop.kernel.limits import LIMIT_FACTS, LimitKind
from endstop.kernel.observation import (
    CallStatus,
    CallUnaffordable,
    Observation,
    RunPaused,
    RunResumed,
    ScopeOpened,
    ToolCalled,
    ToolFinished,
    UserSaid,
)
from endstop.kernel.outcome import (
    AwaitingUser,
    Ending,
    Forced,
    Outcome,
    Pause,
    Stopped,
    StopReason,
    UnderReview,
)
from endstop.kernel.review import Rejected, Review
from endstop.kernel.usage import Usage
from endstop.kernel.verdict import Stop
from endstop.loop.agent import Agent
from endstop.loop.bounded import Ended

if TYPE_CHECKING:
    from endstop.loop.driver import Driver
    from endstop.loop.journal import Journal

_T = TypeVar("_T")
_N = TypeVar("_N", bound=Note)


class Halted(Exception):  # noqa: N818 - not an error: the run has to stop
    """The run has to stop before its next step. Passes through whoever conducts, and is not to be caught."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason.message)
        self.reason = reason


class Interlude(Exception):  # noqa: N818 - not an error: the run goes on another time
    """The run waits for a person, or is left open for another process. Not to be caught either."""

    def __init__(self, outcome: Pause | None) -> None:
        super().__init__(str(outcome))
        self.outcome = outcome


class OutOfTimeError(Exception):
    """A step took longer than it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What came of one part of a run."""

    ending: Ending
    submitted: str | None
    """The arguments its terminal tool was called with, if it did its job."""


class Stage:
    """What a conducted run is given to work with."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.journal: Journal = driver.journal

    @property
    def run_id(self) -> str:
        return self.journal.run_id

    @property
    def question(self) -> str:
        """What the run was asked."""
        return self.journal.recorder.started.question

    # ── what was done ─────────────────────────────────────────────────────────────────────────────────────

    def notes(self, kind: type[_N]) -> list[_N]:
        """The notes of a kind that are in the record, oldest first."""
        return [fact.payload for fact in self.journal.recorder.facts if isinstance(fact.payload, kind)]

    def noted(self, kind: type[_N], **key: object) -> _N | None:
        """The note with these values, if it is in the record: then its step was done."""
        for note in self.notes(kind):
            if all(getattr(note, name) == value for name, value in key.items()):
                return note
        return None

    def is_known(self, scope: str) -> bool:
        """Whether a part of this name was begun, and perhaps ended."""
        return self.journal.is_open(scope) or scope in self.journal.recorder.endings

    async def note(self, note: _N) -> _N:
        """Keep a note: from now on its step is done, whatever happens."""
        self.journal.note(note)
        await self.journal.flush()
        return note

    def observe(self, observation: Observation) -> None:
        self.journal.enter(observation)

    def used(self, scope: str = ROOT) -> Usage:
        """What the run, or a part of it, has used; parts that are still open are not in it."""
        return self.journal.recorder.usage(scope)

    # ── may it go on ──────────────────────────────────────────────────────────────────────────────────────

    def require_go(self, scope: str = ROOT) -> None:
        """Ask the governor before a step. Raises if there is to be none."""
        for name in dict.fromkeys((ROOT, scope)):
            verdict = self.journal.verdict(name)
            if isinstance(verdict, Stop):
                if name != ROOT:
                    self._passed_up(verdict.reason)
                raise Halted(verdict.reason)
        if self._driver.is_to_leave:
            raise Interlude(None)

    def wait_for_user(self, question: str) -> Interlude:
        """Ask the user something. To be raised; when the run goes on, ``answer_to`` has the answer."""
        self.journal.note(UserAwaited(turn=0, question=question))
        self.journal.enter(RunPaused(at_s=self.journal.now_s, why=question))
        return Interlude(AwaitingUser(question=question))

    def answers(self, asked_after: Note) -> list[str]:
        """What the user has answered to questions of the run itself since a note was made."""
        said: list[str] = []
        is_after = is_asked = False
        for fact in self.journal.recorder.facts:
            payload = fact.payload
            if payload is asked_after:
                is_after = True
            elif is_after and isinstance(payload, UserAwaited) and payload.scope == ROOT:
                is_asked = True
            elif is_asked and isinstance(payload, UserSaid) and payload.scope == ROOT:
                said.append(payload.text)
        return said

    # ── steps ─────────────────────────────────────────────────────────────────────────────────────────────

    def open(self, scope: str, budget: Budget, *, parent: str = ROOT) -> None:
        """Open an account for several parts, once."""
        if not self.is_known(scope):
            self._carve(scope, budget, parent)

    async def part(
        self, agent: Agent, question: str, *, scope: str, budget: Budget, parent: str = ROOT
    ) -> Part:
        """Have an agent do a part of the work, once: to its end, or until the run has to wait or to stop."""
        ending = self.journal.recorder.endings.get(scope)
        if ending is None:
            self.require_go(parent)
            if not self.journal.is_open(scope):
                self._carve(scope, budget, parent)
                self.observe(UserSaid(at_s=self.journal.now_s, scope=scope, text=question))
            ending = self._ended(await self._driver.run_part(agent, scope), scope)
        self._require_begun(scope, ending, parent)
        return Part(ending=ending, submitted=self._submitted(scope, agent))

    async def work(self, make: Callable[[], Awaitable[_T]], *, seconds: float) -> _T:
        """Do something that is no agent's and takes time. ``OutOfTimeError`` if it takes more than it may."""
        done: list[_T] = []

        async def do() -> None:
            done.append(await make())

        self.require_go()
        ended = await self._driver.work(do, seconds=seconds)
        if ended is not Ended.BY_ITSELF:
            self.require_go()
            raise OutOfTimeError(f"It took longer than {seconds:g} s.")
        return done[0]

    # ── within ────────────────────────────────────────────────────────────────────────────────────────────

    def _carve(self, scope: str, budget: Budget, parent: str) -> None:
        above = self.journal.recorder.state.ledger.account(parent).budget
        carved = replace(budget, grant_cap=above.grant_cap, unknown_price=above.unknown_price)
        opened = ScopeOpened(at_s=self.journal.now_s, scope=scope, parent=parent, budget=carved)
        try:
            self.observe(opened)
        except NotEnoughLeftError:
            ledger = self.journal.recorder.state.ledger
            for kind in SPENT_KINDS:
                left = ledger.left(parent, kind)
                if (
                    left is not None
                    and budget.maximum(kind) is not None
                    and left < LIMIT_FACTS[kind].smallest
                ):
                    self._require_more(parent, kind)
            raise

    def _ended(self, outcome: Outcome | None, scope: str) -> Ending:
        if isinstance(outcome, UnderReview):
            self._require_use(outcome.review, scope)
        if outcome is None or isinstance(outcome, AwaitingUser | UnderReview):
            raise Interlude(outcome)
        return outcome

    def _require_use(self, review: Review, scope: str) -> None:
        """A review is worth waiting for only if the run could go on then. Where an agent was to decide, and
        has not, a person has to; unless it was cut off because the process is to end."""
        verdict = self.journal.verdict(ROOT)
        if isinstance(verdict, Stop):
            self.observe(RunResumed(at_s=self.journal.now_s))
            decision = Rejected(by="endstop", why=verdict.reason.message)
            self.journal.note(
                ReviewDecided(scope=scope, review_id=review.id, decision=decision, by=decision.by)
            )
            raise Halted(verdict.reason)
        if self.journal.recorder.state.paused_at_s is None:
            if self._driver.is_to_leave:
                raise Interlude(None)
            self.journal.note(ReviewRequested(scope=scope, review=review))
            self.observe(RunPaused(at_s=self.journal.now_s, why=review.why))

    def _require_begun(self, scope: str, ending: Ending, parent: str) -> None:
        """A part that could not even begin shows that what is above it has too little left: that is the
        limit the run has met, not the part's own."""
        reason = ending.reason if isinstance(ending, Forced | Stopped) else None
        if reason is None or reason.limit is None:
            return
        if reason.limit in SPENT_KINDS and self.used(scope).model_calls == 0:
            self._require_more(parent, reason.limit)

    def _require_more(self, scope: str, kind: LimitKind) -> None:
        """What is left of a limit, here or above, pays for nothing more: have the governor say so."""
        for account in self.journal.recorder.state.ledger.lineage(scope):
            if account.budget.maximum(kind) is not None:
                self.observe(CallUnaffordable(at_s=self.journal.now_s, scope=account.id, limit=kind))
                self.require_go(account.id)
                return

    def _passed_up(self, reason: StopReason) -> None:
        """What a limit of a part ends is the whole run: have the governor say the same of it, so that whoever
        judges the record again comes to the same end."""
        if reason.limit is not None and reason.limit in SPENT_KINDS:
            self.observe(CallUnaffordable(at_s=self.journal.now_s, limit=reason.limit))

    def _submitted(self, scope: str, agent: Agent) -> str | None:
        """What the terminal tool of a part was called with when it did its job."""
        terminal = None if agent.terminal is None else agent.terminal.spec.name
        arguments: dict[str, str] = {}
        submitted: str | None = None
        for fact in self.journal.recorder.facts:
            payload = fact.payload
            if not isinstance(payload, ToolCalled | ToolFinished):
                continue
            if payload.scope != scope or payload.tool != terminal:
                continue
            if isinstance(payload, ToolCalled):
                arguments[payload.call] = payload.exact_arguments
            elif payload.status is CallStatus.EXECUTED:
                submitted = arguments.get(payload.call)
        return submitted
