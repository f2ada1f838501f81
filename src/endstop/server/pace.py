"""Who comes first when there is more to do than time: people who wait, before runs (D3, I3).

An event loop does all that is ready, then looks for more. With hundreds of runs ready at once, one such round
takes seconds, and a request needs a dozen rounds. So the work of runs (and of their streams) is put into a
queue of its own, from which each round takes a little. Runs get all the time that is left, in their order,
and some in every round; a request waits for its own rounds, which are short.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections import deque
from collections.abc import Callable
from contextvars import Context
from time import perf_counter
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from endstop.app.collector import set_collector
from endstop.store.patience import be_patient, is_patient

SLICE_S = 0.0005
"""So long a round works on runs, if more of them are ready. A step that has begun is never cut."""

_SWITCH_S = 0.001
"""How long the thread of the store may keep the interpreter from the event loop. Python has 5 ms, which a
request would pay in each of its rounds."""

_NEW_OBJECTS = 1_000
_YOUNGER_ROUNDS = 1_000
_MIDDLE_ROUNDS = 20
"""Many short looks of the garbage collector instead of few long ones, during which nobody is answered."""

_OF_RUNS = ("/query", "/stream")
"""How the paths of requests end that start a run or follow one."""


class PacedLoop(asyncio.SelectorEventLoop):
    """An event loop in which patient work gives way."""

    def __init__(self) -> None:
        super().__init__()
        self._patient: deque[_Waiting] = deque()
        self._is_due = False

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Tasks take each of their steps by this, with the context that they were started in."""
        if not (is_patient.get() if context is None else context.get(is_patient, False)):
            return super().call_soon(callback, *args, context=context)
        waiting = _Waiting(callback, args, self, context)
        self._patient.append(waiting)
        if not self._is_due:
            self._is_due = True
            super().call_soon(self._work, context=_NOBODY)
        return waiting

    def _work(self) -> None:
        """Do what is patient, until the time for it is up; the rest in the next round."""
        patient = self._patient
        until_s = perf_counter() + SLICE_S
        try:
            while patient:
                patient.popleft().run()
                if perf_counter() > until_s:
                    break
        finally:  # a step may end the program, and what ends it tidily still needs the rest
            self._is_due = bool(patient)
            if patient:
                super().call_soon(self._work, context=_NOBODY)


class _Waiting(asyncio.Handle):
    """A step that waits for its turn."""

    def run(self) -> None:
        if not self.cancelled():
            self._run()


_NOBODY = Context()
"""Nobody's: what runs on behalf of many must not look like the work of one."""


def new_loop() -> asyncio.AbstractEventLoop:
    """The loop to serve on. Where processes need a loop of another kind, nothing gives way."""
    return asyncio.new_event_loop() if sys.platform == "win32" else PacedLoop()


def set_process() -> None:
    """Set Python for a server. For a program to call, once everything is loaded: it changes all of it."""
    set_collector()
    gc.set_threshold(_NEW_OBJECTS, _YOUNGER_ROUNDS, _MIDDLE_ROUNDS)
    sys.setswitchinterval(_SWITCH_S)


class InTurn:
    """Has requests that start or follow runs give way from their first moment on. An ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith(_OF_RUNS):
            be_patient()
            await asyncio.sleep(0)  # from here on
        await self._app(scope, receive, send)
