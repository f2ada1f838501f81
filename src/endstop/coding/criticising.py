"""Which of a critic's issues count in which round (G5). Pure.

The later the round, the graver an issue must be: first everything, then by severity, from the third round on
critical only. (The law counts rounds from 0; here they count from 1.)
"""

from __future__ import annotations

from collections.abc import Sequence

from endstop.coding.policy import Policy
from endstop.events.coding import Gravity, Issue, IssuesFound
from endstop.kernel.canonical import fold_text

SORTED_FROM_ROUND = 2
CRITICAL_ONLY_FROM_ROUND = 3

_RANK = {gravity: rank for rank, gravity in enumerate(Gravity)}


def counted(issues: Sequence[Issue], *, round: int, policy: Policy) -> IssuesFound:  # noqa: A002 - the fact's word
    """The issues that count, each once, at most as many as the policy says; and how many were left out.

    What is cut off is never graver than what is kept, not even in the first round, which keeps the order.
    """
    once = _once(issues)
    found = len(once)
    if round >= CRITICAL_ONLY_FROM_ROUND:
        once = [issue for issue in once if issue.gravity is Gravity.CRITICAL]
    gravest = sorted(once, key=lambda issue: _RANK[issue.gravity])[: policy.critic.most_issues]
    if round < SORTED_FROM_ROUND:
        kept = {id(issue) for issue in gravest}
        gravest = [issue for issue in once if id(issue) in kept]
    return IssuesFound(round=round, issues=tuple(gravest), left_out=found - len(gravest))


def what_counts(round: int, policy: Policy) -> str:  # noqa: A002 - the fact's word
    """What the critic is told of it."""
    most = policy.critic.most_issues
    if round >= CRITICAL_ONLY_FROM_ROUND:
        return f"Only critical issues count now, at most {most}."
    if round >= SORTED_FROM_ROUND:
        return f"At most {most} issues count, the gravest first."
    return f"Everything counts, at most {most} issues."


def _once(issues: Sequence[Issue]) -> list[Issue]:
    """The same issue said twice is one, as grave as it was said to be at its gravest."""
    by_words: dict[tuple[str, str], Issue] = {}
    for issue in issues:
        key = (fold_text(issue.title), issue.file)
        before = by_words.get(key)
        if before is None or _RANK[issue.gravity] < _RANK[before.gravity]:
            by_words[key] = issue
    return list(by_words.values())
