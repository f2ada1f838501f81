"""Giving a paused run what it waits for: a decision, or an answer. What it does not wait for is refused."""

from __future__ import annotations

from endstop.errors import RunStateError
from endstop.events.recorder import Recorder
from endstop.events.reviewing import carry_out
from endstop.kernel.budget import Grant
from endstop.kernel.ledger import ROOT
from endstop.kernel.observation import BudgetGranted, RunResumed, UserSaid
from endstop.kernel.review import Approved, RunPhase
from endstop.runner.opening import asked_last, last_awaited, phase_of, require_review, require_sensible


def wake(recorder: Recorder, grant: Grant | None, answer: str | None, *, time: float) -> None:
    """Let a run go on: a grant approves its review, an answer is what its agent asked for."""
    match phase_of(recorder):
        case RunPhase.AWAIT_USER:
            if answer is None:
                raise RunStateError(
                    f"The run {recorder.run_id} waits for the user: {asked_last(recorder.facts)}",
                    to_do="Resume it with an answer",
                )
            hand_answer(recorder, answer, time=time)
        case _ if answer is not None:
            raise asks_nothing(recorder.run_id)
        case RunPhase.BUDGET_REVIEW:
            _approve(recorder, grant, time=time)
            return
        case _:
            pass
    if grant is not None:
        recorder.observe(BudgetGranted(at_s=recorder.state.now_s, grant=grant), time=time)


def hand_answer(recorder: Recorder, text: str, *, time: float) -> None:
    """Hand on what the user answered. The time spent waiting for it is not charged."""
    at_s = recorder.state.now_s
    asked = last_awaited(recorder.facts)
    scope = ROOT if asked is None else asked.scope
    recorder.observe(RunResumed(at_s=at_s), time=time)
    recorder.observe(UserSaid(at_s=at_s, scope=scope, text=text), time=time)


def asks_nothing(run_id: str) -> RunStateError:
    return RunStateError(
        f"The run {run_id} asks the user nothing",
        allowed="an answer to a run in AWAIT_USER",
        to_do="Leave the answer out",
    )


def _approve(recorder: Recorder, grant: Grant | None, *, time: float) -> None:
    waiting = require_review(recorder)
    review, scope = waiting.review, waiting.scope
    if grant is None:
        raise RunStateError(
            f"The run {recorder.run_id} waits for a review: {review.why}",
            to_do=f"Decide it (`endstop review {recorder.run_id}`), or resume it with a grant",
        )
    decision = Approved(grant=grant)
    require_sensible(recorder, scope, decision)
    at_s = recorder.state.now_s
    recorder.observe(RunResumed(at_s=at_s), time=time)
    carry_out(recorder, review, decision, at_s=at_s, time=time, scope=scope)
