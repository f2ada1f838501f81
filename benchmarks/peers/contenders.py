"""Who is measured, and how they are asked: each is a process of its own that answers in JSON."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any

from peers.environments import NotInstalledError, python_of

SCRIPTS = Path(__file__).parent
ANSWER_TIMEOUT_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """Something to measure. ``peer`` names its environment; None is our own."""

    name: str
    script: str
    peer: str | None = None
    address: str = ""
    """Where its state goes: nowhere, or a database. ``{folder}`` and ``{postgres}`` are filled in."""
    is_async: bool = True
    """Many of it can run at once in one thread."""
    runs_at_once: bool = False
    """It is measured with a thousand runs at once. Slow ones are not: that takes minutes each."""

    @property
    def is_ours(self) -> bool:
        return self.script == "endstop_loop.py"

    @property
    def keeps_record(self) -> bool:
        return self.address not in ("", "memory")


BARE = Contender(name="bare loop", script="bare.py", runs_at_once=True)
OURS = Contender(name="Endstop", script="endstop_loop.py", runs_at_once=True)
OURS_SQLITE = Contender(
    name="Endstop, SQLite",
    script="endstop_loop.py",
    address="sqlite:///{folder}/endstop.db",
    runs_at_once=True,
)
LANGGRAPH_SQLITE = Contender(
    name="LangGraph, SQLite", script="langgraph_loop.py", peer="langgraph", address="sqlite:{folder}/graph.db"
)
CONTENDERS = (
    BARE,
    OURS,
    Contender(name="Endstop, MemoryStore", script="endstop_loop.py", address="memory"),
    Contender(name="smolagents", script="smolagents_loop.py", peer="smolagents", is_async=False),
    Contender(name="AutoGen", script="autogen_loop.py", peer="autogen", runs_at_once=True),
    Contender(name="LangGraph", script="langgraph_loop.py", peer="langgraph", runs_at_once=True),
    Contender(name="PydanticAI", script="pydantic_ai_loop.py", peer="pydantic_ai"),
    Contender(name="openai-agents", script="openai_agents_loop.py", peer="openai_agents"),
    Contender(name="bare loop, SQLite", script="bare.py", address="sqlite:{folder}/bare.db"),
    OURS_SQLITE,
    Contender(name="Endstop, PostgreSQL", script="endstop_loop.py", address="{postgres}", runs_at_once=True),
    LANGGRAPH_SQLITE,
)


class NoAnswerError(Exception):
    """A contender could not do what it was asked; says why."""


class Asked:
    """A contender that runs, and can be asked."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log

    def ask(self, measure: str, **options: object) -> dict[str, Any]:
        """What it answers to a request. ``NoAnswerError`` if it fails, dies or takes too long."""
        if self._process.poll() is not None:
            raise NoAnswerError(f"it has ended: {self._last_words()}")
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = Timer(ANSWER_TIMEOUT_S, self._process.kill)
        timer.start()
        try:
            self._process.stdin.write(json.dumps({"measure": measure, **options}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if not line:
            self._process.wait()
            raise NoAnswerError(f"it ended, or took more than {ANSWER_TIMEOUT_S:.0f} s: {self._last_words()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise NoAnswerError(answer["error"])
        return answer

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


@contextlib.contextmanager
def started(contender: Contender, *, folder: Path, postgres_url: str | None) -> Generator[Asked, None, None]:
    """A contender's process, which has ended afterwards. ``NoAnswerError`` if it cannot be started."""
    if "{postgres}" in contender.address and postgres_url is None:
        raise NoAnswerError("PostgreSQL could not be started")
    try:
        python = sys.executable if contender.peer is None else python_of(contender.peer)
    except NotInstalledError as error:
        raise NoAnswerError(f"it could not be installed: {error}") from error
    address = contender.address.replace("{postgres}", postgres_url or "").replace("{folder}", str(folder))
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as log:
        process = subprocess.Popen(
            [str(python), str(SCRIPTS / contender.script), address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,  # Ctrl-C is for us: what was measured so far is still shown
            env={key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"},
        )
    try:
        yield Asked(process, Path(log.name))
    finally:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()  # the end of its requests: it ends by itself
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
