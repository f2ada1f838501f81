"""The client that waits: ``Client``."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from types import TracebackType
from typing import Any, cast

import httpx

from endstop.client import calls
from endstop.client.calls import Call, Decision, Document, Grant, Settings
from endstop.client.failures import unreachable
from endstop.client.http import (
    STREAM_TIMEOUT,
    document_of,
    is_stream,
    may_pass,
    options_of,
    refusal_of,
    run_id_of,
)
from endstop.client.stream import Chunk, Events, Tail
from endstop.errors import EndstopError


class Stream(Iterator[Chunk]):
    """The chunks of one run, up to ``done``. When the line drops it connects again and goes on."""

    def __init__(self, http: httpx.Client, call: Call, *, run_id: str | None, after: str | None) -> None:
        self.run_id = run_id
        """Known as soon as the first chunk is here."""
        self._http = http
        self._call = call
        self._tail = Tail(after=after)
        self._chunks = self._followed()

    @property
    def last_id(self) -> str | None:
        """The last chunk that was seen: ``follow(run_id, after=…)`` goes on behind it."""
        return self._tail.last_id

    def __next__(self) -> Chunk:
        return next(self._chunks)

    def close(self) -> None:
        """Stop listening. The run goes on."""
        self._chunks.close()

    def _followed(self) -> Generator[Chunk]:
        while True:
            why: EndstopError | None = None
            try:
                with self._http.stream(
                    self._call.method,
                    self._call.path,
                    json=self._call.body,
                    headers=self._tail.headers,
                    timeout=STREAM_TIMEOUT,
                ) as response:
                    if is_stream(response):
                        self._begun(response)
                        events = Events()
                        for piece in response.iter_bytes():
                            for chunk in events.feed(piece):
                                self._tail.seen(chunk)
                                yield chunk
                    else:
                        response.read()
                        why = refusal_of(response)
                        if self.run_id is None or not may_pass(response):
                            raise why
            except httpx.TransportError as error:
                why = unreachable(str(self._http.base_url), error)
                if self.run_id is None:  # nobody knows whether a run was started: a second one would be worse
                    raise why from None
            if self._tail.is_over:
                return
            time.sleep(self._tail.wait_s(why))

    def _begun(self, response: httpx.Response) -> None:
        """From now on the run is followed, and not asked for again."""
        self.run_id = self.run_id or run_id_of(response.headers)
        if self.run_id is not None:
            self._call = calls.stream(self.run_id)


class Client:
    """A program's way to an Endstop server.

    >>> with Client("http://127.0.0.1:8765", token) as client:
    ...     for chunk in client.ask("Where is the login checked?"):
    ...         print(chunk.text, end="")
    """

    def __init__(self, base_url: str, token: str | None = None, **options: Any) -> None:
        """``options`` go to httpx, such as ``transport`` or ``verify``."""
        self._http = httpx.Client(**{**options_of(base_url, token), **options})

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    # ── runs ──────────────────────────────────────────────────────────────────────────────────────────────

    def ask(self, query: str, **options: Any) -> Stream:
        """Start a run when the first chunk is taken. ``options``: project, model, limits, tree and so on."""
        return Stream(self._http, calls.ask(query, options), run_id=None, after=None)

    def follow(self, run_id: str, *, after: str | None = None) -> Stream:
        """The chunks of a run that is there, from its beginning or from behind one."""
        return Stream(self._http, calls.stream(run_id), run_id=run_id, after=after)

    def runs(self, **filters: Any) -> Document:
        """Newest first, a page at a time. ``filters``: phase, agent, project, text, ended, limit, cursor."""
        return self._sent(calls.runs(filters))

    def run(self, run_id: str) -> Document:
        return self._sent(calls.run(run_id))

    def facts(self, run_id: str) -> Document:
        return self._sent(calls.run(run_id, "facts"))

    def timeline(self, run_id: str) -> list[Document]:
        return self._sent(calls.run(run_id, "timeline"))

    def audit(self, run_id: str) -> Document:
        return self._sent(calls.run(run_id, "audit"))

    def explain(self, run_id: str) -> Document:
        return self._sent(calls.run(run_id, "explain"))

    def burndown(self, run_id: str) -> Document:
        """What was used when, what was allowed then, and what happened."""
        return self._sent(calls.run(run_id, "burndown"))

    def run_tree(self, run_id: str) -> Document:
        """The tree that steers it, and where its nodes stand."""
        return self._sent(calls.run(run_id, "tree"))

    def cancel(self, run_id: str, *, after_turn: bool = False) -> Document:
        return self._sent(calls.cancel(run_id, after_turn=after_turn))

    def resume(self, run_id: str, *, grant: Grant | None = None, answer: str | None = None) -> Document:
        return self._sent(calls.resume(run_id, grant=grant, answer=answer))

    def answer(self, run_id: str, text: str) -> Document:
        return self._sent(calls.answer(run_id, text))

    # ── reviews ───────────────────────────────────────────────────────────────────────────────────────────

    def reviews(self) -> list[Document]:
        """Those that wait first."""
        return self._sent(calls.reviews())

    def review(self, run_id: str, review_id: str) -> Document:
        return self._sent(calls.review(run_id, review_id))

    def decide(self, run_id: str, review_id: str, decision: Decision, **options: Any) -> Document:
        """``options``: grant, feedback, why."""
        return self._sent(calls.decide(run_id, review_id, decision, options))

    # ── conversations ─────────────────────────────────────────────────────────────────────────────────────

    def conversations(self) -> list[Document]:
        return self._sent(calls.conversations())

    def conversation(self, conversation_id: str) -> Document:
        return self._sent(calls.conversation(conversation_id))

    def delete_conversation(self, conversation_id: str) -> None:
        self._sent(calls.delete_conversation(conversation_id))

    # ── settings, models, trees ───────────────────────────────────────────────────────────────────────────

    def settings(self) -> Settings:
        return cast("Settings", self._sent(calls.settings()))

    def change_settings(self, **values: Any) -> Settings:
        """Several are changed together or, if one is refused, not at all."""
        return cast("Settings", self._sent(calls.change_settings(values)))

    def reset_settings(self) -> Settings:
        return cast("Settings", self._sent(calls.reset_settings()))

    def models(self) -> Document:
        return self._sent(calls.models())

    def trees(self) -> list[Document]:
        return self._sent(calls.trees())

    def tree(self, name: str) -> Document:
        return self._sent(calls.tree(name))

    def check_tree(self, text: str, *, name: str | None = None) -> Document:
        return self._sent(calls.check_tree(text, name=name))

    def bound(self, **options: Any) -> Document:
        """What a query can use at most. ``options``: limits, tree, model."""
        return self._sent(calls.bound(options))

    def _sent(self, call: Call) -> Any:
        try:
            response = self._http.request(call.method, call.path, params=call.query, json=call.body)
        except httpx.TransportError as error:
            raise unreachable(str(self._http.base_url), error) from None
        return document_of(response)
