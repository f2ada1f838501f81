"""Writing a record: what is told and what is noticed, in order, until there is an ending."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest
from payload_examples import EXAMPLES, OUT_OF_TURNS, STUCK
from recorded_runs import (
    BORN_AT,
    RUN_ID,
    Recorded,
    Stage,
    a_turn,
    is_derived,
    new_recorder,
    observed,
    places,
    recorded,
    said_by_user,
    work,
)

from endstop.errors import ClosedAccountError, EndstopError, ObservationError
from endstop.events.audit import audit
from endstop.events.facts import Fact, HintGiven, ReviewDecided, ReviewRequested, RunStarted, Thought
from endstop.events.recorder import Recorder, replay
from endstop.kernel.agent import AgentConfig
from endstop.kernel.amounts import Amounts
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import (
    AgentFinished,
    AssistantSaid,
    BudgetGranted,
    CallReserved,
    CallSettled,
    CallStatus,
    CancelRequested,
    ContextMeasured,
    Observation,
    RunEnded,
    RunPaused,
    ScopeEnded,
    ScopeOpened,
    ToolCalled,
    ToolFinished,
    TurnEnded,
    TurnStarted,
    tool_called,
)
from endstop.kernel.outcome import (
    TRUNCATED_NOTE,
    UNABLE_ANSWER,
    Cancelled,
    Completed,
    Failed,
    Forced,
    Stopped,
    StopReason,
    StopRule,
)
from endstop.kernel.verdict import FindingReported, GoOn, LastTurn, LimitExceeded, LimitWarned, Stop


@pytest.mark.guarantee("H1")
def test_the_first_fact_of_a_record_is_how_the_run_started() -> None:
    recorder = new_recorder(user="ana", project="shop", question="Where?")
    assert [fact.type for fact in recorder.facts] == ["run.started"]
    assert recorder.facts[0].payload is recorder.started


@pytest.mark.guarantee("H1", "H2")
def test_facts_are_numbered_from_zero_and_say_whose_they_are(run: Recorded) -> None:
    assert [fact.seq for fact in run.facts] == list(range(len(run.facts)))
    assert {fact.run_id for fact in run.facts} == {RUN_ID}
    assert {fact.source for fact in run.facts} == {"guard"}


@pytest.mark.guarantee("H2")
def test_a_fact_has_the_time_of_day_and_the_time_on_the_runs_clock() -> None:
    settled = recorded("finished")[places(recorded("finished"), CallSettled)[1]]
    assert isinstance(settled.payload, CallSettled)
    assert (settled.time, settled.payload.at_s) == (BORN_AT + 4.0, 4.0)


@pytest.mark.guarantee("H1")
def test_every_record_starts_once_and_ends_once(run: Recorded) -> None:
    assert places(run.facts, RunStarted) == [0]
    assert places(run.facts, RunEnded) == [len(run.facts) - 1]


@pytest.mark.guarantee("H1")
def test_what_the_governor_noticed_stands_right_after_what_it_was_told() -> None:
    facts = recorded("turn_limit")
    (place,) = places(facts, LimitWarned)
    kinds = [type(fact.payload) for fact in facts[place - 1 : place + 2]]
    assert kinds == [TurnStarted, LimitWarned, HintGiven]


@pytest.mark.guarantee("H1", "B8")
def test_a_finding_stands_right_after_the_result_that_showed_it() -> None:
    facts = recorded("identical_calls")
    (place,) = places(facts, FindingReported)
    assert isinstance(facts[place - 1].payload, ToolFinished)


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize(("scenario", "ending"), [("turn_limit", RunEnded), ("scopes", ScopeEnded)])
def test_the_limit_that_ended_something_stands_before_the_ending(scenario: str, ending: type[object]) -> None:
    facts = recorded(scenario)
    place = places(facts, LimitExceeded)[0]
    assert isinstance(facts[place + 1].payload, ending)


@pytest.mark.guarantee("A2", "H1")
def test_a_hint_says_in_which_turn_and_scope_it_was_given() -> None:
    hints = [fact.payload for fact in recorded("scopes") if isinstance(fact.payload, HintGiven)]
    assert hints
    assert {(hint.scope, hint.turn) for hint in hints} <= {("reader", 2), ("checker", 0), ("writer", 0)}


@pytest.mark.guarantee("H1")
def test_what_cannot_have_happened_is_refused_and_leaves_no_fact() -> None:
    recorder = observed(new_recorder(), said_by_user(5.0))
    facts, state = list(recorder.facts), recorder.state
    with pytest.raises(ObservationError):
        observed(recorder, said_by_user(4.0))
    assert recorder.facts == facts
    assert recorder.state is state


IMPOSSIBLE: list[Observation] = [
    TurnStarted(at_s=9, turn=7),
    TurnEnded(at_s=9, turn=7),
    CallReserved(at_s=9, turn=0, reservation="turn:9", amounts=Amounts()),
    CallReserved(at_s=9, turn=0, reservation="call:9", amounts=Amounts(turns=10**6)),
    CallSettled(at_s=9, turn=0, reservation="call:unknown"),
    CallSettled(at_s=9, turn=0, reservation="call:0", input_tokens=-1),
    CallSettled(at_s=9, turn=0, reservation="call:0", cost_usd=Decimal("NaN")),
    ContextMeasured(at_s=9, tokens=-1),
    BudgetGranted(at_s=9, grant=Grant(turns=10**6, by="ada", why="why not")),
    AssistantSaid(at_s=9, scope="nowhere", turn=0, text="?"),
    CancelRequested(at_s=9, scope="nowhere", by="ada"),
    AssistantSaid(at_s=1, turn=0, text="too late"),
    ScopeOpened(at_s=9, scope="part", parent="nowhere", budget=Budget(turns=1)),
    ScopeEnded(at_s=9, outcome=Completed(answer="")),
]


@pytest.mark.parametrize("impossible", IMPOSSIBLE, ids=lambda one: type(one).__name__)
def test_what_is_refused_in_the_middle_of_a_turn_changes_nothing(impossible: Observation) -> None:
    begun = (
        TurnStarted(at_s=5, turn=0),
        CallReserved(at_s=5, turn=0, reservation="call:0", amounts=Amounts(tokens=5, model_calls=1)),
    )
    recorder, untroubled = observed(new_recorder(), *begun), observed(new_recorder(), *begun)
    with pytest.raises(EndstopError):
        observed(recorder, impossible)
    settled = CallSettled(at_s=9, turn=0, reservation="call:0", input_tokens=3, cost_usd=Decimal(0))
    for each in (recorder, untroubled):
        observed(each, settled, TurnEnded(at_s=9, turn=0))
    assert recorder.state == untroubled.state
    assert recorder.facts == untroubled.facts


def test_a_state_that_was_asked_for_stays_as_it_is_when_the_run_goes_on() -> None:
    recorder = observed(new_recorder(), TurnStarted(at_s=5, turn=0))
    state = recorder.state
    before = repr(state)
    reserved = CallReserved(at_s=6, turn=0, reservation="call:0", amounts=Amounts(tokens=5))
    observed(recorder, reserved, TurnEnded(at_s=7, turn=0))
    assert repr(state) == before
    assert recorder.state != state
    assert recorder.state is recorder.state is recorder.live


class Curious:
    """A detector that looks at the run while it is being told of it."""

    def __init__(self) -> None:
        self.looks: list[Callable[[], object]] = []

    def observe(self, seen: object) -> tuple[Curious, None]:
        for look in self.looks:
            look()
        return self, None


def test_a_detector_that_looks_at_the_state_while_it_is_written_does_no_harm() -> None:
    curious = Curious()
    started = RunStarted(config=AgentConfig(budget=Budget(turns=3)), detectors=("Curious",))
    recorder = Recorder(started, run_id=RUN_ID, time=BORN_AT, source="test", detectors=[curious])
    curious.looks.append(lambda: (recorder.state, recorder.usage(), recorder.verdict(at_s=9)))
    observed(recorder, *a_turn(0, 1), *a_turn(1, 5))
    assert recorder.usage().turns == recorder.state.ledger.account("run").settled.turns == 2
    assert recorder.state == replay(recorder.facts, detectors=[curious]).state


def test_what_is_looked_up_in_the_live_state_is_always_the_latest() -> None:
    recorder = observed(new_recorder(), TurnStarted(at_s=5, turn=0))
    live = recorder.live
    observed(recorder, TurnEnded(at_s=7, turn=0))
    assert (live.now_s, live.ledger.account("run").settled.turns) == (7, 1)


@pytest.mark.guarantee("H1")
def test_a_call_that_is_refused_is_not_taken_for_one_under_way() -> None:
    recorder = observed(new_recorder(), said_by_user(5.0))
    with pytest.raises(ObservationError):
        observed(recorder, tool_called(at_s=1.0, turn=0, call="1.1", tool="search", arguments={}))
    recorder.close_open(at_s=6.0, time=BORN_AT)
    assert not places(recorder.facts, ToolFinished)


@pytest.mark.guarantee("H1")
def test_whoever_listens_is_told_each_fact_once_in_order() -> None:
    heard: list[Fact] = []
    recorder = Recorder(new_recorder().started, run_id=RUN_ID, time=BORN_AT, source="test", sink=heard.append)
    observed(recorder, *a_turn(0, 1.0), AgentFinished(at_s=2.0))
    recorder.note(Thought(turn=0, text="Hm."), time=BORN_AT)
    assert heard == recorder.facts


@pytest.mark.guarantee("H1")
def test_a_note_is_kept_and_changes_nothing() -> None:
    recorder = new_recorder()
    state = recorder.state
    recorder.note(Thought(turn=0, text="Hm."), time=BORN_AT + 1)
    assert recorder.facts[-1] == Fact(
        run_id=RUN_ID, seq=1, time=BORN_AT + 1, source="test", payload=Thought(turn=0, text="Hm.")
    )
    assert recorder.state is state


def ended_recorder() -> Recorder:
    recorder = new_recorder()
    recorder.end_with(Completed(answer="done"), at_s=1.0, time=BORN_AT)
    return recorder


@pytest.mark.guarantee("A14", "H1")
def test_nothing_can_be_observed_after_the_ending() -> None:
    recorder = ended_recorder()
    with pytest.raises(ClosedAccountError, match="after the run had ended"):
        observed(recorder, said_by_user(2.0))
    assert recorder.facts[-1].type == "run.ended"


@pytest.mark.guarantee("A14", "H1")
def test_nothing_can_be_noted_after_the_ending() -> None:
    recorder = ended_recorder()
    with pytest.raises(ClosedAccountError, match="after the run had ended"):
        recorder.note(Thought(turn=0, text="Hm."), time=BORN_AT)
    assert recorder.facts[-1].type == "run.ended"


@pytest.mark.guarantee("A14", "H1")
def test_there_is_no_second_ending() -> None:
    recorder = ended_recorder()
    with pytest.raises(ClosedAccountError):
        recorder.end_with(Completed(answer="again"), at_s=2.0, time=BORN_AT)
    assert len(places(recorder.facts, RunEnded)) == 1


@pytest.mark.guarantee("A3")
def test_the_verdict_is_the_governors_at_that_moment() -> None:
    recorder = new_recorder(Budget(turns=2))
    assert recorder.verdict(at_s=0.0) == GoOn()
    observed(recorder, *a_turn(0, 1.0))
    assert recorder.verdict(at_s=1.0) == LastTurn(limit=LimitKind.TURNS)


@pytest.mark.guarantee("A11")
def test_asking_for_a_verdict_later_sees_the_time_that_has_passed() -> None:
    recorder = new_recorder(Budget(seconds=10))
    verdict = recorder.verdict(at_s=10.0)
    assert isinstance(verdict, Stop)
    assert verdict.reason.rule is StopRule.TIME
    assert recorder.state.now_s == 0.0


@pytest.mark.guarantee("A5")
def test_all_text_so_far_is_gathered_with_blank_lines_between() -> None:
    recorder = observed(
        new_recorder(),
        *a_turn(0, 1.0, AssistantSaid(at_s=1.0, turn=0, text="First. \n")),
        *a_turn(1, 2.0, AssistantSaid(at_s=2.0, turn=1, text=" \n")),
        *a_turn(2, 3.0, AssistantSaid(at_s=3.0, turn=2, text="\nThen.")),
    )
    assert recorder.gathered() == "First.\n\nThen."


@pytest.mark.guarantee("A5")
def test_without_any_message_there_is_nothing_to_answer_with() -> None:
    assert observed(new_recorder(), *a_turn(0, 1.0)).gathered() is None


@pytest.mark.guarantee("A5")
def test_a_forced_completion_keeps_the_text_and_says_that_it_was_cut() -> None:
    recorder = observed(new_recorder(), *a_turn(0, 1.0, AssistantSaid(at_s=1.0, turn=0, text="So far.")))
    ending = recorder.end(OUT_OF_TURNS, at_s=1.0, time=BORN_AT)
    assert ending == Forced(answer=f"So far.\n\n{TRUNCATED_NOTE}", reason=OUT_OF_TURNS)


@pytest.mark.guarantee("A5")
def test_a_model_that_only_called_tools_is_forced_to_say_that_it_could_not_complete() -> None:
    recorder = observed(new_recorder(), *a_turn(0, 1.0, AssistantSaid(at_s=1.0, turn=0, text="")))
    ending = recorder.end(OUT_OF_TURNS, at_s=1.0, time=BORN_AT)
    assert ending == Forced(answer=UNABLE_ANSWER, reason=OUT_OF_TURNS)


@pytest.mark.guarantee("A5")
def test_a_loop_that_reports_no_text_is_stopped() -> None:
    recorder = observed(new_recorder(), *a_turn(0, 1.0))
    assert recorder.end(STUCK, at_s=1.0, time=BORN_AT) == Stopped(reason=STUCK)


@pytest.mark.guarantee("H1")
def test_a_run_that_finished_ends_with_its_own_answer() -> None:
    recorder = observed(new_recorder(), AgentFinished(at_s=1.0, answer="It is there."))
    reason = StopReason(rule=StopRule.FINISHED, message="The agent finished.")
    assert recorder.end(reason, at_s=1.0, time=BORN_AT) == Completed(answer="It is there.")


@pytest.mark.guarantee("D10")
def test_a_cancelled_run_says_who_cancelled_it_and_keeps_the_text() -> None:
    recorder = observed(new_recorder(), *a_turn(0, 1.0, AssistantSaid(at_s=1.0, turn=0, text="So far.")))
    recorder.observe(replace(_cancel(), at_s=1.0), time=BORN_AT)
    reason = StopReason(rule=StopRule.CANCELLED, message="Cancelled.")
    assert recorder.end(reason, at_s=1.0, time=BORN_AT) == Cancelled(by="ana", answer="So far.")


def _cancel() -> CancelRequested:
    cancel = EXAMPLES["run.cancel_requested"]
    assert isinstance(cancel, CancelRequested)
    return cancel


@pytest.mark.guarantee("A7")
def test_what_is_open_below_ends_first_innermost_first() -> None:
    recorder = observed(
        new_recorder(),
        ScopeOpened(at_s=1.0, scope="outer", budget=Budget(turns=5)),
        ScopeOpened(at_s=2.0, scope="inner", parent="outer", budget=Budget(turns=2)),
        ScopeOpened(at_s=2.0, scope="other", budget=Budget(turns=2)),
    )
    recorder.end_with(Completed(answer=""), at_s=3.0, time=BORN_AT)
    ended = [fact.payload for fact in recorder.facts if isinstance(fact.payload, ScopeEnded | RunEnded)]
    assert [one.scope for one in ended] == ["inner", "outer", "other", "run"]
    assert set(recorder.endings) == {"inner", "outer", "other", "run"}


@pytest.mark.guarantee("A7")
def test_a_scope_that_ends_because_what_is_above_it_ended_says_so() -> None:
    recorder = observed(new_recorder(), ScopeOpened(at_s=1.0, scope="reader", budget=Budget(turns=5)))
    recorder.end_with(Completed(answer=""), at_s=3.0, time=BORN_AT)
    ending = recorder.endings["reader"]
    assert isinstance(ending, Stopped)
    assert ending.reason.rule is StopRule.PARENT


@pytest.mark.guarantee("A7", "A5")
def test_a_scope_ends_with_its_own_text() -> None:
    recorder = observed(
        new_recorder(),
        *a_turn(0, 1.0, AssistantSaid(at_s=1.0, turn=0, text="The run's.")),
        ScopeOpened(at_s=1.0, scope="reader", budget=Budget(turns=5)),
        *a_turn(0, 2.0, AssistantSaid(at_s=2.0, scope="reader", turn=0, text="Its own."), scope="reader"),
    )
    ending = recorder.end(OUT_OF_TURNS, at_s=2.0, time=BORN_AT, scope="reader")
    assert isinstance(ending, Forced)
    assert ending.answer.startswith("Its own.\n\n[")


@pytest.mark.guarantee("A7", "A5")
def test_a_scope_that_is_opened_again_begins_without_the_text_of_the_one_before() -> None:
    recorder = observed(
        new_recorder(),
        ScopeOpened(at_s=1.0, scope="reader", budget=Budget(turns=2)),
        *a_turn(0, 1.0, AssistantSaid(at_s=1.0, scope="reader", turn=0, text="First."), scope="reader"),
        ScopeEnded(at_s=1.0, scope="reader", outcome=Completed(answer="First.")),
        ScopeOpened(at_s=2.0, scope="reader", budget=Budget(turns=2)),
    )
    assert recorder.gathered("reader") is None


@pytest.mark.guarantee("H1")
def test_an_ending_is_never_before_what_was_observed_last() -> None:
    recorder = observed(new_recorder(), said_by_user(5.0))
    recorder.end_with(Failed(code="model", message="gone"), at_s=3.0, time=BORN_AT)
    ended = recorder.facts[-1].payload
    assert isinstance(ended, RunEnded)
    assert ended.at_s == 5.0


def in_the_middle(budget: Budget | None = None) -> Recorder:
    """What a process leaves that dies in a turn, with a model call half settled and two tools under way."""
    return observed(
        new_recorder(budget),
        TurnStarted(at_s=1.0, turn=0),
        CallReserved(
            at_s=1.0,
            turn=0,
            reservation="call:0",
            amounts=Amounts(model_calls=1, tokens=500),
        ),
        CallSettled(at_s=2.0, turn=0, reservation="call:0", input_tokens=120, is_final=False),
        tool_called(at_s=3.0, turn=0, call="1.1", tool="search", arguments={"q": "login"}),
        tool_called(at_s=3.0, turn=0, call="1.2", tool="deploy", arguments={}),
    )


@pytest.mark.guarantee("H5", "D9")
def test_calls_that_were_under_way_are_reported_as_interrupted_and_may_have_had_their_effect() -> None:
    recorder = in_the_middle()
    recorder.close_open(at_s=3.0, time=BORN_AT)
    results = [fact.payload for fact in recorder.facts if isinstance(fact.payload, ToolFinished)]
    calls = [fact.payload for fact in recorder.facts if isinstance(fact.payload, ToolCalled)]
    assert [(one.call, one.tool, one.key) for one in results] == [
        (one.call, one.tool, one.key) for one in calls
    ]
    assert {one.status for one in results} == {CallStatus.INTERRUPTED}
    assert all("may have had its effect" in one.result for one in results)


@pytest.mark.guarantee("A6", "H5")
def test_what_was_reserved_is_settled_at_the_worst_case_and_marked_as_an_estimate() -> None:
    recorder = in_the_middle()
    recorder.close_open(at_s=3.0, time=BORN_AT)
    settled = recorder.facts[places(recorder.facts, CallSettled)[-1]].payload
    assert isinstance(settled, CallSettled)
    assert (settled.input_tokens, settled.is_estimate, settled.is_final) == (380, True, True)
    assert recorder.state.usage().tokens == 500


@pytest.mark.guarantee("A6", "A10", "H5")
@pytest.mark.parametrize("reserved", ["0.05", None])
def test_the_worst_case_in_money_is_what_was_reserved_and_unknown_where_nothing_was(
    reserved: str | None,
) -> None:
    stage = Stage()
    guard = stage.guard(Budget(turns=5))
    guard.turn(reserve_tokens=10, reserve_cost_usd=reserved).__enter__()
    resumed = stage.resumed(guard.facts)
    assert resumed.usage.cost_shown == ("$0.05" if reserved else "unknown")


@pytest.mark.guarantee("H5")
def test_turns_that_were_under_way_are_over() -> None:
    recorder = in_the_middle()
    recorder.close_open(at_s=3.0, time=BORN_AT)
    assert isinstance(recorder.facts[-1].payload, TurnEnded)
    assert recorder.state.scopes["run"].open_turns == frozenset()
    assert recorder.state.usage().turns == 1


@pytest.mark.guarantee("H5")
def test_what_was_open_in_scopes_is_closed_too() -> None:
    recorder = observed(
        new_recorder(),
        ScopeOpened(at_s=1.0, scope="reader", budget=Budget(turns=3, tokens=1_000)),
        TurnStarted(at_s=1.0, scope="reader", turn=0),
        CallReserved(
            at_s=1.0, scope="reader", turn=0, reservation="call:0", amounts=Amounts(model_calls=1, tokens=70)
        ),
        tool_called(at_s=2.0, scope="reader", turn=0, call="1.1", tool="read", arguments={}),
    )
    recorder.close_open(at_s=2.0, time=BORN_AT)
    assert [fact.type for fact in recorder.facts[-3:]] == ["tool.finished", "budget.settled", "turn.ended"]
    assert recorder.state.usage("reader").tokens == 70
    assert not recorder.state.is_over


@pytest.mark.guarantee("H5", "A9")
def test_closing_what_was_open_is_never_before_what_was_observed_last() -> None:
    recorder = in_the_middle()
    recorder.close_open(at_s=0.0, time=BORN_AT)
    assert recorder.state.now_s == 3.0


@pytest.mark.guarantee("H5")
def test_where_nothing_was_open_there_is_nothing_to_close() -> None:
    recorder = observed(new_recorder(), *a_turn(0, 1.0))
    facts = list(recorder.facts)
    recorder.close_open(at_s=5.0, time=BORN_AT)
    assert recorder.facts == facts


@pytest.mark.guarantee("H5", "D9")
def test_a_call_that_was_under_way_when_its_scope_ended_does_not_keep_the_run_from_going_on() -> None:
    recorder = observed(
        new_recorder(),
        ScopeOpened(at_s=1.0, scope="reader", budget=Budget(turns=3)),
        TurnStarted(at_s=1.0, scope="reader", turn=0),
        tool_called(at_s=1.0, scope="reader", turn=0, call="1.1", tool="read", arguments={}),
    )
    recorder.end_with(Cancelled(by="ana"), at_s=2.0, time=BORN_AT, scope="reader")
    recorder.close_open(at_s=3.0, time=BORN_AT)
    observed(recorder, *a_turn(0, 3.0))
    assert recorder.state.usage().turns == 2


@pytest.mark.guarantee("A14", "D9")
@pytest.mark.parametrize("scope", ["run", "reader"])
def test_a_call_that_is_under_way_when_something_ends_still_gets_a_result(scope: str) -> None:
    recorder = observed(
        new_recorder(),
        ScopeOpened(at_s=1.0, scope="reader", budget=Budget(turns=3)),
        TurnStarted(at_s=1.0, scope=scope, turn=0),
        tool_called(at_s=1.0, scope=scope, turn=0, call="1.1", tool="read", arguments={}),
    )
    recorder.end_with(Cancelled(by="ana"), at_s=2.0, time=BORN_AT)
    assert len(places(recorder.facts, ToolFinished)) == 1


@pytest.mark.guarantee("A9", "A11", "H5")
def test_the_clock_of_a_run_whose_process_died_while_it_waited_for_a_person_runs_again() -> None:
    recorder = observed(new_recorder(Budget(seconds=60)), RunPaused(at_s=5.0, why="asking"))
    again = replay(recorder.facts)
    again.close_open(at_s=again.state.now_s, time=BORN_AT)
    verdict = again.verdict(at_s=1_000.0)
    assert isinstance(verdict, Stop)
    assert verdict.reason.rule is StopRule.TIME


@pytest.mark.guarantee("A9")
def test_the_time_a_run_waited_before_its_process_died_is_not_charged() -> None:
    recorder = observed(
        new_recorder(Budget(seconds=60)), RunPaused(at_s=5.0, why="asking"), said_by_user(500.0)
    )
    again = replay(recorder.facts)
    again.close_open(at_s=again.state.now_s, time=BORN_AT)
    assert again.state.charged_s == 5.0


@pytest.mark.guarantee("H5", "A14")
def test_a_run_that_was_closed_and_went_on_is_audited_as_holding() -> None:
    recorder = in_the_middle()
    recorder.close_open(at_s=3.0, time=BORN_AT)
    observed(recorder, *a_turn(1, 4.0), AgentFinished(at_s=5.0, answer="done"))
    recorder.end_with(Completed(answer="done"), at_s=5.0, time=BORN_AT)
    checked = audit(recorder.facts)
    assert checked.holds, str(checked)


@pytest.mark.guarantee("D3", "D4", "A9")
@pytest.mark.parametrize("scenario", ["review_approved", "review_needs_changes", "review_rejected"])
def test_a_review_stands_in_the_record_from_the_question_to_the_decision(scenario: str) -> None:
    facts = recorded(scenario)
    asked, decided = places(facts, ReviewRequested)[0], places(facts, ReviewDecided)[0]
    between = [fact.type for fact in facts[asked : decided + 1]]
    granted = [] if scenario == "review_rejected" else ["budget.granted"]
    assert between == ["review.requested", "run.paused", "run.resumed", *granted, "review.decided"]


@pytest.mark.guarantee("A8")
def test_a_grant_says_who_gave_it_and_why() -> None:
    facts = recorded("grants")
    granted = facts[places(facts, BudgetGranted)[0]].payload
    assert isinstance(granted, BudgetGranted)
    assert (granted.grant.by, granted.grant.why, granted.grant.turns) == ("ana", "nearly there", 2)


@pytest.mark.guarantee("B8", "H1")
def test_only_what_the_governor_noticed_is_derived() -> None:
    assert {fact.type for fact in recorded("tripped_tool") if is_derived(fact)} == {
        "tool.tripped",
        "hint.given",
    }


@pytest.mark.guarantee("A9")
def test_a_turn_of_a_guard_reports_what_it_did_to_the_same_record(stage: Stage) -> None:
    guard = stage.guard(Budget(turns=3))
    with guard.turn() as turn:
        work(turn, stage.clock, text="Hello.")
    assert [fact.type for fact in guard.facts] == [
        "run.started",
        "turn.started",
        "budget.reserved",
        "budget.settled",
        "assistant.said",
        "tool.called",
        "tool.finished",
        "turn.ended",
    ]


def test_a_scope_name_taken_again_begins_with_no_usage() -> None:
    opened = ScopeOpened(at_s=1.0, scope="reader", budget=Budget(turns=2))
    recorder = observed(new_recorder(), opened, *a_turn(0, 1.0, scope="reader"))
    recorder.end_with(Cancelled(by="ana"), at_s=2.0, time=BORN_AT, scope="reader")
    assert recorder.usage("reader").turns == 1
    observed(recorder, ScopeOpened(at_s=3.0, scope="reader", budget=Budget(turns=2)))
    assert recorder.usage("reader").turns == 0
