"""The sentences about limits, each in one place. People and models read these."""

from __future__ import annotations

from endstop.kernel.limits import LIMIT_FACTS, LimitKind, Meter

TRY_OTHERWISE = "Try something else: another tool, other arguments, or answer with what you have."


def sentence(text: str) -> str:
    """``text`` with a full stop at its end, unless it has an end already."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def approaching(meter: Meter) -> str:
    """ "Approaching iteration limit (7/10). Consider wrapping up your response."."""
    word = LIMIT_FACTS[meter.kind].word
    return f"Approaching {word} limit ({meter.shown}). Consider wrapping up your response."


def reached(meter: Meter) -> str:
    """ "Iteration limit reached (10/10)."."""
    return f"{LIMIT_FACTS[meter.kind].word.capitalize()} limit reached ({meter.shown})."


def closed_in(meter: Meter) -> str:
    """Said when the closing turn was taken with something left: what is left was not worth another turn."""
    word = LIMIT_FACTS[meter.kind].word.capitalize()
    return f"{word} limit closed in ({meter.shown}): what is left pays for no further turn."


def completed_at(meter: Meter) -> str:
    """The warning on an answer that was written in the closing turn (A5)."""
    return f"Completed on the last turn the {LIMIT_FACTS[meter.kind].word} limit allowed ({meter.shown})."


def last_turn(kind: LimitKind, terminal_tool: str = "") -> str:
    """What the model is told on its last turn (A4)."""
    what = (
        f"Only {terminal_tool} is available: call it now, with the best result you have."
        if terminal_tool
        else "No tools are available. Write the best answer you can from what you have."
    )
    return f"This is your last turn: the {LIMIT_FACTS[kind].word} limit is reached after it. {what}"
