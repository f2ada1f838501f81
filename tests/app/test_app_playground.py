"""The playground: every adversary can be asked, made anew, and watched while it is stopped."""

from __future__ import annotations

import time
from typing import Any

import pytest

from endstop.app import SystemClock, agent_of
from endstop.app.playground import MOST, TURN_S, is_player, player_agent, player_model, players, watchable
from endstop.errors import InvalidValueError
from endstop.events.facts import RunStarted
from endstop.kernel.budget import Budget
from endstop.kernel.outcome import Failed, Forced
from endstop.kernel.settings import DEFAULT_SETTINGS, AgentSettings
from endstop.loop.agent import OnLimit
from endstop.ports import ModelUsage
from endstop.runner import Run, Runner
from endstop.testing import ADVERSARIES

SMALL = Budget(turns=4, tokens=100_000, seconds=5, tool_calls_per_turn=10, parallel_tools=3)


async def played(name: str, budget: Budget = SMALL) -> Run:
    agent = player_agent(f"playground:{name}", budget=budget)
    return await Runner(None, clock=SystemClock()).run(agent, "Go on for ever.")


def test_every_adversary_is_offered_with_what_it_tries_and_how_it_ends() -> None:
    assert [one.name for one in players()] == [f"playground:{name}" for name in ADVERSARIES]
    for one in players():
        assert is_player(one.name)
        assert ADVERSARIES[one.name.removeprefix("playground:")].does in one.about
        assert "at most 12 turns and 20 s" in one.about
        assert one.ends.endswith(".")
        assert one.ends[0].isupper()
        assert len(one.ends) > 1


@pytest.mark.parametrize(
    ("name", "title", "ends"),
    [
        ("runaway", "Runaway", "It reaches a limit."),
        ("repeats_call", "Repeats call", "It is found to make no progress."),
        ("tool_hangs", "Tool hangs", "Its time is up or too many tool errors in a row end it."),
        ("recovers", "Recovers", "It answers after all."),
        ("raises_exception", "Raises exception", "The model has failed too often."),
    ],
)
def test_how_it_ends_is_said_in_a_sentence(name: str, title: str, ends: str) -> None:
    (found,) = (one for one in players() if one.name == f"playground:{name}")
    assert (found.title, found.ends) == (title, ends)


@pytest.mark.parametrize("name", [None, "", "extractive", "demo:runaway", "anthropic:playground:x"])
def test_other_names_are_not_of_the_playground(name: str | None) -> None:
    assert not is_player(name)


def test_a_name_that_is_not_there_is_refused_with_one_that_is() -> None:
    with pytest.raises(InvalidValueError, match=r"Did you mean playground:runaway\?"):
        player_agent("playground:runawy")
    with pytest.raises(InvalidValueError, match="GET /api/models lists them"):
        player_model("playground:")


@pytest.mark.parametrize(
    ("own", "given", "turns", "seconds"),
    [
        ({}, (), 12, 20),
        ({"max_iterations": 5}, (), 5, 20),
        ({"max_iterations": 100, "timeout_seconds": 10}, (), 12, 10),
        ({"max_iterations": 100, "timeout_seconds": 60}, ("max_iterations",), 100, 20),
        ({"max_iterations": 100, "timeout_seconds": 60}, ("max_iterations", "timeout_seconds"), 100, 60),
    ],
)
def test_settings_hold_up_to_what_can_be_watched_unless_the_question_says_otherwise(
    own: dict[str, Any], given: tuple[str, ...], turns: int, seconds: int
) -> None:
    found = watchable(AgentSettings(**own), given)
    assert (found.max_iterations, found.timeout_seconds) == (turns, seconds)
    assert found.token_budget == DEFAULT_SETTINGS.token_budget
    assert set(MOST) == {"max_iterations", "timeout_seconds"}


async def test_each_turn_takes_long_enough_to_be_seen() -> None:
    began = time.monotonic()
    run = await played("ignores_last_turn")
    assert isinstance(run.outcome, Forced)
    assert run.usage.turns == 4
    assert time.monotonic() - began >= 4 * TURN_S
    assert run.audit().holds


async def test_a_model_that_does_not_stream_at_all_fails_as_it_does_elsewhere() -> None:
    run = await played("no_stream")
    assert isinstance(run.outcome, Failed)
    assert "list" in run.outcome.message


async def test_an_agent_that_must_use_tools_is_one_here_too() -> None:
    run = await played("only_prose")
    assert isinstance(run.outcome, Forced)
    assert "must use tools" in run.outcome.reason.message


@pytest.mark.guarantee("H5")
def test_an_agent_is_made_anew_from_its_record() -> None:
    first = player_agent("playground:cycle_of_two", budget=SMALL, on_limit="review")
    started = RunStarted(
        config=first.config,
        agent=first.name,
        model=first.model.name,
        on_limit=first.on_limit.value,
        own_parts=first.own_parts,
    )
    again = agent_of(started)
    assert again is not None
    assert (again.name, again.model.name) == ("playground:cycle_of_two", "playground:cycle_of_two")
    assert again.config == first.config
    assert again.on_limit is OnLimit.REVIEW
    assert [tool.spec for tool in again.tools] == [tool.spec for tool in first.tools]


def test_its_model_counts_and_costs_what_the_adversary_does() -> None:
    model, own = player_model("playground:runaway"), ADVERSARIES["runaway"].make_model()
    usage = ModelUsage(input_tokens=1_000, output_tokens=500)
    assert model.cost_usd(usage) == own.cost_usd(usage) is not None
    assert model.count(system="You are.") == own.count(system="You are.") > 0
