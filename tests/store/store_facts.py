"""Facts for the tests of the store, with few words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal

from endstop.events.facts import Fact, Payload, ReviewDecided, ReviewRequested, RunStarted
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Grant
from endstop.kernel.observation import (
    AssistantSaid,
    BudgetGranted,
    CallSettled,
    RunEnded,
    TurnEnded,
    TurnStarted,
)
from endstop.kernel.outcome import Completed
from endstop.kernel.review import Approved, Review
from endstop.ports import WholeStore

OpenStore = Callable[[], Awaitable[WholeStore]]

START_TIME = 1_700_000_000.25

GRANT = Grant(turns=10, cost_usd="0.10", seconds=30, by="ana", why="nearly there")
REVIEW = Review(id="review:1", why="Maximum coding iterations (8) reached", spent="8 turns")

ENDED = RunEnded(at_s=9.0, outcome=Completed(answer="It is in auth.py."))
ASKED = ReviewRequested(review=REVIEW)
APPROVED = ReviewDecided(review_id=REVIEW.id, decision=Approved(grant=GRANT), by="ana")
GRANTED = BudgetGranted(at_s=8.0, grant=GRANT)


def started(
    *, user: str | None = "ana", project: str | None = "shop", question: str = "Where is login?"
) -> RunStarted:
    return RunStarted(
        config=AgentConfig(), user=user, project=project, question=question, agent="oracle", model="test:one"
    )


def turn(number: int, *, cost_usd: str | None = "0.01", text: str = "I see.") -> list[Payload]:
    """What is recorded of one turn: 120 tokens."""
    return [
        TurnStarted(at_s=float(number), turn=number),
        CallSettled(
            at_s=number + 0.5,
            turn=number,
            reservation=f"call:{number}.0",
            input_tokens=100,
            output_tokens=20,
            cost_usd=None if cost_usd is None else Decimal(cost_usd),
        ),
        AssistantSaid(at_s=number + 0.5, turn=number, text=text),
        TurnEnded(at_s=number + 0.9, turn=number),
    ]


def facts(
    run_id: str, *payloads: Payload, first: int = 0, time: float = START_TIME, source: str = "test"
) -> list[Fact]:
    """Facts that follow each other, a second apart."""
    return [
        Fact(run_id=run_id, seq=seq, time=time + seq - first, source=source, payload=payload)
        for seq, payload in enumerate(payloads, start=first)
    ]


def begun(
    run_id: str = "run-1", *, user: str | None = "ana", project: str | None = "shop", time: float = START_TIME
) -> list[Fact]:
    """The first append of a run: its start and one turn, five facts."""
    return facts(run_id, started(user=user, project=project), *turn(0), time=time)
