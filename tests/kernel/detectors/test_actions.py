"""Tool calls in the order in which the model asked for them, however they finish."""

from dataclasses import replace

from endstop.kernel.detectors.actions import NO_OPEN_CALLS, Action, OpenCalls, shortened
from endstop.kernel.finding import Evidence
from endstop.kernel.observation import CallStatus, Observation, ToolFinished, TurnStarted, tool_called
from endstop.testing import ObservationScript, call


def actions_of(observations: list[Observation], open_calls: OpenCalls = NO_OPEN_CALLS) -> list[str]:
    seen: list[str] = []
    for observation in observations:
        open_calls, actions = open_calls.after(observation)
        seen.extend(action.what for action in actions)
    return seen


def finished(name: str, *, tool: str = "late") -> ToolFinished:
    return ToolFinished(at_s=0, turn=0, call=name, tool=tool, key="k")


def test_an_action_shows_the_call_as_people_would_write_it() -> None:
    script = ObservationScript().turn(call("search_docs", {"query": "login"}))
    assert actions_of(script.observations) == ['search_docs({"query":"login"})']


def test_calls_that_finish_in_another_order_are_taken_as_they_were_asked_for() -> None:
    calls = (call("a"), call("b"), call("c"))
    asked = actions_of(ObservationScript().turn(*calls).observations)
    turned = actions_of(ObservationScript().turn(*calls, answered_in=(2, 0, 1)).observations)
    assert turned == asked == ["a({})", "b({})", "c({})"]


def test_an_action_tells_a_detector_what_it_needs_to_know() -> None:
    answered = Action(finished=replace(finished("1"), is_waiting=True), what="late()")
    assert (answered.is_waiting, answered.identity, answered.seen.what) == (True, "k", "late()")
    _, (made,) = NO_OPEN_CALLS.after(finished("1"))
    assert made == Action(finished=finished("1"), what="late(…)")
    assert (made.is_waiting, made.identity, made.seen) == (
        False,
        "k",
        Evidence(turn=0, call="1", what="late(…)"),
    )


def test_an_answer_nobody_asked_for_counts_at_once() -> None:
    assert actions_of([finished("unheard")]) == ["late(…)"]


def test_an_unanswered_call_holds_back_the_others_only_until_the_turn_ends() -> None:
    script = ObservationScript().turn(call("never"), call("b"), answered_in=(1,))
    assert actions_of(script.observations[:-1]) == []
    assert actions_of(script.observations) == ["b({})"]
    assert actions_of([*script.observations[:-1], TurnStarted(at_s=9, turn=1)]) == ["b({})"]


def test_one_name_for_two_calls_still_gives_two_actions() -> None:
    called = [
        tool_called(at_s=0, turn=0, call=name, tool=tool, arguments={})
        for name, tool in (("x", "a"), ("twice", "b"), ("twice", "c"))
    ]
    answers = [finished("twice", tool="b"), finished("twice", tool="c"), finished("x", tool="a")]
    assert actions_of([*called, *answers]) == ["a({})", "b({})", "c({})"]


def test_very_many_open_calls_are_not_all_kept() -> None:
    script = ObservationScript().turn(*[call("a", n) for n in range(300)], answered_in=())
    open_calls = NO_OPEN_CALLS
    for observation in script.observations[:-1]:
        open_calls, _ = open_calls.after(observation)
    assert len(open_calls.calls) == 128


def test_what_does_not_concern_calls_changes_nothing() -> None:
    script = ObservationScript().user().turn(text="Hello.")
    for observation in script:
        assert NO_OPEN_CALLS.after(observation) == (NO_OPEN_CALLS, ())


def test_long_texts_are_cut_to_one_line() -> None:
    assert shortened("a\n b") == "a b"
    assert shortened("x" * 120) == "x" * 120
    assert shortened("x" * 121) == "x" * 119 + "…"
    assert shortened("a" + " " * 1_000 + "b") == "a…"


def test_a_success_is_a_tool_that_did_its_job() -> None:
    outcomes = {
        status: NO_OPEN_CALLS.after(
            ToolFinished(at_s=0, turn=0, call="c", tool="t", key="k", status=status, is_waiting=waiting)
        )[1][0].is_success
        for waiting in (True, False)
        for status in CallStatus
    }
    assert [status for status, is_success in outcomes.items() if is_success] == [CallStatus.EXECUTED]
