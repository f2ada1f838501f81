"""The build of a session: plan, rounds, simplification, commits, evidence, in all branches (G4, G5, G9)."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
from cast_words import (
    CODE,
    TESTS,
    Cast,
    Replies,
    Session,
    builds,
    finds,
    git,
    judges,
    make_repository,
    of,
    prices,
    require_kept_promises,
    simplifies,
    specifies,
    submit,
    with_roles,
    write,
)

from endstop.coding.policy import Policy
from endstop.coding.policy_rules import InterviewRules, PlanRules, ReflexionRules, TestsRules
from endstop.coding.worktree import Worktree
from endstop.errors import InvalidValueError
from endstop.events.coding import (
    CriteriaJudged,
    IssuesFound,
    PlanGiven,
    RoundEnded,
    SessionConcluded,
    SimplifyingEnded,
    TestsRun,
)
from endstop.kernel.outcome import Abandoned, Completed
from endstop.ports import Store
from endstop.testing import calls
from endstop.testing.adversaries.streams import Hangs

WRONG = "def double(number):\n    return number * 3\n"
LONG = (
    "def double(number):\n"
    + "".join(f"    step_{place} = number\n" for place in range(20))
    + "    return number * 2\n"
)
SHORTER = (
    "def double(number):\n"
    + "".join(f"    step_{place} = number\n" for place in range(10))
    + "    return number * 2\n"
)


# ── plan ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.thorough
@pytest.mark.guarantee("G5")
async def test_a_planner_that_hangs_is_cut_off_and_the_work_goes_on_without_a_plan(
    tmp_path: Path, store: Store
) -> None:
    session = Session(tmp_path, store, policy=Policy(plan=PlanRules(seconds=1)), models={"planner": Hangs()})
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded"
    assert [plan.tasks for plan in of(run, PlanGiven)] == [("Add double",)]
    assert PlanRules().seconds == 30


@pytest.mark.guarantee("G5")
async def test_a_plan_of_more_than_twenty_tasks_is_refused(tmp_path: Path, store: Store) -> None:
    tasks = [f"Task {number}" for number in range(21)]
    session = Session(tmp_path, store, with_roles(planner=[calls("submit_plan", tasks=tasks)]))
    run = await session.run()
    assert require_kept_promises(session, run) == "abandoned"
    assert isinstance(run.outcome, Abandoned)
    assert run.outcome.suggestion == "Break into multiple sessions"
    assert "Break into multiple sessions" in session.model.heard["planner"]


@pytest.mark.guarantee("G5")
async def test_a_planner_that_is_refused_something_else_has_not_planned_too_much(
    tmp_path: Path, store: Store
) -> None:
    outside = calls("read_file", path="../../outside.py")
    session = Session(tmp_path, store, with_roles(planner=[outside, "I would rather talk."]))
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded"
    assert [plan.tasks for plan in of(run, PlanGiven)] == [("Add double",)]


# ── rounds ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.guarantee("G4", "G8")
async def test_failing_tests_are_fixed_in_the_next_round_and_nobody_reviews_before(
    tmp_path: Path, store: Store
) -> None:
    session = Session(tmp_path, store, with_roles(builder_1=builds(WRONG), builder_2=builds()))
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded"
    assert [tests.failures for tests in of(run, TestsRun)] == [1, 0]
    assert "Test fails: test_numbers.py::test_double" in session.model.heard["builder 2"]
    assert "tester 1" not in session.model.asked
    assert "critic 1" not in session.model.asked
    assert session.commits(run) == ["Add double (round 1)", "Add double (round 2)"]
    assert "Test fails: test_numbers.py::test_double" in session.message(run, back=1)


@pytest.mark.guarantee("G4")
async def test_a_critical_issue_is_fixed_in_the_next_round(tmp_path: Path, store: Store) -> None:
    session = Session(
        tmp_path, store, with_roles(critic_1=[finds(("critical", "It breaks on text"))], critic_2=[finds()])
    )
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded"
    assert "It breaks on text" in session.model.heard["builder 2"]
    assert [ended.open_issues for ended in of(run, RoundEnded)] == [("Critical: It breaks on text",), ()]


@pytest.mark.thorough
@pytest.mark.guarantee("G4", "G8")
async def test_issues_that_are_not_critical_do_not_keep_it_from_being_done_and_stand_in_the_commit(
    tmp_path: Path, store: Store
) -> None:
    session = Session(
        tmp_path, store, with_roles(critic=[finds(("major", "No docstring"), ("minor", "Odd name"))])
    )
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded"
    assert session.commits(run) == ["Add double (round 1)"]
    message = session.message(run)
    assert "- major: No docstring\n- minor: Odd name" in message
    assert "2 passed" in message
    assert message.endswith(f"Endstop-Round: {run.id}/1")


@pytest.mark.thorough
@pytest.mark.guarantee("G4", "G9")
async def test_a_criterion_that_is_not_met_takes_another_round(tmp_path: Path, store: Store) -> None:
    session = Session(tmp_path, store, with_roles(tester_1=[judges(met=False)], tester_2=[judges()]))
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded"
    assert [judged.criteria[0].is_met for judged in of(run, CriteriaJudged)] == [False, True]
    assert "Not met: double(2) is 4" in session.model.heard["builder 2"]


@pytest.mark.thorough
@pytest.mark.guarantee("G9")
async def test_work_that_no_critic_has_looked_at_is_not_done(tmp_path: Path, store: Store) -> None:
    session = Session(tmp_path, store, with_roles(critic_1=["I would rather talk."], critic_2=[finds()]))
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded"
    first, second = of(run, RoundEnded)
    assert first.open_issues == ("The critic handed in nothing: nobody has looked for critical issues",)
    assert second.open_issues == ()


@pytest.mark.guarantee("G4", "G5")
async def test_after_the_third_round_the_state_is_accepted_as_best_effort_with_a_warning(
    tmp_path: Path, store: Store
) -> None:
    session = Session(
        tmp_path,
        store,
        with_roles(
            builder_2=[write("two.py", "TWO = 2\n" * 30), submit()],
            builder_3=[write("three.py", "THREE = 3\n" * 60), submit()],
            critic_1=[finds(("critical", "It breaks on text"), ("minor", "Odd name"))],
            critic_2=[finds(("minor", "Odd name"), ("critical", "It is slow"))],
            critic_3=[finds(("minor", "Odd name"), ("critical", "It leaks memory"))],
        ),
    )
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded_with_warnings"
    assert isinstance(run.outcome, Completed)
    assert run.outcome.warnings[:2] == (
        "Accepted as best effort after 3 rounds, with 1 open issue.",
        "Critical: It leaks memory.",
    )
    assert len(session.commits(run)) == 3
    counted = [[issue.title for issue in found.issues] for found in of(run, IssuesFound)]
    assert counted == [["It breaks on text", "Odd name"], ["It is slow", "Odd name"], ["It leaks memory"]]
    (concluded,) = of(run, SessionConcluded)
    assert [one.is_met for one in concluded.criteria] == [True, True, False, True]


@pytest.mark.thorough
@pytest.mark.guarantee("G9")
async def test_done_is_shown_with_its_evidence(tmp_path: Path, store: Store) -> None:
    session = Session(tmp_path, store)
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded"
    (concluded,) = of(run, SessionConcluded)
    criteria, tests, issues, budget = concluded.criteria
    assert (criteria.is_met, criteria.is_verified) == (True, True)
    assert "test_double passed" in criteria.evidence
    assert (tests.is_met, tests.is_verified) == (True, True)
    assert "2 passed, 0 failed" in tests.evidence
    assert (issues.is_met, issues.evidence) == (True, "The critic found 0 critical and 0 other issues.")
    assert budget.is_met
    assert "of $0.15" in budget.evidence
    assert concluded.checkpoint == of(run, RoundEnded)[0].commit


@pytest.mark.thorough
@pytest.mark.guarantee("G4")
async def test_each_role_may_have_a_model_of_its_own(tmp_path: Path, store: Store) -> None:
    critic = Cast()
    session = Session(tmp_path, store, models={"critic": critic})
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded"
    assert critic.asked == ["critic 1"]
    assert "critic 1" not in session.model.asked


# ── simplify ──────────────────────────────────────────────────────────────────────────────────────────────


def simplifying(home: Path, store: Store, **roles: Any) -> Session:
    return Session(home, store, with_roles(builder=builds(LONG), **roles))


def passes(run: Any) -> list[tuple[int, bool]]:
    return [(ended.number, ended.is_kept) for ended in of(run, SimplifyingEnded)]


@pytest.mark.thorough
@pytest.mark.guarantee("G5")
async def test_a_simplification_that_saves_lines_is_kept_and_another_pass_follows(
    tmp_path: Path, store: Store
) -> None:
    session = simplifying(
        tmp_path,
        store,
        simplifier_1=simplifies(("numbers_.py", SHORTER)),
        simplifier_2=simplifies(("numbers_.py", CODE)),
    )
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded"
    assert passes(run) == [(1, True), (2, True)]
    assert session.file(run, "numbers_.py") == CODE.strip()
    assert session.commits(run) == ["Add double (round 1)"]


@pytest.mark.guarantee("G5")
async def test_a_simplification_that_breaks_the_tests_is_taken_back_with_all_its_files(
    tmp_path: Path, store: Store
) -> None:
    session = simplifying(
        tmp_path,
        store,
        simplifier=[
            write("helper.py", "HELP = 1\n"),
            calls("delete_file", path="one.py"),
            *simplifies(("numbers_.py", WRONG)),
        ],
    )
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded"
    assert passes(run) == [(1, False)]
    assert session.file(run, "numbers_.py") == LONG.strip()
    assert session.file(run, "one.py") == "ONE = 1"
    assert "helper.py" not in git(session.repository, "ls-tree", "--name-only", f"endstop/{run.id}")


@pytest.mark.thorough
@pytest.mark.guarantee("G5")
async def test_a_simplification_that_saves_nothing_is_the_last_and_taken_back(
    tmp_path: Path, store: Store
) -> None:
    session = simplifying(tmp_path, store, simplifier=simplifies(("numbers_.py", f"{LONG}# simple\n")))
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded"
    assert passes(run) == [(1, False)]
    assert session.file(run, "numbers_.py") == LONG.strip()


@pytest.mark.thorough
@pytest.mark.guarantee("G5")
async def test_a_pass_that_saves_less_than_a_twentieth_is_kept_and_is_the_last(
    tmp_path: Path, store: Store
) -> None:
    session = simplifying(
        tmp_path,
        store,
        simplifier=simplifies(("numbers_.py", LONG.replace("    step_0 = number\n", ""))),
    )
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded"
    assert passes(run) == [(1, True)]


@pytest.mark.guarantee("G5", "H5")
@pytest.mark.parametrize("is_restored", [False, True], ids=["before it", "after it"])
@pytest.mark.parametrize(
    ("simplifier", "lines", "why"),
    [
        (simplifies(("numbers_.py", f"{LONG}# simple\n")), +1, "It saved no line"),
        (
            [
                calls("run_command", command="echo KEY=1 > .env"),
                *simplifies(("numbers_.py", SHORTER)),
            ],
            1 + SHORTER.count("\n") - LONG.count("\n"),
            "It changed what the policy forbids",
        ),
    ],
    ids=["saves nothing", "forbidden"],
)
async def test_a_process_that_dies_when_a_pass_is_taken_back_leaves_the_same_record(
    tmp_path: Path,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    simplifier: Replies,
    lines: int,
    why: str,
    *,
    is_restored: bool,
) -> None:
    session = simplifying(tmp_path, store, simplifier=simplifier)
    restore = Worktree.restore

    async def dies(self: Worktree, commit: str) -> None:
        if is_restored:
            await restore(self, commit)
        raise asyncio.CancelledError

    with monkeypatch.context() as patched:
        patched.setattr(Worktree, "restore", dies)
        with pytest.raises(asyncio.CancelledError):
            await session.run()
    (left,) = await store.runs()
    run = await session.runner.resume(left.run_id)
    assert require_kept_promises(session, run) == "succeeded"
    (ended,) = of(run, SimplifyingEnded)
    assert (ended.lines_after - ended.lines_before, ended.is_kept) == (lines, False)
    assert ended.why.startswith(why)
    assert session.file(run, "numbers_.py") == LONG.strip()
    assert ".env" not in git(session.repository, "ls-tree", "--name-only", f"endstop/{run.id}").splitlines()


@pytest.mark.guarantee("G5")
async def test_a_small_change_is_not_simplified(tmp_path: Path, store: Store) -> None:
    session = Session(tmp_path, store)
    run = await session.run()
    assert passes(run) == []
    assert "simplifier 1" not in session.model.asked
    assert ReflexionRules().least_lines == 10


# ── bad input ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.guarantee("G8")
async def test_a_repository_without_tests_is_refused_and_told_how_to_name_them(
    tmp_path: Path, store: Store
) -> None:
    folder = make_repository(tmp_path / "repository")
    git(folder, "rm", "-qf", "pytest.ini", "one.py", "test_one.py", "staged.py")
    git(folder, "commit", "-qm", "No tests")
    session = Session(tmp_path, store)
    with pytest.raises(InvalidValueError, match="--test-command"):
        await session.run()
    assert session.untouched()


@pytest.mark.guarantee("G8")
async def test_a_test_command_that_does_not_exist_is_refused_before_anything_is_spent(
    tmp_path: Path, store: Store
) -> None:
    session = Session(tmp_path, store, policy=Policy(tests=TestsRules(command="no-such-program --all")))
    with pytest.raises(InvalidValueError, match="no-such-program"):
        await session.run()
    assert session.model.asked == []
    assert session.untouched()


@pytest.mark.guarantee("G7", "G8")
async def test_a_test_command_that_is_gone_later_ends_the_session_as_abandoned(
    tmp_path: Path, store: Store
) -> None:
    program = tmp_path / "tests.sh"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    session = Session(
        tmp_path,
        store,
        with_roles(pricer=[prices(input_tokens=2_000_000)]),
        policy=Policy(tests=TestsRules(command=str(program)), interview=InterviewRules(is_on=False)),
        asks_user=True,
        yes_under_usd=None,
    )
    asked = await session.run()
    program.unlink()
    run = await session.resume(asked, answer="yes")
    assert require_kept_promises(session, run) == "abandoned"
    assert isinstance(run.outcome, Abandoned)
    assert "tests.sh" in run.outcome.reason


@pytest.mark.thorough
@pytest.mark.guarantee("G7")
async def test_a_branch_that_is_deleted_under_it_ends_the_session_as_abandoned(
    tmp_path: Path, store: Store
) -> None:
    def deletes(request: object) -> Any:
        shutil.rmtree(session.repository / ".git/refs/heads/endstop", ignore_errors=True)  # as a user may
        return builds()

    session = Session(tmp_path, store, with_roles(builder=deletes))
    run = await session.run()
    assert require_kept_promises(session, run) == "abandoned"
    assert isinstance(run.outcome, Abandoned)
    assert f"The branch endstop/{run.id} is gone" in run.outcome.reason


@pytest.mark.thorough
@pytest.mark.guarantee("G7")
async def test_what_breaks_in_a_way_that_nobody_has_thought_of_is_abandoned_with_the_work_kept(
    tmp_path: Path, store: Store
) -> None:
    session = Session(tmp_path, store, models={"critic": Cast()})

    def loses(request: object) -> Any:
        session.models = {}  # whoever makes the critic's model fails from now on
        return [judges()]

    session.model = Cast(with_roles(tester=loses))
    run = await session.run()
    assert require_kept_promises(session, run) == "abandoned"
    assert isinstance(run.outcome, Abandoned)
    assert "KeyError" in run.outcome.reason
    assert session.file(run, "numbers_.py") == CODE.strip()


# ── side by side ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.thorough
@pytest.mark.guarantee("G8")
async def test_two_sessions_at_once_in_one_repository_do_not_disturb_each_other(
    tmp_path: Path, store: Store
) -> None:
    first = Session(tmp_path, store)
    second = Session(
        tmp_path,
        store,
        with_roles(
            specifier=[specifies(title="Add triple")],
            builder=builds(CODE, f"{TESTS}\n\ndef test_more():\n    assert double(3) == 6\n"),
        ),
    )
    one, other = await asyncio.gather(first.run(), second.run())
    assert require_kept_promises(first, one) == require_kept_promises(second, other) == "succeeded"
    assert first.commits(one) == ["Add double (round 1)"]
    assert second.commits(other) == ["Add triple (round 1)"]
    assert "test_more" not in first.file(one, "test_numbers.py")
    assert "test_more" in second.file(other, "test_numbers.py")
