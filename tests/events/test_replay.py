"""Reading a record back: the same state, the same facts, and going on as if nothing had happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from payload_examples import EXAMPLES
from recorded_runs import (
    BORN_AT,
    Recorded,
    Stage,
    TenthCall,
    a_fact,
    a_turn,
    is_derived,
    new_recorder,
    observed,
    own_detectors,
    places,
    recorded,
    renumbered,
    said_by_user,
    work,
)

from endstop.errors import ClosedAccountError, EndstopError, FactOrderError, UnknownPolicyError
from endstop.events.audit import audit
from endstop.events.codec import encode, read_record
from endstop.events.facts import NOTES, Fact, HintGiven, Payload, RunStarted, Thought
from endstop.events.recorder import Recorder, replay
from endstop.guard import Guard
from endstop.kernel.budget import Budget
from endstop.kernel.observation import AgentFinished, Observation, RunEnded, TurnStarted
from endstop.kernel.outcome import Forced, StopRule
from endstop.kernel.verdict import LimitExceeded, Stop
from endstop.testing import FakeClock


@pytest.mark.guarantee("H1")
def test_replaying_a_record_gives_the_same_facts(run: Recorded) -> None:
    assert tuple(replay(run.facts).facts) == run.facts


@pytest.mark.guarantee("H1", "A9")
def test_replaying_a_record_gives_the_same_state(run: Recorded) -> None:
    assert replay(run.facts).state == run.states[len(run.facts) - 1]


@pytest.mark.guarantee("H1", "A9")
def test_a_record_that_was_saved_and_read_replays_to_the_same_state(run: Recorded) -> None:
    saved = [encode(fact) for fact in run.facts]
    assert replay(read_record(saved).require()).state == run.states[len(run.facts) - 1]


@pytest.mark.guarantee("H1", "A9")
def test_replaying_any_beginning_of_a_record_gives_the_state_at_that_moment(run: Recorded) -> None:
    last_told = 0
    for fact in run.facts:
        last_told = last_told if is_derived(fact) else fact.seq
        if last_told in run.states:  # what a resume closes, it closes before anybody can watch
            assert replay(run.facts[: fact.seq + 1]).state == run.states[last_told], fact.seq


@pytest.mark.guarantee("H1", "H5")
def test_replaying_any_beginning_of_a_record_loses_none_of_its_facts(run: Recorded) -> None:
    for length in range(1, len(run.facts) + 1):
        begun = run.facts[:length]
        if not isinstance(begun[-1].payload, LimitExceeded):
            assert tuple(replay(begun).facts)[:length] == begun, f"cut after {begun[-1].type}"


@pytest.mark.guarantee("H1", "H5", "A14")
def test_a_run_whose_process_died_between_the_limit_and_the_ending_it_led_to_can_be_resumed() -> None:
    """Both are written for one observation, but a file of lines may hold the one without the other."""
    facts = recorded("turn_limit")
    assert isinstance(facts[-2].payload, LimitExceeded)
    resumed = Stage().resumed(facts[:-1])
    assert resumed.facts[: len(facts) - 1] == facts[:-1]
    assert not resumed.may_continue()
    checked = audit(resumed.facts)
    assert checked.holds, str(checked)


@pytest.mark.guarantee("H1", "H5")
def test_a_beginning_that_ends_before_what_was_noticed_is_made_whole() -> None:
    facts = recorded("turn_limit")
    hint = places(facts, HintGiven)[0]
    assert isinstance(facts[hint - 2].payload, TurnStarted)
    assert tuple(replay(facts[: hint - 1]).facts) == facts[: hint + 1]


@pytest.mark.guarantee("A9", "H1")
def test_going_on_from_any_moment_gives_the_same_as_never_having_stopped(run: Recorded) -> None:
    for length in range(1, len(run.facts)):
        if is_derived(run.facts[length]):
            continue  # what was noticed stands with what was told, and is not told by itself
        recorder = replay(run.facts[:length])
        told(recorder, run.facts[length:])
        assert tuple(recorder.facts) == run.facts, length
        assert recorder.state == run.states[len(run.facts) - 1], length


def told(recorder: Recorder, facts: tuple[Fact, ...]) -> None:
    """Tell a recorder what a driver would tell it that goes on."""
    for fact in facts:
        if isinstance(fact.payload, Observation):
            recorder.observe(fact.payload, time=fact.time)
        elif isinstance(fact.payload, NOTES):
            recorder.note(fact.payload, time=fact.time)


@pytest.mark.guarantee("H1")
def test_a_replayed_recorder_remembers_the_text_and_the_endings() -> None:
    scopes = replay(recorded("scopes"))
    assert set(scopes.endings) == {"reader", "checker", "writer", "run"}
    assert scopes.gathered("reader") == "Reading 1.\n\nReading 2.\n\nReading 3."


@pytest.mark.guarantee("H3")
def test_nobody_is_told_again_of_what_is_replayed() -> None:
    facts = recorded("finished")
    recorder = replay(facts[:-2])
    heard: list[Fact] = []
    recorder.sink = heard.append
    told(recorder, facts[-2:])
    assert tuple(heard) == facts[-2:]


@pytest.mark.guarantee("H2")
def test_a_replayed_fact_keeps_its_time_and_who_wrote_it() -> None:
    recorder = observed(new_recorder(), said_by_user(1.0))
    recorder.source = "server"
    observed(recorder, said_by_user(2.0))
    recorder.source = "reviewer"
    recorder.note(Thought(turn=0, text="Hm."), time=BORN_AT + 2.5)
    recorder.source = "guard"
    observed(recorder, said_by_user(3.0))
    again = replay(recorder.facts)
    assert [(fact.time, fact.source) for fact in again.facts] == [
        (fact.time, fact.source) for fact in recorder.facts
    ]


@pytest.mark.guarantee("H1")
def test_what_was_noticed_is_worked_out_anew_and_not_copied() -> None:
    facts = recorded("turn_limit")
    without = renumbered(fact for fact in facts if not is_derived(fact))
    assert tuple(replay(without).facts) == facts


@pytest.mark.guarantee("H1", "I7")
def test_a_record_must_begin_with_how_the_run_started() -> None:
    facts = renumbered(recorded("finished")[1:])
    with pytest.raises(FactOrderError, match=r"begins with turn\.started.*run\.started as the first"):
        replay(facts)


@pytest.mark.guarantee("H1", "I7")
def test_a_record_cannot_start_a_second_time() -> None:
    facts = recorded("finished")
    with pytest.raises(FactOrderError, match="Fact 3 starts the run a second time"):
        replay(renumbered((*facts[:3], facts[0], *facts[3:])))


@pytest.mark.guarantee("H1", "I7")
def test_an_empty_record_cannot_be_replayed() -> None:
    with pytest.raises(FactOrderError, match="The record is empty"):
        replay(())


BROKEN: dict[str, tuple[Callable[[tuple[Fact, ...]], tuple[Fact, ...]], str]] = {
    "a missing fact": (lambda facts: (*facts[:4], *facts[5:]), "Fact 4 is missing"),
    "a doubled fact": (lambda facts: (*facts[:5], *facts[4:]), "Fact 4 is doubled or out of order"),
    "facts out of order": (lambda facts: (*facts[:4], facts[5], facts[4]), "Fact 4 is missing"),
    "a missing beginning": (lambda facts: facts[1:], "Fact 0 is missing"),
    "a fact of another run": (
        lambda facts: (*facts[:4], replace(facts[4], run_id="run_other")),
        "A fact of run 'run_other' stands in the record of 'run_example'",
    ),
}


@pytest.mark.guarantee("H1", "I7")
@pytest.mark.parametrize("broken", BROKEN)
def test_a_record_that_is_not_whole_and_in_order_cannot_be_replayed(broken: str) -> None:
    spoil, words = BROKEN[broken]
    with pytest.raises(FactOrderError) as caught:
        replay(spoil(recorded("finished")))
    assert words in caught.value.what


@pytest.mark.guarantee("A14", "H1")
@pytest.mark.parametrize(
    "payload", [said_by_user(99.0), Thought(turn=0, text="Hm."), EXAMPLES["run.ended completed"]]
)
def test_a_record_that_goes_on_after_its_ending_cannot_be_replayed(payload: Payload) -> None:
    facts = recorded("finished")
    with pytest.raises(ClosedAccountError):
        replay((*facts, a_fact(payload, seq=len(facts))))


@pytest.mark.guarantee("F3", "I7")
def test_a_record_of_a_policy_that_is_not_there_names_it() -> None:
    started = RunStarted(config=new_recorder().started.config, policy="from-elsewhere")
    with pytest.raises(UnknownPolicyError, match="from-elsewhere"):
        replay([a_fact(started)])


@pytest.mark.guarantee("H1", "B8")
def test_a_run_with_detectors_of_its_own_is_replayed_with_them(stage: Stage) -> None:
    facts = own_detectors(stage).facts
    assert tuple(replay(facts, detectors=[TenthCall(times=2)]).facts) == facts


@pytest.mark.guarantee("H1", "I7")
def test_a_run_with_detectors_of_its_own_cannot_be_replayed_without_them(stage: Stage) -> None:
    """It would go on under other rules than it was started with, and nobody would know."""
    with pytest.raises(EndstopError, match="TenthCall"):
        replay(own_detectors(stage).facts)


def _two_turns_of_work(guard: Guard, clock: FakeClock) -> None:
    for _ in range(2):
        with guard.turn(reserve_tokens=200, reserve_cost_usd="0.01") as turn:
            work(turn, clock, text=f"Step {turn.number + 1}.")


@pytest.mark.guarantee("A9", "H5")
@pytest.mark.parametrize("dead_for_s", [0.0, 1_000_000.0])
def test_a_guard_resumed_between_turns_goes_on_as_if_it_had_never_stopped(dead_for_s: float) -> None:
    """Its counters and its clock: time while no process worked on it is not charged."""
    budget = Budget(turns=4, tokens=5_000, cost_usd="0.50", seconds=60)
    first = Stage()
    unbroken = first.guard(budget)
    _two_turns_of_work(unbroken, first.clock)
    until = unbroken.facts
    _two_turns_of_work(unbroken, first.clock)
    assert not unbroken.may_continue()

    second = Stage(FakeClock(77.0 + dead_for_s))
    resumed = second.resumed(until)
    _two_turns_of_work(resumed, second.clock)
    assert not resumed.may_continue()

    assert [fact.payload for fact in resumed.facts] == [fact.payload for fact in unbroken.facts]
    assert second.states[len(resumed.facts) - 1] == first.states[len(unbroken.facts) - 1]


@pytest.mark.guarantee("A9", "A2")
def test_a_warning_that_was_given_is_not_given_again_after_a_resume() -> None:
    facts = recorded("turn_limit")
    resumed = Stage().resumed(facts[: places(facts, TurnStarted)[8]])
    with resumed.turn() as turn:
        assert turn.hint is None


@pytest.mark.guarantee("A9", "B1")
def test_a_row_of_identical_calls_goes_on_counting_after_a_resume() -> None:
    facts = recorded("identical_calls")
    stage = Stage()
    resumed = stage.resumed(facts[: places(facts, TurnStarted)[2]])
    with resumed.turn() as turn:
        work(turn, stage.clock, query="login")
    assert not resumed.may_continue()
    assert isinstance(resumed.outcome, Forced)
    assert resumed.outcome.reason.rule is StopRule.NO_PROGRESS


@pytest.mark.guarantee("A9", "A12")
def test_a_run_that_died_right_before_its_ending_ends_for_the_same_reason(run: Recorded) -> None:
    ended = run.facts[-1].payload
    assert isinstance(ended, RunEnded)
    if not isinstance(ended.outcome, Forced):
        return
    before = [fact for fact in run.facts if not isinstance(fact.payload, RunEnded | LimitExceeded)]
    verdict = replay(renumbered(before)).verdict(at_s=ended.at_s)
    assert isinstance(verdict, Stop)
    assert verdict.reason == ended.outcome.reason


@pytest.mark.guarantee("H5", "A14")
def test_a_run_that_was_interrupted_at_any_moment_can_be_resumed_and_its_audit_holds() -> None:
    facts = recorded("finished")
    for length in range(1, len(facts)):
        stage = Stage()
        resumed = stage.resumed(facts[:length])
        if resumed.may_continue():
            with resumed.turn(reserve_tokens=100, reserve_cost_usd="0.01") as turn:
                work(turn, stage.clock, query=f"again {length}")
                turn.finished("done")
        assert not resumed.may_continue()
        checked = audit(resumed.facts)
        assert checked.holds, f"cut after fact {length - 1}: {checked}"


@pytest.mark.guarantee("A14", "H5")
def test_a_run_that_has_ended_is_resumed_as_it_is() -> None:
    facts = recorded("finished")
    resumed = Stage().resumed(facts)
    assert resumed.facts == facts
    assert not resumed.may_continue()


@pytest.mark.guarantee("H1")
def test_a_record_that_has_only_begun_can_go_on() -> None:
    recorder = replay([a_fact(new_recorder().started)])
    observed(recorder, *a_turn(0, 1.0), AgentFinished(at_s=2.0, answer="done"))
    assert [fact.seq for fact in recorder.facts] == list(range(6))
