"""Which models there are: the configured one, the built-in one, the providers, and the playground."""

from __future__ import annotations

import asyncio
import os
from functools import lru_cache

from fastapi import APIRouter
from pydantic import BaseModel, Field

from endstop.app.config import DEFAULT_MODEL
from endstop.app.playground import Player, is_player, player_model, players
from endstop.errors import EndstopError
from endstop.events.plain import written
from endstop.models import make_model
from endstop.ports import Model, ModelUsage
from endstop.server.access import CallerHere
from endstop.server.context import ContextHere
from endstop.server.problems import problem_responses
from endstop.server.providers import provider_states

router = APIRouter(prefix="/api/models", tags=["models"], responses=problem_responses(401, 403))

_MILLION = 1_000_000


class ModelShape(BaseModel):
    """One model. A price that nobody knows is null, never zero."""

    name: str = Field(examples=["anthropic:claude-sonnet-5"])
    is_usable: bool
    is_price_known: bool
    input_usd_per_million: str | None = Field(examples=["3.00"])
    output_usd_per_million: str | None = Field(examples=["15.00"])
    to_do: str = Field(description="What to do if it is not usable, or else empty.")


class ProviderShape(BaseModel):
    """One provider. Its key is never shown: only whether there is one."""

    name: str = Field(examples=["anthropic"])
    is_usable: bool
    variables: list[str] = Field(description="Any one of these environment variables gives it its key.")
    to_do: str


class PlayerShape(BaseModel):
    """An agent that tries to run for ever: ask it as a model, and watch it being stopped."""

    name: str = Field(examples=["playground:runaway"], description="Send it as the model of a query.")
    title: str = Field(examples=["Runaway"])
    about: str = Field(description="What it tries, and what it is held to.")
    ends: str = Field(description="How it ends.", examples=["It reaches a limit."])

    @classmethod
    def of(cls, player: Player) -> PlayerShape:
        return cls(name=player.name, title=player.title, about=player.about, ends=player.ends)


class ModelsShape(BaseModel):
    """The models that this server can use."""

    configured: ModelShape
    built_in: ModelShape
    providers: list[ProviderShape]
    playground: list[PlayerShape]


@router.get("", summary="Which models can be used")
async def get_models(_: CallerHere, context: ContextHere) -> ModelsShape:
    """The configured one, the one that is built in, and which providers could be used. Nothing is called."""
    configured = await asyncio.to_thread(model_shape, context.app.config.model)  # may import a provider
    return ModelsShape(
        configured=configured,
        built_in=model_shape(DEFAULT_MODEL),
        providers=[
            ProviderShape(
                name=one.name, is_usable=one.is_usable, variables=list(one.variables), to_do=one.to_do
            )
            for one in provider_states(os.environ)
        ],
        playground=[PlayerShape.of(one) for one in players()],
    )


@lru_cache(maxsize=32)
def known_model(name: str) -> Model:
    """The model of that name, made once: it is asked for its price only, and never called."""
    return player_model(name) if is_player(name) else make_model(name)


def model_shape(name: str) -> ModelShape:
    try:
        model = known_model(name)
    except EndstopError as error:
        return ModelShape(
            name=name,
            is_usable=False,
            is_price_known=False,
            input_usd_per_million=None,
            output_usd_per_million=None,
            to_do=f"{error.what}. {error.to_do}".strip(),
        )
    read = model.cost_usd(ModelUsage(input_tokens=_MILLION))
    wrote = model.cost_usd(ModelUsage(output_tokens=_MILLION))
    return ModelShape(
        name=model.name,
        is_usable=True,
        is_price_known=read is not None and wrote is not None,
        input_usd_per_million=_money(read),
        output_usd_per_million=_money(wrote),
        to_do="",
    )


def _money(value: object) -> str | None:
    return None if value is None else str(written(value))
