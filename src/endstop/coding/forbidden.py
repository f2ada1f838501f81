"""What agents may not write, whatever the task: the paths and contents that the policy forbids."""

from __future__ import annotations

import re
from collections.abc import Sequence

from endstop.errors import ToolRefusedError, brief
from endstop.tools.project.glob import matches


class Forbidden:
    """The forbidden paths (as globs) and contents (as regular expressions)."""

    def __init__(self, *, paths: Sequence[str] = (), contents: Sequence[str] = ()) -> None:
        self._paths = tuple(paths)
        self._contents = tuple(re.compile(pattern) for pattern in contents)

    def path_rule(self, path: str) -> str | None:
        """The rule against a path, or against a folder that it is in."""
        steps = path.split("/")
        ways = ["/".join(steps[:end]) for end in range(1, len(steps) + 1)]
        return next((rule for rule in self._paths if any(matches(way, rule) for way in ways)), None)

    def content_rule(self, text: str, before: str = "") -> str | None:
        """The rule against a text. What was there before is not the fault of who changes something else."""
        broken = (rule for rule in self._contents if rule.search(text) and not rule.search(before))
        return next((rule.pattern for rule in broken), None)

    def check_path(self, path: str) -> None:
        """Refuse a forbidden path, with words for a model."""
        if ".git" in (step.casefold() for step in path.split("/")):
            raise ToolRefusedError(
                f"{brief(path)} belongs to git", to_do="Leave it: the work is committed for you"
            )
        if (rule := self.path_rule(path)) is not None:
            raise ToolRefusedError(
                f"{brief(path)} may not be changed: the policy forbids {rule}",
                to_do="Do without it, and say in your summary what has to be done by hand",
            )

    def check_content(self, path: str, text: str, before: str = "") -> None:
        """Refuse forbidden content, with words for a model."""
        if (rule := self.content_rule(text, before)) is not None:
            raise ToolRefusedError(
                f"{brief(path)} would have content that the policy forbids: {brief(rule)}",
                to_do="Write it without that, for example with a value that is read at run time",
            )
