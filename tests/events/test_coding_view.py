"""A coding session as its record tells it: where it stands, what it asks, what each round brought."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import TypeVar

import pytest
from coding_examples import CODING, PHASES
from hypothesis import given
from hypothesis import strategies as st
from payload_examples import EXAMPLES, OUT_OF_TIME
from recorded_runs import a_fact, recorded

from endstop.errors import FactOrderError
from endstop.events import coding
from endstop.events.coding_standing import (
    Asked,
    AskedFor,
    Phase,
    PriceRules,
    RoundView,
    SessionView,
    Step,
    StepStanding,
)
from endstop.events.coding_view import rounds_table, session_view, similarity
from endstop.events.facts import Fact, Payload, RunStarted, UserAwaited
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget
from endstop.kernel.observation import CallSettled, RunEnded, ScopeOpened, UserSaid
from endstop.kernel.outcome import Abandoned, Completed, Ending, Stopped

_Kind = TypeVar("_Kind")

STARTED = RunStarted(config=AgentConfig(), agent="coding", question="Add a login.")


def opens(scope: str) -> ScopeOpened:
    return ScopeOpened(at_s=1.0, scope=scope, budget=Budget(turns=8))


ROUND_OPENS = opens("builder 1")


def example(kind: type[_Kind], name: str) -> _Kind:
    payload = CODING[name]
    assert isinstance(payload, kind)
    return payload


OPENED = example(coding.SessionOpened, "coding.opened")
INTERVIEWED = example(coding.Interviewed, "coding.interviewed")
INCOMPLETE = example(coding.SpecificationGiven, "coding.specified, incomplete")
SPECIFIED = example(coding.SpecificationGiven, "coding.specified")
PRICED = example(coding.PriceGiven, "coding.priced")
APPROVED = example(coding.PriceDecided, "coding.price_decided approved")
PLANNED = example(coding.PlanGiven, "coding.planned")
FAILING = example(coding.TestsRun, "coding.tested, failing")
JUDGED = example(coding.CriteriaJudged, "coding.judged")
CRITICISED = example(coding.IssuesFound, "coding.criticised, critically")
SIMPLIFIED = example(coding.SimplifyingEnded, "coding.simplified")
ROUND_1 = example(coding.RoundEnded, "coding.round_ended")
ROUND_2 = example(coding.RoundEnded, "coding.round_ended, cost unknown")
SUCCEEDED = example(coding.SessionConcluded, "coding.concluded")
TIMED_OUT = example(coding.SessionConcluded, "coding.concluded at a limit")
ABANDONED = coding.SessionConcluded(kind="abandoned")

TOO_MUCH = replace(
    PRICED, price_usd=Decimal("6.20"), verdict=coding.PriceVerdict.REJECTED, alternatives=(PHASES,)
)
REJECTED = replace(APPROVED, choice=coding.PriceChoice.REJECTED, by="ana")
OTHERWISE = replace(APPROVED, choice=coding.PriceChoice.ALTERNATIVE, by="ana", alternative=PHASES)

SPECIFYING = (OPENED, INTERVIEWED)
PRICING = (*SPECIFYING, SPECIFIED, PRICED)
BUILDING = (*PRICING, APPROVED, PLANNED)


def facts_of(payloads: Iterable[Payload]) -> tuple[Fact, ...]:
    return tuple(a_fact(payload, seq=seq) for seq, payload in enumerate((STARTED, *payloads)))


def viewed(*payloads: Payload) -> SessionView:
    return session_view(facts_of(payloads))


def only_round(*payloads: Payload) -> RoundView:
    (view,) = viewed(*BUILDING, *payloads).rounds
    return view


def ended(outcome: Ending) -> RunEnded:
    return RunEnded(at_s=9.0, outcome=outcome)


@pytest.mark.guarantee("G8")
def test_a_session_says_what_is_to_be_done_and_where() -> None:
    view = viewed(OPENED)
    assert (view.run_id, view.intent) == ("run_example", "Add a login.")
    assert (view.repository, view.base, view.branch) == (OPENED.repository, OPENED.base, OPENED.branch)
    assert (view.worktree, view.test_command) == (OPENED.worktree, OPENED.test_command)
    assert (view.confinement, view.concerns) == (OPENED.confinement, OPENED.concerns)
    assert view.asks_user


def test_a_session_that_has_only_just_begun_is_shown_with_nothing() -> None:
    view = viewed()
    assert (view.repository, view.attempts, view.prices, view.rounds) == ("", (), (), ())
    assert view.phase is Phase.SPECIFY


@pytest.mark.parametrize("facts", [(), facts_of([OPENED])[1:]])
def test_a_record_without_its_beginning_is_refused(facts: tuple[Fact, ...]) -> None:
    with pytest.raises(FactOrderError, match=r"run\.started"):
        session_view(facts)


def test_a_run_that_is_no_coding_session_can_be_looked_at_all_the_same() -> None:
    view = session_view(recorded("finished"))
    assert (view.intent, view.phase, view.rounds) == ("Where is login?", Phase.CONCLUDED, ())


WAITING, RUNNING = StepStanding.WAITING, StepStanding.RUNNING
DONE, FAILED = StepStanding.DONE, StepStanding.FAILED

STANDINGS: dict[str, tuple[tuple[Payload, ...], Phase, tuple[StepStanding, ...]]] = {
    "opened": ((OPENED,), Phase.INTERVIEW, (RUNNING, WAITING, WAITING, WAITING)),
    "interviewed": (SPECIFYING, Phase.SPECIFY, (DONE, RUNNING, WAITING, WAITING)),
    "specified in part": ((*SPECIFYING, INCOMPLETE), Phase.SPECIFY, (DONE, RUNNING, WAITING, WAITING)),
    "specified": ((*SPECIFYING, SPECIFIED), Phase.PRICE, (DONE, DONE, RUNNING, WAITING)),
    "priced": (PRICING, Phase.PRICE, (DONE, DONE, RUNNING, WAITING)),
    "an alternative chosen": ((*PRICING, OTHERWISE), Phase.SPECIFY, (DONE, RUNNING, WAITING, WAITING)),
    "price rejected": ((*PRICING, REJECTED), Phase.PRICE, (DONE, DONE, RUNNING, WAITING)),
    "price approved": ((*PRICING, APPROVED), Phase.BUILD, (DONE, DONE, DONE, RUNNING)),
    "planned": (BUILDING, Phase.BUILD, (DONE, DONE, DONE, RUNNING)),
    "tested": ((*PRICING, FAILING), Phase.BUILD, (DONE, DONE, DONE, RUNNING)),
    "done": ((*BUILDING, ROUND_1, SUCCEEDED), Phase.CONCLUDED, (DONE, DONE, DONE, DONE)),
    "done, with warnings": (
        (*BUILDING, ROUND_1, replace(SUCCEEDED, kind="succeeded_with_warnings")),
        Phase.CONCLUDED,
        (DONE, DONE, DONE, DONE),
    ),
    "never specified": (
        (*SPECIFYING, INCOMPLETE, ABANDONED),
        Phase.CONCLUDED,
        (DONE, FAILED, WAITING, WAITING),
    ),
    "never priced": ((*PRICING, REJECTED, ABANDONED), Phase.CONCLUDED, (DONE, DONE, FAILED, WAITING)),
    "out of time": ((*BUILDING, ROUND_1, TIMED_OUT), Phase.CONCLUDED, (DONE, DONE, DONE, FAILED)),
    "ended without a conclusion": (
        (*BUILDING, ended(Stopped(reason=OUT_OF_TIME))),
        Phase.CONCLUDED,
        (DONE, DONE, DONE, FAILED),
    ),
    "completed without a conclusion": (
        (*BUILDING, ended(Completed(answer=""))),
        Phase.CONCLUDED,
        (DONE, DONE, DONE, DONE),
    ),
}


@pytest.mark.guarantee("G7", "I5")
@pytest.mark.parametrize("name", STANDINGS)
def test_a_session_stands_at_one_step_and_the_steps_say_how_far_they_are(name: str) -> None:
    payloads, phase, standings = STANDINGS[name]
    view = viewed(*payloads)
    assert view.phase is phase
    assert [step.name for step in view.steps] == [Phase.INTERVIEW, Phase.SPECIFY, Phase.PRICE, Phase.BUILD]
    assert tuple(step.standing for step in view.steps) == standings


@pytest.mark.parametrize(
    ("opened", "begins_with"),
    [
        (OPENED, Phase.INTERVIEW),
        (replace(OPENED, policy="{}"), Phase.INTERVIEW),
        (replace(OPENED, asks_user=False), Phase.SPECIFY),
        (replace(OPENED, policy='{"interview":{"is_on":false}}'), Phase.SPECIFY),
    ],
)
def test_the_interview_is_a_step_only_where_one_is_held(
    opened: coding.SessionOpened, begins_with: Phase
) -> None:
    assert viewed(opened).steps[0] == Step(name=begins_with, standing=RUNNING)


def test_a_session_is_opened_once() -> None:
    view = viewed(*BUILDING, replace(OPENED, branch="other", asks_user=False))
    assert (view.branch, view.phase) == (OPENED.branch, Phase.BUILD)


@pytest.mark.guarantee("G1")
def test_attempts_at_a_specification_are_kept_in_order_with_what_they_lack() -> None:
    assert viewed(*SPECIFYING, INCOMPLETE, SPECIFIED).attempts == (INCOMPLETE, SPECIFIED)


@pytest.mark.guarantee("G1")
@pytest.mark.parametrize(
    ("payloads", "holds"),
    [
        ((INCOMPLETE,), None),
        ((INCOMPLETE, SPECIFIED), SPECIFIED.specification),
        ((SPECIFIED, TOO_MUCH, OTHERWISE), None),
        ((SPECIFIED, TOO_MUCH, OTHERWISE, replace(INCOMPLETE, cycle=2)), None),
        ((SPECIFIED, TOO_MUCH, REJECTED), SPECIFIED.specification),
    ],
)
def test_the_specification_that_holds_is_complete_and_not_given_up(
    payloads: tuple[Payload, ...], holds: coding.Specification | None
) -> None:
    assert viewed(*SPECIFYING, *payloads).specification == holds


@pytest.mark.guarantee("G2", "G3")
def test_each_price_stands_with_its_own_decision() -> None:
    second, decided = replace(PRICED, cycle=2), replace(APPROVED, cycle=2)
    view = viewed(*SPECIFYING, SPECIFIED, TOO_MUCH, OTHERWISE, second, decided)
    assert [(each.price, each.decision) for each in view.prices] == [(TOO_MUCH, OTHERWISE), (second, decided)]


def test_a_decision_about_a_price_that_nobody_named_makes_no_price() -> None:
    assert viewed(OPENED, APPROVED).prices == ()


@pytest.mark.guarantee("G2")
@pytest.mark.parametrize("price", [PRICED, TOO_MUCH])
def test_a_price_is_open_until_it_is_decided(price: coding.PriceGiven) -> None:
    assert viewed(*SPECIFYING, SPECIFIED, price).open_price == price
    assert viewed(*SPECIFYING, SPECIFIED, price, APPROVED).open_price is None


@pytest.mark.guarantee("G2")
@pytest.mark.parametrize(
    "payloads",
    [
        SPECIFYING,
        (*SPECIFYING, SPECIFIED, replace(PRICED, verdict=coding.PriceVerdict.APPROVED)),
        (*PRICING, PLANNED),
        (*PRICING, ABANDONED),
    ],
)
def test_no_price_is_open_where_nobody_is_asked(payloads: tuple[Payload, ...]) -> None:
    assert viewed(*payloads).open_price is None


@pytest.mark.guarantee("D7", "G2")
@pytest.mark.parametrize(
    ("payloads", "kind"),
    [((OPENED,), AskedFor.INTERVIEW), (PRICING, AskedFor.PRICE), (BUILDING, None), (SPECIFYING, None)],
)
def test_what_the_user_is_asked_says_what_the_answer_decides(
    payloads: tuple[Payload, ...], kind: AskedFor | None
) -> None:
    view = viewed(*payloads, UserAwaited(turn=0, question="Well?"))
    assert view.asked == Asked(question="Well?", kind=kind)


@pytest.mark.guarantee("G2")
def test_who_is_asked_about_a_price_again_is_told_which_answer_was_not_understood() -> None:
    asked = UserAwaited(turn=0, question="Well?")
    maybe, long = (UserSaid(at_s=1.0, text=text) for text in ("maybe", "perhaps " * 100))
    again = viewed(*PRICING, asked, maybe, asked)
    assert again.asked == Asked(question="Well?", kind=AskedFor.PRICE, not_understood="'maybe'")
    once_more = viewed(*PRICING, asked, maybe, asked, long, asked).asked
    assert once_more is not None
    assert once_more.not_understood is not None
    assert once_more.not_understood.startswith("'perhaps perhaps")
    assert len(once_more.not_understood) <= 80


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((OPENED,), ()),
        ((OPENED,), (INTERVIEWED, SPECIFIED, PRICED)),
        (PRICING, (OTHERWISE, SPECIFIED, replace(PRICED, cycle=2))),
        (BUILDING, ()),
    ],
    ids=["in the interview", "in the interview, then a price", "another price", "by an agent"],
)
def test_what_was_answered_to_something_else_is_not_told(
    before: tuple[Payload, ...], after: tuple[Payload, ...]
) -> None:
    asked, said = UserAwaited(turn=0, question="Well?"), UserSaid(at_s=1.0, text="2")
    view = viewed(*before, asked, said, *after, asked)
    assert view.asked is not None
    assert view.asked.not_understood is None


@pytest.mark.guarantee("G2")
def test_what_the_policy_says_to_prices_is_known() -> None:
    policy = '{"price":{"auto_proceed_under_usd":"1","reject_over_usd":"5.50"}}'
    assert viewed(replace(OPENED, policy=policy)).price_rules == PriceRules(
        auto_proceed_under_usd=Decimal("1"), reject_over_usd=Decimal("5.50")
    )


@pytest.mark.parametrize(
    "section",
    [
        "3",
        "{}",
        '{"auto_proceed_under_usd":"1"}',
        '{"auto_proceed_under_usd":"1","reject_over_usd":5}',
        '{"auto_proceed_under_usd":"some","reject_over_usd":"5"}',
        '{"auto_proceed_under_usd":"1","reject_over_usd":"Infinity"}',
    ],
)
def test_without_a_policy_that_can_be_read_nobody_knows_what_it_says_to_prices(section: str) -> None:
    assert viewed(replace(OPENED, policy=f'{{"price":{section}}}')).price_rules is None


@pytest.mark.guarantee("D7")
@pytest.mark.parametrize(
    ("payloads", "then"),
    [
        ((OPENED,), UserSaid(at_s=2.0, text="Yes.")),
        ((OPENED,), INTERVIEWED),
        (PRICING, APPROVED),
        (PRICING, ABANDONED),
        (PRICING, ended(Abandoned(reason="Enough."))),
    ],
)
def test_nothing_is_asked_any_more_after_an_answer_or_the_end(
    payloads: tuple[Payload, ...], then: Payload
) -> None:
    assert viewed(*payloads, UserAwaited(turn=0, question="Well?"), then).asked is None


def test_the_brief_and_the_plan_are_shown() -> None:
    view = viewed(*BUILDING)
    assert (view.brief, view.plan) == (INTERVIEWED.brief, PLANNED.tasks)


@pytest.mark.guarantee("G4")
def test_a_round_begins_with_its_builder() -> None:
    assert viewed(*BUILDING).rounds == ()
    begun = only_round(ROUND_OPENS)
    assert (begun.number, begun.rounds_at_most, begun.is_under_way) == (1, 3, True)
    assert (begun.commit, begun.files, begun.added, begun.removed) == (None, None, None, None)
    assert (begun.open_issues, begun.failing_tests, begun.summary) == ((), None, "")


@pytest.mark.guarantee("G4")
@pytest.mark.parametrize(
    "scope",
    ["reviewer review:4", "tester 2", "builder", "builder x", "builder 2.1", f"builder {'9' * 5_000}"],
)
def test_no_round_begins_with_another_part(scope: str) -> None:
    assert only_round(ROUND_OPENS, ROUND_1, opens(scope)).number == 1


@pytest.mark.guarantee("G4")
def test_the_next_round_begins_with_the_next_builder() -> None:
    rounds = viewed(*BUILDING, ROUND_OPENS, ROUND_1, opens("builder 2")).rounds
    assert [(each.number, each.is_under_way) for each in rounds] == [(1, False), (2, True)]


@pytest.mark.parametrize(
    "policy", ["", "no JSON", "[" * 100_000, "[]", '{"build":3}', '{"build":{"rounds":"3"}}']
)
def test_without_a_policy_that_can_be_read_nobody_knows_how_many_rounds_there_may_be(policy: str) -> None:
    view = viewed(replace(OPENED, policy=policy), PLANNED, ROUND_1)
    assert view.rounds_at_most is None
    assert [each.rounds_at_most for each in view.rounds] == [None]


@pytest.mark.guarantee("G4", "G5")
def test_a_round_under_way_shows_what_is_known_of_it() -> None:
    view = only_round(ROUND_OPENS, FAILING, JUDGED, CRITICISED, replace(SIMPLIFIED, round=1))
    assert (view.tests, view.criteria) == ((FAILING,), JUDGED.criteria)
    assert (view.issues, view.left_out) == (CRITICISED.issues, 3)
    assert view.passes == (replace(SIMPLIFIED, round=1),)
    assert (view.failing_tests, view.commit, view.is_under_way) == (1, None, True)


@pytest.mark.guarantee("G8")
def test_a_round_that_has_ended_shows_its_commit_and_its_figures() -> None:
    view = only_round(ROUND_OPENS, FAILING, ROUND_1)
    assert (view.commit, view.files, view.added, view.removed) == (ROUND_1.commit, 3, 1_120, 4)
    assert (view.open_issues, view.failing_tests) == (ROUND_1.open_issues, 1)
    assert (view.summary, view.cost_usd) == (ROUND_1.summary, Decimal("0.125"))
    assert not view.is_under_way


def test_a_round_that_was_cut_short_is_not_under_way() -> None:
    assert not only_round(ROUND_OPENS, FAILING, TIMED_OUT).is_under_way


def test_only_the_last_round_is_under_way() -> None:
    rounds = viewed(*BUILDING, FAILING, replace(FAILING, round=2)).rounds
    assert [each.is_under_way for each in rounds] == [False, True]


def paid(cost: str | None, *, model_calls: int = 1, tokens: int = 10) -> CallSettled:
    return CallSettled(
        at_s=1.0,
        scope="builder",
        turn=0,
        reservation="call:0",
        model_calls=model_calls,
        input_tokens=tokens,
        cost_usd=None if cost is None else Decimal(cost),
    )


NO_CALL = paid(None, model_calls=0, tokens=0)
COSTS: list[tuple[tuple[Payload, ...], str | None]] = [
    ((), "0"),
    ((paid("0.10"), paid("0.02")), "0.12"),
    ((paid("0.10"), NO_CALL), "0.10"),
    ((paid("0.10"), paid(None), paid("0.02")), None),
]


@pytest.mark.guarantee("A10")
@pytest.mark.parametrize(("calls", "cost"), COSTS)
def test_a_round_under_way_costs_what_was_paid_since_it_began(
    calls: tuple[Payload, ...], cost: str | None
) -> None:
    view = viewed(paid("5"), *BUILDING, paid("5"), ROUND_OPENS, *calls)
    assert view.rounds[-1].cost_usd == (None if cost is None else Decimal(cost))


def test_what_is_paid_after_a_round_is_not_its_own() -> None:
    view = viewed(*BUILDING, ROUND_OPENS, paid("0.10"), ROUND_1, paid("5"))
    assert view.rounds[-1].cost_usd == ROUND_1.cost_usd


SIMILARITIES: list[tuple[tuple[str, ...], tuple[str, ...], float | None]] = [
    ((), (), None),
    (("a",), (), 0.0),
    ((), ("a",), 0.0),
    (("a", "b"), ("b", "a"), 1.0),
    (("a", "b"), ("b", "c"), 1 / 3),
    (("a", "b"), ("b",), 0.5),
    (("The  Login fails",), ("the login\nfails ",), 1.0),
    (("a", "a"), ("a",), 1.0),
]


@pytest.mark.guarantee("B7")
@pytest.mark.parametrize(("before", "after", "expected"), SIMILARITIES)
def test_rounds_are_as_similar_as_the_issues_they_share(
    before: tuple[str, ...], after: tuple[str, ...], expected: float | None
) -> None:
    assert similarity(before, after) == expected


@pytest.mark.guarantee("B7")
@given(st.lists(st.text(max_size=5)), st.lists(st.text(max_size=5)))
def test_similarity_is_between_none_and_all_and_the_same_both_ways(
    before: list[str], after: list[str]
) -> None:
    forth = similarity(before, after)
    assert forth == similarity(after, before)
    assert forth is None or 0.0 <= forth <= 1.0
    assert similarity(before, before) == (1.0 if before else None)


@pytest.mark.guarantee("B7")
def test_a_round_is_compared_with_the_one_before_when_both_have_ended() -> None:
    rounds = viewed(*BUILDING, ROUND_1, ROUND_2, opens("builder 3")).rounds
    assert [each.similarity for each in rounds] == [None, 0.5, None]


def test_a_round_after_one_that_never_ended_is_compared_with_nothing() -> None:
    rounds = viewed(*BUILDING, FAILING, ROUND_2).rounds
    assert [each.similarity for each in rounds] == [None, None]


@pytest.mark.guarantee("B7", "G7")
def test_the_table_of_rounds_shows_whether_they_come_nearer_to_the_end() -> None:
    third = replace(ROUND_2, round=3, open_issues=(), added=9, removed=12_000, cost_usd=Decimal("1.5"))
    assert rounds_table((ROUND_1, ROUND_2, third)) == (
        "round       lines  failing tests  open issues  same as before     cost   commit",
        "    1   +1,120 -4              1            2               -   $0.125  0a1b2c3",
        "    2      +96 -4              0            1             50%  unknown  1b2c3d4",
        "    3  +9 -12,000              0            0              0%    $1.50  1b2c3d4",
    )


def test_without_rounds_there_is_no_table() -> None:
    assert rounds_table(()) == ()


@pytest.mark.guarantee("G9")
def test_a_session_that_is_over_shows_its_conclusion_and_its_outcome() -> None:
    outcome = Completed(answer="Done.")
    view = viewed(*BUILDING, ROUND_1, SUCCEEDED, ended(outcome))
    assert (view.conclusion, view.outcome) == (SUCCEEDED, outcome)


@pytest.mark.guarantee("G8")
@pytest.mark.parametrize(
    ("payloads", "commit"),
    [
        ((), None),
        ((ROUND_1, ROUND_2), ROUND_2.commit),
        ((ROUND_1, SUCCEEDED), SUCCEEDED.checkpoint),
        ((ROUND_1, ABANDONED), ROUND_1.commit),
        ((ABANDONED,), None),
    ],
)
def test_the_work_is_saved_in_the_commit_of_the_conclusion_or_of_the_last_round(
    payloads: tuple[Payload, ...], commit: str | None
) -> None:
    assert viewed(*BUILDING, *payloads).saved_at == commit


def test_a_record_of_any_length_is_shown_in_bounds() -> None:
    endless = [
        payload
        for number in range(1, 301)
        for payload in (
            replace(SPECIFIED, attempt=number),
            replace(PRICED, cycle=number),
            replace(FAILING, round=number),
            FAILING,
            replace(SIMPLIFIED, round=300),
        )
    ]
    view = viewed(replace(OPENED, policy=""), *endless)
    assert (len(view.attempts), len(view.prices), len(view.rounds)) == (100, 100, 100)
    assert view.attempts[-1].attempt == 300
    assert all(len(each.tests) <= 100 and len(each.passes) <= 100 for each in view.rounds)


@pytest.mark.guarantee("H1")
@given(st.lists(st.sampled_from(list(EXAMPLES.values()))))
def test_any_record_can_be_viewed_and_stands_at_one_step_at_most(payloads: list[Payload]) -> None:
    view = viewed(*payloads)
    here = [step for step in view.steps if step.standing in (RUNNING, FAILED)]
    assert len(here) <= 1
    assert not any(each.is_under_way for each in view.rounds[:-1])
    if view.phase is Phase.CONCLUDED:
        assert not any(each.is_under_way for each in view.rounds)
        assert view.asked is None
        assert view.open_price is None
    else:
        assert [step.name for step in here] == [view.phase]
