"""Where a database is, as people write it; and the same without its password, to be shown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import unquote

from endstop.errors import InvalidValueError

ALLOWED = "sqlite:///path/to/file.db, sqlite:// (in memory) or postgresql://user@host/name"

_POSTGRES = re.compile(
    r"(?:postgresql|postgres|postgresql\+psycopg)://"
    r"(?:(?P<user>[^:@/?#]*)(?::(?P<password>[^:@/?#]*))?@)?"
    r"(?P<host>[^@/?#]*)(?P<name>/[^@?#]*)?(?:\?(?P<query>[^#]*))?",
    re.IGNORECASE,
)
_SECRET_IN_QUERY = re.compile(r"((?:^|&)(?:ssl)?password=)([^&]*)", re.IGNORECASE)
_MASK = "***"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A database of one of the two kinds."""

    kind: Literal["sqlite", "postgresql"]
    target: str = field(repr=False)
    """A file's path, nothing for one in memory, or what the PostgreSQL driver is given."""
    shown: str
    """For people: without the password."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """What must never be shown, in every form in which it might turn up."""

    @property
    def is_memory(self) -> bool:
        return self.kind == "sqlite" and not self.target

    def masked(self, text: str) -> str:
        """A text of somebody else's, without our secrets."""
        for secret in self.secrets:
            text = text.replace(secret, _MASK)
        return text


def parse_address(url: str) -> Address:
    """The database that a URL names; ``InvalidValueError`` if it names none."""
    if not isinstance(url, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers' code
        raise InvalidValueError("database", url, allowed=ALLOWED)
    if url in ("sqlite://", "sqlite:///:memory:", "sqlite://:memory:"):
        return Address(kind="sqlite", target="", shown="sqlite://")
    if not url.isprintable():
        raise _unreadable(url, "Leave out what cannot be typed")
    if url.startswith("sqlite:///") and len(url) > len("sqlite:///") and "?" not in url:
        return Address(kind="sqlite", target=url.removeprefix("sqlite:///"), shown=url)
    if re.match(r"postgres(ql)?(\+psycopg)?://", url, re.IGNORECASE):
        return _postgres(url)
    raise _unreadable(url, _advice(url))


def _postgres(url: str) -> Address:
    """Stricter than the driver, which takes a part of a password with odd signs in it for a host, and says
    so."""
    found = _POSTGRES.fullmatch(url)
    if found is None:
        raise _unreadable(url, "Write such signs in a user or password as %3A %40 %2F %3F %23")
    user, password, host, name, query = (found[part] or "" for part in _PARTS)
    secrets = [password, *(given for _, given in _SECRET_IN_QUERY.findall(query))]
    shown = "postgresql://" + (f"{user}{f':{_MASK}' if password else ''}@" if user else "") + host + name
    if query:
        shown += "?" + _SECRET_IN_QUERY.sub(rf"\g<1>{_MASK}", query)
    forms = {form for secret in secrets for form in (secret, unquote(secret)) if form}
    return Address(
        kind="postgresql",
        target="postgresql://" + url.partition("://")[2],
        shown=shown,
        secrets=tuple(sorted(forms, key=len, reverse=True)),
    )


_PARTS = ("user", "password", "host", "name", "query")


def _unreadable(url: str, to_do: str) -> InvalidValueError:
    """Where the password is in an address that cannot be read, nobody knows: then most of it is not shown."""
    scheme, slashes, rest = url.partition("://")
    is_secret = "@" in rest or "password" in rest
    return InvalidValueError(
        "database", f"{scheme}{slashes}{_MASK}" if is_secret else url, allowed=ALLOWED, to_do=to_do
    )


def _advice(url: str) -> str:
    if url.startswith("sqlite:") and "?" in url:
        return "Leave out what comes after the question mark: there are no options"
    if "://" not in url:
        return f"For a file, write sqlite:///{url}" if url.strip() else "Name a database"
    return "Use one of the two kinds of database"
