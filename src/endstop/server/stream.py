"""What one client is told of a run, exactly once each: the chunks of its facts, and live text between them.

An id says how far a client has come: ``12.0`` up to the first chunk of fact 12, ``12+345`` all of fact 12
and 345 characters of the reply that follows it, ``12+345~20`` also 20 of its thinking. Only facts that are
safe in the store are told, so an id stays true whatever dies. When the reply comes on record, what is missing
of it is told; if it never does (its process died, the try was repeated), a ``retract`` takes it back.
Where a tree stands just now is told, too, without an id: it is never on record, and nobody misses it later.
So is whether a worker is at it, where runs are handed out.

Pure: facts and pieces go in, events come out. Live text is that of the run itself, not of its sub-agents,
whose replies come whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from endstop.errors import InvalidValueError
from endstop.events.chunks import Chunk, ChunkType, RunningPath, chunks_of
from endstop.events.facts import (
    Fact,
    ModelFailed,
    Payload,
    ReviewDecided,
    ReviewRequested,
    RunTaken,
    Thought,
    UserAwaited,
)
from endstop.kernel.ledger import ROOT
from endstop.kernel.observation import (
    AssistantSaid,
    CallReserved,
    RunEnded,
    RunPaused,
    RunResumed,
    TurnStarted,
)
from endstop.kernel.review import Review
from endstop.server.reached import limit_reached

RETRACT = "retract"
"""The type of the event that takes live text back: ``turn``, ``chars`` and ``thinking_chars``."""

RUNNING = "running"
"""The type of the event that says which nodes of the tree are running: ``path`` and ``names``."""

WORKER = "worker"
"""The type of the event that says whether a worker is at it, where runs are handed out: ``is_there`` and,
since when, ``at``. The run's clock stands still while none is."""

_ID = re.compile(r"(\d{1,12})(?:\.(\d{1,4}))?(?:[+ ](\d{1,12})(?:~(\d{1,12}))?)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """How far a client has come."""

    seq: int = -1
    """It has seen the facts up to this one; -1 for none."""
    part: int | None = None
    """Of that one, the chunks up to this; None for all of them."""
    text: int = 0
    """So many characters of a reply that was not on record then."""
    thinking: int = 0

    def __str__(self) -> str:
        part = "" if self.part is None else f".{self.part}"
        thinking = f"~{self.thinking}" if self.thinking else ""
        return f"{self.seq}{part}" + (f"+{self.text}{thinking}" if self.text or self.thinking else "")

    @classmethod
    def read(cls, text: str | None) -> Cursor:
        """The cursor of an id that a client has sent back; nothing seen, where it sent none."""
        if not text:
            return cls()
        found = _ID.fullmatch(text)  # in a URL, a plus that was not escaped comes as a space
        if found is None:
            raise InvalidValueError(
                "Last-Event-ID",
                text,
                allowed='an id of this stream, such as "12.0" or "12+345"',
                to_do="Send back the last id as it came, or none to begin anew",
            )
        seq, part, said, thought = found.groups()
        return cls(
            seq=int(seq),
            part=None if part is None else int(part),
            text=int(said or 0),
            thinking=int(thought or 0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEvent:
    """One thing that a client is told."""

    id: str
    """Empty for what is never on record: whoever comes back does so with the id before."""
    type: str
    data: dict[str, object]

    def to_json(self) -> dict[str, object]:
        return {"type": self.type, **self.data}

    def to_sse(self) -> bytes:
        """On the wire. The type is in the data only: to a browser, an event named ``error`` means another."""
        text = json.dumps(self.to_json(), separators=(",", ":"))
        named = f"id: {self.id}\n" if self.id else ""
        return f"{named}data: {text}\n\n".encode()


@dataclass(slots=True, kw_only=True, eq=False)
class LiveReply:
    """A reply while it streams: kept until it is on record, and never longer than the model may speak."""

    after: int
    """The last fact before it."""
    turn: int
    pieces: list[tuple[bool, str]] = field(default_factory=list[tuple[bool, str]])
    """Whether it is thinking, and its text."""


@dataclass(slots=True)
class _Place:
    """How far a client has come in a live reply, so that nobody counts its pieces anew each time."""

    reply: LiveReply
    piece: int = 0
    left_text: int = 0
    """So many characters that it has seen are still to be skipped."""
    left_thinking: int = 0


class Telling:
    """Tells one client what comes after its cursor."""

    def __init__(self, cursor: Cursor, before: Sequence[Fact] = ()) -> None:
        """``before``: the facts up to the cursor, from the last turn on at least, to know how it stands."""
        self.seq = cursor.seq if cursor.part is None else cursor.seq - 1
        """The last fact that was told whole."""
        self.is_over = False
        """Its last event was ``done``."""
        self._told_part = cursor.part
        self._text = cursor.text
        self._thinking = cursor.thinking
        self._place: _Place | None = None
        self._turn = 0
        self._said = 0
        self._thought = 0
        self._review: Review | None = None
        self._asked = ""
        self._pause: RunPaused | None = None
        self._running: RunningPath | None = None
        self._has_worker = True
        for fact in before:
            if fact.seq <= self.seq:
                self._follow(fact.payload)
        self._is_pause_told = self._pause is not None and cursor.part is None

    @classmethod
    def from_the_start(cls) -> Telling:
        """For a client that has seen nothing."""
        return cls(Cursor())

    # ── facts ─────────────────────────────────────────────────────────────────────────────────────────────

    def tell(self, fact: Fact) -> list[StreamEvent]:
        """What the next fact has to say. Safe facts only, one after the other."""
        told_part, self._told_part = self._told_part, None
        payload = fact.payload
        events: list[StreamEvent] = []
        if isinstance(payload, RunTaken):
            events += self.see_worker(is_there=True, at=fact.time)
        if self._has_live_text and _ends_reply(payload):
            events.append(self._retract_live())
        if isinstance(payload, ModelFailed) and told_part is None:
            events += self._retract_try(fact.seq, payload)
        if isinstance(payload, ReviewRequested) and told_part is None:
            reached = limit_reached(payload.review)
            if reached is not None:
                events.append(self._event(Cursor(seq=fact.seq, part=0), ChunkType.SYSTEM, reached))
        for chunk in chunks_of(fact):
            if told_part is None or chunk.part > told_part:
                events += self._of_chunk(chunk, payload)
        self._follow(payload)
        self.seq = fact.seq
        self.is_over = isinstance(payload, RunEnded)
        return events

    def caught_up(self) -> list[StreamEvent]:
        """There are no more facts for now: a run that waits for a person is done, until somebody answers."""
        if self._pause is None or self._is_pause_told:
            return []
        self._is_pause_told = self.is_over = True
        data: dict[str, object] = {
            "answer": "",
            "is_forced": False,
            "warnings": [],
            "reason": self._pause.why,
        }
        if self._review is not None:
            data = {"outcome": "under_review", **data, "review_id": self._review.id}
        else:
            data = {"outcome": "awaiting_user", **data, "question": self._asked}
        return [self._event(Cursor(seq=self.seq), ChunkType.DONE, data)]

    def _of_chunk(self, chunk: Chunk, payload: Payload) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        data = chunk.data
        if _is_root(payload) and isinstance(payload, AssistantSaid | Thought):
            is_thought = isinstance(payload, Thought)
            seen = self._thinking if is_thought else self._text
            if seen > len(payload.text):  # it was another reply
                events.append(self._retract_live())
                seen = 0
            rest = payload.text[seen:]
            if is_thought:
                self._thinking = 0
            else:
                self._text = self._thinking = 0
            if not rest:
                return events
            data = {**data, "content": rest}
        cursor = Cursor(seq=chunk.seq, part=chunk.part, text=self._text, thinking=self._thinking)
        return [*events, self._event(cursor, chunk.type, data)]

    def _follow(self, payload: Payload) -> None:
        """Remember what later facts and retractions need to know."""
        match payload:
            case TurnStarted(scope="run", turn=turn):
                self._turn = turn
                self._said = self._thought = 0
            case CallReserved(scope="run"):
                self._said = self._thought = 0
            case Thought(scope="run", text=text):
                self._thought = len(text)
            case AssistantSaid(scope="run", text=text):
                self._said = len(text)
            case ReviewRequested(review=review):
                self._review = review
            case ReviewDecided():
                self._review = None
            case UserAwaited(question=question):
                self._asked = question
            case RunPaused():
                self._pause, self._is_pause_told = payload, False
            case RunResumed() | RunEnded():
                self._pause = None
            case _:
                pass

    # ── live text ─────────────────────────────────────────────────────────────────────────────────────────

    def hear(self, reply: LiveReply) -> list[StreamEvent]:
        """What is new in a reply that streams, if all before it was told. Pieces that wait come as one."""
        if reply.after > self.seq or self._told_part is not None:
            return []
        place = self._place
        if place is None or place.reply is not reply:
            place = _Place(reply, left_text=self._text, left_thinking=self._thinking)
            self._place = place
        events: list[StreamEvent] = []
        waiting: list[str] = []
        is_thinking = False
        for is_thought, text in reply.pieces[place.piece :]:
            if waiting and is_thought != is_thinking:
                events.append(self._heard(waiting, is_thinking=is_thinking))
                waiting = []
            is_thinking = is_thought
            unseen = self._unseen(place, text, is_thought=is_thought)
            if unseen:
                waiting.append(unseen)
        place.piece = len(reply.pieces)
        if waiting:
            events.append(self._heard(waiting, is_thinking=is_thinking))
        return events

    def _unseen(self, place: _Place, text: str, *, is_thought: bool) -> str:
        seen = min(place.left_thinking if is_thought else place.left_text, len(text))
        if is_thought:
            place.left_thinking -= seen
        else:
            place.left_text -= seen
        return text[seen:]

    def _heard(self, texts: Iterable[str], *, is_thinking: bool) -> StreamEvent:
        content = "".join(texts)
        if is_thinking:
            self._thinking += len(content)
        else:
            self._text += len(content)
        cursor = Cursor(seq=self.seq, text=self._text, thinking=self._thinking)
        kind = ChunkType.THINKING if is_thinking else ChunkType.CONTENT
        return self._event(cursor, kind, {"content": content})

    def see(self, running: RunningPath) -> list[StreamEvent]:
        """Where the tree stands now, if that is new."""
        if running == self._running:
            return []
        self._running = running
        data: dict[str, object] = {"path": list(running.path), "names": list(running.names)}
        return [StreamEvent(id="", type=RUNNING, data=data)]

    def see_worker(self, *, is_there: bool, at: float) -> list[StreamEvent]:
        """Whether a worker is at it, if that is new. As long as nothing is said, one is. A run that waits for
        a person needs none."""
        if is_there == self._has_worker or (self._pause is not None and not is_there):
            return []
        self._has_worker = is_there
        return [StreamEvent(id="", type=WORKER, data={"is_there": is_there, "at": at})]

    # ── taking back ───────────────────────────────────────────────────────────────────────────────────────

    @property
    def _has_live_text(self) -> bool:
        return bool(self._text or self._thinking)

    def _retract_live(self) -> StreamEvent:
        """Text that was shown and never came on record. The id forgets it, too."""
        data: dict[str, object] = {"turn": self._turn, "chars": self._text, "thinking_chars": self._thinking}
        self._text = self._thinking = 0
        return self._event(Cursor(seq=self.seq), RETRACT, data)

    def _retract_try(self, seq: int, failed: ModelFailed) -> list[StreamEvent]:
        """A try that failed is on record, but the next one begins anew."""
        if failed.scope != ROOT or failed.retry_in_s is None or not (self._said or self._thought):
            return []
        data: dict[str, object] = {
            "turn": self._turn,
            "chars": self._said,
            "thinking_chars": self._thought,
        }
        self._said = self._thought = 0
        return [self._event(Cursor(seq=seq, part=0), RETRACT, data)]

    @staticmethod
    def _event(cursor: Cursor, kind: str, data: dict[str, object]) -> StreamEvent:
        return StreamEvent(id=str(cursor), type=str(kind), data=data)


def looks_back_to(fact: Fact) -> bool:
    """Whether a telling knows all it needs if the facts it is given ``before`` begin with this one."""
    return fact.seq == 0 or (isinstance(fact.payload, TurnStarted) and fact.payload.scope == ROOT)


def _ends_reply(payload: Payload) -> bool:
    """Whether a reply that is not on record by now never will be."""
    return isinstance(payload, RunTaken | RunEnded) or (
        isinstance(payload, TurnStarted) and payload.scope == ROOT
    )


def _is_root(payload: Payload) -> bool:
    return getattr(payload, "scope", ROOT) == ROOT
