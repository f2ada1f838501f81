"""How a coding session came out: what was built, what that rests on, its rounds, and what to do next (G9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endstop.cli.build_asking import tell_question
from endstop.cli.build_words import criterion_lines, listed, stepper, tell_line
from endstop.cli.ending import audit_shown, ending_json
from endstop.cli.meters import drawn_meters, meters_line
from endstop.cli.output import Column, Output
from endstop.cli.texts import cost, one_line
from endstop.events.coding_view import session_view, short_commit
from endstop.events.plain import written
from endstop.events.summary import summarise
from endstop.kernel.outcome import Abandoned, AwaitingUser, Completed, UnderReview
from endstop.kernel.wording import sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from endstop.events.audit import Audit
    from endstop.events.coding import Criterion, RoundEnded
    from endstop.events.coding_standing import RoundView, SessionView
    from endstop.kernel.outcome import Outcome
    from endstop.runner import Run

_HEADLINES = {
    "succeeded": ("Done: every success criterion is met, the tests pass, no critical issues.", "green"),
    "succeeded_with_warnings": ("Done, with warnings.", "yellow"),
    "abandoned": ("Abandoned.", "yellow"),
    "session_timeout": ("Stopped: the session's time is over.", "yellow"),
    "session_exhausted": ("Stopped: the session's model calls are used up.", "yellow"),
    "budget_exhausted": ("Stopped: the session's money is used up.", "yellow"),
    "token_limit": ("Stopped: the session's tokens are used up.", "yellow"),
    "stuck": ("Stopped: it is stuck.", "yellow"),
    "cancelled": ("Cancelled.", "yellow"),
}
ROUND_COLUMNS = (
    Column(name="round"),
    Column(name="lines", is_number=True),
    Column(name="failing tests", is_number=True),
    Column(name="open issues", is_number=True),
    Column(name="same as before", is_number=True, may_shrink=True),
    Column(name="cost", is_number=True),
    Column(name="commit"),
)


def tell_session(output: Output, run: Run, checked: Audit | None) -> None:
    """Print how a session came out, or what it waits for."""
    if output.is_json:
        session = session_json(session_view(run.facts))
        output.json_line({"event": "ended", **ending_json(run, checked), "session": session})
    elif isinstance(run.outcome, AwaitingUser | UnderReview):
        tell_pause(output, run)
    else:
        _tell_ending(output, run, checked)


def tell_pause(output: Output, run: Run) -> None:
    """Print what a session waits for, and how to go on with it."""
    outcome = run.outcome
    if isinstance(outcome, AwaitingUser) and not output.is_terminal:  # there, it stands above: it was asked
        tell_question(output, run, outcome.question)
    output.say()
    if isinstance(outcome, UnderReview):
        output.say(f"{run.id} waits for a review: {outcome.review.why}", style="bold yellow")
        output.say(f"Decide it: endstop review {run.id} --resume")
    else:
        output.say(f"{run.id} waits for an answer; everything is saved.", style="bold yellow")
        output.say(f"Go on with: endstop resume {run.id} --answer {_answer(run)}")


def session_json(view: SessionView) -> dict[str, object]:
    """What a session came to, for programs."""
    end = view.conclusion
    return {
        "kind": None if end is None else end.kind,
        "phase": view.phase.value,
        "repository": view.repository,
        "branch": view.branch,
        "base": view.base,
        "worktree": view.worktree,
        "commit": view.saved_at,
        "asked": None if view.asked is None else view.asked.question,
        "specification": written(view.specification),
        "price_usd": None if not view.prices else written(view.prices[-1].price.price_usd),
        "criteria": written(_criteria(view)),
        "evidence": [] if end is None else written(end.criteria),
        "rounds": written(view.ended_rounds),
        "suggestion": "" if end is None else end.suggestion,
        "next_steps": [] if end is None else list(end.next_steps),
    }


def tell_rounds(output: Output, rounds: Sequence[RoundView]) -> None:
    """Print the table of rounds, so that one sees whether they came nearer to the end."""
    rows = [_row(each, each.ended) for each in rounds if each.ended is not None]
    if rows:
        output.table(ROUND_COLUMNS, rows)


def tell_evidence(output: Output, view: SessionView) -> None:
    """Print what "done" rests on: each success criterion, then the four that make it done."""
    criteria = _criteria(view)
    end = view.conclusion
    if criteria:
        output.say()
        output.say("Success criteria", style="bold")
        for line in criterion_lines(criteria):
            tell_line(output, f"  {line.text}", style=line.style)
    if end is not None and end.criteria:
        output.say()
        output.say("Done means", style="bold")
        for one in end.criteria:
            evidence = one_line(one.evidence.partition(" 1. ")[0], 200)  # each criterion stands above
            tell_line(
                output,
                f"  {'✓' if one.is_met else '✗'} {one.text}: {evidence}",
                style="green" if one.is_met else "red",
            )


def headline(outcome: Outcome | None, kind: str | None) -> tuple[str, str]:
    """How a session ended, in a sentence, and how that looks."""
    words, style = _HEADLINES.get(kind or "", (f"It ended: {outcome}.", "yellow"))
    return words, style


def kind_of(run: Run) -> str | None:
    """What the ending of a session is called; None if it has not ended."""
    end = session_view(run.facts).conclusion
    return None if end is None else end.kind


def _tell_ending(output: Output, run: Run, checked: Audit | None) -> None:
    view = session_view(run.facts)
    end = view.conclusion
    words, style = headline(run.outcome, None if end is None else end.kind)
    output.say()
    output.say(stepper(view))
    output.say(words, style=f"bold {style}")
    _tell_why(output, run.outcome)
    if view.ended_rounds and view.ended_rounds[-1].summary:
        output.say()
        output.say("What was built", style="bold")
        tell_line(output, f"  {view.ended_rounds[-1].summary.strip()}")
    tell_evidence(output, view)
    if view.ended_rounds:
        output.say()
        output.say("Rounds", style="bold")
        tell_rounds(output, view.rounds)
    output.say()
    _tell_place(output, run, view, checked)
    tell_next(output, view)


def _tell_why(output: Output, outcome: Outcome | None) -> None:
    match outcome:
        case Completed(warnings=warnings):
            for warning in warnings:
                tell_line(output, f"  {warning}", style="yellow")
        case Abandoned(reason=reason, tried=tried):
            output.say(sentence(reason))
            if tried:
                output.say()
                output.say("What was tried", style="bold")
                for line in listed(tried, most=20):
                    tell_line(output, f"  {line}")
        case _:
            output.say(sentence(str(outcome).partition(": ")[2] or str(outcome)))


def _tell_place(output: Output, run: Run, view: SessionView, checked: Audit | None) -> None:
    """Print where the work is, and what it has used."""
    summary = summarise(run.facts)
    spent = "" if output.is_terminal else meters_line(summary.meters, summary.usage)
    output.pairs(
        [
            ("work", work_words(view)),
            ("yours", f"{view.repository} is as it was" if view.repository else ""),
            ("spent", spent),
            ("audit", audit_shown(checked)),
            ("run", run.id),
        ],
        indent="  ",
    )
    if output.is_terminal:
        output.draw(drawn_meters(summary.meters, output.console.width, summary.usage))


def tell_next(output: Output, view: SessionView) -> None:
    """Print what to do about a session that has ended."""
    end = view.conclusion
    if end is None:
        return
    output.say()
    output.say("What to do", style="bold")
    run_id = view.run_id
    for line in (
        end.suggestion and sentence(end.suggestion),
        f"Look at the work: `endstop session diff {run_id}`." if view.saved_at else "",
        *end.next_steps,
        "" if view.saved_at else f"Clear its empty branch away: `endstop session discard {run_id}`.",
    ):
        if line:
            tell_line(output, f"  {line}")


def work_words(view: SessionView) -> str:
    """Where the work is, if there is any."""
    if not view.branch:
        return "none: it had not begun"
    if view.saved_at is None:
        return f"none; its branch {view.branch} is empty"
    return f"commit {short_commit(view.saved_at)} on branch {view.branch}"


def _criteria(view: SessionView) -> tuple[Criterion, ...]:
    """The success criteria as they were judged last."""
    return next((each.criteria for each in reversed(view.rounds) if each.criteria), ())


def _answer(run: Run) -> str:
    """An answer that would do, for an example of how to give one."""
    view = session_view(run.facts)
    if view.open_price is None:
        return '"…"'
    return "1" if view.open_price.alternatives else "yes"


def _row(each: RoundView, ended: RoundEnded) -> tuple[str, ...]:
    return (
        str(ended.round),
        f"+{ended.added:,} -{ended.removed:,}",
        f"{ended.failing_tests:,}",
        f"{len(ended.open_issues):,}",
        "-" if each.similarity is None else f"{each.similarity:.0%}",
        cost(ended.cost_usd),
        short_commit(ended.commit),
    )
