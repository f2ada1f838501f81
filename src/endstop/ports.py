"""The outside world, on one page: what Endstop asks of models, tools, the store and the clock.

Whoever implements one of these is not trusted: drivers bound its time, its output and its errors. What is
made anew in every turn is ``quick``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol, TypeAlias, runtime_checkable

from endstop.events.facts import Fact
from endstop.kernel.evolve import quick
from endstop.kernel.outcome import Outcome
from endstop.kernel.review import Review, RunPhase

# ── the clock ─────────────────────────────────────────────────────────────────────────────────────────────


class Clock(Protocol):
    """Two clocks in one. ``time.monotonic`` and ``time.time`` behind a name that tests can replace."""

    def monotonic_s(self) -> float:
        """Seconds that never go back. Their zero means nothing."""
        ...

    def unix_s(self) -> float:
        """The time of day, as seconds since 1970. For people: nothing is decided by it."""
        ...


# ── the model ─────────────────────────────────────────────────────────────────────────────────────────────


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """What the user wrote, or a hint of ours."""

    text: str


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """A tool call the model asks for."""

    id: str
    tool: str
    arguments: str
    """JSON text, as the model wrote it: it may be broken."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage:
    """What the model said, and the tool calls it asked for."""

    text: str = ""
    calls: tuple[ToolRequest, ...] = ()


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMessage:
    """The result of one tool call."""

    call: str
    tool: str
    text: str
    is_error: bool = False


Message: TypeAlias = UserMessage | AssistantMessage | ToolMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as a model is told of it."""

    name: str
    description: str
    parameters: Mapping[str, object]
    """A JSON schema of type object."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One model call."""

    system: str = ""
    messages: Sequence[Message]
    """Live, not a copy: read it, never change it, do not keep it."""
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsage:
    """What a call used, by the provider's own count."""

    input_tokens: int = 0
    output_tokens: int = 0


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class TextPiece:
    """The next piece of the reply's text."""

    text: str


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ThoughtPiece:
    """The next piece of the model's thinking. An empty one is a sign of life of a call that has to wait."""

    text: str


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyEnded:
    """The last piece of a reply that came to its end."""

    usage: ModelUsage | None = None
    """None when the provider told none."""
    is_truncated: bool = False
    """It ended because it met its output cap."""


Piece: TypeAlias = TextPiece | ThoughtPiece | ToolRequest | ReplyEnded
"""What a reply is streamed as. A ``ToolRequest`` comes whole."""


@runtime_checkable
class Model(Protocol):
    """A language model, or something that stands for one."""

    @property
    def name(self) -> str:
        """``provider:model``."""
        ...

    def count(
        self, *, system: str = "", tools: Sequence[ToolSpec] = (), messages: Iterable[Message] = ()
    ) -> int:
        """At most so many input tokens. Counting parts apart and adding up never gives less."""
        ...

    def cost_usd(self, usage: ModelUsage) -> Decimal | None:
        """What such a call costs; None when nobody knows. More tokens never cost less."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """Make the call: an async generator. Closing it early ends the call at the provider, too.

        Fails with ``ModelError``, which says whether trying again may help.
        """
        ...


# ── tools ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A passage that a tool found, for an answer to rest on."""

    title: str
    location: str
    """Such as ``src/login.py:12``."""
    passage: str = ""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool has to say to the model, and to us."""

    text: str
    is_waiting: bool = False
    """It still waits for a long process (B9)."""
    sources: tuple[Source, ...] = ()
    value: object = None
    """For a terminal tool: the typed result of the loop."""


RunChild: TypeAlias = Callable[..., Awaitable[Outcome]]
"""Runs a sub-agent on a part of the run's budget: ``await run_child(agent, question, budget=…)``."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a tool may know of the run that calls it."""

    run_id: str
    scope: str
    turn: int
    call: str
    """With ``run_id``, a key of its own for each call: good for idempotency keys."""
    seconds_left: float | None = None
    run_child: RunChild | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTraits:
    """What a tool declares of itself."""

    changes_something: bool = False
    """It has effects. It is not repeated after a crash, and what failed before may work after it."""
    is_idempotent: bool = False
    """Calling it twice with the same arguments does no harm."""
    is_cursor: bool = False
    """Repeating it is how it works (``next_page``): only identical results count as no progress."""
    timeout_s: float | None = None


@runtime_checkable
class Tool(Protocol):
    """Something a model can do."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def traits(self) -> ToolTraits: ...

    async def call(self, arguments: str, context: ToolContext) -> ToolResult:
        """Do it. ``arguments`` is JSON text as the model wrote it.

        Raises ``ToolArgumentsError`` with words the model can act on, ``ToolRefusedError`` when it is not
        allowed, anything else when it failed. When cancelled it cleans up and ends at once: no process,
        and no thread that can be stopped, outlives it.
        """
        ...


# ── the store ─────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run as lists show it: an index over its record, kept by the store with every append."""

    run_id: str
    phase: RunPhase
    user: str | None = None
    project: str | None = None
    agent: str = ""
    model: str = ""
    question: str = ""
    conversation_id: str | None = None
    facts: int = 0
    """How many facts its record has."""
    turns: int = 0
    tokens: int = 0
    cost_usd: Decimal | None = None
    """None when the cost of some call is unknown."""
    started_at: float
    changed_at: float
    ended_at: float | None = None
    ending: str | None = None
    """How it ended, in words."""
    exit_code: int | None = None
    owner: str | None = None
    """Who works on it, or worked on it last."""
    beat_at: float | None = None
    """When its owner last said that it is alive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReview:
    """A review, as lists show it."""

    run_id: str
    review: Review
    requested_at: float
    decision: str | None = None
    """``approved``, ``needs_changes`` or ``rejected``; None while nobody has decided."""
    by: str | None = None
    decided_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGrant:
    """More budget that a run was given: who, why, how much."""

    run_id: str
    seq: int
    by: str
    why: str
    amounts: Mapping[str, str]
    """Such as ``{"turns": "10"}``; only what was granted."""
    granted_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelAsked:
    """Somebody wants a run to end that another process works on."""

    run_id: str
    by: str
    after_turn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Runs that follow each other. A branch shares the runs of its origin up to and including one."""

    id: str
    user: str | None = None
    project: str | None = None
    title: str = ""
    created_at: float
    run_ids: tuple[str, ...] = field(default=())
    """In their order, those of the origin of a branch included."""
    branch_of: str | None = None


class Store(Protocol):
    """Keeps records, and finds them again. One append is atomic; it survives the death of the process."""

    def append(
        self, facts: Sequence[Fact], *, owner: str | None = None, conversation_id: str | None = None
    ) -> Awaitable[None]:
        """Add facts of one run: all or none, right after the last one there is.

        ``RecordTakenError`` if another has appended meanwhile. Facts are known by ``(run_id, seq)``. A
        store that gives back a future has begun, and keeps the order of the calls; awaiting it tells when
        they are safe.
        """
        ...

    async def record(self, run_id: str, *, after: int = -1, most: int | None = None) -> list[Fact]:
        """The facts of a run with a ``seq`` greater than ``after``. ``UnknownRunError`` if there is none."""
        ...

    async def run(self, run_id: str) -> StoredRun: ...

    async def runs(
        self,
        *,
        user: str | None = None,
        project: str | None = None,
        phases: Iterable[RunPhase] = (),
        agent: str | None = None,
        text: str | None = None,
        ending: str | None = None,
        most: int = 50,
        before: float | None = None,
        before_run: str | None = None,
    ) -> list[StoredRun]:
        """Newest first; ``before`` is a ``started_at``, to page on, and with ``before_run`` no run is left
        out that started at that very moment. ``text`` is somewhere in the question, in capitals or not;
        ``ending`` is what the words for its ending begin with."""
        ...

    async def reviews(
        self, *, run_id: str | None = None, user: str | None = None, is_open: bool | None = None
    ) -> list[StoredReview]:
        """Newest first. ``user``: of the runs of that user."""
        ...

    async def notices(self, user: str, *, types: Iterable[str], since: float, most: int = 500) -> list[Fact]:
        """Facts of these types in the runs of a user, oldest first, from a time of day on."""
        ...

    async def grants(self, run_id: str) -> list[StoredGrant]: ...

    async def beat(self, owner: str, run_ids: Iterable[str], *, at: float) -> None:
        """The owner is alive and works on these."""
        ...

    async def ask_cancel(self, asked: CancelAsked) -> None: ...

    async def cancels_asked(self, run_ids: Iterable[str]) -> list[CancelAsked]: ...

    async def settings(self, user: str) -> Mapping[str, object]:
        """What the user has set; empty for somebody who has set nothing."""
        ...

    async def save_settings(self, user: str, values: Mapping[str, object]) -> None:
        """Replace all that the user has set."""
        ...

    async def open_conversation(
        self, *, user: str | None = None, project: str | None = None, title: str = ""
    ) -> Conversation: ...

    async def branch_conversation(self, conversation_id: str, *, after_run: str) -> Conversation: ...

    async def conversation(self, conversation_id: str) -> Conversation: ...

    async def conversations(self, *, user: str | None = None, most: int = 50) -> list[Conversation]: ...

    async def delete_conversation(self, conversation_id: str) -> None:
        """Forget a conversation. Its runs and its branches stay; they belong to it no more."""
        ...

    async def close(self) -> None: ...


# ── who may come in ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredUser:
    """Somebody who may have tokens."""

    name: str
    added_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredToken:
    """A token of a user. The token itself is nowhere: only what its hash is."""

    id: str
    user: str
    name: str
    """What it is for, in its user's words."""
    hashed: str
    created_at: float
    expires_at: float
    revoked_at: float | None = None
    used_at: float | None = None
    """When it was last used, give or take some minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    """A browser that has signed in. What its cookie says is kept as a hash, too."""

    hashed: str
    user: str
    token_id: str | None = None
    """The token it signed in with, whose end is its own; None for whoever started the server."""
    expires_at: float


MOST_SESSIONS = 100
"""So many sessions of one user are kept: a further one takes the place of another."""


class AccessStore(Protocol):
    """Keeps users, tokens and sessions. No secret ever reaches it: only hashes do."""

    async def add_user(self, user: StoredUser) -> bool:
        """False if there is one of that name: it stays as it is."""
        ...

    async def users(self) -> list[StoredUser]:
        """By name."""
        ...

    async def remove_user(self, name: str) -> None:
        """With all tokens and sessions. ``UnknownUserError`` if there is none."""
        ...

    async def add_token(self, token: StoredToken) -> None:
        """``UnknownUserError`` if there is no such user."""
        ...

    async def tokens(self, *, user: str | None = None) -> list[StoredToken]:
        """Newest first, those that are of no use any more included."""
        ...

    async def token_of(self, hashed: str) -> StoredToken | None: ...

    async def revoke_token(self, token_id: str, *, at: float) -> StoredToken:
        """From now on it is of no use. ``UnknownTokenError`` if there is none. Twice changes nothing."""
        ...

    async def token_used(self, token_id: str, *, at: float) -> None: ...

    async def open_session(self, session: StoredSession, *, at: float) -> None:
        """Keep a session; those that have expired by now, or are too many, are forgotten."""
        ...

    async def session_of(self, hashed: str) -> StoredSession | None:
        """None if it was ended, or the token it rests on was revoked. Whether it has expired, look."""
        ...

    async def end_session(self, hashed: str) -> None:
        """Twice does no harm."""
        ...


class WholeStore(Store, AccessStore, Protocol):
    """Records, and who may see them: what a server asks of a store."""
