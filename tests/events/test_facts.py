"""The names, severities and fields of facts: what everybody who reads a record relies on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields
from typing import get_args

import pytest
from payload_examples import EXAMPLES, type_in
from recorded_runs import a_fact, places, recorded

from endstop.events.facts import NOTES, OBSERVATIONS, PAYLOAD_OF_TYPE, Payload, Severity, severity_of, type_of
from endstop.events.plain import written
from endstop.kernel import observation
from endstop.kernel.finding import Finding, Pattern, Response
from endstop.kernel.observation import CallStatus, Observation, ToolFinished
from endstop.kernel.verdict import FindingReported, LimitExceeded, LimitNotice, LimitWarned

PAYLOADS = [*(kind for kind in get_args(Payload) if kind is not Observation), *OBSERVATIONS]

SEVERAL_TYPES = {LimitWarned, LimitExceeded, FindingReported}
"""The kinds of payload that have a type for each limit, or for each sort of finding."""


@pytest.mark.guarantee("H2")
def test_the_names_of_facts_and_of_their_fields_are_those_that_were_promised(
    require_golden: Callable[[str, object], None],
) -> None:
    names = {
        name: [field.name for field in fields(payload) if field.init]
        for name, payload in sorted(PAYLOAD_OF_TYPE.items())
    }
    require_golden("fact_types.json", names)


@pytest.mark.guarantee("H2")
@pytest.mark.parametrize(
    "name",
    [
        "budget.iteration.warning",
        "budget.iteration.exceeded",
        "budget.token.warning",
        "budget.token.exceeded",
        "agent.loop.detected",
        "signal.parsed",
        "review.requested",
        "run.ended",
    ],
)
def test_the_names_people_asked_for_are_there(name: str) -> None:
    assert name in PAYLOAD_OF_TYPE


@pytest.mark.guarantee("H2")
@pytest.mark.parametrize("name", PAYLOAD_OF_TYPE)
def test_names_are_dotted_and_plain(name: str) -> None:
    parts = name.split(".")
    assert len(parts) >= 2
    assert all(part.isascii() and part.replace("_", "").isalpha() and part.islower() for part in parts)


@pytest.mark.guarantee("H2")
@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: payload.__name__)
def test_every_kind_of_payload_has_one_name_unless_it_is_said_to_have_several(payload: type[Payload]) -> None:
    names = [name for name, kind in PAYLOAD_OF_TYPE.items() if kind is payload]
    assert len(names) > 1 if payload in SEVERAL_TYPES else len(names) == 1


@pytest.mark.guarantee("H2")
def test_every_observation_there_is_has_a_name() -> None:
    defined = [one for one in vars(observation).values() if isinstance(one, type)]
    observations = {one for one in defined if issubclass(one, Observation) and one is not Observation}
    assert set(OBSERVATIONS) == observations
    assert observations <= set(PAYLOAD_OF_TYPE.values())


@pytest.mark.guarantee("H2")
@pytest.mark.parametrize("example", EXAMPLES)
def test_a_payload_is_of_the_type_that_names_it(example: str) -> None:
    assert type_of(EXAMPLES[example]) == type_in(example)
    assert isinstance(EXAMPLES[example], PAYLOAD_OF_TYPE[type_in(example)])


@pytest.mark.guarantee("H2")
def test_there_is_an_example_of_every_type() -> None:
    assert {type_in(example) for example in EXAMPLES} == set(PAYLOAD_OF_TYPE)


def _found(pattern: Pattern) -> FindingReported:
    finding = Finding(pattern=pattern, message="Something.", advice="Do something.", times=3)
    return FindingReported(finding=finding, response=Response.STOP, turn=0)


@pytest.mark.guarantee("H2", "B8")
@pytest.mark.parametrize("pattern", Pattern)
def test_findings_are_loops_save_for_errors_and_tripped_tools(pattern: Pattern) -> None:
    others = {Pattern.ERROR_STREAK: "agent.errors.detected", Pattern.FAILING_CALL: "tool.tripped"}
    assert type_of(_found(pattern)) == others.get(pattern, "agent.loop.detected")


DEBUG, INFO, WARNING, ERROR = Severity.DEBUG, Severity.INFO, Severity.WARNING, Severity.ERROR

SEVERITIES = {
    "run.started": INFO,
    "run.started in full": INFO,
    "run.paused": INFO,
    "run.resumed": INFO,
    "run.cancel_requested": INFO,
    "run.ended completed": INFO,
    "run.ended with a warning": WARNING,
    "run.ended forced": WARNING,
    "run.ended forced by a finding": WARNING,
    "run.ended stopped": WARNING,
    "run.ended abandoned": WARNING,
    "run.ended cancelled": WARNING,
    "run.ended failed": ERROR,
    "scope.opened": INFO,
    "scope.ended": INFO,
    "scope.ended stopped": WARNING,
    "scope.ended failed": ERROR,
    "turn.started": INFO,
    "turn.started closing": INFO,
    "turn.ended": INFO,
    "budget.reserved": DEBUG,
    "budget.settled": DEBUG,
    "budget.settled, cost unknown": DEBUG,
    "budget.granted": INFO,
    "budget.overrun": ERROR,
    "budget.price_unknown": WARNING,
    **{name: WARNING for name in EXAMPLES if name.endswith(".warning")},
    **{name: ERROR for name in EXAMPLES if name.endswith(".exceeded")},
    "context.measured": DEBUG,
    "assistant.said": INFO,
    "assistant.repeated": WARNING,
    "assistant.thought": INFO,
    "assistant.cited": INFO,
    "signal.parsed": INFO,
    "budget.unaffordable": WARNING,
    "run.taken": INFO,
    "run.delegated": INFO,
    "child.handed_out": INFO,
    "child.settled": INFO,
    "model.told": DEBUG,
    "model.failed": WARNING,
    "model.failed, for good": WARNING,
    "usage.disputed": WARNING,
    "user.awaited": INFO,
    "escalation.reached": WARNING,
    "escalation.reached, its handler failing": WARNING,
    "signal.rejected": WARNING,
    "tool.called": INFO,
    "tool.finished": INFO,
    "tool.finished failed": WARNING,
    "tool.tripped": WARNING,
    "agent.loop.detected": WARNING,
    "agent.errors.detected": WARNING,
    "agent.finished": INFO,
    "hint.given": DEBUG,
    "iteration.ended": INFO,
    "user.said": INFO,
    "review.requested": WARNING,
    "review.decided approved": INFO,
    "review.decided needs changes": INFO,
    "review.decided rejected": INFO,
    "tree.chosen": INFO,
    "tree.traced": DEBUG,
    "query.classified": INFO,
    "model.prompted": DEBUG,
    "capability.missing": WARNING,
    "fallback.chosen": WARNING,
    "agent.finished, with a caveat": INFO,
    "coding.opened": INFO,
    "coding.opened without tests": INFO,
    "coding.interviewed": INFO,
    "coding.specified": INFO,
    "coding.specified, incomplete": WARNING,
    "coding.priced": INFO,
    "coding.priced, unknown": INFO,
    "coding.priced, too much": WARNING,
    "coding.price_decided approved": INFO,
    "coding.price_decided otherwise": INFO,
    "coding.price_decided rejected": INFO,
    "coding.planned": INFO,
    "coding.tested": INFO,
    "coding.tested, failing": WARNING,
    "coding.tested, hanging": WARNING,
    "coding.judged": INFO,
    "coding.judged, all met": INFO,
    "coding.criticised": INFO,
    "coding.criticised, critically": WARNING,
    "coding.simplified": INFO,
    "coding.simplified, taken back": INFO,
    "coding.round_ended": INFO,
    "coding.round_ended, cost unknown": INFO,
    "coding.concluded": INFO,
    "coding.concluded at a limit": WARNING,
}


@pytest.mark.guarantee("H2")
@pytest.mark.parametrize("example", EXAMPLES)
def test_a_fact_says_how_much_it_matters(example: str) -> None:
    assert a_fact(EXAMPLES[example]).severity is SEVERITIES[example]


@pytest.mark.guarantee("H2")
@pytest.mark.parametrize("status", CallStatus)
def test_a_result_matters_more_when_the_tool_failed_to_do_its_job(status: CallStatus) -> None:
    failed = status in {CallStatus.FAILED, CallStatus.TIMED_OUT, CallStatus.REFUSED}
    result = ToolFinished(at_s=0.0, turn=0, call="1.1", tool="search", key="5f2c", status=status)
    assert severity_of(result) is (WARNING if failed else INFO)


@pytest.mark.guarantee("H2")
@pytest.mark.parametrize("kind", [LimitWarned, LimitExceeded])
def test_a_budget_payload_says_where_the_run_stands(kind: type[LimitNotice]) -> None:
    needed = {"turn", "max_turns", "percentage", "remaining", "forced"}
    assert needed <= {field.name for field in fields(kind)}


@pytest.mark.guarantee("H2", "A2")
def test_an_iteration_warning_counts_the_turns_used_and_left() -> None:
    facts = recorded("turn_limit")
    (place,) = places(facts, LimitWarned)
    payload = written(facts[place].payload)
    assert isinstance(payload, dict)
    expected = {"turn": 7, "max_turns": 10, "percentage": 70.0, "remaining": 3, "forced": False}
    assert facts[place].type == "budget.iteration.warning"
    assert expected.items() <= payload.items()


@pytest.mark.guarantee("H2", "A5")
def test_an_exceeded_limit_says_that_the_completion_was_forced() -> None:
    facts = recorded("turn_limit")
    (place,) = places(facts, LimitExceeded)
    payload = written(facts[place].payload)
    assert isinstance(payload, dict)
    expected = {"turn": 10, "max_turns": 10, "percentage": 100.0, "remaining": 0, "forced": True}
    assert facts[place].type == "budget.iteration.exceeded"
    assert expected.items() <= payload.items()


@pytest.mark.guarantee("H2", "A5")
def test_an_exceeded_limit_is_not_forced_where_there_was_no_answer_to_force() -> None:
    facts = recorded("turn_limit_without_text")
    (place,) = places(facts, LimitExceeded)
    payload = facts[place].payload
    assert isinstance(payload, LimitExceeded)
    assert not payload.forced


@pytest.mark.guarantee("H2")
def test_a_limit_on_something_else_says_how_far_the_turns_are_if_they_are_limited_too() -> None:
    (place,) = places(recorded("cost_limit"), LimitExceeded)
    payload = recorded("cost_limit")[place].payload
    assert isinstance(payload, LimitExceeded)
    assert (payload.turn, payload.max_turns) == (5, 50)


@pytest.mark.guarantee("H2")
def test_without_a_limit_on_turns_there_is_no_most() -> None:
    (place,) = places(recorded("time_limit"), LimitExceeded)
    payload = recorded("time_limit")[place].payload
    assert isinstance(payload, LimitExceeded)
    assert (payload.turn, payload.max_turns) == (5, None)


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("example", EXAMPLES)
def test_a_fact_cannot_be_changed(example: str) -> None:
    fact = a_fact(EXAMPLES[example])
    with pytest.raises(FrozenInstanceError):
        fact.seq = 1  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(FrozenInstanceError):
        fact.payload.__setattr__(fields(fact.payload)[0].name, None)


@pytest.mark.guarantee("H1")
def test_notes_are_no_observations() -> None:
    assert not set(NOTES) & set(OBSERVATIONS)
