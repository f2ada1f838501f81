"""A coding session, from its intent to its ending: interview, specify, price, build (section G).

It reads from the beginning to the end, and is run so each time the session goes on; what was done is in the
record (see ``loop.conducting``).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from endstop.coding import endings, questions, specifying
from endstop.coding.branches import branch_of
from endstop.coding.desk import Desk, GivenUpError, MakeModel
from endstop.coding.policy import Policy
from endstop.coding.policy_file import policy_of, policy_text
from endstop.coding.pricing import price_given, price_words, read_choice
from endstop.coding.repository import Repository, open_repository
from endstop.coding.rounds import Rounds
from endstop.coding.shapes import Brief, Estimate
from endstop.coding.specifying import lacking
from endstop.coding.testing import TestCommand, find_test_command
from endstop.coding.worktree import Worktree
from endstop.errors import (
    EndstopError,
    InvalidValueError,
    PriceUnknownError,
    RunStateError,
    StoreError,
    brief,
    cause,
)
from endstop.events.coding import (
    Alternative,
    Interviewed,
    PriceChoice,
    PriceDecided,
    PriceGiven,
    PriceVerdict,
    RoundEnded,
    SessionConcluded,
    SessionOpened,
    Specification,
    SpecificationGiven,
)
from endstop.events.facts import UserAwaited
from endstop.kernel.budget import Budget, UnknownPrice
from endstop.kernel.ledger import ROOT
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import UserSaid
from endstop.kernel.outcome import Abandoned, Cancelled, Ending, Stopped, StopReason, StopRule
from endstop.loop.conducting import Halted, Interlude, Stage
from endstop.ports import Model, ModelUsage
from endstop.tools.confinement import Confinement

_INTERVIEW = "interview"
_POLICY = "policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTerms:
    """What a session is begun with. Once it has begun, its record says what holds."""

    repository: Path
    base: str
    """The commit it starts from."""
    policy: Policy
    test_command: str
    confinement: str
    """How its commands are confined, in words."""
    asks_user: bool = True
    yes_under_usd: Decimal | None = None
    concerns: tuple[str, ...] = ()
    """What is unusual about the repository, and was accepted."""


async def session_terms(
    repository: Repository,
    policy: Policy,
    *,
    test_command: str | None = None,
    asks_user: bool = True,
    yes_under_usd: Decimal | None = None,
    concerns: tuple[str, ...] = (),
) -> SessionTerms:
    """The terms of a session in a repository. A clear error if nobody knows how its tests are run."""
    command = await test_command_of(repository.root, test_command or policy.tests.command)
    return SessionTerms(
        repository=repository.root,
        base=repository.head,
        policy=policy,
        test_command=command.text,
        confinement=_confinement(repository.root, repository, policy).words,
        asks_user=asks_user,
        yes_under_usd=yes_under_usd,
        concerns=concerns,
    )


class CodingSession:
    """Conducts one session."""

    def __init__(
        self,
        *,
        model: Model,
        make_model: MakeModel,
        worktrees: Path,
        cache_dir: Path,
        terms: SessionTerms | None = None,
    ) -> None:
        """``terms`` are needed to begin, not to go on."""
        self._model = model
        self._make_model = make_model
        self._worktrees = worktrees
        self._cache_dir = cache_dir
        self._terms = terms

    def opening(self, run_id: str, budget: Budget) -> tuple[SessionOpened, ...]:
        """The terms, for the beginning of the record: whoever goes on with the session finds them there."""
        terms = self._terms
        if terms is None:
            raise RunStateError("A session cannot begin without its terms")
        self._require_prices(terms.policy, budget)
        opened = SessionOpened(
            repository=str(terms.repository),
            base=terms.base,
            branch=branch_of(run_id),
            worktree=str(self._worktrees / run_id),
            test_command=terms.test_command,
            confinement=terms.confinement,
            policy=policy_text(terms.policy),
            asks_user=terms.asks_user,
            yes_under_usd=terms.yes_under_usd,
            concerns=terms.concerns,
        )
        return (opened,)

    async def conduct(self, stage: Stage) -> Ending:
        try:
            desk = await self._desk(stage)
            specification, price = await _agreed(desk, await _interviewed(desk))
            return await Rounds(desk, specification, price).build()
        except GivenUpError as given_up:
            return await self._abandoned(stage, given_up.ending)
        except (Halted, Interlude, StoreError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever broke, it is given up with its work saved (G7)
            return await self._abandoned(stage, endings.failed("session", cause(error)))

    async def conclude(self, stage: Stage, reason: StopReason) -> Ending:
        concluded = endings.concluded_by(
            reason, stage.run_id, stage.notes(RoundEnded), await self._saved(stage)
        )
        await self._noted(stage, concluded)
        if reason.rule is StopRule.CANCELLED:
            return Cancelled(by=stage.journal.recorder.state.cancelled_by or "somebody")
        if concluded.kind == endings.ABANDONED:
            return Abandoned(
                reason=reason.message,
                suggestion=concluded.suggestion,
                next_steps=concluded.next_steps,
                checkpoint=concluded.checkpoint,
            )
        return Stopped(reason=reason)

    async def _abandoned(self, stage: Stage, ending: Abandoned) -> Ending:
        """Give up: what was done is saved, and what was tried is told."""
        checkpoint = ending.checkpoint or await self._saved(stage)
        await self._noted(stage, endings.concluded(ending, stage.run_id, stage.notes(RoundEnded), checkpoint))
        return replace(ending, checkpoint=checkpoint)

    async def _saved(self, stage: Stage) -> str | None:
        """Commit what is not committed yet. None if nothing was begun, or if that cannot be done any more:
        then the files are still where they were written."""
        try:
            worktree = await self._worktree(stage)
            commit = await worktree.checkpoint("Unfinished work, kept when the session ended")
        except (EndstopError, OSError):
            return None
        return None if commit == worktree.base else commit

    async def _noted(self, stage: Stage, concluded: SessionConcluded) -> None:
        if stage.noted(SessionConcluded) is None:
            await stage.note(concluded)

    async def _desk(self, stage: Stage) -> Desk:
        """The place to work: made once, and found again by what the record says of it."""
        opened = _opened(stage)
        policy = policy_of(opened.policy)
        worktree = await self._worktree(stage)
        repository = worktree.repository
        return Desk(
            stage=stage,
            policy=policy,
            worktree=worktree,
            confinement=_confinement(worktree.path, repository, policy),
            test_command=await test_command_of(repository.root, opened.test_command),
            model=self._model,
            make_model=self._make_model,
            cache_dir=self._cache_dir,
            asks_user=opened.asks_user,
            yes_under_usd=opened.yes_under_usd,
        )

    async def _worktree(self, stage: Stage) -> Worktree:
        opened = _opened(stage)
        worktree = Worktree(
            repository=await open_repository(opened.repository),
            session=stage.run_id,
            path=Path(opened.worktree),
            base=opened.base,
        )
        await worktree.ensure()
        return worktree

    def _require_prices(self, policy: Policy, budget: Budget) -> None:
        """A role whose model has no price, under a cost limit: refused before anything is spent (A10)."""
        if budget.cost_usd is None or budget.unknown_price is UnknownPrice.WARN:
            return
        for role, name in policy.models.items():
            if self._make_model(name).cost_usd(ModelUsage(input_tokens=1_000, output_tokens=1_000)) is None:
                raise PriceUnknownError(
                    f"Nobody knows what {name} costs, so session.cost_usd could not be kept",
                    allowed="models of known price under a cost limit",
                    to_do=f"Name another model in models.{role}, or have session.unknown_price warn, with "
                    "`endstop policy edit`",
                )


def _opened(stage: Stage) -> SessionOpened:
    opened = stage.noted(SessionOpened)
    assert opened is not None, "a session begins with it"
    return opened


async def test_command_of(folder: Path, configured: str | None) -> TestCommand:
    """How the project's tests are run. A clear error, before anything is spent, if nobody knows."""
    found = await asyncio.to_thread(find_test_command, folder, configured)
    if found is None:
        raise InvalidValueError(
            "tests.command",
            None,
            allowed=f"a command that runs the tests: nothing in {folder} says how to",
            to_do="Give one: --test-command 'make test', or `endstop policy edit tests.command 'make test'`",
        )
    return found


def _confinement(folder: Path, repository: Repository, policy: Policy) -> Confinement:
    return Confinement(
        folder,
        readable=(repository.common_dir, *policy.commands.readable),
        network=policy.commands.network,
        memory_mb=policy.commands.memory_mb,
    )


# ── interview ─────────────────────────────────────────────────────────────────────────────────────────────


async def _interviewed(desk: Desk) -> str:
    """What the user wants, in the words of whoever asked them; nothing where no user is there."""
    stage = desk.stage
    noted = stage.noted(Interviewed)
    if noted is not None:
        return noted.brief
    if not desk.asks_user or not desk.policy.interview.is_on:
        return ""
    handed_in: Brief | None = await desk.ask(
        "interviewer",
        questions.interview_question(stage.question),
        scope=_INTERVIEW,
        tools=desk.tools(writes=False),
    )
    said = _what_was_said(stage) if handed_in is None else handed_in.text
    return (await stage.note(Interviewed(brief=said))).brief


def _what_was_said(stage: Stage) -> str:
    """The interview as it went: what there is of one that came to its limit."""
    lines: list[str] = []
    for fact in stage.journal.recorder.facts:
        match fact.payload:
            case UserAwaited(scope=scope, question=question) if scope == _INTERVIEW:
                lines.append(f"Asked: {question}")
            case UserSaid(scope=scope, text=text) if scope == _INTERVIEW and lines:
                lines.append(f"Answered: {text}")
            case _:
                pass
    return "\n".join(lines)


# ── specify and price ─────────────────────────────────────────────────────────────────────────────────────


async def _agreed(desk: Desk, wanted: str) -> tuple[Specification, PriceGiven]:
    """A specification, and a price for it that is approved. They go round so often, and no further (G3)."""
    stage = desk.stage
    instead: Alternative | None = None
    for cycle in range(1, desk.policy.price.cycles + 1):
        specification = await _specified(desk, wanted, cycle, instead)
        price = await _priced(desk, specification, cycle)
        decided = await _decided(desk, specification, price)
        if decided.choice is PriceChoice.APPROVED:
            return specification, price
        if decided.choice is PriceChoice.REJECTED:
            raise GivenUpError(
                endings.price_rejected(
                    stage.notes(PriceGiven), stage.notes(PriceDecided), stage.notes(SpecificationGiven)
                )
            )
        instead = decided.alternative
    raise GivenUpError(
        endings.cycles_used_up(
            desk.policy,
            stage.notes(PriceGiven),
            stage.notes(PriceDecided),
            stage.notes(SpecificationGiven),
        )
    )


async def _specified(desk: Desk, wanted: str, cycle: int, instead: Alternative | None) -> Specification:
    """Attempts at a complete specification, each told what the one before lacked (G1)."""
    stage, attempts = desk.stage, desk.policy.specify.attempts
    lacked: tuple[str, ...] = ()
    for attempt in range(1, attempts + 1):
        given = stage.noted(SpecificationGiven, cycle=cycle, attempt=attempt)
        if given is None:
            question = questions.specify_question(
                stage.question,
                wanted,
                attempt=attempt,
                policy=desk.policy,
                lacking=lacked,
                alternative=instead,
            )
            said: Specification | None = await desk.ask(
                "specifier",
                question,
                scope=f"specifier {cycle}.{attempt}",
                tools=desk.tools(writes=False),
            )
            specification = said or Specification()
            given = await stage.note(
                SpecificationGiven(
                    cycle=cycle,
                    attempt=attempt,
                    specification=specification,
                    lacking=lacking(specification),
                )
            )
        if not given.lacking:
            return given.specification
        lacked = given.lacking
    raise GivenUpError(
        specifying.abandoned(
            stage.notes(SpecificationGiven), was_interviewed=stage.noted(Interviewed) is not None
        )
    )


async def _priced(desk: Desk, specification: Specification, cycle: int) -> PriceGiven:
    """What the build may cost, and what the policy says to it (G2)."""
    stage, policy = desk.stage, desk.policy
    noted = stage.noted(PriceGiven, cycle=cycle)
    if noted is not None:
        return noted
    question = questions.price_question(specification, cycle=cycle, policy=policy)
    estimate: Estimate | None = await desk.ask(
        "pricer", question, scope=f"pricer {cycle}", tools=desk.tools(writes=False)
    )
    if estimate is None:
        raise GivenUpError(endings.nothing_handed_in("pricer"))
    left = stage.journal.recorder.state.ledger.left(ROOT, LimitKind.COST_USD)
    return await stage.note(
        price_given(
            estimate,
            desk.model_of("builder"),
            policy,
            cycle=cycle,
            left_usd=None if left is None else Decimal(left),
            yes_under_usd=desk.yes_under_usd,
        )
    )


async def _decided(desk: Desk, specification: Specification, price: PriceGiven) -> PriceDecided:
    """What is decided about a price: by the policy, or by the user, who is asked until that is clear."""
    stage = desk.stage
    noted = stage.noted(PriceDecided, cycle=price.cycle)
    if noted is not None:
        return noted
    if price.verdict is PriceVerdict.APPROVED:
        return await stage.note(PriceDecided(cycle=price.cycle, choice=PriceChoice.APPROVED, by=_POLICY))
    if price.verdict is PriceVerdict.REJECTED and not desk.asks_user:
        return await stage.note(PriceDecided(cycle=price.cycle, choice=PriceChoice.REJECTED, by=_POLICY))
    question = price_words(price, title=specification.title, policy=desk.policy)
    answers = stage.answers(price)
    if not answers:
        raise stage.wait_for_user(question)
    chosen = read_choice(answers[-1], price.alternatives)
    if chosen is None:
        raise stage.wait_for_user(f"That was not understood: {brief(answers[-1])}\n\n{question}")
    return await stage.note(
        PriceDecided(
            cycle=price.cycle,
            choice=chosen.choice,
            by=stage.journal.recorder.started.user or "user",
            alternative=chosen.alternative,
        )
    )
