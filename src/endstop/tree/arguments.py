"""What leaves are given: arguments and prompts with what the blackboard holds put in.

What can be prepared once is: the functions made here are called at every tick.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from endstop.tree.blackboard import Blackboard
from endstop.tree.leaf_arguments import key_named
from endstop.tree.spec import PlainValue

PLACEHOLDER = re.compile(r"\{(?:(?P<brace>\{)|(?P<key>[A-Za-z_]\w*)\})")


def resolving(
    arguments: Mapping[str, PlainValue], blackboard: Blackboard
) -> Callable[[], dict[str, PlainValue]]:
    """The arguments with ``"$key"`` replaced by what the blackboard holds when they are asked for."""
    return lambda: {name: _resolved(value, blackboard) for name, value in arguments.items()}


def filling(prompt: str, blackboard: Blackboard) -> Callable[[], str]:
    """The prompt with ``{key}`` replaced by what the blackboard holds when it is asked for.

    Two opening braces stand for one; a brace that no key and its closing brace follow stands for itself.
    """

    def filled(match: re.Match[str]) -> str:
        if match["brace"]:
            return "{"
        value = blackboard.peek(match["key"])
        return "" if value is None else str(value)

    return lambda: PLACEHOLDER.sub(filled, prompt)


def is_fixed(value: PlainValue) -> bool:
    """The same at every call, and nothing that whoever is given it could change."""
    if isinstance(value, str):
        return key_named(value) is None
    return not isinstance(value, list | dict)


def _resolved(value: PlainValue, blackboard: Blackboard) -> PlainValue:
    if isinstance(value, str):
        key = key_named(value)
        return value if key is None else blackboard.get(key)
    if isinstance(value, list):
        return [_resolved(item, blackboard) for item in value]
    if isinstance(value, dict):
        return {name: _resolved(item, blackboard) for name, item in value.items()}
    return value
