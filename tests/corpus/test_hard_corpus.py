"""The hard cases: ways to fool a detector that must be found, and honest work that must not be flagged.

The corpus is made up for this test. ``meta.why`` of each trace says what is hard about it.
"""

import runpy
import sys
from pathlib import Path

import pytest

from endstop.testing import Trace, is_alarm, read_traces, run_trace

CORPUS = Path(__file__).with_name("hard.jsonl")
BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "bench_detectors.py"
TRACES = list(read_traces(CORPUS))
STUCK = [trace for trace in TRACES if trace.label == "stuck"]
HEALTHY = [trace for trace in TRACES if trace.label == "healthy"]


def named(trace: Trace) -> str:
    return trace.id.removeprefix("hard-")


@pytest.mark.guarantee("B1", "B3", "B4", "B5", "B6", "B10")
@pytest.mark.parametrize("trace", STUCK, ids=named)
def test_an_evasion_is_found_at_the_first_stuck_step(trace: Trace) -> None:
    alarms = [found for found in run_trace(trace) if is_alarm(found.finding)]
    assert alarms, trace.meta["why"]
    assert alarms[0].step == trace.first_stuck_step, trace.meta["why"]
    at_once = {found.finding.pattern.value for found in alarms if found.step == trace.first_stuck_step}
    assert trace.pattern in at_once, trace.meta["why"]


@pytest.mark.guarantee("B1", "B3", "B4", "B5", "B6", "B9", "B10")
@pytest.mark.parametrize("trace", HEALTHY, ids=named)
def test_a_near_miss_is_not_flagged(trace: Trace) -> None:
    alarms = [found.finding.message for found in run_trace(trace) if is_alarm(found.finding)]
    assert not alarms, trace.meta["why"]


def test_the_corpus_is_labelled_throughout() -> None:
    assert len(TRACES) >= 60
    assert len(STUCK) + len(HEALTHY) == len(TRACES)
    assert len({trace.id for trace in TRACES}) == len(TRACES)
    assert {trace.source for trace in STUCK} == {"hard:evasion"}
    assert {trace.source for trace in HEALTHY} == {"hard:near-miss"}
    for trace in TRACES:
        assert trace.meta["why"]
        assert (trace.first_stuck_step is None) is (trace.label == "healthy")


@pytest.mark.guarantee("B10")
def test_the_benchmark_measures_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(BENCHMARK), str(CORPUS.parent)])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(BENCHMARK), run_name="__main__")
    printed = capsys.readouterr().out
    assert ended.value.code == 0
    assert "found 100.0% (at least 95%), flagged 0.0% (under 5%): met" in printed
    assert f"{len(STUCK)}/{len(STUCK)} 100.0%" in printed
    assert f"{len(STUCK)} at it, 0 earlier, 0 later" in printed
