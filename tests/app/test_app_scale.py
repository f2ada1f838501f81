"""Workers with their parts chosen: agents whose models wait for the rates of their providers."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from endstop.app import Config
from endstop.app.agents import agent_of
from endstop.app.scale import open_worker, paced_agents
from endstop.coding import CODING
from endstop.coding.session import CodingSession
from endstop.errors import InvalidValueError
from endstop.events.facts import RunStarted
from endstop.kernel.agent import AgentConfig
from endstop.loop.agent import Agent
from endstop.models.paced import Gate, Paced

EXTRACTIVE = "endstop:extractive"
EXAMPLE = "example:accepted"


async def at_once(model: str, per_minute: float) -> float:
    return 0.0


def made(started: RunStarted, **rates: float) -> Agent | None:
    gate = Gate({name.replace("__", ":"): rate for name, rate in rates.items()}, at_once)
    return paced_agents(gate)(started)


def started(agent: str = "helper", *, model: str = EXTRACTIVE, own_parts: tuple[str, ...] = ()) -> RunStarted:
    return RunStarted(
        config=AgentConfig(), agent=agent, model=model, question="Where is it?", own_parts=own_parts
    )


def test_the_model_of_an_agent_that_is_made_anew_waits_at_the_gate() -> None:
    agent = made(started(), endstop__extractive=60.0)
    assert agent is not None
    assert isinstance(agent.model, Paced)
    assert agent.model.name == EXTRACTIVE
    plain = agent_of(started())
    assert plain is not None
    assert (agent.name, agent.config, agent.policy) == (plain.name, plain.config, plain.policy)


def test_models_without_a_rate_do_not() -> None:
    agent = made(started(), other__model=60.0)
    assert agent is not None
    assert not isinstance(agent.model, Paced)


def test_an_agent_that_nobody_can_make_anew_stays_so() -> None:
    assert made(started(own_parts=("tools",)), endstop__extractive=60.0) is None


@pytest.mark.parametrize("rated", [True, False])
def test_in_a_coding_session_the_models_of_all_roles_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, rated: bool
) -> None:
    monkeypatch.setenv("ENDSTOP_HOME", str(tmp_path))
    from endstop.app.coding import remade_session

    name = remade_session(started(CODING, model=EXAMPLE)).model.name
    gate = Gate({name if rated else "other:model": 60.0}, at_once)
    agent = paced_agents(gate)(started(CODING, model=EXAMPLE))
    assert agent is not None
    session = cast("CodingSession", agent.conducting)
    role = session._make_model(EXAMPLE)  # pyright: ignore[reportPrivateUsage] - what a role is given
    own = session._model  # pyright: ignore[reportPrivateUsage]
    assert [isinstance(one, Paced) for one in (agent.model, role, own)] == [rated] * 3


async def test_a_rate_that_is_none_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    config = Config(home=tmp_path, database_url="postgresql://me@127.0.0.1:1/x")
    with pytest.raises(InvalidValueError, match="calls per minute"):
        async with open_worker(config, concurrency=1, rates={"a:b": 0.0}):
            pass  # pragma: no cover - it is refused
