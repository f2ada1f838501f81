"""What a planned query can use at most, known before it is asked (A13)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from endstop.app.oracle import ORACLE_TREE
from endstop.app.playground import is_player, watchable
from endstop.errors import EndstopError, InvalidValueError
from endstop.kernel.bounds import UpperBound, upper_bound
from endstop.models.prices import FREE
from endstop.server.access import CallerHere
from endstop.server.bound_shapes import (
    CALLS_PER_TURN,
    BoundShape,
    TreeBoundShape,
    bound_under,
    dearest_usd,
    in_words,
)
from endstop.server.context import ContextHere
from endstop.server.problems import problem_responses
from endstop.server.routes_models import known_model
from endstop.server.routes_settings import settings_of
from endstop.server.settings_shapes import Settings, SettingsChange

router = APIRouter(
    prefix="/api/bound",
    tags=["bound"],
    responses=problem_responses(400, 401, 403, 404, 413, 422, 503),
)

_LOCAL = "local:"


class PlannedQuery(BaseModel):
    """A query that may be asked: what differs from your settings, and from the server's choices."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={"examples": [{"limits": {"max_iterations": 10}, "tree": "oracle-agent"}]},
    )

    limits: SettingsChange | None = None
    tree: str = Field(default=ORACLE_TREE, max_length=200)
    model: str | None = Field(default=None, max_length=200, description="As provider:model.")


class PlannedBound(BaseModel):
    """What a run of such a query can use at most."""

    text: str = Field(examples=["at most 30 turns · 200k tokens · $0.42"])
    tree: str
    model: str
    limits: Settings
    is_price_known: bool = Field(
        description="If not, cost_usd is null; and under a cost limit the query would be refused."
    )
    without_grants: BoundShape
    with_grants: BoundShape
    tree_bound: TreeBoundShape


@router.post("", summary="What a planned query can use at most")
async def bound_query(query: PlannedQuery, caller: CallerHere, context: ContextHere) -> PlannedBound:
    """Nothing is started and nothing is saved."""
    settings = await settings_of(context.app, caller.user)
    if query.limits is not None:
        settings = query.limits.changed(settings)
    named = context.app.config.model if query.model is None else query.model
    if is_player(named):
        settings = watchable(settings, () if query.limits is None else query.limits.given())
    budget = settings.budget()
    tree = await asyncio.to_thread(context.trees.get, query.tree)
    plain = upper_bound(budget, calls_per_turn=CALLS_PER_TURN)
    granted = upper_bound(budget, with_grants=True, calls_per_turn=CALLS_PER_TURN)
    dearest, dearest_granted = await asyncio.to_thread(_dearest, named, plain.tokens, granted.tokens)
    plain, granted = _with_cost(plain, dearest), _with_cost(granted, dearest_granted)
    return PlannedBound(
        text=in_words(plain),
        tree=tree.name,
        model=named,
        limits=Settings.of(settings),
        is_price_known=dearest is not None,
        without_grants=BoundShape.of(plain),
        with_grants=BoundShape.of(granted),
        tree_bound=TreeBoundShape.of(bound_under(tree, budget)),
    )


def _dearest(named: str, *tokens: int | None) -> list[Decimal | None]:
    """What the tokens can cost at most, of a model that need not be there yet."""
    if named.startswith(_LOCAL):  # free whatever it is: and nobody learns here which files there are
        return [FREE for _ in tokens]
    try:
        model = known_model(named)
    except EndstopError as error:
        raise InvalidValueError(
            "model",
            named,
            allowed=error.allowed or f"a model that can be used ({error.what})",
            to_do=error.to_do,
        ) from None
    return [dearest_usd(model, most) for most in tokens]


def _with_cost(bound: UpperBound, dearest: Decimal | None) -> UpperBound:
    """The bound with what its tokens can cost, if that is less than its cost limit, or there is none."""
    known = [cost for cost in (bound.cost_usd, dearest) if cost is not None]
    return replace(bound, cost_usd=min(known, default=None))
