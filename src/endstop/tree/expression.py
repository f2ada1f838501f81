"""The small language of conditions: comparisons over the blackboard, and nothing that can take time.

    turn >= 3 and not is_done
    signal.type == "done" or #sources > 0
    phase in phases_left

Keys (``signal.type`` for what a map holds), numbers, texts, ``true``, ``false``, ``nil``; ``==``, ``~=``
(or ``!=``), ``<``, ``<=``, ``>``, ``>=``, ``in``; ``+ - * /``; ``#`` for how many there are; ``and``, ``or``,
``not``; parentheses. As in Lua only ``false`` and ``nil`` are false, ``and`` and ``or`` give one of their
sides and look at the right one only if the left does not decide, and values of two types are never equal.

What cannot be known makes the whole expression false, also under ``not``: a key nobody has, an order between
a text and a number, a division by zero, a number past 10 to the 15th. So a condition never holds by mistake.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NoReturn

from endstop.errors import InvalidValueError
from endstop.tree.meaning import (
    COMPARISONS,
    MOST,
    PRODUCTS,
    SUMS,
    Get,
    Operator,
    Value,
    arithmetic,
    comparison,
    constant,
    entry,
    first_of,
    how_many,
    is_true,
    number,
)

MOST_CHARS = 1_000
MOST_DEPTH = 50

RESERVED = frozenset({"and", "or", "not", "in", "true", "false", "nil"})
"""Words that cannot be keys."""

_SPACE = " \t\r\n"
_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
        (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?(?![\w.]))
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<sign>==|~=|!=|<=|>=|[<>()+\-*/\#.])
      | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'"}

_VALUE = "a key, a number, a text, true, false, nil or ("


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A condition over the blackboard, ready to be asked."""

    text: str
    keys: frozenset[str]
    """The keys it reads: for ``signal.type`` that is ``signal``."""
    value: Value = field(repr=False, compare=False)

    def holds(self, get: Get) -> bool:
        """Whether it is true of what ``get`` finds under its keys. Never raises: what is unknown is false."""
        try:
            value = self.value(get)
        except Exception:  # noqa: BLE001 - a condition that cannot be answered does not hold
            return False
        return is_true(value)


def parse(text: str) -> Expression:
    """The expression of this text; ``InvalidValueError`` says where it goes wrong and what was expected."""
    return _parsed(text) if _is_text(text) else _Parser(text).expression()


@lru_cache(maxsize=1_000)
def _parsed(text: str) -> Expression:
    """The same texts are read when a tree is checked, and again for every one that has a part of it."""
    return _Parser(text).expression()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    kind: str
    text: str
    at: int


class _Parser:
    """One pass from left to right. Each method reads what binds tighter than the one before it."""

    def __init__(self, text: str) -> None:
        self._text = text
        if not _is_text(text) or len(text) > MOST_CHARS:
            raise InvalidValueError("expression", text, allowed=f"text of at most {MOST_CHARS:,} characters")
        self._tokens = self._cut(text)
        self._at = 0
        self._depth = 0
        self._keys: set[str] = set()

    def expression(self) -> Expression:
        value = self._either()
        if self._here.kind != "end":
            self._refuse("an operator or the end")
        return Expression(text=self._text, keys=frozenset(self._keys), value=value)

    def _either(self) -> Value:
        sides = [self._both()]
        while self._took("or"):
            sides.append(self._both())
        return first_of(sides, wanted=True)

    def _both(self) -> Value:
        sides = [self._negated()]
        while self._took("and"):
            sides.append(self._negated())
        return first_of(sides, wanted=False)

    def _negated(self) -> Value:
        if not self._took("not"):
            return self._compared()
        value = self._deeper(lambda: self._negated() if self._here.text == "not" else self._signed())
        if self._here.text in COMPARISONS:
            self._refuse("and, or or the end (for a comparison write not (a == b))")
        return lambda get: not is_true(value(get))

    def _compared(self) -> Value:
        left = self._summed()
        operator = self._here.text
        if operator not in COMPARISONS:
            return left
        self._at += 1
        right = self._summed()
        if self._here.text in COMPARISONS:
            self._refuse("and, or or the end (write a < b and b < c)")
        return comparison(operator, left, right)

    def _summed(self) -> Value:
        return self._chain(self._multiplied, SUMS)

    def _multiplied(self) -> Value:
        return self._chain(self._signed, PRODUCTS)

    def _chain(self, part: Callable[[], Value], operators: Mapping[str, Operator]) -> Value:
        first = part()
        rest: list[tuple[Operator, Value]] = []
        while self._here.text in operators:
            operator = operators[self._here.text]
            self._at += 1
            rest.append((operator, part()))
        return arithmetic(first, tuple(rest)) if rest else first

    def _signed(self) -> Value:
        if self._took("-"):
            negative = self._deeper(self._signed)
            return lambda get: -number(negative(get))
        if self._took("#"):
            many = self._deeper(self._signed)
            return lambda get: how_many(many(get))
        return self._single()

    def _single(self) -> Value:
        token = self._here
        if self._took("("):
            value = self._deeper(self._either)
            if not self._took(")"):
                self._refuse(") or an operator")
            return value
        if token.kind not in ("number", "text", "word") or token.text in RESERVED - {"true", "false", "nil"}:
            self._refuse(_VALUE)
        self._at += 1
        match token.kind:
            case "number":
                return constant(self._number(token))
            case "text":
                return constant(_unescaped(token.text))
            case _ if token.text in RESERVED:
                return constant({"true": True, "false": False, "nil": None}[token.text])
            case _:
                return self._key(token.text)

    def _key(self, key: str) -> Value:
        self._keys.add(key)
        path: list[str] = []
        while self._took("."):
            if self._here.kind != "word":
                self._refuse("the name of an entry")
            path.append(self._here.text)
            self._at += 1
        return entry(key, tuple(path)) if path else lambda get: get(key)

    def _number(self, token: _Token) -> int | float:
        found = int(token.text) if token.text.isdigit() else float(token.text)
        if found > MOST:
            self._at -= 1
            self._refuse(f"a number up to {MOST:,}")
        return found

    @property
    def _here(self) -> _Token:
        return self._tokens[self._at]

    def _took(self, text: str) -> bool:
        """Whether this word or sign stands here; if so it is read."""
        is_here = self._here.text == text  # a text keeps its quotes, so "and" is never and
        self._at += is_here
        return is_here

    def _deeper(self, part: Callable[[], Value]) -> Value:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            self._refuse(f"at most {MOST_DEPTH} levels of parentheses and signs")
        value = part()
        self._depth -= 1
        return value

    def _cut(self, text: str) -> list[_Token]:
        tokens: list[_Token] = []
        at = 0
        while not tokens or tokens[-1].kind != "end":
            found = _TOKEN.match(text, at)
            if found is None or found.lastgroup is None:
                at += len(text[at:]) - len(text[at:].lstrip(_SPACE))
                self._complain("a key, a number, a text in quotes or an operator", text[at], at)
            kind = found.lastgroup
            tokens.append(_Token(kind=kind, text=found[kind], at=found.start(kind)))
            at = found.end()
            if kind == "text" and any(one not in _ESCAPES for one in _ESCAPED.findall(found[kind])):
                self._complain(r"a text with no escapes but \n \t \\ \" \'", found[kind], found.start(kind))
        return tokens

    def _refuse(self, expected: str) -> NoReturn:
        token = self._here
        self._complain(expected, "the end" if token.kind == "end" else token.text, token.at)

    def _complain(self, expected: str, found: str, at: int) -> NoReturn:
        raise InvalidValueError(
            "expression",
            self._text,
            allowed=f"{expected} at character {at + 1}, where {found[:40]} stands",
            to_do='Write it as in turn >= 3 and signal.type == "done"',
        )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _unescaped(quoted: str) -> str:
    return _ESCAPED.sub(lambda found: _ESCAPES[found[1]], quoted[1:-1])
