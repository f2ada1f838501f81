"""Agents, tests and models that would go on for ever, or get out: the session ends, and leaves nothing."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cast_words import (
    CODE,
    TESTS,
    Session,
    builds,
    finds,
    git,
    in_time,
    judges,
    of,
    prices,
    require_kept_promises,
    reviews,
    specifies,
    submit,
    with_roles,
    write,
)

from endstop.coding.policy import ROLES, Policy
from endstop.coding.policy_rules import (
    BuildRules,
    CriticRules,
    InterviewRules,
    PlanRules,
    PriceRules,
    ReflexionRules,
    ReviewedBy,
    ReviewRules,
    SessionRules,
    SpecifyRules,
    TestsRules,
)
from endstop.events.coding import RoundEnded, SessionConcluded, TestsRun
from endstop.kernel.outcome import Abandoned, AwaitingUser, Completed, UnderReview
from endstop.kernel.review import Rejected
from endstop.ports import ModelRequest, Store
from endstop.runner import Run
from endstop.testing import ADVERSARIES, calls
from endstop.testing.replies import ScriptedReply
from endstop.tools.sandbox import installed_bubblewrap

needs_bubblewrap = pytest.mark.skipif(
    installed_bubblewrap().program is None,
    reason="without bubblewrap commands are not confined, and it says so",
)

# ── agents that never come to an end ──────────────────────────────────────────────────────────────────────


@pytest.mark.thorough
@pytest.mark.guarantee("G1")
async def test_a_specifier_that_is_never_complete(tmp_path: Path, store: Store) -> None:
    lacks: tuple[dict[str, Any], ...] = (
        {"success_criteria": []},
        {"acceptance_tests": []},
        {"lines_of_code": None},
    )
    attempts = {f"specifier_{number}": [specifies(**one)] for number, one in enumerate(lacks, start=1)}
    session = Session(tmp_path, store, with_roles(**attempts))
    run = await session.run()
    assert require_kept_promises(session, run) == "abandoned"
    assert len(session.model.asked) == 3


@pytest.mark.guarantee("G2", "G3")
async def test_a_pricer_that_is_always_too_dear_for_a_user_who_always_takes_an_alternative(
    tmp_path: Path, store: Store
) -> None:
    session = Session(
        tmp_path,
        store,
        with_roles(pricer=[prices(input_tokens=90_000_000)]),
        policy=Policy(interview=InterviewRules(is_on=False)),
        asks_user=True,
        yes_under_usd=None,
    )
    run = await session.run()
    for _ in range(2):
        assert isinstance(run.outcome, AwaitingUser)
        run = await session.resume(run, answer="1")
    assert require_kept_promises(session, run) == "abandoned"
    assert len(session.model.asked) == 4


@pytest.mark.thorough
@pytest.mark.guarantee("G4", "B7")
async def test_a_critic_that_always_finds_something_new(tmp_path: Path, store: Store) -> None:
    numbers = itertools.count(1)
    session = Session(
        tmp_path,
        store,
        with_roles(
            builder=lambda request: [
                *builds()[:2],
                write(f"more_{request.messages[0].text[6]}.py", "MORE = 1\n" * 40),
                submit(),
            ],
            critic=lambda request: [finds(("critical", f"Fault number {next(numbers)}"))],
        ),
    )
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded_with_warnings"
    assert isinstance(run.outcome, Completed)
    assert len(of(run, RoundEnded)) == 3


@pytest.mark.guarantee("B7", "G6")
async def test_a_critic_that_repeats_itself(tmp_path: Path, store: Store) -> None:
    session = Session(
        tmp_path,
        store,
        with_roles(critic=[finds(("critical", "It is not elegant"))]),
        policy=Policy(build=BuildRules(rounds=9)),
    )
    run = await session.run()
    assert require_kept_promises(session, run) == "stuck"
    assert len(of(run, RoundEnded)) == 3
    (concluded,) = of(run, SessionConcluded)
    assert "It stayed open: Critical: It is not elegant." in concluded.next_steps
    assert concluded.checkpoint == of(run, RoundEnded)[-1].commit


@pytest.mark.thorough
@pytest.mark.guarantee("B7", "G8", "G9")
async def test_a_builder_that_makes_no_change_and_a_tester_that_lies_about_it(
    tmp_path: Path, store: Store
) -> None:
    """The tester says that a test shows it, and that test never ran."""
    session = Session(
        tmp_path, store, with_roles(builder=[submit("All done.")]), policy=Policy(build=BuildRules(rounds=9))
    )
    run = await session.run()
    assert require_kept_promises(session, run) == "stuck"
    assert [ended.files for ended in of(run, RoundEnded)] == [0, 0, 0]
    assert [ended.open_issues for ended in of(run, RoundEnded)] == [("Not met: double(2) is 4",)] * 3
    assert len(session.commits(run)) == 3, "a commit per round, also where nothing changed"


@pytest.mark.thorough
@pytest.mark.guarantee("G4", "G7")
async def test_a_builder_that_makes_the_tests_worse_each_round(tmp_path: Path, store: Store) -> None:
    def worse(request: ModelRequest) -> list[ScriptedReply]:
        number = int(request.messages[0].text[6])
        tests = "".join(f"def test_{place}():\n    assert False\n\n\n" for place in range(20 * number))
        return [write("test_worse.py", tests), submit()]

    session = Session(
        tmp_path, store, with_roles(builder_1=builds(), builder=worse, tester=[judges(met=False)])
    )
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded_with_warnings"
    assert [ended.failing_tests for ended in of(run, RoundEnded)] == [0, 40, 60]
    assert isinstance(run.outcome, Completed)
    assert run.outcome.warnings[-1].startswith("Round 1 stood better")
    (concluded,) = of(run, SessionConcluded)
    assert f"endstop session restore {run.id} 1" in concluded.next_steps[0]


# ── builders that want to get out ─────────────────────────────────────────────────────────────────────────

OUTSIDE = "outside.txt"
WRITES = {
    "above the worktree": [write(f"../{OUTSIDE}", "x")],
    "by a whole path": [write("{repository}/one.py", "x")],
    "into git's folder": [write(".git/hooks/post-commit", "x")],
    "over git's pointer": [write(".git", "gitdir: {repository}/.git\n")],
    "by deleting above": [calls("delete_file", path="../../repository/one.py")],
}
COMMANDS = {
    "through a link": [
        calls("run_command", command="ln -s {repository} link"),
        write("link/one.py", "x"),
        calls("run_command", command="echo x > link/one.py"),
    ],
    "by a command": [calls("run_command", command="echo x > {repository}/one.py; rm -rf {repository}/.git")],
    "by git": [
        calls("run_command", command="git commit -am x; git branch -f main HEAD; git stash; git gc"),
        calls("run_command", command="git config core.hooksPath /tmp; git worktree lock ."),
    ],
    "by another pointer": [
        calls("run_command", command="rm -f .git; echo 'gitdir: {repository}/.git' > .git; git checkout ."),
    ],
    "by a repository of its own": [calls("run_command", command="rm -rf .git; git init -q .; git add -A")],
    "by its tests": [
        write(
            "test_out.py",
            "import pathlib\n\n\ndef test_out():\n"
            "    try:\n        pathlib.Path('{repository}/one.py').write_text('x')\n"
            "    except OSError:\n        pass\n",
        )
    ],
}


def placed(replies: list[ScriptedReply], repository: Path) -> list[ScriptedReply]:
    """The replies with the path of the user's repository in them."""
    return [
        calls(
            one.calls[0].tool, **json.loads(one.calls[0].arguments.replace("{repository}", str(repository)))
        )
        for one in replies
    ]


async def escaping(ways: Mapping[str, list[ScriptedReply]], home: Path, store: Store) -> None:
    """A builder that tries all these ways, looks around after each, and does its work in the end."""
    attempts = placed([one for replies in ways.values() for one in replies], home / "repository")
    looks = [calls("search_code", query=str(number)) for number in range(len(attempts))]
    tries = [reply for pair in zip(attempts, looks, strict=True) for reply in pair]
    session = Session(
        home,
        store,
        with_roles(builder=[*tries, *builds()], pricer=[prices(input_tokens=900_000)]),
        policy=Policy(build=BuildRules(turns=50), session=SessionRules(tokens=2_000_000)),
    )
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded"
    assert session.model.asked.count("builder 1") == len(tries) + 3
    assert not list(home.rglob(OUTSIDE))
    assert session.commits(run) == ["Add double (round 1)"]
    assert session.file(run, "numbers_.py") == CODE.strip()
    assert git(session.repository, "fsck", "--no-dangling") == ""


@pytest.mark.thorough
@pytest.mark.guarantee("G8")
async def test_a_builder_that_edits_outside_its_worktree(tmp_path: Path, store: Store) -> None:
    await escaping(WRITES, tmp_path, store)


@pytest.mark.thorough
@needs_bubblewrap
@pytest.mark.guarantee("G8")
async def test_a_builder_that_gets_out_by_commands(tmp_path: Path, store: Store) -> None:
    await escaping(COMMANDS, tmp_path, store)


@pytest.mark.thorough
@needs_bubblewrap
@pytest.mark.guarantee("G7", "G8")
async def test_a_builder_that_deletes_everything(tmp_path: Path, store: Store) -> None:
    all_of_it = calls("run_command", command="rm -rf ./* .git; chmod 500 .; true")
    session = Session(
        tmp_path, store, with_roles(builder=[all_of_it, submit()]), policy=Policy(build=BuildRules(rounds=2))
    )
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded_with_warnings"
    assert all(not tests.are_green for tests in of(run, TestsRun))


# ── tests that do not behave ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.guarantee("G8")
async def test_tests_that_hang(tmp_path: Path, store: Store) -> None:
    hang = "import time\n\n\ndef test_hang():\n    time.sleep(600)\n"
    session = Session(
        tmp_path,
        store,
        with_roles(builder=builds(CODE, hang)),
        policy=Policy(tests=TestsRules(seconds=1), build=BuildRules(rounds=2)),
    )
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded_with_warnings"
    assert [tests.timed_out for tests in of(run, TestsRun)] == [True, True]
    assert "The tests do not come to an end in time" in session.model.heard["builder 2"]


DAEMONS = """
import os, signal, subprocess, sys
from numbers_ import double


def test_double():
    assert double(2) == 4
    for _ in range(3):
        subprocess.Popen(["sleep", "600"], start_new_session=True)
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", "600"])
        signal.pause()
"""


@pytest.mark.thorough
@pytest.mark.guarantee("G8")
async def test_tests_that_leave_daemons_behind(tmp_path: Path, store: Store) -> None:
    session = Session(tmp_path, store, with_roles(builder=builds(CODE, DAEMONS)))
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded"


@pytest.mark.thorough
@pytest.mark.guarantee("G8", "G9")
async def test_tests_that_end_the_process_as_if_all_were_well(tmp_path: Path, store: Store) -> None:
    cheat = f"import os\n{TESTS}\n\ndef test_cheat():\n    os._exit(0)\n"
    session = Session(
        tmp_path,
        store,
        with_roles(builder=builds(CODE, cheat)),
        policy=Policy(build=BuildRules(rounds=1)),
    )
    run = await session.run()
    assert require_kept_promises(session, run) == "succeeded_with_warnings"
    assert not of(run, TestsRun)[0].are_green


# ── every adversary in every role ─────────────────────────────────────────────────────────────────────────

MODELS = sorted(name for name in ADVERSARIES if not name.startswith("tool_"))
LONGEST_S = 2.0

SMALL = Policy(
    session=SessionRules(model_calls=40, tokens=300_000),
    interview=InterviewRules(soft=1, hard=3),
    specify=SpecifyRules(attempts=2, turns=2),
    price=PriceRules(cycles=1, turns=2),
    plan=PlanRules(seconds=1, turns=2),
    build=BuildRules(rounds=1, turns=4, tester_turns=2),
    critic=CriticRules(turns=2),
    reflexion=ReflexionRules(passes=1, least_lines=0, turns=2),
    review=ReviewRules(by=ReviewedBy.AGENT, turns=1),
)

ONE_EACH = (
    ("interviewer", "only_prose"),
    ("specifier", "never_stops"),
    ("pricer", "broken_arguments"),
    ("planner", "hangs_before_first_token"),
    ("builder", "runaway"),
    ("tester", "streams_garbage"),
    ("critic", "tells_negative_usage"),
    ("simplifier", "raises_base_exception"),
    ("reviewer", "raises_cancelled"),
)


async def ended(session: Session) -> Run:
    """The session run to its end, by a user who answers, and who rejects whatever comes up for review."""
    run = await session.run()
    for _ in range(10):
        if isinstance(run.outcome, AwaitingUser):
            run = await session.resume(run, answer="Whatever you like.")
        elif isinstance(run.outcome, UnderReview):
            await session.runner.decide(run.id, Rejected(by="ada", why="Enough"))
            run = await session.resume(run)
        else:
            break
    return run


async def played_by(name: str, role: str, home: Path, store: Store) -> None:
    endless = [write(f"new_{number}.py", f"NEW = {number}\n") for number in range(9)]
    roles = with_roles(
        interviewer=[calls("submit_brief", brief="Double.")],
        reviewer=[reviews("rejected", "It goes nowhere")],
        builder=endless if role == "reviewer" else builds(),
    )

    def make(folder: Path) -> Session:
        return Session(
            folder,
            store,
            roles,
            policy=SMALL,
            asks_user=role == "interviewer",
            limits={"seconds": LONGEST_S},
            models={role: ADVERSARIES[name].make_model()},
        )

    session, run = await in_time(make, home, ended)
    assert require_kept_promises(session, run)
    if isinstance(run.outcome, Abandoned):
        assert run.outcome.suggestion


@pytest.mark.thorough
@pytest.mark.guarantee("A6", "A7", "G6", "G7")
@pytest.mark.parametrize(("role", "name"), ONE_EACH)
async def test_an_adversary_in_a_role_ends_like_every_session(
    role: str, name: str, tmp_path: Path, store: Store
) -> None:
    await played_by(name, role, tmp_path, store)


@pytest.mark.thorough
@pytest.mark.guarantee("A6", "A7", "G6", "G7")
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", MODELS)
async def test_every_adversary_in_every_role_ends_like_every_session(
    role: str, name: str, tmp_path: Path, store: Store
) -> None:
    await played_by(name, role, tmp_path, store)
