"""The trees of a project: files in folders, read when asked for, and read again when they have changed (E5).

There is no watcher and no thread. A file is looked at when its tree is asked for, which costs next to
nothing; a run that is under way keeps the tree it was given. A file that has become broken does no harm:
the last tree that was good is given, and ``trouble`` says what is wrong.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from endstop.errors import TreeError, UnknownTreeError
from endstop.kernel.texts import closest
from endstop.tree.lua import LIMITS, read_tree
from endstop.tree.problems import Problem, refused
from endstop.tree.spec import TreeSpec

Find: TypeAlias = Callable[[str], TreeSpec | None]
"""Gives a tree as it is written, by its name; None if there is none. ``TreeError`` if its file is broken."""
Check: TypeAlias = Callable[[TreeSpec, Find], TreeSpec]
"""Gives the whole tree with all it refers to, or raises ``TreeError`` with all its problems."""

_SUFFIX = ".lua"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stamp:
    """Which file it is, and in which state: the same stamp, the same text."""

    path: Path
    mtime_ns: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """What a file says: a tree, or why there is none."""

    stamp: _Stamp
    tree: TreeSpec | None = None
    trouble: TreeError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    """What came of checking a tree, and the state of every file that had a say in it."""

    stamps: Mapping[str, _Stamp | None]
    """By the name of the tree; None where there was no such file."""
    tree: TreeSpec | None
    """The last one that was good."""
    trouble: TreeError | None


class TreeLibrary:
    """The trees in some folders, by name. A file of the same name in a later folder wins."""

    def __init__(self, folders: Sequence[Path], *, check: Check) -> None:
        self._folders = tuple(folders)
        self._check = check
        self._written: dict[str, _Written] = {}
        self._checked: dict[str, _Checked] = {}

    def names(self) -> tuple[str, ...]:
        """All there are, broken ones included."""
        return tuple(sorted(self._stamps()))

    def get(self, name: str) -> TreeSpec:
        """The whole tree, checked. The last good one if its file, or one it refers to, is broken now."""
        checked = self._current(name)
        if checked.tree is not None:
            return checked.tree
        assert checked.trouble is not None
        raise checked.trouble.with_traceback(None)

    def trouble(self, name: str) -> TreeError | None:
        """Why the tree cannot be used as its files are now; None if all is well."""
        return self._current(name).trouble

    def path(self, name: str) -> Path:
        """Where its file is."""
        return _known(name, self._stamps()).path

    def source(self, name: str) -> str:
        """The text of its file, right or wrong."""
        return _text(_known(name, self._stamps()))

    def _current(self, name: str) -> _Checked:
        stamps = self._stamps()
        _known(name, stamps)
        before = self._checked.get(name)
        if before is not None and all(stamps.get(one) == stamp for one, stamp in before.stamps.items()):
            return before
        checked = self._newly_checked(name, stamps)
        if checked.tree is None and before is not None:
            checked = replace(checked, tree=before.tree)
        self._checked[name] = checked
        return checked

    def _newly_checked(self, name: str, stamps: Mapping[str, _Stamp]) -> _Checked:
        asked: dict[str, _Stamp | None] = {name: stamps[name]}

        def find(other: str) -> TreeSpec | None:
            asked[other] = stamps.get(other)
            return self._read(other, stamps[other]) if other in stamps else None

        tree = trouble = None
        try:
            tree = self._check(self._read(name, stamps[name]), find)
        except TreeError as error:
            trouble = error
        return _Checked(stamps=MappingProxyType(asked), tree=tree, trouble=trouble)

    def _read(self, name: str, stamp: _Stamp) -> TreeSpec:
        written = self._written.get(name)
        if written is None or written.stamp != stamp:
            self._written[name] = written = _newly_read(name, stamp)
        if written.tree is not None:
            return written.tree
        assert written.trouble is not None
        raise written.trouble.with_traceback(None)

    def _stamps(self) -> dict[str, _Stamp]:
        """Every file there is now."""
        found: dict[str, _Stamp] = {}
        for folder in self._folders:
            try:
                found.update(_stamps_in(folder))
            except FileNotFoundError:
                continue  # a folder that is not there holds no trees
            except OSError as error:
                raise TreeError(
                    f"The folder {str(folder)!r} cannot be read: {error.strerror}",
                    to_do="Give the path of a folder that you may read",
                ) from error
        return found


def _stamps_in(folder: Path) -> dict[str, _Stamp]:
    """The tree files of a folder. Hidden files, which editors leave behind, are none."""
    found: dict[str, _Stamp] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") or not entry.name.endswith(_SUFFIX) or not entry.is_file():
                continue
            with suppress(FileNotFoundError):  # it was removed a moment ago
                stat = entry.stat()
                found[entry.name.removesuffix(_SUFFIX)] = _Stamp(
                    path=folder / entry.name, mtime_ns=stat.st_mtime_ns, size=stat.st_size
                )
    return found


def _known(name: str, stamps: Mapping[str, _Stamp]) -> _Stamp:
    stamp = stamps.get(name)
    if stamp is None:
        meant = closest(name, stamps)
        raise UnknownTreeError(
            f"There is no tree {name!r}",
            allowed=", ".join(sorted(stamps)) or "none: there are no tree files",
            to_do=f"Perhaps {meant!r} was meant" if meant is not None else f"Write a file {name}{_SUFFIX}",
        )
    return stamp


def _newly_read(name: str, stamp: _Stamp) -> _Written:
    try:
        tree = read_tree(_text(stamp), file=stamp.path.name)
        if tree.name != name:
            raise _refused(
                stamp.path,
                f"The tree is called {tree.name!r}, and its file {name!r}",
                "Give both the same name",
            )
    except TreeError as error:
        return _Written(stamp=stamp, trouble=error)
    return _Written(stamp=stamp, tree=tree)


def _text(stamp: _Stamp) -> str:
    """The text of a file; ``TreeError`` in plain words if it has none."""
    try:
        # One byte more than allowed is enough to know, however large the file is or has become.
        with stamp.path.open("rb") as file:
            content = file.read(LIMITS.bytes + 1)
        if len(content) > LIMITS.bytes:
            raise _refused(
                stamp.path,
                f"The file is larger than {LIMITS.bytes:,} bytes",
                "Divide it into several files, and name the others with BT.subtree_ref",
            )
        return content.decode()
    except UnicodeDecodeError:
        raise _refused(stamp.path, "The file is not UTF-8 text", "Save it as UTF-8") from None
    except OSError as error:
        raise _refused(
            stamp.path, f"The file cannot be read: {error.strerror}", "Check that it is there, and its rights"
        ) from error


def _refused(path: Path, what: str, to_do: str) -> TreeError:
    return refused(path.stem, [Problem(file=path.name, what=what, to_do=to_do)])
