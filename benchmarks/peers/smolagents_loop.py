"""smolagents' ToolCallingAgent with a model class of its own kind. It knows no asyncio: it blocks."""

# pyright: basic, reportMissingImports=false
# The peer lives in an environment of its own, which the type checker does not see.

from __future__ import annotations

from typing import Any

from peer import ANSWER, QUESTION, Script, serve
from smolagents import LogLevel, ToolCallingAgent, tool
from smolagents.models import (
    ChatMessage,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    MessageRole,
    Model,
    TokenUsage,
)

_script = Script(turns=0)


class FakeModel(Model):
    turn = 0

    def generate(self, messages: Any, **_: Any) -> ChatMessage:  # noqa: ARG002 - its signature
        number = _script.next_now(self.turn)
        self.turn += 1
        if number is None:
            function = ChatMessageToolCallFunction(name="final_answer", arguments={"answer": ANSWER})
        else:
            function = ChatMessageToolCallFunction(name="look", arguments={"number": number})
        call = ChatMessageToolCall(id=f"call_{self.turn}", type="function", function=function)
        return ChatMessage(
            role=MessageRole.ASSISTANT, content="", tool_calls=[call], token_usage=TokenUsage(1, 1)
        )


@tool
def look(number: int) -> str:
    """Look a number up.

    Args:
        number: the number.
    """
    return _script.look(number)


class Smolagents:
    async def open(self) -> None:
        self._model = FakeModel()
        self._agent = ToolCallingAgent([look], self._model, verbosity_level=LogLevel.OFF)

    async def run(self, script: Script) -> str:
        global _script
        _script = script
        self._model.turn = 0
        answer = self._agent.run(QUESTION, max_steps=None if script.repeats else 1_000_000)
        return f"an answer: {answer!r}"

    async def close(self) -> None:
        pass


if __name__ == "__main__":
    serve(Smolagents())
