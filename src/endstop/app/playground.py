"""The playground: every adversary as something to ask, slow enough to be watched while it is stopped.

A question for the model ``playground:runaway`` is answered by that adversary, under the limits of whoever
asks. Nothing leaves the machine, and prices are made up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

from endstop.errors import InvalidValueError
from endstop.kernel.agent import DEFAULT_BUDGET, AgentConfig
from endstop.kernel.budget import Budget
from endstop.kernel.outcome import Completed, Failed, StopRule
from endstop.kernel.settings import AgentSettings
from endstop.kernel.texts import closest
from endstop.loop.agent import Agent, OnLimit, Retries
from endstop.ports import Message, Model, ModelRequest, ModelUsage, Piece, ToolSpec
from endstop.testing import ADVERSARIES, Adversary
from endstop.testing.adversaries.adversary import LIMITS, Expected

PLAYGROUND = "playground:"
"""How the models and agents of the playground are named: this, and the name of the adversary."""

TURN_S = 0.2
"""So long each reply lets people wait, or nobody would see it."""

MOST = {"max_iterations": 12, "timeout_seconds": 20}
"""Settings that are too large to be watched count as these, unless the question itself says otherwise."""

_QUICK_RETRIES = Retries(attempts=3, first_wait_s=0.05)
_ABOUT = (
    f"It gets your settings, but at most {MOST['max_iterations']} turns and {MOST['timeout_seconds']} s, "
    "unless the limits of the question say otherwise."
)
_ENDS: dict[Expected, str] = {
    StopRule.NO_PROGRESS: "it is found to make no progress",
    StopRule.ERROR_LIMIT: "too many tool errors in a row end it",
    Failed: "the model has failed too often",
    Completed: "it answers after all",
}
"""How it ends, in words, where that is no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """An adversary, as it is offered."""

    name: str
    """To be asked as a model: ``playground:runaway``."""
    title: str
    about: str
    """What it tries, and what it is held to."""
    ends: str
    """How it ends."""


def players() -> tuple[Player, ...]:
    """All that can be asked."""
    return tuple(
        Player(
            name=f"{PLAYGROUND}{one.name}",
            title=one.name.replace("_", " ").capitalize(),
            about=f"{one.does} {_ABOUT}",
            ends=_ends(one.expected),
        )
        for one in ADVERSARIES.values()
    )


def is_player(model: str | None) -> bool:
    """Whether such a name of a model is one of the playground's, right or wrong."""
    return model is not None and model.startswith(PLAYGROUND)


def player_model(name: str) -> Model:
    """The model behind ``playground:NAME``. Says what is wrong with a name that is not there."""
    return _PacedModel(name, _adversary(name).make_model())


def player_agent(
    name: str,
    *,
    budget: Budget | None = None,
    config: AgentConfig | None = None,
    on_limit: str = OnLimit.FINISH.value,
) -> Agent:
    """The agent behind ``playground:NAME``: for a budget, or, made anew, as its record has it."""
    adversary = _adversary(name)
    if config is None:
        config = AgentConfig(budget=budget or DEFAULT_BUDGET, must_use_tools=adversary.must_use_tools)
    return Agent(
        name=name,
        model=player_model(name),
        tools=adversary.make_tools(),
        config=config,
        on_limit=OnLimit(on_limit),
        max_output_tokens=1_000,
        retries=_QUICK_RETRIES,
    )


def watchable(settings: AgentSettings, given: Collection[str]) -> AgentSettings:
    """Settings under which one can watch it end; what was ``given`` for this question stays as it is."""
    own = settings.to_values()
    return settings.changed(
        {name: min(cast("int", own[name]), most) for name, most in MOST.items() if name not in given}
    )


class _PacedModel:
    """A model that lets people wait before each reply. In all else it is the one it stands for."""

    def __init__(self, name: str, model: Model) -> None:
        self.name = name
        self._model = model

    def count(
        self, *, system: str = "", tools: Sequence[ToolSpec] = (), messages: Iterable[Message] = ()
    ) -> int:
        return self._model.count(system=system, tools=tools, messages=messages)

    def cost_usd(self, usage: ModelUsage) -> Decimal | None:
        return self._model.cost_usd(usage)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        await asyncio.sleep(TURN_S)
        pieces: Any = self._model.stream(request)
        async with aclosing(aiter(pieces)):  # one adversary answers with what cannot be streamed
            async for piece in pieces:
                yield piece


def _adversary(name: str) -> Adversary:
    found = ADVERSARIES.get(name.removeprefix(PLAYGROUND))
    if found is None:
        meant = closest(name.removeprefix(PLAYGROUND), ADVERSARIES)
        raise InvalidValueError(
            "model",
            name,
            allowed=f"{PLAYGROUND}NAME with one of {len(ADVERSARIES)} names, such as {PLAYGROUND}runaway",
            to_do=f"Did you mean {PLAYGROUND}{meant}?" if meant else "GET /api/models lists them",
        )
    return found


def _ends(expected: frozenset[Expected]) -> str:
    """How a run may end, in a sentence."""
    ways = [words for kind, words in _ENDS.items() if kind in expected]
    if expected >= LIMITS:
        ways.insert(0, "it reaches a limit")
    elif StopRule.TIME in expected:
        ways.insert(0, "its time is up")
    told = " or ".join(ways)
    return f"{told[:1].upper()}{told[1:]}."
