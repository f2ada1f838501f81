"""What a question is about, as far as its words tell: for the model that has nothing but words."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORD = re.compile(r"[^\W\d_]\w*(?:[.\-/]\w+)*|_+\w+(?:\.\w+)*|\d{2,}", re.UNICODE)
_CONTRACTION = re.compile(r"n['’]t\b|['’](?:s|re|ll|d|m|ve)\b")
_PATH = re.compile(r"(?<![\w:/.-])(?:[\w.-]+/)*[\w-]+\.[a-z][a-z0-9]{0,5}\b(?!\()")
_CAMEL_CASE = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]|[A-Z]\w*\d")

_MOST_KEYWORDS = 8
_MOST_WORD_CHARS = 80
_MOST_QUESTION_CHARS = 4_000
_MOST_SMALL_TALK_WORDS = 8


def _words(text: str) -> list[str]:
    return text.split()


_STOP_WORDS = frozenset(
    _words("""
a about above after again all also am an and any anyone anything are as at be been before being
below between both but by ca can cannot code content contents could did directories directory do
does doing done down during each else ever every exactly exist exists explain few file files find
folder folders for from further get gets give given goes had happen happening happens has have
having he help her here hers him his how however i if in into is it its itself just kindly know let
like list look looking made make makes many may me mean means might mine more most much must my need
needs no nor not now of off ok okay on once one only or other our ours out over own please project
question really repo repository same say says see shall she should show shows since so some someone
something such tell than that the their theirs them then there these they thing things this those
through to too under until up us use used uses using very want was we were what when where whether
which while who whom whose why will with within without wo work working works would you your yours
""")
)

_SMALL_TALK = frozenset(
    _words("""
a afternoon all am appreciated are bye cheers cool day doing evening fine good goodbye great hallo
hello help hey hi hiya how i is it's morning much nice night no ok okay perfect please so thank
thanks that's the there this to up very well what's with yes yo you your
""")
)
_SMALL_TALK_CORE = frozenset(
    _words("""
afternoon appreciated bye cheers cool evening goodbye great hallo hello hey hi hiya morning nice no
ok okay perfect thank thanks yes yo
""")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyword:
    """A word to look for. A name, such as ``max_turns`` or ``ToolLoop``, tells more than a plain word."""

    text: str
    is_name: bool = False

    @property
    def weight(self) -> int:
        return 3 if self.is_name else 1


def keywords(question: str) -> tuple[Keyword, ...]:
    """The words that tell what is asked: names first, each once, as they were written."""
    text = _CONTRACTION.sub("", question[:_MOST_QUESTION_CHARS])
    found: dict[str, Keyword] = {}
    for match in _WORD.finditer(text):
        word = match[0][:_MOST_WORD_CHARS]
        is_quoted = text[: match.start()].endswith("`") and text.startswith("`", match.end())
        is_name = _looks_like_a_name(word) or is_quoted
        if is_name or (word.lower() not in _STOP_WORDS and len(word) > 1):
            found.setdefault(word.lower(), Keyword(text=word, is_name=is_name))
    return tuple(sorted(found.values(), key=lambda one: not one.is_name)[:_MOST_KEYWORDS])


def paths(question: str) -> tuple[str, ...]:
    """Files the question names, such as ``src/login.py``."""
    found = (match[0] for match in _PATH.finditer(question[:_MOST_QUESTION_CHARS]))
    return tuple(dict.fromkeys(found))


def is_small_talk(question: str) -> bool:
    """A greeting, thanks or the like: nothing that files could answer."""
    words = re.findall(r"[\w']+", question.lower())
    if not words:
        return True
    return (
        len(words) <= _MOST_SMALL_TALK_WORDS
        and all(word in _SMALL_TALK for word in words)
        and any(word in _SMALL_TALK_CORE for word in words)
    )


def _looks_like_a_name(word: str) -> bool:
    return "_" in word or "." in word or "/" in word or bool(_CAMEL_CASE.search(word))
