"""The OpenAI Agents SDK with a model class of its own kind, tracing off."""

# pyright: basic, reportMissingImports=false
# The peer lives in an environment of its own, which the type checker does not see.

from __future__ import annotations

from typing import Any

from agents import Agent, ModelResponse, RunConfig, Runner, function_tool, set_tracing_disabled
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from peer import ANSWER, QUESTION, Script, serve

_script = Script(turns=0)


class FakeModel(Model):
    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: A002, ARG002 - its signature
        place = 1 if isinstance(input, str) else len(input)
        number = await _script.next((place - 1) // 2)
        if number is None:
            text = ResponseOutputText(text=ANSWER, type="output_text", annotations=[])
            said = ResponseOutputMessage(
                id=f"message_{place}", content=[text], role="assistant", status="completed", type="message"
            )
        else:
            said = ResponseFunctionToolCall(
                call_id=f"call_{place}",
                name="look",
                arguments=f'{{"number": {number}}}',
                type="function_call",
            )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


@function_tool
async def look(number: int) -> str:
    """Look a number up."""
    return _script.look(number)


class OpenAIAgents:
    async def open(self) -> None:
        set_tracing_disabled(True)
        self._agent = Agent(name="agent", model=FakeModel(), tools=[look])

    async def run(self, script: Script) -> str:
        global _script
        _script = script
        options: dict[str, Any] = {} if script.repeats else {"max_turns": 1_000_000}
        result = await Runner.run(
            self._agent, QUESTION, run_config=RunConfig(tracing_disabled=True), **options
        )
        return f"an answer: {result.final_output}"

    async def close(self) -> None:
        pass


if __name__ == "__main__":
    serve(OpenAIAgents())
