"""Under which names the server may be called, and from which pages. Pure: headers in, yes or no out.

A page of somebody else's can send requests to this machine, and its name can be made to point here (DNS
rebinding). What it cannot do is to lie in ``Host``, ``Origin`` and ``Sec-Fetch-Site``: its browser writes
those. So they are looked at before anything else is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address

from endstop.errors import ForbiddenError

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]{2,45})\]|(?P<name>[A-Za-z0-9._-]{1,253}))(?::(?P<port>[0-9]{1,5}))?"
)
_ORIGIN = re.compile(r"(?P<scheme>https?)://(?P<host>[^/?#@\\\s]+)")


def is_loopback(host: str) -> bool:
    """Whether an address to listen at can be reached from this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts:
    """The names of a server."""

    names: frozenset[str]
    port: int | None = None
    """The only port that is ours; None where a proxy may have another."""
    takes_addresses: bool = False
    """Any bare IP address is fine: no name that others own can be made to point at one."""
    is_https: bool = False
    """A proxy in front of it speaks HTTPS, so that is what browsers see."""

    @classmethod
    def loopback(cls, port: int, host: str = "127.0.0.1") -> Hosts:
        """For a server that only this machine can reach."""
        return cls(names=LOOPBACK_NAMES | {host.lower().strip("[]")}, port=port)

    @classmethod
    def beyond(cls, host: str, allowed: Iterable[str] = (), *, is_https: bool = False) -> Hosts:
        """For a server that others can reach."""
        names = {each.lower().strip("[]").rstrip(".") for each in allowed}
        return cls(
            names=LOOPBACK_NAMES | names | {host.lower().strip("[]")}, takes_addresses=True, is_https=is_https
        )

    def require_host(self, header: str) -> None:
        """Raise unless the request was sent to one of our names."""
        found = _split(header)
        if found is None or not self._knows(*found):
            raise ForbiddenError(
                f"This server does not go by the name {header[:100]!r}",
                allowed=self._names_for_people,
                to_do="Call it by one of these, or start it with --allowed-host NAME",
            )

    def require_own_page(self, host: str, *, origin: str | None, referer: str | None) -> None:
        """Raise unless a browser says that a page of ours sends this."""
        given = origin if origin is not None else referer
        if given is None:
            raise ForbiddenError(
                "The request has a cookie, and does not say which page sends it",
                allowed="an Origin header that is this server's",
                to_do="Programs use a token instead of a cookie: endstop tokens create",
            )
        if not self._is_own_page(host, given, is_whole=origin is not None):
            raise ForbiddenError(
                "The request comes from another page",
                allowed=f"pages of {'https' if self.is_https else 'http'}://{host}",
                to_do="Use the page of this server; if a proxy in front of it speaks HTTPS, start it with "
                "--https-proxy",
            )

    def _is_own_page(self, host: str, page: str, *, is_whole: bool) -> bool:
        found = _ORIGIN.fullmatch(page) if is_whole else _ORIGIN.match(page)
        if found is None or found["scheme"] != ("https" if self.is_https else "http"):
            return False
        ours, theirs = _split(host), _split(found["host"])
        if ours is None or theirs is None:
            return False
        default = _DEFAULT_PORTS[found["scheme"]]
        return (ours[0], ours[1] or default) == (theirs[0], theirs[1] or default)

    def _knows(self, name: str, port: int | None) -> bool:
        if self.port is not None and (port or 80) != self.port:
            return False
        return name in self.names or (self.takes_addresses and _is_address(name))

    @property
    def _names_for_people(self) -> str:
        port = "" if self.port is None else f":{self.port}"
        return ", ".join(f"[{name}]{port}" if ":" in name else f"{name}{port}" for name in sorted(self.names))


def require_not_from_elsewhere(*, site: str | None, mode: str | None, method: str, path: str) -> None:
    """Raise if a browser says that a page of another origin sends this, unless it only follows a link here.

    Another port of the same machine counts as the same site, and is as foreign as any.
    """
    if site in (None, "same-origin", "none"):
        return
    follows_link = mode == "navigate" and method in SAFE_METHODS and not path.startswith("/api")
    if not follows_link:
        raise ForbiddenError(
            "The request comes from another page",
            allowed="the page of this server, and programs with a token",
            to_do="Open the page of this server",
        )


def _split(header: str) -> tuple[str, int | None] | None:
    """A name in lower case and a port, from a ``Host``; None if it is not one."""
    found = _HOST.fullmatch(header)
    if found is None:
        return None
    port = None if found["port"] is None else int(found["port"])
    if port is not None and not 0 < port < 65_536:
        return None
    return (found["six"] or found["name"].rstrip(".")).lower(), port


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
