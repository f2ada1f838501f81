"""The built-in model, which is no language model at all, and says so (J2).

It takes the words of the question, has the tools look for them, reads around the best places, and answers
with the passages it found, cited by file and line. It needs nothing, knows nothing, costs nothing, and the
same question with the same results always gives the same answer. What it does next follows from the messages
alone and from how many rounds of calls they hold: after three of them it answers, whatever happened.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import cast

from endstop.models.keywords import Keyword, is_small_talk, keywords, paths
from endstop.models.offered import LISTS, Offered, offered
from endstop.models.passages import Passage, Ranked, passages_in, ranked
from endstop.models.prices import FREE
from endstop.models.written_answer import SMALL_TALK_ANSWER, written_answer, written_listing
from endstop.ports import (
    AssistantMessage,
    Message,
    ModelRequest,
    ModelUsage,
    Piece,
    ReplyEnded,
    TextPiece,
    ToolMessage,
    ToolRequest,
    ToolSpec,
    UserMessage,
)

_CHARS_PER_TOKEN = 4
_FRAME_TOKENS = 4
_PIECE_CHARS = 40
_MOST_ROUNDS = 3
_MOST_READS = 3
_LINES_BEFORE = 10
_LINES_READ = 40


class ExtractiveModel:
    """Answers with what tools find."""

    name = "endstop:extractive"

    def count(
        self, *, system: str = "", tools: Sequence[ToolSpec] = (), messages: Iterable[Message] = ()
    ) -> int:
        """Exactly what it will report as its input, or a little more when counted in parts."""
        count = _tokens(system)
        for tool in tools:
            count += _tokens(tool.name + tool.description + json.dumps(tool.parameters, default=str))
        for message in messages:
            count += _FRAME_TOKENS + _tokens(message.text)
            if isinstance(message, AssistantMessage):
                count += sum(_tokens(call.tool + call.arguments) for call in message.calls)
        return count

    def cost_usd(self, usage: ModelUsage) -> Decimal | None:  # noqa: ARG002 - part of the port
        return FREE

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        text, calls = reply_to(request)
        used, cap = 0, request.max_output_tokens
        is_truncated = _tokens(text) > cap
        text = text[: cap * _CHARS_PER_TOKEN]
        for start in range(0, len(text), _PIECE_CHARS):
            yield TextPiece(text=text[start : start + _PIECE_CHARS])
        used += _tokens(text)
        for call in calls:
            used += _tokens(call.tool + call.arguments)
            if used > cap:
                used, is_truncated = cap, True
                break
            yield call
        read = self.count(system=request.system, tools=request.tools, messages=request.messages)
        yield ReplyEnded(usage=ModelUsage(input_tokens=read, output_tokens=used), is_truncated=is_truncated)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """How far the search for an answer has come."""

    words: tuple[Keyword, ...]
    named_paths: tuple[str, ...]
    rounds: int
    best: tuple[Ranked, ...]
    has_read: bool
    listing: str
    """What files there are, if that was asked for."""
    asked: frozenset[tuple[str, str]]
    """Calls that were made, so that none is made twice."""


def reply_to(request: ModelRequest) -> tuple[str, tuple[ToolRequest, ...]]:
    """What the model says, and what it calls."""
    question, earlier, since = _question(request.messages)
    tools = offered(request.tools)
    if is_small_talk(question):
        return _ending(SMALL_TALK_ANSWER, tools)
    found = _found_so_far(question, earlier, since)
    calls = _next_calls(found, tools) if found.rounds < _MOST_ROUNDS else ()
    if calls:
        return "", _numbered(calls, found.rounds)
    most_chars = request.max_output_tokens * _CHARS_PER_TOKEN
    if found.listing and not found.best:
        answer = written_listing(found.listing, found.words)
    else:
        answer = written_answer(
            found.best, found.words, could_search=bool(found.asked), most_chars=most_chars
        )
    return _ending(answer, tools)


def _question(messages: Sequence[Message]) -> tuple[str, list[str], list[Message]]:
    """The latest question, those before it, and what came after it.

    A user's message right after results or after another of theirs is a hint to the model, not a question.
    """
    said = [(place, one.text) for place, one in enumerate(messages) if isinstance(one, UserMessage)]
    questions = [(place, text) for place, text in said if _is_question(messages, place)] or said[:1]
    if not questions:
        return "", [], list(messages)
    place, text = questions[-1]
    return text, [earlier for _, earlier in questions[:-1]], list(messages[place + 1 :])


def _is_question(messages: Sequence[Message], place: int) -> bool:
    """Whether the user began to speak there: at the very start, or after an answer."""
    before = messages[place - 1] if place else None
    return before is None or (isinstance(before, AssistantMessage) and not before.calls)


def _found_so_far(question: str, earlier: Sequence[str], since: Sequence[Message]) -> _Found:
    words = keywords(question)
    for older in reversed(earlier):  # a follow-up such as "why?" is about what was asked before
        words = words or keywords(older)
    calls = {call.id: call for one in since if isinstance(one, AssistantMessage) for call in one.calls}
    results = [one for one in since if isinstance(one, ToolMessage) and not one.is_error]
    passages: list[Passage] = []
    has_read, listing = False, ""
    for result in results:
        if result.tool == LISTS:
            listing = listing or result.text
            continue
        call = calls.get(result.call)
        path, first_line = _place_asked(call)
        has_read = has_read or path is not None
        # What was read is the same text as what was found, and more of it: it comes first.
        read = passages_in(result.text, path=path, first_line=first_line)
        passages = [*read, *passages] if path is not None else [*passages, *read]
    return _Found(
        words=words,
        named_paths=paths(question),
        rounds=sum(1 for one in since if isinstance(one, AssistantMessage) and one.calls),
        best=tuple(ranked(passages, words)),
        has_read=has_read,
        listing=listing,
        asked=frozenset((call.tool, call.arguments) for call in calls.values()),
    )


def _place_asked(call: ToolRequest | None) -> tuple[str | None, int]:
    """The file and line that a call asked to read."""
    if call is None:
        return None, 1
    try:
        arguments = cast("object", json.loads(call.arguments))
    except (ValueError, RecursionError):
        return None, 1
    if not isinstance(arguments, dict) or "path" not in arguments:
        return None, 1
    fields = cast("Mapping[str, object]", arguments)
    line = fields.get("start_line", 1)
    return str(fields["path"]), line if isinstance(line, int) else 1


def _next_calls(found: _Found, tools: Offered) -> tuple[tuple[str, str], ...]:
    wanted: list[tuple[str, str]] = []
    if found.rounds == 0:
        wanted += tools.reads([(path, 1) for path in found.named_paths[:_MOST_READS]], lines=_LINES_READ)
        wanted += tools.searches([word.text for word in found.words])
        wanted += tools.listings() if not wanted or not found.words else []
    elif not found.best and found.words:
        for word in found.words[:2]:
            wanted += tools.searches([word.text])
    elif found.best and not found.has_read:
        places = [(one.passage.path, one.passage.first_line) for one in found.best[:_MOST_READS]]
        around = [(path, max(line - _LINES_BEFORE, 1)) for path, line in places]
        wanted += tools.reads(around, lines=_LINES_READ)
    return tuple(dict.fromkeys(call for call in wanted if call not in found.asked))


def _ending(answer: str, tools: Offered) -> tuple[str, tuple[ToolRequest, ...]]:
    """An answer; where there is a tool to hand it in, it is handed in."""
    handed_in = tools.finishing(answer)
    return ("", _numbered((handed_in,), _MOST_ROUNDS)) if handed_in else (answer, ())


def _numbered(calls: Sequence[tuple[str, str]], round_number: int) -> tuple[ToolRequest, ...]:
    return tuple(
        ToolRequest(id=f"call_{round_number}_{place}", tool=tool, arguments=arguments)
        for place, (tool, arguments) in enumerate(calls)
    )


def _tokens(text: str) -> int:
    return -(-len(text) // _CHARS_PER_TOKEN)
