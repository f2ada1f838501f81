"""What is wrong with the arguments of a call, in words that a model can act on."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from endstop.errors import ToolArgumentsError
from endstop.kernel.texts import closest

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_MOST_PROBLEMS = 10
_MOST_VALUE_CHARS = 60
_MOST_PARAMETERS = 20
_NEAR_CHARS = 20
_EXAMPLE_DEPTH = 4
_POSITION = re.compile(r"(.*) at line (\d+) column (\d+)$")


def too_long(tool: str, length: int, most: int) -> ToolArgumentsError:
    return ToolArgumentsError(
        f"The arguments of {tool} are {length:,} characters long",
        allowed=f"at most {most:,} characters",
        to_do="Say it in less, or do it in several calls",
    )


def not_json(tool: str, text: str, problem: ErrorDetails, schema: Mapping[str, object]) -> ToolArgumentsError:
    """The arguments are no JSON at all: say where they break."""
    said = problem["msg"].removeprefix("Invalid JSON: ")
    where = _POSITION.match(said)
    if where is None:
        what = f"The arguments of {tool} are not JSON: {said}"
    else:
        near = _near(text, line=int(where[2]), column=int(where[3]))
        what = f"The arguments of {tool} are not JSON: {where[1]} at line {where[2]}, column {where[3]}{near}"
    return ToolArgumentsError(
        what, allowed="one JSON object, complete", to_do=f"Call it again, such as {example(schema)}"
    )


def complaint(
    tool: str, problems: Sequence[ErrorDetails], schema: Mapping[str, object]
) -> ToolArgumentsError:
    """The arguments are JSON, but not what the tool takes: say all that is wrong."""
    names = list(_properties(schema))
    said = list(dict.fromkeys(_said(one, names) for one in problems))
    if len(said) > _MOST_PROBLEMS:
        said = [*said[:_MOST_PROBLEMS], f"and {len(said) - _MOST_PROBLEMS} more problems"]
    return ToolArgumentsError(
        f"The arguments of {tool} are wrong: {'; '.join(said)}",
        allowed=_allowed(schema),
        to_do=f"Call it again, such as {example(schema)}",
    )


def example(schema: Mapping[str, object]) -> str:
    """Arguments that fit: the required ones, and up to two others."""
    required = cast("Sequence[str]", schema.get("required", ()))
    properties = _properties(schema)
    optional = [name for name in properties if name not in required][:2]
    shown = {
        name: _example_value(one, schema, _EXAMPLE_DEPTH)
        for name, one in properties.items()
        if name in required or name in optional
    }
    return json.dumps(shown, ensure_ascii=False, default=str)


def _said(problem: ErrorDetails, names: Sequence[str]) -> str:
    where = ".".join(str(step)[:_MOST_VALUE_CHARS] for step in problem["loc"])
    kind, message = problem["type"], problem["msg"]
    if kind == "missing":
        return f"{where} is missing"
    if kind == "extra_forbidden":
        meant = closest(str(problem["loc"][-1]), names)
        return f"there is no argument {where}" + (f" (probably {meant} was meant)" if meant else "")
    if not where:
        return f"they should be a JSON object, not {_shown(problem['input'])}"
    expected = message.removeprefix("Value error, ")
    for subject in ("Input ", "String ", "List "):
        expected = expected.removeprefix(subject)
    return f"{where} is {_shown(problem['input'])}, but {expected}"


def _allowed(schema: Mapping[str, object]) -> str:
    required = cast("Sequence[str]", schema.get("required", ()))
    properties = _properties(schema)
    if not properties:
        return "no arguments: {}"
    shown = [
        f"{name} ({_kind(one, schema)}{', required' if name in required else ''})"
        for name, one in list(properties.items())[:_MOST_PARAMETERS]
    ]
    return ", ".join(shown) + (" ..." if len(properties) > _MOST_PARAMETERS else "")


def _near(text: str, *, line: int, column: int) -> str:
    lines = text.split("\n")
    if line > len(lines) or not lines[line - 1]:
        return ""
    place = lines[line - 1]
    start = max(0, column - _NEAR_CHARS)
    return f", near {json.dumps(place[start : column + _NEAR_CHARS], ensure_ascii=False)}"


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return (
        text
        if len(text) <= _MOST_VALUE_CHARS
        else f"{text[:_MOST_VALUE_CHARS]}... ({len(text):,} characters)"
    )


def _properties(schema: Mapping[str, object]) -> Mapping[str, Mapping[str, Any]]:
    return cast("Mapping[str, Mapping[str, Any]]", schema.get("properties", {}))


def _resolved(one: Mapping[str, Any], schema: Mapping[str, object]) -> Mapping[str, Any]:
    """What a ``$ref`` refers to; of several possibilities, the first."""
    for _ in range(_EXAMPLE_DEPTH):
        if "$ref" in one:
            definitions = cast("Mapping[str, Mapping[str, Any]]", schema.get("$defs", {}))
            one = definitions.get(str(one["$ref"]).rsplit("/", 1)[-1], {})
        elif one.get("anyOf") or one.get("oneOf"):
            one = (one.get("anyOf") or one["oneOf"])[0]
    return one


def _kind(one: Mapping[str, Any], schema: Mapping[str, object]) -> str:
    one = _resolved(one, schema)
    if "enum" in one:
        return "one of " + ", ".join(_shown(value) for value in one["enum"][:_MOST_PARAMETERS])
    return str(one.get("type", "anything"))


def _example_value(one: Mapping[str, Any], schema: Mapping[str, object], depth: int) -> object:
    """A value that fits, as far as a glance at the schema tells."""
    if one.get("default") is not None:
        return one["default"]
    one = _resolved(one, schema)
    for key in ("examples", "enum"):
        if one.get(key):
            return one[key][0]
    if "const" in one:
        return one["const"]
    match one.get("type"):
        case "integer" | "number":
            return one.get("minimum", 1)
        case "boolean":
            return True
        case "null":
            return None
        case "array":
            inside = cast("Mapping[str, Any]", one.get("items") or {})
            return [_example_value(inside, schema, depth - 1)] if inside and depth else []
        case "object":
            required = cast("Sequence[str]", one.get("required", ()))
            inner = _properties(one)
            return {n: _example_value(inner[n], schema, depth - 1) for n in required if n in inner and depth}
        case _:
            return "..."
