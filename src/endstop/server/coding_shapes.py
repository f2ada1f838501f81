"""Coding sessions as the interface shows them: in a list, and one whole, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from endstop.coding.branches import RoundCommit, Standing
from endstop.coding.endings import other_steps
from endstop.events.coding import AlternativeKind, Gravity, PriceChoice, PriceVerdict, Risk
from endstop.events.coding_standing import AskedFor, Phase, SessionView, StepStanding
from endstop.events.coding_view import session_view
from endstop.events.explain import explain
from endstop.events.facts import Fact
from endstop.kernel.review import RunPhase
from endstop.ports import StoredRun
from endstop.server.shapes import moment_of, moment_or_none

STANDING = "What has become of its work in git; null if its repository cannot be looked at."


def _money(value: object) -> object:
    return f"{value:f}" if isinstance(value, Decimal) else value


Money = Annotated[str, BeforeValidator(_money)]
"""Money is text."""


class _Shape(BaseModel):
    """Read from the values that the record was read into."""

    model_config = ConfigDict(from_attributes=True)


class SpecificationShape(_Shape):
    """What is to be built."""

    title: str
    success_criteria: list[str]
    lines_of_code: int | None = Field(description="How many lines may be added and removed in all.")
    acceptance_tests: list[str]
    risk: Risk | None
    notes: str


class AttemptShape(_Shape):
    """One attempt at a specification."""

    cycle: int
    attempt: int
    specification: SpecificationShape
    lacking: list[str] = Field(description="What it lacks; nothing when it is complete.")


class AlternativeShape(_Shape):
    """A cheaper way to go about it."""

    kind: AlternativeKind
    what: str
    price_usd: Money | None = Field(description="Null when nobody knows.")


class PriceShape(_Shape):
    """What the build is going to cost at most."""

    cycle: int
    price_usd: Money | None = Field(description="Null when nobody knows what the model costs.")
    tokens: int
    model_calls: int
    minutes: float
    why: str
    verdict: PriceVerdict = Field(description="What the policy says to it.")
    alternatives: list[AlternativeShape] = Field(description="Only for a price that the policy rejects.")


class PriceRulesShape(_Shape):
    """What the session's policy says to prices."""

    auto_proceed_under_usd: Money = Field(description="Nobody is asked about less.")
    reject_over_usd: Money


class PriceDecisionShape(_Shape):
    """What was decided about a price."""

    choice: PriceChoice
    by: str
    alternative: AlternativeShape | None


class PricedShape(_Shape):
    """A price, and what was decided about it."""

    price: PriceShape
    decision: PriceDecisionShape | None


class StepShape(_Shape):
    """One step of a session."""

    name: Phase
    standing: StepStanding


class AskedShape(_Shape):
    """What you are asked: answer it with `POST /api/runs/{run_id}/answer`."""

    question: str
    kind: AskedFor | None = Field(description="What the answer decides; null if an agent just asks.")
    not_understood: str | None = Field(
        description="The answer before, in short, if it was not understood: a price is asked about again."
    )


class TestsShape(_Shape):
    """The project's tests, really run."""

    after: str = Field(examples=["building", "simplifying 1"])
    command: str
    exit_code: int
    seconds: float
    passed: int | None = Field(description="Null when the output does not tell.")
    failed: int | None
    failing: list[str]
    timed_out: bool
    are_green: bool
    output: str = Field(description="Its end.")


class CriterionShape(_Shape):
    """Something that has to be so, whether it is, and what shows it."""

    text: str
    is_met: bool
    evidence: str
    is_verified: bool = Field(description="A test that ran and passed shows it, not an agent's word.")


class IssueShape(_Shape):
    """Something the critic found."""

    gravity: Gravity
    title: str
    file: str
    line: int | None
    detail: str


class SimplifyingShape(_Shape):
    """One pass of making it simpler."""

    number: int
    lines_before: int
    lines_after: int
    is_kept: bool
    why: str


class RoundShape(_Shape):
    """One round, ended or not."""

    number: int
    is_under_way: bool
    tests: list[TestsShape] = Field(description="The last of them tells how the round's work stands.")
    criteria: list[CriterionShape]
    issues: list[IssueShape]
    left_out: int = Field(description="So many more issues do not count so late, or were too many.")
    passes: list[SimplifyingShape]
    commit: str | None = Field(description="Null until it has ended; so with all that follows from git.")
    files: int | None
    added: int | None = Field(description="Lines since the session began.")
    removed: int | None
    open_issues: list[str] = Field(description="What still had to be done when it ended.")
    failing_tests: int | None = Field(description="Null as long as no tests were run.")
    similarity: float | None = Field(
        description="How much its open issues are those of the round before: 1 is all. Null if there is "
        "nothing to compare."
    )
    cost_usd: Money | None = Field(description="What it has cost so far; null when nobody knows.")
    summary: str


class ConclusionShape(_Shape):
    """How the session stood at its end."""

    kind: str = Field(examples=["succeeded", "abandoned", "stuck"])
    suggestion: str
    next_steps: list[str]
    checkpoint: str | None = Field(description="The commit that holds all work.")
    criteria: list[CriterionShape] = Field(description="What `done` rests on, each with its evidence.")


class RoundCommitShape(_Shape):
    """The work of one round, as git has it."""

    round: int
    commit: str
    subject: str


class SessionRow(BaseModel):
    """A session, as lists show it."""

    run_id: str = Field(examples=["run_3f9c0a1b2c3d"])
    intent: str
    repository: str = Field(description="Empty if you may not use it any more.")
    phase: Phase
    run_phase: RunPhase = Field(description="Whether it runs, or waits for somebody, or has ended.")
    asked: AskedShape | None
    ending: str | None = Field(description="How it ended, in words.")
    model: str
    tokens: int
    cost_usd: str | None = Field(description="Null when the cost of some call is unknown.")
    started_at: datetime
    ended_at: datetime | None
    standing: Standing | None = Field(description=STANDING)

    @classmethod
    def of(
        cls, run: StoredRun, view: SessionView | None, *, repository: str, standing: Standing | None
    ) -> SessionRow:
        """``view``: what its record tells; None for a run that has ended."""
        asked = None if view is None or view.asked is None else AskedShape.model_validate(view.asked)
        return cls(
            run_id=run.run_id,
            intent=run.question,
            repository=repository,
            phase=Phase.CONCLUDED if view is None else view.phase,
            run_phase=run.phase,
            asked=asked,
            ending=run.ending,
            model=run.model,
            tokens=run.tokens,
            cost_usd=None if run.cost_usd is None else f"{run.cost_usd:f}",
            started_at=moment_of(run.started_at),
            ended_at=moment_or_none(run.ended_at),
            standing=standing,
        )


class CodingSessionShape(_Shape):
    """A session, as far as its record and its repository tell."""

    run_id: str
    intent: str
    run_phase: RunPhase = Field(description="Whether it runs, or waits for somebody, or has ended.")
    phase: Phase
    steps: list[StepShape]
    model: str
    repository: str = Field(description="Empty if you may not use it any more.")
    base: str = Field(description="The commit it began from.")
    branch: str
    worktree: str = Field(description="Where it works. Empty before it does, and as the repository is.")
    test_command: str
    confinement: str = Field(description="How commands are confined, in words.")
    concerns: list[str]
    asks_user: bool
    brief: str = Field(description="What the interview brought.")
    attempts: list[AttemptShape]
    specification: SpecificationShape | None = Field(description="The one that holds, if there is one.")
    prices: list[PricedShape]
    open_price: PriceShape | None = Field(description="The price that somebody has to decide about.")
    price_rules: PriceRulesShape | None = Field(description="Null when its policy cannot be read.")
    asked: AskedShape | None
    plan: list[str]
    rounds: list[RoundShape]
    rounds_at_most: int | None
    conclusion: ConclusionShape | None
    other_steps: list[str] = Field(
        description="The next steps of the conclusion but for accepting, discarding and restoring, which are "
        "requests of their own."
    )
    outcome: str | None = Field(description="How the run ended, in a word; null while it has not.")
    why: str | None = Field(description="Why it ended, in a sentence.")
    warnings: list[str]
    tried: list[str] = Field(description="What was tried, if it was given up.")
    standing: Standing | None = Field(description=STANDING)
    commits: list[RoundCommitShape] = Field(description="The rounds that can be looked at, or restored.")
    repository_problem: str | None = Field(description="Why its repository cannot be looked at, if so.")

    @classmethod
    def of(
        cls,
        run: StoredRun,
        facts: Sequence[Fact],
        *,
        standing: Standing | None = None,
        commits: Sequence[RoundCommit] = (),
        problem: str | None = None,
        repository: str = "",
    ) -> CodingSessionShape:
        """``repository``: where it is; empty if that, and where it works, is not for the caller to know."""
        view = session_view(facts)
        ending = view.outcome
        fields: dict[str, Any] = {name: getattr(view, name) for name in _OF_VIEW}
        return cls.model_validate(
            {
                **fields,
                "repository": repository,
                "worktree": view.worktree if repository else "",
                "run_phase": run.phase,
                "model": run.model,
                "outcome": None if ending is None else type(ending).__name__.lower(),
                "why": None if ending is None else explain(facts).why,
                "warnings": getattr(ending, "warnings", ()),
                "tried": getattr(ending, "tried", ()),
                "other_steps": ()
                if view.conclusion is None
                else other_steps(view.conclusion, view.run_id, view.ended_rounds),
                "standing": standing,
                "commits": commits,
                "repository_problem": problem,
            }
        )


_OF_VIEW = tuple(name for name in CodingSessionShape.model_fields if hasattr(SessionView, name))


class DiffShape(BaseModel):
    """What was changed, as `git diff` writes it."""

    text: str
    is_cut: bool = Field(description="There is more of it than is shown.")


class AcceptedShape(BaseModel):
    """Work that was taken."""

    how: str
    branch: str | None = Field(description="Your branch that it was merged into; null for a patch.")
    commit: str | None = Field(description="The last commit of that branch now.")
    is_fast_forward: bool = Field(description="No merge commit was needed.")
    patch: str | None = Field(description="For `git apply`; null for a merge.")


class DiscardedShape(BaseModel):
    """Work that was put away. Nothing is lost: git still has its last commit."""

    commit: str
    ref: str = Field(description="What leads to it: `git branch NAME` and this brings it back.")


class RestoredShape(BaseModel):
    """A session's branch with the content of an earlier round."""

    round: int
    commit: str = Field(description="The new commit. What came after the round stays in the history.")
