"""Models of real providers, through pydantic-ai's direct API.

Importing this imports pydantic-ai, so only ``make_model`` does, when a provider is named. One call is one
request: nothing is tried again in here, retrying is the driver's business (D11). Each call has a connection
of its own, closed with it: nothing is left open between calls.
"""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import UnexpectedModelBehavior, UserError
from pydantic_ai.messages import (
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
)
from pydantic_ai.models import Model as ProviderClient
from pydantic_ai.models import ModelRequestParameters, StreamedResponse, infer_model
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class
from pydantic_ai.providers.gateway import (
    gateway_provider,  # pyright: ignore[reportUnknownVariableType] - it names types of packages we lack
)
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from endstop.errors import (
    EndstopError,
    InvalidValueError,
    ModelAccessError,
    ModelError,
    UnknownModelError,
    brief,
)
from endstop.models.counting import most_input_tokens
from endstop.models.failures import broke_off, model_error, safe_words
from endstop.models.messages import provider_messages, tools_called
from endstop.models.prices import Price, listed_cost_usd
from endstop.ports import (
    Message,
    ModelRequest,
    ModelUsage,
    Piece,
    ReplyEnded,
    TextPiece,
    ThoughtPiece,
    ToolRequest,
    ToolSpec,
)

_WANT_TOOLS_FOR_PAST_CALLS = frozenset({"anthropic", "bedrock"})
"""Providers that refuse a history with tool calls in it when no tool is offered any more."""

_SPEAK_CHAT_ELSEWHERE = {"openai": "openai-chat"}
"""At an address of their own, servers that call themselves compatible know the chat API for certain."""

_ADDRESS_VARIABLES = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}


class ProviderModel:
    """A model behind a provider's API."""

    def __init__(
        self,
        provider: str,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        price: Price | None = None,
    ) -> None:
        """Nothing is sent yet; what can be known to be wrong without sending is said at once."""
        self._provider = provider
        self._model = model
        self._base_url = _checked_address(base_url or os.environ.get(_ADDRESS_VARIABLES.get(provider, "")))
        self._price = price
        key = (api_key or "").strip()
        self._secrets = (key,) if key else ()
        self._client = self._connected(key or None)

    @property
    def name(self) -> str:
        return f"{self._provider}:{self._model}"

    def count(
        self, *, system: str = "", tools: Sequence[ToolSpec] = (), messages: Iterable[Message] = ()
    ) -> int:
        return most_input_tokens(system=system, tools=tools, messages=messages)

    def cost_usd(self, usage: ModelUsage) -> Decimal | None:
        if self._price is not None:
            return self._price.cost_usd(usage)
        return listed_cost_usd(usage, provider=self._provider, model=self._model, base_url=self._base_url)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        has_begun = False
        try:
            async with self._client, self._opened(request) as reply:
                async for event in reply:
                    piece = _piece(event)
                    if piece is not None:
                        has_begun = True
                        yield piece
                for last in self._last_pieces(reply):
                    yield last
        except EndstopError:
            raise
        except Exception as error:  # noqa: BLE001 - a provider's code may raise anything
            failure = model_error(error, model=self.name, has_begun=has_begun, secrets=self._secrets)
            # What the provider sent may hold a key, so only errors nobody foresaw keep their own trace.
            raise failure from (error if type(failure) is ModelError else None)

    def _opened(self, request: ModelRequest) -> AbstractAsyncContextManager[StreamedResponse]:
        tools = [_definition(tool) for tool in request.tools]
        settings = ModelSettings(max_tokens=request.max_output_tokens)
        if "max_retries" not in self._client.unsupported_settings:
            settings["max_retries"] = 0
        if not tools and self._provider.removeprefix("gateway/") in _WANT_TOOLS_FOR_PAST_CALLS:
            tools = [_stand_in(name) for name in tools_called(request.messages)]
            if tools:
                settings["tool_choice"] = "none"
        return model_request_stream(
            self._client,
            provider_messages(request.messages, system=request.system),
            model_settings=settings,
            model_request_parameters=ModelRequestParameters(function_tools=tools),
        )

    def _last_pieces(self, reply: StreamedResponse) -> Iterable[Piece]:
        """The tool calls, which are whole only now, and the end; if there was an end."""
        if not _has_ended(reply):
            raise broke_off(self.name, "the stream stopped before the reply was finished")
        for part in reply.get().parts:
            if isinstance(part, ToolCallPart):
                yield _request_of(part)
        yield ReplyEnded(usage=_usage(reply), is_truncated=reply.finish_reason == "length")

    def _connected(self, api_key: str | None) -> ProviderClient:
        kind = self._provider
        if self._base_url is not None:
            kind = _SPEAK_CHAT_ELSEWHERE.get(kind, kind)
        given = {"base_url": self._base_url, "api_key": api_key}
        options = {key: value for key, value in given.items() if value is not None}
        try:
            return infer_model(f"{kind}:{self._model}", lambda name: _provider(name, options))
        except EndstopError:
            raise
        except ImportError as error:
            named = re.search(r"pip install [\"']([^\"']+)[\"']", str(error))
            raise UnknownModelError(
                f"A package that {self.name} needs is not installed",
                to_do=f"Run: pip install '{named[1] if named else 'endstop[providers]'}'",
            ) from None
        except Exception as error:  # noqa: BLE001 - each provider's own code has errors of its own
            raise self._refusal(error) from None

    def _refusal(self, error: Exception) -> ModelError:
        words = safe_words(error, self._secrets)
        variables = list(dict.fromkeys(re.findall(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b", str(error))))
        if variables:
            option = "api_key" if re.search("KEY|TOKEN", variables[0]) else "base_url"
            return ModelAccessError(
                f"{self.name} cannot be used: {' or '.join(variables)} is not set",
                to_do=f"Set the environment variable {variables[0]}, or give {option}",
            )
        if isinstance(error, UserError):
            return UnknownModelError(f"{self.name} cannot be used: {words}", to_do="Name another model")
        return ModelAccessError(f"{self.name} cannot be used: {words}", to_do="Set up what is missing")


def _provider(name: str, options: dict[str, str]) -> Provider[Any]:
    if not options:
        return infer_provider(name)
    if name.startswith("gateway/"):
        return gateway_provider(name.removeprefix("gateway/"), **options)
    kind = infer_provider_class(name)
    taken = inspect.signature(kind).parameters
    for option in options:
        if option not in taken:
            raise InvalidValueError(option, "given", allowed=f"none: {name} takes no {option}")
    return kind(**options)


def _checked_address(base_url: str | None) -> str | None:
    if not base_url:
        return None
    try:
        parts = urlsplit(base_url)
        is_sound = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        is_sound = is_sound and not any(letter.isspace() for letter in base_url)
    except ValueError:
        is_sound = False
    if not is_sound:
        raise InvalidValueError("base_url", base_url, allowed="an address such as http://127.0.0.1:8080/v1")
    return base_url


def _definition(tool: ToolSpec) -> ToolDefinition:
    return ToolDefinition(
        name=tool.name,
        description=tool.description,
        parameters_json_schema=dict(tool.parameters),
        strict=False,  # the schema is sent as it is; strict modes would change it
    )


def _stand_in(name: str) -> ToolDefinition:
    return ToolDefinition(name=name, description="No longer available.", strict=False)


def _piece(event: ModelResponseStreamEvent) -> Piece | None:
    """What an event adds to the text or the thoughts. Tool calls are left until they are whole."""
    match event:
        case PartStartEvent(part=TextPart(content=text)) if text:
            return TextPiece(text=_text(text))
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
            return TextPiece(text=_text(text))
        case PartStartEvent(part=ThinkingPart(content=text)) if text:
            return ThoughtPiece(text=_text(text))
        case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text)) if text:
            return ThoughtPiece(text=_text(text))
        case _:
            return None


def _text(value: object) -> str:
    """The library does not check what providers send: what should be text may be anything."""
    if not isinstance(value, str):
        raise UnexpectedModelBehavior(f"{brief(value)} where there should be text")
    return value


def _has_ended(reply: StreamedResponse) -> bool:
    """Whether the provider said that the reply is finished. "stop" alone is put in where nothing was said."""
    said = (reply.provider_details or {}).get("finish_reason")
    return bool(said) or reply.finish_reason not in (None, "stop")


def _request_of(part: ToolCallPart) -> ToolRequest:
    arguments = part.args if isinstance(part.args, str) else json.dumps(part.args or {}, ensure_ascii=False)
    return ToolRequest(id=_text(part.tool_call_id), tool=_text(part.tool_name), arguments=arguments or "{}")


def _usage(reply: StreamedResponse) -> ModelUsage | None:
    """The provider's own count; None if it gave none, or one that cannot be."""
    read, written = reply.usage.input_tokens, reply.usage.output_tokens
    if any(type(count) is not int or count < 0 for count in (read, written)):
        return None
    return ModelUsage(input_tokens=read, output_tokens=written) if read or written else None
