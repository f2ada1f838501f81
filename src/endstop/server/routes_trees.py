"""Trees: listed, shown, checked, bounded (E5, E6). Nothing here is written; trees are files, and people's.

The routes that read files or run Lua are plain functions, which the server runs in threads: nothing blocks
the loop. Names are looked up among the files there are and never made into a path, so no name leads outside.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from endstop.errors import TreeError, UnknownTreeError
from endstop.kernel.budget import Budget
from endstop.oracle.leaves import LEAVES
from endstop.server.access import CallerHere
from endstop.server.bound_shapes import TreeBoundShape, bound_under
from endstop.server.context import Context, ContextHere
from endstop.server.problems import problem_responses
from endstop.server.routes_settings import settings_of
from endstop.server.tree_shapes import (
    TreeChecked,
    TreeListed,
    TreeProblem,
    TreeShown,
    drawn,
    keys_of,
)
from endstop.tree.draw import expanded
from endstop.tree.files import TreeLibrary
from endstop.tree.lua import LIMITS, read_tree
from endstop.tree.problems import Problem, refused
from endstop.tree.spec import TreeSpec
from endstop.tree.validate import checked

router = APIRouter(prefix="/api/trees", tags=["trees"], responses=problem_responses(401, 403, 422, 503))

_UNNAMED = "tree"


class TreeText(BaseModel):
    """The text of a tree, to be looked at."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={
            "examples": [{"text": 'return BT.tree("hello", { root = BT.action("signals.log") })'}]
        },
    )

    text: str = Field(max_length=LIMITS.bytes)
    name: str | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="What its file will be called, without .lua; the tree has to have the same name.",
    )


async def own_budget(caller: CallerHere, context: ContextHere) -> Budget:
    """The budget of the caller's settings."""
    return (await settings_of(context.app, caller.user)).budget()


OwnBudget = Annotated[Budget, Depends(own_budget)]


@router.get("", summary="Which trees there are")
def list_trees(_: CallerHere, context: ContextHere) -> list[TreeListed]:
    """All of them, broken ones too, with what is wrong."""
    return [_listed(name, context) for name in context.trees.names()]


@router.post("/check", summary="Check the text of a tree", responses=problem_responses(400, 413))
def check_tree(given: TreeText, context: ContextHere, budget: OwnBudget) -> TreeChecked:
    """All that is wrong with a text, with lines; or else the tree that it is. Nothing is saved or run."""
    try:
        tree = _tree_in(given, context.trees)
    except TreeError as error:
        return TreeChecked(
            name=given.name, hash=None, nodes=[], bound=None, problems=TreeProblem.all_of(error)
        )
    return TreeChecked(
        name=tree.name,
        hash=tree.hash,
        nodes=drawn(tree),
        bound=TreeBoundShape.of(bound_under(tree, budget)),
        problems=[],
    )


@router.get("/{name}", summary="One tree", responses=problem_responses(404))
def get_tree(name: str, context: ContextHere, budget: OwnBudget) -> TreeShown:
    """Its source, and the tree drawn as data: nodes with their places, kinds and parameters."""
    library = context.trees
    tree, trouble = _usable(name, library), library.trouble(name)
    return TreeShown(
        name=name,
        origin=_origin(name, context),
        doc="" if tree is None else tree.doc,
        source=_source(name, library),
        hash=None if tree is None else tree.hash,
        keys=[] if tree is None else keys_of(tree),
        nodes=[] if tree is None else drawn(tree),
        bound=None if tree is None else TreeBoundShape.of(bound_under(tree, budget)),
        problems=TreeProblem.all_of(trouble),
    )


@router.get("/{name}/bound", summary="What a run of a tree can use at most", responses=problem_responses(404))
def get_tree_bound(name: str, context: ContextHere, budget: OwnBudget) -> TreeBoundShape:
    """Under your settings. A tree with problems that was never good is refused."""
    return TreeBoundShape.of(bound_under(context.trees.get(name), budget))


def _listed(name: str, context: Context) -> TreeListed:
    tree = _usable(name, context.trees)
    return TreeListed(
        name=name,
        origin=_origin(name, context),
        doc="" if tree is None else tree.doc,
        nodes=None if tree is None else sum(1 for _ in expanded(tree)),
        problems=TreeProblem.all_of(context.trees.trouble(name)),
    )


def _usable(name: str, library: TreeLibrary) -> TreeSpec | None:
    """The tree as it is used for new runs; None if there never was a good one."""
    try:
        return library.get(name)
    except UnknownTreeError:
        raise
    except TreeError:
        return None


def _origin(name: str, context: Context) -> str:
    return "own" if context.trees.path(name).parent == context.app.config.home / "trees" else "built in"


def _source(name: str, library: TreeLibrary) -> str:
    try:
        return library.source(name)
    except TreeError:
        return ""  # no text, or too much of it: the problems say so


def _tree_in(given: TreeText, library: TreeLibrary) -> TreeSpec:
    """The tree in a text, checked and with all it refers to in the library."""
    file = f"{given.name or _UNNAMED}.lua"
    tree = read_tree(given.text, file=file)
    if given.name is not None and tree.name != given.name:
        what = f"The tree is called {tree.name!r}, and its file {given.name!r}"
        raise refused(given.name, [Problem(file=file, what=what, to_do="Give both the same name")])

    def find(name: str) -> TreeSpec | None:
        return library.get(name) if name in library.names() else None

    return checked(tree, find, leaves=LEAVES, names=library.names())
