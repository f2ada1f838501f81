"""Texts that are meant to keep Lua's compiler busy: as long as a tree file may be, so they are made here."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from string import ascii_lowercase

from endstop.tree.lua import LIMITS

_LETTERS = [a + b for a, b in product(ascii_lowercase, repeat=2) if a + b not in ("do", "if", "in", "or")]


def _filled(before: str, unit: Callable[[int], str], after: str = "") -> str:
    """As many units as fit between the two."""
    parts = [before]
    room = LIMITS.bytes - len(before) - len(after)
    for number in range(LIMITS.bytes):
        part = unit(number)
        room -= len(part)
        if room < 0:
            break
        parts.append(part)
    return "".join([*parts, after])


def _constants(count: int, step: int) -> str:
    """Named constants whose sums are all multiples of ``step``."""
    small = "".join(f"local {_LETTERS[n]} <const> = {n * step} " for n in range(count))
    large = "".join(f"local {_LETTERS[count + n]} <const> = {n * count * step} " for n in range(count))
    return small + large


def _many_names(levels: int) -> str:
    """Functions in functions, each with all the names it may have."""
    return f"local {','.join(_LETTERS[:190])} = 1 local function f() " * levels


BUSY_COMPILER = {
    "many labels": _filled("", lambda n: f"::a{n:x}::;"),
    "many gotos to one label": _filled("do ", lambda _: "goto a ", "::a:: end"),
    "many breaks": _filled("while x do ", lambda _: "break ", "end"),
    "numbers that collide": _filled("local t = {", lambda n: f"{n * 16_383},", "}"),
    "numbers that collide in a larger table": _filled("local t = {", lambda n: f"{n * 32_767},", "}"),
    "products of constants that collide": _filled(
        "local m <const> = 16383 local t = {", lambda n: f"m*{n},", "}"
    ),
    "sums of constants that collide": _filled(
        _constants(95, 32_767) + "local t = {",
        lambda n: f"{_LETTERS[n % 95]}+{_LETTERS[95 + n // 95 % 95]},",
        "}",
    ),
    "a long chain of or": _filled("local x = a", lambda _: " or a"),
    "a long chain of elseif": _filled("if a then ", lambda _: "elseif a then ", "end"),
    "names looked for through many functions": _filled(_many_names(80), lambda _: "Z=Z;", " end" * 80),
    "many functions": _filled("", lambda _: "a=function()end "),
    "a number without end": _filled("x=", lambda _: "9"),
    "an exponent without end": _filled("x=1e", lambda _: "9"),
    "brackets again and again": _filled("", lambda _: f"a={'(' * 150}1{')' * 150};"),
}
