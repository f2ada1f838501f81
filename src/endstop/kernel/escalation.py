"""Escalation: a soft limit that warns once, and a hard limit that ends a loop on purpose (D2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from endstop.errors import EscalationError, InvalidValueError, IterationLimitError
from endstop.kernel.limits import whole

SoftHandler = Callable[[str, int, int], None]
"""Called with key, limit and iteration."""
HardHandler = Callable[[IterationLimitError], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalation:
    """Limits on the iterations of one piece of work, known by its key, and what to do at each."""

    key: str
    hard: int
    soft: int | None = None
    on_soft: SoftHandler | None = None
    on_hard: HardHandler | None = None

    def __post_init__(self) -> None:
        if not self.key:
            raise InvalidValueError("key", self.key, allowed="a name, such as 'coding_56c6'")
        whole("hard", self.hard, smallest=1, largest=1_000_000)
        if self.soft is not None:
            whole("soft", self.soft, smallest=1, largest=self.hard, to_do="Soft comes before hard")


class Work(StrEnum):
    """Kinds of unattended work that have limits from the start."""

    CODING = "coding"
    PLANNING = "planning"
    PRODUCT_MANAGER = "product_manager"


_DEFAULTS = {Work.CODING: (None, 8), Work.PLANNING: (None, 8), Work.PRODUCT_MANAGER: (8, 10)}
"""Soft and hard limits (D6)."""


def default_escalation(
    work: Work,
    name: str,
    *,
    on_soft: SoftHandler | None = None,
    on_hard: HardHandler | None = None,
) -> Escalation:
    """The limits on one piece of work: ``default_escalation(Work.CODING, "56c6")`` has 8 iterations."""
    soft, hard = _DEFAULTS[Work(work)]
    return Escalation(
        key=f"{Work(work).value}_{name}", soft=soft, hard=hard, on_soft=on_soft, on_hard=on_hard
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationState:
    """How far one escalation has gone."""

    iteration: int = 0
    is_warned: bool = False


def next_iteration(
    escalation: Escalation, state: EscalationState
) -> tuple[EscalationState, IterationLimitError | None]:
    """Count one finished iteration. Returns the limit when it is the hard one: the loop must then end.

    The handlers run here. The returned ``IterationLimitError`` is a value, a normal ending; only a handler
    that itself fails is raised, as an ``EscalationError`` that carries the limit it was called for.
    """
    state = replace(state, iteration=state.iteration + 1)
    if state.iteration >= escalation.hard:
        limit = IterationLimitError(escalation.key, escalation.hard, state.iteration)
        if escalation.on_hard is not None:
            on_hard = escalation.on_hard
            _handled(limit, lambda: on_hard(limit))
        return state, limit
    if escalation.soft is not None and state.iteration >= escalation.soft and not state.is_warned:
        state = replace(state, is_warned=True)
        if escalation.on_soft is not None:
            on_soft, soft = escalation.on_soft, escalation.soft
            limit = IterationLimitError(escalation.key, soft, state.iteration)
            _handled(limit, lambda: on_soft(escalation.key, soft, state.iteration))
    return state, None


def _handled(limit: IterationLimitError, handle: Callable[[], None]) -> None:
    try:
        handle()
    except Exception as error:
        raise EscalationError(limit, error) from error
