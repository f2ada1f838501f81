"""The trees there are, in a list: where each is from, how large it is, whether it can be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from endstop.app import read_config
from endstop.cli.output import Column, Output
from endstop.errors import TreeError
from endstop.tree.draw import expanded

if TYPE_CHECKING:
    from endstop.tree.files import TreeLibrary

_COLUMNS = (
    Column(name="tree"),
    Column(name="from"),
    Column(name="nodes", is_number=True),
    Column(name="problems", is_number=True),
    Column(name="what it does", may_shrink=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A tree, as the list shows it."""

    name: str
    path: Path
    doc: str = ""
    nodes: int | None = None
    """None for a tree that cannot be used."""
    problems: tuple[str, ...] = ()


def listed(name: str, library: TreeLibrary) -> Listed:
    """A tree of the library as it stands, right or wrong."""
    path = library.path(name)
    try:
        found = library.get(name)
    except TreeError as error:
        return Listed(name=name, path=path, problems=error.problems or (str(error),))
    return Listed(name=name, path=path, doc=found.doc, nodes=sum(1 for _ in expanded(found)))


def own_trees() -> Path:
    """The folder with the user's own trees."""
    return read_config().home / "trees"


def origin(path: Path) -> str:
    """Where a tree is from."""
    return "own" if path.parent == own_trees() else "built in"


def tell_listed(output: Output, trees: Sequence[Listed]) -> None:
    """Print the list."""
    if output.is_json:
        output.document([_json(one) for one in trees])
        return
    rows = [
        (
            one.name,
            origin(one.path),
            "" if one.nodes is None else f"{one.nodes:,}",
            f"{len(one.problems):,}",
            one.doc,
        )
        for one in trees
    ]
    output.table(_COLUMNS, rows)
    for one in trees:
        if one.problems:
            output.say(f"What is wrong with {one.name}: endstop tree check {one.name}", style="yellow")


def _json(one: Listed) -> dict[str, object]:
    return {
        "name": one.name,
        "from": origin(one.path),
        "file": str(one.path),
        "doc": one.doc,
        "nodes": one.nodes,
        "problems": list(one.problems),
    }
