"""LangGraph's agent with a fake chat model. ``sqlite:FILE``: keeps its state with its own checkpointer."""

# pyright: basic, reportMissingImports=false
# The peer lives in an environment of its own, which the type checker does not see.

from __future__ import annotations

import sys
from contextlib import AsyncExitStack
from typing import Any
from uuid import uuid4

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from peer import ANSWER, QUESTION, Script, serve

_script = Script(turns=0)


class FakeModel(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> Any:  # noqa: ARG002 - its signature
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        number = await _script.next((len(messages) - 1) // 2)
        if number is None:
            message = AIMessage(content=ANSWER)
        else:
            call = {"name": "look", "args": {"number": number}, "id": f"call_{len(messages)}"}
            message = AIMessage(content="", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])


@tool
async def look(number: int) -> str:
    """Look a number up."""
    return _script.look(number)


class LangGraph:
    def __init__(self, address: str) -> None:
        self._path = address.removeprefix("sqlite:")
        self._exits = AsyncExitStack()

    async def open(self) -> None:
        saver = None
        if self._path:
            saver = await self._exits.enter_async_context(AsyncSqliteSaver.from_conn_string(self._path))
        self._graph = create_agent(FakeModel(), [look], checkpointer=saver)

    async def run(self, script: Script) -> str:
        global _script
        _script = script
        config: dict[str, Any] = {"configurable": {"thread_id": uuid4().hex}}
        if not script.repeats:
            config["recursion_limit"] = 1_000_000
        state = await self._graph.ainvoke({"messages": [("user", QUESTION)]}, config)
        return f"an answer: {state['messages'][-1].content}"

    async def close(self) -> None:
        await self._exits.aclose()


if __name__ == "__main__":
    serve(LangGraph(sys.argv[1] if len(sys.argv) > 1 else ""))
