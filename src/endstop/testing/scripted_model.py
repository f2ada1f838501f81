"""A model that answers as it is told, at once: for tests, examples and benchmarks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from endstop.errors import InvalidValueError
from endstop.kernel.evolve import maker
from endstop.ports import ModelRequest, ModelUsage, Piece, ReplyEnded, TextPiece, ThoughtPiece, ToolRequest
from endstop.testing.counting import (
    CHARS_PER_TOKEN,
    DEFAULT_PRICE,
    CountedModel,
    ScriptedPrice,
    call_tokens,
    text_tokens,
)
from endstop.testing.replies import ScriptedReply, WantedReply, as_reply

_LAST_WORDS = ScriptedReply(text="Done.")
_MOST_TEXT_KEPT = 200


_tool_request = maker(ToolRequest)
_usage = maker(ModelUsage)
_reply_ended = maker(ReplyEnded)


class RequestSummary(NamedTuple):  # a tuple, because one is made per request and must cost next to nothing
    """What a scripted model remembers of a request."""

    messages: int
    tools: tuple[str, ...]
    last_text: str
    """The first 200 characters of the last message."""
    max_output_tokens: int


class ScriptedModel(CountedModel):
    """Answers with ``replies``, one per call. See ``endstop.testing.replies`` for what a reply can be.

    It counts exactly, keeps to its output cap, and does not wait unless ``delay_s`` says so: the time to
    its first piece. ``piece_chars`` streams texts in pieces of that length. When the script is used up, the
    last reply is repeated, or, with ``"finish"``, the model says that it is done.
    """

    def __init__(
        self,
        *replies: WantedReply,
        name: str = "test:scripted",
        price: ScriptedPrice | None = DEFAULT_PRICE,
        on_exhausted: Literal["repeat the last", "finish"] = "repeat the last",
        delay_s: float = 0.0,
        piece_chars: int | None = None,
        keeps_to_cap: bool = True,
    ) -> None:
        super().__init__(name=name, price=price)
        if on_exhausted not in ("repeat the last", "finish"):
            raise InvalidValueError("on_exhausted", on_exhausted, allowed="'repeat the last' or 'finish'")
        if piece_chars is not None and piece_chars < 1:
            raise InvalidValueError("piece_chars", piece_chars, allowed="1 or more, or None for one piece")
        self.requests: list[RequestSummary] = []
        """What it was asked, in short: one small entry per call."""
        self._script = [each if callable(each) else as_reply(each) for each in replies]
        self._repeats = on_exhausted == "repeat the last"
        self._delay_s = delay_s
        self._piece_chars = piece_chars
        self._keeps_to_cap = keeps_to_cap
        self._offered: tuple[object, tuple[str, ...]] = ((), ())

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        reply = self._next_reply(request)
        if self._delay_s:
            await asyncio.sleep(self._delay_s)
        output_tokens = _tokens(reply)
        if output_tokens > request.max_output_tokens and self._keeps_to_cap:
            reply = self._within_cap(reply, request)
            output_tokens = _tokens(reply)
        if reply.thought:
            yield ThoughtPiece(text=reply.thought)
        if reply.text:
            for text in self._pieces_of(reply.text):
                yield TextPiece(text=text)
        for place, call in enumerate(reply.calls):
            yield _tool_request(
                id=call.id or self._call_id(request, place), tool=call.tool, arguments=call.arguments
            )
        if reply.error is not None:
            raise reply.error.with_traceback(None)  # raised again and again, it would grow
        counted = _usage(input_tokens=self.input_tokens(request), output_tokens=output_tokens or 1)
        yield _reply_ended(usage=self.usage_told(counted, reply), is_truncated=reply.is_truncated)

    def usage_told(self, counted: ModelUsage, reply: ScriptedReply) -> ModelUsage | None:
        """What it says it has used, of a call that it ``counted`` so. A liar overrides this."""
        return reply.usage or counted

    def _next_reply(self, request: ModelRequest) -> ScriptedReply:
        place = len(self.requests)
        self._remember(request)
        if place < len(self._script):
            wanted = self._script[place]
        elif self._repeats and self._script:
            wanted = self._script[-1]
        else:
            wanted = _LAST_WORDS
        return wanted if isinstance(wanted, ScriptedReply) else as_reply(wanted(request))

    def _remember(self, request: ModelRequest) -> None:
        if request.tools is not self._offered[0]:
            self._offered = (request.tools, tuple(spec.name for spec in request.tools))
        messages = request.messages
        self.requests.append(
            RequestSummary(
                len(messages),
                self._offered[1],
                messages[-1].text[:_MOST_TEXT_KEPT] if messages else "",
                request.max_output_tokens,
            )
        )

    def _within_cap(self, reply: ScriptedReply, request: ModelRequest) -> ScriptedReply:
        """As much of a reply that is too long as its cap allows."""
        left = request.max_output_tokens - text_tokens(reply.thought) - text_tokens(reply.text)
        if left < 0:
            return _cut(reply, request.max_output_tokens)
        place = 0
        while left >= 0:  # not all of its calls fit, or it would be within its cap
            left -= call_tokens(reply.calls[place].tool, reply.calls[place].arguments)
            place += 1
        return replace(reply, calls=reply.calls[: place - 1], is_truncated=True)

    def _pieces_of(self, text: str) -> Sequence[str]:
        size = self._piece_chars
        if size is None:
            return (text,)
        return [text[start : start + size] for start in range(0, len(text), size)]

    def _call_id(self, request: ModelRequest, place: int) -> str:
        """Unique in a run, also when the run goes on with a fresh model: its history is longer then."""
        return f"call_{len(request.messages)}_{len(self.requests)}_{place}"


def _tokens(reply: ScriptedReply) -> int:
    tokens = text_tokens(reply.text) + text_tokens(reply.thought)
    for call in reply.calls:
        tokens += call_tokens(call.tool, call.arguments)
    return tokens


def _cut(reply: ScriptedReply, cap: int) -> ScriptedReply:
    """Only the thought and the text, as far as they go."""
    thought = reply.thought[: cap * CHARS_PER_TOKEN]
    text = reply.text[: (cap - text_tokens(thought)) * CHARS_PER_TOKEN]
    return replace(reply, thought=thought, text=text, calls=(), is_truncated=True)
