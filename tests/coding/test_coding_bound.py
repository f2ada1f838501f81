"""What a session can use at most, known before it starts (A13)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.coding.bound import CALLS_PER_TURN, PhaseBound, session_bound, whole_bound
from endstop.coding.policy import (
    DEFAULT_POLICY,
    BuildRules,
    CriticRules,
    InterviewRules,
    Policy,
    ReflexionRules,
    ReviewedBy,
    ReviewRules,
    SessionRules,
)
from endstop.loop.agent import Retries


def turns(policy: Policy, *, asks_user: bool = True) -> dict[str, int]:
    return {phase.name: phase.turns for phase in session_bound(policy, asks_user=asks_user)}


@pytest.mark.guarantee("A13")
def test_every_phase_of_a_session_has_a_bound() -> None:
    assert turns(DEFAULT_POLICY) == {
        "interview": 10,
        "specify": 2 * 3 * 4,
        "price": 2 * 3,
        "plan": 8,
        "round 1": 8 + 4 + 3,
        "round 2": 15,
        "round 3": 15,
        "simplify": 2 * 4,
    }


@pytest.mark.guarantee("A13")
def test_the_whole_is_what_the_budget_of_the_session_allows() -> None:
    bound = whole_bound(DEFAULT_POLICY)
    assert (bound.model_calls, bound.tokens, bound.cost_usd, bound.seconds) == (50, 500_000, 10, 1_800)
    assert (bound.turns, bound.tool_calls) == (50, 500)


def test_a_session_with_room_to_spare_is_bounded_by_its_phases() -> None:
    policy = Policy(session=SessionRules(model_calls=1_000))
    bound = whole_bound(policy)
    assert bound.turns == sum(turns(policy).values()) == 101
    assert bound.model_calls == 101 * CALLS_PER_TURN


def test_a_call_may_be_made_again_as_often_as_agents_do() -> None:
    assert Retries().attempts == CALLS_PER_TURN
    assert all(phase.model_calls == phase.turns * CALLS_PER_TURN for phase in session_bound(DEFAULT_POLICY))


def test_where_nobody_is_there_to_be_asked_there_is_no_interview() -> None:
    assert "interview" not in turns(DEFAULT_POLICY, asks_user=False)
    assert "interview" not in turns(Policy(interview=InterviewRules(is_on=False)))
    free = Policy(session=SessionRules(model_calls=1_000))
    assert whole_bound(free, asks_user=False).turns == 91


def test_only_planning_has_a_time_of_its_own() -> None:
    assert {one.name: one.seconds for one in session_bound(DEFAULT_POLICY) if one.seconds is not None} == {
        "plan": 30.0
    }


@pytest.mark.guarantee("A13", "D5")
def test_reviews_by_an_agent_and_what_they_may_grant_are_part_of_it() -> None:
    policy = Policy(review=ReviewRules(by=ReviewedBy.AGENT, turns=4), build=BuildRules(rounds=1))
    # The planner and the builder (8 turns each) may get 24 more in 6 reviews; and one more each to refuse.
    assert turns(policy)["reviews"] == 2 * ((6 + 1) * 2 + 24)
    assert "reviews" not in turns(DEFAULT_POLICY)


def test_a_bound_reads_by_itself() -> None:
    plan = next(one for one in session_bound(DEFAULT_POLICY) if one.name == "plan")
    assert str(plan) == "plan: turns ≤ 8, model calls ≤ 32, time ≤ 30 s (8 turns)"
    assert str(PhaseBound(name="a", turns=1_000, how="b")) == "a: turns ≤ 1,000, model calls ≤ 4,000 (b)"


@pytest.mark.guarantee("A13")
@given(
    rounds=st.integers(1, 10),
    build=st.integers(1, 50),
    critic=st.integers(1, 50),
    passes=st.integers(0, 5),
    calls=st.integers(1, 1_000),
    by=st.sampled_from(ReviewedBy),
)
def test_no_policy_is_without_a_bound_or_above_its_budget(
    rounds: int, build: int, critic: int, passes: int, calls: int, by: ReviewedBy
) -> None:
    policy = Policy(
        session=SessionRules(model_calls=calls),
        build=BuildRules(rounds=rounds, turns=build),
        critic=CriticRules(turns=critic),
        reflexion=ReflexionRules(passes=passes),
        review=ReviewRules(by=by),
    )
    bound = whole_bound(policy)
    assert bound.is_bounded
    assert bound.model_calls is not None
    assert bound.turns is not None
    assert bound.model_calls <= calls
    assert bound.turns <= sum(turns(policy).values())
