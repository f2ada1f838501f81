"""Your tokens: made, listed and revoked in a browser. A token can do none of this: one that leaked makes no
others, and takes none away.

A browser that signed in with a token may look and revoke, but make none either: whoever has a token can sign
in with it.
"""

from __future__ import annotations

import time
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, ConfigDict, Field

from endstop.errors import ForbiddenError, UnknownTokenError
from endstop.ports import StoredToken, StoredUser
from endstop.server.access import Caller, CallerHere
from endstop.server.context import ContextHere
from endstop.server.problems import problem_responses
from endstop.server.shapes import moment_of, moment_or_none
from endstop.server.tokens import DEFAULT_DAYS, MOST_DAYS, MOST_NAME, is_good, new_token

router = APIRouter(prefix="/api/tokens", tags=["tokens"])


class NewTokenWanted(BaseModel):
    """A token to be made."""

    model_config = ConfigDict(
        strict=True, extra="forbid", json_schema_extra={"example": {"name": "laptop", "days": 30}}
    )

    name: str = Field(default="", max_length=MOST_NAME, description="What it is for, in your words.")
    days: int = Field(default=DEFAULT_DAYS, ge=1, le=MOST_DAYS, description="How long it is good.")


class TokenShape(BaseModel):
    """A token, without its secret, which nobody has kept."""

    id: str = Field(examples=["token_3f9c01d2ab47"])
    name: str = Field(examples=["laptop"])
    state: Literal["good", "revoked", "expired"]
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    used_at: datetime | None = Field(description="Give or take ten minutes; null if never.")

    @classmethod
    def of(cls, stored: StoredToken, *, now: float) -> TokenShape:
        ended = "expired" if stored.revoked_at is None else "revoked"
        return cls(
            id=stored.id,
            name=stored.name,
            state="good" if is_good(stored, now=now) else ended,
            created_at=moment_of(stored.created_at),
            expires_at=moment_of(stored.expires_at),
            revoked_at=moment_or_none(stored.revoked_at),
            used_at=moment_or_none(stored.used_at),
        )


class MadeToken(TokenShape):
    """A token that was just made."""

    token: str = Field(
        description="The token itself, for `Authorization: Bearer`. It is shown this once.",
        examples=["es_" + "x" * 43],
    )


async def browser(caller: CallerHere) -> Caller:
    """Who calls, if it is by cookie."""
    if caller.via != "cookie":
        raise ForbiddenError(
            "A token may not see, make or revoke tokens",
            allowed="a browser that has signed in",
            to_do="Use the page, or endstop tokens in a terminal",
        )
    return caller


BrowserHere = Annotated[Caller, Depends(browser)]


@router.get("", responses=problem_responses(), summary="List your tokens")
async def list_tokens(caller: BrowserHere, context: ContextHere) -> list[TokenShape]:
    """Newest first, those that are good no more included. For the page only: a token gets 403."""
    now = time.time()
    return [TokenShape.of(one, now=now) for one in await context.app.store.tokens(user=caller.user)]


@router.post("", status_code=201, responses=problem_responses(422), summary="Make a token")
async def make_token(wanted: NewTokenWanted, caller: BrowserHere, context: ContextHere) -> MadeToken:
    """Make a token of yours, and see it this once. Whoever has it can do all that you can, save this.

    For the page of whoever opened the link that `endstop serve` printed. A token gets 403, and so does a
    browser that signed in with one: a token that leaked makes no others.
    """
    if caller.token_id is not None:
        raise ForbiddenError(
            "You signed in with a token, and a token makes no others",
            allowed="whoever opened the link that endstop serve printed",
            to_do=f"Have one made where the server runs: endstop tokens create --user {caller.user}",
        )
    now = time.time()
    made = new_token(caller.user, name=wanted.name, days=wanted.days, now=now)
    await context.app.store.add_user(StoredUser(name=caller.user, added_at=now))  # nobody adds themselves
    await context.app.store.add_token(made.stored)
    return MadeToken(**TokenShape.of(made.stored, now=now).model_dump(), token=made.secret)


@router.delete("/{token_id}", status_code=204, responses=problem_responses(404), summary="Revoke a token")
async def revoke_token(token_id: str, caller: BrowserHere, context: ContextHere) -> Response:
    """End a token of yours, whoever is signed in with it, and their streams: within two seconds."""
    theirs = await context.app.store.tokens(user=caller.user)
    if all(one.id != token_id for one in theirs):  # the same whether it is another's or nobody's
        raise UnknownTokenError(f"There is no token {token_id!r}", to_do="List yours: GET /api/tokens")
    await context.app.store.revoke_token(token_id, at=time.time())
    return Response(status_code=204)
