"""A coding session in words: each of its facts as a line, and what was tried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal

from endstop.events import coding
from endstop.events.coding import PriceChoice, PriceVerdict
from endstop.events.coding_standing import PriceView, SessionView
from endstop.events.coding_view import rounds_table, short_commit
from endstop.events.facts import Payload
from endstop.kernel.limits import LimitKind, shown
from endstop.kernel.outcome import Completed

_VERDICTS = {
    PriceVerdict.APPROVED: "approved by the policy",
    PriceVerdict.ASK: "to be decided",
    PriceVerdict.REJECTED: "over what the policy allows",
}


def told_of_coding(payload: Payload) -> tuple[str, str] | None:
    """A fact of a coding session as a title and a detail; None for any other fact."""
    match payload:
        case coding.SessionOpened() as opened:
            tests = f"tests: {opened.test_command}" if opened.test_command else "no tests found"
            return f"Session opened on {opened.branch}", f"{opened.repository}; {tests}; {opened.confinement}"
        case coding.Interviewed(brief=brief):
            return "Interview over", brief
        case coding.SpecificationGiven() as given:
            return f"Specification, {_numbered(given)}: {_completeness(given)}", given.specification.title
        case coding.PriceGiven(verdict=verdict, why=why) as price:
            return f"Price: {_price(price.price_usd)}, {_VERDICTS[verdict]}", why
        case coding.PriceDecided() as decision:
            return f"Price: {_decision(decision)}", decision.alternative.what if decision.alternative else ""
        case coding.PlanGiven(tasks=tasks):
            return f"Plan: {_counted(len(tasks), 'task')}", _listed(tasks)
        case coding.SessionConcluded(kind=kind, suggestion=suggestion):
            return f"Session concluded: {kind.replace('_', ' ')}", suggestion
        case _:
            return _told_of_round(payload)


def _told_of_round(payload: Payload) -> tuple[str, str] | None:
    match payload:
        case coding.TestsRun() as tests:
            return _told_of_tests(tests)
        case coding.CriteriaJudged(round=number, criteria=criteria):
            open_ones = [each.text for each in criteria if not each.is_met]
            title = f"Round {number}: {len(criteria) - len(open_ones)} of {len(criteria)} criteria met"
            return title, f"not met: {_listed(open_ones)}" if open_ones else ""
        case coding.IssuesFound() as found:
            return _told_of_issues(found)
        case coding.SimplifyingEnded() as ended:
            kept = f"{ended.lines_before:,} to {ended.lines_after:,} lines" if ended.is_kept else "taken back"
            return f"Round {ended.round}: simplifying {ended.number}, {kept}", ended.why
        case coding.RoundEnded() as ended:
            lines = f"+{ended.added:,} -{ended.removed:,} lines in {_counted(ended.files, 'file')}"
            cost = "cost unknown" if ended.cost_usd is None else shown(LimitKind.COST_USD, ended.cost_usd)
            title = f"Round {ended.round} ended: {_counted(len(ended.open_issues), 'open issue')}"
            return title, f"{lines}, {cost}, commit {short_commit(ended.commit)}"
        case _:
            return None


def _told_of_tests(tests: coding.TestsRun) -> tuple[str, str]:
    standing = "passed" if tests.are_green else "timed out" if tests.timed_out else "failed"
    counts = [
        f"{number:,} {word}"
        for number, word in ((tests.passed, "passed"), (tests.failed, "failed"))
        if number is not None
    ]
    figures = ", ".join(counts or [f"exit code {tests.exit_code}"])
    failing = f": {', '.join(tests.failing)}" if tests.failing else ""
    return f"Round {tests.round}: tests {standing} after {tests.after}", f"{figures}{failing}"


def _told_of_issues(found: coding.IssuesFound) -> tuple[str, str]:
    critical = sum(issue.gravity is coding.Gravity.CRITICAL for issue in found.issues)
    title = f"Round {found.round}: {_counted(len(found.issues), 'issue')} found, {critical} critical"
    titles = [issue.title for issue in found.issues]
    left_out = [f"{found.left_out} more left out"] if found.left_out else []
    return title, _listed([*titles, *left_out])


def tried(view: SessionView) -> tuple[str, ...]:
    """What a session's ending rests on, line by line.

    For one that did not complete, also how it came there: specifications, prices. Then how its success
    criteria stand, and the table of its rounds.
    """
    return tuple(_tried(view))


def _tried(view: SessionView) -> Iterator[str]:
    if not isinstance(view.outcome, Completed):
        for given in view.attempts:
            yield f"specification, {_numbered(given)}: {_completeness(given)}"
        for priced in view.prices:
            yield _told_of_price(priced)
    if view.conclusion is not None:
        for criterion in view.conclusion.criteria:
            yield _told_of_criterion(criterion)
    yield from rounds_table(view.ended_rounds)
    for each in view.rounds:
        if each.ended is None:
            yield f"round {each.number} did not come to its end"


def _told_of_price(priced: PriceView) -> str:
    price, decision = priced.price, priced.decision
    told = f"price, cycle {price.cycle}: {_price(price.price_usd)}, {_VERDICTS[price.verdict]}"
    return f"{told}; not decided" if decision is None else f"{told}; {_decision(decision)}"


def _told_of_criterion(criterion: coding.Criterion) -> str:
    standing = "met" if criterion.is_met else "not met"
    proof = ", verified" if criterion.is_verified else ""
    evidence = f" ({criterion.evidence})" if criterion.evidence else ""
    return f"{standing}{proof}: {criterion.text}{evidence}"


def _decision(decision: coding.PriceDecided) -> str:
    if decision.choice is not PriceChoice.ALTERNATIVE:
        return f"{decision.choice.value} by {decision.by}"
    if decision.alternative is None:
        return f"{decision.by} chose an alternative"
    return f"{decision.by} chose {decision.alternative.kind.value.replace('_', ' ')} instead"


def _numbered(given: coding.SpecificationGiven) -> str:
    return f"cycle {given.cycle}, attempt {given.attempt}"


def _completeness(given: coding.SpecificationGiven) -> str:
    return f"lacks {', '.join(given.lacking)}" if given.lacking else "complete"


def _price(price_usd: Decimal | None) -> str:
    return "unknown" if price_usd is None else f"at most {shown(LimitKind.COST_USD, price_usd)}"


def _listed(texts: Iterable[str]) -> str:
    return "; ".join(text.rstrip(".") for text in texts)


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
