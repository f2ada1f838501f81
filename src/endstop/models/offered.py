"""The tools a model is offered, by what can be done with them: search, read, list, hand in an answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from endstop.ports import ToolSpec

_QUERY_NAMES = ("query", "q", "search_query", "search", "keywords", "question", "term")
_ANSWER_NAMES = ("answer", "result", "text", "summary", "message", "content", "response")
READS, LISTS = "read_file", "list_files"
_SEARCHES_BY_NAME = ("search_code", "search_docs")
_FINISHES_BY_NAME = re.compile(r"(?:^|_)(?:finish|finished|done|submit|answer|complete|report)(?:$|_)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """The tools of use to a model that can only look things up. Calls are (tool, arguments)."""

    search: tuple[tuple[str, str], ...] = ()
    """The tools that search, each with the parameter for what to look for."""
    read: ToolSpec | None = None
    list: ToolSpec | None = None
    finish: tuple[str, str] | None = None
    """The tool that takes the answer, and the parameter for it."""

    def searches(self, words: Sequence[str]) -> list[tuple[str, str]]:
        query = " ".join(words)
        return [(tool, _json({parameter: query})) for tool, parameter in self.search] if query else []

    def reads(self, places: Sequence[tuple[str, int]], *, lines: int) -> list[tuple[str, str]]:
        if self.read is None:
            return []
        taken = _properties(self.read)
        calls: list[tuple[str, str]] = []
        for path, first_line in places:
            wanted: dict[str, object] = {"path": path, "start_line": first_line, "lines": lines}
            given = {key: value for key, value in wanted.items() if key in taken}
            calls.append((self.read.name, _json(given)))
        return calls

    def listings(self) -> list[tuple[str, str]]:
        return [] if self.list is None else [(self.list.name, "{}")]

    def finishing(self, answer: str) -> tuple[str, str] | None:
        return None if self.finish is None else (self.finish[0], _json({self.finish[1]: answer}))


def offered(tools: Sequence[ToolSpec]) -> Offered:
    """What can be done with ``tools``. The project's own are known by name, others by their parameters."""
    by_name = {tool.name: tool for tool in tools}
    own = [by_name[name] for name in _SEARCHES_BY_NAME if name in by_name]
    searching = [(tool.name, name) for tool in own or tools if (name := _text_parameter(tool, _QUERY_NAMES))]
    finishing = [
        (tool.name, name)
        for tool in tools
        if _FINISHES_BY_NAME.search(tool.name) and (name := _text_parameter(tool, _ANSWER_NAMES))
    ]
    read, listing = by_name.get(READS), by_name.get(LISTS)
    return Offered(
        search=tuple(searching),
        read=read if read is not None and "path" in _properties(read) else None,
        list=listing if listing is not None and not _required(listing) else None,
        finish=finishing[0] if finishing else None,
    )


def _text_parameter(tool: ToolSpec, names: Sequence[str]) -> str | None:
    """The parameter of one of these names, if it takes text and no other parameter is required."""
    properties, required = _properties(tool), _required(tool)
    for name in names:
        schema = properties.get(name)
        if isinstance(schema, Mapping) and cast("Mapping[str, object]", schema).get("type") == "string":
            return name if required <= {name} else None
    return None


def _properties(tool: ToolSpec) -> Mapping[str, object]:
    properties = tool.parameters.get("properties")
    return cast("Mapping[str, object]", properties) if isinstance(properties, Mapping) else {}


def _required(tool: ToolSpec) -> set[str]:
    required = tool.parameters.get("required")
    return set(cast("Sequence[str]", required)) if isinstance(required, list | tuple) else set()


def _json(arguments: Mapping[str, object]) -> str:
    return json.dumps(arguments, ensure_ascii=False)
