"""What git would not look at: ``.gitignore`` files at every level, and folders that are never of interest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

ALWAYS_SKIPPED = frozenset(
    {".git", ".hg", ".svn", ".jj", ".bzr", "node_modules", "__pycache__", ".venv", ".tox", ".nox"}
    | {".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".import_linter_cache", ".cache"}
)


_STARS = re.compile(r"\*+")
_MOST_STARS = 3
"""In one part of a path. A rule becomes a regular expression, and with more of these a file name could be
made up that takes it for ever, while nothing else in the process can move."""
_MOST_RULE_CHARS = 500


class IgnoreRules:
    """The rules that hold in one folder: those of its own ``.gitignore``, then those from above."""

    def __init__(
        self, rules: tuple[tuple[str, GitIgnoreSpec], ...] = (), key: tuple[object, ...] = ()
    ) -> None:
        self._rules = rules
        self.key = key
        """Equal keys, equal rules."""

    def extended(self, folder: str, text: str, spec: GitIgnoreSpec) -> IgnoreRules:
        """These rules with those of a ``.gitignore`` in ``folder`` (its text, compiled) before them."""
        prefix = f"{folder}/" if folder else ""
        return IgnoreRules(((prefix, spec), *self._rules), (*self.key, (prefix, text)))

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        """The last rule that matches decides, the nearest file first, as in git."""
        for prefix, spec in self._rules:
            below = path.removeprefix(prefix) + ("/" if is_folder else "")
            decision = spec.check_file(below).include
            if decision is not None:
                return decision
        return False


def compiled(text: str) -> GitIgnoreSpec:
    """The rules in the text of a ``.gitignore``; those that cannot be read are passed over, as git does."""
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines([line for line in text.splitlines() if _is_usable(line)])


def _is_usable(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    stars = max(len(_STARS.findall(part)) for part in line.split("/"))
    if len(line) > _MOST_RULE_CHARS or stars > _MOST_STARS:
        return False
    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True
