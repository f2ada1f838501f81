"""The lines that tell of a coding session: each fact, its criteria, where it stands, what is left of it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from endstop.cli.build_ending import headline, tell_next, work_words
from endstop.cli.build_progress import SessionProgress
from endstop.cli.build_words import criterion_lines, lines_of, stepper
from endstop.cli.output import Output
from endstop.events import coding
from endstop.events.coding import CodingNote, Criterion, Gravity, Issue, PriceChoice, PriceVerdict
from endstop.events.coding_standing import Phase, SessionView, Step, StepStanding
from endstop.kernel.budget import Budget
from endstop.kernel.outcome import Completed, Failed

PRICE = coding.PriceGiven(
    cycle=1,
    price_usd=Decimal("0.50"),
    tokens=9_000,
    model_calls=1,
    minutes=2.0,
    why="Small.",
    verdict=PriceVerdict.APPROVED,
)
ROUND = coding.RoundEnded(round=1, commit="abcdef0123", files=1, added=4, removed=1, cost_usd=None)
ISSUES = (
    Issue(gravity=Gravity.MINOR, title="A name"),
    Issue(gravity=Gravity.CRITICAL, title="A crash", file="a.py", line=3),
    Issue(gravity=Gravity.MAJOR, title="A leak", file="b.py"),
)


def ran(**changes: object) -> coding.TestsRun:
    given = {"round": 1, "after": "building", "command": "pytest", "exit_code": 1, "seconds": 2.0, **changes}
    return coding.TestsRun(**given)  # pyright: ignore[reportArgumentType] - a table of changes


@pytest.mark.parametrize(
    ("fact", "lines", "style"),
    [
        (
            ran(failed=2, passed=1, failing=("a::b", "a::c")),
            [
                "Round 1: tests failed after building",
                "  pytest: 1 passed, 2 failed, in 2.0 s",
                "  failed: a::b",
                "  failed: a::c",
            ],
            "red",
        ),
        (
            ran(timed_out=True),
            ["Round 1: tests timed out after building", "  pytest: exit code 1, in 2.0 s"],
            "red",
        ),
        (
            ran(exit_code=0, passed=3),
            ["Round 1: tests passed after building", "  pytest: 3 passed, in 2.0 s"],
            "green",
        ),
        (
            coding.IssuesFound(round=2, issues=ISSUES, left_out=2),
            [
                "Round 2: 3 issues found, 1 critical",
                "  critical: A crash (a.py:3)",
                "  major: A leak (b.py)",
                "  minor: A name",
                "  2 more that do not count in this round",
            ],
            "red",
        ),
        (coding.IssuesFound(round=3, issues=()), ["Round 3: 0 issues found, 0 critical"], "green"),
        (
            coding.CriteriaJudged(
                round=1, criteria=(Criterion(text="A", is_met=True), Criterion(text="B", is_met=False))
            ),
            ["Round 1: 1 of 2 criteria met", "  not met: B"],
            "yellow",
        ),
        (
            PRICE,
            [
                "Price: at most $0.50, approved by the policy",
                "  about 9,000 tokens in 1 model call, 2 minutes",
                "  Small.",
            ],
            "green",
        ),
        (
            coding.PriceDecided(cycle=1, choice=PriceChoice.REJECTED, by="ann"),
            ["Price: rejected by ann"],
            "yellow",
        ),
        (
            ROUND,
            ["Round 1 ended: 0 open issues", "  +4 -1 lines in 1 file, cost unknown, commit abcdef0"],
            "bold green",
        ),
        (coding.Interviewed(brief=""), ["Interview over"], ""),
    ],
)
def test_each_fact_is_told_in_a_title_and_what_belongs_to_it(
    fact: CodingNote, lines: list[str], style: str
) -> None:
    told = lines_of(fact)
    assert [line.text for line in told] == lines
    assert told[0].style == style


@pytest.mark.parametrize(
    "fact",
    [
        coding.PriceDecided(cycle=1, choice=PriceChoice.APPROVED, by="policy"),
        coding.SessionConcluded(kind="succeeded"),
        coding.Specification(),
    ],
)
def test_what_goes_without_saying_is_not_told(fact: object) -> None:
    assert lines_of(fact) == ()  # pyright: ignore[reportArgumentType] - also what is no fact at all


def test_a_price_that_is_asked_about_is_told_with_the_question_and_not_twice() -> None:
    asked = coding.PriceGiven(
        cycle=1, price_usd=None, tokens=1, model_calls=1, minutes=1, why="Hm.", verdict=PriceVerdict.ASK
    )
    assert [line.text for line in lines_of(asked)] == ["Price: unknown, to be decided"]


def test_many_failing_tests_are_cut_short() -> None:
    told = lines_of(ran(failing=tuple(f"t{number}" for number in range(30))))
    assert (len(told), told[-1].text) == (11, "  … and 22 more")


def test_text_of_a_model_cannot_drive_the_terminal() -> None:
    (line,) = lines_of(coding.CriteriaJudged(round=1, criteria=(Criterion(text="\x1b[2J", is_met=False),)))[
        1:
    ]
    assert "\x1b" not in line.text


def test_a_criterion_says_whether_a_test_shows_it_or_somebody_says_so() -> None:
    lines = criterion_lines(
        (
            Criterion(text="A", is_met=True, evidence="test_a passed.", is_verified=True),
            Criterion(text="B", is_met=False),
        )
    )
    assert [line.text for line in lines] == [
        "✓ A",
        "    met, verified: test_a passed.",
        "✗ B",
        "    not met, the tester's word",
    ]


@pytest.mark.parametrize(
    ("standings", "words"),
    [
        (("running", "waiting", "waiting"), "▸ specify   · price   · build   · done"),
        (("done", "failed", "waiting"), "✓ specify   ✗ price   · build   · done"),
        (("done", "done", "done"), "✓ specify   ✓ price   ✓ build   ✓ done"),
    ],
)
def test_the_stepper_shows_what_is_done_under_way_and_to_come(standings: tuple[str, ...], words: str) -> None:
    names = (Phase.SPECIFY, Phase.PRICE, Phase.BUILD)
    steps = tuple(
        Step(name=name, standing=StepStanding(each)) for name, each in zip(names, standings, strict=True)
    )
    assert stepper(SessionView(run_id="r", intent="i", phase=Phase.SPECIFY, steps=steps)) == words


@pytest.mark.parametrize(
    ("branch", "commit", "words"),
    [
        ("", None, "none: it had not begun"),
        ("endstop/r", None, "none; its branch endstop/r is empty"),
        ("endstop/r", "abcdef0123", "commit abcdef0 on branch endstop/r"),
    ],
)
def test_where_the_work_is_is_said(branch: str, commit: str | None, words: str) -> None:
    view = SessionView(
        run_id="r",
        intent="i",
        phase=Phase.CONCLUDED,
        steps=(),
        branch=branch,
        conclusion=coding.SessionConcluded(kind="abandoned", checkpoint=commit),
    )
    assert work_words(view) == words


def test_an_ending_without_a_name_of_its_own_is_told_as_it_is() -> None:
    assert headline(Completed(answer=""), "succeeded")[1] == "green"
    assert headline(Failed(code="x", message="It broke"), None) == (
        "It ended: failed (x): It broke.",
        "yellow",
    )


def test_a_session_without_a_conclusion_advises_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    tell_next(Output(is_json=False), SessionView(run_id="r", intent="i", phase=Phase.CONCLUDED, steps=()))
    assert capsys.readouterr().out == ""


def test_before_its_first_fact_nothing_is_known_of_a_session() -> None:
    progress = SessionProgress(run_id="r", budget=Budget(turns=1))
    assert (progress.view, progress.under_way) == (None, "")
