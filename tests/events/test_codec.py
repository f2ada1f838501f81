"""Facts as lines of JSON: nothing is lost on the way, and what is broken is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from payload_examples import EXAMPLES, type_in
from recorded_runs import BORN_AT, Recorded, a_fact, recorded

from endstop.errors import FactOrderError, MalformedFactError, NewerFactError, RecordError, UnknownFactError
from endstop.events.audit import audit
from endstop.events.codec import VERSION, decode, encode, from_json, read_record, to_json
from endstop.events.facts import Fact, Payload, Thought
from endstop.events.recorder import replay
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import AssistantSaid, CallSettled, CallStatus, SignalGiven, ToolFinished
from endstop.kernel.verdict import LimitWarned

Json = dict[str, Any]


def said(text: str) -> Fact:
    return a_fact(AssistantSaid(at_s=1.0, turn=0, text=text))


def as_json(example: str) -> Json:
    """The plain JSON values of an example, to be spoilt."""
    return cast("Json", json.loads(encode(a_fact(EXAMPLES[example]))))


def decoded(value: object) -> Fact:
    return decode(json.dumps(value))


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("example", EXAMPLES)
def test_every_kind_of_fact_comes_back_as_it_was(example: str) -> None:
    fact = a_fact(EXAMPLES[example], seq=7)
    assert decode(encode(fact)) == fact


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("example", EXAMPLES)
def test_every_kind_of_fact_comes_back_from_bytes(example: str) -> None:
    fact = a_fact(EXAMPLES[example])
    assert decode(encode(fact).encode()) == fact


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("example", EXAMPLES)
def test_every_kind_of_fact_is_written_the_same_again(example: str) -> None:
    line = encode(a_fact(EXAMPLES[example]))
    assert encode(decode(line)) == line


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("example", EXAMPLES)
def test_every_kind_of_fact_is_one_line_of_strict_json(example: str) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    line = encode(a_fact(EXAMPLES[example]))
    assert len(line.splitlines()) == 1
    assert isinstance(json.loads(line, parse_constant=refuse), dict)


@pytest.mark.guarantee("H1", "H2")
def test_a_line_says_who_wrote_what_when_in_which_run_and_how_much_it_matters() -> None:
    line = json.loads(encode(a_fact(EXAMPLES["budget.iteration.exceeded"], seq=3)))
    payload = line.pop("payload")
    assert line == {
        "run_id": "run_example",
        "seq": 3,
        "type": "budget.iteration.exceeded",
        "version": VERSION,
        "time": BORN_AT + 3,
        "source": "test",
        "severity": "error",
    }
    assert payload["limit_type"] == "turns"


@pytest.mark.guarantee("H1")
def test_to_json_and_from_json_are_the_same_without_the_text() -> None:
    fact = a_fact(EXAMPLES["run.started in full"])
    assert from_json(to_json(fact)) == fact


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize(
    ("example", "path"),
    [
        ("run.started in full", ("config", "budget", "cost_usd")),
        ("budget.reserved", ("amounts", "cost_usd")),
        ("budget.settled", ("cost_usd",)),
        ("budget.granted", ("grant", "cost_usd")),
        ("budget.cost.warning", ("current_value",)),
        ("iteration.ended", ("cost_usd",)),
        ("run.ended forced", ("outcome", "reason", "current")),
    ],
)
def test_money_is_written_as_text(example: str, path: tuple[str, ...]) -> None:
    value = as_json(example)["payload"]
    for name in path:
        value = value[name]
    assert isinstance(value, str)
    Decimal(value)


@pytest.mark.guarantee("A10", "H1")
def test_unknown_cost_is_null_and_not_zero() -> None:
    assert as_json("budget.settled, cost unknown")["payload"]["cost_usd"] is None


MONEY = st.decimals(allow_nan=False, allow_infinity=False)
SECONDS = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
COUNTS = st.integers(min_value=0, max_value=10**30)
NUMBERS = COUNTS | SECONDS | MONEY
JSON_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(max_size=50)
PAYLOADS = st.one_of(
    st.builds(
        CallSettled,
        at_s=SECONDS,
        scope=TEXTS,
        turn=COUNTS,
        reservation=TEXTS,
        input_tokens=COUNTS,
        output_tokens=COUNTS,
        cost_usd=st.none() | MONEY,
        model_calls=COUNTS,
        is_final=st.booleans(),
        is_estimate=st.booleans(),
    ),
    st.builds(
        LimitWarned,
        limit_type=st.sampled_from(list(LimitKind)[:6]),
        current_value=NUMBERS,
        limit_value=NUMBERS,
        percentage=SECONDS,
        remaining=NUMBERS,
        turn=COUNTS,
        max_turns=st.none() | COUNTS,
        message=TEXTS,
        forced=st.booleans(),
    ),
    st.builds(
        ToolFinished,
        at_s=SECONDS,
        turn=COUNTS,
        call=TEXTS,
        tool=TEXTS,
        key=TEXTS,
        status=st.sampled_from(CallStatus),
        result=TEXTS,
    ),
    st.builds(
        SignalGiven,
        at_s=SECONDS,
        turn=COUNTS,
        type=TEXTS,
        confidence=st.floats(0, 1),
        reason=st.none() | TEXTS,
        fields=st.dictionaries(TEXTS, JSON_SCALARS | TEXTS | st.lists(JSON_SCALARS | TEXTS).map(tuple)),
    ),
)


@pytest.mark.guarantee("H1")
@given(payload=PAYLOADS, seq=COUNTS, time=SECONDS, run_id=TEXTS, source=TEXTS)
def test_no_digit_and_no_character_is_lost(
    payload: Payload, seq: int, time: float, run_id: str, source: str
) -> None:
    fact = Fact(run_id=run_id, seq=seq, time=time, source=source, payload=payload)
    line = encode(fact)
    assert decode(line) == fact
    assert encode(decode(line)) == line


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("example", ["budget.settled", "run.started in full", "assistant.said"])
@pytest.mark.parametrize("as_bytes", [False, True], ids=["text", "bytes"])
def test_a_line_that_was_cut_off_is_malformed_wherever_it_was_cut(example: str, as_bytes: bool) -> None:
    line = encode(a_fact(EXAMPLES[example]))
    whole = line.encode() if as_bytes else line
    for length in range(len(whole)):
        with pytest.raises(MalformedFactError):
            decode(whole[:length])


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize(
    "separator", ["\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
)
def test_a_text_with_line_ends_of_any_kind_stays_on_one_line(separator: str) -> None:
    fact = said(f"one{separator}two")
    assert encode(fact).splitlines() == [encode(fact)]
    assert decode(encode(fact)) == fact


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("text", ["\ud800", "half \udc00 a pair", "\x00", "\ufeff", "🙂", "\u202e"])
def test_a_text_that_a_model_may_write_can_be_saved_as_utf_8_and_read_back(text: str) -> None:
    fact = said(text)
    assert decode(encode(fact).encode("utf-8")) == fact


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "null",
        "[]",
        "7",
        '"run.started"',
        "not json",
        "{'run_id': 1}",
        '{"seq": 1}{"seq": 2}',
        '{"seq": 1,}',
        b"\xff\xfe\xfa",
        b'{"run_id": "\xe4"}',
        "[" * 100_000,
        '{"a":' * 100_000,
    ],
    ids=lambda line: repr(line)[:20],
)
def test_what_is_not_one_json_object_is_malformed(line: str | bytes) -> None:
    with pytest.raises(MalformedFactError):
        decode(line)


@pytest.mark.guarantee("H1", "I7")
def test_the_error_for_a_line_that_was_cut_off_shows_it_and_says_what_is_still_good() -> None:
    line = encode(said("Hello."))[:40]
    with pytest.raises(MalformedFactError) as caught:
        decode(line)
    assert line in caught.value.what
    assert caught.value.to_do == "The line may be cut off: everything before it is still good"


@pytest.mark.guarantee("I7")
def test_the_error_for_a_huge_line_shows_only_its_beginning() -> None:
    with pytest.raises(MalformedFactError) as caught:
        decode("[1, " * 10_000)
    assert len(str(caught.value)) < 400


@pytest.mark.guarantee("H1", "I7")
@pytest.mark.parametrize("field", ["run_id", "seq", "type", "version", "time", "source", "payload"])
def test_a_fact_without_one_of_its_fields_is_malformed_and_the_field_is_named(field: str) -> None:
    value = as_json("turn.started")
    del value[field]
    with pytest.raises(MalformedFactError, match=field):
        decoded(value)


@pytest.mark.guarantee("H1")
def test_the_severity_in_a_line_is_for_people_and_is_worked_out_anew() -> None:
    value = as_json("turn.started")
    value["severity"] = "critical"
    assert decoded(value) == a_fact(EXAMPLES["turn.started"])


WRONG: dict[str, list[object]] = {
    "text": [None, 1, 1.5, True, [], {}],
    "a whole number": [None, "1", 1.5, 1.0, True, [], {}],
    "a number": [None, "1", True, [], {}],
    "true or false": [None, 0, 1, "true", []],
    "a list": [None, "a", 1, {}],
    "an object": [None, "a", 1, [], True],
    "an amount of money as text": [1, 0.5, True, [], "", "ten", "NaN", "Infinity", "-Infinity", "1,5"],
}
PLACES = [
    ("turn.started", "run_id", "text"),
    ("turn.started", "source", "text"),
    ("turn.started", "type", "text"),
    ("turn.started", "seq", "a whole number"),
    ("turn.started", "version", "a whole number"),
    ("turn.started", "time", "a number"),
    ("turn.started", "payload", "an object"),
    ("turn.started", "payload.at_s", "a number"),
    ("turn.started", "payload.scope", "text"),
    ("turn.started", "payload.turn", "a whole number"),
    ("budget.settled", "payload.is_final", "true or false"),
    ("budget.reserved", "payload.amounts", "an object"),
    ("budget.reserved", "payload.amounts.cost_usd", "an amount of money as text"),
    ("iteration.ended", "payload.issues", "a list"),
    ("signal.parsed", "payload.fields", "an object"),
    ("run.started", "payload.config.budget.warn_at", "an object"),
]
WRONG_KINDS = [
    pytest.param(example, place, wrong, name, id=f"{place} = {wrong!r}")
    for example, place, name in PLACES
    for wrong in WRONG[name]
]


@pytest.mark.guarantee("H1", "I7")
@pytest.mark.parametrize(("example", "place", "wrong", "expected"), WRONG_KINDS)
def test_a_value_of_the_wrong_kind_is_malformed_and_its_place_is_named(
    example: str, place: str, wrong: object, expected: str
) -> None:
    with pytest.raises(MalformedFactError) as caught:
        decoded(spoilt(example, place, wrong))
    assert place in caught.value.what
    assert expected in caught.value.what


def spoilt(example: str, place: str, wrong: object) -> Json:
    """An example with another value in one place."""
    value = as_json(example)
    inner = value
    *way, last = place.split(".")
    for name in way:
        inner = inner[name]
    inner[last] = wrong
    return value


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("place", ["time", "payload.at_s", "payload.percentage", "payload.current_value"])
@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_a_finite_number_is_malformed(place: str, wrong: float) -> None:
    example = "budget.time.warning" if place != "payload.at_s" else "turn.started"
    with pytest.raises(MalformedFactError):
        decoded(spoilt(example, place, wrong))


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize(
    "number", ["1e400", "9" * 310, "9" * 5_000], ids=["1e400", "310 digits", "5,000 digits"]
)
def test_a_time_too_large_to_hold_is_malformed(number: str) -> None:
    line = encode(a_fact(EXAMPLES["turn.started"])).replace(str(BORN_AT), number)
    assert number in line
    with pytest.raises(MalformedFactError):
        decode(line)


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "Infinity"])
def test_a_field_of_a_signal_that_could_not_be_written_again_is_malformed(number: str) -> None:
    line = encode(a_fact(EXAMPLES["signal.parsed"])).replace("0.5,", f"{number},")
    assert number in line
    with pytest.raises(MalformedFactError):
        decode(line)


@pytest.mark.guarantee("H1", "I7")
@pytest.mark.parametrize(
    ("example", "place", "wrong", "words"),
    [
        ("tool.finished", "payload.status", "exploded", "executed, failed, timed_out"),
        ("tool.finished", "payload.status", [], "executed, failed, timed_out"),
        ("turn.started", "payload.closing", "wishes", "payload.closing"),
        ("run.ended forced", "payload.outcome.is", "Perfect", "Completed, Forced, Stopped"),
        ("run.ended forced", "payload.outcome.is", None, "Completed, Forced, Stopped"),
        ("run.ended forced", "payload.outcome.is", [], "Completed, Forced, Stopped"),
        ("run.ended forced", "payload.outcome", "Completed", "payload.outcome"),
        ("run.ended forced", "payload.outcome", None, "payload.outcome"),
        ("run.ended forced", "payload.outcome", {}, "Completed, Forced, Stopped"),
        ("review.decided approved", "payload.decision.is", "Forced", "Approved, NeedsChanges, Rejected"),
        ("run.started in full", "payload.config.stop.is", "Never", "AnyOf, AllOf, TurnsTaken"),
        ("run.started in full", "payload.config.responses", {"cycle": "dance"}, "go_on, nudge, ask, stop"),
        ("run.started in full", "payload.config.budget.warn_at", {"luck": 0.5}, "turns, model_calls"),
        ("run.started", "payload.detectors", "mine", "payload.detectors"),
        ("budget.iteration.warning", "payload.max_turns", True, "payload.max_turns"),
        ("iteration.ended", "payload.issues", ["E501", 7], "payload.issues[1]"),
    ],
)
def test_a_value_that_is_none_of_those_possible_is_malformed_and_they_are_named(
    example: str, place: str, wrong: object, words: str
) -> None:
    with pytest.raises(MalformedFactError) as caught:
        decoded(spoilt(example, place, wrong))
    assert words in caught.value.what


@pytest.mark.guarantee("I7")
@pytest.mark.parametrize("wrong", [True, [], {}, "seven"])
def test_a_wrong_value_where_several_kinds_are_possible_says_which(wrong: object) -> None:
    with pytest.raises(MalformedFactError) as caught:
        decoded(spoilt("budget.iteration.warning", "payload.current_value", wrong))
    assert "payload.current_value" in caught.value.what
    assert "whole number" in caught.value.what


@pytest.mark.guarantee("H1", "I7")
@pytest.mark.parametrize(
    ("example", "place", "wrong", "words"),
    [
        ("run.started", "payload.config.budget.turns", 0, "turns is 0"),
        ("run.started", "payload.config.thresholds.identical_calls", 1, "identical_calls is 1"),
        ("budget.granted", "payload.grant.by", " ", "does not say who"),
        ("budget.reserved", "payload.amounts.tokens", -1, "tokens is -1"),
        ("review.decided needs changes", "payload.decision.feedback", "", "feedback"),
    ],
)
def test_a_value_out_of_bounds_is_malformed_and_says_what_is_allowed(
    example: str, place: str, wrong: object, words: str
) -> None:
    with pytest.raises(MalformedFactError, match=words):
        decoded(spoilt(example, place, wrong))


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("example", EXAMPLES)
def test_a_payload_without_what_it_must_have_is_malformed(example: str) -> None:
    value = as_json(example)
    value["payload"] = {}
    with pytest.raises(MalformedFactError, match="payload lacks"):
        decoded(value)


@pytest.mark.guarantee("H1")
def test_a_field_that_has_a_default_may_be_missing() -> None:
    """So facts from before a field was added can still be read."""
    value = as_json("tool.finished failed")
    for name in ("scope", "is_waiting", "changes_something", "is_cursor"):
        del value["payload"][name]
    assert decoded(value) == a_fact(EXAMPLES["tool.finished failed"])


@pytest.mark.guarantee("H1")
def test_a_field_nobody_knows_is_passed_over() -> None:
    value = as_json("turn.started")
    value["payload"]["mood"] = "good"
    value["weather"] = "fine"
    assert decoded(value) == a_fact(EXAMPLES["turn.started"])


@pytest.mark.guarantee("H1", "I7")
def test_a_type_nobody_knows_is_an_error_that_names_it() -> None:
    value = as_json("turn.started")
    value["type"] = "turn.danced"
    with pytest.raises(UnknownFactError, match=r"turn\.danced"):
        decoded(value)


@pytest.mark.guarantee("H1", "I7")
def test_a_fact_of_a_newer_version_is_an_error_that_says_to_update() -> None:
    value = as_json("turn.started")
    value["version"] = VERSION + 1
    with pytest.raises(NewerFactError, match=f"version {VERSION + 1}.*update"):
        decoded(value)


@pytest.mark.guarantee("H1")
def test_a_newer_fact_of_a_type_nobody_knows_is_newer_and_not_unknown() -> None:
    value = as_json("turn.started") | {"version": VERSION + 1, "type": "turn.danced"}
    with pytest.raises(NewerFactError):
        decoded(value)


@pytest.mark.guarantee("H1")
def test_a_fact_of_an_older_version_is_still_read() -> None:
    value = as_json("turn.started") | {"version": VERSION - 1}
    assert decoded(value) == a_fact(EXAMPLES["turn.started"])


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize(
    ("example", "name"),
    [
        ("budget.token.warning", "budget.iteration.warning"),
        ("agent.errors.detected", "agent.loop.detected"),
        ("tool.tripped", "agent.loop.detected"),
        ("budget.time.exceeded", "budget.token.exceeded"),
    ],
)
def test_a_fact_that_says_one_type_and_holds_another_is_malformed(example: str, name: str) -> None:
    value = as_json(example) | {"type": name}
    with pytest.raises(MalformedFactError, match=f"says '{name}' but holds '{type_in(example)}'"):
        decoded(value)


@pytest.mark.guarantee("H1")
def test_the_payload_of_another_type_is_malformed() -> None:
    value = as_json("turn.started") | {"type": "tool.called"}
    with pytest.raises(MalformedFactError, match="payload lacks"):
        decoded(value)


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("kind", ["tool_calls_per_turn", "parallel_tools"])
def test_a_notice_about_a_limit_that_is_never_noticed_is_malformed(kind: str) -> None:
    with pytest.raises(MalformedFactError):
        decoded(spoilt("budget.iteration.warning", "payload.limit_type", kind))


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("depth", [30, 400])
def test_fields_of_a_signal_that_nest_absurdly_deep_are_malformed(depth: int) -> None:
    nested: object = "deep"
    for _ in range(depth):
        nested = [nested]
    with pytest.raises(MalformedFactError):
        decoded(spoilt("signal.parsed", "payload.fields", {"attempted": nested}))


@pytest.mark.guarantee("H1")
def test_a_condition_that_nests_absurdly_deep_is_malformed() -> None:
    condition = '{"is":"AnyOf","conditions":['
    line = encode(a_fact(EXAMPLES["run.started"])).replace(
        '"stop":null', f'"stop":{condition * 400}{"]}" * 400}'
    )
    assert "AnyOf" in line
    with pytest.raises(MalformedFactError):
        decode(line)


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.just("is"), inner),
    max_leaves=5,
)


@pytest.mark.guarantee("H1", "H5")
@given(data=st.data(), example=st.sampled_from(sorted(EXAMPLES)), wrong=ANY_JSON)
def test_whatever_stands_anywhere_in_a_line_it_is_a_fact_that_can_be_written_again_or_a_record_error(
    data: st.DataObject, example: str, wrong: object
) -> None:
    value = as_json(example)
    inner, key = data.draw(st.sampled_from(list(_places(value))))
    inner[key] = wrong
    try:
        fact = decoded(value)
    except RecordError:
        return
    assert decode(encode(fact)) == fact


def _places(value: object) -> Iterator[tuple[Any, Any]]:
    """Every place in plain JSON values: what it is in, and under which key."""
    if isinstance(value, dict):
        for key, item in tuple(cast("Json", value).items()):
            yield value, key
            yield from _places(item)
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            yield value, index
            yield from _places(item)


@pytest.mark.guarantee("H1")
def test_a_record_is_read_line_by_line(run: Recorded) -> None:
    lines = [encode(fact) for fact in run.facts]
    assert read_record(lines).require() == run.facts


@pytest.mark.guarantee("H1")
def test_a_record_is_read_from_bytes_with_line_ends() -> None:
    facts = recorded("finished")
    assert read_record(encode(fact).encode() + b"\r\n" for fact in facts).require() == facts


@pytest.mark.guarantee("H1")
def test_empty_lines_are_passed_over() -> None:
    facts = recorded("finished")
    text = "\n".join(f"{encode(fact)}\n  " for fact in facts)
    assert read_record(text.split("\n")).require() == facts


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("lines", [[], ["", "\n"]])
def test_an_empty_record_has_no_facts_and_no_problem(lines: list[str]) -> None:
    assert read_record(lines).require() == ()


def _in(fact: Fact, **changes: object) -> str:
    return json.dumps(to_json(fact) | changes)


PROBLEMS: dict[str, tuple[Callable[[Fact], str | bytes], type[RecordError], str]] = {
    "cut off": (lambda fact: encode(fact)[:-1], MalformedFactError, "Not a line of JSON"),
    "not an object": (lambda _: "[]", MalformedFactError, "Not a JSON object"),
    "not UTF-8": (lambda _: b"\xff\xff", MalformedFactError, "Not a line of JSON"),
    "a field missing": (lambda fact: _in(fact, payload={}), MalformedFactError, "payload lacks"),
    "an unknown type": (lambda fact: _in(fact, type="a.b"), UnknownFactError, "'a.b'"),
    "a newer version": (lambda fact: _in(fact, version=99), NewerFactError, "version 99"),
    "missing before it": (lambda fact: encode(replace(fact, seq=7)), FactOrderError, "Fact 5 is missing"),
    "doubled": (lambda fact: encode(replace(fact, seq=4)), FactOrderError, "Fact 4 is doubled"),
    "out of order": (lambda fact: encode(replace(fact, seq=2)), FactOrderError, "2 came after 4"),
    "of another run": (lambda fact: encode(replace(fact, run_id="b")), FactOrderError, "A fact of run 'b'"),
}


@pytest.mark.guarantee("H1", "H5", "I7")
@pytest.mark.parametrize("problem", PROBLEMS)
def test_reading_keeps_every_fact_before_a_problem_and_names_it(problem: str) -> None:
    spoil, error, words = PROBLEMS[problem]
    facts = recorded("finished")
    lines: list[str | bytes] = [encode(fact) for fact in facts]
    lines[5] = spoil(facts[5])
    read = read_record(lines)
    assert read.facts == facts[:5]
    assert read.problem is not None
    assert type(read.problem) is error
    assert words in read.problem.what


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_record_with_a_problem_does_not_pass_for_a_whole_one(problem: str) -> None:
    spoil, error, _ = PROBLEMS[problem]
    facts = recorded("finished")
    lines = [*(encode(fact) for fact in facts[:5]), spoil(facts[5])]
    with pytest.raises(error):
        read_record(lines).require()


@pytest.mark.guarantee("H1", "I7")
@pytest.mark.parametrize(
    ("seq", "words"), [(1, "Fact 0 is missing: 1 came after nothing"), (-1, "-1 came after nothing")]
)
def test_a_record_that_does_not_begin_at_zero_is_out_of_order(seq: int, words: str) -> None:
    read = read_record([encode(a_fact(EXAMPLES["run.started"], seq=seq))])
    assert read.facts == ()
    assert isinstance(read.problem, FactOrderError)
    assert words in read.problem.what
    assert read.problem.allowed == "fact 0 next"


@pytest.mark.guarantee("H1", "H5")
def test_reading_stops_at_a_line_that_only_a_spoilt_signal_makes_unreadable() -> None:
    facts = recorded("signals")
    place = next(fact.seq for fact in facts if fact.type == "signal.parsed")
    lines = [encode(fact) for fact in facts]
    lines[place] = lines[place].replace('"fields":{', '"fields":{"deep":' + "[" * 50 + "]" * 50 + ",")
    read = read_record(lines)
    assert read.facts == facts[:place]
    assert isinstance(read.problem, MalformedFactError)


@pytest.mark.guarantee("H1")
def test_a_note_is_a_fact_like_any_other() -> None:
    fact = a_fact(Thought(turn=0, text="Hm."))
    assert read_record([encode(fact)]).require() == (fact,)


@pytest.mark.guarantee("H1")
def test_the_golden_record_can_be_read(golden_lines: list[str]) -> None:
    facts = read_record(golden_lines).require()
    assert len(facts) == len(golden_lines)
    assert (facts[0].type, facts[-1].type) == ("run.started", "run.ended")


@pytest.mark.guarantee("H1")
def test_the_golden_record_replays_to_the_same_facts(golden_lines: list[str]) -> None:
    facts = read_record(golden_lines).require()
    assert tuple(replay(facts).facts) == facts


@pytest.mark.guarantee("A14")
def test_the_golden_record_is_audited_as_holding(golden_lines: list[str]) -> None:
    checked = audit(read_record(golden_lines).require())
    assert checked.holds, str(checked)


@pytest.mark.guarantee("H1", "H2")
@pytest.mark.parametrize(
    "name",
    [
        "budget.iteration.warning",
        "budget.iteration.exceeded",
        "agent.loop.detected",
        "tool.tripped",
        "signal.parsed",
        "signal.rejected",
        "budget.granted",
        "budget.price_unknown",
        "review.requested",
        "review.decided",
        "scope.opened",
        "scope.ended",
        "run.paused",
        "hint.given",
    ],
)
def test_the_golden_record_holds_a_bit_of_everything(name: str, golden_lines: list[str]) -> None:
    assert name in {fact.type for fact in read_record(golden_lines).facts}
