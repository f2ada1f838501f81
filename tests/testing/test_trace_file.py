"""Files of traces."""

import gzip
import json
from pathlib import Path

import pytest

from endstop.testing import MalformedTraceError, Trace, TraceCall, TraceSignal, TraceStep, read_traces

FULL = {
    "id": "t-1",
    "source": "made:up",
    "label": "stuck",
    "pattern": "cycle",
    "first_stuck_step": 0,
    "must_use_tools": True,
    "meta": {"why": "for the test"},
    "steps": [
        {
            "turn": 0,
            "text": "Hm.",
            "signal": {"type": "need_turn", "reason": "more", "confidence": 1},
            "user_before": True,
            "conversation": {"b": 1, "a": 2},
            "calls": [
                {
                    "tool": "look",
                    "args": {"at": 1},
                    "ok": False,
                    "result": "no",
                    "waiting": True,
                    "cursor": True,
                    "changes": True,
                }
            ],
        }
    ],
}


def written(folder: Path, *lines: object) -> Path:
    path = folder / "traces.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return path


def test_every_field_is_read(tmp_path: Path) -> None:
    (trace,) = read_traces(written(tmp_path, FULL))
    assert trace == Trace(
        id="t-1",
        source="made:up",
        label="stuck",
        pattern="cycle",
        first_stuck_step=0,
        must_use_tools=True,
        meta={"why": "for the test"},
        steps=(
            TraceStep(
                turn=0,
                text="Hm.",
                signal=TraceSignal(type="need_turn", reason="more", confidence=1.0),
                user_before=True,
                conversation='{"a": 2, "b": 1}',
                calls=(
                    TraceCall(
                        tool="look",
                        args={"at": 1},
                        ok=False,
                        result="no",
                        waiting=True,
                        cursor=True,
                        changes=True,
                    ),
                ),
            ),
        ),
    )


def test_most_fields_may_be_left_out(tmp_path: Path) -> None:
    (trace,) = read_traces(written(tmp_path, {"id": "t", "steps": [{}, {"calls": [{"tool": "look"}]}]}))
    assert trace == Trace(
        id="t", steps=(TraceStep(turn=0), TraceStep(turn=1, calls=(TraceCall(tool="look"),)))
    )
    assert dict(trace.meta) == {}


def test_null_means_absent_where_there_may_be_nothing(tmp_path: Path) -> None:
    line = {"id": "t", "pattern": None, "first_stuck_step": None, "meta": None, "steps": [{"signal": None}]}
    (trace,) = read_traces(written(tmp_path, line))
    assert (trace.pattern, trace.first_stuck_step, trace.steps[0].signal) == (None, None, None)


def test_a_signal_may_be_the_reason_alone(tmp_path: Path) -> None:
    steps: list[dict[str, object]] = [{"signal": "more files"}, {"signal": {}}]
    (trace,) = read_traces(written(tmp_path, {"id": "t", "steps": steps}))
    assert [step.signal for step in trace.steps] == [TraceSignal(reason="more files"), TraceSignal()]


def test_compressed_files_are_read_too_and_blank_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl.gz"
    with gzip.open(path, "wt") as out:
        out.write(f"\n{json.dumps(FULL)}\n\n{json.dumps({**FULL, 'id': 't-2'})}\n")
    assert [trace.id for trace in read_traces(path)] == ["t-1", "t-2"]


UNREADABLE: list[tuple[object, str]] = [
    ("{", "Expecting property name"),
    ("[]", "the line is not an object"),
    ({"steps": []}, "id of the line is missing"),
    ({"id": "t"}, "steps of the line is missing"),
    ({"id": 7, "steps": []}, "id of the line is not a text"),
    ({"id": "t", "steps": {}}, "steps of the line is not a list"),
    ({"id": "t", "steps": [7]}, r"steps\[0\] of the line is not an object"),
    ({"id": "t", "steps": [{"turn": -1}]}, r"turn of steps\[0\] of the line is not a whole number"),
    ({"id": "t", "steps": [{"turn": True}]}, r"turn of steps\[0\] of the line is not a whole number"),
    ({"id": "t", "steps": [{"calls": [{}]}]}, r"tool of calls\[0\] of steps\[0\] of the line is missing"),
    (
        {"id": "t", "steps": [{"user_before": 1}]},
        r"user_before of steps\[0\] of the line is not true or false",
    ),
    ({"id": "t", "steps": [{"signal": 7}]}, "signal is not an object"),
    ({"id": "t", "steps": [{"signal": {"confidence": "high"}}]}, "confidence of signal is not a number"),
    ({"id": "t", "steps": [], "first_stuck_step": "2"}, "first_stuck_step of the line is not a whole"),
    ({"id": "t", "steps": [], "meta": 7}, "meta is not an object"),
    ("[" * 200_000, "recursion"),
]


@pytest.mark.parametrize(("line", "problem"), UNREADABLE)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, line: object, problem: str) -> None:
    path = written(tmp_path, FULL, line)
    with pytest.raises(MalformedTraceError, match=rf"traces\.jsonl, line 2: .*{problem}") as caught:
        list(read_traces(path))
    assert (caught.value.path, caught.value.line, caught.value.code) == (path, 2, "malformed_trace")


def test_a_line_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(json.dumps(FULL).encode() + b'\n{"id": "\xff"}\n')
    with pytest.raises(MalformedTraceError, match="line 2"):
        list(read_traces(path))


def test_a_damaged_compressed_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl.gz"
    path.write_bytes(gzip.compress((json.dumps(FULL) + "\n").encode() * 50)[:-20])
    with pytest.raises(
        MalformedTraceError, match=r"traces\.jsonl\.gz, line \d+: the compressed file is damaged"
    ):
        list(read_traces(path))
    path.write_bytes(b"not compressed at all")
    with pytest.raises(MalformedTraceError, match=r"line 1: the compressed file is damaged"):
        list(read_traces(path))
