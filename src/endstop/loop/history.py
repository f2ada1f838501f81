"""What the model has been told and has said: kept as it grows, and read again from the record.

Its size in tokens is known without counting it all again: the provider's own count of the last call, and an
upper bound of what has been added since.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from endstop.events.facts import Fact, HintGiven, ModelTold, RunStarted
from endstop.kernel.ledger import ROOT
from endstop.kernel.observation import AssistantSaid, ToolCalled, ToolFinished, TurnEnded, UserSaid
from endstop.ports import AssistantMessage, Message, Model, ToolMessage, ToolRequest, ToolSpec, UserMessage


class History:
    """The messages of one run or scope, and how many tokens they are at most."""

    def __init__(self, model: Model, *, system: str, tools: Sequence[ToolSpec]) -> None:
        self.messages: list[Message] = []
        self._model = model
        self._fixed = model.count(system=system, tools=tools)
        self._counted = self._tokens = self._fixed

    def begin_anew(self, messages: Iterable[Message]) -> None:
        """Take these messages in place of all there were."""
        self.messages.clear()
        self._counted = self._tokens = self._fixed
        for message in messages:
            self.add(message)

    def given(self, *, system: str, tools: Sequence[ToolSpec]) -> None:
        """The model is given another prompt and other tools from now on."""
        fixed = self._model.count(system=system, tools=tools)
        self._counted += fixed - self._fixed
        self._tokens = self._counted  # the provider's count was of what it had before
        self._fixed = fixed

    @property
    def tokens(self) -> int:
        """At most so many tokens of input the next call has."""
        return self._tokens

    def add(self, message: Message) -> None:
        more = self._model.count(messages=(message,))
        self.messages.append(message)
        self._counted += more
        self._tokens += more

    def measured(self, tokens: int) -> None:
        """The provider's own count of all there is by now. What cannot be is not believed."""
        if 0 < tokens < self._counted:
            self._tokens = tokens


def messages_of(facts: Iterable[Fact], scope: str = ROOT) -> list[Message]:
    """The messages of a run or scope, as the record has them."""
    reader = _Reader()
    for fact in facts:
        payload = fact.payload
        if isinstance(payload, RunStarted):
            if scope == ROOT:
                reader.user(payload.question)
        elif getattr(payload, "scope", None) == scope:
            reader.read(payload)
    return reader.finished()


class _Reader:
    """Puts together what the record keeps apart: a reply, its calls, and their results."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._said: AssistantSaid | None = None
        self._calls: list[ToolRequest] = []
        self._results: dict[str, ToolMessage] = {}

    def user(self, text: str) -> None:
        if text:
            self._close_turn()
            self._messages.append(UserMessage(text=text))

    def read(self, payload: object) -> None:
        match payload:
            case UserSaid(text=text) | HintGiven(text=text) | ModelTold(text=text):
                self.user(text)
            case AssistantSaid():
                self._said = payload  # one that broke off and was tried again is followed by the whole
            case ToolCalled(call=call, tool=tool, exact_arguments=arguments):
                self._calls.append(ToolRequest(id=call, tool=tool, arguments=arguments))
            case ToolFinished(call=call, tool=tool, result=result, is_error=is_error):
                self._results[call] = ToolMessage(call=call, tool=tool, text=result, is_error=is_error)
            case TurnEnded():
                self._close_turn()
            case _:
                pass

    def finished(self) -> list[Message]:
        self._close_turn()
        return self._messages

    def _close_turn(self) -> None:
        text = self._said.text if self._said is not None else ""
        if text or self._calls:
            self._messages.append(AssistantMessage(text=text, calls=tuple(self._calls)))
            self._messages += [self._results[call.id] for call in self._calls if call.id in self._results]
        self._said = None
        self._calls, self._results = [], {}
