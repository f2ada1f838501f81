"""A cast of roles that plays coding sessions, on real git and pytest; and how to see what came of them."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from git_words import everything

from endstop.coding import CODING
from endstop.coding.policy import Policy
from endstop.coding.repository import open_repository
from endstop.coding.session import CodingSession, SessionTerms, session_terms
from endstop.events.coding import SessionConcluded
from endstop.guard.clock import SystemClock
from endstop.kernel.agent import AgentConfig
from endstop.kernel.outcome import Abandoned, Cancelled, Completed, Stopped
from endstop.loop import Agent
from endstop.ports import AssistantMessage, Model, ModelRequest, Store
from endstop.runner import Run, Runner
from endstop.testing import ScriptedModel, ScriptedPrice, calls
from endstop.testing.counting import DEFAULT_PRICE
from endstop.testing.replies import ScriptedReply
from endstop.tools.footprint import CONFINED

T = TypeVar("T")

Replies = Sequence[ScriptedReply | str]
Script = Replies | Callable[[ModelRequest], Replies]
Roles = Mapping[str, Script]
"""What each role says, turn by turn; the last is said again. Keys: ``builder``, or ``builder 2`` for a round,
an attempt, a cycle or a pass of its own."""

SPECIFICATION: Mapping[str, Any] = {
    "title": "Add double",
    "success_criteria": ["double(2) is 4"],
    "lines_of_code": 40,
    "acceptance_tests": ["test_double"],
    "risk": "low",
}
PRICE: Mapping[str, Any] = {
    "input_tokens": 60_000,
    "output_tokens": 20_000,
    "model_calls": 12,
    "minutes": 5,
    "why": "Small.",
}
CODE = "def double(number):\n    return number * 2\n"
TESTS = "from numbers_ import double\n\n\ndef test_double():\n    assert double(2) == 4\n"


def write(path: str, text: str) -> ScriptedReply:
    return calls("write_file", path=path, content=text)


def submit(summary: str = "Added double.") -> ScriptedReply:
    return calls("submit_work", summary=summary)


def builds(code: str = CODE, tests: str = TESTS) -> Replies:
    return [write("numbers_.py", code), write("test_numbers.py", tests), submit()]


def specifies(**changes: Any) -> ScriptedReply:
    return calls("submit_specification", **{**SPECIFICATION, **changes})


def prices(**changes: Any) -> ScriptedReply:
    return calls("submit_price", **{**PRICE, **changes})


def finds(*issues: tuple[str, str]) -> ScriptedReply:
    """Issues as gravity and title."""
    return calls("submit_issues", issues=[{"gravity": gravity, "title": title} for gravity, title in issues])


def judges(*, met: bool = True) -> ScriptedReply:
    return calls(
        "submit_verdicts",
        criteria=[{"number": 1, "met": met, "evidence": "seen", "test": "test_double" if met else None}],
    )


def simplifies(*files: tuple[str, str]) -> Replies:
    """Files as name and new text."""
    done = calls("submit_simplification", summary="Simpler.")
    return [*(write(name, text) for name, text in files), done]


def reviews(decision: str, why: str = "Hand it in.") -> ScriptedReply:
    return calls("submit_review", decision=decision, why=why)


WORKS: Roles = {
    "specifier": [specifies()],
    "pricer": [prices()],
    "planner": [calls("submit_plan", tasks=["Write it", "Test it"])],
    "builder": builds(),
    "tester": [judges()],
    "critic": [finds()],
    "simplifier": simplifies(),
}
"""Roles that do it well."""


def with_roles(**changes: Script) -> Roles:
    """The roles that do it well, with some that do otherwise; ``builder_2`` is the builder of round 2."""
    return {**WORKS, **{name.replace("_", " "): replies for name, replies in changes.items()}}


_ROLE = re.compile(r"You are the (\w+) of a coding session")
_PLACE = re.compile(r"^(?:Attempt|Cycle|Round|Pass) (\d+) of ")


class Cast(ScriptedModel):
    """Plays every role as it is told, from what it is asked alone: any process can go on with it."""

    def __init__(
        self, roles: Roles = WORKS, *, price: ScriptedPrice | None = DEFAULT_PRICE, delay_s: float = 0.0
    ) -> None:
        super().__init__(self._reply, name="test:cast", price=price, delay_s=delay_s)
        self._roles = roles
        self.asked: list[str] = []
        """The role of each call, and its place, in order."""
        self.heard: dict[str, str] = {}
        """All that was said to a role, by its name and place, when it was last asked."""

    def _reply(self, request: ModelRequest) -> ScriptedReply | str:
        role = _ROLE.search(request.system)
        assert role is not None, request.system
        place = _PLACE.match(request.messages[0].text)
        name = f"{role[1]} {place[1]}" if place is not None else role[1]
        self.asked.append(name)
        self.heard[name] = "\n".join(message.text for message in request.messages)
        script = self._roles.get(name) or self._roles[role[1]]
        replies = script(request) if callable(script) else script
        said = sum(isinstance(message, AssistantMessage) for message in request.messages)
        return replies[min(said, len(replies) - 1)]


_QUICK_PYTEST = "[pytest]\naddopts = " + " ".join(
    f"-p no:{name}"
    for name in (
        "schemathesis",
        "hypothesispytest",
        "xdist",
        "xdist.looponfail",
        "asyncio",
        "anyio",
        "timeout",
    )
)
"""Without the plug-ins that happen to be there: to load them takes four times as long as the tests."""


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def make_repository(folder: Path) -> Path:
    """A small Python project with one test, committed; and its user was in the middle of something else."""
    folder.mkdir(parents=True)
    (folder / "one.py").write_text("ONE = 1\n")
    (folder / "test_one.py").write_text("from one import ONE\n\n\ndef test_one():\n    assert ONE == 1\n")
    (folder / "pytest.ini").write_text(f"{_QUICK_PYTEST}\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.com")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Begin")
    (folder / "one.py").write_text("ONE = 1  # put aside\n")
    git(folder, "stash", "-q")
    (folder / "one.py").write_text("ONE = 1  # under way\n")
    (folder / "staged.py").write_text("STAGED = True\n")
    git(folder, "add", "staged.py")
    (folder / "notes.txt").write_text("Of my own.\n")
    return folder


def users_own(repository: Path) -> Mapping[str, bytes]:
    """What is the user's, byte for byte: files, index, stash, branch, settings."""
    main = repository / ".git/refs/heads/main"
    return {**everything(repository), str(main): main.read_bytes()}


@dataclass
class Session:
    """A session to be run, and run on."""

    home: Path
    store: Store
    roles: Roles = field(default_factory=lambda: WORKS)
    policy: Policy = field(default_factory=Policy)
    asks_user: bool = False
    yes_under_usd: Decimal | None = Decimal(5)
    limits: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """In place of those of the policy: a test has no whole minute."""
    models: Mapping[str, Model] = field(default_factory=dict[str, Model])
    """By role: those that are not played by the cast."""
    model: Cast = field(init=False)
    repository: Path = field(init=False)
    before: Mapping[str, bytes] = field(init=False)
    """What the user had before the session."""

    def __post_init__(self) -> None:
        self.model = Cast(self.roles)
        self.policy = replace(self.policy, models={role: f"test:{role}" for role in self.models})
        self.repository = self.home / "repository"
        if not self.repository.exists():
            make_repository(self.repository)
        self.before = users_own(self.repository)

    async def beginning(self) -> Agent:
        """The agent of a session that begins: it brings the terms."""
        terms = await session_terms(
            await open_repository(self.repository),
            self.policy,
            asks_user=self.asks_user,
            yes_under_usd=self.yes_under_usd,
        )
        return self.agent(terms)

    def agent(self, terms: SessionTerms | None = None) -> Agent:
        """The agent of a session that goes on: its record has the terms."""
        conducting = CodingSession(
            model=self.model,
            make_model=lambda name: self.models[name.removeprefix("test:")],
            worktrees=self.home / "worktrees",
            cache_dir=self.home / "cache",
            terms=terms,
        )
        config = AgentConfig(budget=replace(self.policy.budget(), **self.limits))
        return Agent(name=CODING, model=self.model, config=config, conducting=conducting)

    @property
    def runner(self) -> Runner:
        return Runner(self.store, clock=SystemClock(), agent_of=lambda _: self.agent())

    async def run(self, intent: str = "Add a function that doubles.", **options: Any) -> Run:
        return await self.runner.run(await self.beginning(), intent, **options)

    async def resume(self, run: Run, **options: Any) -> Run:
        """Go on with it, as another process would: from its record alone."""
        return await self.runner.resume(run.id, agent=self.agent(), **options)

    def commits(self, run: Run) -> list[str]:
        """The subjects of the commits of its branch, oldest first."""
        log = git(self.repository, "log", "--reverse", "--format=%s", f"main..endstop/{run.id}")
        return log.splitlines()

    def message(self, run: Run, back: int = 0) -> str:
        """The message of the last commit of its branch, or of one before it."""
        return git(self.repository, "log", "-1", "--format=%B", f"endstop/{run.id}~{back}")

    def file(self, run: Run, name: str) -> str:
        """A file as the last commit of the session has it."""
        return git(self.repository, "show", f"endstop/{run.id}:{name}")

    def untouched(self) -> bool:
        """Whether what is the user's is as it was."""
        return users_own(self.repository) == self.before

    def left_over(self) -> list[str]:
        """Locks, and processes of commands, that should be gone by now. Waits for what is just going."""
        until_s = time.monotonic() + 2
        while (found := self._left_over()) and time.monotonic() < until_s:
            time.sleep(0.02)
        return found

    def _left_over(self) -> list[str]:
        folder = self.repository / ".git"
        locks = [str(path) for path in (*folder.rglob("*.lock"), *folder.glob("worktrees/*/locked"))]
        return [*locks, *_confined_processes(self.home)]


def _confined_processes(home: Path) -> list[str]:
    """Processes of confined commands that work somewhere in ``home``, whoever their parent is by now."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_confined = CONFINED.encode() in (process / "environ").read_bytes()
            if is_confined and os.readlink(process / "cwd").startswith(str(home)):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue  # gone in between, or not ours to see
    return found


def of(run: Run, kind: type[T]) -> list[T]:
    return [fact.payload for fact in run.facts if isinstance(fact.payload, kind)]


def require_audit(run: Run) -> None:
    assert run.audit(), str(run.audit())


def kind_of(run: Run) -> str:
    """What the session is called at its end: there is one conclusion, and one of the endings (G7)."""
    assert isinstance(run.outcome, Completed | Abandoned | Stopped | Cancelled), run.outcome
    (concluded,) = of(run, SessionConcluded)
    return concluded.kind


LATE_S = 0.5
"""A time limit may be passed by this much (A11)."""


async def in_time(
    make: Callable[[Path], Session], home: Path, play: Callable[[Session], Awaitable[Run]] = Session.run
) -> tuple[Session, Run]:
    """A session with a time limit, played. A machine that is busy with other things may be late once, but
    not three times."""
    for attempt in range(2):
        session = make(home / str(attempt))
        run = await play(session)
        if run.usage.seconds <= session.limits["seconds"] + LATE_S:
            return session, run
    session = make(home / "last")
    return session, await play(session)


def require_kept_promises(session: Session, run: Run) -> str:
    """What holds for every session that is over, however it went. Returns what it is called."""
    kind = kind_of(run)
    require_audit(run)
    assert session.untouched()
    assert session.left_over() == []
    most, used = session.agent().config.budget, run.usage
    assert used.model_calls <= (most.model_calls or 0)
    assert used.tokens <= (most.tokens or 0)
    assert used.known_cost_usd <= (most.cost_usd or 0)
    return kind
