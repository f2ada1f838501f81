"""``endstop review``: what waits for somebody to decide, and deciding it (D3 to D5)."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from endstop.cli.options import Json, MaybeRunName, Why, amount, grant_of
from endstop.cli.output import Column, Output
from endstop.cli.running import with_app
from endstop.errors import InvalidValueError

if TYPE_CHECKING:
    from endstop.app import App
    from endstop.kernel.review import ReviewDecision
    from endstop.ports import StoredReview

APPROVE, CHANGES, REJECT = "approve", "changes", "reject"
DECISIONS = (APPROVE, CHANGES, REJECT)
_COLUMNS = (
    Column(name="run"),
    Column(name="asked for"),
    Column(name="why", may_shrink=True),
    Column(name="spent", may_shrink=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What somebody wants to decide."""

    word: str
    turns: int | None = None
    tokens: int | None = None
    cost_usd: str | None = None
    seconds: float | None = None
    model_calls: int | None = None
    feedback: str | None = None
    why: str | None = None


def review(
    run: MaybeRunName = None,
    decision: Annotated[
        str | None,
        typer.Argument(metavar="approve|changes|reject", help="What is decided.", show_default=False),
    ] = None,
    turns: Annotated[int | None, amount("--turns", "Grant so many more turns.")] = None,
    tokens: Annotated[int | None, amount("--tokens", "Grant so many more tokens.")] = None,
    cost: Annotated[str | None, amount("--cost", "Grant so many more dollars.", "USD")] = None,
    seconds: Annotated[float | None, amount("--seconds", "Grant more time.", "S")] = None,
    model_calls: Annotated[int | None, amount("--model-calls", "Grant so many more model calls.")] = None,
    feedback: Annotated[
        str | None, typer.Option("--feedback", metavar="TEXT", help="For changes: what the agent is told.")
    ] = None,
    why: Why = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run at once.")] = False,
    is_json: Json = False,
) -> None:
    """Decide whether a run that met a limit may go on: list, look, approve, ask for changes, reject.

    Without RUN: what waits to be decided. With RUN: all about it; on a terminal you are then asked.
    Approving needs an amount; it is a grant, and all grants together are capped. Rejecting ends the run
    as abandoned, with its work saved.

    \b
    Examples:
      endstop review
      endstop review run_3f9c approve --turns 10 --why "nearly there" --resume
      endstop review run_3f9c changes --turns 5 --feedback "leave the tests alone"
      endstop review run_3f9c reject --why "not worth it"

    With --json: a list of reviews, or one, with run, review, why, doing, spent, findings, warnings,
    changes_asked_in_a_row, requested_at, decision, by and decided_at; of a decision, run, decided, by, next.
    """
    wanted = None
    if decision is not None:
        wanted = Wanted(
            word=decision,
            turns=turns,
            tokens=tokens,
            cost_usd=cost,
            seconds=seconds,
            model_calls=model_calls,
            feedback=feedback,
            why=why,
        )
    if run is None:
        with_app(_list, is_json=is_json)
        return
    if wanted is None:
        wanted = _looked_at(run, is_json=is_json)
    if wanted is not None:
        _decide(run, wanted, resumes=resume, is_json=is_json)


async def _list(app: App, output: Output) -> int:
    from endstop.cli.texts import local_time, one_line

    waiting = await app.store.reviews(is_open=True)
    if output.is_json:
        output.document([_json(one) for one in waiting])
    elif not waiting:
        output.say("No review waits to be decided.")
    else:
        output.table(
            _COLUMNS,
            [
                (one.run_id, local_time(one.requested_at), one_line(one.review.why, 60), one.review.spent)
                for one in waiting
            ],
        )
        output.say(f"Look at one: endstop review {waiting[0].run_id}")
    return 0


def _looked_at(run: str, *, is_json: bool) -> Wanted | None:
    """Show a review; on a terminal, ask what is decided."""
    may_ask = False

    async def work(app: App, output: Output) -> int:
        nonlocal may_ask
        stored = await _newest_review(app, run)
        if output.is_json:
            output.document(_json(stored))
            return 0
        tell_review(output, stored)
        may_ask = stored.decision is None and output.is_terminal and sys.stdin.isatty()
        if stored.decision is None and not may_ask:
            output.say(f"Decide it: endstop review {stored.run_id} approve --turns 10")
        return 0

    try:
        with_app(work, is_json=is_json)
    except typer.Exit:
        if not may_ask:
            raise
    return _asked()


def _asked() -> Wanted | None:
    """Ask the person at the terminal. Enter alone decides nothing."""
    word = typer.prompt("approve, changes, reject, or later", default="later").strip().lower()
    if word not in DECISIONS:
        typer.echo("Nothing was decided.")
        return None
    why = typer.prompt("Why", default="decided in the terminal")
    if word == REJECT:
        return Wanted(word=word, why=why)
    feedback = typer.prompt("What should it do otherwise") if word == CHANGES else None
    turns = typer.prompt("How many more turns", default=10, type=int)
    return Wanted(word=word, turns=turns, feedback=feedback, why=why)


def _decide(run: str, wanted: Wanted, *, resumes: bool, is_json: bool) -> None:
    _require_word(wanted.word)

    async def work(app: App, output: Output) -> int:
        from endstop.cli.naming import find_run
        from endstop.cli.resume import resume_shown
        from endstop.events.index import decision_word
        from endstop.events.reviewing import decided_by
        from endstop.kernel.review import RunPhase

        stored = await find_run(app.store, run)
        counts = await app.runner.decide(stored.run_id, decision_of(wanted, by=app.config.user))
        is_over = (await app.store.run(stored.run_id)).phase is RunPhase.ENDED
        following = f"endstop {'explain' if is_over else 'resume'} {stored.run_id}"
        if output.is_json:
            told = {"run": stored.run_id, "decided": decision_word(counts), "by": decided_by(counts)}
            output.json_line({**told, "next": following})
        else:
            _tell_decided(output, stored.run_id, counts)
        if is_over:
            return 0 if wanted.word == REJECT else 4
        if resumes:
            return await resume_shown(app, output, await app.store.run(stored.run_id))
        output.say(f"Go on with: {following}")
        return 0

    with_app(work, is_json=is_json)


def _require_word(word: str) -> None:
    if word not in DECISIONS:
        raise InvalidValueError(
            "decision", word, allowed=", ".join(DECISIONS), to_do="Use one of these words"
        )


def decision_of(wanted: Wanted, *, by: str) -> ReviewDecision:
    """What somebody wants to decide, as the run takes it."""
    from endstop.kernel.review import Approved, NeedsChanges, Rejected

    why = wanted.why or "decided in the terminal"
    if wanted.word == REJECT:
        return Rejected(by=by, why=why)
    grant = grant_of(
        turns=wanted.turns,
        model_calls=wanted.model_calls,
        tokens=wanted.tokens,
        cost_usd=wanted.cost_usd,
        seconds=wanted.seconds,
        by=by,
        why=why,
    )
    if grant is None:
        raise InvalidValueError(
            "grant",
            "nothing",
            allowed="at least one of --turns, --tokens, --cost, --seconds, --model-calls",
            to_do=f"Say how much more it gets: {wanted.word} --turns 10",
        )
    if wanted.word == APPROVE:
        return Approved(grant=grant)
    return NeedsChanges(feedback=wanted.feedback or "", grant=grant)


def _tell_decided(output: Output, run_id: str, counts: ReviewDecision) -> None:
    from endstop.kernel.review import Rejected

    if not isinstance(counts, Rejected):
        output.say(f"Decided: {run_id} may go on.")
    else:
        output.say(f"Rejected: {run_id} has ended as abandoned, with its work saved.")


async def _newest_review(app: App, run: str) -> StoredReview:
    from endstop.cli.naming import find_run
    from endstop.errors import RunStateError

    stored = await find_run(app.store, run)
    reviews = await app.store.reviews(run_id=stored.run_id)
    if not reviews:
        raise RunStateError(
            f"The run {stored.run_id} was never under review",
            to_do="See which runs are: endstop review",
        )
    return next((one for one in reviews if one.decision is None), reviews[0])


def tell_review(output: Output, stored: StoredReview) -> None:
    """Print what is to be decided."""
    from endstop.cli.texts import local_time
    from endstop.events.explain import evidence_line

    asked = stored.review
    decided = "" if stored.decision is None else f"{stored.decision.replace('_', ' ')} by {stored.by}"
    output.say(f"{stored.run_id}: {asked.why}", style="bold")
    output.pairs(
        [
            ("asked for", local_time(stored.requested_at)),
            ("was doing", asked.doing),
            ("spent", asked.spent),
            ("goes back to", asked.origin),
            ("changes asked in a row", str(asked.changes_asked_in_a_row or "")),
            ("decided", decided),
        ],
        indent="  ",
    )
    for finding in asked.findings:
        output.say(f"  found: {finding.message}", style="yellow")
        for evidence in finding.evidence:
            output.say(f"    {evidence_line(evidence)}")
        output.say(f"    {finding.advice}")
    for warning in asked.warnings:
        output.say(f"  warning: {warning}", style="bold yellow")


def _json(stored: StoredReview) -> dict[str, object]:
    from endstop.cli.texts import iso
    from endstop.events.plain import written

    asked = stored.review
    return {
        "run": stored.run_id,
        "review": asked.id,
        "why": asked.why,
        "doing": asked.doing,
        "spent": asked.spent,
        "findings": written(asked.findings),
        "warnings": list(asked.warnings),
        "changes_asked_in_a_row": asked.changes_asked_in_a_row,
        "requested_at": iso(stored.requested_at),
        "decision": stored.decision,
        "by": stored.by,
        "decided_at": iso(stored.decided_at),
    }
