"""Settings: the exact defaults and bounds of I3, strict types, and the budget they make."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError
from decimal import Decimal
from typing import Any

import pytest

from endstop.errors import InvalidValueError
from endstop.kernel.limits import LimitKind
from endstop.kernel.settings import DEFAULT_SETTINGS, SETTING_BOUNDS, AgentSettings

TABLE: dict[str, tuple[int, int, int]] = {
    "max_iterations": (30, 1, 100),
    "soft_warning_percent": (70, 50, 90),
    "token_budget": (200_000, 1_000, 2_000_000),
    "token_warning_percent": (80, 50, 95),
    "timeout_seconds": (300, 10, 3_600),
    "max_tool_calls_per_turn": (10, 1, 50),
    "max_parallel_tools": (3, 1, 10),
}


@pytest.mark.guarantee("I3")
def test_defaults_and_bounds_are_those_of_the_requirements() -> None:
    assert DEFAULT_SETTINGS.to_values() == {
        **{name: default for name, (default, _, _) in TABLE.items()},
        "cost_limit_usd": None,
    }
    cost = SETTING_BOUNDS["cost_limit_usd"]
    assert (cost.default, cost.smallest, cost.largest) == (None, Decimal("0.01"), 1_000)
    assert {
        name: (bounds.default, bounds.smallest, bounds.largest)
        for name, bounds in SETTING_BOUNDS.items()
        if name != "cost_limit_usd"
    } == TABLE


@pytest.mark.guarantee("I3")
@pytest.mark.parametrize("name", TABLE)
def test_values_at_the_bounds_are_taken_and_beyond_are_refused_by_name_and_bound(name: str) -> None:
    _, smallest, largest = TABLE[name]
    assert getattr(AgentSettings().changed({name: smallest}), name) == smallest
    assert getattr(AgentSettings().changed({name: largest}), name) == largest
    for beyond in (smallest - 1, largest + 1):
        with pytest.raises(
            InvalidValueError, match=f"{name} is {beyond}.*{smallest:,} to {largest:,}"
        ) as caught:
            AgentSettings().changed({name: beyond})
        assert caught.value.field == name


@pytest.mark.guarantee("I3")
@pytest.mark.parametrize("wrong", [True, 60.0, "60", None, float("nan"), [60], {}], ids=repr)
@pytest.mark.parametrize("name", TABLE)
def test_only_whole_numbers_are_whole_numbers(name: str, wrong: object) -> None:
    with pytest.raises(InvalidValueError, match=f"{name} is"):
        AgentSettings().changed({name: wrong})


@pytest.mark.parametrize(
    ("given", "kept"),
    [("0.50", "0.5"), ("0.01", "0.01"), (1_000, "1000"), (0.3, "0.3"), (Decimal("12.345"), "12.345")],
)
def test_a_cost_limit_is_money(given: Any, kept: str) -> None:
    settings = AgentSettings().changed({"cost_limit_usd": given})
    assert settings.cost_limit_usd == Decimal(kept)
    assert settings.to_values()["cost_limit_usd"] == kept
    assert settings.changed({"cost_limit_usd": None}).cost_limit_usd is None


@pytest.mark.parametrize(
    "wrong", ["0.009", 0, -1, 1_000.01, "a lot", True, float("nan"), "inf", [], ""], ids=repr
)
def test_a_cost_limit_outside_its_bounds_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidValueError, match=r"cost_limit_usd is .*dollars from 0\.01 to 1,000"):
        AgentSettings().changed({"cost_limit_usd": wrong})


@pytest.mark.guarantee("I3")
def test_a_partial_change_leaves_the_rest_alone() -> None:
    settings = AgentSettings(max_iterations=10, token_budget=5_000)
    changed = settings.changed({"max_iterations": 20})
    assert (changed.max_iterations, changed.token_budget) == (20, 5_000)
    assert settings.max_iterations == 10
    assert settings.changed({}) == settings


def test_one_bad_value_among_good_ones_changes_nothing() -> None:
    with pytest.raises(InvalidValueError, match="max_parallel_tools is 11"):
        AgentSettings().changed({"max_iterations": 20, "max_parallel_tools": 11})


def test_an_unknown_name_is_told_what_was_probably_meant_and_all_that_is_allowed() -> None:
    with pytest.raises(
        InvalidValueError, match=r"max_iteration'.*token_budget.*Did you mean max_iterations\?"
    ):
        AgentSettings().changed({"max_iteration": 20})
    with pytest.raises(InvalidValueError, match="Use one of these names"):
        AgentSettings().changed({"colour": "red"})
    wrong: Any = {7: 1}
    with pytest.raises(InvalidValueError, match="settings is 7"):
        AgentSettings().changed(wrong)
    not_a_mapping: Any = [("max_iterations", 3)]
    with pytest.raises(InvalidValueError, match="a mapping"):
        AgentSettings().changed(not_a_mapping)


def test_settings_cannot_be_changed_behind_ones_back() -> None:
    with pytest.raises(FrozenInstanceError):
        DEFAULT_SETTINGS.max_iterations = 5  # type: ignore[misc]
    with pytest.raises(InvalidValueError, match="max_iterations"):
        AgentSettings(max_iterations=0)


def test_values_survive_json() -> None:
    settings = AgentSettings(max_iterations=7, cost_limit_usd="0.10")
    assert AgentSettings().changed(json.loads(json.dumps(settings.to_values()))) == settings


@pytest.mark.guarantee("I3")
def test_settings_make_a_budget() -> None:
    budget = AgentSettings(
        max_iterations=12,
        soft_warning_percent=55,
        token_budget=9_000,
        token_warning_percent=90,
        timeout_seconds=60,
        max_tool_calls_per_turn=4,
        max_parallel_tools=2,
        cost_limit_usd="1.50",
    ).budget()
    assert {kind.value: limit.maximum for kind, limit in budget.limits.items()} == {
        "turns": 12,
        "tokens": 9_000,
        "cost_usd": Decimal("1.5"),
        "seconds": 60.0,
        "tool_calls_per_turn": 4,
        "parallel_tools": 2,
    }
    assert budget.limits[LimitKind.TURNS].warn_at == 0.55
    assert budget.limits[LimitKind.TOKENS].warn_at == 0.90
    assert DEFAULT_SETTINGS.budget().cost_usd is None
