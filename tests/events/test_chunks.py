"""What a chat shows of a record: nine types of chunks that never change, and a stream that can be resumed.

Seven more came later, for a page that shows meters, signals and the tree.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

import pytest
from payload_examples import ERRORS, EXAMPLES, LOOP, OUT_OF_MONEY, STUCK, exceeded, type_in, warned
from recorded_runs import (
    BORN_AT,
    Recorded,
    a_fact,
    a_turn,
    new_recorder,
    observed,
    recorded,
    said_by_user,
)

from endstop.events.chunks import Chunk, ChunkType, SystemType, chunks, chunks_of, percent_of
from endstop.events.facts import Fact, Payload, RunStarted, SourceCited, Thought
from endstop.events.recorder import Recorder
from endstop.events.steered import TreeChosen, TreeTraced
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.finding import Response
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import (
    AssistantSaid,
    BudgetGranted,
    CallStatus,
    ContextMeasured,
    RunEnded,
    RunPaused,
    RunResumed,
    ScopeOpened,
    SignalGiven,
    ToolFinished,
    tool_called,
)
from endstop.kernel.outcome import Abandoned, Cancelled, Completed, Ending, Failed, Forced, Stopped
from endstop.kernel.verdict import FindingReported

Json = dict[str, Any]

FIRST_TYPES = frozenset(
    {
        "thinking",
        "content",
        "source",
        "tool_call",
        "tool_result",
        "context_update",
        "system",
        "done",
        "error",
    }
)
LATER_TYPES = frozenset({"budget", "grant", "signal", "tree", "trace", "paused", "resumed"})


def shown(payload: Payload, *, seq: int = 7) -> list[Json]:
    """The chunks of one fact, as they are sent."""
    return [chunk.to_json() for chunk in chunks_of(a_fact(payload, seq=seq))]


def only(payload: Payload) -> Json:
    (chunk,) = shown(payload)
    return chunk


def rich_record() -> Recorder:
    """A chat with something of every type that is shown, until it breaks."""
    recorder = new_recorder(
        Budget(turns=6, tokens=10_000, warn_at={"turns": 0.4}), question="Where is login?"
    )
    call = tool_called(at_s=2.0, turn=0, call="1.1", tool="search", arguments={"q": "login"})
    recorder.note(Thought(turn=0, text="I should search."), time=BORN_AT + 0.5)
    observed(
        recorder,
        ContextMeasured(at_s=1.0, tokens=1_200),
        *a_turn(
            0,
            2.0,
            AssistantSaid(at_s=2.0, turn=0, text="Let me „look“."),
            call,
            ToolFinished(at_s=2.0, turn=0, call="1.1", tool="search", key=call.key, result="auth.py:12"),
        ),
    )
    recorder.note(SourceCited(title="Auth", location="auth.py:12", passage="def login():"), time=BORN_AT + 3)
    observed(
        recorder,
        *a_turn(1, 3.0),
        *a_turn(2, 3.2),
        ScopeOpened(at_s=3.5, scope="reader", budget=Budget(tokens=500)),
        *a_turn(0, 4.0, AssistantSaid(at_s=4.0, scope="reader", turn=0, text="Reading."), scope="reader"),
        said_by_user(4.5),
    )
    recorder.end_with(
        Failed(code="model", message="The model cannot be reached.", answer="Let me „look“."),
        at_s=5.0,
        time=BORN_AT + 5,
    )
    return recorder


@pytest.mark.guarantee("I1", "I2")
def test_the_chunks_of_a_rich_record_are_those_that_were_promised(
    require_golden: Callable[[str, object], None],
) -> None:
    sent = [{"id": chunk.seq, **chunk.to_json()} for chunk in chunks(rich_record().facts)]
    first = [chunk for chunk in sent if chunk["type"] in FIRST_TYPES]
    assert {cast("str", chunk["type"]) for chunk in first} == FIRST_TYPES
    require_golden("chunks.json", json.loads(json.dumps(first)))


@pytest.mark.guarantee("I1")
def test_the_chunks_that_came_later_are_those_that_were_promised(
    require_golden: Callable[[str, object], None],
) -> None:
    sent = [{"id": chunk.seq, **chunk.to_json()} for chunk in chunks(watched_record())]
    later = [chunk for chunk in sent if chunk["type"] in LATER_TYPES]
    assert {cast("str", chunk["type"]) for chunk in later} == LATER_TYPES
    require_golden("chunks-later.json", json.loads(json.dumps(later)))


def watched_record() -> list[Fact]:
    """One of each fact that only those see who watch, as a run has it that is paused and goes on."""
    budget = Budget(turns=30, tokens=200_000, cost_usd="0.42", seconds=300, warn_at={"seconds": 0.825})
    payloads: list[Payload] = [
        RunStarted(config=AgentConfig(budget=budget), question="Where is login?", model="test:scripted"),
        TreeChosen(tree="oracle-agent", hash="5f2c", spec="{}"),
        SignalGiven(at_s=1.0, turn=0, type="need_turn", confidence=0.9, reason="to read „auth.py“"),
        SignalGiven(at_s=1.5, scope="reader", turn=0, type="task_complete", confidence=1.0),
        TreeTraced(turn=0, steps=("0 running", "4 success"), dropped=1, errors=("a/b: OSError",)),
        RunPaused(at_s=2.0, why="Iteration limit reached (30/30)."),
        RunResumed(at_s=2.0),
        BudgetGranted(
            at_s=2.0,
            grant=Grant(turns=10, cost_usd="0.10", seconds=60, by="ana", why="nearly there"),
        ),
    ]
    return [
        Fact(run_id="run", seq=seq, time=BORN_AT + seq, source="test", payload=payload)
        for seq, payload in enumerate(payloads)
    ]


@pytest.mark.guarantee("I1")
def test_the_nine_types_of_chunks_are_still_there_and_seven_came_later() -> None:
    assert {kind.value for kind in ChunkType} == FIRST_TYPES | LATER_TYPES
    assert len(FIRST_TYPES) == 9


@pytest.mark.guarantee("I1")
def test_the_budget_is_told_first_with_only_the_limits_that_are_set() -> None:
    first = next(chunks(recorded("model_call_limit")))
    assert first.id == "0.0"
    told = first.to_json()
    assert told == {
        "type": "budget",
        "limits": {"model_calls": 3},
        "warn_percent": {},
        "reserve_percent": 5,
        "model": "",
        "started_at": BORN_AT,
        "at": BORN_AT,
    }


@pytest.mark.parametrize(("part", "percent"), [(0.7, 70), (0.57, 57), (0.825, 82.5), (1.0, 100), (0.0, 0)])
def test_parts_of_one_are_shown_as_plain_percent(part: float, percent: float) -> None:
    assert json.dumps(percent_of(part)) == json.dumps(percent)


@pytest.mark.guarantee("A9")
def test_a_grant_shows_what_it_adds_and_nothing_else() -> None:
    grant = Grant(tokens=5_000, by="ana", why="it may read more")
    assert only(BudgetGranted(at_s=2.0, grant=grant)) == {
        "type": "grant",
        "added": {"tokens": 5_000},
        "by": "ana",
        "why": "it may read more",
    }


@pytest.mark.guarantee("I2")
def test_there_are_four_types_of_system_messages() -> None:
    names = {kind.value for kind in SystemType}
    assert names == {"limit_warning", "limit_reached", "no_progress", "error_limit"}


@pytest.mark.guarantee("I1")
def test_everything_that_is_sent_is_json(run: Recorded) -> None:
    for chunk in chunks(run.facts):
        assert json.loads(json.dumps(chunk.to_json(), allow_nan=False)) == chunk.to_json()


@pytest.mark.guarantee("I1")
def test_a_run_that_has_ended_is_done_once_and_last(run: Recorded) -> None:
    types = [chunk.type for chunk in chunks(run.facts)]
    assert types.count(ChunkType.DONE) == 1
    assert types[-1] is ChunkType.DONE


@pytest.mark.guarantee("I1")
def test_a_run_that_has_not_ended_is_not_done(run: Recorded) -> None:
    assert ChunkType.DONE not in {chunk.type for chunk in chunks(run.facts[:-1])}


@pytest.mark.guarantee("I1")
def test_chunks_come_in_the_order_of_the_record(run: Recorded) -> None:
    numbers = [chunk.seq for chunk in chunks(run.facts)]
    assert numbers == sorted(numbers)


def read_on(facts: list[Fact] | tuple[Fact, ...], last: Chunk | None) -> list[Chunk]:
    """What somebody is sent who has seen everything up to ``last`` and asks for what follows."""
    return [
        chunk for chunk in chunks(facts) if last is None or (chunk.seq, chunk.part) > (last.seq, last.part)
    ]


@pytest.mark.guarantee("I1")
def test_a_stream_that_was_cut_anywhere_goes_on_without_loss_or_repeat(run: Recorded) -> None:
    sent = list(chunks(run.facts))
    for cut in range(len(sent) + 1):
        seen = sent[:cut]
        assert seen + read_on(run.facts, seen[-1] if seen else None) == sent, f"cut after {seen[-1:]}"


@pytest.mark.guarantee("I1")
def test_a_stream_of_a_run_that_goes_on_is_followed_fact_by_fact() -> None:
    facts = rich_record().facts
    followed = [chunk for fact in facts for chunk in chunks_of(fact)]
    assert followed == list(chunks(facts))


@pytest.mark.guarantee("I2", "A2")
def test_the_warning_of_the_seventh_of_ten_turns_is_worded_as_promised() -> None:
    (warning,) = [
        chunk.to_json()
        for chunk in chunks(recorded("turn_limit"))
        if chunk.data.get("system_type") == "limit_warning"
    ]
    assert warning == {
        "type": "system",
        "system_type": "limit_warning",
        "system_message": "Approaching iteration limit (7/10). Consider wrapping up your response.",
        "metadata": {"current_value": 7, "limit_value": 10, "percent": 70.0, "limit_type": "turns"},
    }


@pytest.mark.guarantee("I2", "A5")
def test_a_limit_that_was_reached_says_so_with_its_value_and_advice() -> None:
    (reached,) = [
        chunk.to_json()
        for chunk in chunks(recorded("turn_limit"))
        if chunk.data.get("system_type") == "limit_reached"
    ]
    assert reached == {
        "type": "system",
        "system_type": "limit_reached",
        "system_message": "Iteration limit reached (10/10). What was gathered is kept. "
        "Continue with more turns, or ask something narrower.",
        "metadata": {"current_value": 10, "limit_value": 10, "percent": 100.0, "limit_type": "turns"},
    }


@pytest.mark.guarantee("I2")
@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        (LimitKind.TURNS, "Continue with more turns"),
        (LimitKind.SECONDS, "Continue with more time"),
        (LimitKind.CONTEXT_TOKENS, "Start afresh"),
        (LimitKind.TOKENS, "Continue with more budget"),
        (LimitKind.COST_USD, "Continue with more budget"),
        (LimitKind.MODEL_CALLS, "Continue with more budget"),
    ],
)
def test_the_advice_suits_the_limit_that_was_reached(kind: LimitKind, advice: str) -> None:
    message = only(exceeded(kind, 10, 10))["system_message"]
    assert f"What was gathered is kept. {advice}, or ask something narrower." in message


@pytest.mark.guarantee("I2")
@pytest.mark.parametrize("example", [name for name in EXAMPLES if name.endswith((".warning", ".exceeded"))])
def test_every_notice_of_a_limit_has_its_figures(example: str) -> None:
    chunk = only(EXAMPLES[example])
    assert set(chunk["metadata"]) == {"current_value", "limit_value", "percent", "limit_type"}
    assert chunk["system_type"] == ("limit_warning" if "warning" in type_in(example) else "limit_reached")


@pytest.mark.guarantee("I2")
def test_money_in_a_notice_is_text() -> None:
    metadata = only(EXAMPLES["budget.cost.warning"])["metadata"]
    assert (metadata["current_value"], metadata["limit_value"]) == ("0.4000000000001", "0.5")


@pytest.mark.guarantee("I2")
@pytest.mark.parametrize("response", [Response.STOP, Response.ASK])
def test_a_finding_that_stops_or_asks_is_shown_with_what_to_do(response: Response) -> None:
    assert only(FindingReported(finding=LOOP, response=response, turn=2)) == {
        "type": "system",
        "system_type": "no_progress",
        "system_message": f"{LOOP.message} {LOOP.advice}",
        "metadata": {
            "current_value": 3,
            "limit_value": 3,
            "percent": 100.0,
            "limit_type": "identical_call",
        },
    }


@pytest.mark.guarantee("I2", "B2")
def test_errors_in_a_row_are_an_error_limit() -> None:
    chunk = only(FindingReported(finding=ERRORS, response=Response.STOP, turn=2))
    assert chunk["system_type"] == "error_limit"


@pytest.mark.guarantee("I2")
@pytest.mark.parametrize("response", [Response.GO_ON, Response.NUDGE])
def test_a_finding_that_only_the_model_is_told_of_is_not_shown(response: Response) -> None:
    assert shown(FindingReported(finding=LOOP, response=response, turn=2)) == []


DONE: list[tuple[Ending, Json]] = [
    (Completed(answer="a"), {"outcome": "completed", "answer": "a"}),
    (Completed(answer="a", warnings=("Last turn.",)), {"outcome": "completed", "warnings": ["Last turn."]}),
    (
        Forced(answer="a", reason=OUT_OF_MONEY),
        {"outcome": "forced", "answer": "a", "reason": OUT_OF_MONEY.message, "rule": "cost"},
    ),
    (Stopped(reason=STUCK), {"outcome": "stopped", "reason": STUCK.message, "rule": "no_progress"}),
    (
        Abandoned(reason="Too vague.", next_steps=("Say more.",)),
        {"outcome": "abandoned", "reason": "Too vague.", "next_steps": ["Say more."]},
    ),
    (
        Cancelled(by="ana", answer="a"),
        {"outcome": "cancelled", "answer": "a", "reason": "Cancelled by ana."},
    ),
    (
        Failed(code="model", message="Gone.", answer="a"),
        {"outcome": "failed", "answer": "a", "reason": "Gone."},
    ),
]


@pytest.mark.guarantee("I1", "G7")
@pytest.mark.parametrize(("ending", "expected"), DONE, ids=lambda value: type(value).__name__)
def test_done_says_how_the_run_ended_and_keeps_the_answer(ending: Ending, expected: Json) -> None:
    done = shown(RunEnded(at_s=9.0, outcome=ending))[-1]
    assert done["type"] == "done"
    assert expected.items() <= done.items()


@pytest.mark.guarantee("I1")
@pytest.mark.parametrize(("ending", "_"), DONE, ids=lambda value: type(value).__name__)
def test_done_always_has_an_outcome_an_answer_warnings_and_whether_it_was_forced(
    ending: Ending, _: Json
) -> None:
    done = shown(RunEnded(at_s=9.0, outcome=ending))[-1]
    assert {"outcome", "answer", "warnings", "is_forced"} <= done.keys()


@pytest.mark.guarantee("A5", "I1")
@pytest.mark.parametrize(("ending", "_"), DONE, ids=lambda value: type(value).__name__)
def test_a_forced_completion_and_nothing_else_is_marked_as_forced(ending: Ending, _: Json) -> None:
    done = shown(RunEnded(at_s=9.0, outcome=ending))[-1]
    assert done["is_forced"] is isinstance(ending, Forced)


@pytest.mark.guarantee("I1", "I7")
def test_a_failure_is_an_error_and_then_done() -> None:
    error, done = shown(RunEnded(at_s=9.0, outcome=Failed(code="model", message="Gone.")))
    assert error == {"type": "error", "code": "model", "message": "Gone."}
    assert done["type"] == "done"


@pytest.mark.guarantee("I1")
@pytest.mark.parametrize("scenario", ["policy_error", "unknown_price_refused", "exception"])
def test_a_run_that_failed_ends_with_an_error_and_done(scenario: str) -> None:
    types = [chunk.type for chunk in chunks(recorded(scenario))]
    assert types[-2:] == [ChunkType.ERROR, ChunkType.DONE]
    assert types.count(ChunkType.ERROR) == 1


@pytest.mark.guarantee("I1")
def test_the_models_text_is_content() -> None:
    assert only(AssistantSaid(at_s=1.0, turn=0, text="Hello.")) == {"type": "content", "content": "Hello."}


@pytest.mark.guarantee("I1")
def test_a_reply_without_text_shows_nothing() -> None:
    assert shown(AssistantSaid(at_s=1.0, turn=0, text="")) == []


@pytest.mark.guarantee("I1", "C3")
def test_no_part_of_a_signal_is_shown() -> None:
    assert "<sig" not in json.dumps([chunk.to_json() for chunk in chunks(recorded("signals"))])


@pytest.mark.guarantee("I1")
def test_thinking_and_sources_are_shown() -> None:
    assert only(Thought(turn=0, text="Hm.")) == {"type": "thinking", "content": "Hm."}
    assert only(SourceCited(title="Auth", location="auth.py:12", passage="def")) == {
        "type": "source",
        "title": "Auth",
        "location": "auth.py:12",
        "passage": "def",
    }


@pytest.mark.guarantee("I1")
def test_a_call_and_its_result_belong_together() -> None:
    call = only(EXAMPLES["tool.called"])
    result = only(EXAMPLES["tool.finished"])
    assert call == {"type": "tool_call", "call_id": "1.1", "tool": "search", "arguments": '{"q":"login"}'}
    assert result == {
        "type": "tool_result",
        "call_id": "1.1",
        "tool": "search",
        "status": "executed",
        "result": "found",
        "is_error": False,
    }


@pytest.mark.guarantee("I1", "B2")
@pytest.mark.parametrize("status", CallStatus)
def test_a_result_says_whether_it_is_an_error(status: CallStatus) -> None:
    finished = ToolFinished(at_s=1.0, turn=0, call="1.1", tool="search", key="5f2c", status=status)
    chunk = only(finished)
    assert (chunk["status"], chunk["is_error"]) == (status.value, finished.is_error)


@pytest.mark.guarantee("I1", "A4")
@pytest.mark.parametrize(("example", "is_last"), [("turn.started", False), ("turn.started closing", True)])
def test_a_turn_says_whether_it_is_the_last(example: str, is_last: bool) -> None:
    chunk = only(EXAMPLES[example])
    assert (chunk["type"], chunk["is_last_turn"]) == ("context_update", is_last)


@pytest.mark.guarantee("I1", "A10")
@pytest.mark.parametrize(
    ("example", "cost"),
    [
        ("budget.settled", "0.001234567890123456789012345678"),
        ("budget.settled, cost unknown", None),
    ],
)
def test_what_a_call_cost_is_shown_as_text_and_unknown_as_null(example: str, cost: str | None) -> None:
    chunk = only(EXAMPLES[example])
    assert chunk["type"] == "context_update"
    assert chunk["cost_usd"] == cost


@pytest.mark.guarantee("I1")
def test_the_size_of_the_context_is_shown() -> None:
    assert only(EXAMPLES["context.measured"]) == {"type": "context_update", "context_tokens": 12_345}


@pytest.mark.guarantee("I1")
@pytest.mark.parametrize(
    "example",
    [
        "run.taken",
        "run.cancel_requested",
        "scope.opened",
        "scope.ended",
        "turn.ended",
        "budget.reserved",
        "hint.given",
        "signal.rejected",
        "review.requested",
        "user.said",
        "agent.finished",
    ],
)
def test_what_is_not_for_a_chat_shows_nothing(example: str) -> None:
    assert shown(EXAMPLES[example]) == []


@pytest.mark.guarantee("I1", "A7")
def test_what_happens_in_a_scope_is_marked_with_its_name() -> None:
    chunk = only(AssistantSaid(at_s=1.0, scope="reader", turn=0, text="Hello."))
    assert chunk == {"type": "content", "content": "Hello.", "scope": "reader"}


@pytest.mark.guarantee("I2", "A7")
def test_a_limit_of_a_scope_is_not_shown_as_the_runs_own() -> None:
    """The run goes on: to say that its limit was reached would be wrong."""
    system = [chunk for chunk in chunks(recorded("scopes")) if chunk.type is ChunkType.SYSTEM]
    assert system
    assert {chunk.data.get("scope") for chunk in system} <= {"reader", "writer", "checker"}


@pytest.mark.guarantee("I2")
def test_a_warning_by_hand_is_shown_as_it_is_worded() -> None:
    notice = warned(LimitKind.TOKENS, 160_000, 200_000)
    assert only(notice)["system_message"] == notice.message


@pytest.mark.guarantee("I1")
def test_every_chunk_of_a_record_has_an_id_of_its_own(run: Recorded) -> None:
    ids = [chunk.id for chunk in chunks(run.facts)]
    assert len(set(ids)) == len(ids)
