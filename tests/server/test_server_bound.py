"""The upper bound of a planned query, and which models there are (A10, A13)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from small_server import SmallServer, small_server

from endstop.kernel.bounds import UpperBound
from endstop.models import PROVIDERS
from endstop.ports import ModelUsage
from endstop.server.bound_shapes import dearest_usd, in_words
from endstop.server.providers import is_installed, is_there, provider_states, variables_of
from endstop.server.routes_models import known_model
from endstop.testing import ScriptedModel, ScriptedPrice

URL = "/api/bound"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[SmallServer]:
    async with small_server(tmp_path) as made:
        yield made


async def bound(server: SmallServer, **planned: object) -> dict[str, Any]:
    answer = await server.me.post(URL, json=planned)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.guarantee("A13")
async def test_a_planned_query_is_bounded_by_the_callers_settings(server: SmallServer) -> None:
    told = await bound(server)
    assert told["text"] == "at most 30 turns · 200k tokens · $0.00 · 300 s"
    assert told["without_grants"] == {
        "turns": 30,
        "model_calls": 120,
        "tool_calls": 300,
        "tokens": 200_000,
        "cost_usd": "0",
        "seconds": 300.0,
    }
    assert told["with_grants"]["turns"] == 120
    assert told["tree_bound"]["per_run"]["turns"] == 30
    assert (told["tree"], told["model"], told["is_price_known"]) == ("oracle-agent", "extractive", True)


async def test_limits_of_the_query_come_on_top_and_are_not_saved(server: SmallServer) -> None:
    await server.me.put("/api/settings/agent-config", json={"token_budget": 5_000})
    told = await bound(server, limits={"max_iterations": 3, "timeout_seconds": 60})
    assert told["text"] == "at most 3 turns · 5,000 tokens · $0.00 · 60 s"
    assert (told["limits"]["max_iterations"], told["limits"]["token_budget"]) == (3, 5_000)
    assert dict(await server.store.settings("me")) == {"token_budget": 5_000}


async def test_the_price_of_the_model_bounds_the_cost(
    server: SmallServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key")
    told = await bound(server, model="openai:gpt-4o")
    assert told["without_grants"]["cost_usd"] == "2"  # 200,000 tokens, all of them written, at $10 a million
    assert (await bound(server, model="openai:gpt-4o", limits={"cost_limit_usd": "0.42"}))["text"] == (
        "at most 30 turns · 200k tokens · $0.42 · 300 s"
    )


@pytest.mark.guarantee("A10")
async def test_a_price_that_nobody_knows_is_no_price(
    server: SmallServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key")
    told = await bound(server, model="openai:never-heard-of-it")
    assert (told["is_price_known"], told["without_grants"]["cost_usd"]) == (False, None)
    assert "$" not in told["text"]


async def test_a_local_model_is_free_and_nobody_learns_which_files_there_are(
    server: SmallServer, tmp_path: Path
) -> None:
    (tmp_path / "there").write_text("x", encoding="utf-8")
    there, gone = [await bound(server, model=f"local:{tmp_path / name}") for name in ("there", "gone")]
    assert there["without_grants"] == gone["without_grants"]
    assert there["without_grants"]["cost_usd"] == "0"


@pytest.mark.parametrize("model", ["nonsense", "nobody:model", "anthropic:", "openai:gpt-4o", "", "\x00:x"])
async def test_a_model_that_cannot_be_used_is_refused(
    server: SmallServer, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    known_model.cache_clear()
    answer = await server.me.post(URL, json={"model": model})
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "model")


@pytest.mark.parametrize(
    ("planned", "field"),
    [
        ({"limits": {"max_iterations": True}}, "max_iterations"),
        ({"limits": {"cost_limit_usd": "0"}}, "cost_limit_usd"),
        ({"limits": 7}, "limits"),
        ({"tree": 7}, "tree"),
        ({"model": ["extractive"]}, "model"),
        ({"other": 1}, "other"),
    ],
)
async def test_what_is_wrong_is_named(server: SmallServer, planned: dict[str, object], field: str) -> None:
    answer = await server.me.post(URL, json=planned)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)


async def test_a_tree_that_is_not_there_is_not_found(server: SmallServer) -> None:
    answer = await server.me.post(URL, json={"tree": "../oracle-agent"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_tree")


async def test_nobody_gets_no_bound(server: SmallServer) -> None:
    assert (await server.nobody.post(URL, json={})).status_code == 401


@pytest.mark.parametrize(
    ("upper", "text"),
    [
        (UpperBound(turns=1, tokens=9_999), "at most 1 turn · 9,999 tokens"),
        (UpperBound(turns=30, tokens=200_001), "at most 30 turns · 201k tokens"),
        (UpperBound(turns=1_000, tokens=1_234_567), "at most 1,000 turns · 1.24M tokens"),
        (UpperBound(cost_usd=Decimal("0.42"), seconds=0.5), "at most $0.42 · 0.5 s"),
    ],
)
def test_a_bound_in_words_is_never_less_than_it_is(upper: UpperBound, text: str) -> None:
    assert in_words(upper) == text


class Stepped(ScriptedModel):
    """Reading much makes writing dearer."""

    def cost_usd(self, usage: ModelUsage) -> Decimal | None:
        step = 2 if usage.input_tokens > 100 else 1
        return Decimal(usage.input_tokens + step * usage.output_tokens)


def test_what_tokens_cost_at_most_is_what_the_dearest_of_them_cost() -> None:
    price = ScriptedPrice(input_usd_per_million=Decimal(3), output_usd_per_million=Decimal(15))
    assert dearest_usd(ScriptedModel("x", price=price), 1_000_000) == 15
    assert dearest_usd(ScriptedModel("x", price=None), 1_000_000) is None
    assert dearest_usd(ScriptedModel("x"), None) is None
    assert dearest_usd(Stepped("x"), 1_000) == 3_000


# ── the models ────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_models_are_the_configured_the_built_in_and_those_of_providers(server: SmallServer) -> None:
    told = (await server.me.get("/api/models")).json()
    assert told["configured"] == told["built_in"]
    assert told["built_in"] == {
        "name": "endstop:extractive",
        "is_usable": True,
        "is_price_known": True,
        "input_usd_per_million": "0",
        "output_usd_per_million": "0",
        "to_do": "",
    }
    assert [one["name"] for one in told["providers"]] == list(PROVIDERS)


async def test_a_key_is_never_told_only_that_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    async with small_server(tmp_path, model="openai:gpt-4o") as server:
        answer = await server.me.get("/api/models")
    told = answer.json()
    usable = {one["name"]: one["is_usable"] for one in told["providers"]}
    assert (usable["openai"], usable["anthropic"]) == (True, False)
    assert (told["configured"]["is_usable"], told["configured"]["output_usd_per_million"]) == (True, "10")
    assert "sk-secret" not in answer.text


async def test_a_configured_model_that_cannot_be_used_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    async with small_server(tmp_path, model="anthropic:claude-sonnet-5") as server:
        told = (await server.me.get("/api/models")).json()["configured"]
    assert (told["is_usable"], told["input_usd_per_million"]) == (False, None)
    assert "ANTHROPIC_API_KEY" in told["to_do"]


async def test_nobody_learns_which_models_there_are(server: SmallServer) -> None:
    assert (await server.nobody.get("/api/models")).status_code == 401


ASK_EACH = """
import json
from endstop.errors import EndstopError
from endstop.models import PROVIDERS, make_model
said = {}
for provider in PROVIDERS:
    try:
        make_model(f"{provider}:x")
    except EndstopError as error:
        said[provider] = error.what
print(json.dumps(said))
"""


@pytest.mark.thorough
def test_the_list_of_providers_says_what_their_own_code_says() -> None:
    variables = {one for name in PROVIDERS for one in variables_of(name)}
    environ = {name: value for name, value in os.environ.items() if name not in variables}
    command = [sys.executable, "-W", "ignore", "-c", ASK_EACH]
    asked = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    said: dict[str, str] = json.loads(asked.stdout)
    for state in provider_states({}):
        assert state.is_usable == (state.name not in said)
        words = said.get(state.name, "")
        if state.is_usable or state.name == "google-cloud":  # which looks for a file, in words of its own
            continue
        assert "not installed" in words or state.variables[0] in words, state
        assert is_installed(state.name) or state.name.startswith("gateway/") or "not installed" in words


def test_a_provider_with_its_variable_is_usable_and_without_says_which_to_set() -> None:
    with_it, without = [
        next(one for one in provider_states(environ) if one.name == "groq")
        for environ in ({"GROQ_API_KEY": "x"}, {"GROQ_API_KEY": ""})
    ]
    assert (with_it.is_usable, with_it.to_do) == (True, "")
    assert (without.is_usable, without.to_do) == (False, "Set the environment variable GROQ_API_KEY")


@pytest.mark.parametrize(
    ("package", "there"), [("json", True), ("no_such_package", False), ("no_such_package.part", False)]
)
def test_a_package_is_looked_for_and_not_imported(package: str, there: bool) -> None:
    assert is_there(package) == there
