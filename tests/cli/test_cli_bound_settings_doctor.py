"""Before anything runs: ``bound``, ``settings``, ``doctor``; and the settings that the environment gives."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest
from cli_program import Endstop
from cli_runs import under_review

from endstop.app.oracle_config import OracleConfig, oracle_config, read_oracle_config, reload_oracle_config


@pytest.mark.guarantee("A13")
def test_bound_of_the_settings_with_and_without_grants(endstop: Endstop) -> None:
    done = endstop("bound")
    assert done.code == 0
    assert ["turns", "30", "120"] in [line.split() for line in done.out.splitlines()]
    assert endstop("settings", "set", "max_iterations=5", "cost_limit_usd=0.5").code == 0
    told = endstop("bound", "--json").json
    assert told["without_grants"] == {
        "turns": 5,
        "model_calls": 20,
        "tool_calls": 50,
        "tokens": 200_000,
        "cost_usd": "0.5",
        "seconds": 300.0,
    }
    assert told["with_grants"]["turns"] == 20


@pytest.mark.guarantee("A13")
def test_bound_of_limits_and_of_an_agent(endstop: Endstop) -> None:
    limits = endstop("bound", "--turns", "3", "--cost", "0.10", "--json").json
    assert limits["without_grants"]["tokens"] is None
    assert limits["without_grants"]["cost_usd"] == "0.1"
    assert "no bound" in endstop("bound", "--turns", "3").out
    assert endstop("bound", "runaway", "--json").json["without_grants"]["turns"] == 12


@pytest.mark.guarantee("A13")
@pytest.mark.parametrize(
    "options", [("--cost", "3"), ("--tool-calls-per-turn", "4"), ("--turns", "0"), ("--cost", "much")]
)
def test_a_budget_that_ends_nothing_is_refused(endstop: Endstop, options: tuple[str, ...]) -> None:
    done = endstop("bound", *options)
    assert (done.code, done.out) == (2, "")
    assert "To do: " in done.err


def test_bound_wants_an_agent_or_limits(endstop: Endstop) -> None:
    assert endstop("bound", "runaway", "--turns", "3").code == 2
    assert "Did you mean runaway?" in endstop("bound", "runawy").err


@pytest.mark.guarantee("I3")
def test_settings_shows_values_defaults_and_bounds(endstop: Endstop) -> None:
    told = {one["name"]: one for one in endstop("settings", "--json").json}
    assert len(told) == 8
    assert told["max_iterations"] == {
        "name": "max_iterations",
        "value": 30,
        "default": 30,
        "smallest": 1,
        "largest": 100,
        "is_changed": False,
    }
    assert "no limit" in endstop("settings").out


@pytest.mark.guarantee("I3")
def test_settings_are_set_kept_and_reset(endstop: Endstop) -> None:
    assert endstop("settings", "set", "max_iterations=50", "token_budget=100_000").code == 0
    assert endstop("settings", "set", "cost_limit_usd=0.5").code == 0
    told = {one["name"]: one["value"] for one in endstop("settings", "--json").json if one["is_changed"]}
    assert told == {"max_iterations": 50, "token_budget": 100_000, "cost_limit_usd": "0.5"}
    assert "changed" in endstop("settings", "get", "max_iterations").out
    assert endstop("settings", "set", "cost_limit_usd=none").code == 0
    assert endstop("settings", "reset", "max_iterations").code == 0
    assert [one["name"] for one in endstop("settings", "--json").json if one["is_changed"]] == [
        "token_budget"
    ]
    assert endstop("settings", "reset").code == 0
    assert not any(one["is_changed"] for one in endstop("settings", "--json").json)


@pytest.mark.guarantee("I3")
def test_each_user_has_settings_of_their_own(endstop: Endstop) -> None:
    assert endstop("settings", "set", "max_iterations=50", ENDSTOP_USER="ann").code == 0
    assert endstop("settings", "get", "max_iterations", "--json").json[0]["value"] == 30


@pytest.mark.guarantee("I3")
@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("max_iterations=101", "a whole number from 1 to 100"),
        ("max_iterations=0", "a whole number from 1 to 100"),
        ("max_iterations=-5", "a whole number from 1 to 100"),
        ("max_iterations=many", "max_iterations is 'many'"),
        ("max_iterations=", "max_iterations is ''"),
        ("cost_limit_usd=2000", "cost_limit_usd"),
        ("max_iteration=5", "Did you mean max_iterations?"),
        ("max_iterations", "NAME=VALUE"),
    ],
)
def test_invalid_settings_name_the_field_and_its_bound_and_nothing_is_saved(
    endstop: Endstop, given: str, named: str
) -> None:
    done = endstop("settings", "set", "token_budget=5000", given)
    assert done.code == 2
    assert named in done.err
    assert not any(one["is_changed"] for one in endstop("settings", "--json").json)


@pytest.mark.parametrize("words", [("set",), ("put",), ("get", "nope"), ("reset", "nope")])
def test_settings_does_only_what_there_is_to_do(endstop: Endstop, words: tuple[str, ...]) -> None:
    assert endstop("settings", *words).code == 2


@pytest.mark.guarantee("I4")
def test_the_environment_gives_defaults_and_the_users_settings_come_on_top(endstop: Endstop) -> None:
    environ = {"ORACLE_MAX_TURNS": "12", "ORACLE_TOKEN_WARNING_THRESHOLD": "0.9"}
    told = {one["name"]: one for one in endstop("settings", "--json", **environ).json}
    assert (told["max_iterations"]["value"], told["max_iterations"]["is_changed"]) == (12, False)
    assert told["token_warning_percent"]["value"] == 90
    assert endstop("settings", "set", "max_iterations=40", **environ).code == 0
    assert endstop("settings", "get", "max_iterations", "--json", **environ).json[0]["value"] == 40


@pytest.mark.guarantee("I4")
@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ORACLE_MAX_TURNS", "many"),
        ("ORACLE_MAX_TURNS", "0"),
        ("ORACLE_MAX_TURNS", "101"),
        ("ORACLE_MAX_TURNS", "9" * 5000),
        ("ORACLE_ITERATION_WARNING_THRESHOLD", "nan"),
        ("ORACLE_ITERATION_WARNING_THRESHOLD", "0.2"),
        ("ORACLE_TOKEN_WARNING_THRESHOLD", "inf"),
        ("ORACLE_TOKEN_WARNING_THRESHOLD", "80 %"),
        ("ORACLE_CONTEXT_WARNING_THRESHOLD", "0"),
        ("ORACLE_CONTEXT_WARNING_THRESHOLD", "x"),
    ],
)
def test_what_the_environment_says_and_cannot_be_used_is_warned_of(
    variable: str, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="endstop"):
        assert read_oracle_config({variable: value}) == OracleConfig()
    assert variable in caplog.text


@pytest.mark.guarantee("I4")
def test_the_environment_is_read_once_and_again_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORACLE_CONTEXT_WARNING_THRESHOLD", "0.5")
    assert reload_oracle_config().context_warning_threshold == 0.5
    monkeypatch.delenv("ORACLE_CONTEXT_WARNING_THRESHOLD")
    assert oracle_config().context_warning_threshold == 0.5
    assert reload_oracle_config().context_warning_threshold == 0.7


def test_doctor_finds_a_fresh_installation_usable_and_changes_nothing(endstop: Endstop, home: Path) -> None:
    done = endstop("doctor")
    assert done.code == 0
    assert "Endstop can be used." in done.out
    assert not home.exists()


def test_doctor_tells_what_is_there_and_what_waits(endstop: Endstop, home: Path) -> None:
    run = under_review(home)
    told = {one["name"]: one for one in endstop("doctor", "--json").json["checks"]}
    assert "1 runs" in told["database"]["detail"]
    assert told["open reviews"]["state"] == "attention"
    assert run in told["open reviews"]["detail"]
    assert told["runs left open"] == {"name": "runs left open", "state": "ok", "detail": "none", "to_do": ""}


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({"ENDSTOP_MODEL": "nonsense"}, "model"),
        ({"ENDSTOP_MODEL": "openai:gpt-4o", "OPENAI_API_KEY": ""}, "model"),
        ({"ENDSTOP_MODEL": "local:/nowhere.gguf"}, "model"),
        ({"ENDSTOP_HOME": "/dev/null/home"}, "home folder"),
        ({"ENDSTOP_DATABASE_URL": "mysql://me:secret@host/x"}, "database"),
        ({"ENDSTOP_DATABASE_URL": "sqlite:////nowhere/at/all.db"}, "database"),
        ({"ENDSTOP_DATABASE_URL": "postgresql://me:secret@127.0.0.1:1/x"}, "database"),
    ],
)
def test_doctor_names_what_is_broken_and_what_to_do(
    endstop: Endstop, environ: dict[str, str], name: str
) -> None:
    done = endstop("doctor", "--json", **environ)
    assert done.code == 1
    broken = [one for one in done.json["checks"] if one["state"] == "broken"]
    assert name in {one["name"] for one in broken}
    assert all(one["to_do"] for one in broken)
    assert "secret" not in done.out
    assert "Something is broken" in endstop("doctor", **environ).out


def test_doctor_tells_which_extra_is_not_installed(endstop: Endstop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    done = endstop("doctor")
    assert done.code == 0
    assert "pip install 'endstop[local]'" in done.out


def test_doctor_in_a_folder_that_is_gone(
    endstop: Endstop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    told = {one["name"]: one for one in endstop("doctor", "--json").json["checks"]}
    assert told["project folder"]["state"] == "broken"


def test_doctor_knows_a_database_in_memory(endstop: Endstop) -> None:
    done = endstop("doctor", ENDSTOP_DATABASE_URL="sqlite://")
    assert (done.code, "Kept in memory" in done.out) == (0, True)


def test_doctor_never_shows_a_key(endstop: Endstop) -> None:
    done = endstop("doctor", ENDSTOP_MODEL="openai:gpt-4o", OPENAI_API_KEY="sk-very-secret")
    assert done.code == 0
    assert "openai:gpt-4o" in done.out
    assert "very-secret" not in done.out + done.err
