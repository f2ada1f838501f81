"""One value of a policy changed in its text. All else stays as it was written, comments too."""

from __future__ import annotations

from typing import Any

from endstop.coding.policy import values_of
from endstop.coding.policy_file import WrittenPolicy, policy_from_yaml
from endstop.coding.policy_keys import POLICY_KEYS, unknown_name
from endstop.coding.policy_problems import PolicyRefusedError
from endstop.coding.policy_template import yaml_value
from endstop.coding.policy_values import Text, Texts
from endstop.coding.yaml_text import Entries, Leaf, Node, last_place, plain, read_yaml
from endstop.errors import InvalidValueError

_NONE = ("null", "none")
_INDENT = "  "
_UNCHANGED = "Nothing was changed; change it all at once in an editor: endstop policy edit"


def with_value(text: str, key: str, words: str, *, of: str = "The policy") -> tuple[str, WrittenPolicy]:
    """The text with one value changed, or added, and the policy that it then is.

    ``words`` is the value as it was typed. ``PolicyRefusedError`` if the policy would have problems.
    """
    known = POLICY_KEYS.get(key)
    if known is None:
        raise unknown_name(key)
    value = known.kind.read(key, _meant(key, words))
    changed = _changed(text, known.section, known.own_name, yaml_value(value))
    try:
        written = policy_from_yaml(changed, of=of)
    except PolicyRefusedError as error:
        raise PolicyRefusedError(error.problems, of=of, to_do=_UNCHANGED) from None
    _require_only_that_changed(text, key, value, written)
    return changed, written


def _meant(key: str, words: str) -> Any:
    """The value that was typed. Text needs no quotes, and one of a list no brackets."""
    kind = POLICY_KEYS[key].kind
    if isinstance(kind, Text | Texts) and words.lower() in _NONE:
        return None
    if isinstance(kind, Text):
        return words
    if isinstance(kind, Texts) and not words.startswith("["):
        return [words]
    try:
        return plain(read_yaml(words))
    except PolicyRefusedError as error:
        what = f"{words!r} cannot be read"
        raise InvalidValueError(
            key, words, allowed=kind.allowed, to_do=error.problems[0].to_do or what
        ) from None


def _changed(text: str, section: str, name: str, value: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    root = read_yaml(text)
    line = f"{_INDENT}{name}: {value}"
    if not isinstance(root, Entries):  # comments alone, if anything
        return _joined(text, f"{section}:{newline}{line}", newline)
    below = _entry(root, section)
    if below is None:
        if root.is_flow:
            return _into_flow(text, root, f"{section}: {{{name}: {value}}}")
        place = _end_of_line(text, last_place(root))
        return _joined(text[:place], f"{section}:{newline}{line}", newline) + text[place:]
    if not isinstance(below, Entries):  # an empty section
        place = _after_key(text, root, section)
        return text[:place] + newline + line + text[_end_of(below, place) :]
    return _with_entry(text, below, name, value, newline)


def _with_entry(text: str, section: Entries, name: str, value: str, newline: str) -> str:
    """The text with an entry of a section changed or added."""
    entry = _entry(section, name)
    if entry is not None:
        start = _after_key(text, section, name)
        end = _end_of(entry, start)
        ending = newline if text[start:end].endswith("\n") else ""  # text in block style ends with its line
        return f"{text[:start]} {value}{ending}{text[end:]}"
    if section.is_flow:
        return _into_flow(text, section, f"{name}: {value}")
    place = _end_of_line(text, last_place(section))
    column = section.start - (text.rfind("\n", 0, section.start) + 1)
    return _joined(text[:place], f"{' ' * column}{name}: {value}", newline) + text[place:]


def _entry(entries: Entries, name: str) -> Node | None:
    return next((value for key, value in entries.entries if plain(key) == name), None)


def _after_key(text: str, entries: Entries, name: str) -> int:
    """The place behind the colon of a key."""
    key = next(key for key, _ in entries.entries if plain(key) == name)
    colon = text.find(":", key.end)
    if colon < 0:
        raise _not_safely(name)
    return colon + 1


def _end_of(value: Node, start: int) -> int:
    """Where a value ends that begins behind ``start``. One that is not written has no place of its own."""
    is_written = not isinstance(value, Leaf) or value.end > value.start
    return max(start, last_place(value)) if is_written else start


def _into_flow(text: str, entries: Entries, entry: str) -> str:
    comma = ", " if entries.entries else ""
    place = last_place(entries.entries[-1][1]) if entries.entries else entries.start + 1
    return text[:place] + comma + entry + text[place:]


def _end_of_line(text: str, place: int) -> int:
    """The place behind the line in which a value ends, and behind a comment on it."""
    if place and text[place - 1] == "\n":
        return place
    found = text.find("\n", place)
    return len(text) if found < 0 else found + 1


def _joined(text: str, line: str, newline: str) -> str:
    return f"{text}{newline if text and not text.endswith(newline) else ''}{line}{newline}"


def _require_only_that_changed(text: str, key: str, value: object, written: WrittenPolicy) -> None:
    """A text may be written in ways nobody thought of: rather no change than another than was asked for."""
    after = values_of(written.policy)
    try:
        before = values_of(policy_from_yaml(text).policy)
    except PolicyRefusedError:  # it had problems, and has none any more
        before = after
    if key not in written.lines or after != {**before, key: value}:
        raise _not_safely(key)


def _not_safely(key: str) -> InvalidValueError:
    return InvalidValueError(
        key,
        "in a place where it cannot be changed safely",
        allowed="one key to a line",
        to_do="Change the file in an editor: endstop policy edit",
    )
