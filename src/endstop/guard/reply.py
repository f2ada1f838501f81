"""The reply of one turn: its text, whole or as it streams, and the signal in it."""

from __future__ import annotations

from endstop.events.replies import reply_payloads
from endstop.guard.books import Books
from endstop.kernel.detectors import RepeatedChunk
from endstop.kernel.observation import ReplyRepeated
from endstop.signals import Signal, SignalStream, parse_reply


class Reply:
    """Reads what the model says in one turn, and records it."""

    def __init__(self, books: Books, scope: str) -> None:
        self.signal: Signal | None = None
        self._books = books
        self._scope = scope
        self._streamed: list[str] = []
        self._readers: tuple[SignalStream, RepeatedChunk] | None = None

    def streamed(self, turn: int, chunk: str) -> str:
        """Take the next piece; what a user may see of the reply by now."""
        if self._readers is None:
            self._readers = SignalStream(), RepeatedChunk(self._books.recorder.started.config.thresholds)
        stream, repeats = self._readers
        self._streamed.append(chunk)
        found = repeats.feed(chunk)
        if found is not None:
            repeated = ReplyRepeated(
                at_s=self._books.now_s, scope=self._scope, turn=turn, chunk=found.chunk, times=found.times
            )
            self._books.enter(repeated)
        return stream.feed(chunk)

    def said(self, turn: int, text: str | None = None, *, is_cut_off: bool = False) -> str:
        """Take the whole reply, by default what was streamed; the text without its signals."""
        reply = parse_reply("".join(self._streamed) if text is None else text)
        self._streamed.clear()
        if reply.signal is not None:
            self.signal = reply.signal
        for payload in reply_payloads(
            reply, at_s=self._books.now_s, scope=self._scope, turn=turn, is_cut_off=is_cut_off
        ):
            self._books.record(payload)
        return reply.text

    def cut_off(self, turn: int) -> None:
        """The turn is over: what was streamed and never said is kept, as cut off."""
        if self._streamed:
            self.said(turn, is_cut_off=True)
