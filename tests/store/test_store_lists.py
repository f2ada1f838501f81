"""Lists of runs, reviews, grants; who works on what; who wants it to end; what users have set."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from store_facts import (
    APPROVED,
    ASKED,
    ENDED,
    GRANTED,
    REVIEW,
    START_TIME,
    OpenStore,
    begun,
    facts,
    started,
    turn,
)

from endstop.errors import InvalidValueError, UnknownRunError
from endstop.events.facts import ReviewRequested
from endstop.kernel.finding import Evidence, Finding, Pattern
from endstop.kernel.observation import CallSettled
from endstop.kernel.review import Review, RunPhase
from endstop.ports import CancelAsked, Store, StoredGrant, StoredReview, StoredRun


async def test_a_run_is_listed_with_what_its_facts_say(store: Store) -> None:
    await store.append(begun(), owner="worker-1")
    assert await store.run("run-1") == StoredRun(
        run_id="run-1",
        phase=RunPhase.RUNNING,
        user="ana",
        project="shop",
        agent="oracle",
        model="test:one",
        question="Where is login?",
        facts=5,
        turns=1,
        tokens=120,
        cost_usd=Decimal("0.01"),
        started_at=START_TIME,
        changed_at=START_TIME + 4,
        owner="worker-1",
        beat_at=START_TIME + 4,
    )


async def test_the_index_is_kept_with_every_append(store: Store) -> None:
    await store.append(begun())
    await store.append(facts("run-1", *turn(1, cost_usd="0.123456789012"), first=5))
    await store.append(facts("run-1", ENDED, first=9, time=START_TIME + 60))
    run = await store.run("run-1")
    assert (run.phase, run.facts, run.turns, run.tokens) == (RunPhase.ENDED, 10, 2, 240)
    assert run.cost_usd == Decimal("0.133456789012")
    assert (run.ended_at, run.ending, run.exit_code) == (START_TIME + 60, "completed", 0)


@pytest.mark.guarantee("A10")
async def test_an_unknown_cost_stays_unknown_whoever_goes_on(store: Store, open_another: OpenStore) -> None:
    await store.append(begun())
    await store.append(facts("run-1", *turn(1, cost_usd=None), first=5))
    other = await open_another()
    await other.append(facts("run-1", *turn(2), first=9))
    assert (await other.run("run-1")).cost_usd is None


async def test_more_tokens_than_a_column_holds_are_kept_in_the_record(store: Store) -> None:
    absurd = CallSettled(at_s=1.0, turn=1, reservation="x", input_tokens=10**30)
    await store.append([*begun(), *facts("run-1", absurd, first=5)])
    assert (await store.run("run-1")).tokens == 2**63 - 1
    assert (await store.record("run-1"))[-1].payload == absurd


async def test_runs_are_listed_newest_first_and_page_by_page(store: Store) -> None:
    for number in (3, 1, 4, 0, 2):
        await store.append(begun(f"run-{number}", time=START_TIME + number))
    assert [run.run_id for run in await store.runs()] == ["run-4", "run-3", "run-2", "run-1", "run-0"]
    page = await store.runs(most=2)
    assert [run.run_id for run in page] == ["run-4", "run-3"]
    page = await store.runs(most=2, before=page[-1].started_at)
    assert [run.run_id for run in page] == ["run-2", "run-1"]
    assert await store.runs(most=0) == []


async def test_runs_are_found_by_user_project_and_phase(store: Store) -> None:
    await store.append(begun("run-1", user="ana", project="shop"))
    await store.append(begun("run-2", user="bob", project="shop"))
    await store.append(begun("run-3", user=None, project=None))
    await store.append(facts("run-2", ASKED, first=5))
    await store.append(facts("run-1", ENDED, first=5))

    async def found(**sought: Any) -> list[str]:
        return sorted(run.run_id for run in await store.runs(**sought))

    assert await found(user="ana") == ["run-1"]
    assert await found(user="ana", project="shop") == ["run-1"]
    assert await found(user="ana", project="other") == []
    assert await found(project="shop") == ["run-1", "run-2"]
    assert await found(phases=[RunPhase.BUDGET_REVIEW]) == ["run-2"]
    assert await found(phases=[RunPhase.RUNNING, RunPhase.ENDED]) == ["run-1", "run-3"]
    assert await found(user="bob", phases=[RunPhase.ENDED]) == []
    assert await found(user="nobody' OR '1'='1") == []


@pytest.mark.parametrize("most", [-1, 10**9, True, "5", 1.5])
async def test_a_list_has_a_sensible_length(store: Store, most: Any) -> None:
    with pytest.raises(InvalidValueError, match="most is"):
        await store.runs(most=most)


async def test_reviews_are_listed_newest_first_until_they_are_decided(store: Store) -> None:
    await store.append([*begun(), *facts("run-1", ASKED, first=5, time=START_TIME + 10)])
    later = Review(id="review:1", why="Iteration limit reached (10/10).")
    await store.append(
        [*begun("run-2"), *facts("run-2", ReviewRequested(review=later), first=5, time=START_TIME + 20)]
    )
    asked = StoredReview(run_id="run-1", review=REVIEW, requested_at=START_TIME + 10)
    assert [one.run_id for one in await store.reviews()] == ["run-2", "run-1"]
    assert await store.reviews(run_id="run-1") == [asked]
    assert await store.reviews(run_id="run-1", is_open=False) == []
    await store.append(facts("run-1", GRANTED, APPROVED, first=6, time=START_TIME + 30))
    assert await store.reviews(is_open=False) == [
        StoredReview(
            run_id="run-1",
            review=REVIEW,
            requested_at=START_TIME + 10,
            decision="approved",
            by="ana",
            decided_at=START_TIME + 31,
        )
    ]
    assert [one.run_id for one in await store.reviews(is_open=True)] == ["run-2"]
    assert await store.reviews(run_id="nobody") == []


async def test_a_review_comes_back_with_all_it_rests_on(store: Store) -> None:
    finding = Finding(
        pattern=Pattern.IDENTICAL_CALL,
        message="search was called 3 times.\x00",
        advice="Use what is there.",
        times=3,
        evidence=(Evidence(turn=0, call="1.1", what="search({})\ud800"),),
    )
    review = Review(
        id="review:1", why="w\x00", doing="d", spent="s", findings=(finding,), warnings=("a", "b")
    )
    await store.append([*begun(), *facts("run-1", ReviewRequested(review=review), first=5)])
    assert [one.review for one in await store.reviews()] == [review]


async def test_a_review_that_is_asked_for_again_is_open_again(store: Store) -> None:
    await store.append([*begun(), *facts("run-1", ASKED, APPROVED, ASKED, first=5)])
    (review,) = await store.reviews()
    assert (review.decision, review.by, review.decided_at) == (None, None, None)
    assert review.requested_at == START_TIME + 2


@pytest.mark.guarantee("A8")
async def test_grants_say_who_gave_what_and_why(store: Store) -> None:
    await store.append(begun())
    assert await store.grants("run-1") == []
    await store.append(facts("run-1", GRANTED, first=5))
    await store.append(facts("run-1", GRANTED, first=6))
    first, second = await store.grants("run-1")
    assert first == StoredGrant(
        run_id="run-1",
        seq=5,
        by="ana",
        why="nearly there",
        amounts={"turns": "10", "cost_usd": "0.1", "seconds": "30"},
        granted_at=START_TIME,
    )
    assert second.seq == 6


async def test_an_owner_says_that_it_is_alive(store: Store) -> None:
    await store.append(begun("run-1"), owner="worker-1")
    await store.append(begun("run-2"))
    await store.beat("worker-1", ["run-1", "run-2", "nobody"], at=123.5)
    for run_id in ("run-1", "run-2"):
        run = await store.run(run_id)
        assert (run.owner, run.beat_at) == ("worker-1", 123.5)


async def test_an_owner_that_wakes_up_late_does_not_get_its_run_back_by_saying_so(store: Store) -> None:
    await store.append(begun(), owner="worker-1")
    await store.append(facts("run-1", *turn(1), first=5), owner="worker-2")
    await store.beat("worker-2", ["run-1"], at=200.0)
    await store.beat("worker-1", ["run-1"], at=300.0)
    run = await store.run("run-1")
    assert (run.owner, run.beat_at) == ("worker-2", 200.0)


async def test_an_owner_that_appends_is_alive(store: Store) -> None:
    await store.append(begun(), owner="worker-1")
    await store.beat("worker-1", ["run-1"], at=0.0)
    await store.append(facts("run-1", *turn(1), first=5, time=START_TIME + 9))
    assert (await store.run("run-1")).beat_at == 0.0
    await store.append(facts("run-1", ENDED, first=9, time=START_TIME + 60), owner="worker-2")
    run = await store.run("run-1")
    assert (run.owner, run.beat_at) == ("worker-2", START_TIME + 60)


async def test_an_append_that_names_no_owner_leaves_the_one_there_is(store: Store) -> None:
    await store.append(begun(), owner="worker-1")
    await store.append(facts("run-1", *turn(1), first=5))
    assert (await store.run("run-1")).owner == "worker-1"


async def test_a_thousand_runs_are_beaten_for_at_once(store: Store) -> None:
    run_ids = [f"run-{number}" for number in range(1_001)]
    await asyncio.gather(*(store.append(facts(run_id, started())) for run_id in run_ids))
    await store.beat("worker-1", run_ids, at=5.0)
    runs = await store.runs(most=2_000)
    assert {run.run_id for run in runs if run.beat_at == 5.0} == set(run_ids)
    await store.ask_cancel(CancelAsked(run_id="run-1000", by="ana"))
    assert [asked.run_id for asked in await store.cancels_asked(run_ids)] == ["run-1000"]


async def test_another_process_hears_that_a_run_is_to_end(store: Store, open_another: OpenStore) -> None:
    await store.append(begun())
    other = await open_another()
    asked = CancelAsked(run_id="run-1", by="ana\x00", after_turn=True)
    await store.ask_cancel(asked)
    assert await other.cancels_asked(["run-1", "run-2"]) == [asked]
    assert await other.cancels_asked(["run-2"]) == []
    assert await other.cancels_asked([]) == []


async def test_to_end_at_once_stands_above_to_end_after_the_turn(store: Store) -> None:
    await store.append(begun())
    gently = CancelAsked(run_id="run-1", by="ana", after_turn=True)
    at_once = CancelAsked(run_id="run-1", by="bob")
    await store.ask_cancel(gently)
    await store.ask_cancel(at_once)
    await store.ask_cancel(gently)
    assert await store.cancels_asked(["run-1"]) == [at_once]


async def test_nobody_can_end_a_run_that_is_not_there(store: Store) -> None:
    with pytest.raises(UnknownRunError):
        await store.ask_cancel(CancelAsked(run_id="nobody", by="ana"))


@pytest.mark.guarantee("I3")
async def test_settings_are_kept_per_user_and_replaced_as_a_whole(
    store: Store, open_another: OpenStore
) -> None:
    assert await store.settings("ana") == {}
    await store.save_settings("ana", {"max_iterations": 10, "cost_limit_usd": "0.50", "x": None})
    await store.save_settings("bob\x00", {"note": "half a pair \ud800"})
    other = await open_another()
    assert await other.settings("ana") == {"max_iterations": 10, "cost_limit_usd": "0.50", "x": None}
    assert await other.settings("bob\x00") == {"note": "half a pair \ud800"}
    await other.save_settings("ana", {"token_budget": 5_000})
    assert await store.settings("ana") == {"token_budget": 5_000}


@pytest.mark.parametrize(
    "wrong",
    [{"a": object()}, {"a": float("nan")}, {("a", "b"): 1}],
    ids=["an object", "not a number", "a strange key"],
)
async def test_settings_that_are_no_plain_values_are_refused(store: Store, wrong: Any) -> None:
    await store.save_settings("ana", {"max_iterations": 10})
    with pytest.raises(InvalidValueError, match="settings is"):
        await store.save_settings("ana", wrong)
    assert await store.settings("ana") == {"max_iterations": 10}


async def test_runs_are_found_by_agent_by_words_of_the_question_and_by_their_ending(store: Store) -> None:
    questions = {"run-1": "Where is LOGIN?", "run-2": "100% of _it_!", "run-3": "Where is the cart?"}
    for run_id, question in questions.items():
        agent = "coder" if run_id == "run-3" else "oracle"
        first = replace(started(), question=question, agent=agent)
        await store.append(facts(run_id, first, *turn(0)))
    await store.append(facts("run-1", ENDED, first=5))

    async def found(**sought: Any) -> list[str]:
        return sorted(run.run_id for run in await store.runs(**sought))

    assert await found(text="where is") == ["run-1", "run-3"]
    assert await found(text="login") == ["run-1"]
    assert await found(text="0% OF _") == ["run-2"]
    assert await found(text="%") == ["run-2"]
    assert await found(text="t_!") == ["run-2"]
    assert await found(text="nothing") == []
    assert await found(agent="coder") == ["run-3"]
    assert await found(ending="completed") == ["run-1"]
    assert await found(ending="failed") == []
    assert await found(text="where", agent="oracle", ending="comp") == ["run-1"]


async def test_no_run_is_left_out_between_pages_though_many_started_at_once(store: Store) -> None:
    for number in range(7):
        await store.append(begun(f"run-{number}", time=START_TIME + number // 4))
    seen: list[str] = []
    page = await store.runs(most=2)
    while page:
        seen += [run.run_id for run in page]
        page = await store.runs(most=2, before=page[-1].started_at, before_run=page[-1].run_id)
    assert seen == [f"run-{number}" for number in reversed(range(7))]


async def test_reviews_are_found_by_the_user_whose_run_waits(store: Store) -> None:
    for run_id, user in (("run-1", "ana"), ("run-2", "bob")):
        await store.append([*begun(run_id, user=user), *facts(run_id, ASKED, first=5)])
    assert [one.run_id for one in await store.reviews(user="ana")] == ["run-1"]
    assert [one.run_id for one in await store.reviews(user="bob", is_open=True)] == ["run-2"]
    assert await store.reviews(user="bob", is_open=False) == []
    assert await store.reviews(user="bob", run_id="run-1") == []
    assert await store.reviews(user="nobody") == []


async def test_a_user_is_given_notice_of_what_happened_in_their_runs_since(store: Store) -> None:
    await store.append([*begun("run-1"), *facts("run-1", ASKED, first=5, time=START_TIME + 10)])
    await store.append([*begun("run-2"), *facts("run-2", ENDED, first=5, time=START_TIME + 20)])
    await store.append([*begun("run-3", user="bob"), *facts("run-3", ENDED, first=5, time=START_TIME + 30)])
    types = ("run.ended", "review.requested")

    async def noticed(user: str, since: float, **options: Any) -> list[tuple[str, str]]:
        found = await store.notices(user, types=types, since=since, **options)
        return [(fact.run_id, fact.type) for fact in found]

    both = [("run-1", "review.requested"), ("run-2", "run.ended")]
    assert await noticed("ana", 0.0) == both
    assert await noticed("ana", START_TIME + 10) == both
    assert await noticed("ana", START_TIME + 11) == both[1:]
    assert await noticed("ana", 0.0, most=1) == both[:1]
    assert await noticed("bob", 0.0) == [("run-3", "run.ended")]
    assert await noticed("nobody", 0.0) == []
