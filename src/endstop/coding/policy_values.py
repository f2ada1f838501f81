"""The kinds of values that a policy is made of: what each may be, in words, as a check, as a JSON schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any, Protocol, TypeVar, cast

from endstop.errors import InvalidValueError
from endstop.kernel.amounts import dollars
from endstop.kernel.limits import whole

_T = TypeVar("_T")

_MOST_TEXT = 2_000
_MOST_TEXTS = 100
_KIND = "kind"
_MEANING = "meaning"


class Kind(Protocol):
    """What a value may be."""

    @property
    def allowed(self) -> str:
        """In words, for a person."""
        ...

    def read(self, key: str, value: object) -> object:
        """The value as a policy holds it. ``InvalidValueError`` if it may not be."""
        ...

    def schema(self) -> dict[str, object]:
        """The same as a JSON schema, for editors."""
        ...


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number."""

    smallest: int
    largest: int

    @property
    def allowed(self) -> str:
        return f"a whole number from {self.smallest:,} to {self.largest:,}"

    def read(self, key: str, value: object) -> object:
        return whole(key, value, smallest=self.smallest, largest=self.largest)

    def schema(self) -> dict[str, object]:
        return {"type": "integer", "minimum": self.smallest, "maximum": self.largest}


@dataclass(frozen=True, slots=True)
class Number:
    """Any number: of minutes, of seconds, a fraction."""

    smallest: float
    largest: float

    @property
    def allowed(self) -> str:
        return f"a number from {self.smallest:,g} to {self.largest:,g}"

    def read(self, key: str, value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidValueError(key, value, allowed=self.allowed)
        if not self.smallest <= value <= self.largest:  # NaN is not
            raise InvalidValueError(key, value, allowed=self.allowed)
        return float(value)

    def schema(self) -> dict[str, object]:
        return {"type": "number", "minimum": self.smallest, "maximum": self.largest}


@dataclass(frozen=True, slots=True)
class Money:
    """US dollars: as text they are exact, and numbers are taken as they are written."""

    smallest: Decimal
    largest: Decimal

    @property
    def allowed(self) -> str:
        return f"dollars from {self.smallest:f} to {self.largest:,f}"

    def read(self, key: str, value: object) -> object:
        if isinstance(value, bool):
            raise InvalidValueError(key, value, allowed=self.allowed)
        return dollars(key, value, smallest=self.smallest, largest=self.largest)

    def schema(self) -> dict[str, object]:
        number = {"type": "number", "minimum": float(self.smallest), "maximum": float(self.largest)}
        return {"anyOf": [number, {"type": "string", "pattern": r"^\d+(\.\d+)?$"}]}


@dataclass(frozen=True, slots=True)
class YesNo:
    """True or false."""

    @property
    def allowed(self) -> str:
        return "true or false"

    def read(self, key: str, value: object) -> object:
        if not isinstance(value, bool):
            raise InvalidValueError(key, value, allowed=self.allowed)
        return value

    def schema(self) -> dict[str, object]:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words."""

    words: type[StrEnum]

    @property
    def allowed(self) -> str:
        return " or ".join(self.words)

    def read(self, key: str, value: object) -> object:
        try:
            return self.words(cast("str", value))
        except ValueError:
            raise InvalidValueError(key, value, allowed=self.allowed) from None

    def schema(self) -> dict[str, object]:
        return {"enum": [word.value for word in self.words]}


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text, or null for none. ``is_good`` says whether it makes sense."""

    what: str
    none_means: str
    is_good: Callable[[str], bool] = bool

    @property
    def allowed(self) -> str:
        return f"{self.what}, or null for {self.none_means}"

    def read(self, key: str, value: object) -> object:
        return None if value is None else _line(key, value, self.allowed, self.is_good)

    def schema(self) -> dict[str, object]:
        return {"type": ["string", "null"], "minLength": 1, "maxLength": _MOST_TEXT}


@dataclass(frozen=True, slots=True)
class Texts:
    """A list of lines of text; null for no list at all, where that means something."""

    what: str
    none_means: str = ""
    is_good: Callable[[str], bool] = bool

    @property
    def allowed(self) -> str:
        none = f"; or null for {self.none_means}" if self.none_means else ""
        return f"a list of at most {_MOST_TEXTS}, each {self.what}{none}"

    def read(self, key: str, value: object) -> object:
        if value is None and self.none_means:
            return None
        if not isinstance(value, list | tuple):
            raise InvalidValueError(key, value, allowed=self.allowed, to_do="Write it as a list: [one, two]")
        items = cast("list[object] | tuple[object, ...]", value)
        if len(items) > _MOST_TEXTS:
            raise InvalidValueError(key, f"{len(items)} of them", allowed=self.allowed)
        return tuple(_line(f"one of {key}", item, self.allowed, self.is_good) for item in items)

    def schema(self) -> dict[str, object]:
        return {
            "type": ["array", "null"] if self.none_means else "array",
            "items": {"type": "string", "minLength": 1, "maxLength": _MOST_TEXT},
            "maxItems": _MOST_TEXTS,
        }


def _line(key: str, value: object, allowed: str, is_good: Callable[[str], bool]) -> str:
    if not isinstance(value, str):
        raise InvalidValueError(key, value, allowed=allowed, to_do="Put it in quotes if it is meant as text")
    is_line = value.strip() == value and value.isprintable() and 0 < len(value) <= _MOST_TEXT
    if not is_line or not is_good(value):
        raise InvalidValueError(key, value, allowed=allowed)
    return value


def is_pattern(text: str) -> bool:
    """Whether it is a regular expression."""
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def is_whole_path(text: str) -> bool:
    """Whether it is a path that means the same wherever one stands."""
    return text.startswith(("/", "~/")) and ".." not in text.split("/")


def is_inner_glob(text: str) -> bool:
    """Whether it can match a path inside of a folder."""
    return not text.startswith(("/", "~")) and ".." not in text.split("/")


def is_program(text: str) -> bool:
    """Whether it is one word, as a command begins with."""
    return not any(letter.isspace() or letter in "|&;<>()$`\"'" for letter in text)


def is_model_name(text: str) -> bool:
    """Whether it is written like the name of a model; whether there is one is found out when it is made."""
    provider, _, model = text.partition(":")
    return text == "extractive" or bool(provider.strip() and model.strip())


def rule(default: _T, kind: Kind, meaning: str) -> _T:
    """A field of a section of a policy: its default, what it may be, and what it means."""
    return field(default=default, metadata={_KIND: kind, _MEANING: meaning})


def kind_and_meaning(metadata: Mapping[Any, Any]) -> tuple[Kind, str]:
    """What ``rule`` said of a field."""
    return metadata[_KIND], metadata[_MEANING]
