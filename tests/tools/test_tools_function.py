"""Functions as tools: what a model is told of them, how they are called, what becomes of their results."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from tools_words import CONTEXT

from endstop.errors import InvalidValueError, ToolArgumentsError, ToolError
from endstop.ports import Source, Tool, ToolContext, ToolResult
from endstop.tools import FunctionTool, tool


@tool
def search_docs(
    query: Annotated[str, "What to look for"], limit: int = 10, kind: Literal["note", "page"] = "note"
) -> str:
    """Search the documentation
    for words.

    More about it that a model need not know.

    Args:
        limit (int): How many results
            at most.
        kind: Which kind.

    Returns:
        Text.
    """
    return f"{query} {limit} {kind}"


def test_a_function_is_told_to_a_model_by_its_docstring_and_its_type_hints() -> None:
    assert isinstance(search_docs, Tool)
    assert search_docs.spec.name == "search_docs"
    assert search_docs.spec.description == "Search the documentation for words."
    assert search_docs.spec.parameters == {
        "type": "object",
        "additionalProperties": False,
        "required": ["query"],
        "properties": {
            "query": {"type": "string", "description": "What to look for"},
            "limit": {"type": "integer", "default": 10, "description": "How many results at most."},
            "kind": {
                "type": "string",
                "enum": ["note", "page"],
                "default": "note",
                "description": "Which kind.",
            },
        },
    }


def test_the_function_stays_callable_as_it_was() -> None:
    assert search_docs("x", kind="page") == "x 10 page"
    assert search_docs.__name__ == "search_docs"
    assert repr(search_docs) == "<tool search_docs>"


async def test_it_is_called_with_the_arguments_a_model_wrote() -> None:
    result = await search_docs.call('{"query": "x", "limit": 3}', CONTEXT)
    assert result == ToolResult(text="x 3 note", value="x 3 note")


async def test_what_it_declares_of_itself_is_kept() -> None:
    @tool(
        name="send-mail",
        description="Send it.",
        changes_something=True,
        idempotent=True,
        cursor=True,
        timeout_s=10,
    )
    async def send(to: str) -> None: ...

    assert (send.spec.name, send.spec.description) == ("send-mail", "Send it.")
    assert (send.traits.changes_something, send.traits.is_idempotent) == (True, True)
    assert (send.traits.is_cursor, send.traits.timeout_s) == (True, 10.0)
    assert (await send.call('{"to": "ann"}', CONTEXT)).text == "Done."


async def test_a_parameter_of_type_tool_context_is_filled_in_and_hidden() -> None:
    @tool
    def which(context: ToolContext, twice: bool = False) -> str:
        return context.run_id * (1 + twice)

    @tool
    async def perhaps(context: ToolContext | None = None) -> str:
        return context.call if context else "none"

    assert list(which.spec.parameters["properties"]) == ["twice"]  # type: ignore[call-overload]
    assert (await which.call('{"twice": true}', CONTEXT)).text == "run-1run-1"
    assert (await perhaps.call("{}", CONTEXT)).text == "1.1"
    assert await perhaps() == "none"


async def test_methods_are_tools_of_their_object() -> None:
    class Shelf:
        def __init__(self, book: str) -> None:
            self.book = book

        @tool
        def take(self, times: int = 1) -> str:
            """Take a book."""
            return self.book * times

        @staticmethod
        @tool
        def count(of: int) -> int:
            return of

    ulysses = Shelf("Ulysses")
    assert ulysses.take(2) == "UlyssesUlysses"
    assert (await ulysses.take.call("{}", CONTEXT)).text == "Ulysses"
    assert (await Shelf("Emma").take.call('{"times": 2}', CONTEXT)).text == "EmmaEmma"
    assert (await ulysses.count.call('{"of": 4}', CONTEXT)).text == "4"
    with pytest.raises(ToolError, match="take is a method"):
        await Shelf.take.call("{}", CONTEXT)


async def test_bound_methods_and_partial_results_of_async_functions_work() -> None:
    class Shelf:
        def take(self, times: int) -> int:
            return times

    async def slow(times: int) -> int:
        await asyncio.sleep(0)
        return times * 2

    @tool
    def handed_out(times: int) -> Any:
        return functools.partial(slow, times)()

    assert (await FunctionTool(Shelf().take).call('{"times": 2}', CONTEXT)).text == "2"
    assert (await handed_out.call('{"times": 2}', CONTEXT)).text == "4"


async def test_rich_types_arrive_as_what_they_are() -> None:
    class Colour(Enum):
        RED = "red"

    @dataclass
    class Point:
        x: int
        y: int = 0

    class Box(BaseModel):
        title: str
        points: list[Point]

    seen: list[object] = []

    @tool
    def draw(box: Box, colour: Colour, sizes: tuple[int, ...] = (), tags: set[str] | None = None) -> None:
        seen.extend((box.points[0].x, colour, sizes, tags))

    given = '{"box": {"title": "b", "points": [{"x": 1}]}, "colour": "red", "sizes": [1, 2], "tags": ["a"]}'
    await draw.call(given, CONTEXT)
    assert seen == [1, Colour.RED, (1, 2), {"a"}]
    assert "title" in draw.spec.parameters["$defs"]["Box"]["properties"]  # type: ignore[index]


async def test_parameters_may_have_names_that_pydantic_uses_itself() -> None:
    @tool
    def odd(json: str, copy: int, model_config: bool = False, _hidden: int = 1) -> str:
        return f"{json} {copy} {model_config} {_hidden}"

    assert (await odd.call('{"json": "a", "copy": 2, "_hidden": 3}', CONTEXT)).text == "a 2 False 3"


async def test_a_default_only_pydantic_knows_is_passed_on() -> None:
    @tool
    def count(most: Annotated[int, Field(default=5, ge=1, description="At most")]) -> int:
        return most

    assert (await count.call("{}", CONTEXT)).text == "5"
    assert count.spec.parameters["properties"]["most"]["description"] == "At most"  # type: ignore[index]


async def test_a_default_that_json_cannot_show_stays_the_functions_own_affair() -> None:
    nothing = object()

    @tool
    def get(key: str, default: Any = nothing) -> bool:
        return default is nothing

    assert (await get.call('{"key": "a"}', CONTEXT)).text == "true"


class Loop:
    def __init__(self) -> None:
        self.me = self

    def __repr__(self) -> str:
        return "<a loop>"


def circle() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("words", "words"),
        ("", "(empty)"),
        (None, "Done."),
        (0, "0"),
        (True, "true"),
        ({"a": [1, 2.5, None]}, '{"a":[1,2.5,null]}'),
        ((1, "é"), '[1,"é"]'),
        (b"caf\xc3\xa9 \xff", "café \ufffd"),
        (Loop(), '"<a loop>"'),
        (circle(), "[[...]]"),
        ("a\0b\ud800c", "a\ufffdb\ufffdc"),
    ],
)
async def test_whatever_it_returns_becomes_text(value: object, text: str) -> None:
    @tool
    def give() -> Any:
        return value

    result = await give.call("{}", CONTEXT)
    assert result.text == text
    assert result.value is value


async def test_a_tool_result_is_passed_on_as_it_is() -> None:
    given = ToolResult(text="found", is_waiting=True, sources=(Source(title="a", location="a:1"),), value=7)

    @tool
    async def find() -> ToolResult:
        return given

    assert await find.call("{}", CONTEXT) is given


async def test_a_result_of_50_mb_is_cut_before_anybody_keeps_it() -> None:
    @tool
    def flood() -> str:
        return "x" * 50_000_000

    @tool
    def flooded_result() -> ToolResult:
        return ToolResult(text="y" * 50_000_000, is_waiting=True)

    assert len((await flood.call("{}", CONTEXT)).text) == 50_000
    result = await flooded_result.call("{}", CONTEXT)
    assert (len(result.text), result.is_waiting) == (50_000, True)


async def test_context_variables_reach_a_function_in_its_thread() -> None:
    user = contextvars.ContextVar("user", default="nobody")
    user.set("ann")

    @tool
    def who() -> str:
        assert threading.current_thread() is not threading.main_thread()
        return user.get()

    assert (await who.call("{}", CONTEXT)).text == "ann"


class Hidden(BaseException):
    """Something that ``except Exception`` does not catch."""


@pytest.mark.guarantee("B2")
@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize(
    "error",
    [
        SystemExit(3),
        KeyboardInterrupt("stop"),
        GeneratorExit("gone"),
        Hidden("peek"),
        asyncio.CancelledError("mine"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_whatever_a_tool_raises_it_is_only_a_failed_tool(error: BaseException, is_async: bool) -> None:
    @tool
    async def waits() -> None:
        await asyncio.sleep(0)
        raise error

    @tool
    def blocks() -> None:
        raise error

    with pytest.raises(ToolError, match=f"failed with {type(error).__name__}"):
        await asyncio.create_task((waits if is_async else blocks).call("{}", CONTEXT))


@pytest.mark.parametrize("is_async", [True, False])
async def test_ordinary_errors_are_raised_as_they_are(is_async: bool) -> None:
    @tool
    async def waits() -> None:
        raise ZeroDivisionError("by zero")

    @tool
    def blocks() -> None:
        raise ZeroDivisionError("by zero")

    with pytest.raises(ZeroDivisionError, match="by zero"):
        await (waits if is_async else blocks).call("{}", CONTEXT)


@pytest.mark.parametrize("is_async", [True, False])
async def test_the_end_of_an_iterator_does_not_pass_for_the_end_of_the_call(is_async: bool) -> None:
    @tool
    async def waits() -> int:
        return next(iter(()))

    @tool
    def blocks() -> int:
        return next(iter(()))

    with pytest.raises(RuntimeError, match="StopIteration"):
        await (waits if is_async else blocks).call("{}", CONTEXT)


async def test_a_cancelled_call_is_cancelled_not_failed() -> None:
    @tool
    async def waits() -> None:
        await asyncio.sleep(60)

    task = asyncio.create_task(waits.call("{}", CONTEXT))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_call_that_is_closed_before_its_end_lets_go() -> None:
    @tool
    async def waits() -> None:
        await asyncio.sleep(60)

    async def first_step() -> Any:
        call = waits.call("{}", CONTEXT)
        call.send(None)
        return call

    call = await asyncio.create_task(first_step())
    call.close()
    outside = await asyncio.create_task(first_step())
    await asyncio.to_thread(outside.close)


untyped: Any = eval("lambda x: x")
untyped.__name__ = "untyped"


def several(*names: str) -> None: ...
def anything(**options: str) -> None: ...
def by_place(x: int, /) -> None: ...
def later(x: int) -> None: ...


later.__annotations__["x"] = "NotThere"


def opaque(x: Loop) -> None: ...
def callback(x: type[int]) -> None: ...
def field_default(x: int = Field(5)) -> None: ...
def yields() -> Iterator[int]:
    yield 1


async def yields_later() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (untyped, "without a type hint"),
        (several, r"\*args has no names"),
        (anything, r"\*\*kwargs has no names"),
        (by_place, "positional-only"),
        (later, "cannot be read"),
        (opaque, "without a JSON schema"),
        (field_default, "Annotated"),
        (yields, "return a list"),
        (yields_later, "return a list"),
        (lambda: 1, "a lambda"),
        (print, "built-in"),
        (Loop, "not a function"),
        (staticmethod(search_docs.__wrapped__), "not a function"),
        (3, "not a function"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_where_it_is_decorated(function: Any, words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        tool(function)


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan"), float("inf"), True, "5"])
def test_a_timeout_that_is_no_time_is_refused(timeout_s: Any) -> None:
    with pytest.raises(InvalidValueError, match="timeout_s"):
        tool(timeout_s=timeout_s)(search_docs.__wrapped__)


@pytest.mark.parametrize("name", ["", "two words", "é", "x" * 65, 5, "a\n"])
def test_a_name_that_providers_would_refuse_is_refused_here(name: Any) -> None:
    with pytest.raises(InvalidValueError, match="name of a tool"):
        tool(name=name)(search_docs.__wrapped__)


async def test_without_a_docstring_there_is_no_description_and_without_parameters_no_arguments() -> None:
    @tool
    def now() -> str:
        return "now"

    assert now.spec.description == ""
    assert (await now.call("", CONTEXT)).text == "now"
    with pytest.raises(ToolArgumentsError, match=r"no arguments: \{\}"):
        await now.call('{"x": 1}', CONTEXT)
