"""What a server counts of itself: runs and what happens in them, streams, requests. No user, no text.

Facts are counted as they are told on the bus of a run, so what is counted is what this process did; after a
restart it begins at zero, as Prometheus expects.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter

from fastapi import FastAPI, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from endstop.events.facts import Fact, RunStarted
from endstop.kernel.observation import CallSettled, RunEnded, ToolFinished, TurnStarted
from endstop.kernel.verdict import FindingReported
from endstop.server.metrics import Counter, Gauge, Histogram, Metric, told
from endstop.server.telemetry import Spans, make_spans

_NO_ROUTE = "none"


class Measures:
    """The figures of one server. ``count`` is for whoever sees the facts of its runs go by."""

    def __init__(self, spans: Spans | None = None) -> None:
        """``spans`` are told the same facts, where somebody wants them."""
        self._spans = spans
        self.open_streams = 0
        """How many are listening now. For whoever opens and closes streams."""
        self.live_runs: Callable[[], int] = lambda: 0
        """Tells how many runs are under way. For whoever knows."""
        self.elsewhere: Callable[[], Awaitable[Sequence[Metric]]] = _nothing
        """Tells figures that are kept elsewhere: of the queue, where runs are handed to workers."""
        self._started = Counter("endstop_runs_started_total", "Runs that were started here.")
        self._ended = Counter("endstop_runs_ended_total", "Runs that ended here, by how.", "outcome")
        self._turns = Counter("endstop_turns_total", "Turns that were begun.")
        self._tokens = Counter("endstop_tokens_total", "Tokens of model calls, by direction.", "direction")
        self._tool_calls = Counter("endstop_tool_calls_total", "Tool calls that ended, by status.", "status")
        self._findings = Counter("endstop_findings_total", "What detectors found, by pattern.", "pattern")
        self._requests = Histogram(
            "endstop_request_seconds",
            "From a request to the first byte of its answer, by method, route and status.",
            "method",
            "route",
            "status",
        )

    def count(self, fact: Fact) -> None:
        """One more fact of a run."""
        if self._spans is not None:
            self._spans.tell(fact)
        match fact.payload:
            case RunStarted():
                self._started.add()
            case TurnStarted():
                self._turns.add()
            case CallSettled(input_tokens=read, output_tokens=wrote):
                self._tokens.add("input", amount=read)
                self._tokens.add("output", amount=wrote)
            case ToolFinished(status=status):
                self._tool_calls.add(status.value)
            case FindingReported(finding=finding):
                self._findings.add(finding.pattern.value)
            case RunEnded(outcome=outcome):
                self._ended.add(type(outcome).__name__.lower())
            case _:
                return

    def answered(self, *, method: str, route: str, status: int, seconds: float) -> None:
        """One more request was answered."""
        self._requests.observe(seconds, method, route, str(status))

    def text(self, elsewhere: Sequence[Metric] = ()) -> str:
        """All figures, as Prometheus reads them, and those that are kept ``elsewhere``."""
        return told(
            (
                self._started,
                self._ended,
                Gauge("endstop_live_runs", "Runs that are under way here.", lambda: self.live_runs()),
                Gauge("endstop_open_streams", "Streams that are open.", lambda: self.open_streams),
                self._turns,
                self._tokens,
                self._tool_calls,
                self._findings,
                self._requests,
                *elsewhere,
            )
        )


async def _nothing() -> Sequence[Metric]:
    return ()


def install_measures(app: FastAPI, measures: Measures | None = None) -> Measures:
    """Count what the server does from now on; the figures are in ``app.state.measures``."""
    app.state.measures = measures = Measures(make_spans()) if measures is None else measures
    app.add_middleware(_Timed, measures=measures)
    return measures


async def measures_of(request: Request) -> Measures:
    """For a route's parameter; a server that measures nothing tells nothing."""
    found: Measures | None = getattr(request.app.state, "measures", None)
    return Measures() if found is None else found


class _Timed:
    """Times every request. To the first byte: a stream lasts as long as its run, which is no delay."""

    def __init__(self, app: ASGIApp, measures: Measures) -> None:
        self._app = app
        self._measures = measures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = perf_counter()

        async def timed(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._measures.answered(
                    method=_method(scope),
                    route=_route(scope),
                    status=message["status"],
                    seconds=perf_counter() - began,
                )
            await send(message)

        await self._app(scope, receive, timed)


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def _method(scope: Scope) -> str:
    """A label must not be the caller's to make up: there would be no end of them."""
    method: str = scope["method"]
    return method if method in _METHODS else "OTHER"


def _route(scope: Scope) -> str:
    """The route as it is declared, such as ``/api/runs/{run_id}``: without anything a caller wrote."""
    return getattr(scope.get("route"), "path", _NO_ROUTE)
