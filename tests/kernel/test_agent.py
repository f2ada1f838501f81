"""What a policy is shown: the configuration of a run and how it stands, frozen."""

from dataclasses import FrozenInstanceError, fields, replace
from types import MappingProxyType
from typing import Any

import pytest

from endstop.errors import InvalidValueError
from endstop.kernel.agent import DEFAULT_BUDGET, AgentConfig, AgentState
from endstop.kernel.budget import Budget
from endstop.kernel.conditions import Condition, turns
from endstop.kernel.finding import DEFAULT_RESPONSES, Finding, Pattern, Response
from endstop.kernel.governor import Governor
from endstop.kernel.limits import LimitKind, Meter
from endstop.kernel.observation import TurnStarted, tool_called
from endstop.kernel.outcome import StopRule
from endstop.kernel.usage import Usage


class Homemade(Condition):
    def met(self, state: AgentState) -> str | None:
        return None


@pytest.mark.guarantee("F2")
@pytest.mark.parametrize("field", [field.name for field in fields(AgentState)])
def test_no_field_of_a_state_can_be_changed(field: str) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(AgentState(), field, None)


@pytest.mark.guarantee("F2")
def test_a_state_takes_no_further_fields_and_no_positions() -> None:
    with pytest.raises((AttributeError, TypeError)):
        AgentState().notes = "mine"  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TypeError):
        AgentState("ada")  # pyright: ignore[reportCallIssue]


@pytest.mark.guarantee("F2")
def test_a_new_state_has_used_and_seen_nothing() -> None:
    state = AgentState()
    assert (state.turn, state.tokens_used, state.elapsed_s, state.stale_turns) == (0, 0, 0.0, 0)
    assert (state.start_time_s, state.now_s, state.idle_s) == (0.0, 0.0, 0.0)
    assert (state.user, state.project, state.termination_reason, state.closing) == (None,) * 4
    assert (state.recent_actions, state.findings, state.meters) == ((), (), ())


@pytest.mark.guarantee("F2")
def test_a_state_shows_everything_that_the_requirements_name() -> None:
    config = AgentConfig(budget=Budget(turns=5))
    state = AgentState(
        user="ada",
        project="engine",
        turn=3,
        usage=Usage(tokens=1_500, seconds=12.5),
        start_time_s=4.0,
        recent_actions=("a", "b", "c"),
        termination_reason=StopRule.TURNS,
        config=config,
        extensions={"mine": 1},
    )
    assert (state.user, state.project, state.turn, state.tokens_used) == ("ada", "engine", 3, 1_500)
    assert (state.start_time_s, state.recent_actions) == (4.0, ("a", "b", "c"))
    assert (state.termination_reason, state.config, state.extensions) == (StopRule.TURNS, config, {"mine": 1})


@pytest.mark.guarantee("F2")
@pytest.mark.parametrize("rule", [None, *StopRule])
def test_a_state_is_terminal_when_it_has_a_termination_reason(rule: StopRule | None) -> None:
    assert AgentState(termination_reason=rule).is_terminal is (rule is not None)


@pytest.mark.guarantee("F2")
def test_elapsed_seconds_are_those_that_are_charged() -> None:
    assert AgentState(start_time_s=10.0, now_s=100.0, usage=Usage(seconds=30.0)).elapsed_s == 30.0


@pytest.mark.guarantee("F2")
def test_the_percent_of_each_limit_is_derived() -> None:
    state = AgentState(
        meters=(
            Meter(kind=LimitKind.TURNS, used=7, maximum=10),
            Meter(kind=LimitKind.TOKENS, used=1, maximum=3),
        )
    )
    assert state.percent == {LimitKind.TURNS: 70.0, LimitKind.TOKENS: 33.3}
    assert state.percent["turns"] == 70.0
    assert AgentState().percent == {}


@pytest.mark.guarantee("F2")
def test_a_meter_is_found_by_its_kind() -> None:
    meter = Meter(kind=LimitKind.TURNS, used=7, maximum=10)
    state = AgentState(meters=(meter,))
    assert state.meter(LimitKind.TURNS) is meter
    assert state.meter(LimitKind.TOKENS) is None


@pytest.mark.guarantee("F2")
def test_the_last_three_actions_are_shown_oldest_first() -> None:
    governor = Governor(AgentConfig(budget=Budget(turns=5)))
    state, _ = governor.step(governor.start(), TurnStarted(at_s=0.0, turn=0))
    for number in range(5):
        called = tool_called(at_s=0.0, turn=0, call=f"{number}", tool="read", arguments={"page": number})
        state, _ = governor.step(state, called)
    assert governor.view(state).recent_actions == (
        'read({"page":2})',
        'read({"page":3})',
        'read({"page":4})',
    )


@pytest.mark.guarantee("F2")
def test_extensions_start_empty_and_are_carried_along() -> None:
    assert AgentState().extensions == {}
    state = AgentState(extensions=MappingProxyType({"mine": {"count": 1}}))
    assert replace(state, turn=4).extensions == {"mine": {"count": 1}}


@pytest.mark.guarantee("F2")
def test_the_extensions_of_a_new_state_cannot_be_written_to() -> None:
    with pytest.raises(TypeError):
        AgentState().extensions["mine"] = 1  # pyright: ignore[reportIndexIssue]


def test_the_default_budget_is_that_of_the_settings() -> None:
    assert AgentConfig().budget == DEFAULT_BUDGET
    assert {limit.kind.value: limit.maximum for limit in DEFAULT_BUDGET} == {
        "turns": 30,
        "tokens": 200_000,
        "seconds": 300.0,
        "tool_calls_per_turn": 10,
        "parallel_tools": 3,
    }


@pytest.mark.guarantee("B6")
def test_an_agent_need_not_use_tools_unless_told_so() -> None:
    assert AgentConfig().must_use_tools is False


@pytest.mark.guarantee("B8")
@pytest.mark.parametrize("pattern", Pattern)
def test_a_finding_gets_the_default_response_unless_told_otherwise(pattern: Pattern) -> None:
    finding = Finding(pattern=pattern, message="", advice="", times=3)
    assert AgentConfig().response(finding) is DEFAULT_RESPONSES[pattern]
    assert AgentConfig(responses={pattern: Response.ASK}).response(finding) is Response.ASK


def test_responses_can_be_given_as_plain_words() -> None:
    given: Any = {"cycle": "nudge"}
    assert AgentConfig(responses=given).responses == {Pattern.CYCLE: Response.NUDGE}


@pytest.mark.parametrize(
    "bad", [{"circle": "stop"}, {"cycle": "halt"}, {Pattern.CYCLE: None}, {None: Response.STOP}]
)
def test_an_unknown_pattern_or_response_is_refused_with_the_known_ones(bad: Any) -> None:
    with pytest.raises(InvalidValueError, match=r"^responses is ") as caught:
        AgentConfig(responses=bad)
    assert all(word in caught.value.allowed for word in (*Pattern, *Response))


@pytest.mark.parametrize("bad", ["cycle", ["cycle"]])
def test_responses_that_are_no_mapping_are_refused_by_name(bad: Any) -> None:
    with pytest.raises(InvalidValueError, match=r"^responses is "):
        AgentConfig(responses=bad)


def test_responses_are_copied_and_cannot_be_changed_later() -> None:
    responses = {Pattern.CYCLE: Response.NUDGE}
    config = AgentConfig(responses=responses)
    responses[Pattern.CYCLE] = Response.STOP
    assert config.responses == {Pattern.CYCLE: Response.NUDGE}
    with pytest.raises(TypeError):
        config.responses[Pattern.CYCLE] = Response.STOP  # pyright: ignore[reportIndexIssue]


def test_a_stop_condition_of_ours_is_taken() -> None:
    assert AgentConfig(stop=turns(3)).stop == turns(3)


@pytest.mark.parametrize("bad", [Homemade(), turns(3) | Homemade(), "turns(3)", 3])
def test_any_other_stop_condition_is_refused_by_name(bad: Any) -> None:
    with pytest.raises(InvalidValueError, match=r"^stop is "):
        AgentConfig(stop=bad)
