"""The settings of a user: seen, changed, set back (I3)."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Request

from endstop.app import App
from endstop.kernel.settings import AgentSettings
from endstop.server.access import CallerHere
from endstop.server.context import ContextHere
from endstop.server.problems import problem_responses
from endstop.server.settings_shapes import SettingBound, Settings, SettingsChange

router = APIRouter(
    prefix="/api/settings/agent-config", tags=["settings"], responses=problem_responses(400, 401, 403, 503)
)


async def settings_of(app: App, user: str) -> AgentSettings:
    """What a user has set, on top of the defaults."""
    return app.default_settings.changed(await app.store.settings(user))


async def saving(request: Request) -> asyncio.Lock:
    """One save at a time: two partial changes at once must not undo each other."""
    state = request.app.state
    if not hasattr(state, "saving_settings"):
        state.saving_settings = asyncio.Lock()
    return state.saving_settings


@router.get("", summary="Your settings")
async def get_settings(caller: CallerHere, context: ContextHere) -> Settings:
    """All eight, whether you have set them or not."""
    return Settings.of(await settings_of(context.app, caller.user))


@router.get("/bounds", summary="What each setting may be")
async def get_bounds(_: CallerHere, context: ContextHere) -> dict[str, SettingBound]:
    """The bounds and the default of each setting, by its name."""
    return SettingBound.all_of(context.app.default_settings)


@router.put("", summary="Change some of your settings", responses=problem_responses(413, 422))
async def put_settings(
    change: SettingsChange,
    caller: CallerHere,
    context: ContextHere,
    turnstile: Annotated[asyncio.Lock, Depends(saving)],
) -> Settings:
    """Several are changed together or, if one of them is refused, not at all.

    The change holds for the next run, and never for one that is under way.
    """
    app = context.app
    async with turnstile:
        kept = {**await app.store.settings(caller.user), **change.given()}
        settings = app.default_settings.changed(kept)
        values = settings.to_values()
        await app.store.save_settings(caller.user, {name: values[name] for name in kept})
    return Settings.of(settings)


@router.post("/reset", summary="Set your settings back to the defaults")
async def reset_settings(
    caller: CallerHere, context: ContextHere, turnstile: Annotated[asyncio.Lock, Depends(saving)]
) -> Settings:
    """Forget all that you have set."""
    async with turnstile:
        await context.app.store.save_settings(caller.user, {})
    return Settings.of(context.app.default_settings)
