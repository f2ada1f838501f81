"""A copy of a built-in tree, for its user to change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from endstop.cli.named_tree import LUA
from endstop.cli.tree_list import own_trees
from endstop.errors import InvalidValueError

if TYPE_CHECKING:
    from endstop.tree.files import TreeLibrary


def copied(name: str, library: TreeLibrary) -> Path:
    """Copy a tree to the user's own, and say where to. Nothing is overwritten."""
    source = library.source(name)
    path = own_trees() / f"{name}{LUA}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(error) from None
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(source)
    except FileExistsError:
        raise InvalidValueError(
            "NAME",
            name,
            allowed=f"a tree that you have no copy of; yours is {path}",
            to_do="Change that one, or move it out of the way first",
        ) from None
    except OSError as error:
        raise _unwritable(error) from None
    return path


def _unwritable(error: OSError) -> InvalidValueError:
    return InvalidValueError(
        "ENDSTOP_HOME",
        str(own_trees().parent),
        allowed=f"a folder that can be written to ({error.strerror})",
        to_do="Make it writable, or set ENDSTOP_HOME to another",
    )
