"""Runs to record: one small scenario for each way a run can go, driven by a guard and a clock that obeys."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from endstop.events.facts import NOTES, Fact, Payload, RunStarted
from endstop.events.recorder import Recorder
from endstop.guard import Guard, Scope, Turn
from endstop.kernel import conditions
from endstop.kernel.agent import AgentConfig, AgentState
from endstop.kernel.amounts import Amounts
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.decision import Decision, DefaultDecisionTree, decision_tree
from endstop.kernel.finding import Finding, Pattern
from endstop.kernel.observation import (
    AssistantSaid,
    CallReserved,
    CallSettled,
    Observation,
    ToolFinished,
    TurnEnded,
    TurnStarted,
    UserSaid,
    tool_called,
)
from endstop.kernel.review import Approved, NeedsChanges, Rejected, Review, ReviewDecision
from endstop.kernel.state import GovernorState
from endstop.testing import FakeClock

RUN_ID = "run_example"
BORN_AT = FakeClock().unix_s()


class Stage:
    """Where a scenario plays: its clock, and a note of how the governor stood after each fact."""

    def __init__(self, clock: FakeClock | None = None) -> None:
        self.clock = FakeClock() if clock is None else clock
        self.states: dict[int, GovernorState] = {}

    def guard(self, budget: Budget, **options: Any) -> Guard:
        return self._watched(Guard(budget, run_id=RUN_ID, clock=self.clock, **options))

    def resumed(self, facts: Iterable[Fact], **options: Any) -> Guard:
        return self._watched(Guard.resume(facts, clock=self.clock, **options))

    def _watched(self, guard: Guard) -> Guard:
        recorder = recorder_of(guard)
        self.states[len(recorder.facts) - 1] = recorder.state
        arrivals = guard.bus.subscribe(wake=lambda: keep())

        def keep() -> None:
            for fact in arrivals.take():
                self.states[fact.seq] = recorder.state

        return guard


def recorder_of(guard: Guard) -> Recorder:
    """The recorder behind a guard: the state it holds is what replaying must come to."""
    return guard._books.recorder  # pyright: ignore[reportPrivateUsage]


def work(
    turn: Turn,
    clock: FakeClock,
    *,
    text: str = "",
    tool: str = "search",
    query: str | None = None,
    ok: bool = True,
    result: str | None = None,
    tokens: int = 60,
    cost_usd: str | None = "0.002",
) -> None:
    """An ordinary turn: two seconds, some tokens, perhaps some text, one call that brings something new."""
    clock.advance(2.0)
    turn.spent(input_tokens=tokens - 10, output_tokens=10, cost_usd=cost_usd)
    if text:
        turn.said(text)
    asked = f"part {turn.number}" if query is None else query
    turn.called(tool, {"q": asked}, ok=ok, result=f"found {asked}" if result is None else result)


def work_until_the_end(scope: Scope, clock: FakeClock, *, reserve_tokens: int = 0, text: str = "") -> None:
    while scope.may_continue():
        with scope.turn(reserve_tokens=reserve_tokens) as turn:
            work(turn, clock, text=text and f"{text} {turn.number + 1}.")


def finished(stage: Stage) -> Guard:
    guard = stage.guard(
        Budget(turns=10, tokens=5_000, cost_usd="0.50", seconds=120), question="Where is login?"
    )
    while guard.may_continue():
        with guard.turn(reserve_tokens=300, reserve_cost_usd="0.01") as turn:
            work(turn, stage.clock, text=f"Looking, step {turn.number + 1}.")
            if turn.number == 2:
                turn.finished("It is in auth.py.")
    return guard


def finished_on_the_last_turn(stage: Stage) -> Guard:
    guard = stage.guard(Budget(turns=2))
    while guard.may_continue():
        with guard.turn() as turn:
            if turn.is_last:
                turn.said("It is in auth.py.")
                turn.finished("It is in auth.py.")
            else:
                work(turn, stage.clock)
    return guard


def identical_calls(stage: Stage) -> Guard:
    guard = stage.guard(Budget(turns=10))
    while guard.may_continue():
        with guard.turn() as turn:
            work(turn, stage.clock, text="Searching.", query="login")
    return guard


def error_streak(stage: Stage) -> Guard:
    guard = stage.guard(Budget(turns=10))
    while guard.may_continue():
        with guard.turn() as turn:
            work(turn, stage.clock, ok=False, result=f"no such file: part {turn.number}")
    return guard


def tripped_tool(stage: Stage) -> Guard:
    """A call that fails the same way every time is tripped; the model is told and goes another way."""
    guard = stage.guard(Budget(turns=12))
    for number in range(3):
        with guard.turn() as turn:
            work(turn, stage.clock, query=f"ok {number}")
            turn.called("fetch", {"url": "x"}, ok=False, result="connection refused")
    with guard.turn() as turn:
        turn.spent(input_tokens=5, output_tokens=5)
        assert turn.refusal("fetch", {"url": "x"}) is not None
        turn.finished("Without it, then.")
    guard.may_continue()
    return guard


def signals(stage: Stage) -> Guard:
    guard = stage.guard(Budget(turns=10))
    for number in range(3):
        with guard.turn() as turn:
            turn.said(
                f'Step {number}. <signal type="need_turn"><reason>read the file</reason>'
                "<confidence>0.8</confidence></signal>"
                '<signal type="stuck"><attempted>["grep", "find"]</attempted></signal><signal type="no"/>'
            )
            work(turn, stage.clock, query=f"file {number}")
    assert not guard.may_continue()
    return guard


def turn_limit(stage: Stage) -> Guard:
    guard = stage.guard(Budget(turns=10, tokens=100_000))
    work_until_the_end(guard, stage.clock, text="Step")
    return guard


def turn_limit_without_text(stage: Stage) -> Guard:
    guard = stage.guard(Budget(turns=3))
    work_until_the_end(guard, stage.clock)
    return guard


def token_limit(stage: Stage) -> Guard:
    guard = stage.guard(Budget(tokens=500))
    work_until_the_end(guard, stage.clock, reserve_tokens=100, text="Step")
    return guard


def cost_limit(stage: Stage) -> Guard:
    guard = stage.guard(Budget(turns=50, cost_usd="0.01", warn_at={"cost_usd": 0.5}))
    while guard.may_continue():
        with guard.turn(reserve_cost_usd="0.003") as turn:
            work(turn, stage.clock, text="Step.")
    return guard


def model_call_limit(stage: Stage) -> Guard:
    guard = stage.guard(Budget(model_calls=3))
    work_until_the_end(guard, stage.clock, text="Step")
    return guard


def context_limit(stage: Stage) -> Guard:
    guard = stage.guard(Budget(turns=50, context_tokens=1_000))
    while guard.may_continue():
        with guard.turn() as turn:
            turn.measured_context(400 * (turn.number + 1))
            work(turn, stage.clock, text="Step.")
    return guard


def time_limit(stage: Stage) -> Guard:
    guard = stage.guard(Budget(seconds=10))
    work_until_the_end(guard, stage.clock, text="Step")
    return guard


def cancelled(stage: Stage) -> Guard:
    guard = stage.guard(Budget(turns=10))
    with guard.turn() as turn:
        work(turn, stage.clock, text="Step 1.")
        guard.cancel("ana")
    guard.may_continue()
    return guard


def cancelled_after_the_turn(stage: Stage) -> Guard:
    guard = stage.guard(Budget(turns=10))
    with guard.turn() as turn:
        guard.cancel("ana", after_turn=True)
        work(turn, stage.clock)
    guard.may_continue()
    return guard


def grants(stage: Stage) -> Guard:
    guard = stage.guard(Budget(turns=3, seconds=60))
    while guard.may_continue():
        with guard.turn() as turn:
            work(turn, stage.clock, text="Step.")
        if turn_count(guard) == 2:
            guard.grant(Grant(turns=2, seconds=30, by="ana", why="nearly there"))
    return guard


def waited(stage: Stage) -> Guard:
    """Waits for a person for far longer than its time limit, and is not charged for it."""
    guard = stage.guard(Budget(seconds=20))
    with guard.turn() as turn:
        work(turn, stage.clock)
    with guard.waiting("asking which login"):
        stage.clock.advance(1_000.0)
    guard.user_said("the web one")
    with guard.turn() as turn:
        work(turn, stage.clock)
        turn.finished("auth.py")
    guard.may_continue()
    return guard


def scopes(stage: Stage) -> Guard:
    guard = stage.guard(Budget(turns=12, tokens=10_000))
    with guard.turn(reserve_tokens=100) as turn:
        work(turn, stage.clock, text="Splitting it up.")
    with guard.scope("reader", turns=3) as reader:
        work_until_the_end(reader, stage.clock, reserve_tokens=100, text="Reading")
    with guard.scope("writer", turns=4, tokens=1_000) as writer:
        with writer.scope("checker", turns=1) as checker:
            work_until_the_end(checker, stage.clock, reserve_tokens=100)
        writer.grant(Grant(tokens=500, by="ana", why="long text"))
        with writer.turn(reserve_tokens=100) as turn:
            work(turn, stage.clock, text="Writing.")
    guard.finish("Written.")
    return guard


def scope_left_open(stage: Stage) -> Guard:
    """The run is cancelled while a scope below it is still open: that ends first."""
    guard = stage.guard(Budget(turns=12))
    scope = guard.scope("reader", turns=5)
    with scope.turn() as turn:
        work(turn, stage.clock, text="Reading.")
    guard.cancel("ana")
    guard.may_continue()
    return guard


def review_approved(stage: Stage) -> Guard:
    return _reviewed(stage, Approved(grant=Grant(turns=2, by="ben", why="nearly there")))


def review_needs_changes(stage: Stage) -> Guard:
    grant = Grant(turns=2, by="ben", why="nearly there")
    return _reviewed(stage, NeedsChanges(feedback="Look in auth.py.", grant=grant))


def review_rejected(stage: Stage) -> Guard:
    return _reviewed(stage, Rejected(by="ben", why="it goes nowhere"))


def _reviewed(stage: Stage, first: ReviewDecision) -> Guard:
    decisions = iter((first, Rejected(by="ben", why="enough")))

    def decide(review: Review) -> ReviewDecision:
        stage.clock.advance(3_600.0)
        return next(decisions)

    guard = stage.guard(Budget(turns=3, seconds=60), reviewer=decide)
    work_until_the_end(guard, stage.clock, text="Step")
    return guard


@decision_tree("events-tests-raises")
class Raises(DefaultDecisionTree):
    """A policy that fails on the second turn."""

    def should_continue(self, state: AgentState) -> Decision:
        if state.turn == 2:
            raise RuntimeError("no idea")
        return super().should_continue(state)


@decision_tree("events-tests-impatient")
class Impatient(DefaultDecisionTree):
    """A policy with an opinion of its own."""

    def should_continue(self, state: AgentState) -> Decision:
        return (False, "two are enough") if state.turn == 2 else super().should_continue(state)


def policy_error(stage: Stage) -> Guard:
    guard = stage.guard(Budget(turns=10), policy="events-tests-raises")
    work_until_the_end(guard, stage.clock, text="Step")
    return guard


def policy_stop(stage: Stage) -> Guard:
    guard = stage.guard(Budget(turns=10), policy="events-tests-impatient")
    work_until_the_end(guard, stage.clock, text="Step")
    return guard


def stop_condition(stage: Stage) -> Guard:
    stop = (conditions.turns(4) & conditions.tokens(100)) | conditions.idle(60)
    guard = stage.guard(Budget(turns=10), stop=stop)
    work_until_the_end(guard, stage.clock, text="Step")
    return guard


def unknown_price_refused(stage: Stage) -> Guard:
    guard = stage.guard(Budget(turns=10, cost_usd="0.50"))
    while guard.may_continue():
        with guard.turn() as turn:
            work(turn, stage.clock, text="Step.", cost_usd=None)
    return guard


def unknown_price_warned(stage: Stage) -> Guard:
    guard = stage.guard(Budget(turns=3, cost_usd="0.50", unknown_price="warn"))
    while guard.may_continue():
        with guard.turn() as turn:
            work(turn, stage.clock, text="Step.", cost_usd=None)
    return guard


def tools_unused(stage: Stage) -> Guard:
    guard = stage.guard(Budget(turns=10), must_use_tools=True)
    while guard.may_continue():
        with guard.turn() as turn:
            turn.spent(input_tokens=10, output_tokens=10)
            turn.said(f"I could look into {turn.number}.")
    return guard


def exception(stage: Stage) -> Guard:
    """An exception leaves the guard's block."""
    guard = stage.guard(Budget(turns=10))
    with suppress(ConnectionError), guard:
        with guard.turn(reserve_tokens=50) as turn:
            turn.said("Step 1.")
        raise ConnectionError("model unreachable")
    return guard


def interrupted(stage: Stage) -> Guard:
    """The process dies in the middle of a turn and of a tool; another one goes on."""
    recorder = recorder_of(guard := stage.guard(Budget(turns=5, tokens=5_000, seconds=60)))
    with guard.turn(reserve_tokens=200) as turn:
        work(turn, stage.clock)
    for payload in (
        TurnStarted(at_s=4.0, turn=1),
        CallReserved(at_s=4.0, turn=1, reservation="call:1.0", amounts=Amounts(model_calls=1, tokens=300)),
        AssistantSaid(at_s=5.0, turn=1, text="Deploying."),
        tool_called(at_s=5.0, turn=1, call="2.1", tool="deploy", arguments={"to": "production"}),
    ):
        recorder.observe(payload, time=BORN_AT + payload.at_s)
    resumed = stage.resumed(guard.facts)
    with resumed.turn(reserve_tokens=200) as turn:
        work(turn, stage.clock)
        turn.finished("Deployed, perhaps.")
    resumed.may_continue()
    return resumed


def turn_count(guard: Guard) -> int:
    return guard.usage.turns


SCENARIOS: dict[str, Callable[[Stage], Guard]] = {
    scenario.__name__: scenario
    for scenario in (
        finished,
        finished_on_the_last_turn,
        identical_calls,
        error_streak,
        tripped_tool,
        signals,
        turn_limit,
        turn_limit_without_text,
        token_limit,
        cost_limit,
        model_call_limit,
        context_limit,
        time_limit,
        cancelled,
        cancelled_after_the_turn,
        grants,
        waited,
        scopes,
        scope_left_open,
        review_approved,
        review_needs_changes,
        review_rejected,
        policy_error,
        policy_stop,
        stop_condition,
        unknown_price_refused,
        unknown_price_warned,
        tools_unused,
        exception,
        interrupted,
    )
}


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A run that is over: its facts, and how the governor stood after each of them."""

    facts: tuple[Fact, ...]
    states: dict[int, GovernorState]


@cache
def play(name: str) -> Recorded:
    """The record of a scenario, made once."""
    stage = Stage()
    guard = SCENARIOS[name](stage)
    return Recorded(facts=guard.facts, states=stage.states)


def recorded(name: str) -> tuple[Fact, ...]:
    return play(name).facts


@dataclass(frozen=True, slots=True, kw_only=True)
class TenthCall:
    """A detector of one's own: finds that a tool was called ten times in all. Or as often as it says."""

    times: int = 10
    count: int = 0

    def observe(self, seen: object, /) -> tuple[TenthCall, Finding | None]:
        if not isinstance(seen, ToolFinished):
            return self, None
        following = replace(self, count=self.count + 1)
        if following.count != self.times:
            return following, None
        return following, Finding(
            pattern=Pattern.CUSTOM, message="Many calls.", advice="Call less.", times=self.times
        )


def own_detectors(stage: Stage) -> Guard:
    guard = stage.guard(Budget(turns=5), detectors=[TenthCall(times=2)], responses={"custom": "stop"})
    work_until_the_end(guard, stage.clock, text="Step")
    return guard


def overrun(stage: Stage) -> Guard:
    """Uses more than it reserved, and more than it has."""
    guard = stage.guard(Budget(turns=5, tokens=1_000))
    with guard.turn(reserve_tokens=100) as turn:
        work(turn, stage.clock, text="Step.", tokens=1_500)
    guard.may_continue()
    return guard


def new_recorder(budget: Budget | None = None, **started: Any) -> Recorder:
    """A recorder that has just begun, for what a guard cannot be made to write."""
    config = AgentConfig(budget=Budget(turns=10, tokens=10_000) if budget is None else budget)
    return Recorder(RunStarted(config=config, **started), run_id=RUN_ID, time=BORN_AT, source="test")


def observed(recorder: Recorder, *observations: Observation) -> Recorder:
    for observation in observations:
        recorder.observe(observation, time=BORN_AT + observation.at_s)
    return recorder


def a_turn(number: int, at_s: float, *between: Observation, scope: str = "run") -> tuple[Observation, ...]:
    """A turn with a model call that was reserved and settled, and what happened in it."""
    reservation = f"call:{number}"
    return (
        TurnStarted(at_s=at_s, scope=scope, turn=number),
        CallReserved(
            at_s=at_s,
            scope=scope,
            turn=number,
            reservation=reservation,
            amounts=Amounts(model_calls=1, tokens=100),
        ),
        CallSettled(
            at_s=at_s, scope=scope, turn=number, reservation=reservation, input_tokens=40, output_tokens=20
        ),
        *between,
        TurnEnded(at_s=at_s, scope=scope, turn=number),
    )


def said_by_user(at_s: float, text: str = "Please go on.") -> UserSaid:
    return UserSaid(at_s=at_s, text=text)


def a_fact(payload: Payload, *, seq: int = 0, run_id: str = RUN_ID) -> Fact:
    return Fact(run_id=run_id, seq=seq, time=BORN_AT + seq, source="test", payload=payload)


def renumbered(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """Facts as somebody would number them who wants a changed record to look whole."""
    return tuple(replace(fact, seq=seq) for seq, fact in enumerate(facts))


def places(facts: Iterable[Fact], kind: type[object]) -> list[int]:
    """Where the facts with a payload of this kind stand."""
    return [fact.seq for fact in facts if isinstance(fact.payload, kind)]


def is_derived(fact: Fact) -> bool:
    """Whether the governor noticed it, rather than being told."""
    return not isinstance(fact.payload, (RunStarted, Observation, *NOTES))
