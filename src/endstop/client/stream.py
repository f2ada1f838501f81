"""Chunks out of a stream of server-sent events, with the place to go on from when the line drops.

Nothing is read here: whoever reads gives the bytes. So the same rules serve both clients, and a test
can cut a stream wherever it likes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from endstop.errors import EndstopError

FIRST_WAIT_S = 0.1
LONGEST_WAIT_S = 5.0
MOST_TRIES = 8
"""How often in a row to connect again without hearing anything new."""

_LAST = "done"
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One thing the agent said, did or was told. ``data`` has the fields of its type."""

    id: str
    """Who has seen it asks for what follows it. What is never on record has the id before it."""
    type: str
    data: Mapping[str, Any]

    @property
    def text(self) -> str:
        """What a reader sees of it: the words of ``content`` and ``thinking``, a message of ``system``."""
        return str(self.data.get("content") or self.data.get("system_message") or "")

    @property
    def is_last(self) -> bool:
        return self.type == _LAST


class Events:
    """Puts bytes together to events, as the standard of server-sent events says.

    Lines end at a line feed, a carriage return or both, and nowhere else: a text may hold more of what Python
    takes for the end of a line.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []
        self._event = ""
        self._id = ""

    def feed(self, piece: bytes) -> Iterator[Chunk]:
        """The next bytes, cut anywhere; the events that they complete."""
        given = self._rest + piece
        if given.endswith(b"\r"):  # the other half of the line's end may be on its way
            held, given = b"\r", given[:-1]
        else:
            held = b""
        *lines, rest = _LINE_END.split(given)
        self._rest = rest + held
        for line in lines:
            chunk = self._line(line.decode(errors="replace"))
            if chunk is not None:
                yield chunk

    def _line(self, line: str) -> Chunk | None:
        if not line:
            return self._completed()
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._event = value
        elif field == "id" and "\0" not in value:
            self._id = value
        return None  # anything else is a comment, or unknown: to be ignored

    def _completed(self) -> Chunk | None:
        text, event = "\n".join(self._data), self._event
        self._data, self._event = [], ""
        return _chunk(self._id, event, text) if text else None


class Tail:
    """Follows one stream over as many connections as it takes, and knows when to stop trying."""

    def __init__(self, *, after: str | None = None) -> None:
        self.last_id = after
        """The last chunk that was seen: the next connection asks for what follows."""
        self.is_over = False
        self._tries = 0

    def seen(self, chunk: Chunk) -> None:
        """A chunk has arrived: the line is good."""
        self.last_id = chunk.id or self.last_id
        self.is_over = chunk.is_last
        self._tries = 0

    def wait_s(self, why: EndstopError | None) -> float:
        """How long to wait before connecting again. Raises ``why`` when it has been tried often enough."""
        self._tries += 1
        if self._tries >= MOST_TRIES:
            raise why or EndstopError(
                f"The stream ended {self._tries} times without its last chunk",
                to_do="See whether the server is well, and follow the run again",
            )
        return min(FIRST_WAIT_S * 2 ** (self._tries - 1), LONGEST_WAIT_S)

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.last_id is None else {"Last-Event-ID": self.last_id}


def _chunk(chunk_id: str, event: str, text: str) -> Chunk:
    try:
        document: object = json.loads(text)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise EndstopError("The stream is not what Endstop sends", to_do="See whether the address is right")
    data = dict(cast("dict[str, Any]", document))
    kind = str(data.pop("type", event))
    return Chunk(id=chunk_id, type=kind, data=data)
