"""Finds the signals in a reply while it streams, and keeps them from being shown (C3, C4, C9).

An opening tag is ``<signal``, white space, at most 256 characters that are neither ``<`` nor ``>``, and
``>``; without a ``type`` attribute it is ordinary text. The signal runs to the first ``</signal>``, at
most 4,096 characters later; if there is none, its opening was ordinary text. A signal inside another spoils
the outer one, which is stripped as far as it came; what follows the inner one is taken for its rest if its
``</signal>`` comes within 256 characters. What decides is the text alone, never how it was cut into chunks.

The cost is linear: ``re`` and ``str`` do the scanning, and nothing is scanned twice but the few
characters of a tag that was still incomplete. No tag can be complete before a ``>`` comes, and until
then prose and hostile text take the same steps: there is no fast path to be pushed off.
"""

from __future__ import annotations

import re

from endstop.signals.contract import MalformedSignal, Signal, SignalType
from endstop.signals.envelope import read_signal, split_fields

MAX_TAG_CHARS = 256
"""The most characters in an opening tag between its first white space and its ``>``."""

MAX_BODY_CHARS = 4_096
"""The most characters between an opening tag and its ``</signal>``."""

MAX_REST_CHARS = 256
"""The most characters after a nested signal that are taken for the rest of the one around it."""

MAX_KEPT = 20
"""How many extra and how many malformed signals are kept; those after them are only counted."""

_OPENING_TAG = (
    rf"signal(?=\s[^<>]{{0,{MAX_TAG_CHARS}}}+>)"
    r"""[^<>]*?\stype\s*+=\s*+(?:"([^"<>]*+)"|'([^'<>]*+)')[^<>]*+>"""
)
_OPENING = re.compile(f"<{_OPENING_TAG}")
_TAG = re.compile(f"<(?:/signal>|{_OPENING_TAG})")
_CUT_OFF = re.compile(r"<signal\s+type\s*=")

_BLANK_OR_TAG = re.compile(r"\s*+(?:<|\Z)")

_STEM = "<signal"
_STEMS = frozenset(_STEM + space for space in re.findall(r"\s", "".join(map(chr, range(0x3001)))))
_TOO_LONG = len(_STEM) + 1 + MAX_TAG_CHARS + 1
"""As many characters without a ``>`` are no opening tag, whatever comes."""

_BEGINNINGS = _STEMS | {_STEM[:length] for length in range(len(_STEM) + 1)}
"""Every beginning of an opening tag up to its first white space, the empty one included."""

_TYPES = {type_.value: type_ for type_ in SignalType}


class SignalStream:
    """Takes a reply chunk by chunk, gives back what may be shown, and keeps the signals it met.

    ``signal`` is the first well-formed one, None if there was none yet.
    """

    __slots__ = (
        "_body_at",
        "_extra",
        "_has_tag_start",
        "_held",
        "_malformed",
        "_open_type",
        "_pending_closes",
        "_pieces",
        "_rest_at",
        "_room",
        "_scanned",
        "_start",
        "extra_count",
        "malformed_count",
        "signal",
    )

    def __init__(self) -> None:
        self.signal: Signal | None = None
        self.extra_count = 0
        self.malformed_count = 0
        self._extra: list[Signal] = []
        self._malformed: list[MalformedSignal] = []
        # What is not decided yet: in text the beginning of a tag, in a signal all of it so far.
        self._held = ""
        # The type of the signal we are in, None in text; where it and its body start in what is scanned.
        self._open_type: str | None = None
        self._start = 0
        self._body_at = 0
        # In a signal: what came since the last scan, how much more may come, where the next scan begins,
        # and whether a "<" came from there on, without which a ">" ends no tag.
        self._pieces: list[str] = []
        self._room = 0
        self._scanned = 0
        self._has_tag_start = False
        # How many ``</signal>`` are still to come of signals that were stripped before their end.
        self._pending_closes = 0
        # Where, in what is held, the rest of such a signal may begin: its close, if it comes soon, decides.
        self._rest_at: int | None = None

    @property
    def extra(self) -> tuple[Signal, ...]:
        """The well-formed signals after the one that counts; the first 20 of them."""
        return tuple(self._extra)

    @property
    def malformed(self) -> tuple[MalformedSignal, ...]:
        """The malformed signals; the first 20 of them."""
        return tuple(self._malformed)

    def feed(self, chunk: str) -> str:
        """Take the next chunk; what may be shown now."""
        if self._open_type is not None:
            return self._feed_open(chunk)
        text = self._held + chunk
        if self._rest_at is not None:
            return self._scan(text)
        if ">" in chunk and (_STEM in text or self._pending_closes):
            return self._scan(text)
        cut = text.rfind("<")
        if cut < 0:
            cut = len(text)
        self._held = tail = text[cut : cut + _TOO_LONG]
        if tail not in _BEGINNINGS and not self._may_grow(tail):
            self._held = ""
            return text
        return text[:cut]

    def finish(self) -> str:
        """Take the end of the reply; what is left to show."""
        text, cut = self._take_held(), 0
        if self._open_type is not None:
            if self._room >= 0 and self._is_meant(text, len(text)):
                self._log_malformed(text, 0, len(text), "cut off before its end")
                text = ""
            cut = self._undecided(text, self._scanned)
            self._open_type, self._scanned = None, 0
        elif self._rest_at is not None:
            cut = self._undecided(text, self._scanned)
            self._rest_at, self._scanned = None, 0
        if not _CUT_OFF.match(text, cut):
            return text
        self._log_malformed(text, cut, len(text), "cut off in its opening tag")
        return text[:cut]

    def _feed_open(self, chunk: str) -> str:
        """Take a chunk that belongs to an open signal, at least in its beginning."""
        if "<" in chunk:
            self._has_tag_start = True
        if len(chunk) > self._room or (self._has_tag_start and ">" in chunk):
            return self._scan(self._take_held() + chunk)
        if chunk:
            self._pieces.append(chunk)
            self._room -= len(chunk)
        return ""

    def _take_held(self) -> str:
        text = self._held + "".join(self._pieces)
        self._held = ""
        self._pieces.clear()
        return text

    def _scan(self, text: str) -> str:
        """Decide what can be decided in ``text`` and hold the rest; what may be shown."""
        shown: list[str] = []
        done, at = 0, self._scanned
        while (tag := self._next_tag(text, at)) is not None:
            at = tag.end()
            if self._open_type is not None and tag.start() > self._body_at + MAX_BODY_CHARS:
                self._open_type = None
            stripped = self._meet_close(text, tag) if tag.lastindex is None else self._meet_opening(text, tag)
            if stripped is not None:
                if stripped[0] > done:
                    shown.append(text[done : stripped[0]])
                done = stripped[1]
        shown.append(text[done : self._hold_undecided(text, at)])
        return "".join(shown)

    def _next_tag(self, text: str, at: int) -> re.Match[str] | None:
        if self._open_type is None and not self._pending_closes:
            return _OPENING.search(text, at)
        return _TAG.search(text, at)

    def _meet_close(self, text: str, tag: re.Match[str]) -> tuple[int, int] | None:
        """Act on a ``</signal>``; the span to strip."""
        start, end = tag.span()
        if self._open_type is not None:
            self._complete(self._open_type, text[self._body_at : start], text, self._start, end)
            self._open_type = None
            self._expect_rest(end)
            return self._start, end
        if self._pending_closes:
            self._pending_closes -= 1
            rest_at = self._rest_at
            is_rest = rest_at is not None and start - rest_at <= MAX_REST_CHARS
            self._expect_rest(end)
            return (rest_at if rest_at is not None and is_rest else start), end
        return None

    def _expect_rest(self, at: int) -> None:
        """What follows ``at`` may belong to a signal around the one that ended there."""
        self._rest_at = at if self._pending_closes else None

    def _meet_opening(self, text: str, tag: re.Match[str]) -> tuple[int, int] | None:
        """Act on an opening tag; the span to strip."""
        start, end = tag.span()
        first = start
        self._rest_at = None
        if self._open_type is not None and self._is_meant(text, start):
            first = self._start
            self._log_malformed(text, first, start, "another signal opens inside it")
            self._pending_closes += 1
        type_name = tag[tag.lastindex or 1]
        if text[end - 2] == "/":
            self._open_type = None
            self._complete(type_name, "", text, start, end)
            self._expect_rest(end)
            return first, end
        self._open_type, self._start, self._body_at = type_name, start, end
        return (first, start) if first < start else None

    def _is_meant(self, text: str, end: int) -> bool:
        """Whether the open signal, its body ending at ``end``, was meant as one and is not prose about it."""
        return end == self._body_at or _BLANK_OR_TAG.match(text, self._body_at, end) is not None

    def _hold_undecided(self, text: str, at: int) -> int:
        """Hold what further chunks will decide, all tags before ``at`` being met; where it begins."""
        cut = self._undecided(text, at)
        if self._open_type is not None and cut > self._body_at + MAX_BODY_CHARS:
            self._open_type = None
            cut = self._undecided(text, at)
        if self._open_type is None:
            rest_at = self._rest_at
            if rest_at is not None and cut - rest_at <= MAX_REST_CHARS:
                self._held, self._scanned, self._rest_at = text[rest_at:], cut - rest_at, 0
                return rest_at
            self._held, self._scanned, self._rest_at = text[cut:], 0, None
            return cut
        start = self._start
        self._held, self._scanned, self._has_tag_start = text[start:], cut - start, cut < len(text)
        self._start, self._body_at = 0, self._body_at - start
        self._room = self._body_at + MAX_BODY_CHARS - len(self._held)
        return start

    def _undecided(self, text: str, at: int) -> int:
        """Where, from ``at`` on, a tag begins that may yet be completed; the end of ``text`` if none does."""
        # Only the last "<" can: a tag has no other in it.
        last = text.rfind("<", at)
        return last if last >= 0 and self._may_grow(text[last : last + _TOO_LONG]) else len(text)

    def _may_grow(self, tail: str) -> bool:
        """Whether ``tail``, with a "<" at its start and no other, may become a tag that counts here."""
        if tail in _BEGINNINGS:
            return True
        if tail[: len(_STEM) + 1] in _STEMS:
            return len(tail) < _TOO_LONG and ">" not in tail
        closes_count = self._open_type is not None or self._pending_closes > 0
        return closes_count and "</signal>".startswith(tail)

    def _complete(self, type_name: str, body: str, text: str, start: int, end: int) -> None:
        """Judge a signal that has both its ends, at ``start`` and ``end`` of ``text``."""
        type_ = _TYPES.get(type_name)
        fields, problem = split_fields(body)
        if type_ is None:
            self._log_malformed(text, start, end, f"unknown type {type_name!r}")
        elif problem:
            self._log_malformed(text, start, end, problem)
        elif self.signal is None:
            self.signal = read_signal(type_, fields)
        else:
            self.extra_count += 1
            if len(self._extra) < MAX_KEPT:
                self._extra.append(read_signal(type_, fields))

    def _log_malformed(self, text: str, start: int, end: int, problem: str) -> None:
        self.malformed_count += 1
        if len(self._malformed) < MAX_KEPT:
            self._malformed.append(MalformedSignal(text=text[start:end], problem=problem))
