"""What to do about an agent that does not say how it stands, is not sure, or is stuck (C7).

A chooser picks one of four: let it go on, have it answer now, try again with a hint, ask the user. The one
here goes by plain rules and is pure; another reads the reply with a small language model (``fallback_bert``).
Both keep to the same bound: going on or trying again is chosen at most twice in a row, so it always ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from endstop.errors import InvalidValueError
from endstop.oracle.fallback_hint import hint_for, said
from endstop.oracle.situation import Situation
from endstop.signals import Signal, SignalType

__all__ = [
    "LOW_CONFIDENCE",
    "MOST_IN_A_ROW",
    "MOST_TURNS_WITHOUT_SIGNAL",
    "Chooser",
    "FallbackAction",
    "FallbackChoice",
    "Situation",
    "bounded",
    "choose",
    "make_chooser",
    "needs_fallback",
]

MOST_TURNS_WITHOUT_SIGNAL = 3
LOW_CONFIDENCE = 0.3
"""A signal with less confidence than this is not relied on."""
MOST_IN_A_ROW = 2
"""So often the agent may go on or try again before it has to come to an end."""

HEURISTICS = "heuristics"
_SUBSTANCE_CHARS = 240
"""A reply of so many characters says something."""
_READ_CHARS = 1_500
"""So much of the end of a reply is looked at."""


class FallbackAction(StrEnum):
    """What can be done."""

    CONTINUE = "continue"
    FORCE_RESPONSE = "force_response"
    RETRY_WITH_HINT = "retry_with_hint"
    ESCALATE = "escalate"


_GOES_ON = (FallbackAction.CONTINUE, FallbackAction.RETRY_WITH_HINT)


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackChoice:
    """What was chosen, why, and by whom; with a hint for the model if it is to try again."""

    action: FallbackAction
    why: str
    hint: str = ""
    by: str = HEURISTICS


Chooser: TypeAlias = Callable[[Situation], FallbackChoice]


def needs_fallback(signal: Signal | None, *, turns_without_signal: int) -> str | None:
    """Why the fallback is needed, in words; None if it is not. ``signal`` is that of the latest reply."""
    if signal is None:
        if turns_without_signal >= MOST_TURNS_WITHOUT_SIGNAL:
            return f"no signal for {turns_without_signal} turns"
        return None
    if signal.type is SignalType.STUCK:
        blocker = said(signal, "blocker")
        return f"the agent is stuck: {blocker}" if blocker else "the agent is stuck"
    if signal.confidence < LOW_CONFIDENCE:
        return f"the agent is not sure: its confidence is {signal.confidence:g}, under {LOW_CONFIDENCE:g}"
    return None


def choose(situation: Situation) -> FallbackChoice:
    """The rules. The first that fits decides."""
    return bounded(_by_rule(situation), situation)


def bounded(choice: FallbackChoice, situation: Situation) -> FallbackChoice:
    """``choice``, unless it lets an agent go on that has done so too often, or has no turn left for it."""
    if choice.action not in _GOES_ON:
        return choice
    if situation.fallbacks_before >= MOST_IN_A_ROW:
        limit = f"it was let go on {situation.fallbacks_before} times already"
    elif situation.turns_left is not None and situation.turns_left <= 1:
        limit = "there is no turn left but the last"
    else:
        return choice
    if situation.text.strip() or situation.has_sources:
        action, end = FallbackAction.FORCE_RESPONSE, "it answers with what it has"
    else:
        action, end = FallbackAction.ESCALATE, "it has nothing to answer with, so the user is asked"
    return replace(choice, action=action, why=f"{limit}: {end}", hint="")


def make_chooser(kind: str = HEURISTICS) -> Chooser:
    """The chooser of that name: ``heuristics``, or ``bert``, which is the same where it cannot be loaded."""
    if kind == HEURISTICS:
        return choose
    if kind == "bert":
        from endstop.oracle.fallback_bert import BertChooser

        return BertChooser()
    raise InvalidValueError("fallback", kind, allowed=f"{HEURISTICS} or bert")


def _by_rule(situation: Situation) -> FallbackChoice:
    signal, text = situation.signal, situation.text.strip()
    is_stuck = signal is not None and signal.type is SignalType.STUCK
    blocker = said(signal, "blocker") if is_stuck else ""
    if _ONLY_THE_USER.search(blocker.lower()):
        return _chosen(FallbackAction.ESCALATE, f"what it lacks, only the user can give: {blocker}")
    if situation.tool_calls_last_turn and situation.tool_errors_in_a_row:
        return _retried(situation, "its tools fail, and a hint may help")
    if situation.tool_calls_last_turn and not is_stuck:
        return _chosen(FallbackAction.CONTINUE, "its tools work: it is getting on")
    if not situation.tool_calls_last_turn and _asks_the_user(text):
        return _chosen(FallbackAction.ESCALATE, "it asks the user something")
    if _CONCLUDES.search(text[-_READ_CHARS:].lower()):
        return _chosen(FallbackAction.FORCE_RESPONSE, "it has come to a conclusion")
    if situation.fallbacks_before == 0 and (blocker or (is_stuck and said(signal, "suggestions"))):
        return _retried(situation, "it is stuck, and knows at what")
    if len(text) >= _SUBSTANCE_CHARS:
        return _chosen(FallbackAction.FORCE_RESPONSE, "it has written enough to answer with")
    if situation.has_sources:
        return _chosen(FallbackAction.FORCE_RESPONSE, "it has found sources to answer from")
    return _retried(situation, "it has neither an answer nor sources yet")


def _chosen(action: FallbackAction, why: str) -> FallbackChoice:
    return FallbackChoice(action=action, why=why)


def _retried(situation: Situation, why: str) -> FallbackChoice:
    return FallbackChoice(action=FallbackAction.RETRY_WITH_HINT, why=why, hint=hint_for(situation))


_ONLY_THE_USER = re.compile(
    r"\b(?:permission|access|credentials?|passwords?|log ?in|api[ -]?keys?|not allowed|unauthori[sz]ed|"
    r"forbidden|"
    r"ambiguous|unclear which|clarif\w+|which (?:of|one|file|project|version) (?:you|the user|is meant|they)|"
    r"(?:the user|you) (?:must|needs? to|has to|have to|should|did not|didn't|only)|only (?:the user|you)|"
    r"not (?:specified|provided|given|told)|approval|confirmation|a decision)\b"
)
"""Blockers that no search can lift."""

_CONCLUDES = re.compile(
    r"\b(?:in (?:summary|conclusion|short)|to (?:conclude|sum up|summari[sz]e)|the answer is|hope this|"
    r"as explained above|(?:does not|doesn't) exist|(?:there is|has) no such|nothing (?:more|left))\b"
)
"""Words that people write at the end of an answer."""

_OFFER = re.compile(
    r"\b(?:would you like|let me know|feel free|do you want me to|shall i|should i (?:also|go on|explain)|"
    r"anything else|if you(?:'d| would)? (?:like|want|need)|want me to|hope this helps)\b"
)
"""Courtesy at the end of an answer: it looks like a question and waits for nothing."""

_PLEA = re.compile(
    r"\b(?:please|could you|can you) (?:\w+ )?(?:provide|specify|clarify|confirm|share|tell|give|send|"
    r"upload|paste|choose|decide|say|point)\b|\bi need (?:you|to know|more information|your)\b"
)


def _asks_the_user(text: str) -> bool:
    """Whether the reply ends by asking the user for something it cannot do without."""
    sentences = re.split(r"(?<=[.!?？])\s+|\n+", text[-_READ_CHARS:].strip().lower())
    last = [sentence for sentence in sentences if sentence and not _OFFER.search(sentence)][-1:]
    had_offer = bool(sentences) and bool(_OFFER.search(sentences[-1]))
    return any(
        bool(_PLEA.search(sentence)) or (sentence.endswith(("?", "？")) and not had_offer)
        for sentence in last
    )
