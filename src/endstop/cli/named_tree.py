"""Which tree is meant: one of the library by its name, or one in a file by its path."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from endstop.errors import UnknownTreeError
from endstop.tree.lua import LIMITS, read_tree
from endstop.tree.problems import Problem, refused
from endstop.tree.validate import checked

if TYPE_CHECKING:
    from endstop.tree.files import TreeLibrary
    from endstop.tree.spec import TreeSpec

LUA = ".lua"


def is_path(given: str) -> bool:
    """Whether it can only be the path of a file: trees are named without an ending and without slashes."""
    return given.endswith(LUA) or given.startswith((".", "~")) or os.sep in given


def tree_meant(given: str, library: TreeLibrary) -> TreeSpec:
    """The tree that is meant, checked and with all it refers to; ``TreeError`` if it cannot be used."""
    return tree_in(Path(given).expanduser(), library) if is_path(given) else library.get(given)


def tree_in(path: Path, library: TreeLibrary) -> TreeSpec:
    """The tree in a file. What it refers to is looked for beside it first, and then in the library."""
    from endstop.oracle.leaves import LEAVES

    beside = {one.stem for one in path.parent.glob(f"*{LUA}")}

    def find(name: str) -> TreeSpec | None:
        if name in beside:
            other = path.parent / f"{name}{LUA}"
            return read_tree(text_of(other), file=other.name)
        try:
            return library.get(name)
        except UnknownTreeError:
            return None

    tree = read_tree(text_of(path), file=path.name)
    return checked(tree, find, leaves=LEAVES, names={*beside, *library.names()})


def text_of(path: Path) -> str:
    """The text of a tree file. Whatever else lies at that path is refused before it is read."""
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise _refused(path, "It is a folder", f"Name a {LUA} file in it")
        if not stat.S_ISREG(found.st_mode):
            raise _refused(path, "It is no ordinary file", f"Name a {LUA} file")
        if found.st_size > LIMITS.bytes:
            raise _refused(
                path,
                f"It has {found.st_size:,} bytes; {LIMITS.bytes:,} are allowed",
                "Split it into trees that refer to each other",
            )
        return path.read_bytes().decode()
    except FileNotFoundError:
        raise _refused(path, "There is no such file", "Check its path") from None
    except UnicodeDecodeError:
        raise _refused(path, "It is no text in UTF-8", "Name a file with the Lua of a tree") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise _refused(path, f"It cannot be read ({why})", "Make it readable, or name another") from None


def _refused(path: Path, what: str, to_do: str) -> Exception:
    return refused(path.stem or str(path), [Problem(file=str(path), what=what, to_do=to_do)])
