"""What is wrong with a tree: all of it at once, each with its file and line (E3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from endstop.errors import TreeError


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong, and what to do about it."""

    file: str = ""
    line: int | None = None
    what: str
    to_do: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line is not None else self.file
        said = f"{self.what}. {self.to_do}." if self.to_do else f"{self.what}."
        return f"{place}: {said}" if place else said


def refused(name: str, problems: Iterable[Problem]) -> TreeError:
    """The error of a tree that cannot be used."""
    found = tuple(problems)
    many = "1 problem" if len(found) == 1 else f"{len(found)} problems"
    return TreeError(
        f"The tree {name!r} cannot be used ({many})", problems=tuple(str(problem) for problem in found)
    )
