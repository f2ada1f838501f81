"""Runs as OpenTelemetry spans: the run, its turns, its model calls, its tool calls (GenAI conventions).

Made from facts, with the times of the facts. They go to the tracer provider that was set up, such as by
``opentelemetry-instrument endstop serve``, or to where the standard variables say (``OTEL_TRACES_EXPORTER``,
``OTEL_EXPORTER_OTLP_ENDPOINT``), with ``pip install endstop[otel]``. Without either there are no spans, and
nothing is spent on them. What people and models wrote is in them only if the standard variable asks for it.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Mapping
from typing import Any

from endstop.events.facts import Fact, RunStarted
from endstop.kernel.observation import (
    AssistantSaid,
    CallReserved,
    CallSettled,
    RunEnded,
    RunPaused,
    RunResumed,
    ToolCalled,
    ToolFinished,
    TurnEnded,
    TurnStarted,
)
from endstop.kernel.outcome import Failed

CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")

_OPERATION = "gen_ai.operation.name"
_NANOSECONDS = 1_000_000_000

_log = logging.getLogger("endstop.server.telemetry")


class Spans:
    """Opens and closes spans as facts go by."""

    def __init__(self, tracer: Any, *, has_content: bool = False) -> None:
        """``tracer`` is one of OpenTelemetry's."""
        self._tracer = tracer
        self._has_content = has_content
        self._open: dict[str, dict[str, Any]] = {}
        """By run: its spans that are open, the run's own first."""
        self._models: dict[str, str] = {}

    def tell(self, fact: Fact) -> None:
        """One more fact of a run."""
        match fact.payload:
            case RunStarted() as started:
                self._models[fact.run_id] = started.model
                about = {
                    "gen_ai.agent.name": started.agent,
                    **self._content("endstop.question", started.question),
                }
                self._begin(fact, "run", f"invoke_agent {started.agent}".strip(), "invoke_agent", about)
            case RunResumed():
                self._begin(fact, "run", "invoke_agent", "invoke_agent", {"endstop.is_resumed": True})
            case TurnStarted(scope=scope, turn=turn):
                self._begin(fact, f"{scope}/{turn}", f"turn {turn}", "", {"endstop.turn": turn}, within="run")
            case CallReserved(scope=scope, turn=turn, reservation=key):
                self._begin_call(fact, key, within=f"{scope}/{turn}")
            case CallSettled(reservation=key, is_final=True) as settled:
                self._end(fact, key, _usage(settled))
            case AssistantSaid(scope=scope, turn=turn, text=text) if text and self._has_content:
                turn_span = self._open.get(fact.run_id, {}).get(f"{scope}/{turn}")
                if turn_span is not None:  # its call has been settled before, and its span is over
                    turn_span.set_attributes({"gen_ai.output.messages": _message(text)})
            case ToolCalled(scope=scope, turn=turn, tool=tool, call=call) as called:
                about = {"gen_ai.tool.name": tool, "gen_ai.tool.call.id": call}
                about |= self._content("gen_ai.tool.call.arguments", called.arguments)
                within = f"{scope}/{turn}"
                self._begin(
                    fact, f"tool {call}", f"execute_tool {tool}", "execute_tool", about, within=within
                )
            case ToolFinished(call=call) as finished:
                about = {"endstop.tool.status": finished.status.value}
                about |= {"error.type": finished.status.value} if finished.is_error else {}
                about |= self._content("gen_ai.tool.call.result", finished.result)
                self._end(fact, f"tool {call}", about)
            case TurnEnded(scope=scope, turn=turn):
                self._end(fact, f"{scope}/{turn}")
            case RunPaused():
                self._end_all(fact, {"endstop.outcome": "paused"})
            case RunEnded(outcome=outcome):
                about = {"endstop.outcome": type(outcome).__name__.lower()}
                about |= {"error.type": outcome.code} if isinstance(outcome, Failed) else {}
                self._end_all(fact, about)
            case _:
                return

    def _begin_call(self, fact: Fact, key: str, *, within: str) -> None:
        model = self._models.get(fact.run_id, "")
        provider, _, name = model.partition(":")
        about = {"gen_ai.provider.name": provider, "gen_ai.request.model": name} if name else {}
        self._begin(fact, key, f"chat {name}".strip(), "chat", about, within=within)

    def _begin(
        self, fact: Fact, key: str, name: str, operation: str, about: Mapping[str, Any], *, within: str = ""
    ) -> None:
        spans = self._open.setdefault(fact.run_id, {})
        parent = spans.get(within) or spans.get("run")
        attributes = {
            "endstop.run_id": fact.run_id,
            **({_OPERATION: operation} if operation else {}),
            **about,
        }
        spans[key] = self._tracer.start_span(
            name, context=_under(parent), attributes=attributes, start_time=_nanoseconds(fact)
        )

    def _end(self, fact: Fact, key: str, about: Mapping[str, Any] | None = None) -> None:
        span = self._open.get(fact.run_id, {}).pop(key, None)
        if span is not None:  # the server may have begun to listen in the middle of a run
            span.set_attributes(dict(about or {}))
            span.end(end_time=_nanoseconds(fact))

    def _end_all(self, fact: Fact, about: Mapping[str, Any]) -> None:
        """Whatever is still open ends with the run, innermost first."""
        for key in reversed(tuple(self._open.get(fact.run_id, {}))):
            self._end(fact, key, about if key == "run" else None)
        self._open.pop(fact.run_id, None)
        if isinstance(fact.payload, RunEnded):
            self._models.pop(fact.run_id, None)

    def _content(self, name: str, text: str) -> dict[str, str]:
        return {name: text} if self._has_content else {}


def _message(text: str) -> str:
    """A reply as the conventions write one."""
    return json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": text}]}])


def make_spans(environ: Mapping[str, str] | None = None) -> Spans | None:
    """Spans for the tracer provider that was set up, or that the variables ask for; None if there is none."""
    environ = os.environ if environ is None else environ
    provider = _provider_set_up() or _provider_asked_for(environ)
    if provider is None:
        return None
    return Spans(provider.get_tracer("endstop"), has_content=_said(environ, CONTENT_VARIABLE) == "true")


def _provider_set_up() -> Any:
    """The one that somebody made the process's own; None if nobody did."""
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    provider = trace.get_tracer_provider()
    is_none = isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider)
    return None if is_none else provider


def _provider_asked_for(environ: Mapping[str, str]) -> Any:
    """One of our own, for what the standard variables say. It sends what is left when the process ends."""
    wanted = _said(environ, "OTEL_TRACES_EXPORTER") or ("otlp" if _has_endpoint(environ) else "none")
    if wanted == "none" or _said(environ, "OTEL_SDK_DISABLED") == "true":
        return None
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        exporter = _exporter(wanted)
    except ImportError as error:
        _log.warning("no spans: %s is missing. Install it: pip install 'endstop[otel]'", error.name)
        return None
    is_named = "OTEL_SERVICE_NAME" in environ or "service.name" in environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    provider = TracerProvider(resource=Resource.create({} if is_named else {"service.name": "endstop"}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _exporter(wanted: str) -> Any:
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter

    if wanted == "console":
        return ConsoleSpanExporter(out=sys.stderr)  # what is printed to stdout, programs read
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    if wanted != "otlp":
        _log.warning("OTEL_TRACES_EXPORTER is %r; known here are otlp, console and none: otlp it is", wanted)
    return OTLPSpanExporter()


def _has_endpoint(environ: Mapping[str, str]) -> bool:
    return any(_said(environ, name) for name in _ENDPOINTS)


def _said(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name, "").strip().lower()


def _under(parent: Any) -> Any:
    from opentelemetry.trace import set_span_in_context

    return None if parent is None else set_span_in_context(parent)


def _usage(settled: CallSettled) -> dict[str, Any]:
    about: dict[str, Any] = {
        "gen_ai.usage.input_tokens": settled.input_tokens,
        "gen_ai.usage.output_tokens": settled.output_tokens,
    }
    if settled.cost_usd is not None:  # unknown is not zero
        about["endstop.cost_usd"] = f"{settled.cost_usd:f}"
    return about


def _nanoseconds(fact: Fact) -> int:
    return int(fact.time * _NANOSECONDS)
