"""How models of this room count tokens and name their price: simple, exact, and cheap.

Four characters are a token, rounded up for each text, and every message, call and tool has a frame. The same
rule counts a request before the call and tells its usage after it, so the count is never too low.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from endstop.ports import (
    AssistantMessage,
    Message,
    ModelRequest,
    ModelUsage,
    ToolSpec,
    UserMessage,
)

FRAME_TOKENS = 4
CHARS_PER_TOKEN = 4

_MOST_REMEMBERED = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedPrice:
    """What tokens of a scripted model cost."""

    input_usd_per_million: Decimal = Decimal(1)
    output_usd_per_million: Decimal = Decimal(2)

    def cost_usd(self, usage: ModelUsage) -> Decimal:
        """Less than nothing counts as nothing."""
        return (
            max(usage.input_tokens, 0) * self.input_usd_per_million
            + max(usage.output_tokens, 0) * self.output_usd_per_million
        ) / 1_000_000


DEFAULT_PRICE = ScriptedPrice()


def text_tokens(text: str) -> int:
    return -(-len(text) // CHARS_PER_TOKEN)


def call_tokens(tool: str, arguments: str) -> int:
    return FRAME_TOKENS - (-(len(tool) + len(arguments)) // CHARS_PER_TOKEN)


def message_tokens(message: Message) -> int:
    if isinstance(message, AssistantMessage):
        tokens = FRAME_TOKENS + text_tokens(message.text)
        for call in message.calls:
            tokens += call_tokens(call.tool, call.arguments)
        return tokens
    if isinstance(message, UserMessage):
        return FRAME_TOKENS + text_tokens(message.text)
    return FRAME_TOKENS + text_tokens(message.text) + text_tokens(message.tool)


def spec_tokens(spec: ToolSpec) -> int:
    written = json.dumps(_plain(spec.parameters), ensure_ascii=False, default=str)
    return FRAME_TOKENS + text_tokens(spec.name) + text_tokens(spec.description) + text_tokens(written)


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - a schema holds anything


class TokenCount:
    """Counts requests without counting a growing history anew each time.

    It knows a history again by the sequence's identity and by the last message it has counted there. That
    message is kept, so that no other can take its identity. Histories grow, or begin anew: a message in the
    middle that is exchanged for another is not noticed.
    """

    __slots__ = ("_histories", "_tools", "_tools_tokens")

    def __init__(self) -> None:
        self._histories: dict[int, tuple[int, Message, int]] = {}
        self._tools: tuple[ToolSpec, ...] = ()
        self._tools_tokens = 0

    def tools(self, tools: Sequence[ToolSpec]) -> int:
        if tools is self._tools:
            return self._tools_tokens
        tokens = sum(spec_tokens(spec) for spec in tools)
        if isinstance(tools, tuple):  # a list may have changed when it is seen again
            self._tools, self._tools_tokens = tools, tokens
        return tokens

    def history(self, messages: Sequence[Message]) -> int:
        length = len(messages)
        if not length:
            return 0
        known = self._histories.get(id(messages))
        if known is not None and known[0] <= length and messages[known[0] - 1] is known[1]:
            start, _, tokens = known
        else:
            start, tokens = 0, 0
        for place in range(start, length):
            tokens += message_tokens(messages[place])
        if len(self._histories) >= _MOST_REMEMBERED and id(messages) not in self._histories:
            del self._histories[next(iter(self._histories))]
        self._histories[id(messages)] = (length, messages[length - 1], tokens)
        return tokens


class CountedModel:
    """A model that can count and has a price; what it streams is up to those who derive from it."""

    def __init__(self, *, name: str, price: ScriptedPrice | None = DEFAULT_PRICE) -> None:
        self.name = name
        self.price = price
        self._tokens = TokenCount()

    def count(
        self, *, system: str = "", tools: Sequence[ToolSpec] = (), messages: Iterable[Message] = ()
    ) -> int:
        tokens = -(-len(system) // CHARS_PER_TOKEN)
        if tools:
            tokens += self._tokens.tools(tools)
        for message in messages:
            tokens += message_tokens(message)
        return tokens

    def input_tokens(self, request: ModelRequest) -> int:
        """What ``count`` says of the whole request, at a cost that does not grow with the history."""
        return (
            text_tokens(request.system)
            + self._tokens.tools(request.tools)
            + self._tokens.history(request.messages)
        )

    def cost_usd(self, usage: ModelUsage) -> Decimal | None:
        return None if self.price is None else self.price.cost_usd(usage)
