"""What a function tells of itself: its parameters by their type hints, and the words of its docstring."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Union, get_args, get_origin, get_type_hints

from endstop.errors import InvalidValueError, cause
from endstop.ports import ToolContext

_REFUSED_KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "it is positional-only",
    inspect.Parameter.VAR_POSITIONAL: "*args has no names that a model could use",
    inspect.Parameter.VAR_KEYWORD: "**kwargs has no names that a model could use",
}
_ARGUMENT_LINE = re.compile(r"\s+(\w+)\s*(?:\([^)]*\))?:\s*(.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument that a model may give."""

    name: str
    annotation: object
    default: object = inspect.Parameter.empty
    description: str | None = None

    @property
    def has_default(self) -> bool:
        return self.default is not inspect.Parameter.empty


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSignature:
    """What a tool needs to know of its function."""

    description: str
    parameters: tuple[Parameter, ...]
    context_parameter: str | None
    """The parameter that takes the ``ToolContext``."""
    is_method: bool


def read_signature(function: Callable[..., object], local_names: Mapping[str, object]) -> FunctionSignature:
    """Read a function; ``InvalidValueError`` if it cannot be a tool. ``local_names``: for its hints."""
    parameters = list(inspect.signature(function).parameters.values())
    hints = _type_hints(function, local_names)
    is_method = bool(parameters) and parameters[0].name == "self" and "self" not in hints
    description, described = read_docstring(inspect.getdoc(function) or "")
    found: list[Parameter] = []
    context_parameter: str | None = None
    for one in parameters[1:] if is_method else parameters:
        _check_kind(function, one)
        if one.name not in hints:
            raise _refused(function, f"parameter {one.name!r} without a type hint", "a type hint for each")
        annotation = hints[one.name]
        if _is_context(annotation):
            context_parameter = one.name
            continue
        _check_default(function, one)
        found.append(
            Parameter(
                name=one.name,
                annotation=annotation,
                default=one.default,
                description=_annotated_description(annotation) or described.get(one.name),
            )
        )
    return FunctionSignature(
        description=description,
        parameters=tuple(found),
        context_parameter=context_parameter,
        is_method=is_method,
    )


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """The first paragraph, and what a Google-style ``Args:`` section says of each parameter."""
    description = " ".join(text.split("\n\n")[0].split())
    described: dict[str, str] = {}
    _, heading, section = text.partition("\nArgs:\n")
    if not heading:
        return description, described
    last = ""
    for line in section.splitlines():
        if line and not line[0].isspace():
            break
        match = _ARGUMENT_LINE.match(line)
        if match:
            last = match[1]
            described[last] = match[2].strip()
        elif last and line.strip():
            described[last] += " " + line.strip()
    return description, described


def _type_hints(function: Callable[..., object], local_names: Mapping[str, object]) -> dict[str, object]:
    try:
        return get_type_hints(function, localns=dict(local_names), include_extras=True)
    except Exception as error:
        raise _refused(
            function,
            f"type hints that cannot be read ({cause(error)})",
            "type hints whose names are known where the function is defined",
        ) from error


def _check_kind(function: Callable[..., object], one: inspect.Parameter) -> None:
    why = _REFUSED_KINDS.get(one.kind)
    if why is not None:
        raise _refused(function, f"parameter {one.name!r}: {why}", "parameters that can be given by name")


def _check_default(function: Callable[..., object], one: inspect.Parameter) -> None:
    pydantic_fields = sys.modules.get("pydantic.fields")
    if pydantic_fields is not None and isinstance(one.default, pydantic_fields.FieldInfo):
        raise _refused(
            function,
            f"parameter {one.name!r} with Field(...) as its default, which a direct call would get",
            "Annotated[int, Field(ge=1)] = 5",
        )


def _refused(function: Callable[..., object], what: str, allowed: str) -> InvalidValueError:
    name = getattr(function, "__qualname__", "function")
    return InvalidValueError(f"tool {name}", what, allowed=allowed, to_do="Change the function's signature")


def _is_context(annotation: object) -> bool:
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, UnionType):
        return set(get_args(annotation)) == {ToolContext, NoneType}
    return annotation is ToolContext


def _annotated_description(annotation: object) -> str | None:
    if get_origin(annotation) is not Annotated:
        return None
    return next((one for one in get_args(annotation)[1:] if isinstance(one, str)), None)
