"""The smallest tools there are, for tests and benchmarks."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping

from endstop.errors import ToolArgumentsError, brief
from endstop.ports import ToolContext, ToolResult, ToolSpec, ToolTraits

ANY_ARGUMENTS: Mapping[str, object] = {"type": "object", "additionalProperties": True}
"""The schema of a tool that takes what it is given."""

MOST_ARGUMENT_CHARS = 100_000
_AN_OBJECT = 'an object such as {"query": "login"}'


class PlainTool:
    """A tool made of an async function that is given the arguments as JSON text."""

    __slots__ = ("_do", "spec", "traits")

    def __init__(
        self,
        name: str,
        do: Callable[[str], Awaitable[ToolResult]],
        *,
        description: str = "",
        traits: ToolTraits | None = None,
    ) -> None:
        self._do = do
        self.spec = ToolSpec(name=name, description=description, parameters=ANY_ARGUMENTS)
        self.traits = traits or ToolTraits()

    async def call(self, arguments: str, context: ToolContext) -> ToolResult:  # noqa: ARG002 - the port's
        return await self._do(arguments)


async def _echo(arguments: str) -> ToolResult:
    return ToolResult(text=arguments)


async def _strict_echo(arguments: str) -> ToolResult:
    if len(arguments) > MOST_ARGUMENT_CHARS:
        raise ToolArgumentsError(
            f"The arguments are {len(arguments):,} characters long",
            allowed=f"up to {MOST_ARGUMENT_CHARS:,}",
            to_do="Call it again with less",
        )
    try:
        value: object = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        raise ToolArgumentsError(f"The arguments are no JSON: {error}", allowed=_AN_OBJECT) from None
    if not isinstance(value, dict):
        raise ToolArgumentsError(f"The arguments are {brief(value)}", allowed=_AN_OBJECT)
    return ToolResult(text=arguments)


def echo_tool(name: str = "echo", *, is_strict: bool = False, traits: ToolTraits | None = None) -> PlainTool:
    """A tool that answers with its arguments. If ``is_strict``, they must be a JSON object and not huge."""
    do = _strict_echo if is_strict else _echo
    return PlainTool(name, do, description="Answers with what it was given.", traits=traits)
