"""The answer of the extractive model: passages with their places, and a signal that says how it stands."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from xml.sax.saxutils import escape

from endstop.models.keywords import Keyword
from endstop.models.passages import Ranked
from endstop.signals import SignalType

WHAT_I_AM = (
    "No language model is at work here: these are the passages that match the words of the question best."
)
JUST_FILES = "No language model is at work here: these are files of the project."
NOTHING_FOUND = "No language model is at work here, and a search for the words of the question found nothing."
NO_TOOLS = "No language model is at work here, and no search has been made: there is nothing to answer with."
SMALL_TALK_ANSWER = (
    "Hello. No language model is at work here: I look up the words of a question in the project's files and "
    "show what I find. Ask me about something in them, best by its name."
)

_MOST_PASSAGES = 5
_MOST_LISTED = 40
_MOST_COPIES = 3
_BY_WORDS = "Found by words alone; nothing was understood."
_ENOUGH = 0.5
"""Passages with at least this part of the keywords (names count more) are taken for an answer."""

_DOCUMENT = re.compile(r"\.(?:md|markdown|rst|txt|adoc)$", re.IGNORECASE)
_SIGNAL_TAG = re.compile(r"<(?=/?signal\b)", re.IGNORECASE)


def written_answer(
    best: Sequence[Ranked], words: Sequence[Keyword], *, could_search: bool, most_chars: int
) -> str:
    """The best passages, as many as there is room for; the signal is always whole if it fits at all."""
    if not best:
        return f"{NOTHING_FOUND if could_search else NO_TOOLS}\n\n{_nothing_found(words, could_search)}"
    shown = list(best[:_MOST_PASSAGES])
    while True:
        text = "\n\n".join((WHAT_I_AM, *(_cited(one) for one in shown), _how_it_stands(shown, words)))
        if len(text) <= most_chars or len(shown) == 1:
            return text
        shown.pop()


def written_listing(listing: str, words: Sequence[Keyword]) -> str:
    """The files there are, those first that are named like a word of the question."""
    lines = [line for line in listing.splitlines() if line.strip()]
    lowered = [word.text.lower() for word in words]
    lines.sort(key=lambda line: not any(word in line.lower() for word in lowered))
    left_out = len(lines) - _MOST_LISTED
    note = [f"({left_out:,} more)"] if left_out > 0 else []
    shown = "\n".join((*lines[:_MOST_LISTED], *note))
    stands = _signal(SignalType.PARTIAL_ANSWER, 0.4, {"missing": "what is in them", "caveat": _BY_WORDS})
    return f"{JUST_FILES}\n\n{shown}\n\n{stands}"


def _cited(one: Ranked) -> str:
    lines = "\n".join(_without_runs(one.passage.lines))
    lines = _SIGNAL_TAG.sub("‹", lines)  # a signal in a file is not one of ours
    fence = "````" if "```" in lines else "```"
    return f"**{one.passage.place}**\n{fence}\n{lines}\n{fence}"


def _without_runs(lines: Sequence[str]) -> list[str]:
    """Lines that repeat themselves are left out after a few: to a watcher, a reply of them looks stuck."""
    kept: list[str] = []
    for line, run in groupby(lines):
        copies = list(run)
        kept += copies[:_MOST_COPIES]
        kept += ["…"] if line.strip() and len(copies) > _MOST_COPIES else []
    return kept


def _how_it_stands(shown: Sequence[Ranked], words: Sequence[Keyword]) -> str:
    found = frozenset[str]().union(*(one.found for one in shown))
    total = sum(word.weight for word in words) or 1
    share = sum(word.weight for word in words if word.text in found) / total
    if share >= _ENOUGH:
        kinds = sorted({"docs" if _DOCUMENT.search(one.passage.path) else "code" for one in shown})
        fields = {"sources_found": str(len(shown)), "source_types": json.dumps(kinds)}
        return _signal(SignalType.CONTEXT_SUFFICIENT, round(0.5 + 0.4 * share, 2), fields)
    missing = ", ".join(word.text for word in words if word.text not in found)
    return _signal(SignalType.PARTIAL_ANSWER, round(share, 2), {"missing": missing, "caveat": _BY_WORDS})


def _nothing_found(words: Sequence[Keyword], could_search: bool) -> str:
    looked_for = ", ".join(word.text for word in words)
    fields = {
        "attempted": f"Searched for: {looked_for}"
        if could_search
        else "Nothing: there is no tool to search with",
        "blocker": "No passage has any of these words" if could_search else "No tools",
        "suggestions": "Ask with a name that is in the files, or choose a language model",
    }
    return _signal(SignalType.STUCK, 0.8, fields)


def _signal(kind: SignalType, confidence: float, fields: Mapping[str, str]) -> str:
    body = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in fields.items())
    return f'<signal type="{kind.value}">{body}<confidence>{confidence}</confidence></signal>'
