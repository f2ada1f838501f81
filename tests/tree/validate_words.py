"""Leaves and keys for the tests of what is wrong with a tree, and a way to ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from spec_words import node, tree

from endstop.tree.leaves import LeafContext, LeafCost, Leaves
from endstop.tree.spec import KeySpec, KeyType, NodeSpec, TreeSpec
from endstop.tree.validate import problems_of

if TYPE_CHECKING:
    from nowhere_at_all import Strange  # pyright: ignore # what cannot be known while running

LEAVES = Leaves()


@LEAVES.condition("budget.is_over")
def is_over(leaf: LeafContext, *, part: float = 0.7) -> bool:
    return False


@LEAVES.condition("loop.is_stuck")
def is_stuck(leaf: LeafContext) -> bool:
    return False


@LEAVES.action(
    "turn.take", cost=LeafCost(turns=1), writes={"reply": KeyType.STRING, "count": KeyType.INTEGER}
)
async def take(leaf: LeafContext) -> None: ...


@LEAVES.action("notes.write")
def write(
    leaf: LeafContext,
    *,
    text: str,
    times: int = 1,
    share: float | None = None,
    is_loud: bool = False,
    tags: list[str] | None = None,
    more: Sequence[str] = (),
    options: dict[str, Any] | None = None,
    mood: Literal["calm", "cross"] = "calm",
    thing: object = None,
) -> None: ...


@LEAVES.action("notes.strange")
def strange(
    leaf: LeafContext,
    *,
    what: Strange = None,  # pyright: ignore
    times: int = 1,
    text: str | None = None,
    bare=None,  # pyright: ignore
) -> None: ...


@LEAVES.action("notes.list", writes={"notes": KeyType.LIST})
def list_notes(leaf: LeafContext) -> None: ...


KEYS = (
    KeySpec(name="turn", type=KeyType.INTEGER),
    KeySpec(name="text", type=KeyType.STRING),
    KeySpec(name="files", type=KeyType.LIST),
    KeySpec(name="file"),
    KeySpec(name="signal", type=KeyType.MAP),
)

TIDY = node("action", fn="notes.list")


def said(root: NodeSpec, *subtrees: TreeSpec, keys: tuple[KeySpec, ...] = KEYS, **options: Any) -> list[str]:
    """The problems of a tree, as people read them, without their place."""
    found = problems_of(tree("main", root, *subtrees, keys=keys), leaves=LEAVES, **options)
    return [f"{one.what}. {one.to_do}." for one in found]
