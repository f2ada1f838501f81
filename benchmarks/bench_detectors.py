"""How well the stuck detectors do on labelled traces (B10).

    python benchmarks/bench_detectors.py CORPUS_DIR_OR_FILE [...]

A directory stands for all ``.jsonl`` and ``.jsonl.gz`` files in it. A trace is found (or flagged, if it is
healthy) when a finding other than an error streak says that the run is stuck. Error streaks (B2) are counted
apart, and the figures are given with and without B5 (a call that keeps failing the same way).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from endstop.errors import EndstopError
from endstop.kernel.finding import Pattern
from endstop.testing import Trace, TraceFinding, is_alarm, observations_of, read_traces, run_trace

FOUND_AT_LEAST = 0.95
FLAGGED_BELOW = 0.05
WORST_SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A trace and what the detectors made of it."""

    trace: Trace
    alarms: tuple[TraceFinding, ...]
    has_error_streak: bool

    @property
    def is_stuck(self) -> bool:
        return self.trace.label == "stuck"

    @property
    def is_alarmed(self) -> bool:
        return bool(self.alarms)

    @property
    def is_alarmed_without_b5(self) -> bool:
        return any(alarm.finding.pattern is not Pattern.FAILING_CALL for alarm in self.alarms)

    @property
    def delay(self) -> int | None:
        """Steps from where a perfect detector fires to the first alarm; negative if it came earlier."""
        first = self.trace.first_stuck_step
        return self.alarms[0].step - first if self.alarms and first is not None else None


def judge(trace: Trace) -> Judged:
    findings = run_trace(trace)
    return Judged(
        trace=trace,
        alarms=tuple(each for each in findings if is_alarm(each.finding)),
        has_error_streak=any(each.finding.pattern is Pattern.ERROR_STREAK for each in findings),
    )


def files_of(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        if place.is_dir():
            yield from sorted([*place.glob("*.jsonl"), *place.glob("*.jsonl.gz")])
        else:
            yield place


def share(part: int, whole: int) -> str:
    return f"{part}/{whole} {part / whole:6.1%}" if whole else "-"


def row(name: str, judged: Sequence[Judged]) -> str:
    stuck = [each for each in judged if each.is_stuck]
    healthy = [each for each in judged if not each.is_stuck]
    cells: list[str] = []
    for group in (stuck, healthy):
        cells.append(share(sum(each.is_alarmed for each in group), len(group)))
        cells.append(share(sum(each.is_alarmed_without_b5 for each in group), len(group)))
        cells.append(share(sum(each.has_error_streak for each in group), len(group)))
    return f"{name:<34}" + "".join(f"{cell:>17}" for cell in cells)


def print_table(title: str, judged: Sequence[Judged], key: Callable[[Judged], str]) -> None:
    heads = ("found", "without B5", "B2 apart", "flagged", "without B5", "B2 apart")
    print(f"\n{title:<34}" + "".join(f"{head:>17}" for head in heads))
    for name in sorted({key(each) for each in judged}):
        print(row(name, [each for each in judged if key(each) == name]))


def print_total(judged: Sequence[Judged]) -> bool:
    """Print the sums and whether they meet the bar; the answer is for the figures with B5."""
    print(f"\n{row('total', judged)}")
    stuck = [each for each in judged if each.is_stuck]
    healthy = [each for each in judged if not each.is_stuck]
    kept: list[bool] = []
    for name, is_alarmed in (("with B5", _with_b5), ("without B5", _without_b5)):
        found = sum(map(is_alarmed, stuck)) / len(stuck) if stuck else 1.0
        flagged = sum(map(is_alarmed, healthy)) / len(healthy) if healthy else 0.0
        kept.append(found >= FOUND_AT_LEAST and flagged < FLAGGED_BELOW)
        print(
            f"B10 {name}: found {found:.1%} (at least {FOUND_AT_LEAST:.0%}), "
            f"flagged {flagged:.1%} (under {FLAGGED_BELOW:.0%}): {'met' if kept[-1] else 'NOT MET'}"
        )
    return kept[0]


def _with_b5(judged: Judged) -> bool:
    return judged.is_alarmed


def _without_b5(judged: Judged) -> bool:
    return judged.is_alarmed_without_b5


def print_delays(judged: Sequence[Judged]) -> None:
    delays = [each.delay for each in judged if each.is_stuck and each.delay is not None]
    if not delays:
        return
    early, exact = sum(delay < 0 for delay in delays), sum(delay == 0 for delay in delays)
    print(
        f"First alarm against first_stuck_step ({len(delays)} traces): median {median(delays):+g} steps, "
        f"{exact} at it, {early} earlier, {len(delays) - early - exact} later (latest {max(delays):+d})"
    )


def print_worst(judged: Sequence[Judged]) -> None:
    missed = [each for each in judged if each.is_stuck and not each.is_alarmed]
    false = [each for each in judged if not each.is_stuck and each.is_alarmed]
    for title, group in (("Missed", missed), ("False alarms", false)):
        # The longest misses cost most, and so do the alarms furthest from the end of an honest run.
        worst = sorted(group, key=lambda each: len(each.trace.steps), reverse=True)[:WORST_SHOWN]
        print(f"\n{title}: {len(group)}")
        for each in worst:
            print(f"  {each.trace.source:<18} {each.trace.id}: {looks_like(each)}")


def looks_like(judged: Judged) -> str:
    trace = judged.trace
    if judged.alarms:
        alarm = judged.alarms[0]
        where = f"step {alarm.step} of {len(trace.steps)}, {alarm.finding.pattern.value}"
        return f"{where}: {alarm.finding.message[:140]}"
    calls = [call for step in trace.steps for call in step.calls]
    tail = " ".join(f"{call.tool}{'' if call.ok else '!'}" for call in calls[-8:])
    streak = ", B2 found it" if judged.has_error_streak else ""
    return f"{trace.pattern}, {len(trace.steps)} steps{streak}, ends in {tail}"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "corpus", nargs="+", type=Path, help="a .jsonl or .jsonl.gz file, or a directory of them"
    )
    places: list[Path] = parser.parse_args(arguments).corpus
    try:
        traces = [trace for path in files_of(places) for trace in read_traces(path)]
    except (OSError, EndstopError) as error:
        print(error, file=sys.stderr)
        return 2
    if not traces:
        print("no traces found", file=sys.stderr)
        return 2
    began = time.perf_counter()
    judged = [judge(trace) for trace in traces]
    seconds = time.perf_counter() - began
    observed = sum(1 for trace in traces for _ in observations_of(trace))
    print_table("by source", judged, lambda each: each.trace.source)
    print_table("by pattern", judged, lambda each: each.trace.pattern or "(healthy)")
    is_met = print_total(judged)
    print_delays(judged)
    print(f"{observed:,} observations in {seconds:.2f} s: {seconds / observed * 1e6:.0f} µs each")
    print_worst(judged)
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
