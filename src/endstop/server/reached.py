"""A limit that led to a review, as the chunk that says so (I2).

A run that ends at its limit has that on record as a fact of its own. One that is paused for a review has not
ended: that its limit was reached stands in the words of the review, from which it is read here.
"""

from __future__ import annotations

import re

from endstop.events.chunks import SystemType
from endstop.kernel.limits import LIMIT_FACTS, LimitKind
from endstop.kernel.review import Review

_ADVICE = "What was gathered is kept. It waits for a review: more budget lets it go on."
_LIMIT = re.compile(r"(.+) limit (?:reached|closed in) \(\$?([\d.,]+)[^/]*/\$?([\d.,]+)[^)]*\).*")
_ESCALATED = re.compile(r"Maximum .+ iterations \((\d+)\) reached")
_KIND_OF_WORD = {facts.word: kind for kind, facts in LIMIT_FACTS.items()}


def limit_reached(review: Review) -> dict[str, object] | None:
    """The data of a ``system`` chunk, if it was a limit that led to the review."""
    if (escalated := _ESCALATED.fullmatch(review.why)) is not None:
        return _data(review, LimitKind.TURNS, escalated[1], escalated[1])
    found = _LIMIT.fullmatch(review.why)
    kind = None if found is None else _KIND_OF_WORD.get(found[1].lower())
    return None if found is None or kind is None else _data(review, kind, found[2], found[3])


def _data(review: Review, kind: LimitKind, used: str, limit: str) -> dict[str, object]:
    current, most = _number(used), _number(limit)
    is_money = kind is LimitKind.COST_USD
    return {
        "system_type": SystemType.LIMIT_REACHED.value,
        "system_message": f"{review.why.rstrip('.')}. {_ADVICE}",
        "metadata": {
            "current_value": used.replace(",", "") if is_money else current,
            "limit_value": limit.replace(",", "") if is_money else most,
            "percent": round(100 * current / most, 1) if most else 100.0,
            "limit_type": kind.value,
        },
    }


def _number(text: str) -> int | float:
    plain = text.replace(",", "")
    return int(plain) if plain.isdecimal() else float(plain)
