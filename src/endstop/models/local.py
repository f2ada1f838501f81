"""Any GGUF file as a model: ``local:/path/to/file.gguf``, through llama.cpp (extra ``[local]``).

It costs nothing, sends nothing anywhere, and calls tools one at a time: each reply is one action that is held
to a JSON schema, so that small models can do it, too.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from endstop.errors import ModelError, UnknownModelError
from endstop.kernel.limits import whole
from endstop.models.actions import ActionReader, action_schema, chat_messages
from endstop.models.counting import most_input_tokens
from endstop.models.failures import broke_off, status_error, unreachable
from endstop.models.llama import LlamaSettings, give_back, shared_server
from endstop.models.loopback import LoopbackError, posted_events
from endstop.models.prices import FREE
from endstop.ports import (
    Message,
    ModelRequest,
    ModelUsage,
    Piece,
    ReplyEnded,
    TextPiece,
    ThoughtPiece,
    ToolSpec,
)

DEFAULT_CONTEXT_TOKENS = 8_192

_TEMPLATE_TOKENS = 256
"""What a chat template may say of its own when no system prompt is given."""

_GGUF = b"GGUF"


class LocalModel:
    """A model in a file. ``close`` it when it is no longer needed: that frees its memory."""

    def __init__(
        self, path: str, *, context_tokens: int = DEFAULT_CONTEXT_TOKENS, threads: int | None = None
    ) -> None:
        file = _checked_file(path)
        whole("context_tokens", context_tokens, smallest=128, largest=10_000_000)
        self._settings = LlamaSettings(path=str(file), context_tokens=context_tokens, threads=threads)
        self._server = shared_server(self._settings)
        self._is_closed = False

    @property
    def name(self) -> str:
        return f"local:{self._settings.path}"

    def count(
        self, *, system: str = "", tools: Sequence[ToolSpec] = (), messages: Iterable[Message] = ()
    ) -> int:
        return _TEMPLATE_TOKENS + most_input_tokens(system=system, tools=tools, messages=messages)

    def cost_usd(self, usage: ModelUsage) -> Decimal | None:  # noqa: ARG002 - part of the port
        return FREE

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        if self._is_closed:
            raise ModelError(f"{self.name} has been closed", to_do="Make a new model of that name")
        has_begun = False
        try:
            async with (
                aclosing(self._events(request)) as events,
                aclosing(_pieces(events, request, self.name)) as pieces,
            ):
                async for piece in pieces:
                    has_begun = True
                    yield piece
        except LoopbackError as error:
            raise status_error(error.status, model=self.name, words=error.words) from None
        except (OSError, EOFError, ValueError) as error:
            words = f"{type(error).__name__}: {error}"
            raise (broke_off if has_begun else unreachable)(self.name, words) from error

    def close(self) -> None:
        """Let the model go. The last one to use a file stops its server."""
        if not self._is_closed:
            self._is_closed = True
            give_back(self._settings)

    async def _events(self, request: ModelRequest) -> AsyncGenerator[dict[str, object]]:
        body: dict[str, object] = {
            "messages": chat_messages(request),
            "max_tokens": request.max_output_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.tools:
            schema = {"name": "action", "strict": True, "schema": action_schema(request.tools)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        url = f"{await self._server.address()}/v1/chat/completions"
        async with aclosing(posted_events(url, body, key=self._server.key)) as events:
            async for event in events:
                yield event


async def _pieces(
    events: AsyncGenerator[dict[str, object]], request: ModelRequest, name: str
) -> AsyncGenerator[Piece]:
    action = ActionReader(f"call_{len(request.messages)}") if request.tools else None
    finish, usage = None, None
    async for event in events:
        usage = _usage(event) or usage
        delta, told = _choice(event)
        finish = told or finish
        thought, text = delta.get("reasoning_content"), delta.get("content")
        if thought:
            yield ThoughtPiece(text=str(thought))
        shown = str(text or "") if action is None else action.feed(str(text or ""))
        if shown:
            yield TextPiece(text=shown)
    if finish is None:
        raise broke_off(name, "the stream stopped before the reply was finished")
    if action is not None:
        rest, call = action.finished()
        if rest:
            yield TextPiece(text=rest)
        if call is not None:
            yield call
    yield ReplyEnded(usage=usage, is_truncated=finish == "length")


def _choice(event: dict[str, object]) -> tuple[dict[str, object], str | None]:
    """What an event adds, and why the reply ended if it did."""
    choices = cast("list[dict[str, object]]", event.get("choices") or [])
    if not choices:
        return {}, None
    delta = cast("dict[str, object]", choices[0].get("delta") or {})
    return delta, cast("str | None", choices[0].get("finish_reason"))


def _usage(event: dict[str, object]) -> ModelUsage | None:
    usage = cast("dict[str, int] | None", event.get("usage"))
    if not usage:
        return None
    return ModelUsage(input_tokens=usage["prompt_tokens"], output_tokens=usage["completion_tokens"])


def _checked_file(path: str) -> Path:
    """The file, if it can be one that llama.cpp loads: what is wrong is said before anything is started."""
    file = Path(path).expanduser().absolute()
    try:
        with file.open("rb") as opened:
            beginning = opened.read(len(_GGUF))
    except (OSError, ValueError) as error:
        raise UnknownModelError(
            f"The file of local:{path} cannot be read: {error}", to_do="Give the path of a GGUF file"
        ) from None
    if beginning != _GGUF:
        raise UnknownModelError(f"{file} is not a GGUF file", to_do="Give the path of a GGUF file")
    if find_spec("xllamacpp") is None:
        raise UnknownModelError(
            f"What local:{path} needs is not installed", to_do="Run: pip install 'endstop[local]'"
        )
    return file
