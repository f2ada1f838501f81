"""When work that is done is worth another pass of reflexion, and when a pass is kept (G5). Pure."""

from __future__ import annotations

from endstop.coding.policy import Policy
from endstop.events.coding import SimplifyingEnded, TestsRun


def is_worth_it(lines: int, policy: Policy) -> bool:
    """Whether a change of so many lines is simplified at all."""
    return policy.reflexion.passes > 0 and lines >= policy.reflexion.least_lines


def goes_on(last: SimplifyingEnded | None, *, lines: int, policy: Policy) -> bool:
    """Whether there is another pass over a change of so many lines, after ``last`` (None: there was none)."""
    if not is_worth_it(lines, policy):
        return False
    if last is None:
        return True
    return (
        last.number < policy.reflexion.passes
        and last.is_kept
        and saving(last) >= policy.reflexion.least_saving
    )


def saving(ended: SimplifyingEnded) -> float:
    """The part of the lines that a pass has saved; below zero if it added some."""
    if ended.lines_before <= 0:
        return 0.0
    return (ended.lines_before - ended.lines_after) / ended.lines_before


def pass_ended(
    *,
    round: int,  # noqa: A002 - the fact's word
    number: int,
    lines_before: int,
    lines_after: int,
    tests: TestsRun | None,
) -> SimplifyingEnded:
    """How a pass is judged: kept if it saved something and the tests still pass, taken back if not.

    ``tests`` is None where they were not run after it: then nothing shows that it broke nothing.
    """
    saved = lines_before - lines_after
    if tests is None:
        is_kept, why = False, "The tests were not run after it: it was taken back."
    elif not tests.are_green:
        is_kept, why = False, "The tests did not pass after it: it was taken back."
    elif saved <= 0:
        is_kept, why = False, "It saved no line: it was taken back."
    else:
        part = f"{saved:,} of {lines_before:,} lines ({saved / lines_before:.0%})"
        is_kept, why = True, f"It saved {part}, and the tests pass."
    return SimplifyingEnded(
        round=round,
        number=number,
        lines_before=lines_before,
        lines_after=lines_after,
        is_kept=is_kept,
        why=why,
    )
