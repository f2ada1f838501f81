"""Trees as the API tells them: in a list, and drawn as data (E6)."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, Field

from endstop.errors import TreeError
from endstop.server.bound_shapes import TreeBoundShape
from endstop.tree.draw import SIGNS, expanded
from endstop.tree.kinds import KINDS
from endstop.tree.spec import TreeSpec

_PLACED = re.compile(r"(?P<file>[^:\n]+\.lua)(?::(?P<line>\d+))?: (?P<what>.*)", re.DOTALL)


class TreeProblem(BaseModel):
    """One thing that is wrong with a tree, and what to do about it."""

    file: str | None
    line: int | None = Field(examples=[12])
    what: str

    @classmethod
    def all_of(cls, trouble: TreeError | None) -> list[TreeProblem]:
        if trouble is None:
            return []
        return [cls._of(problem) for problem in trouble.problems or (str(trouble),)]

    @classmethod
    def _of(cls, text: str) -> TreeProblem:
        placed = _PLACED.fullmatch(text)
        if placed is None:
            return cls(file=None, line=None, what=text)
        line = placed["line"]
        return cls(file=placed["file"], line=None if line is None else int(line), what=placed["what"])


class TreeListed(BaseModel):
    """A tree, as the list shows it."""

    name: str = Field(examples=["oracle-agent"])
    origin: str = Field(examples=["built in"], description='"built in", or "own" for those of the user.')
    doc: str
    nodes: int | None = Field(description="Null for a tree that was never usable.")
    problems: list[TreeProblem] = Field(
        description="If there are any, the last good version is used for new runs, if there was one."
    )


class TreeNode(BaseModel):
    """One node in its place. Nodes come each before its children; the events of a run name them by index."""

    index: int
    parent: int | None
    depth: int
    kind: str = Field(examples=["sequence"])
    group: str = Field(examples=["composite"])
    sign: str = Field(examples=["→"])
    name: str
    path: str = Field(description="The names from the root down to it, with slashes between.")
    children: list[int]
    parameters: dict[str, Any]
    file: str
    line: int | None


class TreeKey(BaseModel):
    """A key of the tree's blackboard."""

    name: str
    type: str
    default: Any
    doc: str


class TreeShown(BaseModel):
    """A whole tree: as it is written, and as it is understood."""

    name: str
    origin: str
    doc: str
    source: str = Field(description="Its file as it stands, right or wrong.")
    hash: str | None = Field(description="The same for trees that behave the same.")
    keys: list[TreeKey]
    nodes: list[TreeNode]
    bound: TreeBoundShape | None = Field(description="Under your settings.")
    problems: list[TreeProblem]


class TreeChecked(BaseModel):
    """What came of looking at a text: problems, or else what the tree is."""

    name: str | None
    hash: str | None
    nodes: list[TreeNode]
    bound: TreeBoundShape | None
    problems: list[TreeProblem]


def drawn(tree: TreeSpec) -> list[TreeNode]:
    """Every node of a tree that was checked, references followed."""
    nodes: list[TreeNode] = []
    above: list[TreeNode] = []
    for place in expanded(tree):
        del above[place.depth :]
        kind = KINDS.get(place.node.kind)
        node = TreeNode(
            index=place.index,
            parent=above[-1].index if above else None,
            depth=place.depth,
            kind=place.node.kind,
            group="" if kind is None else kind.group.value,
            sign=SIGNS.get(place.node.kind, ""),
            name=place.node.name,
            path=place.path,
            children=[],
            parameters=dict(place.node.parameters),
            file=place.file,
            line=place.node.line,
        )
        if above:
            above[-1].children.append(place.index)
        nodes.append(node)
        above.append(node)
    return nodes


def keys_of(tree: TreeSpec) -> list[TreeKey]:
    return [
        TreeKey(name=key.name, type=key.type.value, default=key.default, doc=key.doc) for key in tree.keys
    ]
