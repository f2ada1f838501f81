"""The beginning of a session: interview, specification, price, in all their branches (G1, G2, G3, D7)."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from cast_words import Cast, Session, kind_of, of, prices, require_kept_promises, specifies, with_roles, write

from endstop.coding.policy import Policy
from endstop.coding.policy_rules import InterviewRules, PriceRules
from endstop.coding.specifying import REPHRASE, TOO_AMBIGUOUS
from endstop.errors import PriceUnknownError
from endstop.events.coding import (
    AlternativeKind,
    Interviewed,
    PriceChoice,
    PriceDecided,
    PriceGiven,
    RoundEnded,
    SpecificationGiven,
)
from endstop.kernel.observation import CallSettled
from endstop.kernel.outcome import Abandoned, AwaitingUser
from endstop.ports import Store
from endstop.runner import Run
from endstop.testing import calls

DEAR: dict[str, Any] = {
    "input_tokens": 8_000_000,
    "smaller_scope": {"what": "Only whole numbers.", "input_tokens": 100_000, "output_tokens": 10_000},
    "simpler_approach": {"what": "Rewrite all.", "input_tokens": 7_000_000, "output_tokens": 0},
}
"""Twelve dollars; the smaller scope is cheap, the simpler approach is not."""
MIDDLING = {"input_tokens": 2_000_000, "output_tokens": 0}
"""Three dollars: the user is asked."""


# ── interview ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.thorough
async def test_the_user_is_interviewed_and_the_brief_reaches_the_specifier(
    tmp_path: Path, store: Store
) -> None:
    session = Session(
        tmp_path,
        store,
        with_roles(
            interviewer=[
                calls("await_user", message="What shall it be called?"),
                calls("submit_brief", brief="It is called double."),
            ]
        ),
        asks_user=True,
    )
    asked = await session.run()
    assert asked.outcome == AwaitingUser(question="What shall it be called?")
    run = await session.resume(asked, answer="Call it double.")
    assert require_kept_promises(session, run) == "succeeded"
    assert "Call it double." in session.model.heard["interviewer"]
    assert "It is called double." in session.model.heard["specifier 1"]
    assert [note.brief for note in of(run, Interviewed)] == ["It is called double."]


@pytest.mark.thorough
@pytest.mark.guarantee("D7")
async def test_an_interview_that_told_the_user_ends_validly_at_its_hard_limit_with_what_was_said(
    tmp_path: Path, store: Store
) -> None:
    session = Session(
        tmp_path,
        store,
        with_roles(
            interviewer=[
                calls("await_user", message=f"And the {which} thing?") for which in ("first", "next")
            ]
        ),
        policy=Policy(interview=InterviewRules(soft=1, hard=2)),
        asks_user=True,
    )
    run = await session.run()
    answers = iter(("Numbers.", "Only whole ones."))
    while isinstance(run.outcome, AwaitingUser):
        run = await session.resume(run, answer=next(answers))
    assert require_kept_promises(session, run) == "succeeded"
    assert session.model.asked.count("interviewer") == 2
    assert "Asked: And the first thing?\nAnswered: Numbers." in session.model.heard["specifier 1"]


@pytest.mark.guarantee("D7")
async def test_an_interview_that_never_told_the_user_is_an_error_that_says_so(
    tmp_path: Path, store: Store
) -> None:
    session = Session(
        tmp_path,
        store,
        with_roles(interviewer=[calls("search_code", query=word) for word in "abcd"]),
        policy=Policy(interview=InterviewRules(soft=1, hard=3)),
        asks_user=True,
    )
    run = await session.run()
    assert require_kept_promises(session, run) == "abandoned"
    assert isinstance(run.outcome, Abandoned)
    assert "iteration limit (3) exceeded" in run.outcome.reason
    assert "never told the user where it stands" in run.outcome.reason


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("asks_user", "is_on"), [(False, True), (True, False)], ids=["nobody there", "switched off"]
)
async def test_nobody_is_interviewed_who_is_not_there_or_does_not_want_it(
    asks_user: bool, is_on: bool, tmp_path: Path, store: Store
) -> None:
    session = Session(
        tmp_path, store, policy=Policy(interview=InterviewRules(is_on=is_on)), asks_user=asks_user
    )
    run = await session.run()
    assert kind_of(run) == "succeeded"
    assert "interviewer" not in session.model.asked
    assert of(run, Interviewed) == []


# ── specify ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.thorough
@pytest.mark.guarantee("G1")
@pytest.mark.parametrize("good", [1, 2, 3])
async def test_a_specification_may_be_complete_at_any_attempt_each_told_what_the_last_one_lacked(
    good: int, tmp_path: Path, store: Store
) -> None:
    incomplete = {f"specifier_{number}": [specifies(success_criteria=[])] for number in range(1, good)}
    session = Session(tmp_path, store, with_roles(**incomplete))
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded"
    lacking = [given.lacking for given in of(run, SpecificationGiven)]
    assert lacking == [("success criteria",)] * (good - 1) + [()]
    for number in range(2, good + 1):
        assert "The last attempt lacked: success criteria." in session.model.heard[f"specifier {number}"]


@pytest.mark.guarantee("G1", "G7")
async def test_after_three_incomplete_specifications_the_session_is_abandoned_in_these_words(
    tmp_path: Path, store: Store
) -> None:
    vague = calls("submit_specification", title="Something")
    session = Session(tmp_path, store, with_roles(specifier=[vague]))
    run = await session.run()
    assert require_kept_promises(session, run) == "abandoned"
    assert isinstance(run.outcome, Abandoned)
    assert run.outcome.reason == "Intent too ambiguous or context insufficient" == TOO_AMBIGUOUS
    assert run.outcome.suggestion == "Rephrase your request more specifically" == REPHRASE
    assert len(run.outcome.tried) == 3
    assert run.outcome.next_steps
    assert session.model.asked == ["specifier 1", "specifier 2", "specifier 3"]


# ── price ─────────────────────────────────────────────────────────────────────────────────────────────────


async def priced(home: Path, store: Store, *replies: Any, **options: Any) -> tuple[Session, Run]:
    """A session with a pricer that says this, and how far it comes by itself."""
    interview = InterviewRules(is_on=False)
    options = {"asks_user": True, "yes_under_usd": None, "policy": Policy(interview=interview), **options}
    session = Session(home, store, with_roles(pricer=replies), **options)
    return session, await session.run()


def decisions(run: Run) -> list[tuple[PriceChoice, str]]:
    return [(decided.choice, decided.by) for decided in of(run, PriceDecided)]


@pytest.mark.thorough
@pytest.mark.guarantee("G2")
async def test_a_price_under_the_threshold_is_approved_without_asking(tmp_path: Path, store: Store) -> None:
    session, run = await priced(tmp_path, store, prices())
    assert require_kept_promises(session, run) == "succeeded"
    assert decisions(run) == [(PriceChoice.APPROVED, "policy")]


@pytest.mark.thorough
@pytest.mark.guarantee("G2")
async def test_a_price_up_to_what_the_user_said_yes_to_before_is_approved(
    tmp_path: Path, store: Store
) -> None:
    session, run = await priced(tmp_path, store, prices(**MIDDLING), yes_under_usd=Decimal(3))
    assert require_kept_promises(session, run) == "succeeded"
    assert [price.price_usd for price in of(run, PriceGiven)] == [Decimal(3)]


@pytest.mark.thorough
@pytest.mark.guarantee("G2")
async def test_between_the_thresholds_the_user_is_asked_and_may_approve(tmp_path: Path, store: Store) -> None:
    session, asked = await priced(tmp_path, store, prices(**MIDDLING))
    assert isinstance(asked.outcome, AwaitingUser)
    assert asked.outcome.question.startswith("At most $3.00 for: Add double.")
    run = await session.resume(asked, answer="yes")
    assert require_kept_promises(session, run) == "succeeded"
    assert decisions(run) == [(PriceChoice.APPROVED, "user")]
    assert session.model.asked.count("pricer 1") == 1


@pytest.mark.thorough
async def test_an_answer_that_is_not_understood_is_asked_for_again(tmp_path: Path, store: Store) -> None:
    session, asked = await priced(tmp_path, store, prices(**MIDDLING))
    again = await session.resume(asked, answer="Hm, what about the weather?")
    assert isinstance(again.outcome, AwaitingUser)
    assert again.outcome.question.startswith("That was not understood: 'Hm, what about the weather?'")
    run = await session.resume(again, answer="Go ahead!")
    assert require_kept_promises(session, run) == "succeeded"


@pytest.mark.guarantee("G2")
async def test_a_price_over_the_threshold_is_rejected_where_no_user_is_there(
    tmp_path: Path, store: Store
) -> None:
    session, run = await priced(tmp_path, store, prices(**DEAR), asks_user=False)
    assert require_kept_promises(session, run) == "abandoned"
    assert decisions(run) == [(PriceChoice.REJECTED, "policy")]
    (price,) = of(run, PriceGiven)
    assert [one.kind for one in price.alternatives] == [AlternativeKind.SMALLER_SCOPE, AlternativeKind.PHASES]
    assert isinstance(run.outcome, Abandoned)
    assert run.outcome.reason == "The price ($12.06) was rejected by policy"
    assert run.outcome.next_steps[0] == "Smaller scope (at most $0.18): Only whole numbers."


@pytest.mark.guarantee("G2")
async def test_the_user_may_reject_the_price_and_all_alternatives(tmp_path: Path, store: Store) -> None:
    session, asked = await priced(tmp_path, store, prices(**DEAR))
    assert isinstance(asked.outcome, AwaitingUser)
    assert "1. Smaller scope (at most $0.18): Only whole numbers." in asked.outcome.question
    run = await session.resume(asked, answer="none of them")
    assert require_kept_promises(session, run) == "abandoned"
    assert decisions(run) == [(PriceChoice.REJECTED, "user")]
    assert isinstance(run.outcome, Abandoned)
    assert run.outcome.next_steps
    assert run.outcome.tried


@pytest.mark.guarantee("G2", "G3")
async def test_an_alternative_is_specified_and_priced_again_and_then_built(
    tmp_path: Path, store: Store
) -> None:
    session = Session(
        tmp_path,
        store,
        with_roles(pricer=[prices(**DEAR)], pricer_2=[prices()]),
        policy=Policy(interview=InterviewRules(is_on=False)),
        asks_user=True,
        yes_under_usd=None,
    )
    asked = await session.run()
    run = await session.resume(asked, answer="1")
    assert require_kept_promises(session, run) == "succeeded"
    assert [given.cycle for given in of(run, SpecificationGiven)] == [1, 2]
    assert "Only whole numbers." in session.model.heard["specifier 1"]
    assert [one[0] for one in decisions(run)] == [PriceChoice.ALTERNATIVE, PriceChoice.APPROVED]


@pytest.mark.guarantee("G3")
async def test_after_two_cycles_the_session_is_abandoned_with_all_that_was_tried(
    tmp_path: Path, store: Store
) -> None:
    session, run = await priced(tmp_path, store, prices(**DEAR))
    asked = 0
    while isinstance(run.outcome, AwaitingUser):
        asked += 1
        run = await session.resume(run, answer="phases")
    assert require_kept_promises(session, run) == "abandoned"
    assert asked == 2
    assert isinstance(run.outcome, Abandoned)
    assert run.outcome.reason == "No specification at an acceptable price in 2 cycles"
    assert len(run.outcome.tried) == 6
    assert run.outcome.tried[-1] == "Cycle 2: user chose phases."


@pytest.mark.thorough
@pytest.mark.guarantee("G2", "A10")
@pytest.mark.parametrize(("answer", "kind"), [("no", "abandoned"), ("yes", "succeeded")])
async def test_an_unknown_price_is_asked_about_and_never_taken_for_nothing(
    answer: str, kind: str, tmp_path: Path, store: Store
) -> None:
    unknown = Cast(price=None)
    session, asked = await priced(
        tmp_path, store, prices(), models={"builder": unknown}, limits={"unknown_price": "warn"}
    )
    assert isinstance(asked.outcome, AwaitingUser)
    assert asked.outcome.question.startswith("An unknown price for: Add double.")
    assert "Nobody knows what test:cast costs." in asked.outcome.question
    run = await session.resume(asked, answer=answer)
    assert require_kept_promises(session, run) == kind
    assert of(run, PriceGiven)[0].price_usd is None
    assert [ended.cost_usd for ended in of(run, RoundEnded)] == ([None] if answer == "yes" else [])


@pytest.mark.guarantee("A10")
async def test_a_role_whose_model_has_no_price_is_refused_under_a_cost_limit_before_anything_begins(
    tmp_path: Path, store: Store
) -> None:
    session = Session(tmp_path, store, models={"builder": Cast(price=None)})
    with pytest.raises(PriceUnknownError, match=r"test:builder costs.*models\.builder"):
        await session.run()
    assert session.model.asked == []
    assert await store.runs() == []


@pytest.mark.guarantee("G7")
async def test_a_pricer_that_hands_in_nothing_is_named(tmp_path: Path, store: Store) -> None:
    session, run = await priced(tmp_path, store, "I would rather talk.")
    assert require_kept_promises(session, run) == "abandoned"
    assert isinstance(run.outcome, Abandoned)
    assert run.outcome.reason == "The pricer handed in nothing"


@pytest.mark.guarantee("G2", "A7", "G6")
@pytest.mark.parametrize(
    ("tokens", "kind"), [(6_500, "budget_exhausted"), (3_000, "token_limit")], ids=["money", "tokens"]
)
async def test_the_approved_price_is_the_budget_of_the_build(
    tokens: int, kind: str, tmp_path: Path, store: Store
) -> None:
    session = Session(
        tmp_path,
        store,
        with_roles(
            pricer=[prices(input_tokens=tokens, output_tokens=0)],
            builder=lambda request: [write(f"new_{len(request.messages)}.py", "")],
        ),
    )
    run = await session.run()
    assert require_kept_promises(session, run) == kind
    (price,) = of(run, PriceGiven)
    assert price.price_usd == Decimal("0.01")
    used = [one for one in of(run, CallSettled) if one.scope.startswith(("planner", "builder"))]
    assert sum(one.cost_usd or 0 for one in used) <= Decimal("0.01")
    assert sum(one.input_tokens + one.output_tokens for one in used) <= tokens * 1.5


def test_the_thresholds_are_those_of_the_law() -> None:
    rules = PriceRules()
    assert (rules.auto_proceed_under_usd, rules.reject_over_usd, rules.cycles) == (1, 5, 2)
