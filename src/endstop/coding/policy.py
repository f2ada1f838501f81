"""The policy of coding sessions: how far one may go, what it may touch, and when a person is asked (G6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, cast

from endstop.coding.policy_contradictions import contradictions
from endstop.coding.policy_problems import PolicyProblem, PolicyRefusedError, problem_of
from endstop.coding.policy_rules import (
    MODEL,
    PERMISSION,
    ROLES,
    TOOLS,
    BuildRules,
    CommandRules,
    ConvergenceRules,
    CriticRules,
    ForbiddenRules,
    InterviewRules,
    Permission,
    PlanRules,
    PriceRules,
    ReflexionRules,
    ReviewedBy,
    ReviewRules,
    SessionRules,
    SpecifyRules,
    TestsRules,
)
from endstop.coding.policy_values import Kind
from endstop.errors import InvalidValueError, brief
from endstop.kernel.budget import Budget
from endstop.kernel.texts import closest

__all__ = [
    "DEFAULT_POLICY",
    "ROLES",
    "TOOLS",
    "BuildRules",
    "CommandRules",
    "ConvergenceRules",
    "CriticRules",
    "ForbiddenRules",
    "InterviewRules",
    "Permission",
    "PlanRules",
    "Policy",
    "PolicyProblem",
    "PolicyRefusedError",
    "PriceRules",
    "ReflexionRules",
    "ReviewRules",
    "ReviewedBy",
    "SessionRules",
    "SpecifyRules",
    "TestsRules",
    "unknown_key",
    "values_of",
]

_MOST_SHOWN = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What holds for a session. Every value is within its bounds, and no two contradict each other."""

    session: SessionRules = field(default_factory=SessionRules)
    interview: InterviewRules = field(default_factory=InterviewRules)
    specify: SpecifyRules = field(default_factory=SpecifyRules)
    price: PriceRules = field(default_factory=PriceRules)
    plan: PlanRules = field(default_factory=PlanRules)
    build: BuildRules = field(default_factory=BuildRules)
    critic: CriticRules = field(default_factory=CriticRules)
    reflexion: ReflexionRules = field(default_factory=ReflexionRules)
    convergence: ConvergenceRules = field(default_factory=ConvergenceRules)
    tests: TestsRules = field(default_factory=TestsRules)
    commands: CommandRules = field(default_factory=CommandRules)
    tools: Mapping[str, Permission] = field(default_factory=dict[str, Permission])
    """By the name of the tool. All are here; what was not named is allowed."""
    forbidden: ForbiddenRules = field(default_factory=ForbiddenRules)
    review: ReviewRules = field(default_factory=ReviewRules)
    models: Mapping[str, str] = field(default_factory=dict[str, str])
    """By role, as ``provider:model``. Roles that are not here use the session's own model."""

    def __post_init__(self) -> None:
        tools = dict.fromkeys(TOOLS, Permission.ALLOW) | _entries("tools", self.tools, TOOLS, PERMISSION)
        object.__setattr__(self, "tools", MappingProxyType(tools))
        models = _entries("models", self.models, ROLES, MODEL)
        named = {role: models[role] for role in ROLES if models.get(role) is not None}
        object.__setattr__(self, "models", MappingProxyType(named))
        problems = tuple(contradictions(values_of(self)))
        if problems:
            raise PolicyRefusedError(problems)

    def budget(self) -> Budget:
        """The budget of a session. Nothing is held back for a closing turn: its parts close by themselves."""
        return Budget(
            finish_reserve=0.0,
            unknown_price=self.session.unknown_price,
            seconds=self.session.minutes * 60,
            model_calls=self.session.model_calls,
            cost_usd=self.session.cost_usd,
            tokens=self.session.tokens,
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Its mappings are read-only views, which cannot be pickled: a copy is made from what was given."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return _policy_of, ({**given, "tools": dict(self.tools), "models": dict(self.models)},)


def _policy_of(given: dict[str, Any]) -> Policy:
    return Policy(**given)


def values_of(policy: Policy) -> dict[str, object]:
    """The values of a policy by the names of its keys. A role without a model of its own has None."""
    values: dict[str, object] = {}
    for section in fields(policy):
        rules: Any = getattr(policy, section.name)
        if section.name == "tools":
            entries = {tool: policy.tools[tool] for tool in TOOLS}
        elif section.name == "models":
            entries = {role: policy.models.get(role) for role in ROLES}
        else:
            entries = {each.name: getattr(rules, each.name) for each in fields(rules)}
        values.update({f"{section.name}.{name}": value for name, value in entries.items()})
    return values


def unknown_key(key: str, known: Iterable[str], line: int | None = None) -> PolicyProblem:
    """There is no such key; perhaps another was meant."""
    names = tuple(known)
    meant = closest(key, names)
    allowed = "" if meant else ", ".join(names)
    to_do = f"Did you mean {meant}?" if meant else ""
    shown = key if key.isprintable() and len(key) <= _MOST_SHOWN else brief(key)
    return PolicyProblem(key=key, what=f"There is no key {shown}", allowed=allowed, to_do=to_do, line=line)


def _entries(section: str, given: object, known: tuple[str, ...], kind: Kind) -> dict[str, Any]:
    """The entries of a section that is a mapping, each of them checked."""
    if not isinstance(given, Mapping):
        raise InvalidValueError(section, given, allowed="a mapping")
    entries: dict[str, Any] = {}
    problems: list[PolicyProblem] = []
    for name, value in cast("Mapping[str, object]", given).items():
        key = f"{section}.{name}"
        if name not in known:
            problems.append(unknown_key(key, (f"{section}.{each}" for each in known)))
            continue
        try:
            entries[name] = kind.read(key, value)
        except InvalidValueError as error:
            problems.append(problem_of(key, error))
    if problems:
        raise PolicyRefusedError(problems)
    return entries


DEFAULT_POLICY = Policy()
