"""How a session ends: one of five ways, each with what to do next (G6, G7)."""

from __future__ import annotations

from decimal import Decimal

import pytest

from endstop.coding import endings
from endstop.coding.policy import DEFAULT_POLICY
from endstop.coding.policy_keys import POLICY_KEYS
from endstop.events.coding import (
    Alternative,
    AlternativeKind,
    Criterion,
    PriceChoice,
    PriceDecided,
    PriceGiven,
    PriceVerdict,
    RoundEnded,
    Specification,
    SpecificationGiven,
)
from endstop.kernel.outcome import (
    Abandoned,
    Cancelled,
    Completed,
    Ending,
    Failed,
    Forced,
    Stopped,
    StopReason,
    StopRule,
    exit_code,
)

KINDS = {
    "succeeded",
    "succeeded_with_warnings",
    "abandoned",
    "session_timeout",
    "session_exhausted",
    "budget_exhausted",
    "token_limit",
    "stuck",
    "cancelled",
}
PROOF = (Criterion(text="Tests passed", is_met=True),)


def ended(number: int, *open_issues: str, failing: int = 0) -> RoundEnded:
    return RoundEnded(
        round=number,
        commit=f"{number}" * 40,
        files=1,
        added=10 * number,
        removed=1,
        open_issues=open_issues,
        failing_tests=failing,
        cost_usd=Decimal("0.10"),
    )


def reason(rule: StopRule) -> StopReason:
    return StopReason(rule=rule, message="Enough.")


@pytest.mark.guarantee("G6")
@pytest.mark.parametrize(
    ("rule", "kind", "key"),
    [
        (StopRule.TIME, "session_timeout", "session.minutes"),
        (StopRule.MODEL_CALLS, "session_exhausted", "session.model_calls"),
        (StopRule.TURNS, "session_exhausted", "session.model_calls"),
        (StopRule.COST, "budget_exhausted", "session.cost_usd"),
        (StopRule.TOKENS, "token_limit", "session.tokens"),
        (StopRule.CONTEXT, "token_limit", "session.tokens"),
        (StopRule.NO_PROGRESS, "stuck", ""),
        (StopRule.ERROR_LIMIT, "stuck", ""),
        (StopRule.CANCELLED, "cancelled", ""),
    ],
)
def test_each_limit_has_an_ending_of_its_own_that_names_what_to_change(
    rule: StopRule, kind: str, key: str
) -> None:
    concluded = endings.concluded_by(reason(rule), "run1", [ended(1)], "abc", criteria=PROOF)
    assert concluded.kind == endings.kind_of(reason(rule)) == kind
    assert concluded.suggestion
    assert (concluded.checkpoint, concluded.criteria) == ("abc", PROOF)
    if key:
        assert key in POLICY_KEYS
        assert f"raise {key}, with `endstop policy edit`" in concluded.next_steps[0]
    assert "`endstop session accept run1`" in " ".join(concluded.next_steps)


@pytest.mark.guarantee("G7")
@pytest.mark.parametrize("rule", StopRule)
def test_whatever_stops_a_session_it_has_one_of_the_known_endings(rule: StopRule) -> None:
    concluded = endings.concluded_by(reason(rule), "run1")
    assert concluded.kind in KINDS
    assert concluded.suggestion
    assert concluded.next_steps
    assert "{run}" not in " ".join(concluded.next_steps)


@pytest.mark.guarantee("G7")
@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        (Completed(answer="Done"), "succeeded"),
        (Completed(answer="Done", warnings=("open",)), "succeeded_with_warnings"),
        (Abandoned(reason="No", suggestion="Rephrase", next_steps=("Say more.",)), "abandoned"),
        (Stopped(reason=reason(StopRule.TIME)), "session_timeout"),
        (Forced(answer="x", reason=reason(StopRule.TOKENS)), "token_limit"),
        (Cancelled(by="ada"), "cancelled"),
        (Failed(code="model_failed", message="No network"), "abandoned"),
    ],
)
def test_every_ending_is_one_of_the_known_and_keeps_what_it_has(ending: Ending, kind: str) -> None:
    concluded = endings.concluded(ending, "run1", [ended(1)], "abc", criteria=PROOF)
    assert concluded.kind == kind
    assert kind in KINDS
    assert concluded.suggestion
    assert (concluded.checkpoint, concluded.criteria) == ("abc", PROOF)
    assert "`endstop session discard run1`" in " ".join(concluded.next_steps)


def test_an_abandoned_session_says_its_own_next_steps_first() -> None:
    given_up = Abandoned(reason="No", suggestion="Rephrase", next_steps=("Say more.", "Say more."))
    concluded = endings.concluded(given_up, "run1")
    assert (concluded.suggestion, concluded.next_steps) == ("Rephrase", ("Say more.",))


def test_work_that_was_only_begun_is_found_by_its_commit() -> None:
    assert endings.work_steps("run1", (), "abc") == ("What it had begun is in commit abc.",)
    assert endings.work_steps("run1", ()) == ()


def test_an_earlier_round_that_stood_better_can_be_restored() -> None:
    steps = endings.work_steps("run1", [ended(1, "a"), ended(2, "a", "b"), ended(3, "a", "b")])
    assert steps[0] == (
        "Round 1 stood better (1 open issue, 0 failing tests) than the last (2 open issues, 0 failing "
        "tests). Go back to it: `endstop session restore run1 1`."
    )
    assert not any("restore" in step for step in endings.work_steps("run1", [ended(1, "a"), ended(2, "b")]))


@pytest.mark.parametrize(
    ("rounds", "left"),
    [
        ((), ["What it had begun is in commit abc."]),
        ((ended(1, "a"),), []),
        (
            (ended(1, "a"), ended(2, "a", "b")),
            [
                "Round 1 stood better (1 open issue, 0 failing tests) than the last (2 open issues, "
                "0 failing tests)."
            ],
        ),
    ],
)
def test_the_steps_without_those_for_the_work_are_told_apart_for_where_that_has_buttons(
    rounds: tuple[RoundEnded, ...], left: list[str]
) -> None:
    reason = StopReason(rule=StopRule.TIME, message="Time is over")
    end = endings.concluded_by(reason, "run1", rounds, "abc")
    first = "For more time raise session.minutes, with `endstop policy edit`."
    assert list(endings.other_steps(end, "run1", rounds)) == [first, *left]


@pytest.mark.parametrize(
    ("rounds", "best"),
    [
        ([ended(1)], 1),
        ([ended(1, "a", "b"), ended(2, "a")], 2),
        ([ended(1, "a"), ended(2, "a", "b")], 1),
        ([ended(1, "a"), ended(2, "b")], 2),
        ([ended(1, "t", failing=1), ended(2, "a", "b")], 2),
        ([ended(1, "a", "b"), ended(2, "t", failing=1)], 1),
        ([ended(1, "t", failing=2), ended(2, "t", failing=5)], 1),
    ],
)
def test_the_best_round_has_passing_tests_and_the_fewest_open_issues(
    rounds: list[RoundEnded], best: int
) -> None:
    assert endings.best_round(rounds).round == best


@pytest.mark.guarantee("G7")
def test_success_shows_its_rounds() -> None:
    ending = endings.succeeded("Dates are read.", [ended(1, "a"), ended(2)])
    assert ending.warnings == ()
    assert ending.answer.startswith("Dates are read.\n\n")
    assert "1111111" in ending.answer
    assert "2222222" in ending.answer
    assert exit_code(ending) == 0
    assert endings.succeeded("Done.", ()).answer == "Done."


@pytest.mark.guarantee("G4")
def test_best_effort_is_accepted_with_warnings_that_name_what_is_open() -> None:
    ending = endings.best_effort(
        "Most of it.", [ended(1, "a"), ended(2, "a", "b"), ended(3, "a", "Not met: b")]
    )
    assert ending.warnings == (
        "Accepted as best effort after 3 rounds, with 2 open issues.",
        "a.",
        "Not met: b.",
        "Round 1 stood better (1 open issue, 0 failing tests) than the last "
        "(2 open issues, 0 failing tests).",
    )
    assert exit_code(ending) == 3


def test_of_very_many_open_issues_some_are_named() -> None:
    ending = endings.best_effort("", [ended(1, *(f"issue {number}" for number in range(30)))])
    assert ending.warnings[0] == "Accepted as best effort after 1 round, with 30 open issues."
    assert ending.warnings[-1] == "And 20 more."
    assert len(ending.warnings) == 12


SMALLER = Alternative(kind=AlternativeKind.SMALLER_SCOPE, what="Only ISO dates", price_usd=Decimal("1.50"))
PHASES = Alternative(kind=AlternativeKind.PHASES, what="The parser first.")


def price(cycle: int, usd: str | None, said: PriceVerdict, *alternatives: Alternative) -> PriceGiven:
    return PriceGiven(
        cycle=cycle,
        price_usd=None if usd is None else Decimal(usd),
        tokens=1,
        model_calls=1,
        minutes=1,
        why="",
        verdict=said,
        alternatives=alternatives,
    )


REJECTED = price(1, "7.20", PriceVerdict.REJECTED, SMALLER, PHASES)
SPECIFIED = SpecificationGiven(cycle=1, attempt=1, specification=Specification(title="Dates"))
CHOSEN = PriceDecided(cycle=1, choice=PriceChoice.ALTERNATIVE, by="ada", alternative=SMALLER)


@pytest.mark.guarantee("G2", "G7")
def test_a_price_that_was_rejected_leaves_its_alternatives_as_next_steps() -> None:
    no = PriceDecided(cycle=1, choice=PriceChoice.REJECTED, by="ada")
    ending = endings.price_rejected([REJECTED], [no], [SPECIFIED])
    assert ending.reason == "The price ($7.20) was rejected by ada"
    assert ending.suggestion
    assert ending.next_steps == (
        "Smaller scope (at most $1.50): Only ISO dates.",
        "Phases: The parser first.",
        "To allow a higher price raise price.reject_over_usd, with `endstop policy edit`.",
    )
    assert ending.tried == (
        "Cycle 1, attempt 1 at a specification (Dates) was complete.",
        "Cycle 1: the price was $7.20; the policy said no.",
        "Cycle 1: rejected by ada.",
    )
    assert exit_code(ending) == 4


def test_where_nobody_was_asked_the_policy_rejected_the_price() -> None:
    ending = endings.price_rejected([price(1, None, PriceVerdict.ASK)])
    assert ending.reason == "The price (unknown) was rejected by the policy"


@pytest.mark.guarantee("G3")
def test_cycles_that_are_used_up_leave_all_that_was_tried() -> None:
    again = price(2, "6.00", PriceVerdict.REJECTED, PHASES)
    ending = endings.cycles_used_up(DEFAULT_POLICY, [REJECTED, again], [CHOSEN], [SPECIFIED])
    assert ending.reason == "No specification at an acceptable price in 2 cycles"
    assert ending.next_steps[0] == "Phases: The parser first."
    assert ending.tried == (
        "Cycle 1, attempt 1 at a specification (Dates) was complete.",
        "Cycle 1: the price was $7.20; the policy said no.",
        "Cycle 1: ada chose smaller scope.",
        "Cycle 2: the price was $6.00; the policy said no.",
    )
    assert endings.cycles_used_up(DEFAULT_POLICY, []).tried == ()


@pytest.mark.guarantee("G5")
def test_a_plan_that_is_too_large_belongs_in_several_sessions() -> None:
    ending = endings.plan_too_large(DEFAULT_POLICY, ["25 tasks"])
    assert ending.suggestion == "Break into multiple sessions"
    assert "20 tasks" in ending.reason
    assert ending.tried == ("25 tasks",)


def test_a_part_that_failed_says_how_and_which_model_to_change() -> None:
    ending = endings.failed("builder", "401 " + "x" * 9_000, ["round 1"])
    assert ending.reason.startswith("The builder failed: 401")
    assert len(ending.reason) < 1_100
    assert "models.builder" in " ".join(ending.next_steps)
    assert ending.tried == ("round 1",)
    assert "models." not in " ".join(endings.failed("session", "git is missing").next_steps)


def test_a_role_that_handed_in_nothing_is_named() -> None:
    ending = endings.nothing_handed_in("pricer")
    assert ending.reason == "The pricer handed in nothing"
    assert "models.pricer" in ending.next_steps[0]


@pytest.mark.guarantee("B7", "G6")
def test_a_session_that_is_stuck_says_what_stayed_open() -> None:
    rounds = [ended(1, "a", "b"), ended(2, "a", "b", "c"), ended(3, "a", "c", "d")]
    steps = endings.concluded_by(reason(StopRule.NO_PROGRESS), "run1", rounds).next_steps
    assert steps[1:3] == ("It stayed open: a.", "It stayed open: c.")
    for few, rule in ((rounds[:1], StopRule.NO_PROGRESS), (rounds, StopRule.TIME)):
        steps = endings.concluded_by(reason(rule), "run1", few).next_steps
        assert not any("stayed open:" in step for step in steps)


def test_every_key_that_is_named_exists() -> None:
    said = [
        *endings.price_rejected([REJECTED]).next_steps,
        *endings.cycles_used_up(DEFAULT_POLICY, []).next_steps,
        *endings.plan_too_large(DEFAULT_POLICY).next_steps,
        *endings.failed("builder", "x").next_steps,
        *endings.nothing_handed_in("critic").next_steps,
    ]
    named = {
        word.strip(",.:;")
        for step in said
        for word in step.split()
        if word.startswith(("price.", "plan.", "models.", "session.", "interview."))
    }
    assert named
    assert named <= set(POLICY_KEYS)
