"""How tests play a session from its beginning to its end, and look at what it left."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from endstop.app.agents import agent_of
from endstop.app.coding import propose_session
from endstop.coding.examples import EXAMPLE, Example
from endstop.errors import RunStateError, UnknownRunError
from endstop.events.facts import UserAwaited
from endstop.guard.clock import SystemClock
from endstop.kernel.outcome import AwaitingUser
from endstop.loop.agent import Agent
from endstop.ports import Store
from endstop.runner import Run, Runner

RUN = "run_example"
QUICK_TESTS = f"{sys.executable} -m pytest --disable-plugin-autoload"
"""Without what the project's own tests need of pytest: it starts three times as fast."""

T = TypeVar("T")


def runner(store: Store) -> Runner:
    """As the program makes one: it knows nothing of a session but its record."""
    return Runner(store, clock=SystemClock(), agent_of=agent_of)


async def agent_for(example: Example, repository: Path, **options: Any) -> Agent:
    options.setdefault("test_command", QUICK_TESTS)
    proposed = await propose_session(repository, example.intent, model=f"{EXAMPLE}{example.name}", **options)
    return proposed.agent


async def played(example: Example, repository: Path, store: Store, **options: Any) -> Run:
    """The whole example: begun, or gone on with from wherever it was left, and answered when it asks."""
    home = runner(store)
    run = await _as_it_stands(home, example, repository, **options)
    while isinstance(run.outcome, AwaitingUser):
        answer = next_answer(example, run)
        run = await runner(store).resume(RUN, answer=answer, bus=options.get("bus"))
    return run


def next_answer(example: Example, run: Run) -> str:
    """What the user says to the question that is asked last."""
    return example.answers[len(of(run, UserAwaited)) - 1]


def of(run: Run, kind: type[T]) -> list[T]:
    """The payloads of one kind, in their order."""
    return [fact.payload for fact in run.facts if isinstance(fact.payload, kind)]


def keys(notes: Sequence[object], *names: str) -> list[tuple[object, ...]]:
    """What the notes are about, such as their rounds."""
    return [tuple(getattr(note, name) for name in names) for note in notes]


async def _as_it_stands(home: Runner, example: Example, repository: Path, **options: Any) -> Run:
    bus = options.pop("bus", None)
    try:
        return await home.wait(RUN)
    except UnknownRunError:
        agent = await agent_for(example, repository, **options)
        return await home.run(agent, example.intent, run_id=RUN, bus=bus)
    except RunStateError:
        return await home.resume(RUN, bus=bus)
