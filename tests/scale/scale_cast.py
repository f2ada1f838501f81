"""The agents that workers are tested with: what they do stands in the question, so any process can make them.

Each effect appends a line when it begins and one when it ends, with the run's id and a number that is never
used twice by one run: the model counts the results it has seen, whatever became of them.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from endstop.events.facts import RunStarted
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget
from endstop.loop import Agent
from endstop.loop.agent import OnLimit
from endstop.ports import (
    ModelRequest,
    ModelUsage,
    Piece,
    ReplyEnded,
    TextPiece,
    ThoughtPiece,
    ToolContext,
    ToolMessage,
    ToolRequest,
    UserMessage,
)
from endstop.testing.counting import CountedModel
from endstop.tools import tool

AGENTS = ("doer", "other")
"""The agents that every worker can make. Those of any other name are somebody else's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """What an agent does."""

    steps: int = 4
    """So many effects, one after the other."""
    effect_s: float = 0.02
    think_s: float = 0.02
    """How long the model takes to its first word."""
    words: int = 3
    """How long its last reply is."""
    word_s: float = 0.0
    thoughts: int = 0
    """How many words it thinks aloud before that."""
    asks: bool = False
    """Ask the user before the last reply."""
    turns: int = 200
    """Its limit; at the end of it comes a review."""
    agent: str = "doer"
    model: str = "test:doer"
    note: str = ""
    """Anything, to tell runs apart."""

    @property
    def question(self) -> str:
        return json.dumps(asdict(self))

    @property
    def answer(self) -> str:
        return " ".join(word(number) for number in range(self.words))


def word(number: int) -> str:
    """A word like no other near it, and some that take many bytes on the wire."""
    return f"{'🐢' if number % 7 == 3 else 'w'}{number}"


class PlayModel(CountedModel):
    """Does what the play says, by the messages alone: it can be gone on with anywhere."""

    def __init__(self, play: Play) -> None:
        super().__init__(name=play.model)
        self._play = play

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        play = self._play
        await asyncio.sleep(play.think_s)
        done = sum(isinstance(m, ToolMessage) and m.tool == "act" for m in request.messages)
        is_asked = sum(isinstance(message, UserMessage) for message in request.messages) > 1
        written = 1
        if done < play.steps:
            yield self._call(request, "act", number=done)
        elif play.asks and not is_asked:
            yield self._call(request, "await_user", message="Shall I go on?")
        else:
            for number in range(play.thoughts):
                yield ThoughtPiece(text=f"t{number} ")
                await asyncio.sleep(play.word_s)
            for number in range(play.words):
                yield TextPiece(text=word(number) if number == 0 else f" {word(number)}")
                await asyncio.sleep(play.word_s)
            written = self.count(system=play.answer) + 3 * play.thoughts
        used = ModelUsage(input_tokens=self.input_tokens(request), output_tokens=written)
        yield ReplyEnded(usage=used)

    def _call(self, request: ModelRequest, name: str, **arguments: object) -> ToolRequest:
        return ToolRequest(id=f"call_{len(request.messages)}", tool=name, arguments=json.dumps(arguments))


def agent(play: Play, effects: Path | None = None) -> Agent:
    """The agent of a play. Without a file for its effects it can be handed out, and no more."""

    def log(line: str) -> None:
        assert effects is not None, "it was only to be handed out"
        with effects.open("a", encoding="utf-8") as file:
            file.write(f"{line} {os.getpid()} {time.monotonic()}\n")

    @tool(changes_something=True)
    async def act(number: int, context: ToolContext) -> str:
        """Have an effect."""
        log(f"start {context.run_id} {number}")
        await asyncio.sleep(play.effect_s)
        log(f"end {context.run_id} {number}")
        return f"done {number}"

    budget = Budget(turns=play.turns, tokens=10**7, seconds=600, cost_usd=100)
    return Agent(
        name=play.agent,
        model=PlayModel(play),
        tools=(act,),
        config=AgentConfig(budget=budget),
        on_limit=OnLimit.REVIEW,
        awaits_user=play.asks,
    )


def play_of(question: str) -> Play:
    return Play(**json.loads(question))


def maker(effects: Path | None) -> Callable[[RunStarted], Agent | None]:
    """Makes agents anew from their records."""

    def made(started: RunStarted) -> Agent | None:
        return agent(play_of(started.question), effects) if started.agent in AGENTS else None

    return made
