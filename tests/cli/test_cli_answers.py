"""The parts of ``endstop ask`` on their own: its command line, deeds, sources, endings, views."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.cli.answer_ending import ending_line
from endstop.cli.answer_view import PlainAnswerView, drawn_answer, latest
from endstop.cli.asides import Asides
from endstop.cli.deeds import Deeds, arguments_shown, outcome_shown
from endstop.cli.following import with_continue
from endstop.cli.output import Output
from endstop.cli.progress import Step
from endstop.cli.sources import source_lines, sources_of
from endstop.events.facts import Fact, SourceCited, Thought
from endstop.kernel.budget import Budget
from endstop.kernel.observation import CallStatus, Observation, ToolCalled, ToolFinished
from endstop.kernel.outcome import (
    Abandoned,
    AwaitingUser,
    Cancelled,
    Completed,
    Failed,
    Forced,
    Outcome,
    Stopped,
    StopReason,
    StopRule,
)


@pytest.mark.parametrize(
    ("given_line", "read"),
    [
        (["ask", "q", "--continue"], ["ask", "q", "--continue="]),
        (["ask", "--continue", "And why?"], ["ask", "--continue=", "And why?"]),
        (["ask", "--continue", "why"], ["ask", "--continue=", "why"]),
        (["ask", "q", "--continue", "last"], ["ask", "q", "--continue=last"]),
        (["ask", "--continue", "run_3f9c", "q"], ["ask", "--continue=run_3f9c", "q"]),
        (["ask", "--continue", "3f9c", "q"], ["ask", "--continue=3f9c", "q"]),
        (["ask", "--continue", "--json", "q"], ["ask", "--continue=", "--json", "q"]),
        (["ask", "--continue=run_1", "q"], ["ask", "--continue=run_1", "q"]),
        (["ask", "--", "--continue"], ["ask", "--", "--continue"]),
        (["ask", "--continue", "--", "last"], ["ask", "--continue=", "--", "last"]),
        (["runs", "--continue"], ["runs", "--continue"]),
        ([], []),
    ],
)
def test_continue_takes_a_run_or_nothing(given_line: list[str], read: list[str]) -> None:
    assert with_continue(given_line) == read


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"query": "limits"}, "limits"),
        ({"path": "src/main.py", "start_line": 3}, "src/main.py"),
        ({"limit": 3}, ""),
        ({"query": "a\nb\x1b[31m"}, "a b�[31m"),
        ({"query": "x" * 90}, "x" * 49 + "…"),
        (["odd"], '["odd"]'),
    ],
)
def test_a_call_is_shown_by_the_words_it_was_given(arguments: object, shown: str) -> None:
    assert arguments_shown(json.dumps(arguments)) == shown


def test_arguments_that_are_no_json_are_shown_as_they_are() -> None:
    assert arguments_shown('{"query": ') == '{"query":'


@pytest.mark.parametrize(
    ("tool", "result", "status", "shown"),
    [
        ("search_code", "a.py:1\n  x\n\nb.py:2\n  y", CallStatus.EXECUTED, "2 found"),
        ("search_docs", "Nothing found for 'x'.", CallStatus.EXECUTED, "nothing found"),
        ("read_file", "a.py, lines 1 to 2 of 2\n1  x", CallStatus.EXECUTED, "2 lines"),
        ("list_files", "No file matches '*.rs'.", CallStatus.EXECUTED, "nothing found"),
        ("shell", "", CallStatus.EXECUTED, "nothing found"),
        ("read_file", "There is no such file.", CallStatus.FAILED, "failed: There is no such file."),
        ("shell", "Too slow.", CallStatus.TIMED_OUT, "timed out: Too slow."),
    ],
)
def test_what_came_of_a_call_is_told_in_a_few_words(
    tool: str, result: str, status: CallStatus, shown: str
) -> None:
    finished = ToolFinished(at_s=1, turn=0, call="c", tool=tool, key="k", status=status, result=result)
    assert outcome_shown(finished) == shown


def test_deeds_are_told_when_they_are_done_and_thoughts_when_there_are_any() -> None:
    deeds = Deeds(run_id="run_1", budget=Budget(turns=3))
    called = ToolCalled(at_s=1, turn=0, call="c", tool="search_code", arguments='{"query": "x"}', key="k")
    finished = ToolFinished(at_s=1, turn=0, call="c", tool="search_code", key="k", result="a.py:1")
    assert deeds.add(_fact(called)) is None
    assert _told(deeds.add(_fact(finished))) == ("tool", "search_code x … 1 found")
    assert _told(deeds.add(_fact(finished))) == ("tool", "search_code … 1 found")
    assert _told(deeds.add(_fact(Thought(turn=0, text="Hm, \nwell")))) == ("thought", "thought: Hm, well")
    assert deeds.add(_fact(Thought(turn=0, text=" "))) is None


def test_sources_are_told_once_and_those_the_answer_names_first() -> None:
    cited = ["z.py:1", "b.py:12", "a.py:1", "b.py:12", "c.py:7", "d.md:3"]
    facts = [_fact(SourceCited(title=one.partition(":")[0], location=one)) for one in cited]
    answer = "See a.py:17 and b.py:12; c.py says more, and a.py:1."
    assert [one.location for one in sources_of(facts, answer)] == [
        *("b.py:12", "a.py:1", "c.py:7", "z.py:1", "d.md:3")
    ]


def test_of_many_sources_ten_are_shown_each_with_a_title_that_says_more_than_its_place() -> None:
    sources = [SourceCited(title=f"Notes {number}", location=f"n{number}.md:1") for number in range(12)]
    lines = source_lines(sources)
    assert lines[0] == " 1. n0.md:1  Notes 0"
    assert (len(lines), lines[-1]) == (11, "… and 2 more")
    assert source_lines([SourceCited(title="a.py", location="a.py:1")]) == [" 1. a.py:1"]


_LIMIT = StopReason(rule=StopRule.TURNS, message="Iteration limit reached (2/2).")


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        (Completed(answer="x"), ""),
        (
            Completed(answer="x", warnings=("It was close.",)),
            "Completed, with a warning: It was close. Why: endstop explain run_1",
        ),
        (
            Forced(answer="x", reason=_LIMIT),
            "Forced to complete: Iteration limit reached (2/2). Why: endstop explain run_1",
        ),
        (Stopped(reason=_LIMIT), "Stopped: Iteration limit reached (2/2). Why: endstop explain run_1"),
        (Abandoned(reason="no way\nout"), "Abandoned: no way out. Why: endstop explain run_1"),
        (Cancelled(by="me"), "Cancelled by me. Why: endstop explain run_1"),
        (Failed(code="x", message="Broken."), "Failed (x): Broken. Why: endstop explain run_1"),
        (AwaitingUser(question="Which?"), 'It asks you: Which? Answer: endstop resume run_1 --answer "…"'),
    ],
)
def test_an_ending_that_is_not_plain_is_one_line_with_what_to_do(outcome: Outcome, line: str) -> None:
    assert ending_line("run_1", outcome) == line
    assert "\n" not in line


@given(st.text(alphabet="ab\n", max_size=40_000))
def test_the_latest_text_is_an_end_of_the_text_and_bounded(text: str) -> None:
    drawn = latest(text * 3)
    assert (text * 3).endswith(drawn)
    assert len(drawn) <= 6_000


def test_a_long_text_is_cut_where_a_paragraph_begins() -> None:
    assert latest("a" * 5_000 + "\n\n" + "b" * 2_500) == "b" * 2_500


@given(st.text(max_size=300))
def test_any_text_can_be_drawn_and_none_of_it_steers_the_terminal(text: str) -> None:
    console = Output(is_json=False).console
    with console.capture() as captured:
        console.print(drawn_answer(text))
    assert not {each for each in captured.get() if ord(each) < 32} - {"\n"}


def test_links_are_written_out_so_that_one_sees_where_they_lead() -> None:
    console = Output(is_json=False).console
    with console.capture() as captured:
        console.print(drawn_answer("[the docs](https://elsewhere.example)"))
    assert "https://elsewhere.example" in captured.get()


def test_in_a_pipe_turns_and_thoughts_are_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    view = PlainAnswerView(Asides(Output(is_json=False)), "title")
    view.begin()
    view.begin()
    for kind in ("turn", "thought", "tool", "notice"):
        view.step(Step(kind=kind, text=kind, data={}))
    view.close()
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "title\n  tool\n  notice\n")


def test_under_json_nothing_is_said_beside(capsys: pytest.CaptureFixture[str]) -> None:
    Asides(Output(is_json=True)).say("hello")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def _fact(payload: Observation | SourceCited | Thought) -> Fact:
    return Fact(run_id="run_1", seq=0, time=0.0, source="test", payload=payload)


def _told(step: Step | None) -> tuple[str, str]:
    assert step is not None
    return step.kind, step.text
