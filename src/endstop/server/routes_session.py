"""Signing in and out: a token becomes a cookie and a key, for the page of a server that others can reach."""

from __future__ import annotations

from fastapi import APIRouter, Response
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


class SignedInShape(BaseModel):
    """A browser that has signed in: half of it is in the cookie that comes along, the other half is here."""

    key: str = Field(
        description="To be sent as `X-Endstop-Key` with every call that comes by cookie. Told this once.",
        examples=["es_" + "x" * 43],
    )
    user: str = Field(examples=["ana"])


@router.get("", responses=problem_responses(), summary="Who am I?")
async def read_session(caller: CallerHere) -> SessionShape:
    """Who calls. 401 if nobody knows."""
    return SessionShape(user=caller.user, via=caller.via)


@router.post("", responses=problem_responses(422), summary="Sign in")
async def sign_in(given: SignIn, context: ContextHere, response: Response) -> SignedInShape:
    """Turn a token into a cookie and a key, for a browser. They last 30 days, and no longer than the token.

    One does nothing without the other: browsers send cookies to every port of a machine, but no keys.
    """
    signed_in = await context.access.sign_in(given.token)
    response.headers["set-cookie"] = context.access.set_cookie(signed_in.cookie)
    return SignedInShape(key=signed_in.key, user=signed_in.user)


@router.delete("", status_code=204, responses=problem_responses(), summary="Sign out")
async def sign_out(caller: CallerHere, context: ContextHere) -> Response:
    """Forget the cookie, here and in the browser. A token stays as it is."""
    await context.access.sign_out(caller)
    return Response(status_code=204, headers={"set-cookie": context.access.set_cookie("")})
