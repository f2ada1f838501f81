"""The files of a folder, without those that git ignores. No link is followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from endstop.errors import ToolError
from endstop.tools.project.folder import Folder
from endstop.tools.project.ignore import ALWAYS_SKIPPED, IgnoreRules, compiled

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MOST_FILES = 50_000
MOST_DEPTH = 60
_MOST_RULES_BYTES = 200_000
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A regular file, as the folder lists it."""

    path: str
    mtime_ns: int
    size: int


@dataclass(slots=True)
class _Seen:
    """What was decided in a folder under the rules that held then."""

    rules: IgnoreRules
    is_ignored: dict[str, bool] = field(default_factory=dict)


class Walker:
    """Walks a folder again and again. What it decided is kept as long as the rules stay the same."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._seen: dict[str, _Seen] = {}
        self._rules: dict[str, tuple[tuple[int, int], str, GitIgnoreSpec]] = {}

    def files(self) -> list[FoundFile]:
        """All files, in the order of their paths; the first ones if there are too many."""
        found: list[FoundFile] = []
        start = self._folder.open_folder()
        try:
            for one in self._below(start, "", self._outer_rules(), 0):
                found.append(one)
                if len(found) >= MOST_FILES:
                    break
        finally:
            os.close(start)
        return found

    def is_ignored(self, path: str) -> bool:
        """Whether a path below the folder is one that ``files`` passes over."""
        rules = self._outer_rules()
        steps = path.split("/")
        for depth, name in enumerate(steps):
            above = "/".join(steps[:depth])
            rules = self._rules_in(above, rules)
            here = f"{above}/{name}" if above else name
            if name in ALWAYS_SKIPPED or rules.ignores(here, is_folder=depth < len(steps) - 1):
                return True
        return False

    def _below(self, folder: int, path: str, rules: IgnoreRules, depth: int) -> Iterator[FoundFile]:
        try:
            with os.scandir(folder) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError:
            return
        if any(entry.name == ".gitignore" for entry in entries):
            rules = self._rules_in(path, rules)
        seen = self._decided(path, rules)
        prefix = f"{path}/" if path else ""
        for entry in entries:
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # gone meanwhile
            is_folder = stat.S_ISDIR(found.st_mode)
            if not (is_folder or stat.S_ISREG(found.st_mode)):
                continue
            if _is_skipped(entry.name, prefix, seen, is_folder=is_folder):
                continue
            if not is_folder:
                yield FoundFile(prefix + entry.name, found.st_mtime_ns, found.st_size)
            elif depth < MOST_DEPTH:
                yield from self._entered(folder, entry.name, prefix, rules, depth)

    def _entered(
        self, folder: int, name: str, prefix: str, rules: IgnoreRules, depth: int
    ) -> Iterator[FoundFile]:
        try:
            inner = os.open(name, _OPEN_FOLDER, dir_fd=folder)
        except OSError:
            return  # not ours to read, or a link by now
        try:
            yield from self._below(inner, prefix + name, rules, depth + 1)
        finally:
            os.close(inner)

    def _decided(self, path: str, rules: IgnoreRules) -> _Seen:
        seen = self._seen.get(path)
        if seen is None or seen.rules.key != rules.key:
            seen = self._seen[path] = _Seen(rules)
        return seen

    def _outer_rules(self) -> IgnoreRules:
        """The user's own rules for this repository."""
        return self._read_rules(".git/info/exclude", "", IgnoreRules())

    def _rules_in(self, path: str, rules: IgnoreRules) -> IgnoreRules:
        return self._read_rules(f"{path}/.gitignore" if path else ".gitignore", path, rules)

    def _read_rules(self, file: str, path: str, rules: IgnoreRules) -> IgnoreRules:
        try:
            found = os.lstat(f"{self._folder.root}/{file}")
        except OSError:
            return rules
        stamp = found.st_mtime_ns, found.st_size
        kept = self._rules.get(file)
        if kept is None or kept[0] != stamp:
            try:
                text = self._folder.read(file, most_bytes=_MOST_RULES_BYTES).decode(errors="replace")
            except ToolError:
                return rules
            kept = self._rules[file] = stamp, text, compiled(text)
        return rules.extended(path, kept[1], kept[2])


def _is_skipped(name: str, prefix: str, seen: _Seen, *, is_folder: bool) -> bool:
    if name in ALWAYS_SKIPPED:
        return True
    key = f"{name}/" if is_folder else name
    ignored = seen.is_ignored.get(key)
    if ignored is None:
        ignored = not _is_text(name) or seen.rules.ignores(prefix + name, is_folder=is_folder)
        seen.is_ignored[key] = ignored
    return ignored


def _is_text(name: str) -> bool:
    """A name that is no valid text cannot be told to a model, nor asked for by it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
