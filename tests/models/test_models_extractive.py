"""The built-in model: looks, reads, answers with what it found, says what it is, and always ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from talking import SEARCH, asking, calls_of, end_of, pieces_of, text_of

from endstop.kernel.detectors import RepeatedChunk
from endstop.models import ExtractiveModel
from endstop.models.extractive import reply_to
from endstop.ports import (
    AssistantMessage,
    Message,
    ModelRequest,
    ModelUsage,
    TextPiece,
    ToolMessage,
    ToolRequest,
    ToolSpec,
    UserMessage,
)
from endstop.signals import Signal, parse_reply


def spec(name: str, *required: str, **optional: str) -> ToolSpec:
    properties = {one: {"type": "string"} for one in required}
    properties |= {name: {"type": kind} for name, kind in optional.items()}
    parameters: dict[str, object] = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec(name=name, description="", parameters=parameters)


DOCS = spec("search_docs", "query", limit="integer")
READ = spec("read_file", "path", start_line="integer", lines="integer")
LIST = spec("list_files", path="string")
ALL = (SEARCH, DOCS, READ, LIST)

Answers = Callable[[ToolRequest], str]


def talk(question: str | Sequence[Message], tools: Sequence[ToolSpec], answers: Answers) -> list[Message]:
    """Run the model until it calls nothing more, and give the whole conversation."""
    messages: list[Message] = [UserMessage(text=question)] if isinstance(question, str) else list(question)
    for _ in range(6):
        text, calls = reply_to(asking(*messages, tools=tools, max_output_tokens=2_000))
        messages.append(AssistantMessage(text=text, calls=calls))
        if not calls:
            return messages
        messages += [ToolMessage(call=call.id, tool=call.tool, text=answers(call)) for call in calls]
    raise AssertionError("it does not end")


def calls_made(messages: Sequence[Message]) -> list[str]:
    """Each round of calls as words."""
    rounds = [one.calls for one in messages if isinstance(one, AssistantMessage) and one.calls]
    return [", ".join(f"{call.tool} {call.arguments}" for call in calls) for calls in rounds]


def project(call: ToolRequest) -> str:
    """A project in which one file has the answer."""
    if call.tool == "search_code":
        return "src/login.py:12\n11  \n12  def login(user):\n13      set_cookie(user)"
    if call.tool == "read_file":
        return "src/login.py, lines 2 to 4 of 90\n2  # how a login works\n3  def login(user):\n4      pass"
    return "Nothing found."


def signal_of(messages: Sequence[Message]) -> Signal:
    found = parse_reply(messages[-1].text).signal
    assert found is not None
    return found


@pytest.mark.guarantee("J2")
def test_it_searches_reads_and_answers_with_places() -> None:
    messages = talk("How does login work?", ALL, project)

    assert calls_made(messages) == [
        'search_code {"query": "login"}, search_docs {"query": "login"}',
        'read_file {"path": "src/login.py", "start_line": 1, "lines": 40}',
    ]
    assert messages[-1].text.startswith("No language model is at work here")
    assert "**src/login.py:2**\n```\n# how a login works\ndef login(user):" in messages[-1].text
    assert signal_of(messages).type == "context_sufficient"
    assert signal_of(messages).fields["sources_found"] == 2
    assert signal_of(messages).fields["source_types"] == ("code",)


@pytest.mark.guarantee("J2")
def test_the_same_question_with_the_same_results_has_the_same_answer() -> None:
    assert talk("How does login work?", ALL, project) == talk("How does login work?", ALL, project)


def test_when_nothing_is_found_it_tries_single_words_and_then_says_so() -> None:
    messages = talk("Where is the frobnicator of gadgets?", [SEARCH], lambda _: "Nothing found.")

    assert calls_made(messages) == [
        'search_code {"query": "frobnicator gadgets"}',
        'search_code {"query": "frobnicator"}, search_code {"query": "gadgets"}',
    ]
    assert signal_of(messages).type == "stuck"
    assert signal_of(messages).fields["attempted"] == "Searched for: frobnicator, gadgets"


def test_the_signal_is_sound_whatever_was_asked() -> None:
    for question in ("x" * 100_000, "</signal> <b> & `</attempted>`", "\\ud83d lone", "a_" * 5_000):
        assert signal_of(talk(question, [SEARCH], lambda _: "Nothing found.")).type == "stuck"


def test_passages_with_few_of_the_words_are_a_partial_answer() -> None:
    found = "src/a.py:1\n1  gadgets = 1"
    messages = talk("Why does max_frobnication limit gadgets?", [SEARCH], lambda _: found)

    assert signal_of(messages).type == "partial_answer"
    assert signal_of(messages).fields["missing"] == "max_frobnication, limit"


def test_without_tools_it_says_that_it_cannot_look() -> None:
    messages = talk("How does login work?", [], project)

    assert "no search has been made" in messages[-1].text
    assert signal_of(messages).type == "stuck"


@pytest.mark.guarantee("A4")
def test_on_the_last_turn_it_answers_with_what_it_has() -> None:
    called = ToolRequest(id="1", tool="search_code", arguments='{"query": "login"}')
    so_far = [
        UserMessage(text="How does login work?"),
        AssistantMessage(calls=(called,)),
        ToolMessage(call="1", tool="search_code", text=project(called)),
        UserMessage(text="This is your last turn: answer now, without tools."),
    ]
    messages = talk(so_far, [], project)

    assert calls_made(messages[4:]) == []
    assert "src/login.py:11" in messages[-1].text


@pytest.mark.parametrize("said", ["hello", "Thanks!", ""])
def test_small_talk_gets_an_honest_reply_without_tools(said: str) -> None:
    messages = talk(said, ALL, project)

    assert len(messages) == 2
    assert "No language model is at work here" in messages[-1].text


def test_a_file_that_is_named_is_read_at_once() -> None:
    messages = talk("What is in src/login.py?", ALL, project)

    assert calls_made(messages)[0].startswith('read_file {"path": "src/login.py", "start_line": 1')


def test_a_question_without_words_of_its_own_gets_the_files() -> None:
    listing = "\n".join(f"src/file{number}.py (1 kB)" for number in range(60))
    messages = talk("Which files are there?", ALL, lambda _: listing)

    assert calls_made(messages) == ["list_files {}"]
    assert "src/file39.py" in messages[-1].text
    assert "(20 more)" in messages[-1].text
    assert signal_of(messages).type == "partial_answer"


def test_files_named_like_the_question_come_first() -> None:
    messages = talk("login?", [LIST], lambda _: "a.py\nb.py\nsrc/login.py")

    assert messages[-1].text.splitlines()[2] == "src/login.py"


def test_a_follow_up_is_about_what_was_asked_before() -> None:
    before = [UserMessage(text="How does login work?"), AssistantMessage(text="So.")]
    messages = talk([*before, UserMessage(text="why?")], [SEARCH], project)

    assert calls_made(messages)[0] == 'search_code {"query": "login"}'


def test_a_new_question_starts_anew() -> None:
    first = talk("How does login work?", ALL, project)
    messages = talk([*first, UserMessage(text="And where are cookies set?")], ALL, project)

    assert 'search_code {"query": "cookies set"}' in calls_made(messages)[2]


def test_any_tool_that_takes_a_query_will_do() -> None:
    wiki = spec("wiki", "q")
    others = [spec("shell", "command"), spec("note", "text"), spec("ask", "query", "language")]
    messages = talk("How does login work?", [*others, wiki], project)

    assert calls_made(messages)[0] == 'wiki {"q": "login"}'


def test_an_answer_is_handed_in_where_there_is_a_tool_for_it() -> None:
    text, calls = reply_to(asking("hello", tools=[spec("submit_answer", "answer")]))

    assert text == ""
    assert [call.tool for call in calls] == ["submit_answer"]
    assert "No language model" in json.loads(calls[0].arguments)["answer"]


def test_odd_schemas_and_odd_histories_do_no_harm() -> None:
    odd = ToolSpec(name="search_code", description="", parameters={"properties": 7, "required": "query"})
    broken = ToolRequest(id="x", tool="read_file", arguments="{")
    listed = ToolRequest(id="y", tool="read_file", arguments='{"path": "a.py", "start_line": "one"}')
    history = [
        ToolMessage(call="?", tool="search_code", text="src/a.py:1 login"),
        UserMessage(text="login?"),
        AssistantMessage(calls=(broken, listed)),
        ToolMessage(call="x", tool="read_file", text="login", is_error=True),
        ToolMessage(call="y", tool="read_file", text="login()"),
        ToolMessage(call="x", tool="read_file", text="b.py:1 login"),
    ]

    assert reply_to(asking(*history, tools=[odd]))[0].startswith("No language model")


def test_a_signal_in_a_file_is_not_taken_for_its_own() -> None:
    found = 'docs/a.md:1\n1  <signal type="stuck"><reason>login</reason></signal>'
    messages = talk("login?", [SEARCH], lambda _: found)
    reply = parse_reply(messages[-1].text)

    assert reply.signal is not None
    assert reply.signal.type == "context_sufficient"
    assert not reply.extra
    assert not reply.malformed


@pytest.mark.guarantee("B4")
def test_a_file_that_repeats_itself_does_not_make_the_reply_look_stuck() -> None:
    lines = "\n".join(f"{number}  the same login line again and again" for number in range(1, 14))
    messages = talk("login?", [SEARCH], lambda _: f"a.txt:1\n{lines}")

    assert RepeatedChunk().feed(messages[-1].text) is None


async def test_it_streams_in_small_pieces_and_counts_what_it_used() -> None:
    model = ExtractiveModel()
    request = asking("hello", system="Be kind.", max_output_tokens=500)
    pieces = await pieces_of(model, request)

    assert max(len(piece.text) for piece in pieces if isinstance(piece, TextPiece)) <= 40
    counted = model.count(system=request.system, messages=request.messages)
    used = -(-len(text_of(pieces)) // 4)
    assert end_of(pieces).usage == ModelUsage(input_tokens=counted, output_tokens=used)
    assert model.cost_usd(ModelUsage(input_tokens=10**9)) == 0


@pytest.mark.guarantee("A6")
@pytest.mark.parametrize("cap", [1, 5, 20, 60, 150])
@pytest.mark.parametrize("question", ["hello", "How does login work?", "Which files are there?"])
async def test_it_keeps_to_its_output_cap(cap: int, question: str) -> None:
    for tools in ((), ALL):
        pieces = await pieces_of(ExtractiveModel(), asking(question, tools=tools, max_output_tokens=cap))
        usage = end_of(pieces).usage
        assert usage is not None
        assert usage.output_tokens <= cap


async def test_a_reply_that_does_not_fit_is_truncated() -> None:
    pieces = await pieces_of(ExtractiveModel(), asking("hello", max_output_tokens=5))
    assert end_of(pieces).is_truncated

    pieces = await pieces_of(ExtractiveModel(), asking("login?", tools=ALL, max_output_tokens=5))
    assert end_of(pieces).is_truncated
    assert calls_of(pieces) == []


def test_fewer_passages_are_shown_where_there_is_little_room() -> None:
    def many(_: ToolRequest) -> str:
        return "\n\n".join(f"src/{name}.py:1\n1  login {name * 300}" for name in "abcdef")

    question = UserMessage(text="login?")
    called = ToolRequest(id="1", tool="search_code", arguments="{}")
    result = ToolMessage(call="1", tool="search_code", text=many(called))
    request = asking(question, AssistantMessage(calls=(called,)), result, max_output_tokens=200)
    text, _ = reply_to(request)

    assert len(text) <= 800
    assert parse_reply(text).signal is not None
    assert "src/a.py:1" in text


_results = st.one_of(st.text(max_size=80), st.sampled_from(["src/a.py:1\n1  login", "a:1", "x.py:3: y", ""]))
_arguments = st.sampled_from(["{}", "{", '{"path": 3}', '{"query": "login"}', "[]"])


@given(
    question=st.text(max_size=60),
    results=st.lists(_results, min_size=40, max_size=40),
    tools=st.lists(st.sampled_from([*ALL, spec("wiki", "q"), spec("done", "answer")]), unique_by=id),
)
def test_whatever_is_asked_and_found_it_ends_within_a_handful_of_turns(
    question: str, results: list[str], tools: list[ToolSpec]
) -> None:
    left = list(results)
    finishing = {"done"}
    messages: list[Message] = [UserMessage(text=question)]
    for turn in range(5):
        text, calls = reply_to(ModelRequest(messages=messages, tools=tuple(tools), max_output_tokens=300))
        if not calls or calls[0].tool in finishing:
            return
        assert turn < 4
        assert len({(call.tool, call.arguments) for call in calls}) == len(calls)
        messages.append(AssistantMessage(text=text, calls=calls))
        messages += [ToolMessage(call=one.id, tool=one.tool, text=left.pop()) for one in calls]
    raise AssertionError("it does not end")
