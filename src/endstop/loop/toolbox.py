"""The toolbox of an agent: its tools by name, and the words for a model that asks for another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from endstop.errors import InvalidValueError, UnknownToolError, brief
from endstop.kernel.texts import checked_tool_name, closest
from endstop.ports import Tool, ToolSpec

_MOST_NAMES_SHOWN = 30


class Toolbox:
    """Tools with unique names."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for one in tools:
            self._add(one)
        self.specs: tuple[ToolSpec, ...] = tuple(one.spec for one in self._tools.values())
        """The tools as a model is told of them."""

    def get(self, name: str) -> Tool:
        """The tool of that name. ``UnknownToolError`` with a suggestion if there is none."""
        found = self._tools.get(name)
        if found is None:
            raise self._unknown(name)
        return found

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def _add(self, one: Tool) -> None:
        if not isinstance(one, Tool):  # pyright: ignore[reportUnnecessaryIsInstance] - callers err
            raise InvalidValueError("tool", one, allowed="a Tool", to_do="Put @tool before the function")
        name = checked_tool_name(one.spec.name)
        if name in self._tools:
            raise InvalidValueError(
                "name of a tool",
                name,
                allowed="each name once",
                to_do="Another tool has this name: give one of them another with @tool(name=...)",
            )
        self._tools[name] = one

    def _unknown(self, name: str) -> UnknownToolError:
        meant = closest(name, self._tools)
        shown = ", ".join(self.names[:_MOST_NAMES_SHOWN]) or "none: there are no tools here"
        more = len(self._tools) - _MOST_NAMES_SHOWN
        return UnknownToolError(
            f"There is no tool {brief(name)}",
            allowed=shown + (f" and {more} more" if more > 0 else ""),
            to_do=f"Probably {meant} was meant" if meant else "Use one of these, or go on without",
        )
