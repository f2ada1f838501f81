"""Models that ``endstop build`` is tested with, and the program with them: ``build_models.py build …``."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from endstop.app import coding
from endstop.cli import main
from endstop.coding.examples import make_sample_repository
from endstop.errors import ModelAccessError
from endstop.models import make_model
from endstop.ports import AssistantMessage, Model, ModelRequest, Piece, TextPiece
from endstop.testing import ScriptedModel, calls, fails
from endstop.testing.replies import ScriptedReply

PROGRAM = (sys.executable, __file__)
"""The program with these models."""

INTENT = "Say hello."
QUICK = ("--test-command", "true")
"""Tests that pass at once."""
Replies = Sequence[ScriptedReply]

_ROLE = re.compile(r"You are the (\w+) of a coding session")
_ROUND = re.compile(r"Round (\d+) of ")


def specifies(**changes: Any) -> ScriptedReply:
    given = {
        "title": "A greeting",
        "success_criteria": ["It says hello"],
        "lines_of_code": 20,
        "acceptance_tests": ["test_hello"],
        "risk": "low",
    }
    return calls("submit_specification", **{**given, **changes})


def prices(tokens: int = 10_000, **changes: Any) -> ScriptedReply:
    size = {"input_tokens": tokens, "output_tokens": tokens, "model_calls": 5, "minutes": 1, "why": "Small."}
    return calls("submit_price", **{**size, **changes})


WORKS: dict[str, Replies] = {
    "interviewer": [
        calls("await_user", message="In which language?"),
        calls("submit_brief", brief="French."),
    ],
    "specifier": [specifies()],
    "pricer": [prices()],
    "planner": [calls("submit_plan", tasks=["Write it"])],
    "builder": [
        calls("write_file", path="hello.py", content='print("Salut")\n'),
        calls("submit_work", summary="It says hello."),
    ],
    "tester": [calls("submit_verdicts", criteria=[{"number": 1, "met": True, "evidence": "I read it."}])],
    "critic": [calls("submit_issues", issues=[])],
    "simplifier": [calls("submit_simplification", summary="Nothing to do.")],
}
"""Roles that do it well, in one round."""

RESTLESS = [*(calls("list_files", pattern=f"{number}*") for number in range(4)), *WORKS["builder"]]
"""A builder that looks around for four turns before it begins."""

ALWAYS_FINDS = {
    f"critic {number}": [calls("submit_issues", issues=[{"gravity": "critical", "title": title}])]
    for number, title in enumerate(("It is loud", "It is slow"), start=1)
}
"""A critic that finds something else in each round."""


class Cast(ScriptedModel):
    """Plays each role from what it is asked alone, so that any process can go on with it."""

    def __init__(self, name: str, roles: dict[str, Replies] | None = None, **options: Any) -> None:
        super().__init__(self._reply, name=name, **options)
        self._roles = {**WORKS, **(roles or {})}

    def _reply(self, request: ModelRequest) -> ScriptedReply:
        role, round_ = role_of(request), _ROUND.match(request.messages[0].text)
        replies = self._roles.get(f"{role} {round_[1]}" if round_ else role) or self._roles[role]
        said = sum(isinstance(message, AssistantMessage) for message in request.messages)
        return replies[min(said, len(replies) - 1)]


class HangingBuilder(Cast):
    """Its builder says a few words, and then nothing more for ever."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        if role_of(request) == "builder":
            yield TextPiece(text="A few words, and then")
            await asyncio.sleep(3_600)
        async for piece in super().stream(request):
            yield piece


def role_of(request: ModelRequest) -> str:
    found = _ROLE.search(request.system)
    assert found is not None, request.system
    return found[1]


_MADE: dict[str, Callable[[str], Model]] = {
    "test:works": Cast,
    "test:slow": lambda name: Cast(name, delay_s=1.0),
    "test:hanging": HangingBuilder,
    "test:restless": lambda name: Cast(name, {"builder": RESTLESS}),
    "test:critical": lambda name: Cast(name, dict(ALWAYS_FINDS)),
    "test:unpriced": lambda name: Cast(name, price=None),
    "test:failing": lambda name: Cast(name, {"specifier": [fails(ModelAccessError("The key is wrong"))]}),
}


def model_of(name: str) -> Model:
    """The model of that name, one of these or a real one."""
    return _MADE[name](name) if name in _MADE else make_model(name)


def sample(folder: Path) -> Path:
    """The sample repository, in that folder."""
    return asyncio.run(make_sample_repository(folder))


if __name__ == "__main__":
    coding.make_model = model_of
    main(sys.argv[1:])
