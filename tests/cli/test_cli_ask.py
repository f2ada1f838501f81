"""``endstop ask``: answers with sources, follow-ups, limits, trees of one's own, and what is refused."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import ask_models
import pytest
from cli_program import COMMAND, Done, Endstop, environment, in_process_of_its_own
from cli_runs import waited_for

from endstop.app import open_app, oracle, read_config
from endstop.app.gallery import demo_agent

ASKING_TREE = """
return BT.tree("asking", {
  doc = "Asks the user back.",
  root = BT.sequence {
    BT.action("state.reset_state"), BT.action("query.analyze_query"), BT.action("context.load_context"),
    BT.action("messages.build_llm_request"), BT.action("turn.take_turn"), BT.action("user.escalate"),
  },
})
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "docs").mkdir(parents=True)
    (folder / "limits.py").write_text(
        '"""Limits."""\n\n\ndef check_limits(turns, most):\n    return turns < most\n'
    )
    (folder / "docs" / "notes.md").write_text("# Notes\n\nLimits are checked by check_limits.\n")
    return folder


@pytest.fixture
def ask(endstop: Endstop, project: Path, monkeypatch: pytest.MonkeyPatch) -> Endstop:
    """Asks in this process, about ``project``, with the models of the tests beside the real ones."""
    monkeypatch.setattr(oracle, "make_model", ask_models.model_of)

    def asked(*arguments: str, **env: str) -> Done:
        return endstop("ask", "--project", str(project), *arguments, **env)

    return asked


@pytest.mark.guarantee("J2")
def test_offline_the_answer_and_its_sources_come_on_the_output_and_the_rest_beside_it(ask: Endstop) -> None:
    done = ask("Where are limits checked?")
    assert done.code == 0
    assert done.out.startswith("No language model is at work here")
    assert "def check_limits(turns, most):" in done.out
    assert "\nSources\n   1. " in done.out
    assert done.err.splitlines()[0].startswith("endstop:extractive on project, run_")
    assert "  search_code limits checked … " in done.err
    assert (done.out + done.err).count("No language model") == 1


@pytest.mark.guarantee("J1")
def test_a_pipe_and_a_file_get_a_usable_answer(home: Path, project: Path) -> None:
    line = (
        f'cd {project} && {" ".join(COMMAND)} ask "Where are limits checked?" 2>/dev/null | cat > answer.txt'
    )
    subprocess.run(["bash", "-c", line], env=environment(home), check=True)
    answer = (project / "answer.txt").read_text()
    assert "check_limits" in answer
    assert "docs/notes.md:" in answer.partition("\nSources\n")[2]
    assert not {each for each in answer if ord(each) < 32} - {"\n"}


@pytest.mark.guarantee("J1")
def test_json_gives_a_line_per_event_and_the_ending_has_the_sources(ask: Endstop, project: Path) -> None:
    done = ask("Where are limits checked?", "--json")
    lines = done.json_lines
    assert (done.code, done.err) == (0, "")
    assert {line["event"] for line in lines[1:-1]} == {"turn"}
    assert {line["run"] for line in lines} == {lines[0]["run"]}
    assert lines[0]["event"] == "started"
    assert (lines[0]["model"], lines[0]["project"]) == ("endstop:extractive", str(project))
    ended = lines[-1]
    assert (ended["event"], ended["outcome"], ended["exit_code"]) == ("ended", "completed", 0)
    assert ended["conversation"] == lines[0]["conversation"]
    assert "limits.py:" in " ".join(one["location"] for one in ended["sources"])
    assert ended["audit_holds"] is True


@pytest.mark.guarantee("E10")
def test_a_follow_up_sees_what_was_said_before_and_stays_in_its_conversation(ask: Endstop) -> None:
    first = ask("Who are you?", "--model", "test:echo", "--json").json_lines[-1]
    second = ask("And then?", "--continue", "--model", "test:echo", "--json").json_lines[-1]
    assert "Who are you?" in second["answer"]
    assert second["conversation"] == first["conversation"]
    assert "Who are you?" not in ask("And then?", "--model", "test:echo").out


@pytest.mark.guarantee("E10")
def test_a_second_follow_up_of_the_same_run_branches_off(ask: Endstop) -> None:
    first = ask("Who are you?", "--model", "test:echo", "--json").json_lines[-1]
    ask("One way.", "--continue", "--model", "test:echo")
    other = ask("--continue", first["run"], "Another way.", "--model", "test:echo", "--json").json_lines[-1]
    assert other["conversation"] != first["conversation"]
    assert "Who are you?" in other["answer"]
    assert "One way." not in other["answer"]


def test_a_follow_up_of_a_named_run_is_about_the_project_of_that_run(ask: Endstop, endstop: Endstop) -> None:
    first = ask("Where are limits checked?", "--json").json_lines[0]
    other = endstop("ask", "--continue", "last", "And check_limits?", "--json").json_lines[0]
    assert (other["project"], other["conversation"]) == (first["project"], first["conversation"])


def test_there_is_nothing_to_continue_in_another_project_or_for_somebody_else(
    ask: Endstop, endstop: Endstop, tmp_path: Path
) -> None:
    ask("Where are limits checked?")
    elsewhere = endstop("ask", "And?", "--continue", "--project", str(tmp_path))
    assert (elsewhere.code, "There is no conversation of me" in elsewhere.err) == (2, True)
    assert ask("And?", "--continue", ENDSTOP_USER="ann").code == 2


def test_what_is_no_conversation_cannot_be_continued(ask: Endstop, endstop: Endstop) -> None:
    assert endstop("demo", "recovers").code == 0
    done = ask("And?", "--continue", "last")
    assert (done.code, "belongs to no conversation" in done.err) == (2, True)
    assert "There is no conversation" in ask("And?", "--continue").err


def test_a_run_of_this_project_that_is_no_conversation_is_passed_over(
    ask: Endstop, home: Path, project: Path
) -> None:
    first = ask("Who are you?", "--model", "test:echo", "--json").json_lines[-1]
    waited_for(_run_of_a_program(home, project))
    assert ask("And?", "--continue", "--json").json_lines[-1]["conversation"] == first["conversation"]
    assert ask("And?", "--continue", ENDSTOP_USER="a program").code == 2


async def _run_of_a_program(home: Path, project: Path) -> None:
    async with open_app(read_config({"ENDSTOP_HOME": str(home)})) as app:
        for user in ("me", "a program"):
            await app.runner.run(demo_agent("recovers"), "What?", user=user, project=str(project))


def test_a_question_is_read_from_the_input(ask: Endstop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Where are limits\nchecked?\n"))
    assert "check_limits" in ask("-").out


@pytest.mark.parametrize("encoding", ["utf-8:strict", "utf-8:surrogateescape"])
@pytest.mark.parametrize("given", [b"", b" \n", b"\xff\xfe\x00", b"x" * 200_001])
def test_an_input_that_is_no_question_is_refused(home: Path, given: bytes, encoding: str) -> None:
    done = subprocess.run(
        [*COMMAND, "ask", "-"],
        env=environment(home, PYTHONIOENCODING=encoding),
        input=given,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"To do: " in done.stderr


@pytest.mark.guarantee("I7")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "No question was given."),
        (("",), "The question is empty."),
        (("--continue", "last"), "No question was given."),
        (("q", "--max-turns", "0"), "--max-turns is 0.\n  Allowed: a whole number from 1 to 100"),
        (("q", "--max-turns", "101"), "from 1 to 100"),
        (("q", "--tokens", "5"), "--tokens is 5.\n  Allowed: a whole number from 1,000 to 2,000,000"),
        (("q", "--timeout", "5"), "--timeout is 5.\n  Allowed: a whole number from 10 to 3,600"),
        (("q", "--cost", "0"), "--cost is 0.\n"),
        (("q", "--cost", "much"), "--cost is much.\n"),
        (("q", "--max-turns", "many"), "Invalid value for '--max-turns'"),
        (("q", "--model", "nonsense"), "'nonsense' does not name a model."),
        (("q", "--model", "test:unpriced", "--cost", "1"), "Nobody knows what test:unpriced costs"),
        (("q", "--tree", "oracle-agnt"), "Perhaps 'oracle-agent' was meant."),
        (("q", "--tree", "./nowhere.lua"), "nowhere.lua: There is no such file."),
        (("q", "--project", "/nowhere/at/all"), "project is '/nowhere/at/all'."),
        (("q", "--project", __file__), "Allowed: a folder that is there and can be read"),
        (("q", "--continue", "run_nowhere"), "There is no run 'run_nowhere'."),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words_and_nothing_is_kept(
    ask: Endstop, endstop: Endstop, arguments: tuple[str, ...], words: str
) -> None:
    done = ask(*arguments)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert endstop("runs", "--all", "--json").json == []


def test_a_current_folder_that_is_gone_is_said(home: Path) -> None:
    line = f"mkdir {home}-gone && cd {home}-gone && rmdir {home}-gone && {' '.join(COMMAND)} ask Where?"
    done = subprocess.run(
        ["bash", "-c", line], env=environment(home), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "project is '.'." in done.stderr


@pytest.mark.guarantee("I3")
def test_limits_given_here_go_before_the_settings(ask: Endstop, endstop: Endstop) -> None:
    endstop("settings", "set", "max_iterations=7", "token_budget=90000")
    options = ("--max-turns", "4", "--cost", "0.5", "--timeout", "60")
    spent = ask("Where are limits checked?", *options, "--json").json_lines[-1]["spent"]
    assert {name: one["limit"] for name, one in spent.items()} == {
        "turns": 4,
        "tokens": 90_000,
        "cost_usd": "0.5",
        "seconds": 60.0,
    }


@pytest.mark.guarantee("J1")
def test_a_run_that_met_its_limit_ends_with_a_warning_and_one_line_that_says_so(ask: Endstop) -> None:
    done = ask("Where are limits?", "--model", "test:endless", "--max-turns", "2")
    assert done.code == 3
    last = done.err.strip().splitlines()[-1]
    assert "iteration limit" in last.lower()
    assert "Why: endstop explain run_" in last
    assert "Looking, 1." in done.out


@pytest.mark.guarantee("D3")
def test_with_review_it_pauses_at_the_limit_says_how_to_go_on_and_goes_on(
    ask: Endstop, endstop: Endstop
) -> None:
    done = ask("Where are limits?", "--model", "test:endless", "--max-turns", "2", "--review")
    assert done.code == 6
    last = done.err.strip().splitlines()[-1]
    assert last.startswith("Paused for review: ")
    command = last.partition("endstop ")[2].split()
    assert command[-2:] == ["--grant-turns", "10"]
    resumed = endstop(*command[:-1], "1", "--json").json_lines[-1]
    assert resumed["spent"]["turns"]["limit"] == 3


@pytest.mark.guarantee("E3")
def test_a_tree_file_of_ones_own_steers_the_run_with_what_stands_beside_it_and_in_the_library(
    ask: Endstop, endstop: Endstop, tmp_path: Path
) -> None:
    source = endstop("tree", "show", "oracle-agent").out.replace("oracle-agent", "mine")
    (tmp_path / "mine.lua").write_text(source)
    (tmp_path / "execute-tools.lua").write_text(endstop("tree", "show", "execute-tools").out)
    done = ask("Where are limits checked?", "--tree", str(tmp_path / "mine.lua"))
    assert (done.code, "check_limits" in done.out) == (0, True)
    assert endstop("tree", "trace", "last", "--json").json["tree"] == "mine"


@pytest.mark.guarantee("J1")
def test_an_agent_that_asks_back_is_answered_with_resume(
    ask: Endstop, endstop: Endstop, tmp_path: Path
) -> None:
    (tmp_path / "asking.lua").write_text(ASKING_TREE)
    done = ask("Go on.", "--model", "test:asking", "--tree", str(tmp_path / "asking.lua"))
    assert (done.code, done.out) == (6, "")
    line = done.err.strip().splitlines()[-1]
    assert line.startswith("It asks you: Which of the two? Answer: endstop resume run_")
    run = line.split()[-3]
    ended = ask("Go on.", "--model", "test:asking", "--tree", str(tmp_path / "asking.lua"), "--json")
    assert ended.json_lines[-1]["audit_holds"] is None
    resumed = endstop("resume", run, "--answer", "the first")
    assert (resumed.code, "Then that. What else?" in resumed.out) == (6, True)  # its tree asks once more
    assert "User: the first" in endstop("show", run).out


def test_a_model_that_fails_ends_with_what_went_wrong(ask: Endstop) -> None:
    done = ask("Where are limits?", "--model", "test:failing")
    assert (done.code, done.out) == (1, "")
    assert "Failed (model_access): The key is wrong" in done.err
    assert "Why: endstop explain run_" in done.err


def test_a_run_of_ask_can_be_shown_explained_and_audited(ask: Endstop, endstop: Endstop) -> None:
    ask("Where are limits checked?")
    assert endstop("audit", "last").code == 0
    assert "Sources" in endstop("show", "last").out
    assert endstop("explain", "last").code == 0


def test_help_of_ask_shows_every_option_and_examples(home: Path) -> None:
    told = in_process_of_its_own(home, "ask", "--help").out
    for option in ("--project FOLDER", "--model NAME", "--max-turns N", "--tokens N", "--cost USD"):
        assert option in told
    for option in ("--timeout S", "--continue [RUN]", "--tree NAME_OR_FILE", "--json", "Examples:"):
        assert option in told
