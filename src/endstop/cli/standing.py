"""How runs stand, for lists: in words, as JSON, and what to do next with each."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import TYPE_CHECKING

from endstop.cli.texts import iso
from endstop.kernel.review import RunPhase

if TYPE_CHECKING:
    from endstop.ports import StoredRun


class Standing(StrEnum):
    """Where a run stands, as a person sees it."""

    RUNNING = "running"
    LEFT_OPEN = "left open"
    """Its process has died, or was told to end: it can be resumed."""
    WAITS_FOR_REVIEW = "waits for review"
    WAITS_FOR_ANSWER = "waits for an answer"
    ENDED = "ended"


_OF_PHASE = {
    RunPhase.RUNNING: Standing.RUNNING,
    RunPhase.BUDGET_REVIEW: Standing.WAITS_FOR_REVIEW,
    RunPhase.AWAIT_USER: Standing.WAITS_FOR_ANSWER,
    RunPhase.ENDED: Standing.ENDED,
}


def standing(run: StoredRun, left_open: Collection[str]) -> Standing:
    """How a run stands; ``left_open`` are the ids of those that nobody works on."""
    return Standing.LEFT_OPEN if run.run_id in left_open else _OF_PHASE[run.phase]


def next_step(run_id: str, stands: Standing) -> str:
    """The command that goes on with a run that is not over."""
    match stands:
        case Standing.LEFT_OPEN:
            return f"endstop resume {run_id}"
        case Standing.WAITS_FOR_REVIEW:
            return f"endstop review {run_id}"
        case Standing.WAITS_FOR_ANSWER:
            return f'endstop resume {run_id} --answer "…"'
        case Standing.RUNNING:
            return f"endstop show {run_id} --follow"
        case Standing.ENDED:
            return f"endstop explain {run_id}"


def run_json(run: StoredRun, stands: Standing) -> dict[str, object]:
    """A run as ``runs --json`` and others print it."""
    return {
        "run": run.run_id,
        "state": stands.value,
        "agent": run.agent,
        "model": run.model,
        "question": run.question,
        "user": run.user,
        "project": run.project,
        "turns": run.turns,
        "tokens": run.tokens,
        "cost_usd": None if run.cost_usd is None else f"{run.cost_usd:f}",
        "started_at": iso(run.started_at),
        "changed_at": iso(run.changed_at),
        "ended_at": iso(run.ended_at),
        "ending": run.ending,
        "exit_code": run.exit_code,
        "next": next_step(run.run_id, stands),
    }
