"""Where the leaves of this room are registered, and how they reach the run they act on."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from endstop.oracle.services import OracleServices
from endstop.tree.blackboard import Blackboard
from endstop.tree.leaves import LeafContext, Leaves

LEAVES = Leaves()
"""Every condition and action that a tree may name."""

_Answer = TypeVar("_Answer")


def condition(name: str) -> Callable[[Callable[..., bool]], Callable[..., bool]]:
    """Register a condition. It is asked about a run; where there is none, or no blackboard, it fails."""

    def register(function: Callable[..., bool]) -> Callable[..., bool]:
        @wraps(function)
        def asked(leaf: LeafContext, **arguments: Any) -> bool:
            services = leaf.services
            if leaf.blackboard is None or not isinstance(services, OracleServices):
                return False
            return function(services, **arguments)

        return LEAVES.condition(name)(asked)

    return register


def board_of(leaf: LeafContext) -> Blackboard:
    """The blackboard of an action, which has one wherever it is run."""
    assert leaf.blackboard is not None, "an action is run with a blackboard"
    return leaf.blackboard


def services_of(leaf: LeafContext) -> OracleServices:
    assert isinstance(leaf.services, OracleServices), "an action is run on a run"
    return leaf.services
