"""Patterns for paths: ``*.py``, ``src/**/test_*.py``. No pattern takes long, whoever thought it up."""

from __future__ import annotations

from fnmatch import fnmatchcase

_MOST_CHARS = 200


def matches(path: str, pattern: str) -> bool:
    """Whether a path fits. Without a ``/`` the pattern is about the name alone; ``**`` is any folders."""
    steps = pattern[:_MOST_CHARS].strip("/").split("/")
    if "/" not in pattern:
        return fnmatchcase(path.rpartition("/")[2], steps[0])
    if pattern.endswith("/"):
        steps.append("**")
    return _fits(path.split("/"), steps)


def _fits(names: list[str], steps: list[str]) -> bool:
    """Which beginnings of the steps fit the names so far: a list of them, moved on name by name."""
    reached = _with_skips({0}, steps)
    for name in names:
        onwards: set[int] = set()
        for at in reached:
            if at < len(steps) and steps[at] == "**":
                onwards.add(at)
            elif at < len(steps) and fnmatchcase(name, steps[at]):
                onwards.add(at + 1)
        reached = _with_skips(onwards, steps)
    return len(steps) in reached


def _with_skips(reached: set[int], steps: list[str]) -> set[int]:
    """``**`` may also be no folder at all."""
    skipped = set(reached)
    for at in range(len(steps)):
        if at in skipped and steps[at] == "**":
            skipped.add(at + 1)
    return skipped
