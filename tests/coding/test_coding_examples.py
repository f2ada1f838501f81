"""The examples: whole sessions with real git, real files and real tests, and a script for the model."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from git_words import content, everything, git
from session_words import RUN, agent_for, of, played, runner

from endstop.coding.examples import EXAMPLE, EXAMPLES, example_model, make_sample_repository
from endstop.coding.examples.script import next_reply, part_of
from endstop.errors import EndstopError, InvalidValueError, ModelRefusedError
from endstop.events.coding import (
    CriteriaJudged,
    Interviewed,
    IssuesFound,
    PriceDecided,
    PriceGiven,
    PriceVerdict,
    RoundEnded,
    SessionConcluded,
    SessionOpened,
    SimplifyingEnded,
    SpecificationGiven,
    TestsRun,
)
from endstop.events.explain import explain
from endstop.kernel.observation import ToolFinished
from endstop.kernel.outcome import Abandoned, AwaitingUser, Completed, Stopped, StopRule
from endstop.ports import (
    AssistantMessage,
    Message,
    ModelRequest,
    ModelUsage,
    Store,
    ToolMessage,
    ToolRequest,
    ToolSpec,
    UserMessage,
)
from endstop.store import open_store


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ENDSTOP_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_store(f"sqlite:///{tmp_path / 'runs.db'}")
    yield opened
    await opened.close()


@pytest.fixture
async def sample(tmp_path: Path) -> Path:
    return await make_sample_repository(tmp_path / "sample")


def printed_by(repository: Path, commit: str, expression: str) -> str:
    """What the sample's code of a commit gives, really run."""
    code = f"{content(repository, commit, 'timesheet.py').split('if __name__')[0]}\nprint({expression})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


def subjects(repository: Path, branch: str) -> list[str]:
    return git(repository, "log", "--format=%s", "--reverse", branch).splitlines()


# ── the four endings ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.thorough
@pytest.mark.guarantee("G1", "G2", "G4", "G5", "G8", "G9")
async def test_accepted_mends_a_failing_test_and_a_critical_finding_in_two_rounds(
    sample: Path, store: Store
) -> None:
    before = everything(sample)
    run = await played(EXAMPLES["accepted"], sample, store)

    assert isinstance(run.outcome, Completed)
    assert run.outcome.warnings == ()
    assert [one.lacking for one in of(run, SpecificationGiven)] == [("risk level",), ()]
    assert "most hours first" in of(run, Interviewed)[0].brief
    assert [one.verdict for one in of(run, PriceGiven)] == [PriceVerdict.ASK]
    tried = [
        one.result for one in of(run, ToolFinished) if one.scope == "builder 1" and one.tool == "run_tests"
    ]
    assert ["4 passed, 1 failed" in text for text in tried] == [True, False]
    assert "The tests pass" in tried[-1]

    first, second = of(run, RoundEnded)
    assert first.open_issues == ("Critical: An empty timesheet ends in a ZeroDivisionError (timesheet.py)",)
    assert second.open_issues == ()
    assert all(one.is_verified for judged in of(run, CriteriaJudged) for one in judged.criteria)
    assert [one.is_kept for one in of(run, SimplifyingEnded)] == [True, False]
    concluded = of(run, SessionConcluded)[0]
    assert concluded.kind == "succeeded"
    assert [one.text for one in concluded.criteria if not one.is_met] == []
    assert run.usage.known_cost_usd > 0

    title = EXAMPLES["accepted"].title
    assert subjects(sample, f"endstop/{RUN}") == ["A timesheet", f"{title} (round 1)", f"{title} (round 2)"]
    assert printed_by(sample, first.commit, "report([])") == "ZeroDivisionError: division by zero"
    assert printed_by(sample, second.commit, "report([])") == "0:00 in all"
    assert "Counter" in content(sample, second.commit, "timesheet.py")
    assert everything(sample) == before
    assert run.audit(), str(run.audit())


@pytest.mark.guarantee("G1")
async def test_vague_is_abandoned_after_three_specifications_that_lack_something_each(
    sample: Path, store: Store
) -> None:
    before = everything(sample)
    run = await played(EXAMPLES["vague"], sample, store)

    assert isinstance(run.outcome, Abandoned)
    assert run.outcome.reason == "Intent too ambiguous or context insufficient"
    assert run.outcome.suggestion == "Rephrase your request more specifically"
    assert len(run.outcome.tried) == 3
    assert [one.lacking for one in of(run, SpecificationGiven)] == [
        ("acceptance tests",),
        ("lines of code",),
        ("success criteria",),
    ]
    assert of(run, PriceGiven) == []
    assert subjects(sample, f"endstop/{RUN}") == ["A timesheet"]
    assert everything(sample) == before
    assert run.audit(), str(run.audit())


@pytest.mark.guarantee("G2")
async def test_dear_shows_cheaper_ways_and_is_abandoned_when_the_user_wants_none(
    sample: Path, store: Store
) -> None:
    example = EXAMPLES["dear"]
    asked = await runner(store).run(await agent_for(example, sample), example.intent, run_id=RUN)
    assert isinstance(asked.outcome, AwaitingUser)
    assert "At most $40.50" in asked.outcome.question
    assert "1. Smaller scope (at most $1.58)" in asked.outcome.question
    assert "3. Simpler approach (at most $2.70)" in asked.outcome.question

    run = await played(example, sample, store)
    assert isinstance(run.outcome, Abandoned)
    assert "$40.50" in run.outcome.reason
    assert [step.split(":")[0] for step in run.outcome.next_steps[:3]] == [
        "Smaller scope (at most $1.58)",
        "Phases",
        "Simpler approach (at most $2.70)",
    ]
    assert [one.choice for one in of(run, PriceDecided)] == ["rejected"]
    assert subjects(sample, f"endstop/{RUN}") == ["A timesheet"]
    assert run.audit(), str(run.audit())


@pytest.mark.thorough
@pytest.mark.guarantee("B7", "G7")
async def test_stuck_is_stopped_after_three_rounds_with_the_same_finding(sample: Path, store: Store) -> None:
    before = everything(sample)
    run = await played(EXAMPLES["stuck"], sample, store)

    assert isinstance(run.outcome, Stopped)
    assert run.outcome.reason.rule is StopRule.NO_PROGRESS
    assert "the same open issues" in run.outcome.reason.message
    assert [one.are_green for one in of(run, TestsRun)] == [True] * 3
    assert len({issue.title for found in of(run, IssuesFound) for issue in found.issues}) == 1
    assert of(run, SessionConcluded)[0].kind == "stuck"
    rounds = of(run, RoundEnded)
    worked = [printed_by(sample, one.commit, 'as_hours(minutes_between("22:00", "01:00"))') for one in rounds]
    assert worked == ["21:00", "0:00", "2:00"], "wrong each time, and each time in another way"
    assert len(subjects(sample, f"endstop/{RUN}")) == 4
    told = str(explain(run.facts))
    assert "same as before" in told, "the table of rounds"
    assert all(one.commit[:7] in told for one in rounds)
    assert "Work past midnight is counted wrongly" in told
    assert everything(sample) == before
    assert run.audit(), str(run.audit())


@pytest.mark.parametrize("name", EXAMPLES)
async def test_an_example_says_how_it_is_called_what_is_seen_and_how_it_ends(name: str) -> None:
    example = EXAMPLES[name]
    assert example.name == name
    assert all(text.strip() for text in (example.title, example.about, example.intent, example.ends))


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_edit_of_an_example_can_be_made_twice(name: str) -> None:
    edits = [
        json.loads(call.arguments)
        for replies in EXAMPLES[name].script.values()
        for reply in replies
        for call in reply.calls
        if call.tool == "edit_file"
    ]
    assert [edit["old"] for edit in edits if edit["old"] in edit["new"]] == []


async def test_the_tests_of_the_sample_are_found_and_run_without_being_named(
    sample: Path, store: Store
) -> None:
    example = EXAMPLES["vague"]
    agent = await agent_for(example, sample, test_command=None)
    run = await runner(store).run(agent, example.intent, run_id=RUN)
    command = of(run, SessionOpened)[0].test_command
    assert command.endswith("-m pytest")
    done = subprocess.run(command.split(), cwd=sample, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# ── the sample repository ─────────────────────────────────────────────────────────────────────────────────


async def test_the_sample_is_a_clean_repository_with_one_commit_that_is_the_same_everywhere(
    sample: Path, tmp_path: Path
) -> None:
    other = await make_sample_repository(tmp_path / "some" / "where" / "else")
    assert git(sample, "rev-parse", "HEAD") == git(other, "rev-parse", "HEAD")
    assert git(sample, "log", "--format=%an %ae %s") == "Ada Example ada@example.org A timesheet"
    assert git(sample, "branch", "--show-current") == "main"
    assert git(sample, "status", "--porcelain") == ""


async def test_the_sample_does_not_depend_on_how_git_is_set_up(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".gitconfig").write_text(
        "[init]\ndefaultBranch = trunk\n[core]\nautocrlf = true\n[user]\nname = Bea\nemail = bea@x.org\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    other = await make_sample_repository(tmp_path / "other")
    assert git(sample, "rev-parse", "HEAD") == git(other, "rev-parse", "HEAD")
    assert (other / "timesheet.py").read_bytes() == (sample / "timesheet.py").read_bytes()


async def test_an_empty_folder_is_used_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert await make_sample_repository(tmp_path / "empty") == (tmp_path / "empty").resolve()


async def test_a_folder_with_something_in_it_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(InvalidValueError, match="empty, or not there yet"):
        await make_sample_repository(tmp_path / "full")
    with pytest.raises(InvalidValueError, match="empty, or not there yet"):
        await make_sample_repository(tmp_path / "full" / "mine.txt")
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]


# ── the model of an example ───────────────────────────────────────────────────────────────────────────────


def request(
    *messages: Message, role: str = "builder", question: str = "Round 2 of 3.", tools: int = 2
) -> ModelRequest:
    return ModelRequest(
        system=f"You are the {role} of a coding session.\n\nDo your work.",
        messages=(UserMessage(text=f"{question}\n\nAll the rest."), *messages),
        tools=tuple(
            ToolSpec(name=f"tool_{number}", description="", parameters={}) for number in range(tools)
        ),
        max_output_tokens=1_000,
    )


def answered(call: str, text: str = "Done.") -> tuple[Message, ...]:
    asked = AssistantMessage(calls=(ToolRequest(id=call, tool="edit_file", arguments="{}"),))
    return (asked, ToolMessage(call=call, tool="edit_file", text=text))


SCRIPT = EXAMPLES["accepted"].script


def tools_called(asked: ModelRequest) -> list[str]:
    return [call.tool for call in next_reply(SCRIPT, asked).calls]


@pytest.mark.parametrize(
    ("role", "question", "part"),
    [
        ("interviewer", "Interview the user about this request.", "interviewer"),
        ("specifier", "Attempt 2 of 3.", "specifier 2"),
        ("pricer", "Cycle 1 of 2.", "pricer 1"),
        ("builder", "Round 3 of 3.", "builder 3"),
        ("simplifier", "Pass 1 of 2.", "simplifier 1"),
    ],
)
def test_the_prompt_and_the_first_line_of_the_question_say_which_part_it_is(
    role: str, question: str, part: str
) -> None:
    assert part_of(request(role=role, question=question)) == part


def test_what_was_answered_is_not_said_again() -> None:
    assert tools_called(request()) == ["edit_file", "edit_file"]
    assert tools_called(request(*answered("a"))) == ["run_tests"]
    assert tools_called(request(*answered("a"), *answered("b"))) == ["submit_work"]
    assert tools_called(request(*answered("a"), *answered("b"), *answered("c"))) == ["submit_work"]


@pytest.mark.parametrize(
    "words",
    [
        "Interrupted: the process ended while this was under way. It may have had its effect.",
        "Cancelled: it was halted, and may have had its effect.",
    ],
)
def test_what_was_cut_off_is_said_again(words: str) -> None:
    assert tools_called(request(*answered("a", words))) == ["edit_file", "edit_file"]
    assert tools_called(request(*answered("a", words), *answered("b", "Not found."))) == ["run_tests"]


def test_words_without_a_call_and_words_of_others_are_passed_over() -> None:
    others = (AssistantMessage(text="Let me thi"), UserMessage(text="Go on."))
    assert tools_called(request(*others)) == ["edit_file", "edit_file"]


def test_with_one_tool_left_the_work_is_handed_in() -> None:
    assert tools_called(request(tools=1)) == ["submit_work"]


@pytest.mark.parametrize("role", ["reviewer", "gardener"])
def test_a_part_that_an_example_does_not_have_is_refused_in_words(role: str) -> None:
    with pytest.raises(ModelRefusedError, match=f"nothing to say as the {role} 2"):
        next_reply(SCRIPT, request(role=role))


def test_a_prompt_of_somebody_else_is_refused_too() -> None:
    stranger = ModelRequest(system="You are a cat.", messages=(UserMessage(text="Hi."),), max_output_tokens=9)
    with pytest.raises(ModelRefusedError, match="nothing to say as the stranger"):
        next_reply(SCRIPT, stranger)


def test_a_model_is_named_after_its_example_and_has_a_price() -> None:
    model = example_model("accepted")
    assert model.name == f"{EXAMPLE}accepted"
    assert model.cost_usd(ModelUsage(input_tokens=1_000_000, output_tokens=1_000_000)) == 18


@pytest.mark.parametrize(
    ("name", "help_"), [("acepted", "Did you mean accepted?"), ("", "Choose one of them")]
)
def test_an_example_that_is_not_there_is_a_clear_error(name: str, help_: str) -> None:
    with pytest.raises(EndstopError, match="accepted, vague, dear, stuck") as raised:
        example_model(name)
    assert help_ in str(raised.value)
