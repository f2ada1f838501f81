"""``endstop resume``: go on with a run that is paused, or was left open by a process that is gone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from endstop.cli.errors import UsageError, exit_code_of, tell
from endstop.cli.options import Json, MaybeRunName, Why, amount, grant_of
from endstop.cli.output import Output
from endstop.cli.running import with_app
from endstop.errors import EndstopError, RunStateError, UnknownRunError

if TYPE_CHECKING:
    from collections.abc import Callable

    from endstop.app import App
    from endstop.events.facts import Fact
    from endstop.kernel.budget import Grant
    from endstop.ports import StoredRun
    from endstop.runner import Run

_WHY = "granted in the terminal"


def resume(
    run: MaybeRunName = None,
    all_: Annotated[bool, typer.Option("--all", help="Every run that was left open.")] = False,
    grant_turns: Annotated[int | None, amount("--grant-turns", "Give it so many more turns.")] = None,
    grant_tokens: Annotated[int | None, amount("--grant-tokens", "Give it so many more tokens.")] = None,
    grant_cost: Annotated[str | None, amount("--grant-cost", "Give it so many more dollars.", "USD")] = None,
    grant_seconds: Annotated[float | None, amount("--grant-seconds", "Give it more time.", "S")] = None,
    grant_model_calls: Annotated[int | None, amount("--grant-model-calls", "Give it more calls.")] = None,
    why: Why = None,
    answer: Annotated[
        str | None, typer.Option("--answer", metavar="TEXT", help="What to answer to what its agent asked.")
    ] = None,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Even if another process seems to work on it; that one stops.")
    ] = False,
    is_json: Json = False,
) -> None:
    """Go on with a run where it stood: every counter, its clock and its record as they were.

    Without RUN: the one run that was left open. A grant approves the review that a run waits for. What a
    run has spent is never set back; a grant comes on top of its limit, and stands in its record.

    \b
    Examples:
      endstop resume
      endstop resume run_3f9c --grant-turns 10 --why "it was getting somewhere"
      endstop resume last --answer "yes, the second one"
      endstop resume --all

    The exit code tells the outcome: see endstop --help. With --all: 1 if one failed, else the greatest.
    Ctrl-C cuts the turn, saves it and leaves the run open (130).

    With --json: lines with event (turn, notice, ended) and run; ended has outcome, ended_by, why, answer,
    spent, unknown_cost_calls, kept, audit_holds and exit_code.
    """

    async def work(app: App, output: Output) -> int:
        grant = grant_of(
            turns=grant_turns,
            model_calls=grant_model_calls,
            tokens=grant_tokens,
            cost_usd=grant_cost,
            seconds=grant_seconds,
            by=app.config.user,
            why=why or _WHY,
        )
        if all_:
            return await _resume_all(app, output, run, grant, answer)
        chosen = await _chosen(app, run)
        return await resume_shown(app, output, chosen, grant=grant, answer=answer, takes_over=take_over)

    with_app(work, is_json=is_json)


async def resume_shown(
    app: App,
    output: Output,
    stored: StoredRun,
    *,
    grant: Grant | None = None,
    answer: str | None = None,
    takes_over: bool = False,
) -> int:
    """Go on with a run and show it; the exit code of its outcome."""
    from endstop.cli.ending import code_of, ending_json, tell_ending
    from endstop.coding import CODING
    from endstop.kernel.outcome import AwaitingUser, UnderReview

    if stored.agent == CODING:
        from endstop.cli.build_resuming import session_resumed

        return await session_resumed(app, output, stored, grant=grant, answer=answer, takes_over=takes_over)
    resumed = await _resumed(app, output, stored, grant, answer, takes_over=takes_over)
    is_over = resumed.outcome is not None and not isinstance(resumed.outcome, UnderReview | AwaitingUser)
    checked = resumed.audit() if is_over else None
    if output.is_json:
        output.json_line({"event": "ended", **ending_json(resumed, checked)})
        return code_of(resumed.outcome)
    tell_ending(output, resumed, checked)
    if resumed.answer:
        output.say()
        output.say(resumed.answer)
    if isinstance(resumed.outcome, UnderReview):
        output.say(f"Decide it: endstop review {resumed.id}")
    elif isinstance(resumed.outcome, AwaitingUser):
        output.say(f'Answer it: endstop resume {resumed.id} --answer "…"')
    return code_of(resumed.outcome)


async def tell_left_open(
    app: App, output: Output, run_id: str, *, say: Callable[[str], None] | None = None
) -> None:
    """Say how to go on with a run that was interrupted; ``say`` where it is not said on the output."""
    from endstop.kernel.review import RunPhase

    say = output.say if say is None else say
    try:
        stored = await app.store.run(run_id)
    except UnknownRunError:
        say("Interrupted before the run began: nothing was kept.")
        return
    is_over = stored.phase is RunPhase.ENDED
    if output.is_json:
        following = f"endstop {'explain' if is_over else 'resume'} {run_id}"
        output.json_line({"event": "interrupted", "run": run_id, "is_over": is_over, "next": following})
    elif is_over:
        say(f"Interrupted. {run_id} had just ended: endstop explain {run_id}")
    else:
        say(f"Interrupted. The work of {run_id} is saved, and the run is left open.")
        say(f"Go on with: endstop resume {run_id}")


async def _resumed(
    app: App, output: Output, stored: StoredRun, grant: Grant | None, answer: str | None, *, takes_over: bool
) -> Run:
    from endstop.cli.live import Title, watched
    from endstop.cli.progress import Progress
    from endstop.events.facts import RunStarted
    from endstop.kernel.agent import DEFAULT_BUDGET

    facts = await app.store.record(stored.run_id)
    started = facts[0].payload if facts else None
    budget = started.config.budget if isinstance(started, RunStarted) else DEFAULT_BUDGET
    require_answer(stored, facts, answer)
    progress = Progress(run_id=stored.run_id, budget=budget, facts=facts)
    try:
        return await watched(
            output,
            Title(name=f"{stored.run_id} goes on after {progress.turns_shown}", does=stored.question),
            progress,
            lambda bus, listener: app.runner.resume(
                stored.run_id,
                grant=grant,
                answer=answer,
                takes_over=takes_over,
                bus=bus,
                listener=listener,
            ),
        )
    except asyncio.CancelledError:
        await tell_left_open(app, output, stored.run_id)
        raise


def require_answer(stored: StoredRun, facts: list[Fact], answer: str | None) -> None:
    """Say what the agent asked, and how to answer, before the runner says only that an answer is missing."""
    from endstop.kernel.review import RunPhase
    from endstop.runner.opening import last_question

    if stored.phase is RunPhase.AWAIT_USER and answer is None:
        raise RunStateError(
            f"The run {stored.run_id} waits for an answer to: {last_question(facts)}",
            to_do=f'Answer it: endstop resume {stored.run_id} --answer "…"',
        )
    if answer is not None and stored.phase is RunPhase.BUDGET_REVIEW:
        raise RunStateError(
            f"The run {stored.run_id} waits for a review, not for an answer",
            to_do=f"Decide it: endstop review {stored.run_id}",
        )


async def _chosen(app: App, given: str | None) -> StoredRun:
    from endstop.cli.naming import find_run

    if given is not None:
        return await find_run(app.store, given)
    left = await app.runner.left_open()
    if len(left) == 1:
        return left[0]
    if not left:
        raise RunStateError("No run was left open", to_do="Name one: endstop runs --open shows which wait")
    names = ", ".join(one.run_id for one in left[:5]) + (" …" if len(left) > 5 else "")
    raise RunStateError(
        f"{len(left)} runs were left open: {names}",
        to_do="Name one of them, or go on with all: endstop resume --all",
    )


async def _resume_all(
    app: App, output: Output, given: str | None, grant: Grant | None, answer: str | None
) -> int:
    if given is not None or grant is not None or answer is not None:
        raise UsageError(
            f"--all was given with {given or 'a grant or an answer'}",
            allowed="--all alone: it goes on with every run that was left open",
            to_do="Leave it out to go on with one run",
        )
    codes: list[int] = []
    for stored in await app.runner.left_open():
        try:
            codes.append(await resume_shown(app, output, stored))
        except EndstopError as error:  # one that cannot go on keeps nobody else from it
            tell(error, is_json=output.is_json)
            codes.append(exit_code_of(error))
    if not codes:
        output.say("No run was left open.")
    return 1 if 1 in codes else max(codes, default=0)
