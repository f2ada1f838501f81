"""What a program calls: run and resume, and what they say when they are called wrongly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import endstop as es
from endstop.app import agent_of, make_agent
from endstop.errors import InvalidValueError, PriceUnknownError, RunStateError, UnboundedError
from endstop.events.facts import RunStarted
from endstop.loop import OnLimit
from endstop.testing import MemoryStore, ScriptedModel, calls, echo_tool, says


def look(page: int) -> str:
    """Look at a page."""
    return f"page {page}"


async def test_a_run_takes_plain_functions_as_tools() -> None:
    model = ScriptedModel(calls("look", page=1), says("It is on page 1."))
    run = await es.run("Where is it?", model=model, tools=[look], store=MemoryStore())
    assert run.outcome == es.Completed(answer="It is on page 1.")
    assert run.audit().holds


async def test_a_run_ends_with_what_its_terminal_function_gave() -> None:
    def submit(pages: list[int]) -> list[int]:
        """Hand in the pages."""
        return pages

    model = ScriptedModel(calls("submit", pages=[1, 2]))
    run = await es.run("Which pages?", model=model, terminal=submit, store=MemoryStore())
    assert run.result == [1, 2]


async def test_an_agent_that_was_made_before_can_be_run_and_resumed() -> None:
    store = MemoryStore()
    agent = make_agent(
        model=ScriptedModel(calls("look", page=1)),
        tools=[look],
        budget=es.Budget(turns=2),
        on_limit="review",
        name="reader",
    )
    run = await es.run("Where is it?", agent=agent, store=store, run_id="run_mine")
    assert (run.id, type(run.outcome)) == ("run_mine", es.UnderReview)
    more = es.Grant(turns=1, by="ana", why="nearly there")
    again = await es.resume("run_mine", agent=agent, grant=more, store=store)
    assert again.usage.turns == 3


async def test_a_run_of_our_own_parts_only_is_made_anew_from_its_record() -> None:
    store = MemoryStore()
    budget = es.Budget(turns=1, tokens=40_000)
    run = await es.run("hello", model="extractive", budget=budget, on_limit=OnLimit.REVIEW, store=store)
    started = run.facts[0].payload
    assert isinstance(started, RunStarted)
    made = agent_of(started)
    assert made is not None
    assert (made.model.name, made.on_limit, made.config) == (
        started.model,
        OnLimit.REVIEW,
        started.config,
    )


async def test_a_run_with_code_of_somebodys_own_is_not_made_anew() -> None:
    store = MemoryStore()
    model = ScriptedModel(calls("look", page=1))
    parts: dict[str, Any] = {"model": model, "tools": [look], "on_limit": "review"}
    run = await es.run("Where?", budget=es.Budget(turns=1), store=store, **parts)
    with pytest.raises(RunStateError, match="cannot be made anew"):
        await es.resume(run.id, grant=es.Grant(turns=1, by="ana", why="x"), store=store)


@pytest.mark.guarantee("A10")
async def test_a_cost_limit_and_an_unknown_price_start_no_run() -> None:
    store = MemoryStore()
    with pytest.raises(PriceUnknownError, match="unknown_price"):
        await es.run(
            "hello",
            model=ScriptedModel("hi", price=None),
            budget=es.Budget(turns=3, cost_usd=1),
            store=store,
        )
    assert await store.runs() == []


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"budget": {"turns": 3}}, "a Budget"),
        ({"modle": "extractive"}, "You probably meant model"),
        ({"zzz": 1}, "Use one of these"),
        ({"tools": echo_tool()}, "several tools"),
        ({"tools": 5}, "several tools"),
        ({"on_limit": "ask"}, "finish or review"),
        ({"model": 5}, "a Model"),
        ({"agent": make_agent(model="extractive"), "model": "extractive"}, "not both"),
    ],
    ids=["budget", "misspelt", "strange", "one tool", "no tool", "on_limit", "model", "both"],
)
async def test_what_is_given_wrongly_is_named(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        await es.run("hello", store=MemoryStore(), **wrong)


async def test_a_run_that_nothing_would_end_is_refused() -> None:
    with pytest.raises(UnboundedError):
        await es.run("hello", model="extractive", budget=es.Budget(cost_usd=1), store=MemoryStore())


async def test_a_resumed_run_keeps_its_budget() -> None:
    with pytest.raises(InvalidValueError, match="Give it more with a grant"):
        await es.resume("run_x", model="extractive", budget=es.Budget(turns=9), store=MemoryStore())


def test_an_agent_says_which_of_its_parts_nobody_else_can_make() -> None:
    own: Callable[..., object] = look
    assert make_agent(model="extractive").own_parts == ()
    assert make_agent(model="extractive", tools=[own], terminal=echo_tool()).own_parts == (
        "tools",
        "terminal",
    )
