"""The run whose record is kept in ``tests/golden/record-v1.jsonl``: a bit of everything."""

from __future__ import annotations

from recorded_runs import Stage, recorder_of, work

from endstop.guard import Guard
from endstop.kernel import conditions
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.observation import TurnStarted, tool_called
from endstop.kernel.review import Approved, NeedsChanges, Review, ReviewDecision


def golden_run(stage: Stage) -> Guard:
    """Signals, a tripped tool, a scope, a pause, reviews, a process that dies, a limit that ends it."""
    guard = _begun(stage)
    _first_look(guard, stage)
    with guard.scope("reader", turns=2, tokens=4_000) as reader:
        while reader.may_continue():
            with reader.turn(reserve_tokens=500, reserve_cost_usd="0.01") as turn:
                work(turn, stage.clock, text=f"Reading part {turn.number + 1}.", tool="read")
    with guard.waiting("Which login is meant?"):
        stage.clock.advance(120.0)
    guard.user_said("The one of the web shop.")
    for _ in range(7):
        assert guard.may_continue()
        with guard.turn(reserve_tokens=800, reserve_cost_usd="0.01") as turn:
            work(turn, stage.clock, text="Searching for it.", query="password")
    guard.grant(Grant(tokens=5_000, by="ana", why="it may read more"))
    resumed = stage.resumed(_died_in_a_tool(guard, stage).facts)
    while resumed.may_continue():
        with resumed.turn(reserve_tokens=800, reserve_cost_usd="0.01") as turn:
            work(turn, stage.clock, text=f"Schritt {turn.number + 1}: „nichts“.")
    return resumed


def _begun(stage: Stage) -> Guard:
    def decide(review: Review) -> ReviewDecision:
        stage.clock.advance(600.0)
        if review.id == "review:1":
            return NeedsChanges(
                feedback="Look in auth.py.", grant=Grant(turns=1, cost_usd="0.05", by="ben", why="a hint")
            )
        return Approved(grant=Grant(turns=1, seconds=60.0, by="ben", why="nearly there"))

    return stage.guard(
        Budget(
            turns=13, tokens=20_000, cost_usd="0.20", seconds=300, tool_calls_per_turn=4, unknown_price="warn"
        ),
        responses={"cycle": "ask"},
        stop=conditions.idle(3_600) | conditions.no_progress(9),
        reviewer=decide,
        user="ana",
        project="shop",
        question="Where do we check the password?",
    )


_SIGNALS = (
    '<signal type="need_turn"><reason>not found yet</reason><confidence>0.9</confidence></signal>'
    '<signal type="stuck"><attempted>["grep"]</attempted></signal><signal type="nonsense"></signal>'
)


def _first_look(guard: Guard, stage: Stage) -> None:
    for number in range(3):
        with guard.turn(reserve_tokens=800) as turn:
            turn.said(f"First look {number + 1}. {_SIGNALS if number == 1 else ''}")
            work(turn, stage.clock, query=f"look {number}", cost_usd=None if number == 0 else "0.0042")
            turn.called("fetch", {"url": "https://example.org"}, ok=False, result="connection refused")
            turn.called("note", {"number": number}, result="noted")


def _died_in_a_tool(guard: Guard, stage: Stage) -> Guard:
    """What a process leaves behind that is killed while a tool runs."""
    recorder = recorder_of(guard)
    at_s, turn = recorder.state.now_s, recorder.state.scopes["run"].turns_started
    for payload in (
        TurnStarted(at_s=at_s, turn=turn),
        tool_called(at_s=at_s, turn=turn, call=f"{turn + 1}.1", tool="deploy", arguments={"to": "test"}),
    ):
        recorder.observe(payload, time=stage.clock.unix_s())
    return guard
