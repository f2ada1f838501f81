"""Runs as spans: whole, nested, with figures; and what people wrote only on request."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from endstop.app import SystemClock, make_agent
from endstop.errors import ModelRefusedError
from endstop.events.facts import Fact
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.observation import AssistantSaid
from endstop.loop.agent import OnLimit
from endstop.runner import Run, Runner
from endstop.server.measuring import Measures
from endstop.server.telemetry import CONTENT_VARIABLE, Spans, make_spans
from endstop.testing import MemoryStore, ScriptedModel, calls, echo_tool, fails


@dataclass
class Recorded:
    """A span that remembers what it was told, and stands where one of OpenTelemetry's would."""

    name: str
    parent: str | None
    attributes: dict[str, Any]
    start_time: int
    end_time: int | None = None

    def set_attributes(self, attributes: dict[str, Any]) -> None:
        self.attributes.update(attributes)

    def end(self, end_time: int) -> None:
        assert self.end_time is None, "a span ends once"
        self.end_time = end_time


@dataclass
class Tracer:
    spans: list[Recorded] = field(default_factory=list[Recorded])

    def start_span(self, name: str, *, context: Any, attributes: dict[str, Any], start_time: int) -> Recorded:
        parent = None if context is None else next(iter(context.values())).name
        self.spans.append(Recorded(name=name, parent=parent, attributes=attributes, start_time=start_time))
        return self.spans[-1]

    def named(self, name: str) -> Recorded:
        (found,) = (span for span in self.spans if span.name == name)
        return found


async def run_once() -> Run:
    model = ScriptedModel(calls("echo", text="a secret"), calls("no_such_tool"), "The answer.")
    agent = make_agent(model=model, tools=[echo_tool()], name="helper")
    return await Runner(None, clock=SystemClock()).run(agent, "A private question?")


def told(facts: tuple[Fact, ...] | list[Fact], *, has_content: bool = False) -> Tracer:
    tracer = Tracer()
    measures = Measures(Spans(tracer, has_content=has_content))
    for fact in facts:
        measures.count(fact)
    return tracer


async def test_a_run_is_a_span_with_its_turns_and_calls_below() -> None:
    tracer = told((await run_once()).facts)
    assert [(span.name, span.parent) for span in tracer.spans] == [
        ("invoke_agent helper", None),
        ("turn 0", "invoke_agent helper"),
        ("chat scripted", "turn 0"),
        ("execute_tool echo", "turn 0"),
        ("turn 1", "invoke_agent helper"),
        ("chat scripted", "turn 1"),
        ("execute_tool no_such_tool", "turn 1"),
        ("turn 2", "invoke_agent helper"),
        ("chat scripted", "turn 2"),
    ]
    for span in tracer.spans:
        assert span.end_time is not None
        assert span.end_time >= span.start_time


async def test_spans_follow_the_conventions_for_generative_models() -> None:
    run = await run_once()
    tracer = told(run.facts)
    whole, call = tracer.named("invoke_agent helper").attributes, tracer.spans[2].attributes
    assert whole["gen_ai.operation.name"] == "invoke_agent"
    assert (whole["endstop.run_id"], whole["endstop.outcome"]) == (run.id, "completed")
    assert (call["gen_ai.operation.name"], call["gen_ai.provider.name"]) == ("chat", "test")
    assert call["gen_ai.request.model"] == "scripted"
    assert call["gen_ai.usage.input_tokens"] > 0
    assert call["gen_ai.usage.output_tokens"] > 0
    assert float(call["endstop.cost_usd"]) > 0
    good, bad = (
        tracer.named("execute_tool echo").attributes,
        tracer.named("execute_tool no_such_tool").attributes,
    )
    assert good["gen_ai.operation.name"] == "execute_tool"
    assert "error.type" not in good
    assert bad["error.type"] == bad["endstop.tool.status"]


async def test_what_people_and_models_wrote_is_there_only_on_request() -> None:
    run = await run_once()
    silent = str([span.attributes for span in told(run.facts).spans])
    assert "secret" not in silent
    assert "private" not in silent
    tracer = told(run.facts, has_content=True)
    assert tracer.named("invoke_agent helper").attributes["endstop.question"] == "A private question?"
    echo = tracer.named("execute_tool echo").attributes
    assert "a secret" in echo["gen_ai.tool.call.arguments"]
    assert "a secret" in echo["gen_ai.tool.call.result"]


async def test_a_run_that_pauses_is_one_span_and_going_on_is_another() -> None:
    store = MemoryStore()
    runner = Runner(store, clock=SystemClock())
    model = ScriptedModel(calls("echo", text="x"), "Done.")
    agent = make_agent(
        model=model, tools=[echo_tool()], budget=Budget(turns=1), on_limit=OnLimit.REVIEW, name="helper"
    )
    paused = await runner.run(agent, "why?")
    await runner.resume(paused.id, agent=agent, grant=Grant(turns=3, by="me", why="go on"))
    tracer = told(await store.record(paused.id))
    assert tracer.named("invoke_agent helper").attributes["endstop.outcome"] == "paused"
    again = [span for span in tracer.spans if span.name == "invoke_agent"]
    assert again[-1].attributes["endstop.outcome"] == "completed"
    assert again[-1].attributes["endstop.is_resumed"] is True
    assert all(span.end_time is not None for span in tracer.spans)


async def test_a_run_that_fails_says_by_which_error() -> None:
    agent = make_agent(model=ScriptedModel(fails(ModelRefusedError("No"))), name="helper")
    run = await Runner(None, clock=SystemClock()).run(agent, "why?")
    whole = told(run.facts).named("invoke_agent helper").attributes
    assert (whole["endstop.outcome"], bool(whole["error.type"])) == ("failed", True)


async def test_a_run_that_is_heard_from_the_middle_does_no_harm() -> None:
    facts = (await run_once()).facts
    for start in range(1, len(facts)):
        assert all(span.end_time is not None for span in told(facts[start:]).spans)


async def test_a_cost_that_nobody_knows_is_not_there() -> None:
    facts = [
        changed(fact, payload=changed(fact.payload, cost_usd=None)) if fact.type == "budget.settled" else fact  # type: ignore[type-var]
        for fact in (await run_once()).facts
    ]
    assert "endstop.cost_usd" not in str([span.attributes for span in told(facts).spans])


def test_without_a_tracer_provider_there_are_no_spans() -> None:
    assert make_spans() is None


def test_without_opentelemetry_there_are_no_spans() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None; "
        "from endstop.server.telemetry import make_spans; assert make_spans() is None"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class Provider(trace.TracerProvider):
    def __init__(self) -> None:
        self.tracer = Tracer()

    def get_tracer(self, *given: Any, **more: Any) -> Any:
        return self.tracer


@pytest.mark.parametrize(
    ("said", "has_content"), [("true", True), (" TRUE ", True), ("false", False), ("", False)]
)
async def test_the_standard_variable_asks_for_content(
    monkeypatch: pytest.MonkeyPatch, said: str, has_content: bool
) -> None:
    provider = Provider()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    spans = make_spans({CONTENT_VARIABLE: said})
    assert spans is not None
    for fact in (await run_once()).facts:
        spans.tell(fact)
    assert ("endstop.question" in provider.tracer.spans[0].attributes) == has_content


class Exported:
    """The real thing: what an exporter of OpenTelemetry is given."""

    def __init__(self, facts: tuple[Fact, ...], *, has_content: bool = False) -> None:
        exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        spans = Spans(provider.get_tracer("endstop"), has_content=has_content)
        for fact in facts:
            spans.tell(fact)
        self.spans: tuple[ReadableSpan, ...] = tuple(
            sorted(exporter.get_finished_spans(), key=lambda span: span.start_time or 0)
        )
        provider.shutdown()

    def named(self, name: str) -> ReadableSpan:
        (found,) = (span for span in self.spans if span.name == name)
        return found

    def below(self, above: ReadableSpan) -> list[str]:
        """The names of the spans right below one."""
        context = above.get_span_context()
        assert context is not None
        return [
            span.name
            for span in self.spans
            if span.parent is not None
            and (span.parent.span_id, span.parent.trace_id) == (context.span_id, context.trace_id)
        ]


async def test_an_exporter_gets_the_run_its_turns_and_their_calls_nested() -> None:
    exported = Exported((await run_once()).facts)
    whole = exported.named("invoke_agent helper")
    assert whole.parent is None
    assert exported.below(whole) == ["turn 0", "turn 1", "turn 2"]
    assert exported.below(exported.named("turn 0")) == ["chat scripted", "execute_tool echo"]
    assert exported.below(exported.named("turn 1")) == ["chat scripted", "execute_tool no_such_tool"]
    assert exported.below(exported.named("turn 2")) == ["chat scripted"]
    assert len(exported.spans) == 9
    for span in exported.spans:
        assert span.start_time is not None
        assert span.end_time is not None
        assert (whole.start_time or 0) <= span.start_time <= span.end_time <= (whole.end_time or 0)


async def test_an_exporter_gets_the_attributes_of_the_conventions() -> None:
    run = await run_once()
    exported = Exported(run.facts)
    for span in exported.spans:
        attributes = dict(span.attributes or {})
        assert attributes["endstop.run_id"] == run.id
        operation = attributes.get("gen_ai.operation.name")
        assert operation == (None if span.name.startswith("turn") else span.name.split()[0])
        if operation == "chat":
            assert attributes["gen_ai.request.model"] == "scripted"
            assert attributes["gen_ai.provider.name"] == "test"
            assert isinstance(attributes["gen_ai.usage.input_tokens"], int)
            assert isinstance(attributes["gen_ai.usage.output_tokens"], int)
    tool = dict(exported.named("execute_tool echo").attributes or {})
    assert tool["gen_ai.tool.name"] == "echo"
    assert tool["gen_ai.tool.call.id"]


async def test_an_exporter_gets_content_only_on_request() -> None:
    facts = (await run_once()).facts
    assert not any(word in span.to_json() for span in Exported(facts).spans for word in ("secret", "private"))
    exported = Exported(facts, has_content=True)
    assert "A private question?" in exported.named("invoke_agent helper").to_json()
    assert "a secret" in exported.named("execute_tool echo").to_json()
    replies = [(span.attributes or {}).get("gen_ai.output.messages") for span in exported.spans]
    said = [
        payload.text for payload in (fact.payload for fact in facts) if isinstance(payload, AssistantSaid)
    ]
    assert [json.loads(str(one))[0]["parts"][0]["content"] for one in replies if one] == [
        t for t in said if t
    ]


@pytest.mark.parametrize(
    ("environ", "is_wanted"),
    [
        ({}, False),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, False),
        ({"OTEL_TRACES_EXPORTER": "console"}, True),
        ({"OTEL_TRACES_EXPORTER": "console", "OTEL_SDK_DISABLED": "true"}, False),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_TRACES_EXPORTER": "carrier-pigeon"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1", "OTEL_SERVICE_NAME": "mine"}, True),
    ],
)
def test_the_standard_variables_turn_spans_on(environ: dict[str, str], is_wanted: bool) -> None:
    assert (make_spans(environ) is not None) == is_wanted


def test_spans_are_told_where_the_variables_say() -> None:
    """In a process of its own, which sends what is left when it ends."""
    code = (
        "import asyncio, sys; sys.path.insert(0, sys.argv[1]); "
        "from test_server_telemetry import run_once; from endstop.server.telemetry import make_spans; "
        "spans = make_spans(); "
        "[spans.tell(fact) for fact in asyncio.run(run_once()).facts]"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "OTEL_TRACES_EXPORTER": "console"},
    )
    assert told.stdout == ""
    assert told.stderr.count('"trace_id"') >= 9
    assert '"service.name": "endstop"' in told.stderr
    assert "private" not in told.stderr


def test_what_is_missing_is_said_and_keeps_no_server_from_starting() -> None:
    code = (
        "import sys; sys.modules['opentelemetry.sdk.trace'] = None; "
        "from endstop.server.telemetry import make_spans; assert make_spans() is None"
    )
    told = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "OTEL_TRACES_EXPORTER": "otlp"},
    )
    assert "pip install 'endstop[otel]'" in told.stderr
