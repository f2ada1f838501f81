"""Conducts coding sessions in process after process, each killed in the middle of its work, until they end.

A life ends by SIGKILL at a random moment, or right after one of its git commands: that is how the narrow
places between a commit and the fact of it are met. It imports everything once and forks. After each life it
looks at the record from outside. Prints what it saw as JSON, and leaves the records beside it.

Usage: python crashing_sessions.py DATABASE_URL FOLDER KILLS SEED
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from cast_words import CODE, TESTS, Replies, Session, finds, simplifies, submit, with_roles, write

from endstop.coding.git import Git
from endstop.coding.policy import Policy
from endstop.coding.policy_rules import (
    BuildRules,
    CriticRules,
    PlanRules,
    PriceRules,
    ReflexionRules,
    SessionRules,
    SpecifyRules,
)
from endstop.errors import UnknownRunError
from endstop.events.codec import encode
from endstop.kernel.review import RunPhase
from endstop.ports import ModelRequest, ToolMessage
from endstop.store import open_store
from endstop.testing import calls
from forking import forked

LONGEST_LIFE_S = 0.8
MOST_GIT_COMMANDS = 40
"""A life that is to end after a git command has so many of them at most."""

LONG = CODE.replace("return", "".join(f"step_{place} = number\n    " for place in range(20)) + "return")
BROKEN = "def double(number):\n    return 0\n"
LATER = "LATER = True\n" * 12

ROOMY = Policy(
    session=SessionRules(minutes=400, model_calls=1_000, tokens=20_000_000),
    specify=SpecifyRules(turns=50),
    price=PriceRules(turns=50),
    plan=PlanRules(seconds=600, turns=50),
    build=BuildRules(turns=50, tester_turns=50),
    critic=CriticRules(turns=50),
    reflexion=ReflexionRules(turns=50, least_lines=10),
)
"""So much of everything that only the kills matter: a call that is cut off counts at its worst case."""


def steady(*replies: Any) -> Callable[[ModelRequest], Replies]:
    """One who says the same again where a call was interrupted, and goes on where it was not."""

    def reply(request: ModelRequest) -> Replies:
        results = [message for message in request.messages if isinstance(message, ToolMessage)]
        done = sum(not result.text.startswith("Interrupted") for result in results)
        return [replies[min(done, len(replies) - 1)]] * 1_000

    return reply


ROLES = with_roles(
    interviewer=[calls("submit_brief", brief="Double.")],
    pricer=[calls("submit_price", input_tokens=2_000_000, output_tokens=0, model_calls=50, minutes=9)],
    builder_1=steady(write("numbers_.py", BROKEN), write("test_numbers.py", TESTS), submit()),
    builder_2=steady(write("numbers_.py", LONG), submit()),
    builder_3=steady(write("later.py", LATER), submit()),
    critic_2=[finds(("critical", "It does not work later"))],
    simplifier=steady(
        write("helper.py", "HELP = 1\n"),
        calls("delete_file", path="one.py"),
        *simplifies(("numbers_.py", BROKEN)),
    ),
)
"""Three rounds: failing tests, a critical issue, and then a simplification that has to be taken back."""


async def live(
    url: str, folder: Path, run_id: str, git_commands: int | None, ready: Callable[[], None]
) -> None:
    """Work on the session, to its end if this life is long enough."""
    store = await open_store(url)
    session = Session(folder, store, ROLES, policy=ROOMY, asks_user=True)
    try:
        is_over = (await store.run(run_id)).phase is RunPhase.ENDED
        begin = None if is_over else session.runner.resume(run_id, agent=session.agent())
    except UnknownRunError:
        begin = session.run(run_id=run_id)
    if git_commands is not None:
        die_after(git_commands)
    ready()
    if begin is not None:
        await begin
    await store.close()


def die_after(commands: int) -> None:
    """Have this process killed as soon as so many git commands are through."""
    left = [commands]
    run: Callable[..., Awaitable[Any]] = Git.run

    async def last_run(self: Git, *words: str, **options: Any) -> Any:
        done = await run(self, *words, **options)
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    Git.run = last_run  # pyright: ignore[reportAttributeAccessIssue] - it dies, but is git otherwise


async def record_lines(url: str, run_id: str) -> list[str]:
    store = await open_store(url)
    try:
        return [encode(fact) for fact in await store.record(run_id)]
    except UnknownRunError:
        return []
    finally:
        await store.close()


class Lives:
    """The lives of sessions, one after the other."""

    def __init__(self, url: str, folder: Path, chance: random.Random) -> None:
        self._url = url
        self._folder = folder
        self._chance = chance
        self.killed_after: Counter[str] = Counter()
        """How often it was killed after which kind of fact."""

    def one(self, run_id: str, lives: int, *, is_killed: bool) -> int:
        """One life; its exit status. Later lives are longer, so that every session ends some time."""
        by_git = is_killed and self._chance.random() < 0.5
        commands = self._chance.randint(1, MOST_GIT_COMMANDS + lives) if by_git else None
        longest_s = LONGEST_LIFE_S * (1 + lives / 10)
        process, reading = forked(
            lambda ready: asyncio.run(live(self._url, self._folder, run_id, commands, ready))
        )
        os.read(reading, 1)  # ends when the child has closed its side, by beginning or by dying
        os.close(reading)
        if is_killed and not by_git:
            time.sleep(self._chance.random() ** 2 * longest_s)
            os.kill(process, signal.SIGKILL)
        return os.waitpid(process, 0)[1]

    def look(self, run_id: str) -> list[str]:
        """The record from outside, read in a process of its own: this one must stay without threads."""
        kept = self._folder / f"{run_id}.jsonl"

        def save(_: object) -> None:
            kept.write_text("\n".join(asyncio.run(record_lines(self._url, run_id))), encoding="utf-8")

        process, reading = forked(save)
        os.close(reading)
        os.waitpid(process, 0)
        return kept.read_text(encoding="utf-8").splitlines()

    def session(self, run_id: str, kills: int) -> dict[str, Any]:
        """A whole session, in as many lives as it takes; no more than so many are cut off."""
        before: list[str] = []
        statuses: list[int] = []
        is_prefix = True
        while not statuses or statuses[-1] != 0:
            status = self.one(run_id, len(statuses), is_killed=statuses.count(signal.SIGKILL) < kills)
            statuses.append(status)
            after = self.look(run_id)
            is_prefix = is_prefix and after[: len(before)] == before
            before = after
            if status == signal.SIGKILL and after:
                self.killed_after[_last_step(after)] += 1
            if status not in (0, signal.SIGKILL):
                break
        return {"run": run_id, "statuses": statuses, "is_prefix": is_prefix}


def _last_step(lines: list[str]) -> str:
    """The last fact of the session itself: the phase it was in."""
    types = [json.loads(line)["type"] for line in lines]
    return next((name for name in reversed(types) if name.startswith("coding.")), types[0])


def main() -> None:
    url, folder, kills, seed = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    lives = Lives(url, folder, random.Random(seed))
    sessions: list[dict[str, Any]] = []
    killed = 0
    while killed < kills:
        sessions.append(lives.session(f"run_crash{len(sessions) + 1}", kills - killed))
        killed += sessions[-1]["statuses"].count(signal.SIGKILL)
        if sessions[-1]["statuses"][-1] != 0:
            break
    told = {"sessions": sessions, "killed": killed, "killed_after": lives.killed_after}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()
