"""Models whose stream is the trouble: it never ends, never begins, breaks off, or is none at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from itertools import count, islice
from typing import cast

from endstop.errors import ModelBrokeOffError
from endstop.ports import ModelRequest, ModelUsage, Piece, ReplyEnded, TextPiece, ThoughtPiece, ToolRequest
from endstop.testing.adversaries.wording import never_the_same, sentence
from endstop.testing.counting import CountedModel, call_tokens, text_tokens

PARAGRAPH = (
    "I will look at the code once more to be sure. The function reads the file and returns its lines. "
    "That seems right to me, so let me look at the code. "
)


class NeverStops(CountedModel):
    """Streams ever new text in one reply and takes no notice of its output cap.

    The output cap cuts it off; what it said until then is paid for, until tokens or cost are used up. With
    ``gives_way=False`` it never lets the event loop go on, so that no timer can fire.
    """

    def __init__(
        self, *, name: str = "adversary:never-stops", gives_way: bool = True, thinks: bool = False
    ) -> None:
        super().__init__(name=name)
        self._gives_way = gives_way
        self._kind = ThoughtPiece if thinks else TextPiece

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:  # noqa: ARG002 - the port's
        for number in count(1):
            if self._gives_way:
                await asyncio.sleep(0)
            yield self._kind(text=sentence(number))


class StreamsNothing(CountedModel):
    """Streams empty pieces for ever, as fast as it can. No token is ever said: time ends it."""

    def __init__(self) -> None:
        super().__init__(name="adversary:streams-nothing")

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:  # noqa: ARG002 - the port's
        while True:
            await asyncio.sleep(0)
            yield TextPiece(text="")


class RepeatsParagraph(CountedModel):
    """Says the same paragraph for ever in one stream. Found as repeated text and cut off (B4)."""

    def __init__(self, *, paragraph: str = PARAGRAPH) -> None:
        super().__init__(name="adversary:repeats-paragraph")
        self._paragraph = paragraph

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:  # noqa: ARG002 - the port's
        while True:
            for word in self._paragraph.split(" "):
                yield TextPiece(text=word + " ")
            await asyncio.sleep(0)


class DripsTokens(CountedModel):
    """Says one short word every ``interval_s`` seconds, for ever. The time limit cuts it off (A11)."""

    def __init__(self, *, interval_s: float = 1.0) -> None:
        super().__init__(name="adversary:drips-tokens")
        self._interval_s = interval_s

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:  # noqa: ARG002 - the port's
        for number in count(1):
            await asyncio.sleep(self._interval_s)
            yield TextPiece(text=sentence(number)[:4])


class Hangs(CountedModel):
    """Says ``pieces`` sentences, none by default, and then nothing more. The time limit ends it (A11)."""

    def __init__(self, *, pieces: int = 0) -> None:
        super().__init__(name="adversary:hangs")
        self._pieces = pieces

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:  # noqa: ARG002 - the port's
        for number in range(self._pieces):
            yield TextPiece(text=sentence(number))
        await asyncio.get_running_loop().create_future()


class BreaksOff(CountedModel):
    """Breaks off in the middle of every reply. Tried again (D11), then the run ends with its work saved.

    With ``silently`` it raises nothing: the stream is over, and nobody said that the reply is.
    """

    def __init__(self, *, pieces: int = 3, silently: bool = False) -> None:
        super().__init__(name="adversary:breaks-off")
        self._pieces = pieces
        self._silently = silently

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        for number in range(self._pieces):
            yield TextPiece(text=sentence(len(request.messages) + number))
        if not self._silently:
            raise ModelBrokeOffError("The connection was lost in the middle of the reply")


class Stubborn(CountedModel):
    """Hangs, and takes no notice of being cancelled for ``for_s`` seconds. Its driver has to let go of it."""

    def __init__(self, *, for_s: float = 3.0) -> None:
        super().__init__(name="adversary:stubborn")
        self.times_cancelled = 0
        self._for_s = for_s

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:  # noqa: ARG002 - the port's
        yield TextPiece(text="I am not done. ")
        await self._sit_out()
        yield TextPiece(text="Now I am.")
        yield ReplyEnded(usage=ModelUsage(input_tokens=1, output_tokens=8))

    async def _sit_out(self) -> None:
        loop = asyncio.get_running_loop()
        until_s = loop.time() + self._for_s
        while (left_s := until_s - loop.time()) > 0:
            try:
                await asyncio.sleep(left_s)
            except asyncio.CancelledError:
                self.times_cancelled += 1


class ClosesSlowly(CountedModel):
    """Streams ever new text, and takes ``for_s`` seconds to be closed. Its driver must not wait for that."""

    def __init__(self, *, for_s: float = 3.0) -> None:
        super().__init__(name="adversary:closes-slowly")
        self._for_s = for_s

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:  # noqa: ARG002 - the port's
        try:
            for number in count(1):
                await asyncio.sleep(0)
                yield TextPiece(text=sentence(number))
        finally:
            await asyncio.sleep(self._for_s)


class HugePiece(CountedModel):
    """Says ``megabytes`` of ever new text in one piece, far beyond its cap. Cut to the cap, and paid for."""

    def __init__(self, *, megabytes: int = 50) -> None:
        super().__init__(name="adversary:huge-piece")
        self._chars = megabytes * 1_000_000

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        some = "".join(sentence(number) for number in range(1, 2_001))
        text = (some * (self._chars // len(some) + 1))[: self._chars]
        yield TextPiece(text=text)
        usage = ModelUsage(input_tokens=self.input_tokens(request), output_tokens=text_tokens(text))
        yield ReplyEnded(usage=usage)


class IgnoresOutputCap(CountedModel):
    """Says ``times`` as much as its cap allows, calls a tool as well, and reports all of it honestly.

    Cut off at the cap, settled at the cap; it goes on until tokens, cost or turns are used up.
    """

    def __init__(self, *, times: int = 3, tool: str = "echo") -> None:
        super().__init__(name="adversary:ignores-output-cap")
        self._times = times
        self._tool = tool
        self._calls = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        self._calls += 1
        said, number = 0, self._calls * 1_000_000
        while said < request.max_output_tokens * self._times:
            text = sentence(number := number + 1)
            said += text_tokens(text)
            await asyncio.sleep(0)
            yield TextPiece(text=text)
        arguments = f'{{"query": "{never_the_same(request, self._calls)}"}}'
        said += call_tokens(self._tool, arguments)
        yield ToolRequest(
            id=f"call_{len(request.messages)}_{self._calls}", tool=self._tool, arguments=arguments
        )
        yield ReplyEnded(usage=ModelUsage(input_tokens=self.input_tokens(request), output_tokens=said))


class TalksAfterTheEnd(CountedModel):
    """Ends its reply, and goes on for ever all the same. The reply is over where it said so."""

    def __init__(self) -> None:
        super().__init__(name="adversary:talks-after-the-end")

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        text = "That is all. "
        usage = ModelUsage(input_tokens=self.input_tokens(request), output_tokens=text_tokens(text))
        yield TextPiece(text=text)
        for number in count(1):
            yield ReplyEnded(usage=usage)
            await asyncio.sleep(0)
            yield TextPiece(text=sentence(number))


class NoStream(CountedModel):
    """Answers with a list where a stream was asked for. An error that ends the run, with its work saved."""

    def __init__(self) -> None:
        super().__init__(name="adversary:no-stream")

    def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:  # noqa: ARG002 - the port's
        return cast("AsyncIterator[Piece]", [TextPiece(text="This is no stream.")])


class StreamsGarbage(CountedModel):
    """Streams what are no pieces: numbers, None, pieces that hold no text. An error, or passed over."""

    def __init__(self, *, pieces: int = 100) -> None:
        super().__init__(name="adversary:streams-garbage")
        self._pieces = pieces

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        for piece in islice(_garbage(), self._pieces):
            await asyncio.sleep(0)
            yield cast("Piece", piece)
        yield ReplyEnded(usage=ModelUsage(input_tokens=self.input_tokens(request), output_tokens=1))


def _garbage() -> Iterable[object]:
    while True:
        yield from (
            None,
            42,
            "text",
            b"bytes",
            {"type": "text"},
            TextPiece(text=cast("str", None)),
            ToolRequest(id=cast("str", 7), tool=cast("str", None), arguments=cast("str", {"query": 1})),
            Exception("not raised, but streamed"),
        )
