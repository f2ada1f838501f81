"""The fallback (C7): when it is needed, what is chosen, and that it always comes to an end."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.errors import InvalidValueError
from endstop.oracle.fallback import (
    MOST_IN_A_ROW,
    FallbackAction,
    FallbackChoice,
    Situation,
    bounded,
    choose,
    make_chooser,
    needs_fallback,
)
from endstop.oracle.fallback_hint import MOST_HINT_CHARS, hint_for
from endstop.signals import FieldValue, Signal, SignalType

CONTINUE, FORCE = FallbackAction.CONTINUE, FallbackAction.FORCE_RESPONSE
RETRY, ESCALATE = FallbackAction.RETRY_WITH_HINT, FallbackAction.ESCALATE


def stuck(**fields: FieldValue) -> Signal:
    return Signal(type=SignalType.STUCK, confidence=0.9, fields=fields)


def unsure(type_: SignalType = SignalType.NEED_TURN, confidence: float = 0.2, **fields: FieldValue) -> Signal:
    return Signal(type=type_, confidence=confidence, fields=fields)


LONG = "The token is read from the header and compared with the one in the session. " * 5


@pytest.mark.guarantee("C7")
@pytest.mark.parametrize(
    ("signal", "turns_without_signal", "reason"),
    [
        (None, 0, None),
        (None, 2, None),
        (None, 3, "no signal for 3 turns"),
        (None, 7, "no signal for 7 turns"),
        (unsure(confidence=0.3), 0, None),
        (unsure(confidence=0.29), 0, "the agent is not sure: its confidence is 0.29, under 0.3"),
        (
            unsure(SignalType.CONTEXT_SUFFICIENT, 0.0),
            0,
            "the agent is not sure: its confidence is 0, under 0.3",
        ),
        (stuck(), 0, "the agent is stuck"),
        (stuck(blocker="no such file"), 0, "the agent is stuck: no such file"),
        (Signal(type=SignalType.NEED_CAPABILITY), 0, None),
        # a signal in the latest reply ends the row of turns without one, whatever a caller still counts
        (unsure(confidence=0.8), 9, None),
    ],
)
def test_the_fallback_is_needed_when_signals_fail(
    signal: Signal | None, turns_without_signal: int, reason: str | None
) -> None:
    assert needs_fallback(signal, turns_without_signal=turns_without_signal) == reason


@pytest.mark.guarantee("C7")
@pytest.mark.parametrize(
    ("situation", "action", "why"),
    [
        # it gets on
        (Situation(tool_calls_last_turn=2), CONTINUE, "its tools work"),
        (Situation(tool_calls_last_turn=1, text=LONG, has_sources=True), CONTINUE, "its tools work"),
        (Situation(tool_calls_last_turn=1, signal=unsure()), CONTINUE, "its tools work"),
        (Situation(tool_calls_last_turn=1, text="Is it here?"), CONTINUE, "its tools work"),
        # it has something to answer with
        (Situation(text=LONG), FORCE, "written enough"),
        (Situation(text="In auth.py.", has_sources=True), FORCE, "found sources"),
        (Situation(has_sources=True), FORCE, "found sources"),
        (Situation(text="In short, yes."), FORCE, "conclusion"),
        (Situation(text="It is in a.py. I hope this helps! Would you like more?"), FORCE, "conclusion"),
        (Situation(text=LONG + "Would you like to see more?"), FORCE, "written enough"),
        (Situation(text=LONG, signal=unsure()), FORCE, "written enough"),
        (Situation(text=LONG, tool_errors_in_a_row=2), FORCE, "written enough"),
        (Situation(text=LONG, signal=stuck(blocker="too big"), fallbacks_before=1), FORCE, "written enough"),
        (Situation(text="The project has no such class.", signal=stuck(blocker="none")), FORCE, "conclusion"),
        # a hint may help
        (Situation(signal=stuck(blocker="nothing found")), RETRY, "it is stuck"),
        (Situation(text=LONG, signal=stuck(suggestions=("read the tests",))), RETRY, "it is stuck"),
        (Situation(signal=stuck(blocker="too big"), tool_calls_last_turn=1), RETRY, "it is stuck"),
        (Situation(tool_calls_last_turn=1, tool_errors_in_a_row=1, text=LONG), RETRY, "its tools fail"),
        (Situation(), RETRY, "neither an answer nor sources"),
        (Situation(text="Hmm."), RETRY, "neither an answer nor sources"),
        (Situation(signal=stuck()), RETRY, "neither an answer nor sources"),
        (Situation(signal=unsure()), RETRY, "neither an answer nor sources"),
        # only the user can help
        (Situation(signal=stuck(blocker="No permission to read it")), ESCALATE, "only the user can give"),
        (Situation(signal=stuck(blocker="unclear which is meant; ambiguous")), ESCALATE, "only the user"),
        (Situation(signal=stuck(blocker="credentials missing"), turns_left=0), ESCALATE, "only the user"),
        (Situation(text="There are two. Which one do you mean?"), ESCALATE, "asks the user"),
        (Situation(text=LONG + "\n\nWhich of these is meant?"), ESCALATE, "asks the user"),
        (Situation(text="どちらですか？"), ESCALATE, "asks the user"),
        (Situation(text="Please provide the log."), ESCALATE, "asks the user"),
        (Situation(text="Could you share the log? Let me know if that is a problem."), ESCALATE, "asks"),
    ],
)
def test_the_rules_choose(situation: Situation, action: FallbackAction, why: str) -> None:
    choice = choose(situation)
    assert choice.action is action
    assert why in choice.why
    assert choice.by == "heuristics"
    assert bool(choice.hint) is (action is RETRY)


@pytest.mark.guarantee("C7")
@pytest.mark.parametrize("action", [CONTINUE, RETRY])
@pytest.mark.parametrize(
    ("limit", "why"),
    [
        (Situation(fallbacks_before=2), "it was let go on 2 times already"),
        (Situation(turns_left=1), "there is no turn left but the last"),
        (Situation(turns_left=0), "there is no turn left but the last"),
    ],
)
def test_at_the_bound_going_on_becomes_an_answer_or_a_question(
    action: FallbackAction, limit: Situation, why: str
) -> None:
    wanted = FallbackChoice(action=action, why="it may", hint="try", by="somebody")
    with_text = replace(limit, text="some")
    with_sources = replace(limit, has_sources=True)
    with_nothing = replace(limit, text=" ")
    assert bounded(wanted, with_text) == FallbackChoice(
        action=FORCE, why=f"{why}: it answers with what it has", by="somebody"
    )
    assert bounded(wanted, with_sources).action is FORCE
    assert bounded(wanted, with_nothing).action is ESCALATE


@pytest.mark.parametrize("turns_left", [None, 2, 30])
@pytest.mark.parametrize("before", range(MOST_IN_A_ROW))
def test_below_the_bound_a_choice_stands(turns_left: int | None, before: int) -> None:
    wanted = FallbackChoice(action=CONTINUE, why="it may")
    assert bounded(wanted, Situation(turns_left=turns_left, fallbacks_before=before)) is wanted


values = st.one_of(st.text(max_size=400), st.integers(), st.lists(st.text(max_size=90)).map(tuple))
signals = st.builds(
    Signal,
    type=st.sampled_from(SignalType),
    confidence=st.floats(0.0, 1.0),
    fields=st.dictionaries(st.sampled_from(["blocker", "suggestions", "attempted", "reason"]), values),
)
situations = st.builds(
    Situation,
    question=st.text(max_size=600),
    text=st.text(max_size=3_000),
    signal=st.none() | signals,
    turns_without_signal=st.integers(0, 9),
    turns_left=st.none() | st.integers(0, 9),
    tool_calls_last_turn=st.integers(0, 3),
    tool_errors_in_a_row=st.integers(0, 3),
    has_sources=st.booleans(),
    fallbacks_before=st.integers(0, 5),
)


@pytest.mark.guarantee("C7")
@given(situations)
def test_whatever_the_situation_it_is_decided_and_comes_to_an_end(situation: Situation) -> None:
    choice = choose(situation)
    assert choice == choose(situation)
    assert choice.why
    if choice.action in (CONTINUE, RETRY):
        assert situation.fallbacks_before < MOST_IN_A_ROW
        assert situation.turns_left is None or situation.turns_left > 1


@given(situations)
def test_a_hint_is_short_and_never_empty(situation: Situation) -> None:
    assert 0 < len(hint_for(situation)) <= MOST_HINT_CHARS


def test_the_hint_is_made_of_what_the_agent_said_itself() -> None:
    signal = stuck(
        blocker="no file mentions it.",
        suggestions=("look for backoff", {"then": "read\nloop.py"}, ()),
        attempted="search_code retry",
    )
    assert hint_for(Situation(question="Where is the retry?", signal=signal)) == (
        "You are stuck: no file mentions it. You suggested this yourself, so do it now: look for backoff; "
        "then: read loop.py. Do not try these again: search_code retry. The question is: Where is the retry? "
        "If that does not help, answer with what you have. End with a signal."
    )


@pytest.mark.parametrize(
    ("situation", "start"),
    [
        (Situation(), "Your last reply says nothing."),
        (Situation(text="hm"), "You have not said how you stand."),
        (Situation(signal=unsure()), "You are not sure (0.2)."),
        (Situation(signal=stuck()), "You are stuck."),
        (Situation(tool_errors_in_a_row=1), "Your tool calls fail."),
    ],
)
def test_the_hint_begins_with_what_is_wrong(situation: Situation, start: str) -> None:
    assert hint_for(situation).startswith(start)


def test_a_way_round_that_the_agent_named_is_in_the_hint() -> None:
    signal = unsure(SignalType.NEED_CAPABILITY, workaround="show the text to paste")
    assert "a way round: show the text to paste." in hint_for(Situation(signal=signal))


def test_the_rules_are_the_default_chooser() -> None:
    assert make_chooser() is choose
    assert make_chooser("heuristics") is choose


def test_an_unknown_chooser_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(InvalidValueError, match=r"fallback is 'magic'\. Allowed: heuristics or bert"):
        make_chooser("magic")
