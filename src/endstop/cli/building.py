"""A coding session from its beginning, or from where it stood, to its ending on the screen."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from endstop.cli.build_asking import Answers, GoesOn
from endstop.cli.build_ending import tell_pause, tell_session
from endstop.cli.build_progress import SessionProgress
from endstop.cli.build_view import build_view
from endstop.cli.ending import code_of
from endstop.cli.interrupting import finishing_on_ctrl_c
from endstop.cli.live import Drive, watched_in
from endstop.cli.output import Output
from endstop.cli.progress import Step
from endstop.cli.resume import tell_left_open
from endstop.events.facts import RunStarted
from endstop.kernel.agent import DEFAULT_BUDGET
from endstop.kernel.outcome import AwaitingUser, UnderReview

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from endstop.app import App
    from endstop.app.coding import Proposed
    from endstop.events.bus import Bus
    from endstop.events.facts import Fact
    from endstop.loop.journal import Listener
    from endstop.runner import Run

INTERRUPTED = 130
_FINISHING = "Ctrl-C: the turn under way is finished first. Press it again to cut it now."


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A session that this process has worked on, and how it came out."""

    run: Run | None
    """None if it was interrupted."""
    code: int


async def begun(app: App, output: Output, intent: str, proposed: Proposed, answers: Answers) -> Seen:
    """Begin a session and show it to its ending, or to where it has to wait."""
    agent, root = proposed.agent, proposed.repository.root
    run_id = f"run_{os.urandom(6).hex()}"
    if output.is_json:
        output.json_line(
            {
                "event": "started",
                "run": run_id,
                "intent": intent,
                "model": agent.model.name,
                "repository": str(root),
                "test_command": proposed.test_command,
                "concerns": list(proposed.told),
            }
        )

    def drive(bus: Bus, listener: Listener) -> Awaitable[Run]:
        return app.runner.run(
            agent,
            intent,
            run_id=run_id,
            user=app.config.user,
            project=str(root),
            bus=bus,
            listener=listener,
        )

    progress = SessionProgress(run_id=run_id, budget=agent.config.budget)
    title = f"{agent.model.name} on {root.name or root}, {run_id}"
    return await _Showing(app, output, answers, progress, title).to_the_end(drive)


async def gone_on(
    app: App, output: Output, facts: Sequence[Fact], answers: Answers, first: GoesOn, *, takes_over: bool
) -> Seen:
    """Go on with a session where it stood, and show it to its ending, or to where it has to wait."""
    run_id, started = facts[0].run_id, facts[0].payload
    budget = started.config.budget if isinstance(started, RunStarted) else DEFAULT_BUDGET
    progress = SessionProgress(run_id=run_id, budget=budget, facts=facts)
    title = f"{run_id} goes on after {progress.turns_shown}"

    def drive(bus: Bus, listener: Listener) -> Awaitable[Run]:
        return app.runner.resume(
            run_id,
            grant=first.grant,
            answer=first.answer,
            takes_over=takes_over,
            bus=bus,
            listener=listener,
        )

    return await _Showing(app, output, answers, progress, title).to_the_end(drive)


class AskingInterrupted(asyncio.CancelledError):
    """Interrupted while a person was asked: the session waits, as was said already."""


async def asked(output: Output, run: Run, answers: Answers) -> GoesOn | None:
    """Have somebody answer what a session waits for; None if it does not wait, or has to go on waiting."""
    if not isinstance(run.outcome, AwaitingUser | UnderReview):
        return None
    try:
        return await answers.to(run)
    except asyncio.CancelledError:
        output.say()  # the cursor stands behind the question
        tell_pause(output, run)
        raise AskingInterrupted from None


class _Showing:
    """One session on the screen."""

    def __init__(
        self, app: App, output: Output, answers: Answers, progress: SessionProgress, title: str
    ) -> None:
        self._app = app
        self._output = output
        self._answers = answers
        self._progress = progress
        self._title = title
        self._is_leaving = False

    async def to_the_end(self, drive: Drive) -> Seen:
        try:
            run = await self._driven(drive)
        except AskingInterrupted:
            raise
        except asyncio.CancelledError:
            await tell_left_open(self._app, self._output, self._progress.run_id)
            raise
        if run.outcome is None:
            await tell_left_open(self._app, self._output, run.id)
            return Seen(run=None, code=INTERRUPTED)
        is_paused = isinstance(run.outcome, AwaitingUser | UnderReview)
        tell_session(self._output, run, None if is_paused else run.audit())
        is_interrupted = is_paused and self._is_leaving
        return Seen(run=run, code=INTERRUPTED if is_interrupted else code_of(run.outcome))

    async def _driven(self, drive: Drive) -> Run:
        """Drive it until it is over, asking whenever it has to be asked."""
        while True:
            run = await self._watched(drive)
            self._title = ""
            goes_on = None if self._is_leaving else await asked(self._output, run, self._answers)
            if goes_on is None:
                return run
            drive = self._resuming(run.id, goes_on)

    def _resuming(self, run_id: str, goes_on: GoesOn) -> Drive:
        return lambda bus, listener: self._app.runner.resume(
            run_id, answer=goes_on.answer, bus=bus, listener=listener
        )

    async def _watched(self, drive: Drive) -> Run:
        with self._output.in_background():
            view = build_view(self._output, self._title, self._progress)

            def is_finishing() -> None:
                self._is_leaving = True
                view.step(Step(kind="notice", text=_FINISHING, data={"text": _FINISHING}))

            async with finishing_on_ctrl_c(self._app.runner, is_finishing):
                return await watched_in(self._output, view, self._progress, drive)
