"""The keys of a policy, by the names they have in files and in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from endstop.coding.policy import DEFAULT_POLICY, ROLES, TOOLS, Permission, Policy, unknown_key, values_of
from endstop.coding.policy_contradictions import contradictions
from endstop.coding.policy_problems import PolicyProblem, PolicyRefusedError, problem_of
from endstop.coding.policy_rules import MODEL, PERMISSION
from endstop.coding.policy_values import Kind, kind_and_meaning
from endstop.errors import InvalidValueError
from endstop.kernel.texts import closest

_NOWHERE: Mapping[str, int] = MappingProxyType({})
_TOOL_MEANINGS = {
    "read_file": "Read a file.",
    "search_code": "Search all files.",
    "list_files": "List files.",
    "write_file": "Write a whole file.",
    "edit_file": "Replace a part of a file.",
    "delete_file": "Delete a file.",
    "run_command": "Run a command, confined.",
    "run_tests": "Run the project's tests in the middle of a round.",
}
_ROLE_MEANINGS = {
    "interviewer": "Asks you what you mean.",
    "specifier": "Writes the specification.",
    "pricer": "Estimates what the build costs.",
    "planner": "Divides the build into tasks.",
    "builder": "Writes the code.",
    "tester": "Judges whether the success criteria are met.",
    "critic": "Looks for what is wrong.",
    "simplifier": "Makes what is done simpler.",
    "reviewer": "Decides at limits, where review.by is agent.",
}
_MAPPINGS = {
    "tools": "What agents are given to work with. A tool that is denied is not offered at all.",
    "models": "Which model works in which role.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyKey:
    """One value of a policy."""

    name: str
    """Such as ``session.minutes``."""
    kind: Kind
    default: object
    meaning: str

    @property
    def section(self) -> str:
        return self.name.partition(".")[0]

    @property
    def own_name(self) -> str:
        """Its name within its section."""
        return self.name.partition(".")[2]


def _section_words() -> Iterator[tuple[str, str]]:
    for each in fields(Policy):
        rules: object = getattr(DEFAULT_POLICY, each.name)
        yield each.name, _MAPPINGS.get(each.name) or str(type(rules).__doc__)


POLICY_SECTIONS: Mapping[str, str] = MappingProxyType(dict(_section_words()))
"""What each section of a policy is about, in the order in which they are written."""


def _keys_of(section: str) -> Iterator[PolicyKey]:
    if section == "tools":
        for tool in TOOLS:
            words = _TOOL_MEANINGS[tool]
            yield PolicyKey(name=f"tools.{tool}", kind=PERMISSION, default=Permission.ALLOW, meaning=words)
    elif section == "models":
        for role in ROLES:
            words = _ROLE_MEANINGS[role]
            yield PolicyKey(name=f"models.{role}", kind=MODEL, default=None, meaning=words)
    else:
        rules: Any = getattr(DEFAULT_POLICY, section)
        for each in fields(rules):
            kind, words = kind_and_meaning(each.metadata)
            default: object = getattr(rules, each.name)
            yield PolicyKey(name=f"{section}.{each.name}", kind=kind, default=default, meaning=words)


POLICY_KEYS: Mapping[str, PolicyKey] = MappingProxyType(
    {key.name: key for section in POLICY_SECTIONS for key in _keys_of(section)}
)
"""All keys there are, in the order in which they are written."""


def unknown_name(name: str) -> InvalidValueError:
    """Somebody asks for a key or a section that there is not."""
    meant = closest(name, (*POLICY_SECTIONS, *POLICY_KEYS))
    return InvalidValueError(
        "KEY",
        name,
        allowed="a key, such as session.minutes",
        to_do=f"Did you mean {meant}?" if meant else "See endstop policy show",
    )


def policy_with(
    values: Mapping[str, object],
    *,
    lines: Mapping[str, int] = _NOWHERE,
    problems: tuple[PolicyProblem, ...] = (),
    of: str = "The policy",
) -> Policy:
    """The policy with these values, by the names of their keys, and the defaults for all others.

    ``PolicyRefusedError`` tells all that is wrong with them, and the ``problems`` there were before.
    """
    found = list(problems)
    good = values_of(DEFAULT_POLICY)
    for name, value in values.items():
        key = POLICY_KEYS.get(name)
        if key is None:
            found.append(unknown_key(name, POLICY_KEYS, lines.get(name)))
            continue
        try:
            good[name] = key.kind.read(name, value)
        except InvalidValueError as error:
            found.append(problem_of(name, error, lines.get(name)))
            del good[name]  # what is wrong by itself is not compared with others
    found.extend(contradictions(good, lines))
    if found:
        raise PolicyRefusedError(found, of=of)
    return _made(good)


def _made(values: Mapping[str, object]) -> Policy:
    sections: dict[str, dict[str, Any]] = {section: {} for section in POLICY_SECTIONS}
    for name, value in values.items():
        section, _, own_name = name.partition(".")
        sections[section][own_name] = value
    return Policy(**{section: _section(section, entries) for section, entries in sections.items()})


def _section(section: str, entries: dict[str, Any]) -> Any:
    """The rules of one section; those that are mappings are one already."""
    return entries if section in _MAPPINGS else type(getattr(DEFAULT_POLICY, section))(**entries)
