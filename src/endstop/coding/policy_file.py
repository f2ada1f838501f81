"""Policies as text: JSON in records, and YAML in ``policy.yaml``, for people (G6)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from endstop.coding.policy import DEFAULT_POLICY, Policy, unknown_key, values_of
from endstop.coding.policy_keys import POLICY_KEYS, POLICY_SECTIONS, policy_with
from endstop.coding.policy_problems import PolicyProblem, PolicyRefusedError
from endstop.coding.yaml_text import MOST_BYTES, Entries, Node, plain, read_yaml
from endstop.errors import InvalidValueError, brief

POLICY_FILE = "policy.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPolicy:
    """A policy as somebody wrote it: what it says, and in which line."""

    policy: Policy
    lines: Mapping[str, int]
    """By key. What is not here was not written, and is the default."""


def policy_text(policy: Policy) -> str:
    """A policy as JSON text, whole, as it goes into a record."""
    nested: dict[str, dict[str, object]] = {section: {} for section in POLICY_SECTIONS}
    for key, value in plain_values(policy).items():
        section, _, name = key.partition(".")
        nested[section][name] = value
    return json.dumps(nested, ensure_ascii=False)


def policy_of(text: str) -> Policy:
    """The policy of a JSON text. ``PolicyRefusedError`` tells all that is wrong with it."""
    try:
        given: object = json.loads(text)
    except (ValueError, RecursionError):
        raise PolicyRefusedError([PolicyProblem(key="", what="It is not JSON")]) from None
    return written_policy_of(given).policy


def read_policy(path: Path) -> Policy:
    """The policy of a file. ``InvalidValueError`` tells all that is wrong with it, line by line."""
    return policy_from_yaml(read_policy_text(path), of=str(path)).policy


def policy_for(folder: Path, home: Path) -> Policy:
    """The policy that holds for a folder: of its repository, else of the home folder, else the defaults."""
    path = find_policy_file(folder, home)
    return DEFAULT_POLICY if path is None else read_policy(path)


def find_policy_file(folder: Path, home: Path) -> Path | None:
    """The file that holds for a folder, if there is one."""
    for place in (repository_of(folder) or folder, home):
        path = place / POLICY_FILE
        if os.path.lexists(path):  # a link that leads nowhere is told of when it is read
            return path
    return None


def repository_of(folder: Path) -> Path | None:
    """The folder at the top of a repository, for any folder in it."""
    here = folder.absolute()
    return next((each for each in (here, *here.parents) if os.path.lexists(each / ".git")), None)


def read_policy_text(path: Path) -> str:
    """What stands in a file of ordinary size; a clear error if it cannot be read."""
    try:
        if not path.is_file():  # a pipe would be waited for
            raise _unreadable(path, "there is no such file" if not path.exists() else "it is no file")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise _unreadable(path, f"it is larger than {MOST_BYTES:,} bytes")
        return content.decode("utf-8-sig")
    except OSError as error:
        raise _unreadable(path, error.strerror or "it cannot be read") from None
    except UnicodeDecodeError:
        raise _unreadable(path, "it is not text in UTF-8") from None


def policy_from_yaml(text: str, *, of: str = "The policy") -> WrittenPolicy:
    """The policy of a YAML text, and where its values stand. ``PolicyRefusedError`` tells all problems."""
    try:
        node = read_yaml(text)
        doubled = tuple(_doubled(node))
        return written_policy_of(plain(node), lines=dict(_lines(node)), problems=doubled, of=of)
    except PolicyRefusedError as error:
        raise PolicyRefusedError(error.problems, of=of) from None


def written_policy_of(
    given: object,
    *,
    lines: Mapping[str, int] = MappingProxyType({}),
    problems: tuple[PolicyProblem, ...] = (),
    of: str = "The policy",
) -> WrittenPolicy:
    """The policy of plain values, in sections. An empty section, or none at all, means the defaults."""
    found = list(problems)
    values: dict[str, object] = {}
    if not isinstance(given, dict | None):
        sections = ", ".join(POLICY_SECTIONS)
        found.append(PolicyProblem(key="", what=f"It is {brief(given)}", allowed=f"sections: {sections}"))
        given = None
    for section, entries in cast("dict[str, object]", given or {}).items():
        line = lines.get(section)
        if section not in POLICY_SECTIONS:
            found.append(unknown_key(section, POLICY_SECTIONS, line))
        elif isinstance(entries, dict):
            named = cast("dict[str, object]", entries).items()
            values.update({f"{section}.{name}": value for name, value in named})
        elif entries is not None:
            names = (key.own_name for key in POLICY_KEYS.values() if key.section == section)
            what, allowed = f"{section} is {brief(entries)}", f"these below it: {', '.join(names)}"
            found.append(PolicyProblem(key=section, what=what, allowed=allowed, line=line))
    policy = policy_with(values, lines=lines, problems=tuple(found), of=of)
    return WrittenPolicy(policy=policy, lines={key: lines[key] for key in values if key in lines})


def plain_values(policy: Policy) -> dict[str, Any]:
    """The values of a policy as JSON knows them, by key. Money is text."""
    return {key: plain_value(value) for key, value in values_of(policy).items()}


def plain_value(value: object) -> Any:
    """A value of a policy as JSON knows it."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    return list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value


def _lines(node: Node | None) -> Iterator[tuple[str, int]]:
    """In which line each section and each key stands."""
    for section, line, below in _entries(node):
        yield section, line
        for name, line_below, _ in _entries(below):
            yield f"{section}.{name}", line_below


def _doubled(node: Node | None) -> Iterator[PolicyProblem]:
    """Keys that stand there twice: one of them would be lost without a word."""
    first: dict[str, int] = {}
    for section, line, below in _entries(node):
        places = [(section, line), *((f"{section}.{name}", at) for name, at, _ in _entries(below))]
        for key, at in places:
            if key in first:
                what = f"{key} stands here again, after line {first[key]}"
                yield PolicyProblem(key=key, what=what, to_do="Leave one of them", line=at)
            first.setdefault(key, at)


def _entries(node: Node | None) -> Iterator[tuple[str, int, Node]]:
    if isinstance(node, Entries):
        for key, value in node.entries:
            yield str(plain(key)), key.line, value


def _unreadable(path: Path, why: str) -> InvalidValueError:
    return InvalidValueError(
        "policy file",
        str(path),
        allowed=f"a file that can be read ({why})",
        to_do="Make one with endstop policy init",
    )
