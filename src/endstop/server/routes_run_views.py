"""Pictures of a run: how its budget was used up, and the tree that steers it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from fastapi import APIRouter
from pydantic import BaseModel, Field

from endstop.errors import UnknownTreeError
from endstop.events.burndown import AllowedPoint, Burndown, MarkKind, UsedPoint, burndown
from endstop.events.facts import Fact
from endstop.events.plain import written
from endstop.events.steered import TreeChosen, TreeTraced
from endstop.kernel.ledger import ROOT
from endstop.server.access import CallerHere
from endstop.server.context import ContextHere
from endstop.server.owned import own_run
from endstop.server.problems import problem_responses
from endstop.server.tree_shapes import TreeNode, drawn
from endstop.tree.spec import from_json

router = APIRouter(prefix="/api/runs", tags=["runs"])


class UsedShape(BaseModel):
    """What was used by then, in all."""

    at_s: float = Field(description="Seconds on the run's own clock.")
    seq: int = Field(description="The fact after which it was so.")
    turns: int
    tokens: int
    cost_usd: str | None = Field(description="Null from the first call on whose cost nobody knows.")
    seconds: float = Field(description="Without the time spent waiting for a person.")

    @classmethod
    def of(cls, point: UsedPoint) -> UsedShape:
        return cls(
            at_s=round(point.at_s, 6),
            seq=point.seq,
            turns=point.turns,
            tokens=point.tokens,
            cost_usd=None if point.cost_usd is None else str(written(point.cost_usd)),
            seconds=round(point.seconds, 6),
        )


class AllowedShape(BaseModel):
    """What was allowed from then on; null where there is no limit."""

    at_s: float
    turns: int | None
    tokens: int | None
    cost_usd: str | None
    seconds: float | None

    @classmethod
    def of(cls, allowed: AllowedPoint) -> AllowedShape:
        return cls(
            at_s=round(allowed.at_s, 6),
            turns=allowed.turns,
            tokens=allowed.tokens,
            cost_usd=None if allowed.cost_usd is None else str(written(allowed.cost_usd)),
            seconds=allowed.seconds,
        )


class MarkShape(BaseModel):
    """Something that happened to the budget."""

    at_s: float
    seq: int
    kind: MarkKind
    text: str


class BurndownShape(BaseModel):
    """How a run used its budget up."""

    run_id: str
    unit_limits: dict[str, int | float | str] = Field(
        description="What is allowed now, grants included, of what is limited. Money is text.",
        examples=[{"turns": 30, "tokens": 200_000, "seconds": 300.0}],
    )
    points: list[UsedShape] = Field(description="At most 500, the first and the last among them.")
    limits: list[AllowedShape] = Field(description="What was allowed at first, and after each grant.")
    marks: list[MarkShape]

    @classmethod
    def of(cls, found: Burndown) -> BurndownShape:
        limits = [AllowedShape.of(one) for one in found.limits]
        return cls(
            run_id=found.run_id,
            unit_limits=limits[-1].model_dump(exclude={"at_s"}, exclude_none=True),
            points=[UsedShape.of(one) for one in found.points],
            limits=limits,
            marks=[
                MarkShape(at_s=round(one.at_s, 6), seq=one.seq, kind=one.kind, text=one.text)
                for one in found.marks
            ],
        )


class RunTree(BaseModel):
    """The tree that steers a run, as it was when the run began, and where its nodes stand."""

    name: str
    hash: str
    nodes: list[TreeNode]
    statuses: dict[str, str] = Field(
        description="By the index of a node, how it stood when last heard of: running, success, failure or "
        "halted. A node that was never reached is not there.",
        examples=[{"0": "running", "4": "success"}],
    )


@router.get("/{run_id}/burndown", responses=problem_responses(404), summary="How it used its budget up")
async def get_burndown(run_id: str, caller: CallerHere, context: ContextHere) -> BurndownShape:
    """What was used when, what was allowed then, and what happened: warnings, grants, pauses, the end."""
    await own_run(context.app.store, caller, run_id)
    facts = await context.app.store.record(run_id)
    return await asyncio.to_thread(lambda: BurndownShape.of(burndown(facts)))


@router.get("/{run_id}/tree", responses=problem_responses(404, 422), summary="The tree that steers it")
async def get_run_tree(run_id: str, caller: CallerHere, context: ContextHere) -> RunTree:
    """The tree it keeps to, whatever has become of its file, with how each node stood after its last turn."""
    await own_run(context.app.store, caller, run_id)
    facts = await context.app.store.record(run_id)
    return await asyncio.to_thread(_tree_of, run_id, facts)


def _tree_of(run_id: str, facts: Sequence[Fact]) -> RunTree:
    chosen = next((fact.payload for fact in facts if isinstance(fact.payload, TreeChosen)), None)
    if chosen is None:
        raise UnknownTreeError(
            f"No tree steers the run {run_id}",
            to_do="Ask the oracle: its runs are steered by one. A run that has just begun has none yet",
        )
    traced = [fact.payload for fact in facts if isinstance(fact.payload, TreeTraced)]
    return RunTree(
        name=chosen.tree,
        hash=chosen.hash,
        nodes=drawn(from_json(chosen.spec)),
        statuses=last_statuses(one for one in traced if one.scope == ROOT),
    )


def last_statuses(traced: Iterable[TreeTraced]) -> dict[str, str]:
    """How each node stood when last heard of, by its index."""
    statuses: dict[str, str] = {}
    for note in traced:
        for step in note.steps:
            index, _, status = step.partition(" ")
            statuses[index] = status
    return statuses
