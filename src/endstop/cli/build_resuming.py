"""``endstop resume`` of a coding session: the same view, and what it waits for is asked at the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endstop.cli.build_asking import Answers, GoesOn, NobodyAnswers, PersonAnswers
from endstop.cli.build_ending import tell_session
from endstop.cli.building import asked, gone_on
from endstop.cli.ending import code_of
from endstop.cli.prompting import may_ask
from endstop.cli.resume import require_answer
from endstop.kernel.review import RunPhase

if TYPE_CHECKING:
    from endstop.app import App
    from endstop.cli.output import Output
    from endstop.kernel.budget import Grant
    from endstop.ports import StoredRun


async def session_resumed(
    app: App,
    output: Output,
    stored: StoredRun,
    *,
    grant: Grant | None = None,
    answer: str | None = None,
    takes_over: bool = False,
) -> int:
    """Go on with a coding session and show it; the exit code of its outcome."""
    is_interactive = may_ask(output)
    answers: Answers = PersonAnswers(app, output) if is_interactive else NobodyAnswers()
    first = GoesOn(answer=answer, grant=grant)
    is_waiting = stored.phase in (RunPhase.AWAIT_USER, RunPhase.BUDGET_REVIEW)
    if is_interactive and is_waiting and answer is None and grant is None:
        waiting = await app.runner.wait(stored.run_id)
        answered = await asked(output, waiting, answers)
        if answered is None:
            tell_session(output, waiting, None)
            return code_of(waiting.outcome)
        first = answered
    facts = await app.store.record(stored.run_id)
    require_answer(stored, facts, first.answer)
    return (await gone_on(app, output, facts, answers, first, takes_over=takes_over)).code
