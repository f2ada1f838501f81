"""One realistic payload of every kind that a coding session leaves, and variants."""

from __future__ import annotations

from decimal import Decimal

from endstop.events import coding
from endstop.events.facts import Payload

PHASES = coding.Alternative(
    kind=coding.AlternativeKind.PHASES, what="First the password, then the token.", price_usd=Decimal("2.40")
)
CODING: dict[str, Payload] = {
    "coding.opened": coding.SessionOpened(
        repository="shop",
        base="56c6f00a1b2c3d4e5f60718293a4b5c6d7e8f901",
        branch="endstop/run_example",
        worktree="shop-worktrees/run_example",
        test_command="pytest -q",
        confinement="bubblewrap: only the worktree can be written, no network",
        policy='{"build":{"rounds":3},"interview":{"is_on":true}}',
        yes_under_usd=Decimal("2.00"),
        concerns=("2 files have changes that are not committed; they stay as they are.",),
    ),
    "coding.opened without tests": coding.SessionOpened(
        repository="shop",
        base="56c6f00a",
        branch="endstop/run_example",
        worktree="shop-worktrees/run_example",
        test_command="",
        confinement="path checks and resource limits only",
        policy="{}",
        asks_user=False,
    ),
    "coding.interviewed": coding.Interviewed(brief="Login is by password alone."),
    "coding.specified": coding.SpecificationGiven(
        cycle=1,
        attempt=2,
        specification=coding.Specification(
            title="Login",
            success_criteria=("A wrong password is refused.", "A right one is taken."),
            lines_of_code=120,
            acceptance_tests=("test_a_wrong_password_is_refused",),
            risk=coding.Risk.MEDIUM,
            notes="Passwords are hashed already.",
        ),
    ),
    "coding.specified, incomplete": coding.SpecificationGiven(
        cycle=1,
        attempt=1,
        specification=coding.Specification(title="Login"),
        lacking=("success criteria", "a risk level"),
    ),
    "coding.priced": coding.PriceGiven(
        cycle=1,
        price_usd=Decimal("1.20"),
        tokens=90_000,
        model_calls=20,
        minutes=12.5,
        why="Two rounds of a small change.",
        verdict=coding.PriceVerdict.ASK,
    ),
    "coding.priced, unknown": coding.PriceGiven(
        cycle=1,
        price_usd=None,
        tokens=90_000,
        model_calls=20,
        minutes=12.5,
        why="The model has no price.",
        verdict=coding.PriceVerdict.APPROVED,
    ),
    "coding.priced, too much": coding.PriceGiven(
        cycle=2,
        price_usd=Decimal("6.20"),
        tokens=400_000,
        model_calls=45,
        minutes=28.0,
        why="Three rounds of a large change.",
        verdict=coding.PriceVerdict.REJECTED,
        alternatives=(
            PHASES,
            coding.Alternative(kind=coding.AlternativeKind.SIMPLER_APPROACH, what="Basic authentication."),
        ),
    ),
    "coding.price_decided approved": coding.PriceDecided(
        cycle=1, choice=coding.PriceChoice.APPROVED, by="policy"
    ),
    "coding.price_decided otherwise": coding.PriceDecided(
        cycle=2, choice=coding.PriceChoice.ALTERNATIVE, by="ana", alternative=PHASES
    ),
    "coding.price_decided rejected": coding.PriceDecided(
        cycle=2, choice=coding.PriceChoice.REJECTED, by="ana"
    ),
    "coding.planned": coding.PlanGiven(tasks=("Check the password.", "Write its test.")),
    "coding.tested": coding.TestsRun(
        round=2,
        after="simplifying 1",
        command="pytest -q",
        exit_code=0,
        seconds=3.25,
        passed=12,
        failed=0,
        passing=("test_a_wrong_password_is_refused",),
        output="12 passed",
    ),
    "coding.tested, failing": coding.TestsRun(
        round=1,
        after="building",
        command="pytest -q",
        exit_code=1,
        seconds=3.5,
        passed=11,
        failed=1,
        failing=("test_a_wrong_password_is_refused",),
        output="1 failed, 11 passed",
    ),
    "coding.tested, hanging": coding.TestsRun(
        round=1, after="building", command="make test", exit_code=-9, seconds=300.0, timed_out=True
    ),
    "coding.judged": coding.CriteriaJudged(
        round=1,
        criteria=(
            coding.Criterion(text="A wrong password is refused.", is_met=False),
            coding.Criterion(
                text="A right one is taken.", is_met=True, evidence="test_a_right_one", is_verified=True
            ),
        ),
    ),
    "coding.judged, all met": coding.CriteriaJudged(
        round=2, criteria=(coding.Criterion(text="A wrong password is refused.", is_met=True),)
    ),
    "coding.criticised": coding.IssuesFound(
        round=2,
        issues=(
            coding.Issue(gravity=coding.Gravity.MINOR, title="A name is unclear", file="auth.py", line=7),
        ),
    ),
    "coding.criticised, critically": coding.IssuesFound(
        round=1,
        issues=(
            coding.Issue(
                gravity=coding.Gravity.CRITICAL, title="The password is logged", detail="In plain text."
            ),
            coding.Issue(gravity=coding.Gravity.MAJOR, title="No limit on attempts"),
        ),
        left_out=3,
    ),
    "coding.simplified": coding.SimplifyingEnded(
        round=2, number=1, lines_before=120, lines_after=96, is_kept=True, why="It saves 20 %."
    ),
    "coding.simplified, taken back": coding.SimplifyingEnded(
        round=2, number=2, lines_before=96, lines_after=90, is_kept=False, why="The tests failed after it."
    ),
    "coding.round_ended": coding.RoundEnded(
        round=1,
        commit="0a1b2c3d4e5f60718293a4b5c6d7e8f9010a1b2c",
        files=3,
        added=1_120,
        removed=4,
        open_issues=("test_a_wrong_password_is_refused fails", "The password is logged"),
        failing_tests=1,
        cost_usd=Decimal("0.125"),
        summary="Checks the password.",
    ),
    "coding.round_ended, cost unknown": coding.RoundEnded(
        round=2, commit="1b2c3d4e", files=1, added=96, removed=4, open_issues=("The password is logged",)
    ),
    "coding.concluded": coding.SessionConcluded(
        kind="succeeded",
        checkpoint="1b2c3d4e5f60718293a4b5c6d7e8f9010a1b2c3d",
        criteria=(
            coding.Criterion(text="All tests pass", is_met=True, evidence="12 passed", is_verified=True),
        ),
    ),
    "coding.concluded at a limit": coding.SessionConcluded(
        kind="session_timeout",
        suggestion="Give the session more minutes.",
        next_steps=("endstop session accept run_example",),
        checkpoint="1b2c3d4e5f60718293a4b5c6d7e8f9010a1b2c3d",
    ),
}
