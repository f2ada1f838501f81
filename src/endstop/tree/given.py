"""What a node was given, read as what it has to be to run."""

from __future__ import annotations

from collections.abc import Mapping

from endstop.errors import InvalidValueError
from endstop.tree.kinds import CONFIGURED_COUNTS
from endstop.tree.spec import NodeSpec, PlainValue


class Given:
    """The parameters of one node. Whatever cannot be read is an ``InvalidValueError``."""

    __slots__ = ("node",)

    def __init__(self, node: NodeSpec) -> None:
        self.node = node

    def __contains__(self, name: str) -> bool:
        return self.node.parameters.get(name) is not None

    def count(self, name: str, counts: Mapping[str, int]) -> int:
        """A whole number, or the configured one that is named."""
        value = self.node.parameters.get(name)
        if isinstance(value, str) and value in CONFIGURED_COUNTS and value not in counts:
            raise self.wrong(name, f"a number behind that name: counts={{{value!r}: 30}}")
        if isinstance(value, str) and value in counts:
            value = counts[value]
        if type(value) is not int or value < 1:
            names = "".join(f", {one!r}" for one in counts)
            raise self.wrong(name, f"a whole number from 1{names}")
        return value

    def seconds(self, name: str) -> float:
        value = self.node.parameters.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise self.wrong(name, "a number above 0")
        return float(value)

    def text(self, name: str) -> str:
        value = self.node.parameters.get(name)
        if not isinstance(value, str):
            raise self.wrong(name, "text")
        return value

    def arguments(self) -> dict[str, PlainValue]:
        value = self.node.parameters.get("args")
        if not value:
            return {}  # an empty table may have become an empty list
        if not isinstance(value, dict):
            raise self.wrong("args", "a table with names")
        return value

    def is_set(self, name: str, *, default: bool) -> bool:
        value = self.node.parameters.get(name, default)
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false")
        return value

    def quorum(self) -> int:
        """How many of the nodes below have to succeed."""
        value = self.node.parameters.get("succeed_when")
        if value is None or value == "all":
            return len(self.node.children)
        if value == "one":
            return 1
        if type(value) is not int or value < 1:
            raise self.wrong("succeed_when", '"all", "one", or a whole number from 1')
        return value

    def limits(self, counts: Mapping[str, int]) -> dict[str, int | float | str]:
        """The limits of a share."""
        found: dict[str, int | float | str] = {}
        for name in ("turns", "tokens", "tool_calls"):
            if name in self:
                found[name] = self.count(name, counts)
        if "seconds" in self:
            found["seconds"] = self.seconds("seconds")
        cost_usd = self.node.parameters.get("cost_usd")
        if isinstance(cost_usd, str | int | float) and not isinstance(cost_usd, bool):
            found["cost_usd"] = cost_usd
        if not found:
            raise self.wrong("limits", "one limit at least")
        return found

    def wrong(self, name: str, allowed: str) -> InvalidValueError:
        return InvalidValueError(
            f"{name} of {self.node.kind} {self.node.name!r}", self.node.parameters.get(name), allowed=allowed
        )
