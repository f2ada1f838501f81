"""PydanticAI with its FunctionModel."""

# pyright: basic, reportMissingImports=false
# The peer lives in an environment of its own, which the type checker does not see.

from __future__ import annotations

from peer import ANSWER, QUESTION, Script, serve
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import UsageLimits


class PydanticAI:
    async def open(self) -> None:
        self._script = Script(turns=0)

        async def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:  # noqa: ARG001 - its signature
            number = await self._script.next((len(messages) - 1) // 2)
            if number is None:
                return ModelResponse(parts=[TextPart(ANSWER)])
            return ModelResponse(parts=[ToolCallPart("look", f'{{"number": {number}}}')])

        self._agent = Agent(FunctionModel(reply))

        @self._agent.tool_plain
        async def look(number: int) -> str:
            """Look a number up."""
            return self._script.look(number)

    async def run(self, script: Script) -> str:
        self._script = script
        limits = None if script.repeats else UsageLimits(request_limit=None)
        result = await self._agent.run(QUESTION, usage_limits=limits)
        return f"an answer: {result.output}"

    async def close(self) -> None:
        pass


if __name__ == "__main__":
    serve(PydanticAI())
