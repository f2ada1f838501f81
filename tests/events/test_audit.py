"""The audit: it holds for every honest record, and names what is wrong with any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from payload_examples import LOOP, warned
from recorded_runs import (
    BORN_AT,
    RUN_ID,
    Recorded,
    Stage,
    TenthCall,
    a_fact,
    a_turn,
    new_recorder,
    observed,
    overrun,
    own_detectors,
    places,
    recorded,
    renumbered,
    said_by_user,
    work,
)

from endstop.events.audit import TIME_TOLERANCE_S, Audit, audit
from endstop.events.facts import Fact, HintGiven, Payload, RunStarted, Thought
from endstop.events.recorder import replay
from endstop.kernel.amounts import Amounts
from endstop.kernel.budget import Budget
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import (
    AgentFinished,
    BudgetGranted,
    CallReserved,
    CallSettled,
    RunEnded,
    ScopeEnded,
    ScopeOpened,
    ToolCalled,
    ToolFinished,
    TurnEnded,
    TurnStarted,
    tool_called,
)
from endstop.kernel.outcome import Cancelled, Completed, Ending, Failed, Forced, Stopped, StopReason, StopRule
from endstop.kernel.verdict import FindingReported, LimitExceeded, LimitWarned, PriceUnknown

WHOLE = "the record is whole and in order"
ONE_ENDING = "exactly one ending, and nothing after it"
ANSWERED = "every tool call has exactly one result"
SPENDING = "spending never passed limit plus grants"
IN_TIME = "it ended within its time"
SAME_AGAIN = "replaying the record gives the same verdicts"


def broken(checked: Audit) -> dict[str, str]:
    """The checks that do not hold, with what each says."""
    return {check.name: check.detail for check in checked.checks if not check.holds}


def details(checked: Audit) -> dict[str, str]:
    return {check.name: check.detail for check in checked.checks}


Facts = tuple[Fact, ...]


def with_payload(facts: Facts, place: int, payload: Payload) -> Facts:
    return (*facts[:place], replace(facts[place], payload=payload), *facts[place + 1 :])


def changed(facts: Facts, place: int, **changes: Any) -> Facts:
    """The record with some fields of one payload changed."""
    return with_payload(facts, place, replace(facts[place].payload, **changes))


def without(facts: Facts, place: int) -> Facts:
    """The record with one fact taken out, and renumbered so that nobody sees."""
    return renumbered((*facts[:place], *facts[place + 1 :]))


def doubled(facts: Facts, place: int) -> Facts:
    return renumbered((*facts[: place + 1], *facts[place:]))


def inserted(facts: Facts, place: int, payload: Payload) -> Facts:
    return renumbered((*facts[:place], a_fact(payload), *facts[place:]))


def the(facts: Facts, kind: type[object], number: int = 0) -> int:
    return places(facts, kind)[number]


@pytest.mark.guarantee("A14")
def test_it_holds_for_every_kind_of_run(run: Recorded) -> None:
    checked = audit(run.facts)
    assert checked.holds, str(checked)


@pytest.mark.guarantee("A14")
def test_it_checks_six_things() -> None:
    assert [check.name for check in audit(recorded("finished")).checks] == [
        WHOLE,
        ONE_ENDING,
        ANSWERED,
        SPENDING,
        IN_TIME,
        SAME_AGAIN,
    ]


@pytest.mark.guarantee("A14")
def test_it_says_what_it_found_to_hold() -> None:
    assert details(audit(recorded("finished"))) == {
        WHOLE: "24 facts",
        ONE_ENDING: "",
        ANSWERED: "3 calls",
        SPENDING: "3 turns, 180 tokens, $0.006 known cost",
        IN_TIME: "6.0 of 120 s",
        SAME_AGAIN: "",
    }


@pytest.mark.guarantee("A14")
def test_it_is_true_when_it_holds_and_false_when_not() -> None:
    facts = recorded("finished")
    assert bool(audit(facts)) is True
    assert bool(audit(facts[:-1])) is False


@pytest.mark.guarantee("A14")
def test_as_text_it_says_of_each_check_whether_it_holds() -> None:
    lines = str(audit(recorded("finished")[:-1])).splitlines()
    assert lines[0] == f"Audit of run {RUN_ID}: does not hold"
    assert lines[1] == f"  holds  {WHOLE}: 23 facts"
    assert lines[2] == f"  BROKEN  {ONE_ENDING}: run.ended at no place, the last fact is 22"


@pytest.mark.guarantee("A14")
def test_as_text_it_says_that_all_holds() -> None:
    assert str(audit(recorded("finished"))).splitlines()[0] == f"Audit of run {RUN_ID}: holds"


@pytest.mark.guarantee("A14")
def test_it_takes_facts_one_by_one() -> None:
    assert audit(fact for fact in recorded("finished")).holds


Spoil = Callable[[Facts], Facts]

NOT_WHOLE: dict[str, tuple[Spoil, str]] = {
    "nothing": (lambda facts: (), "must begin with run.started, once; found 0"),
    "no start": (lambda facts: renumbered(facts[1:]), "found 0"),
    "two starts": (lambda facts: doubled(facts, 0), "found 2"),
    "a late start": (lambda facts: renumbered((facts[1], facts[0], *facts[2:])), "must begin"),
    "one missing": (lambda facts: (*facts[:5], *facts[6:]), "Fact 5 is missing"),
    "the first missing": (lambda facts: facts[1:], "Fact 0 is missing"),
    "one doubled": (lambda facts: (*facts[:6], *facts[5:]), "Fact 5 is doubled"),
    "two swapped": (lambda facts: (*facts[:5], facts[6], facts[5], *facts[7:]), "6 came after 4"),
    "one of another run": (
        lambda facts: (*facts[:5], replace(facts[5], run_id="run_other"), *facts[6:]),
        "A fact of run 'run_other'",
    ),
}


@pytest.mark.guarantee("A14", "H1")
@pytest.mark.parametrize("problem", NOT_WHOLE)
def test_a_record_that_is_not_whole_and_in_order_is_not_looked_at_further(problem: str) -> None:
    spoil, words = NOT_WHOLE[problem]
    checked = audit(spoil(recorded("finished")))
    assert [check.name for check in checked.checks] == [WHOLE]
    assert words in broken(checked)[WHOLE]


@pytest.mark.guarantee("A14")
def test_an_empty_record_is_of_no_run() -> None:
    assert str(audit(())).startswith("Audit of run ?: does not hold")


@pytest.mark.guarantee("A14")
def test_a_run_that_has_not_ended_has_no_ending() -> None:
    assert set(broken(audit(recorded("finished")[:-1]))) == {ONE_ENDING}


@pytest.mark.guarantee("A14")
def test_a_run_that_has_only_started_lacks_nothing_but_its_ending() -> None:
    assert set(broken(audit([a_fact(new_recorder().started)]))) == {ONE_ENDING}


@pytest.mark.guarantee("A14")
def test_a_run_that_has_not_ended_and_whose_last_fact_is_a_note_lacks_nothing_but_its_ending() -> None:
    recorder = observed(new_recorder(), *a_turn(0, 1.0))
    recorder.note(Thought(turn=0, text="Hm."), time=BORN_AT)
    assert set(broken(audit(recorder.facts))) == {ONE_ENDING}


@pytest.mark.guarantee("A14")
@pytest.mark.parametrize("length", range(1, 24))
def test_a_record_that_stops_anywhere_lacks_its_ending_and_perhaps_a_result(length: int) -> None:
    assert set(broken(audit(recorded("finished")[:length]))) <= {ONE_ENDING, ANSWERED}


@pytest.mark.guarantee("A14")
def test_a_second_ending_is_found() -> None:
    facts = recorded("finished")
    last = len(facts) - 1
    found = broken(audit(doubled(facts, last)))
    assert found[ONE_ENDING] == f"run.ended at [{last}, {last + 1}], the last fact is {last + 1}"
    assert "after the run had ended" in found[SAME_AGAIN]


@pytest.mark.guarantee("A14")
@pytest.mark.parametrize(
    "payload", [said_by_user(99.0), Thought(turn=0, text="Hm."), warned(LimitKind.TURNS, 7, 10)]
)
def test_a_fact_after_the_ending_is_found(payload: Payload) -> None:
    facts = recorded("finished")
    found = broken(audit((*facts, a_fact(payload, seq=len(facts)))))
    assert found[ONE_ENDING] == f"run.ended at [{len(facts) - 1}], the last fact is {len(facts)}"


NOT_ANSWERED_ONCE: dict[str, tuple[Spoil, str]] = {
    "no result": (lambda facts: without(facts, the(facts, ToolFinished, 1)), "2.1 has no result"),
    "two results": (lambda facts: doubled(facts, the(facts, ToolFinished, 1)), "2.1 has a result too many"),
    "two calls": (lambda facts: doubled(facts, the(facts, ToolCalled, 1)), "2.1 was called twice"),
    "a result without a call": (
        lambda facts: without(facts, the(facts, ToolCalled, 1)),
        "2.1 has a result too many",
    ),
    "a result of another call": (
        lambda facts: changed(facts, the(facts, ToolFinished, 1), call="9.9"),
        "9.9 has a result too many; 2.1 has no result",
    ),
    "a name used twice": (
        lambda facts: changed(facts, the(facts, ToolCalled, 2), call="1.1"),
        "1.1 was called twice",
    ),
}


@pytest.mark.guarantee("A14", "D9")
@pytest.mark.parametrize("problem", NOT_ANSWERED_ONCE)
def test_a_call_without_exactly_one_result_is_found(problem: str) -> None:
    spoil, words = NOT_ANSWERED_ONCE[problem]
    assert words in broken(audit(spoil(recorded("finished"))))[ANSWERED]


@pytest.mark.guarantee("A14", "D9")
def test_of_many_calls_without_a_result_the_first_five_are_named() -> None:
    turn = [tool_called(at_s=1.0, turn=0, call=f"1.{n}", tool="search", arguments={"q": n}) for n in range(9)]
    recorder = observed(new_recorder(), *a_turn(0, 1.0, *turn))
    named = broken(audit(recorder.facts))[ANSWERED].split("; ")
    assert named == [f"1.{n} has no result" for n in range(5)]


@pytest.mark.guarantee("A14", "A7")
def test_calls_of_different_scopes_may_have_the_same_names() -> None:
    facts = recorded("scopes")
    names = [fact.payload.call for fact in facts if isinstance(fact.payload, ToolCalled)]
    assert len(set(names)) < len(names)
    assert audit(facts).holds


@pytest.mark.guarantee("A14", "A7")
def test_calls_of_a_scope_that_was_opened_again_may_have_the_same_names() -> None:
    """Its turns are counted from the start, and so are its calls."""
    recorder = new_recorder()
    for at_s in (1.0, 2.0):
        call = tool_called(at_s=at_s, scope="reader", turn=0, call="1.1", tool="read", arguments={"at": at_s})
        result = ToolFinished(
            at_s=at_s, scope="reader", turn=0, call="1.1", tool="read", key=call.key, result=f"read at {at_s}"
        )
        observed(
            recorder,
            ScopeOpened(at_s=at_s, scope="reader", budget=Budget(turns=2)),
            *a_turn(0, at_s, call, result, scope="reader"),
            AgentFinished(at_s=at_s, scope="reader"),
            ScopeEnded(at_s=at_s, scope="reader", outcome=Completed(answer="")),
        )
    observed(recorder, AgentFinished(at_s=3.0, answer="done"))
    recorder.end_with(Completed(answer="done"), at_s=3.0, time=BORN_AT)
    checked = audit(recorder.facts)
    assert checked.holds, str(checked)


@pytest.mark.guarantee("A14", "A6")
def test_a_settled_amount_that_was_raised_past_the_limit_is_found() -> None:
    facts = recorded("finished")
    place = the(facts, CallSettled, 2)
    found = broken(audit(changed(facts, place, input_tokens=4_900)))
    assert found[SPENDING] == f"5,030 tokens of 5,000 in 'run' at fact {place}"


@pytest.mark.guarantee("A14", "A6")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cost_usd": Decimal("0.50")}, "$0.502 cost_usd of $0.50 in 'run'"),
        ({"output_tokens": 10_000}, "tokens of 5,000 in 'run'"),
    ],
)
def test_what_was_spent_past_any_limit_is_named(changes: dict[str, object], words: str) -> None:
    facts = recorded("finished")
    assert words in broken(audit(changed(facts, the(facts, CallSettled, 1), **changes)))[SPENDING]


@pytest.mark.guarantee("A14", "A6")
def test_a_model_call_too_many_is_found() -> None:
    facts = recorded("model_call_limit")
    raised = changed(facts, the(facts, CallSettled, 1), model_calls=3)
    assert broken(audit(raised))[SPENDING].startswith("4 model_calls of 3 in 'run'")


@pytest.mark.guarantee("A14", "A3")
def test_a_turn_too_many_is_found() -> None:
    facts = recorded("turn_limit_without_text")
    ended = the(facts, LimitExceeded)
    extra = renumbered(
        (
            *facts[:ended],
            a_fact(TurnStarted(at_s=6.0, turn=3)),
            a_fact(TurnEnded(at_s=6.0, turn=3)),
            *facts[ended:],
        )
    )
    assert broken(audit(extra))[SPENDING] == f"4 turns of 3 in 'run' at fact {ended}"


@pytest.mark.guarantee("A14", "A6")
def test_a_reservation_past_the_limit_is_found_even_if_less_was_used() -> None:
    facts = recorded("finished")
    raised = changed(facts, the(facts, CallReserved), amounts=Amounts(model_calls=1, tokens=6_000))
    assert "6,000 tokens of 5,000 in 'run'" in broken(audit(raised))[SPENDING]


@pytest.mark.guarantee("A14", "A7")
def test_what_was_spent_past_the_limit_of_a_scope_is_found_though_the_run_had_room() -> None:
    facts = recorded("scopes")
    place = next(
        fact.seq for fact in facts if isinstance(fact.payload, CallSettled) and fact.payload.scope == "writer"
    )
    found = broken(audit(changed(facts, place, input_tokens=2_000)))
    assert found[SPENDING] == f"2,070 tokens of 1,500 in 'writer' at fact {place}"


@pytest.mark.guarantee("A14", "A7")
def test_what_scopes_spent_counts_for_the_run() -> None:
    facts = recorded("scopes")
    place = next(
        fact.seq for fact in facts if isinstance(fact.payload, CallSettled) and fact.payload.scope == "reader"
    )
    found = broken(audit(changed(facts, place, input_tokens=20_000)))
    assert "tokens of 10,000 in 'run'" in found[SPENDING]


@pytest.mark.guarantee("A14", "A8")
def test_what_was_spent_of_a_grant_that_is_not_in_the_record_is_found() -> None:
    facts = recorded("grants")
    found = broken(audit(without(facts, the(facts, BudgetGranted))))
    assert found[SPENDING].startswith("4 turns of 3 in 'run'")


@pytest.mark.guarantee("A14", "A6")
def test_a_run_that_used_more_than_it_had_does_not_hold(stage: Stage) -> None:
    guard = overrun(stage)
    assert broken(guard.audit()) == {SPENDING: "1,500 tokens of 1,000 in 'run' at fact 3"}


@pytest.mark.guarantee("A14", "A6")
def test_a_call_settled_in_parts_is_counted_once() -> None:
    reserved = Amounts(model_calls=1, tokens=1_000)
    recorder = observed(
        new_recorder(Budget(turns=1, tokens=1_000)),
        TurnStarted(at_s=1.0, turn=0, closing=LimitKind.TURNS),
        CallReserved(at_s=1.0, turn=0, reservation="call:0", amounts=reserved, closing=True),
        CallSettled(at_s=1.0, turn=0, reservation="call:0", input_tokens=700, is_final=False),
        CallSettled(at_s=2.0, turn=0, reservation="call:0", output_tokens=300, model_calls=0),
        TurnEnded(at_s=2.0, turn=0),
        AgentFinished(at_s=2.0, answer="done"),
    )
    recorder.end_with(Completed(answer="done", warnings=("Last turn.",)), at_s=2.0, time=BORN_AT)
    checked = audit(recorder.facts)
    assert checked.holds, str(checked)


@pytest.mark.guarantee("A14")
@pytest.mark.parametrize("kind", [ScopeOpened, ScopeEnded, TurnStarted, CallReserved])
def test_a_record_without_what_began_or_ended_something_is_found(kind: type[object]) -> None:
    facts = recorded("scopes")
    for place in places(facts, kind):
        assert broken(audit(without(facts, place))), place


@pytest.mark.guarantee("A14")
@pytest.mark.timeout(1)
@pytest.mark.parametrize("scope", ["ghost", "reader"])
def test_a_scope_whose_parent_was_never_opened_or_is_itself_is_found(scope: str) -> None:
    """A record made by somebody who means harm must not keep an auditor busy for ever."""
    facts = recorded("scopes")
    opened = facts[the(facts, ScopeOpened)].payload
    assert isinstance(opened, ScopeOpened)
    assert opened.scope == "reader"
    assert broken(audit(changed(facts, the(facts, ScopeOpened), parent=scope)))


@pytest.mark.guarantee("A14")
@pytest.mark.timeout(1)
def test_a_second_scope_of_the_same_name_does_not_make_what_was_spent_go_away() -> None:
    facts = recorded("finished")
    again = ScopeOpened(at_s=4.0, scope="run", parent="run", budget=Budget(turns=100))
    assert broken(audit(inserted(facts, the(facts, TurnStarted, 2), again)))


def ended_at(facts: Facts, at_s: float) -> Facts:
    return changed(facts, len(facts) - 1, at_s=at_s)


@pytest.mark.guarantee("A14", "A11")
def test_a_run_that_went_on_past_its_time_is_found() -> None:
    found = broken(audit(ended_at(recorded("time_limit"), 10.7)))
    assert found == {IN_TIME: "0.7 s over its 10 s"}


@pytest.mark.guarantee("A14", "A11")
def test_to_carry_out_a_stop_there_is_half_a_second() -> None:
    assert TIME_TOLERANCE_S == 0.5
    assert audit(ended_at(recorded("time_limit"), 10.5)).holds


@pytest.mark.guarantee("A14", "A9")
def test_time_spent_waiting_for_a_person_does_not_count() -> None:
    assert details(audit(recorded("waited")))[IN_TIME] == "4.0 of 20 s"


@pytest.mark.guarantee("A14", "A8")
def test_granted_time_counts() -> None:
    assert details(audit(recorded("grants")))[IN_TIME] == "10.0 of 90 s"


@pytest.mark.guarantee("A14")
def test_without_a_time_limit_there_is_nothing_to_keep() -> None:
    assert details(audit(recorded("turn_limit")))[IN_TIME] == "no time limit was set"


def ended_with(facts: Facts, outcome: Ending) -> Facts:
    return changed(facts, len(facts) - 1, outcome=outcome)


def no_progress() -> Forced:
    reason = StopReason(rule=StopRule.NO_PROGRESS, message=LOOP.message, finding=LOOP)
    return Forced(answer="So far.", reason=reason)


CHANGED_VERDICTS: dict[str, tuple[str, Spoil]] = {
    "a finding was taken out": (
        "identical_calls",
        lambda facts: without(facts, the(facts, FindingReported)),
    ),
    "a finding was made milder": (
        "identical_calls",
        lambda facts: changed(facts, the(facts, FindingReported), turn=0),
    ),
    "a warning was taken out": ("turn_limit", lambda facts: without(facts, the(facts, LimitWarned))),
    "a warning was invented": (
        "turn_limit",
        lambda facts: inserted(facts, the(facts, TurnStarted, 3) + 1, warned(LimitKind.TURNS, 3, 10)),
    ),
    "a warning says another figure": (
        "turn_limit",
        lambda facts: changed(facts, the(facts, LimitWarned), percentage=10.0),
    ),
    "a hint was taken out": ("turn_limit", lambda facts: without(facts, the(facts, HintGiven))),
    "the limit that ended it was taken out": (
        "turn_limit",
        lambda facts: without(facts, the(facts, LimitExceeded)),
    ),
    "what was noticed stands elsewhere": (
        "turn_limit",
        lambda facts: inserted(
            without(facts, the(facts, LimitWarned)), 3, facts[the(facts, LimitWarned)].payload
        ),
    ),
    "another rule ended it": (
        "turn_limit",
        lambda facts: without(
            changed(facts, len(facts) - 1, outcome=no_progress()), the(facts, LimitExceeded)
        ),
    ),
    "it was ended though it could go on": (
        "turn_limit",
        lambda facts: renumbered(
            (*facts[: the(facts, TurnStarted, 4)], a_fact(RunEnded(at_s=8.0, outcome=no_progress())))
        ),
    ),
    "a forced ending was made a plain success": (
        "identical_calls",
        lambda facts: ended_with(facts, Completed(answer="All is well.")),
    ),
    "a forced ending was made somebody's cancellation": (
        "identical_calls",
        lambda facts: ended_with(facts, Cancelled(by="ana")),
    ),
    "a forced ending was made a failure of the policy": (
        "identical_calls",
        lambda facts: changed(
            facts, len(facts) - 1, outcome=Failed(code="policy_error", message="It raised.")
        ),
    ),
    "a success on the last turn was made a plain one": (
        "finished_on_the_last_turn",
        lambda facts: ended_with(facts, Completed(answer="It is in auth.py.")),
    ),
    "another rule ended a scope": (
        "scopes",
        lambda facts: changed(facts, the(facts, ScopeEnded), outcome=no_progress()),
    ),
    "a scope that was stopped was made a success": (
        "own_scope_stuck",
        lambda facts: changed(facts, the(facts, ScopeEnded), outcome=Completed(answer="")),
    ),
}


def scope_stuck(stage: Stage) -> Facts:
    guard = stage.guard(Budget(turns=20))
    with guard.scope("reader", turns=10) as reader:
        while reader.may_continue():
            with reader.turn() as turn:
                work(turn, stage.clock, query="login")
    guard.finish("done")
    return guard.facts


@pytest.mark.guarantee("A14")
@pytest.mark.parametrize("change", CHANGED_VERDICTS)
def test_a_changed_verdict_is_found(change: str, stage: Stage) -> None:
    scenario, spoil = CHANGED_VERDICTS[change]
    facts = scope_stuck(stage) if scenario == "own_scope_stuck" else recorded(scenario)
    assert audit(facts).holds
    assert SAME_AGAIN in broken(audit(spoil(facts)))


@pytest.mark.guarantee("A14")
@pytest.mark.parametrize(
    "scenario", ["turn_limit", "identical_calls", "tripped_tool", "unknown_price_warned"]
)
def test_a_record_from_before_sentences_were_reworded_still_holds(scenario: str) -> None:
    """Every version words some things better. What was decided, when and on what figures, is the same."""
    checked = audit(tuple(replace(fact, payload=reworded(fact.payload)) for fact in recorded(scenario)))
    assert checked.holds, str(checked)


def reworded(payload: Payload) -> Payload:
    match payload:
        case LimitWarned() | LimitExceeded() | PriceUnknown():
            return replace(payload, message="As it was worded once.")
        case HintGiven():
            return replace(payload, text="As it was worded once.")
        case FindingReported(finding=finding):
            return replace(payload, finding=replace(finding, message="As it was worded once."))
        case _:
            return payload


@pytest.mark.guarantee("A14", "I7")
def test_a_verdict_that_differs_is_named_with_its_place() -> None:
    facts = recorded("identical_calls")
    place = the(facts, FindingReported)
    found = broken(audit(without(facts, place)))
    assert found == {SAME_AGAIN: f"fact {place} is turn.ended, now agent.loop.detected"}


@pytest.mark.guarantee("A14", "I7")
def test_a_figure_that_differs_is_named() -> None:
    """To say that a fact is a warning, and now is a warning, tells nobody anything."""
    facts = recorded("turn_limit")
    found = broken(audit(changed(facts, the(facts, LimitWarned), percentage=10.0)))
    assert "percentage" in found[SAME_AGAIN]


@pytest.mark.guarantee("A14", "I7")
def test_another_rule_is_named_with_the_one_that_would_have_won() -> None:
    facts = recorded("turn_limit")
    tampered = without(ended_with(facts, no_progress()), the(facts, LimitExceeded))
    assert broken(audit(tampered)) == {SAME_AGAIN: "it was ended by no_progress, now the verdict is turns"}


@pytest.mark.guarantee("A14", "I7")
def test_a_run_that_was_ended_though_it_could_go_on_says_so() -> None:
    facts = recorded("turn_limit")[: the(recorded("turn_limit"), TurnStarted, 4)]
    stopped = Stopped(reason=StopReason(rule=StopRule.TIME, message="Too slow."))
    ended = (*facts, a_fact(RunEnded(at_s=8.0, outcome=stopped), seq=len(facts)))
    assert broken(audit(ended)) == {SAME_AGAIN: "it was ended by time, now the verdict is go on"}


@pytest.mark.guarantee("A14", "I7")
def test_facts_that_are_missing_at_the_end_of_a_turn_are_counted() -> None:
    facts = recorded("turn_limit")[: the(recorded("turn_limit"), LimitWarned)]
    assert broken(audit(facts))[SAME_AGAIN] == f"{len(facts)} facts became {len(facts) + 2}"


@pytest.mark.guarantee("A14", "A9")
def test_a_clock_that_runs_backwards_is_found() -> None:
    facts = recorded("finished")
    found = broken(audit(changed(facts, the(facts, TurnStarted, 2), at_s=0.5)))
    assert "0.5 s, the run's clock at 4.0 s" in found[SAME_AGAIN]


@pytest.mark.guarantee("A14", "F3")
def test_a_policy_that_is_not_there_cannot_be_asked_again() -> None:
    facts = changed(recorded("finished"), 0, policy="from-elsewhere")
    assert "no decision tree 'from-elsewhere'" in broken(audit(facts))[SAME_AGAIN]


@pytest.mark.guarantee("A14", "B8")
def test_a_run_with_detectors_of_its_own_must_be_given_them_again(stage: Stage) -> None:
    facts = own_detectors(stage).facts
    found = broken(audit(facts))
    assert set(found) == {SAME_AGAIN}
    assert "TenthCall" in found[SAME_AGAIN]


@pytest.mark.guarantee("A14", "B8")
def test_a_run_with_detectors_of_its_own_holds_with_them(stage: Stage) -> None:
    facts = own_detectors(stage).facts
    assert audit(facts, detectors=(one for one in [TenthCall(times=2)])).holds


@pytest.mark.guarantee("A14", "B8")
def test_a_guard_with_detectors_of_its_own_gives_them_to_its_audit(stage: Stage) -> None:
    assert own_detectors(stage).audit().holds


@pytest.mark.guarantee("A14", "B8")
def test_with_other_detectors_than_it_had_a_run_does_not_hold(stage: Stage) -> None:
    facts = own_detectors(stage).facts
    assert set(broken(audit(facts, detectors=[TenthCall(times=1)]))) == {SAME_AGAIN}


@pytest.mark.guarantee("A14")
def test_an_audit_changes_nothing() -> None:
    facts = recorded("finished")
    before = tuple(facts)
    audit(facts)
    assert facts == before
    assert tuple(replay(facts).facts) == before


@pytest.mark.guarantee("A14")
def test_a_run_started_with_a_budget_of_another_run_does_not_hold() -> None:
    facts = recorded("turn_limit")
    started = facts[0].payload
    assert isinstance(started, RunStarted)
    config = replace(started.config, budget=Budget(turns=20))
    assert SAME_AGAIN in broken(audit(changed(facts, 0, config=config)))
