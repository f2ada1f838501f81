"""A model of your own, and a tool with effects: what Endstop asks of each.

The tool hangs the first time. It is cut off, the model is told, and goes on.

Run it: python examples/own_tool_and_model.py
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from decimal import Decimal

import endstop as es
from endstop.kernel.observation import ToolFinished
from endstop.ports import (
    Message,
    ModelRequest,
    ModelUsage,
    Piece,
    ReplyEnded,
    TextPiece,
    ToolContext,
    ToolMessage,
    ToolRequest,
    ToolSpec,
)
from endstop.testing import MemoryStore

CHARS_PER_TOKEN = 4


class Postman:
    """A model that has one letter to send, and tries until it is sent. Yours would ask a server."""

    name = "mine:postman"

    def count(
        self, *, system: str = "", tools: Sequence[ToolSpec] = (), messages: Iterable[Message] = ()
    ) -> int:
        """At most so many tokens of input. What is set aside before a call rests on it: never too few."""
        texts = [system, *(tool.description for tool in tools), *(message.text for message in messages)]
        return sum(len(text) // CHARS_PER_TOKEN + 50 for text in texts)

    def cost_usd(self, usage: ModelUsage) -> Decimal | None:
        """What a call costs. None if you do not know: never zero."""
        return Decimal(usage.input_tokens + 5 * usage.output_tokens) / 1_000_000

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """The reply, piece by piece: text as it comes, tool calls when they are whole, and the end."""
        last = request.messages[-1]
        if isinstance(last, ToolMessage) and not last.is_error:
            yield TextPiece(text=f"Done: {last.text}.")
        else:
            yield TextPiece(text="I will send it. ")
            letter = {"to": "ann@example.com", "text": "The build is green."}
            yield ToolRequest(id="1", tool="send", arguments=json.dumps(letter))
        yield ReplyEnded(
            usage=ModelUsage(input_tokens=self.count(messages=request.messages), output_tokens=20)
        )


sent: set[str] = set()
tries = 0


@es.tool(changes_something=True, timeout_s=0.2)
async def send(to: str, text: str, context: ToolContext) -> str:
    """Send a letter."""
    global tries
    tries += 1
    if tries == 1:
        await asyncio.sleep(3_600)  # a server that does not answer
    sent.add(f"{context.run_id}/{context.call}")  # a key of its own for each call
    return f"sent {len(text)} characters to {to}"


async def main() -> None:
    run = await es.run(
        "Tell Ann about the build.",
        model=Postman(),
        tools=[send],
        budget=es.Budget(turns=6, tokens=20_000, seconds=30),
        store=MemoryStore(),
    )
    for fact in run.facts:
        if isinstance(fact.payload, ToolFinished):
            print(f"{fact.payload.status}: {fact.payload.result}")
    print(run.outcome, "|", run.answer)
    print(f"{len(sent)} letter sent, {tries} tries, {run.usage.turns} turns, {run.usage.cost_shown}")
    print("The audit holds." if run.audit() else "The audit is BROKEN.")


asyncio.run(main())
