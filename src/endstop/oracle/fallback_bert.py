"""The fallback, chosen by meaning (C7): a small BERT model finds the known situations most like this one.

What the agent says becomes a vector; the examples nearest to it in words and in facts vote. The same bound
as for the rules holds. Wherever the model cannot be loaded, or fails, the rules decide, and say so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock

from endstop.errors import cause
from endstop.oracle.fallback import FallbackAction, FallbackChoice, bounded, choose
from endstop.oracle.fallback_examples import EXAMPLES
from endstop.oracle.fallback_hint import hint_for, said
from endstop.oracle.minilm import Encoder, MiniLm
from endstop.oracle.situation import Situation
from endstop.signals import SignalType

BERT = "bert"
NEIGHBOURS = 5
"""So many of the nearest examples vote, each as loudly as it is near."""

_MOST_TEXT_CHARS = 600
_LAST_SENTENCES = 2
_SENTENCE_END = re.compile(r"(?<=[.!?？])\s+")
_FIELDS = ("blocker", "suggestions", "reason", "missing", "capability")
_FACT_WEIGHTS = (0.4, 0.4, 0.2, 0.1, 0.1, 0.3)
"""What it adds to likeness that a fact is the same: words alone tell the topic rather than the standing."""


class BertChooser:
    """A ``Chooser``. Loads the model when it is first asked; never raises."""

    def __init__(self, load: Callable[[], Encoder] = MiniLm) -> None:
        self._load = load
        self._lock = Lock()
        self._nearest: _Nearest | None = None
        self._problem = ""

    def __call__(self, situation: Situation) -> FallbackChoice:
        try:
            nearest = self._ready()
            if nearest is not None:
                return bounded(nearest.choose(situation), situation)
        except Exception as error:  # noqa: BLE001 - the model is not ours; whatever it raises, the rules still decide
            self._problem = cause(error)
        by_rule = choose(situation)
        return replace(by_rule, why=f"{by_rule.why} (bert cannot be used: {self._problem})")

    def _ready(self) -> _Nearest | None:
        """The examples, encoded; None after loading has failed once: it is not tried again."""
        with self._lock:
            if self._nearest is None and not self._problem:
                self._nearest = _Nearest(self._load())
            return self._nearest


class _Nearest:
    """The examples, encoded, and who is nearest to another."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._examples = [
            (action, encoder.encode(words_of(known)), facts_of(known)) for action, known in EXAMPLES
        ]

    def choose(self, situation: Situation) -> FallbackChoice:
        words, facts = self._encoder.encode(words_of(situation)), facts_of(situation)
        near = [
            (_likeness(words, known) + _agreement(facts, their_facts), action)
            for action, known, their_facts in self._examples
        ]
        votes = dict.fromkeys(FallbackAction, 0.0)
        for likeness, action in sorted(near, key=_distance)[:NEIGHBOURS]:
            votes[action] += max(likeness, 0.0)
        total = sum(votes.values())
        if not 0.0 < total < math.inf:
            raise ValueError("the model gave no numbers that could be used")
        chosen = max(FallbackAction, key=lambda action: votes[action])
        return FallbackChoice(
            action=chosen,
            why=f"it is most like situations of this kind ({votes[chosen] / total:.0%} of the votes)",
            hint=hint_for(situation) if chosen is FallbackAction.RETRY_WITH_HINT else "",
            by=BERT,
        )


def words_of(situation: Situation) -> str:
    """What the agent says at the end of its reply and in its signal: there it tells how it stands."""
    text = " ".join(situation.text[-_MOST_TEXT_CHARS:].split())
    last = _SENTENCE_END.split(text)[-_LAST_SENTENCES:]
    told = [said(situation.signal, field) for field in _FIELDS]
    return " ".join(filter(None, [*last, *told])) or "nothing"


def facts_of(situation: Situation) -> tuple[bool, ...]:
    """What needs no reading: whether tools work, whether they fail, and so on, as _FACT_WEIGHTS has them."""
    signal, text = situation.signal, situation.text.strip()
    return (
        situation.tool_calls_last_turn > 0 and not situation.tool_errors_in_a_row,
        situation.tool_errors_in_a_row > 0,
        situation.has_sources,
        signal is not None and signal.type is SignalType.STUCK,
        bool(text),
        text.endswith(("?", "？")),
    )


def _likeness(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of two vectors of length 1."""
    return sum(a * b for a, b in zip(one, other, strict=True))


def _agreement(one: Sequence[bool], other: Sequence[bool]) -> float:
    return sum(weight for weight, a, b in zip(_FACT_WEIGHTS, one, other, strict=True) if a == b)


def _distance(found: tuple[float, FallbackAction]) -> float:
    return -found[0]
