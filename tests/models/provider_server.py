"""A real HTTP server on loopback that answers as a provider would, or as none should."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

KEY = "sk-test-0123456789abcdef"


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A request that came in."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, object]


class Exchange:
    """One request and the answer to it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> Seen:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        first, *rest = head.strip().split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in rest)}
        body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        return Seen(path=first.split()[1], headers=headers, body=json.loads(body or b"{}"))

    async def start(self, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        lines = [f"HTTP/1.1 {status} Whatever", "Transfer-Encoding: chunked", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        await self.send_raw(("\r\n".join(lines) + "\r\n\r\n").encode())

    async def stream(self, *events: str, end: bool = True) -> None:
        await self.start(headers={"Content-Type": "text/event-stream"})
        for event in events:
            await self.send(event.encode())
        if end:
            await self.send_raw(b"0\r\n\r\n")

    async def send(self, data: bytes) -> None:
        await self.send_raw(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def send_raw(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def fail(self, status: int, body: object, headers: Mapping[str, str] | None = None) -> None:
        await self.start(status, {"Content-Type": "application/json", **(headers or {})})
        await self.send(json.dumps(body).encode())
        await self.send_raw(b"0\r\n\r\n")

    async def until_gone(self) -> None:
        """Wait until the other side has hung up."""
        await self._reader.read()

    def abort(self) -> None:
        """Hang up in the middle, without a word."""
        transport = self._writer.transport
        transport.abort()


Answer = Callable[[Exchange], Awaitable[None]]


@dataclass
class ProviderServer:
    """Gives the same answer to every request, and remembers what it was asked."""

    url: str = ""
    answer: Answer = field(default=lambda exchange: exchange.fail(500, {}))
    seen: list[Seen] = field(default_factory=list[Seen])
    is_asked: asyncio.Event = field(default_factory=asyncio.Event)
    is_left: asyncio.Event = field(default_factory=asyncio.Event)
    """The client hung up while the answer was under way."""

    def streams(self, *events: str, end: bool = True) -> None:
        """Answer with these events."""
        self.answer = lambda exchange: exchange.stream(*events, end=end)

    def streams_and_hangs(self, *events: str) -> None:
        """Answer with these events, then with nothing more, for ever."""

        async def answer(exchange: Exchange) -> None:
            await exchange.stream(*events, end=False)
            await exchange.until_gone()
            self.is_left.set()

        self.answer = answer

    def says_nothing(self) -> None:
        """Take the request, and never answer."""

        async def answer(exchange: Exchange) -> None:
            await exchange.until_gone()
            self.is_left.set()

        self.answer = answer

    def breaks_off(self, *events: str) -> None:
        """Answer with these events, then hang up."""

        async def answer(exchange: Exchange) -> None:
            await exchange.stream(*events, end=False)
            exchange.abort()

        self.answer = answer

    def fails(self, status: int, body: object = None, headers: Mapping[str, str] | None = None) -> None:
        told = {"error": {"message": "so it is", "type": "some_error"}} if body is None else body
        self.answer = lambda exchange: exchange.fail(status, told, headers)

    @property
    def body(self) -> dict[str, object]:
        """The body of the last request."""
        return self.seen[-1].body

    @property
    def messages(self) -> list[dict[str, object]]:
        return cast("list[dict[str, object]]", self.body["messages"])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        exchange = Exchange(reader, writer)
        try:
            self.seen.append(await exchange.read())
            self.is_asked.set()
            await self.answer(exchange)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.is_left.set()
        finally:
            writer.close()


@asynccontextmanager
async def provider_server(port: int = 0) -> AsyncGenerator[ProviderServer]:
    served = ProviderServer()
    server = await asyncio.start_server(served.serve, "127.0.0.1", port)
    host, chosen = server.sockets[0].getsockname()
    served.url = f"http://{host}:{chosen}/v1"
    try:
        yield served
    finally:
        server.close()


def sse(payload: object, event: str | None = None) -> str:
    data = payload if isinstance(payload, str) else json.dumps(payload)
    return (f"event: {event}\n" if event else "") + f"data: {data}\n\n"


DONE = sse("[DONE]")


def chat_chunk(delta: object, finish: str | None = None) -> str:
    """A chunk of OpenAI's chat API."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return sse({**_CHAT, "choices": [choice]})


def chat_usage(read: int, written: int) -> str:
    total = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    return sse({**_CHAT, "choices": [], "usage": total})


def chat_text(*pieces: str, finish: str = "stop") -> tuple[str, ...]:
    return (*(chat_chunk({"content": piece}) for piece in pieces), chat_chunk({}, finish))


def chat_call(index: int, *, id: str | None = None, name: str | None = None, arguments: str = "") -> str:  # noqa: A002
    function = {"arguments": arguments} | ({"name": name} if name else {})
    call = {"index": index, "type": "function", "function": function} | ({"id": id} if id else {})
    return chat_chunk({"tool_calls": [call]})


_CHAT = {"id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": "some-model"}


def anthropic_start(read: int = 10) -> str:
    message: dict[str, object] = {
        "id": "msg-1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "some-model",
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": read, "output_tokens": 1},
    }
    return sse({"type": "message_start", "message": message}, "message_start")


def anthropic_text(*pieces: str, index: int = 0) -> tuple[str, ...]:
    return anthropic_block(
        index, {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]
    )


def anthropic_thought(*pieces: str, index: int = 0) -> tuple[str, ...]:
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    return anthropic_block(index, {"type": "thinking", "thinking": "", "signature": ""}, deltas)


def anthropic_call(id: str, name: str, *pieces: str, index: int = 0) -> tuple[str, ...]:  # noqa: A002
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return anthropic_block(index, {"type": "tool_use", "id": id, "name": name, "input": {}}, deltas)


def anthropic_block(index: int, start: object, deltas: Sequence[object]) -> tuple[str, ...]:
    return (
        sse({"type": "content_block_start", "index": index, "content_block": start}, "content_block_start"),
        *(
            sse({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
            for delta in deltas
        ),
        sse({"type": "content_block_stop", "index": index}, "content_block_stop"),
    )


def anthropic_end(reason: str = "end_turn", written: int = 5) -> tuple[str, ...]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    usage = {"output_tokens": written}
    return (
        sse({"type": "message_delta", "delta": delta, "usage": usage}, "message_delta"),
        sse({"type": "message_stop"}, "message_stop"),
    )
