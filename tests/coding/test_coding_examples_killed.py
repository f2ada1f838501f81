"""A session that is killed, in every phase, and gone on with by another process: nothing lost or doubled."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from signal import SIGKILL
from typing import Any, TypeAlias

import pytest
from git_words import everything, git
from session_words import RUN, keys, of, played, runner

from endstop.coding.examples import EXAMPLES, make_sample_repository
from endstop.events.bus import Bus
from endstop.events.coding import (
    IssuesFound,
    PlanGiven,
    PriceDecided,
    PriceGiven,
    RoundEnded,
    SessionConcluded,
    SessionOpened,
    SimplifyingEnded,
    SpecificationGiven,
    TestsRun,
)
from endstop.events.facts import RunTaken
from endstop.kernel.outcome import Completed, Stopped
from endstop.ports import Store
from endstop.runner import Run
from endstop.store import open_store

Fact: TypeAlias = tuple[str, dict[str, Any]]
"""A fact by its type and some of its values."""

PHASES: list[Fact] = [
    ("scope.opened", {"scope": "interview"}),
    ("tool.called", {"scope": "interview", "tool": "await_user"}),
    ("coding.interviewed", {}),
    ("budget.reserved", {"scope": "specifier 1.1"}),
    ("coding.specified", {"attempt": 2}),
    ("coding.priced", {}),
    ("coding.price_decided", {}),
    ("coding.planned", {}),
    ("tool.called", {"scope": "builder 1", "tool": "edit_file"}),
    ("tool.called", {"scope": "builder 1", "tool": "run_tests"}),
    ("coding.tested", {"round": 1}),
    ("coding.criticised", {"round": 1}),
    ("coding.round_ended", {"round": 1}),
    ("tool.called", {"scope": "builder 2", "tool": "edit_file"}),
    ("coding.criticised", {"round": 2}),
    ("tool.called", {"scope": "simplifier 2.1", "tool": "edit_file"}),
    ("coding.tested", {"after": "simplifying 1"}),
    ("coding.simplified", {"number": 1}),
    ("coding.tested", {"after": "simplifying 2"}),
    ("coding.simplified", {"number": 2}),
    ("coding.round_ended", {"round": 2}),
    ("coding.concluded", {}),
]
"""What is about to be saved when the process is killed."""

STEPS: list[Fact] = [
    ("tool.called", {"scope": "builder 1", "tool": "run_tests"}),
    ("coding.criticised", {"round": 1}),
    ("tool.called", {"scope": "builder 2", "tool": "run_tests"}),
    ("coding.criticised", {"round": 2}),
    ("coding.tested", {"after": "simplifying 1"}),
    ("coding.tested", {"after": "simplifying 2"}),
]
"""What is followed by something that takes a while."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ENDSTOP_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'runs.db'}"


@pytest.fixture
async def sample(tmp_path: Path) -> Path:
    return await make_sample_repository(tmp_path / "sample")


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    opened = await open_store(url)
    yield opened
    await opened.close()


async def record_of(url: str) -> Run:
    store = await open_store(url)
    try:
        return await runner(store).wait(RUN)
    finally:
        await store.close()


def killed(url: str, sample: Path, name: str, facts: Sequence[Fact], after_s: float = 0.0) -> list[int]:
    """How each process ended that worked on the example: killed after a fact, but for the last."""
    script = Path(__file__).with_name("killed_sessions.py")
    moments = [(kind, values, after_s) for kind, values in facts]
    done = subprocess.run(
        [sys.executable, str(script), url, str(sample), name, json.dumps(moments)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def require_accepted(run: Run, sample: Path) -> None:
    """All of it was done, and done once."""
    assert isinstance(run.outcome, Completed)
    assert run.outcome.warnings == ()
    for kind in (SessionOpened, PriceGiven, PriceDecided, PlanGiven, SessionConcluded):
        assert len(of(run, kind)) == 1, kind
    assert keys(of(run, SpecificationGiven), "cycle", "attempt") == [(1, 1), (1, 2)]
    assert keys(of(run, IssuesFound), "round") == [(1,), (2,)]
    assert keys(of(run, TestsRun), "round", "after", "are_green") == [
        (1, "building", True),
        (2, "building", True),
        (2, "simplifying 1", True),
        (2, "simplifying 2", False),
    ]
    assert [one.is_kept for one in of(run, SimplifyingEnded)] == [True, False]
    rounds = of(run, RoundEnded)
    assert keys(rounds, "added", "removed") == [(22, 2), (24, 2)]
    on_branch = git(sample, "log", "--format=%H", "--reverse", f"endstop/{RUN}").splitlines()
    assert on_branch[1:] == [one.commit for one in rounds]
    assert run.audit(), str(run.audit())


@pytest.mark.thorough
@pytest.mark.timeout(180)
@pytest.mark.guarantee("H1", "H5", "G8")
async def test_killed_in_every_phase_it_is_accepted_all_the_same_and_nothing_is_doubled(
    sample: Path, url: str
) -> None:
    before = everything(sample)
    statuses = killed(url, sample, "accepted", PHASES)
    assert statuses == [-SIGKILL] * len(PHASES) + [0]
    require_accepted(await record_of(url), sample)
    assert everything(sample) == before


@pytest.mark.thorough
@pytest.mark.timeout(120)
@pytest.mark.guarantee("H1", "G8")
@pytest.mark.parametrize("after_s", [0.005, 0.02, 0.06])
async def test_killed_in_the_middle_of_tests_commits_and_restoring_it_is_accepted_all_the_same(
    sample: Path, url: str, after_s: float
) -> None:
    before = everything(sample)
    statuses = killed(url, sample, "accepted", STEPS, after_s)
    assert statuses[:5] == [-SIGKILL] * 5, "the last may be through before it is killed"
    assert statuses[-1] == 0
    require_accepted(await record_of(url), sample)
    assert everything(sample) == before


@pytest.mark.thorough
@pytest.mark.timeout(120)
@pytest.mark.guarantee("H1", "B7")
async def test_killed_between_rounds_it_is_stuck_after_three_all_the_same(sample: Path, url: str) -> None:
    moments: list[Fact] = []
    for number in (1, 2, 3):
        moments += [("coding.criticised", {"round": number}), ("coding.round_ended", {"round": number})]
        moments += [("iteration.ended", {"iteration": number - 1})]
    statuses = killed(url, sample, "stuck", moments)
    run = await record_of(url)
    assert statuses == [-SIGKILL] * 9 + [0]
    assert isinstance(run.outcome, Stopped)
    assert of(run, SessionConcluded)[0].kind == "stuck"
    assert len(git(sample, "log", "--format=%H", f"endstop/{RUN}").splitlines()) == 4
    assert run.audit(), str(run.audit())


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("name", ["vague", "dear"])
async def test_killed_before_anything_is_built_it_is_abandoned_in_the_same_words(
    sample: Path, tmp_path: Path, url: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("ENDSTOP_HOME", str(tmp_path / "elsewhere"))
        store = await open_store(f"sqlite:///{tmp_path / 'other.db'}")
        unharmed = await played(EXAMPLES[name], await make_sample_repository(tmp_path / "other"), store)
        await store.close()
    moments: list[Fact] = [("scope.opened", {}), ("coding.specified", {}), ("coding.concluded", {})]
    assert killed(url, sample, name, moments) == [-SIGKILL] * 3 + [0]
    run = await record_of(url)
    assert run.outcome == unharmed.outcome
    assert run.audit(), str(run.audit())


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("budget.reserved", {"scope": "builder 1"}),
        ("tool.called", {"scope": "builder 1", "tool": "edit_file"}),
        ("coding.criticised", {"round": 1}),
    ],
)
async def test_cut_off_by_whoever_ran_it_another_runner_goes_on(
    sample: Path, store: Store, kind: str, values: dict[str, Any]
) -> None:
    example = EXAMPLES["accepted"]
    bus, is_time = Bus(), asyncio.Event()

    def wake() -> None:
        if any(
            all(getattr(fact.payload, name) == value for name, value in values.items())
            for fact in heard.take()
        ):
            is_time.set()

    heard = bus.subscribe(kind, wake=wake)
    playing = asyncio.create_task(played(example, sample, store, bus=bus))
    await is_time.wait()
    playing.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await playing
    run = await played(example, sample, store)
    assert isinstance(run.outcome, Completed)
    assert run.outcome.warnings == ()
    assert len(of(run, RunTaken)) >= 3, "after each answer, and after the cut"
    assert len(git(sample, "log", "--format=%H", f"endstop/{RUN}").splitlines()) == 3
    assert run.audit(), str(run.audit())
