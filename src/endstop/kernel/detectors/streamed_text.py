"""A chunk of text repeated over and over inside one streaming reply (B4), found while it streams.

The reply is stuck when the text so far ends in ``repeated_chunks`` copies of one chunk that holds a letter
(rulers and matrices of zeros hold none) and is at most ``largest_chunk_chars`` long. A chunk shorter than
``smallest_chunk_chars`` must fill as much text as one of that size would. A run of white space counts as
one blank.

How: every 64 characters, look for the last occurrence of what the text ends with; its distance is a length
that the chunk could have. How far back that length holds tells at which character the repetition would be
complete, and there it is looked at again. So the answer depends on the text alone and not on how it is cut
into pieces, and it comes with no delay, at the very character that completes the last copy: a repetition
is noticed in its first copies. Only a chunk that itself repeats in many ways can be noticed later. The
cost is linear in the text, and the memory is bounded by the longest repetition that is looked for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from endstop.kernel.thresholds import DEFAULT_THRESHOLDS, Thresholds

_WHITE_SPACE = re.compile(r"\s+")

_STEP = 64
_TAIL = 20
_LONGEST_TAIL = 256
"""Tails grow as fast as Fibonacci numbers do, so this also bounds how many lengths are tried in one place."""
_MOST_DUE = 32
"""Chunk lengths kept under watch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedText:
    """A chunk and how often it was said, one copy after the other."""

    chunk: str
    times: int


class RepeatedChunk:
    """Reads one reply piece by piece. Mutable: make one for each reply."""

    __slots__ = (
        "_copies",
        "_due",
        "_kept",
        "_largest",
        "_next_look",
        "_pending",
        "_pending_chars",
        "_seen_chars",
        "_smallest",
        "_step",
        "_tail",
        "_text",
    )

    def __init__(self, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> None:
        self._copies = thresholds.repeated_chunks
        self._smallest = thresholds.smallest_chunk_chars
        self._largest = thresholds.largest_chunk_chars
        # One chunk, a tail and a step must fit into the shortest repetition, or it is noticed too late.
        room = (self._copies - 1) * self._smallest
        self._tail = min(_TAIL, room // 2)
        self._step = min(_STEP, room - self._tail)
        self._kept = self._copies * self._largest + 1
        self._begin()

    def _begin(self) -> None:
        self._text = ""
        """The last characters of the reply, as far as they were looked at."""
        self._seen_chars = 0
        self._pending: list[str] = []
        self._pending_chars = 0
        self._next_look = self._step
        self._due: dict[int, int] = {}
        """Chunk length, and the number of characters at which its last copy would be complete."""

    def feed(self, chunk: str) -> RepeatedText | None:
        """Take the next piece of the reply, and tell of a repetition that is complete within it.

        Afterwards the search begins anew, and the rest of the piece is not looked at.
        """
        piece = _WHITE_SPACE.sub(" ", chunk)
        if piece.startswith(" ") and self._ends_in_blank():
            piece = piece[1:]
        while piece:
            stop = min(self._next_look, *self._due.values()) if self._due else self._next_look
            wanted = stop - self._seen_chars - self._pending_chars
            self._pending.append(piece[:wanted])
            self._pending_chars += len(self._pending[-1])
            if len(piece) < wanted:
                return None
            piece = piece[wanted:]
            found = self._look_at(stop)
            if found is not None:
                self._begin()
                return found
        return None

    def _ends_in_blank(self) -> bool:
        return (self._pending[-1] if self._pending else self._text).endswith(" ")

    def _look_at(self, stop: int) -> RepeatedText | None:
        self._text = (self._text + "".join(self._pending))[-self._kept :]
        self._pending.clear()
        self._pending_chars = 0
        self._seen_chars = stop
        for length in [length for length, due in self._due.items() if due == stop]:
            del self._due[length]
            if self._has_period(length, self._span(length)):
                found = self._told(length)
                if found is not None:
                    return found
        if stop < self._next_look:
            return None
        self._next_look = stop + self._step
        return self._search()

    def _search(self) -> RepeatedText | None:
        """Try the chunk lengths that the end of the text allows, the shortest first."""
        text, size, tail = self._text, len(self._text), self._tail
        while tail <= _LONGEST_TAIL and tail < size:
            at = text.rfind(text[size - tail :], max(0, size - tail - self._largest), size - 1)
            if at < 0:
                return None
            length = size - tail - at
            span = self._span(length)
            run = self._run(length, tail + length, min(span, size))
            if run == span:
                return self._told(length)
            self._watch(length, self._seen_chars + span - run)
            # The character before the run refutes this length, so a tail that holds it finds another.
            tail = run + 1
        return None

    def _watch(self, length: int, due: int) -> None:
        self._due.pop(length, None)
        if len(self._due) >= _MOST_DUE:
            del self._due[next(iter(self._due))]
        self._due[length] = due

    def _span(self, length: int) -> int:
        """How much text the copies of a chunk of this length must fill."""
        return self._copies * max(length, self._smallest)

    def _run(self, length: int, known: int, most: int) -> int:
        """How many of the last characters repeat with this length: at least ``known``, at most ``most``."""
        beyond = most + 1
        while known < most:
            tried = min(2 * known, most) if beyond > most else (known + beyond) // 2
            if tried == known:
                break
            if self._has_period(length, tried):
                known = tried
            else:
                beyond = tried
        return known

    def _has_period(self, length: int, span: int) -> bool:
        text, size = self._text, len(self._text)
        return span <= size and text[size - span + length :] == text[size - span : size - length]

    def _told(self, length: int) -> RepeatedText | None:
        chunk = self._text[-length:]
        if not any(map(str.isalpha, chunk)):
            return None
        return RepeatedText(chunk=chunk, times=self._span(length) // length)
