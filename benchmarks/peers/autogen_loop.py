"""AutoGen's AssistantAgent with a model client of its own kind; for a repeating model, in a team of one."""

# pyright: basic, reportMissingImports=false
# The peer lives in an environment of its own, which the type checker does not see.

from __future__ import annotations

from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import FunctionCall
from autogen_core.models import ChatCompletionClient, CreateResult, ModelFamily, RequestUsage
from peer import ANSWER, QUESTION, Script, serve


class FakeClient(ChatCompletionClient):
    def __init__(self, script: Script) -> None:
        self._script = script
        self._turn = 0

    async def create(self, messages: Any, **_: Any) -> CreateResult:  # noqa: ARG002 - its signature
        turn, self._turn = self._turn, self._turn + 1
        number = await self._script.next(turn)
        usage = RequestUsage(prompt_tokens=1, completion_tokens=1)
        if number is None:
            return CreateResult(finish_reason="stop", content=ANSWER, usage=usage, cached=False)
        call = FunctionCall(id=f"call_{turn}", name="look", arguments=f'{{"number": {number}}}')
        return CreateResult(finish_reason="function_calls", content=[call], usage=usage, cached=False)

    def create_stream(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def close(self) -> None:
        pass

    def actual_usage(self) -> RequestUsage:
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    def total_usage(self) -> RequestUsage:
        return self.actual_usage()

    def count_tokens(self, *_: Any, **__: Any) -> int:
        return 1

    def remaining_tokens(self, *_: Any, **__: Any) -> int:
        return 1_000_000

    @property
    def capabilities(self) -> Any:
        return self.model_info

    @property
    def model_info(self) -> Any:
        return {
            "vision": False,
            "function_calling": True,
            "json_output": False,
            "family": ModelFamily.UNKNOWN,
            "structured_output": False,
        }


class AutoGen:
    async def open(self) -> None:
        pass

    async def run(self, script: Script) -> str:
        """An agent keeps what was said to it, so each run has one of its own."""

        async def look(number: int) -> str:
            """Look a number up."""
            return script.look(number)

        client = FakeClient(script)
        if script.repeats:
            team = RoundRobinGroupChat(
                [AssistantAgent("agent", client, tools=[look])],
                termination_condition=TextMentionTermination("Done"),
            )
            result = await team.run(task=QUESTION)
        else:
            agent = AssistantAgent("agent", client, tools=[look], max_tool_iterations=script.turns + 1)
            result = await agent.run(task=QUESTION)
        return f"{result.stop_reason}"

    async def close(self) -> None:
        pass


if __name__ == "__main__":
    serve(AutoGen())
