"""The oracle with a real model in a real server: it reads a real folder, and its tree steers it."""

from __future__ import annotations

import time
from decimal import Decimal
from pathlib import Path

import pytest

from endstop.app import Config, SystemClock
from endstop.app.oracle import make_oracle
from endstop.events.steered import TreeChosen
from endstop.kernel.budget import Budget
from endstop.kernel.observation import AssistantSaid
from endstop.kernel.outcome import Completed, Forced, StopRule
from endstop.loop import Agent
from endstop.models import Price, make_model
from endstop.runner import Runner
from endstop.store import open_store


@pytest.fixture
def pond(tmp_path: Path) -> Path:
    folder = tmp_path / "pond"
    folder.mkdir()
    (folder / "pond.py").write_text("def count_ducks(ducks):\n    return len(ducks)\n")
    return folder


def oracle(url: str, pond: Path, budget: Budget) -> Agent:
    home = pond.parent / "home"
    home.mkdir()
    config = Config(home=home, database_url=f"sqlite:///{home / 'endstop.db'}")
    price = Price(input_usd_per_million=Decimal("0.1"), output_usd_per_million=Decimal("0.4"))
    model = make_model("openai:smollm2", base_url=url, price=price)
    return make_oracle(pond, model=model, budget=budget, config=config)


async def test_a_question_comes_to_an_ending_that_can_be_audited(real_server_url: str, pond: Path) -> None:
    store = await open_store(f"sqlite:///{pond.parent / 'runs.db'}")
    budget = Budget(turns=3, tokens=40_000, cost_usd="0.05", seconds=120)
    run = await Runner(store, clock=SystemClock()).run(
        oracle(real_server_url, pond, budget), "Where are ducks counted?"
    )
    await store.close()
    assert isinstance(run.outcome, Completed | Forced)
    assert run.answer
    assert "<signal" not in run.answer
    assert any(isinstance(fact.payload, TreeChosen) for fact in run.facts)
    assert run.audit().holds, str(run.audit())


async def test_the_time_limit_halts_a_real_stream(real_server_url: str, pond: Path) -> None:
    budget = Budget(turns=3, tokens=40_000, seconds=4)
    began_s = time.monotonic()
    run = await Runner(None, clock=SystemClock()).run(
        oracle(real_server_url, pond, budget), "Hello! Please tell me a very long story about a ship."
    )
    assert time.monotonic() - began_s < 4.5
    assert isinstance(run.outcome, Completed | Forced)
    if isinstance(run.outcome, Forced) and run.outcome.reason.rule is StopRule.TIME:
        assert any(isinstance(fact.payload, AssistantSaid) for fact in run.facts)
    assert run.audit().holds, str(run.audit())
