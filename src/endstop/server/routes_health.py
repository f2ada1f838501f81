"""Whether the server is alive, whether it is ready, and its figures. For machines that look after it."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel

from endstop.errors import StoreError
from endstop.server.access import caller
from endstop.server.context import ContextHere
from endstop.server.measuring import Measures, measures_of
from endstop.server.metrics import MEDIA_TYPE
from endstop.server.problems import problem_responses

router = APIRouter(tags=["health"])

READY_WITHIN_S = 2.0
"""A store that takes longer to answer one small question is not ready."""

_NOBODY = "readyz"
"""Whose settings are asked for, to see that the store answers. There is no such user."""


class Healthy(BaseModel):
    """All is well."""

    status: Literal["ok"] = "ok"


@router.get("/healthz", summary="Is the server alive")
async def healthz() -> Healthy:
    """Whether the server answers at all. It asks nothing of the database."""
    return Healthy()


@router.get("/readyz", summary="Can the server work", responses=problem_responses(503))
async def readyz(context: ContextHere) -> Healthy:
    """Whether the database answers, too."""
    try:
        async with asyncio.timeout(READY_WITHIN_S):
            await context.app.store.settings(_NOBODY)
    except TimeoutError:
        raise StoreError(
            "The database does not answer",
            allowed=f"an answer within {READY_WITHIN_S:g} s",
            to_do="See whether it is up, and what else works on it: endstop doctor",
        ) from None
    return Healthy()


async def near_or_known(request: Request) -> None:
    """Figures are for this machine, and for whoever has a token."""
    if not _is_loopback(request):
        await caller(request)


@router.get(
    "/metrics",
    summary="The server's figures, for Prometheus",
    response_class=PlainTextResponse,
    responses={
        200: {
            "description": "The text format of Prometheus. No user, no text of anybody.",
            "content": {"text/plain": {"example": "endstop_live_runs 3\n"}},
        },
        **problem_responses(401, 403),
    },
    dependencies=[Depends(near_or_known)],
)
async def metrics(measures: Annotated[Measures, Depends(measures_of)]) -> PlainTextResponse:
    """Runs by outcome, live runs, open streams, turns, tokens, tool calls, findings, request durations.

    Where runs are handed to workers, also how the queue stands: of all workers, some seconds old at most."""
    return PlainTextResponse(measures.text(await measures.elsewhere()), media_type=MEDIA_TYPE)


def _is_loopback(request: Request) -> bool:
    host = "" if request.client is None else request.client.host
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
