"""Every adversary under every kind of budget: it ends, inside the budget, by a rule, with its work kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from adversary_runs import (
    BUDGETS,
    GENEROUS,
    LATE_S,
    Tried,
    agent_of,
    budget_for,
    endings,
    in_time,
    names_a_rule,
    over_budget,
    recounted,
    said,
    unanswered,
    unreserved,
)
from leftovers import held, left_since, other_tasks

from endstop.kernel.budget import Budget
from endstop.kernel.outcome import Completed, Failed
from endstop.testing import ADVERSARIES

NAMES = sorted(ADVERSARIES)


async def tried_by(name: str, budget: Budget, folder: Path) -> Tried:
    adversary = ADVERSARIES[name]
    return await in_time(
        lambda: agent_of(
            adversary.make_model(), adversary.make_tools(), budget, must_use_tools=adversary.must_use_tools
        ),
        folder,
    )


def require_kept_promises(done: Tried, budget: Budget) -> None:
    outcome, record = done.run.outcome, done.record
    assert [fact.payload for fact in record] == [fact.payload for fact in done.run.facts]
    assert endings(record) == [record[-1].seq], "exactly one ending, and nothing after it"
    assert names_a_rule(outcome), outcome
    assert not (isinstance(outcome, Failed) and outcome.code == "driver_failed"), outcome
    assert over_budget(recounted(record), budget) == []
    assert unreserved(record) == []
    assert unanswered(record) == []
    if budget.seconds is not None:
        assert done.run.usage.seconds <= budget.seconds + LATE_S
    texts = said(record)
    if texts and not (isinstance(outcome, Completed) and outcome.answer.strip()):
        assert texts[-1].strip() in done.run.answer, "the crossing reply is kept"
    assert done.run.audit(), str(done.run.audit())


@pytest.mark.guarantee("A1", "A5", "A6", "A11", "A14", "D9")
@pytest.mark.parametrize("limit", BUDGETS)
@pytest.mark.parametrize("name", NAMES)
async def test_every_adversary_ends_inside_every_budget(name: str, limit: str, tmp_path: Path) -> None:
    budget = budget_for(ADVERSARIES[name], BUDGETS[limit])
    before = held()
    done = await tried_by(name, budget, tmp_path)
    require_kept_promises(done, budget)
    assert other_tasks() == []
    assert left_since(before) == []


@pytest.mark.guarantee("A12", "B1", "B2", "B3", "B4", "B6")
@pytest.mark.parametrize("name", NAMES)
async def test_with_a_generous_budget_what_is_wrong_ends_it(name: str, tmp_path: Path) -> None:
    done = await tried_by(name, GENEROUS, tmp_path)
    require_kept_promises(done, GENEROUS)
    assert done.run.outcome is not None
    assert ADVERSARIES[name].accepts(done.run.outcome), done.run.outcome
