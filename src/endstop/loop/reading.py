"""One reply as it streams in: kept piece by piece, so that a reply that is cut off is not lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from types import coroutine
from typing import Any

from endstop.errors import ModelBrokeOffError, ModelError, brief, cause
from endstop.kernel.detectors import RepeatedChunk, RepeatedText
from endstop.kernel.thresholds import Thresholds
from endstop.ports import (
    Model,
    ModelRequest,
    ModelUsage,
    ReplyEnded,
    TextPiece,
    ThoughtPiece,
    ToolRequest,
)

_MOST_CHARS_PER_TOKEN = 16
"""No model says more than this per token for long: beyond it, a reply ignores its cap."""

_LEAST_TOKENS_PER_CALL = 8

_LONGEST_CLOSE_S = 0.1

Show = Callable[[str | None, bool], None]
"""Shown each piece of text, and None at the end; the second argument says that it is thinking."""


class Reading:
    """Reads one reply. What has come so far is here at any moment."""

    __slots__ = (
        "_loop_time",
        "_repeats",
        "_request",
        "_show",
        "_texts",
        "_thoughts",
        "_thresholds",
        "_tokens",
        "calls",
        "chars",
        "error",
        "has_ended",
        "is_truncated",
        "last_sign_s",
        "repeated",
        "usage",
    )

    def __init__(self, request: ModelRequest, thresholds: Thresholds, show: Show | None) -> None:
        self.calls: list[ToolRequest] = []
        self.usage: ModelUsage | None = None
        self.has_ended = False
        self.is_truncated = False
        """It met its output cap, by the provider's word or by our own count."""
        self.repeated: RepeatedText | None = None
        self.error: ModelError | None = None
        self.chars = 0
        """How much text has come."""
        self._loop_time = asyncio.get_running_loop().time
        self.last_sign_s = self._loop_time()
        self._request = request
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._tokens = 0
        self._thresholds = thresholds
        self._repeats: RepeatedChunk | None = None
        self._show = show

    @property
    def text(self) -> str:
        return "".join(self._texts) if self._texts else ""

    @property
    def thought(self) -> str:
        return "".join(self._thoughts) if self._thoughts else ""

    @property
    def has_begun(self) -> bool:
        return bool(self._texts or self._thoughts or self.calls or self.has_ended)

    async def read(self, model: Model) -> None:
        """Make the call and read the reply to its end. Keeps what goes wrong as ``error``."""
        stream = None
        try:
            stream = model.stream(self._request)
            async for piece in stream:
                self.last_sign_s = self._loop_time()
                if self._take(piece):
                    return
            if not self.has_ended:
                self.error = ModelBrokeOffError("The reply broke off before its end", to_do="Try again")
        except GeneratorExit:
            stream = None  # closed by force, with what it was waiting in: nothing can be waited for here
            raise
        except ModelError as error:
            self.error = error
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            self.error = _unforeseen(error)
        finally:
            await _close(stream)

    def show_rest(self) -> None:
        """Nothing more will come: show what was held back because it looked like the start of a signal."""
        show, self._show = self._show, None
        if show is not None:
            show(None, False)

    def _take(self, piece: object) -> bool:
        """Keep a piece; whether the reply is over."""
        match piece:
            case TextPiece(text=str() as text):
                return self._take_text(text)
            case ToolRequest(id=str(), tool=str() as tool, arguments=str() as arguments):
                self.calls.append(piece)
                return self._count(
                    max(_LEAST_TOKENS_PER_CALL, _least_tokens(tool) + _least_tokens(arguments))
                )
            case ThoughtPiece(text=str() as text):
                if text:  # else a sign of life: the call itself has not begun
                    self._thoughts.append(text)
                    if self._show is not None:
                        self._show(text, True)
                return self._count(_least_tokens(text))
            case ReplyEnded(usage=usage, is_truncated=is_truncated):
                self.usage = usage
                self.is_truncated = bool(is_truncated)
                self.has_ended = True
                return True
            case _:
                self.error = ModelError(
                    f"The model sent {brief(piece)}",
                    allowed="TextPiece, ThoughtPiece, ToolRequest, ReplyEnded",
                    to_do="Mend the model's adapter",
                )
                return True

    def _take_text(self, text: str) -> bool:
        most = self._request.max_output_tokens * _MOST_CHARS_PER_TOKEN
        if len(text) > most:
            text, self.is_truncated = text[:most], True
        self._texts.append(text)
        self.chars += len(text)
        if self._show is not None:
            self._show(text, False)
        if self._repeats is None:
            self._repeats = RepeatedChunk(self._thresholds)
        self.repeated = self._repeats.feed(text)
        return self._count(_least_tokens(text)) or self.is_truncated or self.repeated is not None

    def _count(self, tokens: int) -> bool:
        """Whether the reply has gone past its cap. Each piece is a token at least."""
        self._tokens += tokens
        if self._tokens <= self._request.max_output_tokens:
            return False
        self.is_truncated = True
        return True


def _least_tokens(text: str) -> int:
    return len(text) // _MOST_CHARS_PER_TOKEN or 1


def _is_cancelled() -> bool:
    """Whether the task we run in was told to end, rather than a model having raised that by itself."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _unforeseen(error: BaseException) -> ModelError:
    return ModelError(f"The model failed with {cause(error)}", to_do="Mend the model, or use another")


async def _close(stream: object) -> None:
    """End the call at the provider, too. It has given us all we wanted, so nobody waits long for that."""
    close = getattr(stream, "aclose", None)
    if close is None:
        return
    try:
        closing = close()
        pending = closing.send(None)  # most have nothing to wait for, and setting a time limit is dear
    except StopIteration:
        return
    except Exception:  # noqa: BLE001 - what it does on its way out is its own affair
        return
    with suppress(Exception):
        async with asyncio.timeout(_LONGEST_CLOSE_S):
            await _rest_of(closing, pending)


@coroutine
def _rest_of(begun: Any, pending: Any) -> Generator[Any, Any, None]:
    """Wait for the rest of something that was begun by hand, as ``await`` would."""
    while True:
        try:
            sent = yield pending
        except BaseException as error:  # noqa: BLE001 - passed on to where it belongs
            step = partial(begun.throw, error)
        else:
            step = partial(begun.send, sent)
        try:
            pending = step()
        except StopIteration:
            return
