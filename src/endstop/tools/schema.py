"""Arguments: a JSON schema to tell the model, and a reader for what the model wrote.

Reading is strict (``false`` is no number), except for slips that leave no doubt: a number, boolean, list or
object in quotes, ``5.0`` for ``5``, a number for text, ``null`` for an argument that may be left out. The
rest is refused, all problems at once, in words a model can act on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from endstop.errors import InvalidValueError, ToolArgumentsError, cause
from endstop.tools.complaints import complaint, not_json, too_long
from endstop.tools.parameters import Parameter

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

MOST_ARGUMENT_CHARS = 500_000

_NOT_JSON = ("json_invalid", "string_unicode")

_MENDABLE_FROM_TEXT = {
    "int_type": int,
    "float_type": int | float,
    "bool_type": bool,
    "list_type": list,
    "dict_type": dict,
    "model_type": dict,
    "dataclass_type": dict,
    "tuple_type": list,
    "set_type": list,
}


class Arguments:
    """The arguments that a tool takes."""

    def __init__(self, tool: str, parameters: Sequence[Parameter]) -> None:
        self._tool = tool
        self._parameters = {f"p{number}": one for number, one in enumerate(parameters)}
        # The names a user chose live in aliases: as fields, "json" or "copy" would hide pydantic's own.
        self._model = _model(tool, self._parameters)
        self.schema = _schema(tool, self._model)
        self._validate_json = self._model.__pydantic_validator__.validate_json
        self._can_be_omitted = {one.name for one in parameters if one.has_default}

    def read(self, text: str) -> dict[str, Any]:
        """The keyword arguments in ``text``. ``ToolArgumentsError`` if they are not what the tool takes."""
        if len(text) > MOST_ARGUMENT_CHARS:
            raise too_long(self._tool, len(text), MOST_ARGUMENT_CHARS)
        try:
            return self._given(self._validate_json(text, strict=True))
        except ValueError as error:
            return self._given(self._read_again(text, cast("ValidationError", error)))

    def _given(self, read: object) -> dict[str, Any]:
        """What was given. What was left out is left to the function's own defaults."""
        if not self._can_be_omitted:
            return {one.name: getattr(read, field) for field, one in self._parameters.items()}
        is_set = cast("BaseModel", read).model_fields_set
        return {
            one.name: getattr(read, field)
            for field, one in self._parameters.items()
            if field in is_set or not one.has_default
        }

    def _read_again(self, text: str, error: ValidationError) -> object:
        """Mend what can be mended, and read once more."""
        problems = _problems(error)
        if problems[0]["type"] in _NOT_JSON:
            if text.strip():
                raise not_json(self._tool, text, problems[0], self.schema) from None
            tree: object = {}
        else:
            from pydantic_core import from_json

            tree = from_json(text)
        if tree is None:
            tree = {}
        for problem in problems:
            tree = _mended(tree, problem, self._can_be_omitted)
        try:
            return self._validate_json(json.dumps(tree), strict=True)
        except ValueError as still:
            raise self._complaint(cast("ValidationError", still)) from None

    def _complaint(self, error: ValidationError) -> ToolArgumentsError:
        return complaint(self._tool, _problems(error), self.schema)


def read_object(tool: str, text: str, schema: Mapping[str, object]) -> dict[str, Any]:
    """The JSON object in ``text``, for a tool that checks what is in it by itself."""
    if len(text) > MOST_ARGUMENT_CHARS:
        raise too_long(tool, len(text), MOST_ARGUMENT_CHARS)
    from pydantic import TypeAdapter

    try:
        return TypeAdapter(dict[str, Any]).validate_json(text if text.strip() else "{}")
    except ValueError as error:
        problems = _problems(cast("ValidationError", error))
        if problems[0]["type"] in _NOT_JSON:
            raise not_json(tool, text, problems[0], schema) from None
        raise complaint(tool, problems, schema) from None


def _problems(error: ValidationError) -> list[ErrorDetails]:
    return error.errors(include_url=False, include_context=False)


def _model(tool: str, parameters: Mapping[str, Parameter]) -> type[BaseModel]:
    from pydantic import ConfigDict, Field, create_model

    fields: dict[str, Any] = {}
    for field, one in parameters.items():
        details: dict[str, Any] = {"alias": one.name}
        if one.has_default:
            details["default"] = one.default
        if one.description is not None:
            details["description"] = one.description
        fields[field] = (one.annotation, Field(**details))
    try:
        return create_model(tool, __config__=ConfigDict(extra="forbid"), **fields)
    except Exception as error:
        raise _no_schema(tool, error) from error


def _schema(tool: str, model: type[BaseModel]) -> dict[str, object]:
    from pydantic.json_schema import GenerateJsonSchema

    class QuietSchema(GenerateJsonSchema):
        """A default that JSON cannot show is left out in silence: it is the function's own affair."""

        ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - pydantic's form

    try:
        schema = model.model_json_schema(schema_generator=QuietSchema)
        json.dumps(schema, allow_nan=False)
    except Exception as error:
        raise _no_schema(tool, error) from error
    return _without_titles(schema)


def _no_schema(tool: str, error: Exception) -> InvalidValueError:
    return InvalidValueError(
        f"tool {tool}",
        f"a signature without a JSON schema ({cause(error)})",
        allowed="parameters of types that JSON can hold: str, int, float, bool, list, dict, Enum, Literal, "
        "dataclasses, pydantic models",
        to_do="Change the type hints",
    )


def _without_titles(schema: dict[str, Any]) -> dict[str, object]:
    """pydantic gives everything a title made of its name: tokens that tell the model nothing."""
    slim: dict[str, object] = {}
    for key, value in schema.items():
        if key == "title" and isinstance(value, str):
            continue
        if key in ("properties", "$defs") and isinstance(value, dict):
            named = cast("dict[str, dict[str, Any]]", value)
            slim[key] = {name: _without_titles(one) for name, one in named.items()}
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems") and isinstance(value, list):
            slim[key] = [_without_titles(one) for one in cast("list[dict[str, Any]]", value)]
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            slim[key] = _without_titles(cast("dict[str, Any]", value))
        else:
            slim[key] = value
    return slim


def _mended(tree: object, problem: ErrorDetails, can_be_omitted: set[str]) -> object:
    """The arguments with one harmless slip put right, or as they were."""
    path = problem["loc"]
    if not path:
        return _from_text(tree, dict)
    *way, last = path
    place: Any = tree
    try:
        for step in way:
            place = place[step]
        value = place[last]
        if value is None and not way and last in can_be_omitted:
            del place[last]
        else:
            place[last] = _put_right(value, problem["type"])
    except (LookupError, TypeError):
        return tree  # the path goes through a union: leave it
    return tree


def _put_right(value: object, kind: str) -> object:
    if kind == "int_type" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind == "string_type" and isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value)
    wanted = _MENDABLE_FROM_TEXT.get(kind)
    return value if wanted is None else _from_text(value, wanted)


def _from_text(value: object, wanted: Any) -> object:
    """The value that a text spells, if it is of the kind that is wanted."""
    if not isinstance(value, str):
        return value
    try:
        spelt = json.loads(value.strip().lower() if wanted is bool else value)
    except (ValueError, RecursionError):
        return value
    if isinstance(spelt, bool) is not (wanted is bool):
        return value
    return spelt if isinstance(spelt, wanted) else value
