"""Every kind of node there is: its parameters, how many nodes it takes, and what it does.

This is the one place that knows. The Lua functions, the checks at load, the drawings and the reference
page are all made from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

MOST_TIMES = 10_000
"""No loop of a tree may be written with a larger bound."""

MOST_SECONDS = 86_400.0

CONFIGURED_COUNTS = ("max_turns", "max_tool_calls_per_turn", "max_parallel_tools")
"""Names that stand for a number of the run's configuration, wherever a count is asked for."""


class Takes(StrEnum):
    """What a parameter takes."""

    COUNT = "count"
    """A whole number from 1, or the name of a configured one, such as ``"max_turns"``."""
    WHOLE = "whole"
    """A whole number from 1."""
    SECONDS = "seconds"
    """A number above 0."""
    MONEY = "money"
    """US dollars, as text or number, above 0."""
    TEXT = "text"
    KEY = "key"
    """A key of the blackboard."""
    CONDITION = "condition"
    """The name of a condition that is registered for trees."""
    ACTION = "action"
    """The name of an action that is registered for trees."""
    ARGUMENTS = "arguments"
    """A table. A text ``"$key"`` in it stands for what the blackboard holds under that key."""
    EXPRESSION = "expression"
    """Text in the small language of ``expression``."""
    TREE = "tree"
    """The name of another tree."""
    FLAG = "flag"
    CHOICE = "choice"
    QUORUM = "quorum"
    """``"all"``, ``"one"``, or a whole number from 1."""
    KEYS = "keys"
    """Keys of the blackboard, as a tree declares them."""


class Group(StrEnum):
    """What sort of node it is."""

    COMPOSITE = "composite"
    DECORATOR = "decorator"
    LEAF = "leaf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """Something a node is given."""

    name: str
    takes: Takes
    doc: str
    is_required: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of node."""

    name: str
    group: Group
    doc: str
    parameters: tuple[Parameter, ...] = ()
    one_of: tuple[str, ...] = ()
    """Of these parameters exactly one is given."""
    at_least_one_of: tuple[str, ...] = ()

    @property
    def least_children(self) -> int:
        return 0 if self.group is Group.LEAF else 1

    @property
    def most_children(self) -> int | None:
        """None for any number."""
        return 0 if self.group is Group.LEAF else 1 if self.group is Group.DECORATOR else None

    def parameter(self, name: str) -> Parameter | None:
        for one in self.parameters:
            if one.name == name:
                return one
        return None


def _parameter(name: str, takes: Takes, doc: str, *, required: bool = False, choices: tuple[str, ...] = ()):
    return Parameter(name=name, takes=takes, doc=doc, is_required=required, choices=choices)


_CONDITION = (
    _parameter("fn", Takes.CONDITION, "a condition that is registered for trees"),
    _parameter("args", Takes.ARGUMENTS, "what the condition is given"),
    _parameter("expression", Takes.EXPRESSION, "a comparison over the blackboard"),
)
_OUTPUT = _parameter("output", Takes.KEY, "the key that what comes of it is written to")

_ALL = (
    Kind(
        name="sequence",
        group=Group.COMPOSITE,
        doc="Its nodes one after the other, until one fails. Goes on where it stood.",
    ),
    Kind(
        name="selector",
        group=Group.COMPOSITE,
        doc="Its nodes one after the other, until one succeeds. Goes on where it stood.",
    ),
    Kind(
        name="parallel",
        group=Group.COMPOSITE,
        doc="All its nodes beside each other. What each writes is its own until all is over.",
        parameters=(
            _parameter(
                "succeed_when", Takes.QUORUM, 'how many have to succeed: "all" (default), "one", or a number'
            ),
        ),
    ),
    Kind(
        name="reactive_sequence",
        group=Group.COMPOSITE,
        doc="A sequence that looks at its first nodes again at every tick. One that fails halts the rest.",
    ),
    Kind(
        name="reactive_selector",
        group=Group.COMPOSITE,
        doc="A selector that looks at its first nodes again at every tick. One that succeeds halts the rest.",
    ),
    Kind(
        name="retry",
        group=Group.DECORATOR,
        doc="Its node again while it fails, so many times in all.",
        parameters=(_parameter("attempts", Takes.COUNT, "how often at most", required=True),),
    ),
    Kind(
        name="repeat_until",
        group=Group.DECORATOR,
        doc="Its node again and again until it ends so, or the condition holds. Fails if it never does.",
        parameters=(
            _parameter("max", Takes.COUNT, "how often at most", required=True),
            _parameter("ends_in", Takes.CHOICE, "the ending it waits for", choices=("success", "failure")),
            *_CONDITION,
        ),
        one_of=("ends_in", "fn", "expression"),
    ),
    Kind(
        name="timeout",
        group=Group.DECORATOR,
        doc="Its node for so long; then it is halted, and this fails.",
        parameters=(_parameter("seconds", Takes.SECONDS, "how long at most", required=True),),
    ),
    Kind(
        name="guard",
        group=Group.DECORATOR,
        doc="Its node while the condition holds: looked at again at every tick, and halted when it does not.",
        parameters=_CONDITION,
        one_of=("fn", "expression"),
    ),
    Kind(name="inverter", group=Group.DECORATOR, doc="Success for failure, and failure for success."),
    Kind(
        name="always_succeed",
        group=Group.DECORATOR,
        doc="Succeeds when its node has ended, however it ended.",
    ),
    Kind(name="always_fail", group=Group.DECORATOR, doc="Fails when its node has ended, however it ended."),
    Kind(
        name="cooldown",
        group=Group.DECORATOR,
        doc="Its node, but not again before so many seconds have passed since it ended: it fails till then.",
        parameters=(_parameter("seconds", Takes.SECONDS, "how long it rests", required=True),),
    ),
    Kind(
        name="budget",
        group=Group.DECORATOR,
        doc="Its node on a share of what the run has left. Used up, it is halted, and this fails.",
        parameters=(
            _parameter("turns", Takes.COUNT, "turns at most"),
            _parameter("tokens", Takes.WHOLE, "tokens at most"),
            _parameter("cost_usd", Takes.MONEY, "US dollars at most"),
            _parameter("seconds", Takes.SECONDS, "seconds at most"),
            _parameter("tool_calls", Takes.COUNT, "tool calls at most"),
        ),
        at_least_one_of=("turns", "tokens", "cost_usd", "seconds", "tool_calls"),
    ),
    Kind(
        name="for_each",
        group=Group.DECORATOR,
        doc="Its node once for each item of a list. Fails at the first item for which it fails.",
        parameters=(
            _parameter("items", Takes.KEY, "the key that holds the list", required=True),
            _parameter("item", Takes.KEY, "the key that holds the item at hand", required=True),
            _parameter("max", Takes.COUNT, "how many items at most; the rest are left out", required=True),
        ),
    ),
    Kind(
        name="subtree",
        group=Group.DECORATOR,
        doc="Its node with keys of its own on the blackboard, which are gone when it has ended.",
        parameters=(_parameter("blackboard", Takes.KEYS, "the keys of its own"),),
    ),
    Kind(
        name="condition",
        group=Group.LEAF,
        doc="Succeeds if the condition holds, fails if not. Never takes time.",
        parameters=_CONDITION,
        one_of=("fn", "expression"),
    ),
    Kind(
        name="action",
        group=Group.LEAF,
        doc="Does something. What takes time goes on beside the tree, and can be halted.",
        parameters=(
            _parameter("fn", Takes.ACTION, "an action that is registered for trees", required=True),
            _parameter("args", Takes.ARGUMENTS, "what the action is given"),
        ),
    ),
    Kind(
        name="llm_call",
        group=Group.LEAF,
        doc="One turn of the model: told the prompt, asked, its tool calls run, its answer written down.",
        parameters=(
            _parameter(
                "prompt", Takes.TEXT, 'what it is told; "{key}" in it stands for what the blackboard holds'
            ),
            _parameter("tools", Takes.FLAG, "whether it is offered the agent's tools (default: true)"),
            _OUTPUT,
        ),
    ),
    Kind(
        name="tool_call",
        group=Group.LEAF,
        doc="One call of a tool of the agent, made by the tree itself.",
        parameters=(
            _parameter("tool", Takes.TEXT, "the name of the tool", required=True),
            _parameter("args", Takes.ARGUMENTS, "what the tool is given"),
            _OUTPUT,
        ),
    ),
    Kind(
        name="subtree_ref",
        group=Group.LEAF,
        doc="Another tree, by its name, in this place. It sees this blackboard; its own keys are its own.",
        parameters=(_parameter("tree", Takes.TREE, "the name of the tree", required=True),),
    ),
)

KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in _ALL})
