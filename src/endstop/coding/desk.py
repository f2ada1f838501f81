"""What every step of a session works with: the stage, the policy, the worktree, the tools and the roles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

from endstop.coding import endings
from endstop.coding.policy import Policy, ReviewedBy
from endstop.coding.questions import review_question
from endstop.coding.roles import role_agent, submission_of
from endstop.coding.shapes import ReviewChoice, ReviewGiven
from endstop.coding.testing import TestCommand
from endstop.coding.worktree import Worktree
from endstop.coding.worktree_tools import worktree_tools
from endstop.events.coding import RoundEnded
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.ledger import ROOT
from endstop.kernel.limits import LIMIT_FACTS, LimitKind
from endstop.kernel.observation import RunResumed
from endstop.kernel.outcome import Abandoned, Cancelled, Failed
from endstop.kernel.review import Approved, NeedsChanges, Rejected, Review, ReviewDecision
from endstop.loop.agent import Agent
from endstop.loop.conducting import Stage
from endstop.ports import Model, ModelUsage, Tool
from endstop.tools.confinement import Confinement

MakeModel = Callable[[str], Model]
"""A model by its name, ``provider:model``."""

SHARES: Mapping[str, Decimal] = MappingProxyType(
    {
        "interviewer": Decimal("0.15"),
        "specifier": Decimal("0.15"),
        "pricer": Decimal("0.10"),
        "planner": Decimal("0.15"),
        "builder": Decimal("0.50"),
        "tester": Decimal("0.25"),
        "critic": Decimal("0.25"),
        "simplifier": Decimal("0.25"),
        "reviewer": Decimal("0.10"),
    }
)
"""How much of the tokens and dollars that are left a role is given each time; what it leaves flows back."""

LEAST_TOKENS = 30_000
"""A share is not made smaller than this, or than the price of it, while there is as much."""

_NOTHING_SAID = frozenset({"tools_unused", "empty_replies"})
"""Failures of an agent that only mean that it has handed in nothing."""


class GivenUpError(Exception):
    """The session cannot lead anywhere: it ends as abandoned, with all that was tried."""

    def __init__(self, ending: Abandoned) -> None:
        super().__init__(ending.reason)
        self.ending = ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What every step of a session works with."""

    stage: Stage
    policy: Policy
    worktree: Worktree
    confinement: Confinement
    test_command: TestCommand
    model: Model
    """For the roles that have none of their own."""
    make_model: MakeModel
    cache_dir: Path
    asks_user: bool
    yes_under_usd: Decimal | None

    @property
    def rounds(self) -> list[RoundEnded]:
        """The rounds that are over."""
        return self.stage.notes(RoundEnded)

    def model_of(self, role: str) -> Model:
        """The model that works in a role."""
        named = self.policy.models.get(role)
        return self.model if named is None else self.make_model(named)

    def tools(self, *, writes: bool) -> tuple[Tool, ...]:
        """The tools over the worktree that the policy allows."""
        return worktree_tools(
            self.worktree.path,
            self.confinement,
            self.policy,
            self.test_command,
            cache_dir=self.cache_dir,
            writes=writes,
        )

    async def ask(
        self, role: str, question: str, *, scope: str, parent: str = ROOT, tools: tuple[Tool, ...] = ()
    ) -> Any:
        """Have a role do its work, once. What it handed in, by the shape of its role; None if nothing."""
        agent = self._agent(role, tools)
        part = await self.stage.part(
            agent, question, scope=scope, parent=parent, budget=self._share(role, agent, parent)
        )
        if part.submitted is not None:
            return submission_of(role, self.policy).read(part.submitted)
        match part.ending:
            case Cancelled():
                self.stage.require_go()
            case Abandoned() as rejected:
                raise GivenUpError(rejected)
            case Failed(code=code) as failed if code not in _NOTHING_SAID:
                raise GivenUpError(endings.failed(role, failed.message))
            case _:
                pass
        return None

    def _agent(self, role: str, tools: tuple[Tool, ...]) -> Agent:
        agent = role_agent(
            role,
            model=self.model_of(role),
            policy=self.policy,
            tools=tools,
            session=self.stage.run_id.rpartition("_")[2],  # a key is a word, "_", and whose it is
        )
        by_agent = self.policy.review.by is ReviewedBy.AGENT and role != "reviewer"
        return replace(agent, reviewer=self._review) if by_agent else agent

    def _share(self, role: str, agent: Agent, parent: str) -> Budget:
        """The budget of one part: its turns, and a share of what is left above it."""
        ledger = self.stage.journal.recorder.state.ledger
        tokens, cost = ledger.left(parent, LimitKind.TOKENS), ledger.left(parent, LimitKind.COST_USD)
        least_cost = agent.model.cost_usd(ModelUsage(input_tokens=LEAST_TOKENS, output_tokens=LEAST_TOKENS))
        share = SHARES[role]
        return replace(
            agent.config.budget,
            tokens=None if tokens is None else max(int(_part(Decimal(tokens), share, LEAST_TOKENS)), 1),
            cost_usd=None if cost is None else _money(_part(Decimal(cost), share, least_cost or Decimal(0))),
        )

    async def _review(self, review: Review) -> ReviewDecision:
        """A reviewer agent decides in place of a person. What it spends is the session's, time as well: an
        agent that works is no person who is waited for."""
        self.stage.observe(RunResumed(at_s=self.stage.journal.now_s))
        given: ReviewGiven | None = await self.ask(
            "reviewer", review_question(review), scope=f"reviewer {review.id}"
        )
        if given is None:
            raise LookupError("The reviewer decided nothing: a person has to")
        grant = Grant(turns=self.policy.review.turns, by="reviewer", why=given.why)
        match given.decision:
            case ReviewChoice.APPROVED:
                return Approved(grant=grant)
            case ReviewChoice.NEEDS_CHANGES:
                return NeedsChanges(feedback=given.why, grant=grant)
            case ReviewChoice.REJECTED:
                return Rejected(by="reviewer", why=given.why)


def _part(left: Decimal, share: Decimal, least: Decimal | int) -> Decimal:
    """A share of what is left; all of it where a share would be too small to work with."""
    return max(left * share, min(left, Decimal(least)))


def _money(amount: Decimal) -> Decimal:
    smallest = Decimal(LIMIT_FACTS[LimitKind.COST_USD].smallest)
    return max(amount.quantize(smallest, rounding=ROUND_CEILING), smallest)
