"""YAML as policies are written in it: values with the places where they stand, all of them plain.

What a policy has no use for is refused: aliases (a few of them can stand for millions of values), tags,
several documents, and more or deeper nested values than any policy has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from endstop.coding.policy_problems import PolicyProblem, PolicyRefusedError
from endstop.errors import brief

MOST_BYTES = 1_000_000
_MOST_EVENTS = 5_000
_MOST_DEPTH = 6
_MOST_DIGITS = 40
_TAG = "tag:yaml.org,2002:"
_TEXT_TAGS = ("str", "timestamp", "merge", "value")
_TRUE = ("true", "yes", "on", "y")
_IN_QUOTES = 'Put text that begins with one of * & ! [ { in quotes, such as "*.pem"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """Text, a number, true, false or null."""

    value: object
    start: int
    end: int
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """A list."""

    items: tuple[Node, ...]
    start: int
    end: int
    line: int
    is_flow: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """Keys and what stands behind them."""

    entries: tuple[tuple[Node, Node], ...]
    start: int
    end: int
    line: int
    is_flow: bool


Node: TypeAlias = Leaf | Items | Entries
"""What a document is made of. ``start`` and ``end`` are places in its text, lines count from 1."""


def read_yaml(text: str) -> Node | None:
    """The one document of a text; None if nothing is in it. ``PolicyRefusedError`` if it cannot be read."""
    from ruamel.yaml.error import YAMLError

    try:
        _require_bounded(text)
        composed = _yaml().compose(text)
        return None if composed is None else _node(composed)
    except (YAMLError, ValueError) as error:  # the latter for a version of YAML of thousands of digits
        raise PolicyRefusedError([_unreadable(error)]) from None


def plain(node: Node | None) -> Any:
    """The value alone. Of keys that stand there twice, the last counts; ``policy_file`` refuses them."""
    match node:
        case None:
            return None
        case Leaf():
            return node.value
        case Items():
            return [plain(item) for item in node.items]
        case Entries():
            return {str(plain(key)): plain(value) for key, value in node.entries}


def last_place(node: Node) -> int:
    """Where a value really ends. A list or mapping in block style claims the comments after it, too."""
    match node:
        case Items(is_flow=False, items=(*_, last)) | Entries(is_flow=False, entries=(*_, (_, last))):
            return last_place(last)
        case _:
            return node.end


def _yaml() -> Any:
    from ruamel.yaml import YAML

    return YAML(typ="safe", pure=True)


def _require_bounded(text: str) -> None:
    """Look at a text piece by piece, before anything is made of it."""
    if len(text) > MOST_BYTES:
        raise PolicyRefusedError([_problem(f"There are {len(text):,} characters", allowed=f"{MOST_BYTES:,}")])
    depth = documents = 0
    for number, (name, event) in enumerate(_events(text)):
        line: int = event.start_mark.line + 1
        depth += {"Start": 1, "End": -1}.get(name.removeprefix("Sequence").removeprefix("Mapping"), 0)
        documents += name == "DocumentStart"
        if name == "Alias":
            raise PolicyRefusedError(
                [_problem(f"An alias stands here: *{brief(event.anchor)[1:-1]}", to_do=_IN_QUOTES, line=line)]
            )
        if depth > _MOST_DEPTH:
            raise PolicyRefusedError(
                [_problem("It is nested too deep", allowed=f"{_MOST_DEPTH} levels", line=line)]
            )
        if number > _MOST_EVENTS:
            raise PolicyRefusedError([_problem("There is too much in it for a policy", line=line)])
        if documents > 1:
            raise PolicyRefusedError([_problem("A second document begins", allowed="one", line=line)])


def _events(text: str) -> Iterator[tuple[str, Any]]:
    for event in _yaml().parse(text):
        yield type(event).__name__.removesuffix("Event"), event


def _node(composed: Any) -> Node:
    start, end = composed.start_mark.index, composed.end_mark.index
    line = composed.start_mark.line + 1
    tag = str(composed.tag).removeprefix(_TAG)
    match type(composed).__name__, tag:
        case "MappingNode", "map":
            entries = tuple((_node(key), _node(value)) for key, value in composed.value)
            return Entries(
                entries=entries, start=start, end=end, line=line, is_flow=bool(composed.flow_style)
            )
        case "SequenceNode", "seq":
            items = tuple(_node(item) for item in composed.value)
            return Items(items=items, start=start, end=end, line=line, is_flow=bool(composed.flow_style))
        case "ScalarNode", "null" | "bool" | "int" | "float" | "str" | "timestamp" | "merge" | "value":
            return Leaf(value=_leaf(tag, str(composed.value)), start=start, end=end, line=line)
        case _:
            what = f"A tag stands here that means nothing in a policy: {brief(tag)[1:-1]}"
            raise PolicyRefusedError([_problem(what, to_do=_IN_QUOTES, line=line)])


def _leaf(tag: str, text: str) -> object:
    """What a scalar means. A number that cannot be one is text, and refused where a number belongs."""
    if tag == "null":
        return None
    if tag == "bool":
        return text.lower() in _TRUE
    if tag in _TEXT_TAGS or len(text) > _MOST_DIGITS:
        return text
    digits = text.replace("_", "").lower()
    try:
        if tag == "int":
            return int(digits, 0 if digits.lstrip("+-").startswith(("0x", "0o", "0b")) else 10)
        return float(digits.replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        return text


def _unreadable(error: Any) -> PolicyProblem:
    mark: Any = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    said = " ".join(str(getattr(error, name, None) or "") for name in ("context", "problem")).strip()
    hint = _IN_QUOTES if "alias" in said or "tag" in said or "anchor" in said else ""
    line = None if mark is None else mark.line + 1
    return _problem(
        f"This is not YAML ({said or 'there is something that may not be in it'})", to_do=hint, line=line
    )


def _problem(what: str, *, allowed: str = "", to_do: str = "", line: int | None = None) -> PolicyProblem:
    return PolicyProblem(key="", what=what, allowed=allowed, to_do=to_do, line=line)
