"""Secrets: drawn at random, shown once, kept as hashes.

A hash without salt and without slowness is right here, and only here: nobody can guess 32 random bytes, so
there is nothing to slow down.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest

from endstop.errors import InvalidValueError
from endstop.kernel.limits import whole
from endstop.ports import StoredToken

PREFIX = "es_"
"""So that a person, and whoever scans files for secrets, knows one when they see it."""

DEFAULT_DAYS = 90
MOST_DAYS = 3_650
MOST_NAME = 100
_DAY_S = 86_400.0
_RANDOM_BYTES = 32
_SECRET = re.compile(r"es_[A-Za-z0-9_-]{43}")
_USER = re.compile(r"[\w.@+-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token that was just made: the one time that its secret is there to be seen."""

    secret: str
    stored: StoredToken


def new_secret() -> str:
    return PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)


def is_secret(text: str) -> bool:
    """Whether it looks like one of ours. What does not is not worth a look into the database."""
    return _SECRET.fullmatch(text) is not None


def hashed(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def hashed_together(cookie: str, key: str) -> str:
    """One hash of both halves of a session. Neither half has a dot, so no other two give the same."""
    return hashed(f"{cookie}.{key}")


def is_same(one: str, other: str) -> bool:
    """Whether two hashes or secrets are the same, in a time that tells nothing of where they differ."""
    return compare_digest(one.encode(), other.encode())


def new_token(user: str, *, name: str = "", days: int = DEFAULT_DAYS, now: float) -> NewToken:
    """A token for a user, good for some days."""
    secret = new_secret()
    whole("days", days, smallest=1, largest=MOST_DAYS)
    if len(name) > MOST_NAME or not name.isprintable():
        raise InvalidValueError("name", name, allowed=f"up to {MOST_NAME} characters, on one line")
    stored = StoredToken(
        id=f"token_{secrets.token_hex(6)}",
        user=user_name(user),
        name=name,
        hashed=hashed(secret),
        created_at=now,
        expires_at=now + days * _DAY_S,
    )
    return NewToken(secret=secret, stored=stored)


def is_good(token: StoredToken, *, now: float) -> bool:
    return token.revoked_at is None and now < token.expires_at


def user_name(name: str) -> str:
    """The name of a user, or ``InvalidValueError``."""
    if _USER.fullmatch(name) is None:
        raise InvalidValueError(
            "user", name, allowed="1 to 64 letters, digits and . _ @ + -", to_do="Use a name without spaces"
        )
    return name
