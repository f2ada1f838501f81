"""How a run ended: a closed union, the same for chat, loop, pipeline, API, page and exit code."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, assert_never

from endstop.kernel.finding import Finding
from endstop.kernel.limits import LimitKind, Number
from endstop.kernel.review import Review

TRUNCATED_NOTE = "[Response truncated due to budget limit]"
UNABLE_ANSWER = "[Unable to complete: budget limit reached]"


class StopRule(StrEnum):
    """The rule that ended a run, in the order in which rules win when several are met at once (A12)."""

    CANCELLED = "cancelled"
    FINISHED = "finished"
    """The natural stop: the model is done and calls no tool."""
    TURNS = "turns"
    MODEL_CALLS = "model_calls"
    TOKENS = "tokens"
    COST = "cost"
    CONTEXT = "context"
    PRICE_UNKNOWN = "price_unknown"
    TIME = "time"
    NO_PROGRESS = "no_progress"
    ERROR_LIMIT = "error_limit"
    CONDITION = "condition"
    """A stop condition of the caller's own."""
    POLICY = "policy"
    """A decision tree of the caller's own."""
    POLICY_ERROR = "policy_error"
    PARENT = "parent"
    """The run or scope above has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReason:
    """Why a run stops: the rule, a sentence, and what it rests on."""

    rule: StopRule
    message: str
    limit: LimitKind | None = None
    current: Number | None = None
    maximum: Number | None = None
    finding: Finding | None = None
    asks: bool = False
    """The policy would have a person decide rather than end the run outright."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """The agent finished. With warnings when it did so only because a limit closed in."""

    answer: str
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"completed, with a warning: {' '.join(self.warnings)}" if self.warnings else "completed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forced:
    """Ended by a limit or a rule, with everything gathered kept in ``answer``."""

    answer: str
    reason: StopReason

    def __str__(self) -> str:
        return f"forced to complete: {self.reason.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """Ended by a limit or a rule, where no answer was due. The work so far is in the record."""

    reason: StopReason

    def __str__(self) -> str:
        return f"stopped: {self.reason.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Abandoned:
    """Given up, with what was tried and what to do next."""

    reason: str
    suggestion: str = ""
    next_steps: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    checkpoint: str | None = None

    def __str__(self) -> str:
        return f"abandoned: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """Somebody ended it. What was gathered is kept."""

    by: str
    answer: str = ""

    def __str__(self) -> str:
        return f"cancelled by {self.by}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Something broke (a policy, a model past its retries). What was gathered is kept."""

    code: str
    message: str
    answer: str = ""

    def __str__(self) -> str:
        return f"failed ({self.code}): {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderReview:
    """Paused: somebody may grant more."""

    review: Review

    def __str__(self) -> str:
        return f"paused for review: {self.review.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitingUser:
    """Paused: the agent asked the user something."""

    question: str

    def __str__(self) -> str:
        return f"waiting for the user: {self.question}"


Ending: TypeAlias = Completed | Forced | Stopped | Abandoned | Cancelled | Failed
"""The ways a run can be over. There is no other."""

Pause: TypeAlias = UnderReview | AwaitingUser
"""The ways a run can wait for a person."""

Outcome: TypeAlias = Ending | Pause


def exit_code(outcome: Outcome) -> int:
    """For shells: 0 success, 3 with warnings or forced, 4 given up, 5 limit, 6 paused, 1 failure."""
    match outcome:
        case Completed(warnings=warnings):
            return 3 if warnings else 0
        case Forced():
            return 3
        case Abandoned() | Cancelled():
            return 4
        case Stopped():
            return 5
        case UnderReview() | AwaitingUser():
            return 6
        case Failed():
            return 1
        case _:
            assert_never(outcome)


def forced_answer(text: str) -> str:
    """The answer of a forced completion: all the text there is, and a note that says so (A5)."""
    return f"{text.rstrip()}\n\n{TRUNCATED_NOTE}" if text.strip() else UNABLE_ANSWER


def conclude(
    reason: StopReason, *, gathered: str | None, answer: str = "", caveat: str = "", by: str = ""
) -> Ending:
    """The ending that a stop leads to.

    ``gathered`` is the text so far, or None where no answer is due (a loop that reports none).
    ``answer`` is the model's own, when it finished, with what it says is wanting. ``by`` is who cancelled.
    """
    match reason.rule:
        case StopRule.FINISHED:
            warnings = (
                *((caveat,) if caveat else ()),
                *((reason.message,) if reason.limit is not None else ()),
            )
            return Completed(answer=answer, warnings=warnings)
        case StopRule.CANCELLED:
            return Cancelled(by=by, answer=gathered or "")
        case StopRule.POLICY_ERROR | StopRule.PRICE_UNKNOWN:
            return Failed(code=reason.rule.value, message=reason.message, answer=gathered or "")
        case _:
            if gathered is None:
                return Stopped(reason=reason)
            return Forced(answer=forced_answer(gathered), reason=reason)
