"""What kind of question is asked (E8), and which tools such a question is offered first.

A pure function of the words: no model is asked, so it costs nothing and answers the same every time.
Courtesies ("thanks, but where is X?") are taken off first; what is left is weighed by the cues in
``query_cues`` (words) and ``query_forms`` (sentences). How often it is right: ``tests/oracle/README.md``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from endstop.oracle.query_cues import WORDS, QueryType
from endstop.oracle.query_forms import FORMS
from endstop.oracle.query_speech import CONNECTOR, COURTESY, DEED, LOOKS, ORDER, QUESTION, REQUEST

__all__ = ["ClassifiedQuery", "QueryType", "classify", "tools_first"]

MOST_CHARS = 5_000
"""So much of a query is looked at. Who pastes a whole log still says at its start what it is about."""

TOOLS_FIRST: Mapping[QueryType, tuple[str, ...]] = MappingProxyType(
    {
        QueryType.CODE: ("search_code", "read_file", "list_files"),
        QueryType.DOCUMENTATION: ("search_docs", "read_file"),
        QueryType.RESEARCH: ("search_docs", "search_code", "read_file"),
        QueryType.ACTION: ("search_code", "read_file", "list_files"),
    }
)
"""The tools that each type needs first, in that order."""

_DEED, _ASKED_DEED, _ORDERED, _PLEADED, _SURE, _MAYBE = 10.0, 2.0, 3.5, 2.5, 3.0, 1.5
_SENTENCE = re.compile(r"[.;!?]+ (?:and |then |now |so )?")
_CLAUSE = re.compile(r"[.,;:!?]+ (?:and |then |now |so )?| and (?:then )?")
_FURTHER, _MOST_FURTHER = 0.75, 4
_FEW_WORDS = 8
_FENCE = re.compile(r"```.*?(?:```|$)", re.DOTALL)
_SURE_NAME = re.compile(
    r"`[^`\s]*[_.(A-Z/][^`]*`|\b\w+\(|\b[a-z]\w*_\w+|\b[A-Z][a-z]\w*\.[a-z_]\w+|\b[A-Z]+_[A-Z_]+\b|\bsrc/|\b\w+/\w+/|"
    r"\b[\w-]+\.(?:py|ts|tsx|js|jsx|go|rs|java|kt|c|h|cpp|cs|rb|php|swift|lua|sql|sh|css|html|ya?ml|toml|json)\b"
)
"""What only code is called: ``max_turns``, ``Store.append``, ``login.py``."""
_MAYBE_NAME = re.compile(r"`\w+`|\b[a-z][a-z0-9]*[A-Z]\w*|\b[A-Z][a-z0-9]+[A-Z]\w*")
"""A class may be called ``UserRepo``; so may a product (LangGraph), and a command may stand in quotes."""
_POINTS_HERE = re.compile(r"\b(?:the|this|these|our|my|it|its|here)\b")
_OTHER_SCRIPT = re.compile(r"[^\W\d_\u0000-\u024f]")
_LETTER = re.compile(r"\w")
_BETWEEN = re.compile(r"[\s,.!?:;()\-–—…¡¿'\"*_~]+|[^\w\s`/]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifiedQuery:
    """The type of a query, how sure that is (0.0 to 1.0), and what gave it away."""

    type: QueryType
    confidence: float
    why: str


def classify(query: str) -> ClassifiedQuery:
    """The type of ``query``. Always answers, whatever the text is."""
    written = query[:MOST_CHARS]
    text = _plain(written)
    if not _LETTER.search(text):
        return ClassifiedQuery(type=QueryType.CONVERSATIONAL, confidence=1.0, why="there are no words in it")
    asked, had_courtesy = _without_courtesies(text)
    if not asked:
        return ClassifiedQuery(type=QueryType.CONVERSATIONAL, confidence=1.0, why="it is a courtesy, no more")
    return _decided(_weighed(asked, written), asked, had_courtesy=had_courtesy)


def tools_first(type_: QueryType, names: Sequence[str]) -> tuple[str, ...]:
    """The tools there are for a question of ``type_``: what it needs first in front; for talk, none."""
    if type_ is QueryType.CONVERSATIONAL:
        return ()
    first = [name for name in TOOLS_FIRST[type_] if name in names]
    return (*first, *(name for name in names if name not in first))


def _plain(written: str) -> str:
    """Small letters, single spaces, one kind of apostrophe; without blocks of code, which are not words."""
    text = _FENCE.sub(" ", written) if "```" in written else written
    text = unicodedata.normalize("NFKC", text)[:MOST_CHARS].lower().replace("’", "'")
    return " ".join(text.split())


def _without_courtesies(text: str) -> tuple[str, bool]:
    """What is asked once greetings and thanks at the start are gone, and whether there were any."""
    at = _skipped(text, 0)
    had_courtesy = False
    while (found := COURTESY.match(text, at)) is not None:
        had_courtesy = True
        at = _skipped(text, found.end())
        if (joined := CONNECTOR.match(text, at)) is not None:
            at = _skipped(text, joined.end())
    return text[at:], had_courtesy


def _skipped(text: str, at: int) -> int:
    """Where the next word or code begins."""
    while (between := _BETWEEN.match(text, at)) is not None:
        at = between.end()
    return at


class _Scores:
    """What speaks for each type, and which cue spoke loudest."""

    def __init__(self) -> None:
        self.of: dict[QueryType, float] = dict.fromkeys(QueryType, 0.0)
        self.loudest: dict[QueryType, tuple[float, str]] = {}

    def add(self, type_: QueryType, weight: float, why: str) -> None:
        self.of[type_] += weight
        if weight > self.loudest.get(type_, (0.0, ""))[0]:
            self.loudest[type_] = (weight, why)


def _weighed(asked: str, written: str) -> _Scores:
    scores = _Scores()
    for cue in (*WORDS, *FORMS):
        if cue.pattern.search(asked):
            further = len(set(cue.pattern.findall(asked))) - 1 if cue.grows else 0
            scores.add(cue.type, cue.weight + _FURTHER * min(further, _MOST_FURTHER), cue.why)
    if "```" in written or _SURE_NAME.search(written):
        scores.add(QueryType.CODE, _SURE, "it names something in code")
    elif _MAYBE_NAME.search(written):
        scores.add(QueryType.CODE, _MAYBE, "it names something that may be code")
    _weigh_deed(scores, asked)
    return scores


def _weigh_deed(scores: _Scores, asked: str) -> None:
    """Whether it tells somebody to do something: at its start, or in a sentence of its own further on."""
    wanted, is_request = _without_request(asked)
    asks = QUESTION.match(wanted) is not None
    # "Install instructions?" begins with a verb, too, but asks.
    is_told = is_request or not asked.endswith(("?", "？"))
    looks = LOOKS.match(wanted) is not None
    if DEED.match(wanted) and not looks:
        scores.add(QueryType.ACTION, _DEED if is_told else _ASKED_DEED, "it begins with something to do")
    elif is_told and not asks and not looks and ORDER.match(wanted):
        scores.add(QueryType.ACTION, _ORDERED, "it reads like an order")
    elif is_request and wanted and not asks and not looks:
        scores.add(QueryType.ACTION, _PLEADED, "it asks for something to be done")
    elif any(
        DEED.match(_without_request(part)[0]) for part in (_SENTENCE if asks else _CLAUSE).split(asked)[1:]
    ):
        scores.add(QueryType.ACTION, _ORDERED, "it ends with something to do")


def _without_request(asked: str) -> tuple[str, bool]:
    """What is wanted behind "could you please", and whether there was such a beginning."""
    at, is_request = 0, False
    while (found := REQUEST.match(asked, at)) is not None:
        is_request = True
        at = _skipped(asked, found.end())
        if (joined := CONNECTOR.match(asked, at)) is not None:
            at = _skipped(asked, joined.end())
    return asked[at:], is_request


def _decided(scores: _Scores, asked: str, *, had_courtesy: bool) -> ClassifiedQuery:
    best = max(QueryType, key=lambda type_: scores.of[type_])
    total = sum(scores.of.values())
    if total > 0.0:
        return ClassifiedQuery(
            type=best,
            confidence=round(scores.of[best] / (total + 1.0), 2),
            why=scores.loudest[best][1],
        )
    starts = QUESTION.match(asked) or LOOKS.match(asked)
    is_question = asked.endswith(("?", "？")) or starts is not None
    is_short = len(asked.split()) <= _FEW_WORDS and not _OTHER_SCRIPT.search(asked)
    if had_courtesy or (is_short and not is_question):
        return ClassifiedQuery(
            type=QueryType.CONVERSATIONAL, confidence=0.4, why="it is short, and asks for nothing"
        )
    if _POINTS_HERE.search(asked) or _OTHER_SCRIPT.search(asked):
        return ClassifiedQuery(
            type=QueryType.CODE, confidence=0.2, why="nothing tells, so the code is looked at"
        )
    return ClassifiedQuery(type=QueryType.RESEARCH, confidence=0.2, why="it points at nothing in the project")
