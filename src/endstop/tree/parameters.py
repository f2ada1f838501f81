"""What a node may be given: one value at a time, against what its kind takes."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TypeGuard

from endstop.errors import InvalidValueError
from endstop.kernel.amounts import dollars
from endstop.kernel.limits import LIMIT_FACTS, LimitKind
from endstop.kernel.texts import closest
from endstop.tree.kinds import CONFIGURED_COUNTS, MOST_SECONDS, MOST_TIMES, Parameter, Takes

_MOST_TOKENS = int(LIMIT_FACTS[LimitKind.TOKENS].largest)
_LEAST_MONEY = Decimal(LIMIT_FACTS[LimitKind.COST_USD].smallest)
_MOST_MONEY = Decimal(LIMIT_FACTS[LimitKind.COST_USD].largest)

_TEXTS: Mapping[Takes, str] = {
    Takes.TEXT: "text",
    Takes.KEY: "the name of a key",
    Takes.CONDITION: "the name of a condition",
    Takes.ACTION: "the name of an action",
    Takes.EXPRESSION: "an expression, as text",
    Takes.TREE: "the name of a tree",
}


def allowed_instead(parameter: Parameter, value: object, *, children: int) -> str | None:
    """What a parameter takes, if that is not what it was given; None if all is well."""
    match parameter.takes:
        case Takes.COUNT:
            names = ", ".join(CONFIGURED_COUNTS)
            is_right = value in CONFIGURED_COUNTS if isinstance(value, str) else is_whole(value, MOST_TIMES)
            allowed = f"a whole number from 1 to {MOST_TIMES:,}, or one of {names}"
        case Takes.WHOLE:
            is_right = is_whole(value, _MOST_TOKENS)
            allowed = f"a whole number from 1 to {_MOST_TOKENS:,}"
        case Takes.SECONDS:
            is_right = is_number(value) and 0 < value <= MOST_SECONDS
            allowed = f"seconds above 0 and up to {MOST_SECONDS:,.0f}"
        case Takes.MONEY:
            is_right = _is_money(value)
            allowed = f'US dollars from {_LEAST_MONEY:f} to {_MOST_MONEY:,f}, such as "0.50"'
        case Takes.FLAG:
            is_right = isinstance(value, bool)
            allowed = "true or false"
        case Takes.CHOICE:
            is_right = isinstance(value, str) and value in parameter.choices
            allowed = " or ".join(f'"{choice}"' for choice in parameter.choices)
        case Takes.QUORUM:
            is_right = value in ("all", "one") if isinstance(value, str) else is_whole(value, children)
            allowed = f'"all", "one", or a whole number from 1 to {children} (so many nodes it has)'
        case Takes.ARGUMENTS | Takes.KEYS:
            is_right = isinstance(value, dict) or value == []  # an empty Lua table is either
            allowed = "a table with names"
        case _:
            may_be_empty = parameter.takes is Takes.TEXT and not parameter.is_required
            is_right = isinstance(value, str) and (may_be_empty or bool(value.strip()))
            allowed = _TEXTS[parameter.takes]
    return None if is_right else allowed


def meant_instead(parameter: Parameter, value: object) -> str | None:
    """The word that was probably meant, where there are only so many."""
    words = CONFIGURED_COUNTS if parameter.takes is Takes.COUNT else parameter.choices
    return closest(value, words) if isinstance(value, str) else None


def is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def _is_money(value: object) -> bool:
    try:
        dollars("cost_usd", value, smallest=_LEAST_MONEY, largest=_MOST_MONEY)
    except InvalidValueError:
        return False
    return True
