"""A ``policy.yaml`` to begin with: every key with its default, what it may be and what it means."""

from __future__ import annotations

import json
import re
import textwrap
from decimal import Decimal
from typing import cast

from endstop.coding.policy_keys import POLICY_KEYS, POLICY_SECTIONS, PolicyKey

_WIDTH = 100
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*\Z")
_WORDS_WITH_A_MEANING = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})

_INTRODUCTION = """\
# The policy of coding sessions: how far one may go, what it may touch, and when you are asked.
#
# Each value is the default. Change what you like, delete what you do not need: what is not here is the
# default. endstop policy check tells what is wrong, endstop policy show what holds. A session keeps to
# the policy it began with.
"""


def policy_template() -> str:
    """The text of the file. Read back, it is the default policy."""
    return _INTRODUCTION + "".join(_section(name, words) for name, words in POLICY_SECTIONS.items())


def yaml_value(value: object) -> str:
    """A value as it is written in a policy, on one line."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case Decimal():
            return f"{value:.2f}" if value == round(value, 2) else f"{value:f}"
        case float():
            return repr(value).removesuffix(".0")
        case list() | tuple():
            items = cast("list[object]", value)
            return f"[{', '.join(yaml_value(item) for item in items)}]"
        case str() if not _PLAIN.match(value) or value.lower() in _WORDS_WITH_A_MEANING:
            return json.dumps(str(value), ensure_ascii=False)
        case _:
            return str(value)


def _section(name: str, words: str) -> str:
    keys = [key for key in POLICY_KEYS.values() if key.section == name]
    if len({key.kind.allowed for key in keys}) > 1:
        return f"\n# {words}\n{name}:\n{''.join(_entry(key) for key in keys)}"
    entries = [f"{key.own_name}: {yaml_value(key.default)}" for key in keys]
    width = max(len(entry) for entry in entries)
    lines = [f"  {entry.ljust(width)}  # {key.meaning}\n" for entry, key in zip(entries, keys, strict=True)]
    return f"\n# {words}\n# Each may be {keys[0].kind.allowed}.\n{name}:\n{''.join(lines)}"


def _entry(key: PolicyKey) -> str:
    words = f"{key.meaning} Allowed: {key.kind.allowed}."
    comment = textwrap.fill(words, _WIDTH, initial_indent="  # ", subsequent_indent="  # ")
    return f"{comment}\n  {key.own_name}: {yaml_value(key.default)}\n"
