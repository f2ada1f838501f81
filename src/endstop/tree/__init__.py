"""Behaviour trees: plain data from Lua files, checked, bounded, drawn, and ticked by Python (section E)."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # checkers take it for true; the names below are imported when they are first used
if TYPE_CHECKING:
    from endstop.tree.blackboard import Blackboard
    from endstop.tree.bounds import tree_bound
    from endstop.tree.draw import draw_dot, draw_text, expanded
    from endstop.tree.engine import Tree
    from endstop.tree.files import TreeLibrary
    from endstop.tree.leaves import LeafContext, LeafCost, Leaves
    from endstop.tree.lua import read_tree
    from endstop.tree.services import Services
    from endstop.tree.spec import KeySpec, KeyType, NodeSpec, TreeSpec, from_json, to_json
    from endstop.tree.status import RunStatus
    from endstop.tree.validate import checked

__all__ = [
    "Blackboard",
    "KeySpec",
    "KeyType",
    "LeafContext",
    "LeafCost",
    "Leaves",
    "NodeSpec",
    "RunStatus",
    "Services",
    "Tree",
    "TreeLibrary",
    "TreeSpec",
    "checked",
    "draw_dot",
    "draw_text",
    "expanded",
    "from_json",
    "read_tree",
    "to_json",
    "tree_bound",
]

_HOMES = {
    "Blackboard": "blackboard",
    "KeySpec": "spec",
    "KeyType": "spec",
    "LeafContext": "leaves",
    "LeafCost": "leaves",
    "Leaves": "leaves",
    "NodeSpec": "spec",
    "RunStatus": "status",
    "Services": "services",
    "Tree": "engine",
    "TreeLibrary": "files",
    "TreeSpec": "spec",
    "checked": "validate",
    "draw_dot": "draw",
    "draw_text": "draw",
    "expanded": "draw",
    "from_json": "spec",
    "read_tree": "lua",
    "to_json": "spec",
    "tree_bound": "bounds",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'endstop.tree' has no attribute {name!r}")
    value: object = getattr(import_module(f"endstop.tree.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
