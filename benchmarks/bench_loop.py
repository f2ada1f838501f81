"""What a turn of the loop costs, beside a bare loop and beside other frameworks, all in one run.

Each contender is a process of its own with an instant model of its own kind and one trivial tool, which the
model calls with a new number each turn. They take turns; the best of several measurements counts. The first
time, the packages of the peers are installed into environments of their own, which takes some minutes.

    python benchmarks/bench_loop.py [--quick] [--cpu] [--rounds 5] [--only Endstop] [--only AutoGen] ...

``--quick`` leaves out runs of 1,000 turns and, for peers, a thousand runs at once: two minutes, not ten.
``--cpu`` takes processor time instead of the clock's, for a machine that is busy with other things.
Ctrl-C ends it early, with what was measured so far.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from peers.contenders import (
    BARE,
    CONTENDERS,
    LANGGRAPH_SQLITE,
    OURS,
    OURS_SQLITE,
    Asked,
    Contender,
    NoAnswerError,
    started,
)
from peers.peer import MOST_REPEATS

MARKS = (10, 100, 1_000)
RUNS_AT_ONCE = 1_000
TURNS_AT_ONCE = 20
MODEL_WAIT_S = 0.01
HELD_RUNS = 200
ENOUGH_S = 5.0
"""A contender whose measurements of one kind have taken this long is not measured again."""


@dataclass(slots=True)
class Figures:
    """What was measured, by contender."""

    turn_s: dict[tuple[str, int], float] = field(default_factory=dict[tuple[str, int], float])
    at_once_s: dict[str, float] = field(default_factory=dict[str, float])
    run_bytes: dict[str, float] = field(default_factory=dict[str, float])
    stopped: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    missing: list[str] = field(default_factory=list[str])
    """What could not be measured, and why."""


@dataclass(slots=True)
class Measuring:
    """Asks the contenders, and keeps the best of their answers."""

    asked: dict[Contender, Asked]
    figures: Figures
    is_cpu: bool
    spent_s: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])

    def answer(self, contender: Contender, measure: str, **options: object) -> dict[str, object] | None:
        try:
            return self.asked[contender].ask(measure, **options)
        except NoAnswerError as error:
            self.figures.missing.append(f"{contender.name}, {measure} {options or ''}: {error}")
            return None

    def seconds(
        self, contender: Contender, best: float | None, measure: str, **options: object
    ) -> float | None:
        """The best time so far, with one more measurement unless there were enough."""
        key = contender.name, f"{measure} {options}"
        spent_s = self.spent_s.get(key, 0.0)
        if spent_s >= ENOUGH_S:
            return best
        answer = self.answer(contender, measure, **options)
        if answer is None:
            self.spent_s[key] = ENOUGH_S
            return best
        self.spent_s[key] = spent_s + float(str(answer["seconds"])) * int(str(answer["times"]))
        took = float(str(answer["cpu_seconds" if self.is_cpu else "seconds"]))
        return took if best is None else min(best, took)

    def memory(self) -> None:
        for one in self.asked:
            if one.is_async:
                answer = self.answer(one, "memory", runs=HELD_RUNS, turns=TURNS_AT_ONCE)
                if answer is not None:
                    self.figures.run_bytes[one.name] = float(str(answer["bytes"]))

    def repeats(self) -> None:
        for one in self.asked:
            if not one.keeps_record and one is not BARE:
                answer = self.answer(one, "repeat")
                if answer is not None:
                    self.figures.stopped[one.name] = int(str(answer["calls"])), str(answer["how"])

    def turns(self, mark: int) -> None:
        """One round of runs of so many turns."""
        best = self.figures.turn_s
        for one in self.asked:
            key = one.name, mark
            before = None if key not in best else best[key] * mark
            took = self.seconds(one, before, "turns", turns=mark)
            if took is not None:
                best[key] = took / mark

    def at_once(self, *, with_peers: bool) -> None:
        best = self.figures.at_once_s
        for one in self.asked:
            if one.runs_at_once and (with_peers or one.peer is None):
                options = {"runs": RUNS_AT_ONCE, "turns": TURNS_AT_ONCE, "delay_s": MODEL_WAIT_S}
                took = self.seconds(one, best.get(one.name), "at_once", **options)
                if took is not None:
                    best[one.name] = took


def measured(contenders: Sequence[Contender], *, rounds: int, is_quick: bool, is_cpu: bool) -> Figures:
    figures = Figures()
    with contextlib.ExitStack() as exits:
        folder = Path(exits.enter_context(tempfile.TemporaryDirectory(prefix="endstop-bench-")))
        postgres_url = exits.enter_context(postgres(contenders, figures))
        asked: dict[Contender, Asked] = {}
        for one in contenders:
            try:
                asked[one] = exits.enter_context(started(one, folder=folder, postgres_url=postgres_url))
            except NoAnswerError as error:
                figures.missing.append(f"{one.name}: {error}")
        try:
            measure(Measuring(asked, figures, is_cpu), rounds=rounds, is_quick=is_quick)
        except KeyboardInterrupt:
            figures.missing.append("the rest: it was interrupted")
    return figures


def measure(measuring: Measuring, *, rounds: int, is_quick: bool) -> None:
    _say("memory of runs that are held …")
    measuring.memory()
    _say("a model that repeats itself …")
    measuring.repeats()
    for number in range(1, rounds + 1):
        for mark in MARKS[:2] if is_quick else MARKS:
            _say(f"round {number} of {rounds}: runs of {mark:,} turns …")
            measuring.turns(mark)
        _say(f"round {number} of {rounds}: {RUNS_AT_ONCE:,} runs at once …")
        measuring.at_once(with_peers=not is_quick)


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


@contextlib.contextmanager
def postgres(contenders: Sequence[Contender], figures: Figures) -> Generator[str | None, None, None]:
    """The URL of an empty database on a server of our own, as the tests have it; None if there is none."""
    if not any("{postgres}" in one.address for one in contenders):
        yield None
        return
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    with contextlib.ExitStack() as exits:
        try:
            server = exits.enter_context(import_module("postgres").running_server())
        except Exception as error:  # noqa: BLE001 - whatever keeps it from starting, the table says so
            figures.missing.append(f"PostgreSQL: {error}")
            yield None
            return
        server.run("CREATE DATABASE bench TEMPLATE template0")
        yield server.url("bench")


def print_turns(contenders: Sequence[Contender], figures: Figures) -> None:
    marks = [mark for mark in MARKS if any(key[1] == mark for key in figures.turn_s)]
    if not marks:
        return
    for title, is_kept, ours in (
        ("in memory", False, OURS),
        ("with the state of every turn in a database", True, OURS_SQLITE),
    ):
        heads = [f"{mark:,} turns" for mark in marks]
        print(f"\nµs per turn, {title}; in brackets: times {ours.name}\n")
        print(f"{'':<24}" + "".join(f"{head:>20}" for head in heads) + f"{'growth':>10}")
        for one in contenders:
            if one.keeps_record is is_kept:
                cells = [_turn_cell(figures, one, ours, mark) for mark in marks]
                growth = _ratio(
                    figures.turn_s.get((one.name, marks[-1])), figures.turn_s.get((one.name, marks[0]))
                )
                print(f"{one.name:<24}" + "".join(f"{cell:>20}" for cell in cells) + f"{growth:>10}")


def _turn_cell(figures: Figures, one: Contender, ours: Contender, mark: int) -> str:
    took = figures.turn_s.get((one.name, mark))
    if took is None:
        return "not measured"
    return f"{took * 1e6:,.1f} ({_ratio(took, figures.turn_s.get((ours.name, mark)))})"


def _ratio(part: float | None, whole: float | None) -> str:
    if part is None or not whole:
        return "-"
    ratio = part / whole
    return f"{ratio:.2f}x" if ratio < 10 else f"{ratio:,.0f}x"


def print_at_once(contenders: Sequence[Contender], figures: Figures) -> None:
    floor = figures.at_once_s.get(BARE.name)
    print(
        f"\n{RUNS_AT_ONCE:,} runs of {TURNS_AT_ONCE} turns at once in one process,"
        f" the model waits {MODEL_WAIT_S * 1e3:.0f} ms; memory of each of {HELD_RUNS} live runs\n"
        "(the garbage collector is set as our programs set it, endstop.app.collector, for everybody alike)\n"
    )
    print(f"{'':<24}{'seconds':>12}{'times bare':>12}{'KiB per run':>14}")
    for one in contenders:
        took, size = figures.at_once_s.get(one.name), figures.run_bytes.get(one.name)
        if took is not None or size is not None:
            seconds = "-" if took is None else f"{took:.2f}"
            memory = "-" if size is None else f"{size / 1024:.0f}"
            print(f"{one.name:<24}{seconds:>12}{_ratio(took, floor):>12}{memory:>14}")


def print_stops(contenders: Sequence[Contender], figures: Figures) -> None:
    print("\na model that repeats one call for ever, default settings: model calls paid for until it ends\n")
    for one in contenders:
        if one.name in figures.stopped:
            calls, how = figures.stopped[one.name]
            if calls >= MOST_REPEATS:
                print(f"{one.name:<24}{'-':>8}  nothing stopped it within {MOST_REPEATS:,} calls")
            else:
                print(f"{one.name:<24}{calls:>8,}  {how}")


def print_aims(contenders: Sequence[Contender], figures: Figures) -> None:
    """The figures that there is an aim for. Nothing is asserted: machines differ, and are busy."""
    turn = figures.turn_s
    print("\nagainst what we aim at\n")
    for one in (OURS, OURS_SQLITE):
        growth = _ratio(turn.get((one.name, MARKS[-1])), turn.get((one.name, MARKS[0])))
        print(f"{one.name}, from {MARKS[0]} to {MARKS[-1]:,} turns: {growth} (aim: flat)")
    for mark in MARKS:
        peers = [one for one in contenders if one.peer is not None and (one.name, mark) in turn]
        own = turn.get((OURS.name, mark))
        if peers and own is not None:
            fastest = min(peers, key=lambda one: turn[one.name, mark])
            share = own / turn[fastest.name, mark]
            print(f"Endstop against {fastest.name}, the fastest at {mark:,} turns: {share:.2f} (aim: ≤ 0.20)")
    for mark in MARKS:
        times = _ratio(turn.get((LANGGRAPH_SQLITE.name, mark)), turn.get((OURS_SQLITE.name, mark)))
        print(f"LangGraph against Endstop, both on SQLite, {mark:,} turns: {times} (aim: ≥ 10x)")
    for one in (OURS, OURS_SQLITE):
        times = _ratio(figures.at_once_s.get(one.name), figures.at_once_s.get(BARE.name))
        print(f"{one.name}, {RUNS_AT_ONCE:,} runs at once, against the bare loop: {times} (aim: ≤ 10x)")


PRINTS: tuple[Callable[[Sequence[Contender], Figures], None], ...] = (
    print_turns,
    print_at_once,
    print_stops,
    print_aims,
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="without what takes minutes")
    parser.add_argument("--rounds", type=int, default=5, help="measurements to take the best of")
    parser.add_argument(
        "--only", action="append", metavar="NAME", help=f"of {', '.join(one.name for one in CONTENDERS)}"
    )
    parser.add_argument("--cpu", action="store_true", help="processor time, not the clock's")
    given = parser.parse_args()
    wanted: list[str] | None = given.only
    contenders = [one for one in CONTENDERS if wanted is None or one.name in wanted]
    figures = measured(contenders, rounds=given.rounds, is_quick=given.quick, is_cpu=given.cpu)
    if given.cpu:
        print("processor time: without waiting, and without what a database server takes")
    for show in PRINTS:
        show(contenders, figures)
    for each in figures.missing:
        print(f"\nnot measured: {each}")


if __name__ == "__main__":
    main()
