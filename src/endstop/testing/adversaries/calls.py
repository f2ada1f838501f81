"""Models whose tool calls are the trouble: too many, always the same, unknown, broken, huge."""

from __future__ import annotations

import json

from endstop.ports import ModelRequest
from endstop.testing.adversaries.wording import never_the_same, sentence, words
from endstop.testing.bad_functions import ODD_TEXT
from endstop.testing.replies import ScriptedReply, WantedCall, calls, reply, says
from endstop.testing.scripted_model import ScriptedModel


class Runaway(ScriptedModel):
    """Never finishes: calls a tool each turn for ever, never twice with the same arguments.

    Nothing repeats, so that no detector can find it. Turns, tokens, cost or time end it. Offered its tool no
    longer, it sums up, as a well-behaved model does on its last turn.
    """

    def __init__(self, *, tool: str = "echo", name: str = "adversary:runaway", delay_s: float = 0.0) -> None:
        super().__init__(self.next_reply, name=name, delay_s=delay_s)
        self.tool = tool

    def next_reply(self, request: ModelRequest) -> ScriptedReply:
        if all(spec.name != self.tool for spec in request.tools):
            return says("This is what I have found so far.")
        return calls(self.tool, query=never_the_same(request, len(self.requests)))


class RepeatsCall(ScriptedModel):
    """Makes the same tool call every turn. Three in a row are no progress (B1)."""

    def __init__(self, *, tool: str = "echo") -> None:
        super().__init__(calls(tool, query="the same again"), name="adversary:repeats-call")


class Cycles(ScriptedModel):
    """Makes ``length`` tool calls in turn, round after round. Three rounds are a cycle (B4)."""

    def __init__(self, *, length: int, tool: str = "echo") -> None:
        super().__init__(self._next_in_turn, name=f"adversary:cycle-of-{length}")
        self._replies = [calls(tool, query=words(number)) for number in range(1, length + 1)]

    def _next_in_turn(self, request: ModelRequest) -> ScriptedReply:  # noqa: ARG002 - replies are asked so
        return self._replies[(len(self.requests) - 1) % len(self._replies)]


class RewordsItsProse(ScriptedModel):
    """Makes the same call every turn and says something new about it each time. No progress (B1).

    The arguments are written otherwise each time, too: other white space, another order of the keys.
    """

    def __init__(self, *, tool: str = "echo") -> None:
        super().__init__(self._reworded, name="adversary:rewords-its-prose")
        self._tool = tool

    def _reworded(self, request: ModelRequest) -> ScriptedReply:  # noqa: ARG002 - replies are asked so
        number = len(self.requests)
        wanted = [("query", "the same again"), ("page", 1 if number % 3 else 1.0)]
        arguments = json.dumps(dict(wanted[:: -1 if number % 2 else 1]), indent=number % 4)
        return reply(text=sentence(number), calls=[WantedCall(tool=self._tool, arguments=arguments)])


class RepliesEmptily(ScriptedModel):
    """Says nothing and calls nothing. An empty end, or silence (B4, B6) where tools must be used."""

    def __init__(self) -> None:
        super().__init__(says(""), name="adversary:replies-emptily")


class OnlyProse(ScriptedModel):
    """Talks, always of something else, and never calls a tool. Reminded once, then ended (B6)."""

    def __init__(self) -> None:
        super().__init__(self._prose, name="adversary:only-prose")

    def _prose(self, request: ModelRequest) -> ScriptedReply:
        return says(f"I will now look into {never_the_same(request, len(self.requests))}.")


class ManyCalls(ScriptedModel):
    """Asks for ``number`` tool calls in every reply, all different. Only so many per turn are run (D9)."""

    def __init__(self, *, number: int = 10_000, tool: str = "echo") -> None:
        super().__init__(self._many, name="adversary:many-calls", keeps_to_cap=False)
        self._number = number
        self._tool = tool

    def _many(self, request: ModelRequest) -> ScriptedReply:
        query = never_the_same(request, len(self.requests))
        return reply(calls=[calls(self._tool, query=query, page=page) for page in range(self._number)])


class UnknownTools(ScriptedModel):
    """Calls a tool that is not there, another one each turn. Three errors in a row end it (B2)."""

    def __init__(self) -> None:
        super().__init__(self._unknown, name="adversary:unknown-tools")

    def _unknown(self, request: ModelRequest) -> ScriptedReply:
        name = never_the_same(request, len(self.requests)).replace(" ", "_")[:60]
        return calls(name, query="anything")


class BrokenArguments(ScriptedModel):
    """Writes arguments that are no JSON, broken otherwise each time. Three errors in a row end it (B2)."""

    TEXTS = (
        '{"query": "',
        "",
        "query=login",
        '["a", "list"]',
        '{"query": 1,}',
        "{" * 5_000,
        "null",
        "\ud800",
    )

    def __init__(self, *, tool: str = "echo") -> None:
        super().__init__(self._broken, name="adversary:broken-arguments", keeps_to_cap=False)
        self._tool = tool

    def _broken(self, request: ModelRequest) -> ScriptedReply:  # noqa: ARG002 - replies are asked so
        text = self.TEXTS[(len(self.requests) - 1) % len(self.TEXTS)]
        return reply(calls=[WantedCall(tool=self._tool, arguments=text)])


class HugeArguments(ScriptedModel):
    """Writes ``chars`` characters of arguments, far more than its cap. Cut off or refused; tokens end it."""

    def __init__(self, *, chars: int = 4_000_000, tool: str = "echo") -> None:
        super().__init__(self._huge, name="adversary:huge-arguments", keeps_to_cap=False)
        self._chars = chars
        self._tool = tool

    def _huge(self, request: ModelRequest) -> ScriptedReply:
        query = never_the_same(request, len(self.requests)) + " "
        return calls(self._tool, query=(query * (self._chars // len(query) + 1))[: self._chars])


class SaysOddText(ScriptedModel):
    """Says and asks for lone surrogates, NULs and escapes, each turn others. The record can be read again."""

    def __init__(self, *, tool: str = "echo") -> None:
        super().__init__(self._odd, name="adversary:says-odd-text")
        self._tool = tool

    def _odd(self, request: ModelRequest) -> ScriptedReply:
        query = f"{ODD_TEXT} {never_the_same(request, len(self.requests))}"
        return reply(text=query, calls=[calls(self._tool, query=query)])


class IgnoresLastTurn(ScriptedModel):
    """Calls a tool on every turn and says nothing, also when it is told that this is the last one.

    What it calls on the last turn is not run; the run is forced to complete (A4, A5).
    """

    def __init__(self, *, tool: str = "echo") -> None:
        super().__init__(self._call, name="adversary:ignores-last-turn")
        self._tool = tool

    def _call(self, request: ModelRequest) -> ScriptedReply:
        return calls(self._tool, query=never_the_same(request, len(self.requests)))


class ReusesCallIds(ScriptedModel):
    """Gives all its calls, two per turn and all different, one and the same id.

    Each call gets a result of its own all the same (D9); a limit ends it.
    """

    def __init__(self, *, tool: str = "echo") -> None:
        super().__init__(self._twins, name="adversary:reuses-call-ids")
        self._tool = tool

    def _twins(self, request: ModelRequest) -> ScriptedReply:
        query = never_the_same(request, len(self.requests))
        twins = [f'{{"query": "{query}", "page": {page}}}' for page in (1, 2)]
        return reply(calls=[WantedCall(tool=self._tool, arguments=each, id="call_1") for each in twins])
