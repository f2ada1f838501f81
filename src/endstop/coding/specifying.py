"""When a specification is complete, and how it ends when none ever is (G1) [GVUFD]. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from endstop.events.coding import Specification, SpecificationGiven
from endstop.kernel.outcome import Abandoned

TOO_AMBIGUOUS = "Intent too ambiguous or context insufficient"
REPHRASE = "Rephrase your request more specifically"
_HAVE_AN_INTERVIEW = (
    "Have the interview ask you: run it in a terminal, with interview.is_on (`endstop policy edit`)."
)


def lacking(specification: Specification) -> tuple[str, ...]:
    """Which of the four that make it complete are missing, in words. Empty when it is complete."""
    is_there = {
        "success criteria": bool(specification.success_criteria),
        "lines of code": specification.lines_of_code is not None,
        "acceptance tests": bool(specification.acceptance_tests),
        "risk level": specification.risk is not None,
    }
    return tuple(name for name, there in is_there.items() if not there)


def abandoned(
    given: Sequence[SpecificationGiven], *, was_interviewed: bool = False, checkpoint: str | None = None
) -> Abandoned:
    """The ending of a session whose attempts are used up. ``given`` are all of them, in their order."""
    missing = dict.fromkeys(name for one in given for name in one.lacking)
    steps = [f"Say in your request what it could not know: {', '.join(missing)}."] if missing else []
    return Abandoned(
        reason=TOO_AMBIGUOUS,
        suggestion=REPHRASE,
        next_steps=(
            *steps,
            "Name the files it concerns, and an example of what should come out.",
            *(() if was_interviewed else (_HAVE_AN_INTERVIEW,)),
        ),
        tried=tuple(attempt_words(one) for one in given),
        checkpoint=checkpoint,
    )


def attempt_words(given: SpecificationGiven) -> str:
    """One attempt in a sentence, for whoever asks what was tried."""
    title = f" ({given.specification.title})" if given.specification.title else ""
    how = f"lacked {', '.join(given.lacking)}" if given.lacking else "was complete"
    return f"Cycle {given.cycle}, attempt {given.attempt} at a specification{title} {how}."
