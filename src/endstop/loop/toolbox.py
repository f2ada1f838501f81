"""The toolbox of an agent: its tools by name, and the words for a model that asks for another."""

from __future__ import annotations

from collections.abc import Iterable

from endstop.errors import UnknownToolError, brief
from endstop.kernel.texts import closest
from endstop.ports import Tool, ToolSpec

_MOST_NAMES_SHOWN = 30


class Toolbox:
    """Tools with unique names."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        self.specs: tuple[ToolSpec, ...] = tuple(tool.spec for tool in self._tools.values())
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

    def _unknown(self, name: str) -> UnknownToolError:
        meant = closest(name, self._tools)
        shown = ", ".join(self.names[:_MOST_NAMES_SHOWN]) or "none: there are no tools here"
        more = len(self._tools) - _MOST_NAMES_SHOWN
        return UnknownToolError(
            f"There is no tool {brief(name)}",
            allowed=shown + (f" and {more} more" if more > 0 else ""),
            to_do=f"Did you mean {meant}?" if meant else "Use one of these, or go on without",
        )
