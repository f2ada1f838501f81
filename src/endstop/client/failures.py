"""What a server refused, as the same errors that the library raises (I7): by their code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from endstop.errors import EndstopError, InvalidValueError

_MOST_CHARS = 200


def error_of(status: int, document: object) -> EndstopError:
    """The error in an answer. One of a kind that this version does not know is a plain ``EndstopError``."""
    told: Mapping[str, Any] | None = None
    if isinstance(document, dict):
        inside = cast("dict[str, Any]", document).get("error")
        told = cast("dict[str, Any]", inside) if isinstance(inside, dict) else None
    if told is None:
        return EndstopError(
            f"The server answered with status {status}, and not in the way Endstop does",
            to_do="See whether the address is that of an Endstop server",
        )
    kind = _KINDS.get(str(told.get("code")), EndstopError)
    error = kind.__new__(kind)
    EndstopError.__init__(
        error,
        _text(told, "what") or f"The server answered with status {status}",
        allowed=_text(told, "allowed"),
        to_do=_text(told, "to_do"),
    )
    vars(error).update(_more(kind, told))
    return error


def unreachable(address: str, why: Exception) -> EndstopError:
    """Nobody answered."""
    return EndstopError(
        f"No Endstop server answers at {address} ({type(why).__name__})",
        to_do="See whether it runs, and at which address: endstop serve",
    )


def _more(kind: type[EndstopError], told: Mapping[str, Any]) -> dict[str, Any]:
    """What some errors carry beside words. Missing parts are empty: code that reads them must not break."""
    more: dict[str, Any] = {"code": str(told.get("code"))} if kind is EndstopError else {}
    if issubclass(kind, InvalidValueError):
        more |= {"field": _text(told, "field"), "value": told.get("value")}
    for name in ("bounds", "problems"):
        if name in told:
            more[name] = tuple(told[name]) if isinstance(told[name], list) else told[name]
    return more


def _text(told: Mapping[str, Any], name: str) -> str:
    return str(told.get(name) or "")


def _all(kind: type[EndstopError]) -> Iterator[type[EndstopError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _all(below)


_KINDS = {kind.code: kind for kind in _all(EndstopError)}
