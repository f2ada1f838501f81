"""Functions as tools: the ``@tool`` decorator."""

from __future__ import annotations

import asyncio
import inspect
import math
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from endstop.errors import InvalidValueError, ToolError, cause
from endstop.kernel.texts import checked_tool_name
from endstop.ports import ToolContext, ToolResult, ToolSpec, ToolTraits
from endstop.tools.parameters import FunctionSignature, read_signature
from endstop.tools.results import result_of
from endstop.tools.schema import Arguments
from endstop.tools.threads import call_in_thread

P = ParamSpec("P")
R = TypeVar("R")


class FunctionTool(Generic[P, R]):
    """A function that a model can call. Called directly, it is the function it was.

    A ``def`` runs in a thread of its own and cannot block the run; an ``async def`` runs in the event loop.
    """

    __name__: str
    __wrapped__: Callable[P, R]

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        description: str | None = None,
        changes_something: bool = False,
        idempotent: bool = False,
        cursor: bool = False,
        timeout_s: float | None = None,
        local_names: Mapping[str, object] | None = None,
    ) -> None:
        """``local_names``: names that the type hints use and that are not global."""
        _check_function(function)
        self._function = function
        self._instance: object = None
        self._is_async = inspect.iscoroutinefunction(function)
        self._signature: FunctionSignature = read_signature(function, local_names or {})
        name = checked_tool_name(function.__name__ if name is None else name)
        self._arguments = Arguments(name, self._signature.parameters)
        self._spec = ToolSpec(
            name=name,
            description=self._signature.description if description is None else description,
            parameters=self._arguments.schema,
        )
        self._traits = ToolTraits(
            changes_something=changes_something,
            is_idempotent=idempotent,
            is_cursor=cursor,
            timeout_s=_checked_timeout(timeout_s),
        )
        update_wrapper(self, function)

    @property
    def spec(self) -> ToolSpec:
        return self._spec

    @property
    def traits(self) -> ToolTraits:
        return self._traits

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> FunctionTool[..., R]:
        """Bind to an object, as functions do, when this is a method."""
        if instance is None or not self._signature.is_method:
            return self
        bound: FunctionTool[..., R] = object.__new__(type(self))
        bound.__dict__.update(self.__dict__)
        bound._instance = instance
        bound._function = self._function.__get__(instance, owner)
        return bound

    def __repr__(self) -> str:
        return f"<tool {self._spec.name}>"

    async def call(self, arguments: str, context: ToolContext) -> ToolResult:
        """Call it with arguments as a model writes them. See the port."""
        given = self._arguments.read(arguments)
        if self._signature.is_method and self._instance is None:
            raise ToolError(f"{self._spec.name} is a method", to_do="Use it as a tool of an object")
        if self._signature.context_parameter is not None:
            given[self._signature.context_parameter] = context
        task = asyncio.current_task()
        try:
            if self._is_async:
                return result_of(await cast("Awaitable[object]", self._function(**given)))  # pyright: ignore[reportCallIssue] - read to fit
            value = await call_in_thread(self._in_thread, given)
            # A plain function may hand out a coroutine, as functools.partial of an async one does.
            return result_of(await value) if inspect.iscoroutine(value) else cast("ToolResult", value)
        except Exception:
            raise
        except asyncio.CancelledError as error:
            if task is None or task.cancelling():
                raise
            raise _failed(self._spec.name, error) from error
        except GeneratorExit as error:
            if _current_task() is not task:
                raise  # it is this coroutine that is being closed
            raise _failed(self._spec.name, error) from error
        except BaseException as error:
            # Ctrl-C and sys.exit() of a tool end the tool, not the process: asyncio would let them through.
            raise _failed(self._spec.name, error) from error

    def _in_thread(self, given: dict[str, Any]) -> object:
        """Call, and make the result into text, both in the thread: a large value takes its time."""
        value = self._function(**given)  # pyright: ignore[reportCallIssue] - read to fit its signature
        return value if inspect.iscoroutine(value) else result_of(value)


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    changes_something: bool = False,
    idempotent: bool = False,
    cursor: bool = False,
    timeout_s: float | None = None,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    changes_something: bool = False,
    idempotent: bool = False,
    cursor: bool = False,
    timeout_s: float | None = None,
) -> Any:
    """Make a function a tool: ``@tool``, or ``@tool(changes_something=True, timeout_s=10)``.

    The schema comes from the type hints, the description from the first paragraph of the docstring, those of
    the parameters from ``Annotated[str, "..."]``, pydantic's ``Field`` or an ``Args:`` section. A parameter
    of type ``ToolContext`` is filled in and hidden from the model.
    """
    local_names = sys._getframe(1).f_locals  # pyright: ignore[reportPrivateUsage] - there is no other way

    def made(function: Callable[..., Any]) -> FunctionTool[..., Any]:
        return FunctionTool(
            function,
            name=name,
            description=description,
            changes_something=changes_something,
            idempotent=idempotent,
            cursor=cursor,
            timeout_s=timeout_s,
            local_names=local_names,
        )

    return made if function is None else made(function)


def _check_function(function: Callable[..., object]) -> None:
    what = ""
    if not (inspect.isfunction(function) or inspect.ismethod(function) or inspect.isbuiltin(function)):
        what = "not a function"
    elif getattr(function, "__name__", "") == "<lambda>":
        what = "a lambda, which has no name and no type hints"
    elif inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        what = "a generator, which has no single result: return a list"
    elif inspect.isbuiltin(function):
        what = "a built-in function, which has no type hints"
    if what:
        raise InvalidValueError(
            "tool",
            function,
            allowed="a function made with def or async def, with type hints",
            to_do=f"This is {what}. Write a function around it, and put @tool right above its def",
        )


def _checked_timeout(timeout_s: object) -> float | None:
    if timeout_s is None:
        return None
    if isinstance(timeout_s, int | float) and not isinstance(timeout_s, bool) and 0 < timeout_s < math.inf:
        return float(timeout_s)
    raise InvalidValueError("timeout_s", timeout_s, allowed="more than 0 seconds, or None")


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def _failed(name: str, error: BaseException) -> ToolError:
    return ToolError(f"{name} failed with {cause(error)}")
