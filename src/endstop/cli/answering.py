"""From a question on the command line to an answer on the screen."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from endstop.app.conversations import conversation_for
from endstop.app.oracle import ORACLE_TREE, make_oracle, require_project, tree_library
from endstop.cli.answer_ending import tell_answer
from endstop.cli.answer_view import answer_view
from endstop.cli.asides import Asides
from endstop.cli.deeds import Deeds
from endstop.cli.ending import code_of
from endstop.cli.errors import UsageError
from endstop.cli.following import THE_LAST, followed_run
from endstop.cli.interrupting import finishing_on_ctrl_c
from endstop.cli.live import watched_in
from endstop.cli.named_tree import tree_meant
from endstop.cli.output import Output
from endstop.cli.progress import Step
from endstop.cli.resume import tell_left_open
from endstop.errors import InvalidValueError
from endstop.runner.opening import require_price

if TYPE_CHECKING:
    from endstop.app import App
    from endstop.cli.ask import Asked
    from endstop.kernel.budget import Budget
    from endstop.loop.agent import Agent
    from endstop.ports import StoredRun
    from endstop.runner import Run

INTERRUPTED = 130
_FINISHING = "Ctrl-C: the turn under way is finished first. Press it again to cut it now."
_OPTION_OF = {
    "max_iterations": "--max-turns",
    "token_budget": "--tokens",
    "cost_limit_usd": "--cost",
    "timeout_seconds": "--timeout",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """A question with all that it takes to answer it."""

    run_id: str
    question: str
    folder: Path
    conversation_id: str
    agent: Agent


async def answered(app: App, output: Output, asked: Asked) -> int:
    """Answer a question and show it; the exit code of the outcome."""
    inquiry = await _inquiry(app, asked)
    asides = Asides(output)
    if output.is_json:
        output.json_line(
            {
                "event": "started",
                "run": inquiry.run_id,
                "conversation": inquiry.conversation_id,
                "model": inquiry.agent.model.name,
                "project": str(inquiry.folder),
            }
        )
    try:
        run = await _watched(app, output, asides, inquiry)
    except asyncio.CancelledError:
        await tell_left_open(app, output, inquiry.run_id, say=asides.say)
        raise
    if run.outcome is None:
        await tell_left_open(app, output, inquiry.run_id, say=asides.say)
        return INTERRUPTED
    tell_answer(output, asides, run, inquiry.conversation_id)
    return code_of(run.outcome)


async def _inquiry(app: App, asked: Asked) -> Inquiry:
    """Get all together. Whatever is wrong with it is said before anything is kept."""
    follows = await _followed(app, asked)
    folder = _folder(asked.project or (None if follows is None else follows.project))
    agent = make_oracle(
        folder,
        model=asked.model,
        budget=await _budget(app, asked),
        tree=tree_meant(asked.tree or ORACLE_TREE, tree_library(app.config)),
        on_limit=asked.on_limit,
        config=app.config,
    )
    require_price(agent)
    conversation = await conversation_for(
        app.store, asked.question, follows=follows, user=app.config.user, project=str(folder)
    )
    return Inquiry(
        run_id=f"run_{os.urandom(6).hex()}",
        question=asked.question,
        folder=folder,
        conversation_id=conversation.id,
        agent=agent,
    )


async def _followed(app: App, asked: Asked) -> StoredRun | None:
    if asked.follows is None:
        return None
    project = str(_folder(asked.project)) if asked.follows == THE_LAST else ""
    return await followed_run(app.store, asked.follows, user=app.config.user, project=project)


def _folder(given: str | None) -> Path:
    """The project that is meant: the current folder, where none is named."""
    return require_project(given or ".")


async def _budget(app: App, asked: Asked) -> Budget:
    """The budget of the user's settings, with the limits that were given for this question."""
    settings = await app.settings()
    try:
        return settings.changed(asked.limits).budget()
    except InvalidValueError as error:
        option = _OPTION_OF.get(error.field, error.field)
        raise UsageError(
            f"{option} is {error.value}", allowed=error.allowed, to_do="Give another, or leave it out"
        ) from None


async def _watched(app: App, output: Output, asides: Asides, inquiry: Inquiry) -> Run:
    agent, run_id = inquiry.agent, inquiry.run_id
    progress = Deeds(run_id=run_id, budget=agent.config.budget)
    title = f"{agent.model.name} on {inquiry.folder.name or inquiry.folder}, {run_id}"
    with output.in_background(), asides.in_background():
        view = answer_view(output, asides, title, progress)

        def is_finishing() -> None:
            view.step(Step(kind="notice", text=_FINISHING, data={"text": _FINISHING}))

        async with finishing_on_ctrl_c(app.runner, is_finishing):
            return await watched_in(
                output,
                view,
                progress,
                lambda bus, listener: app.runner.run(
                    agent,
                    inquiry.question,
                    run_id=run_id,
                    user=app.config.user,
                    project=str(inquiry.folder),
                    conversation_id=inquiry.conversation_id,
                    bus=bus,
                    listener=listener,
                ),
            )
