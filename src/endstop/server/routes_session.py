"""Signing in and out: a token becomes a cookie, for the page of a server that others can reach."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from endstop.server.access import CallerHere
from endstop.server.context import ContextHere
from endstop.server.problems import problem_responses

router = APIRouter(prefix="/api/session", tags=["session"])


class SignIn(BaseModel):
    """A token of ``endstop tokens create``."""

    model_config = ConfigDict(
        strict=True, extra="forbid", json_schema_extra={"example": {"token": "es_" + "x" * 43}}
    )

    token: str = Field(max_length=200, description="The whole token, with its es_.")


class SessionShape(BaseModel):
    """Who is signed in, and how."""

    user: str = Field(examples=["ana"])
    via: str = Field(description="cookie: a browser. token: a program.", examples=["cookie"])


@router.get("", responses=problem_responses(), summary="Who am I?")
async def read_session(caller: CallerHere) -> SessionShape:
    """Who calls. 401 if nobody knows."""
    return SessionShape(user=caller.user, via=caller.via)


@router.post("", status_code=204, responses=problem_responses(422), summary="Sign in")
async def sign_in(given: SignIn, context: ContextHere) -> Response:
    """Turn a token into a cookie, for a browser. It lasts 30 days, and no longer than the token."""
    cookie = await context.access.sign_in(given.token)
    return Response(status_code=204, headers={"set-cookie": context.access.set_cookie(cookie)})


@router.delete("", status_code=204, responses=problem_responses(), summary="Sign out")
async def sign_out(request: Request, caller: CallerHere, context: ContextHere) -> Response:
    """Forget the cookie, here and in the browser. A token stays as it is."""
    cookie = context.access.cookie_of(request)
    if caller.via == "cookie" and cookie is not None:
        await context.access.sign_out(cookie)
    return Response(status_code=204, headers={"set-cookie": context.access.set_cookie("")})
