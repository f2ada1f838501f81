"""Decision trees: how others plug in a policy of their own (section F).

    @decision_tree("cautious")
    class Cautious(DefaultDecisionTree):
        def should_continue(self, state):
            if state.percent.get("cost_usd", 0) > 50:
                return False, "half the money is gone"
            return super().should_continue(state)

A tree can end a run earlier than the default would, and can go on in spite of a finding. It cannot go past
a limit or a cancellation: those are enforced beneath it. It is made anew for every run, so what it keeps
in itself is never shared; what must survive a resume belongs into ``state.extensions``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeVar, cast, runtime_checkable

from endstop.errors import PolicyError, UnknownPolicyError, brief, cause
from endstop.kernel.agent import AgentConfig, AgentState
from endstop.kernel.observation import ToolFinished
from endstop.kernel.order import rules_met
from endstop.kernel.outcome import StopRule

Decision: TypeAlias = tuple[bool, str]
"""Whether to go on, and why or why not."""


@runtime_checkable
class DecisionTree(Protocol):
    """A policy: asked before each turn and told of each result."""

    def should_continue(self, state: AgentState) -> Decision:
        """Whether the run goes on, with the reason. Return a ``StopRule`` to name one of ours."""
        ...

    def on_turn_start(self, state: AgentState) -> AgentState:
        """Called as a turn begins. May return the state with other ``extensions``."""
        ...

    def on_tool_result(self, state: AgentState, result: ToolFinished) -> AgentState:
        """Called for each tool result. May return the state with other ``extensions``."""
        ...

    def get_config(self) -> AgentConfig:
        """The configuration a run gets that names this policy and no other configuration."""
        ...


class DefaultDecisionTree:
    """The order of A12, and nothing else."""

    def should_continue(self, state: AgentState) -> Decision:
        stop = next(rules_met(state), None)
        return (True, "nothing speaks against it") if stop is None else (False, stop.rule)

    def on_turn_start(self, state: AgentState) -> AgentState:
        return state

    def on_tool_result(self, state: AgentState, result: ToolFinished) -> AgentState:  # noqa: ARG002
        return state

    def get_config(self) -> AgentConfig:
        return AgentConfig()


DEFAULT_POLICY = "default"

_Factory = TypeVar("_Factory", bound=Callable[[], object])
_registry: dict[str, Callable[[], object]] = {DEFAULT_POLICY: DefaultDecisionTree}


def decision_tree(name: str) -> Callable[[_Factory], _Factory]:
    """Register a class (or a function that makes a tree) under ``name``, to be chosen per run."""
    _require_free(name)

    def register(factory: _Factory) -> _Factory:
        _require_free(name)
        _registry[name] = factory
        return factory

    return register


def _require_free(name: object) -> None:
    if not isinstance(name, str) or not name or name in _registry:
        raise PolicyError(
            f"A decision tree cannot be registered as {brief(name)}",
            allowed=f"a name that is not taken: {', '.join(sorted(_registry))} are",
            to_do="Choose another name",
        )


def make_decision_tree(name: str) -> DecisionTree:
    """A new tree of that name. Raises a ``PolicyError`` that says what is wrong with it."""
    factory = _registry.get(name)
    if factory is None:
        raise UnknownPolicyError(
            f"There is no decision tree {name!r}",
            allowed=", ".join(sorted(_registry)),
            to_do=f'Register it with @decision_tree("{name}"), or choose one of these',
        )
    try:
        tree = factory()
    except Exception as error:
        raise PolicyError(
            f"The decision tree {name!r} could not be made: {cause(error)}",
            to_do="It is made without arguments; give its parameters defaults",
        ) from error
    missing = [method for method in _METHODS if not callable(getattr(tree, method, None))]
    if missing:
        raise PolicyError(
            f"The decision tree {name!r} lacks {', '.join(missing)}",
            allowed=f"an object with {', '.join(_METHODS)}",
            to_do="Derive from DefaultDecisionTree to get what you do not write yourself",
        )
    return cast("DecisionTree", tree)


_MEND = "Mend the policy; the run has ended with its work saved"
_METHODS = ("should_continue", "on_turn_start", "on_tool_result", "get_config")


def ask(tree: DecisionTree, state: AgentState) -> Decision:
    """What the tree decides; a ``PolicyError`` if it raises or answers something that is no decision."""
    try:
        answer: object = tree.should_continue(state)
    except Exception as error:
        raise PolicyError(f"should_continue raised {cause(error)}", to_do=_MEND) from error
    match answer:
        case (bool() as goes_on, str() as reason) if goes_on or reason.strip():
            return goes_on, reason
        case _:  # pyright: ignore[reportUnnecessaryComparison] - what a policy answers is not trusted
            raise PolicyError(
                f"should_continue answered {brief(answer)}",
                allowed="(True or False, a reason in words)",
                to_do=_MEND,
            )


def told(what: str, before: AgentState, tell: Callable[[], object]) -> AgentState:
    """The state after a tree was told something. Only its ``extensions`` may differ from ``before``."""
    try:
        after = tell()
    except Exception as error:
        raise PolicyError(f"{what} raised {cause(error)}", to_do=_MEND) from error
    if not isinstance(after, AgentState):
        raise PolicyError(f"{what} answered {brief(after)}", allowed="an AgentState", to_do=_MEND)
    if after is before:
        return before
    changed = [
        name
        for name in AgentState.__slots__
        if name != "extensions" and getattr(after, name) != getattr(before, name)
    ]
    if changed:
        raise PolicyError(
            f"{what} changed {', '.join(changed)}",
            allowed="a change of extensions only",
            to_do="Use dataclasses.replace(state, extensions={...})",
        )
    return after


def is_left_to_default(tree: DecisionTree, method: str) -> bool:
    """Whether a tree has a method from ``DefaultDecisionTree`` and not one of its own."""
    return getattr(getattr(tree, method, None), "__func__", None) is getattr(DefaultDecisionTree, method)


def rule_named(reason: str) -> StopRule | None:
    """The rule of ours that a decision's reason names, if it names one."""
    return StopRule(reason) if reason in StopRule.__members__.values() else None
