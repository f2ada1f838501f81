"""Whatever is thrown at a run, in any order: it stays inside its budget, and its record tells the truth.

A Hypothesis state machine drives a guard with nested scopes, overlapping turns, honest and dishonest usage,
grants, pauses, cancellations and restarts of the process, and looks after every step.
"""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import endstop as es
from endstop.errors import EndstopError, LedgerError
from endstop.events.recorder import Recorder, replay
from endstop.guard import Scope, Turn
from endstop.guard.books import Books
from endstop.kernel.agent import AgentState
from endstop.kernel.amounts import SPENT_KINDS
from endstop.kernel.decision import DefaultDecisionTree
from endstop.kernel.governor import Governor
from endstop.kernel.ledger import ROOT, scope_hold
from endstop.kernel.limits import plus
from endstop.kernel.observation import Observation, RunEnded
from endstop.kernel.state import GovernorState
from endstop.kernel.views import may_warn, meters
from endstop.testing import FakeClock

small = st.integers(min_value=1, max_value=8)
tokens = st.integers(min_value=0, max_value=120)
cents = st.integers(min_value=0, max_value=30).map(lambda count: Decimal(count) / 100)


def books_of(scope: Scope) -> Books:
    return scope._books  # pyright: ignore[reportPrivateUsage] - the machine looks behind the façade


class Thorough(DefaultDecisionTree):
    """Decides as the default does, but has to be asked: every limit is read for every verdict."""

    def should_continue(self, state: AgentState) -> tuple[bool, str]:
        return super().should_continue(state)


def state_by_values(recorder: Recorder) -> GovernorState:
    """The state that the governor's pure function leads to. A recorder writes its own in place."""
    governor = Governor(recorder.started.config, detectors=recorder.governor.detectors)
    state = governor.start()
    for fact in recorder.facts:
        if isinstance(fact.payload, Observation):
            state, _ = governor.observe(state, fact.payload)
    return state


class RunMachine(RuleBasedStateMachine):
    """A guard under fire."""

    guard: es.Guard

    @initialize(
        turns=small,
        most_tokens=st.integers(min_value=50, max_value=600),
        cost=st.none() | cents.map(lambda cost: cost + Decimal("0.05")),
        seconds=st.none() | st.integers(min_value=5, max_value=60),
        part=st.sampled_from([0.0, 0.05, 0.3]),
    )
    def start(
        self, turns: int, most_tokens: int, cost: Decimal | None, seconds: int | None, part: float
    ) -> None:
        self.clock = FakeClock()
        budget = es.Budget(
            turns=turns,
            tokens=most_tokens,
            cost_usd=cost,
            seconds=seconds,
            finish_reserve=part,
            unknown_price="warn",
        )
        self.guard = es.Guard(budget, clock=self.clock)
        self.scopes: dict[str, Scope] = {ROOT: self.guard}
        self.open_turns: list[tuple[str, Turn]] = []
        self.counters: dict[tuple[str, str, str], object] = {}
        self.page = 0

    @property
    def recorder(self) -> Recorder:
        return books_of(self.guard).recorder

    def pick(self, number: int) -> str:
        names = sorted(self.scopes)
        return names[number % len(names)]

    @rule(number=small, reserve=tokens, cost=cents)
    def take_turn(self, number: int, reserve: int, cost: Decimal) -> None:
        name = self.pick(number)
        if not self.scopes[name].may_continue():
            return
        turn = self.scopes[name].turn(reserve_tokens=reserve, reserve_cost_usd=cost)
        try:
            turn.__enter__()
        except LedgerError:
            return
        self.open_turns.append((name, turn))

    @precondition(lambda self: self.open_turns)
    @rule(number=small, used=tokens, output=tokens, cost=st.none() | cents)
    def spend(self, number: int, used: int, output: int, cost: Decimal | None) -> None:
        name, turn = self.open_turns[number % len(self.open_turns)]
        if self.scopes[name].outcome is None:
            turn.spent(input_tokens=used, output_tokens=output, cost_usd=cost)

    @precondition(lambda self: self.open_turns)
    @rule(number=small, is_new=st.booleans(), ok=st.booleans())
    def call_tool(self, number: int, is_new: bool, ok: bool) -> None:
        name, turn = self.open_turns[number % len(self.open_turns)]
        self.page += is_new
        if self.scopes[name].outcome is None and turn.refusal("read", {"page": self.page}) is None:
            turn.called("read", {"page": self.page}, ok=ok, result=f"page {self.page}")

    @precondition(lambda self: self.open_turns)
    @rule(number=small)
    def leave_turn(self, number: int) -> None:
        _, turn = self.open_turns.pop(number % len(self.open_turns))
        turn.__exit__(None, None, None)

    @rule(
        number=small,
        turns=st.none() | small,
        most_tokens=st.none() | st.integers(min_value=1, max_value=300),
        seconds=st.none() | small,
    )
    def open_scope(
        self, number: int, turns: int | None, most_tokens: int | None, seconds: int | None
    ) -> None:
        parent = self.scopes[self.pick(number)]
        try:
            part = parent.scope(turns=turns, tokens=most_tokens, seconds=seconds)
        except LedgerError:
            return
        name = next(iter(set(self.recorder.state.scopes) - set(self.scopes)))
        self.scopes[name] = part

    @rule(number=small)
    def end_scope(self, number: int) -> None:
        name = self.pick(number)
        has_open_turn = any(owner == name for owner, _ in self.open_turns)
        if name != ROOT and not has_open_turn and self.scopes[name].outcome is None:
            self.scopes[name].__exit__(None, None, None)

    @rule(number=small, turns=st.integers(0, 3), more=st.integers(0, 50))
    def grant(self, number: int, turns: int, more: int) -> None:
        scope = self.scopes[self.pick(number)]
        try:
            scope.grant(es.Grant(turns=turns, tokens=more, by="machine", why="to see"))
        except LedgerError:
            return

    @rule(seconds=st.floats(min_value=0, max_value=3))
    def let_time_pass(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(seconds=st.floats(min_value=0, max_value=300))
    def wait_for_somebody(self, seconds: float) -> None:
        if self.guard.outcome is None:
            with self.guard.waiting("a coffee"):
                before = self.guard.usage.seconds
                self.clock.advance(seconds)
            assert self.guard.usage.seconds == pytest.approx(before, abs=1e-6)

    @rule(after_turn=st.booleans(), sure=st.integers(0, 9))
    def cancel(self, after_turn: bool, sure: int) -> None:
        if sure == 0:
            self.guard.cancel(by="machine", after_turn=after_turn)

    @rule(number=small)
    def user_speaks(self, number: int) -> None:
        scope = self.scopes[self.pick(number)]
        if scope.outcome is None and self.guard.outcome is None:
            scope.user_said("go on")

    @rule()
    def restart_the_process(self) -> None:
        """Everything in memory is gone; the record is all there is."""
        lines = [es.encode(fact) for fact in self.guard.facts]
        names = set(self.recorder.state.scopes)
        before = self.guard.usage
        self.guard = es.Guard.resume(es.read_record(lines).require(), clock=self.clock)
        self.open_turns.clear()
        self.scopes = {ROOT: self.guard}
        for name in names - {ROOT}:
            self.scopes[name] = Scope(books_of(self.guard), name, None)
        assert self.guard.usage.turns >= before.turns
        assert self.guard.usage.tokens >= before.tokens

    @invariant()
    def nothing_passes_its_limit(self) -> None:
        for account in self.recorder.state.ledger.accounts.values():
            for kind in SPENT_KINDS:
                maximum = account.maximum(kind)
                if maximum is not None:
                    assert plus(account.settled.of(kind), account.reserved.of(kind)) <= maximum

    @invariant()
    def no_counter_falls(self) -> None:
        for account in self.recorder.state.ledger.accounts.values():
            for field in ("settled", "granted", "overrun"):
                for kind in SPENT_KINDS:
                    now = getattr(account, field).of(kind)
                    before = self.counters.get((account.id, field, kind), 0)
                    assert now >= before  # type: ignore[operator]
                    self.counters[account.id, field, kind] = now

    @invariant()
    def a_child_is_held_by_its_parent(self) -> None:
        ledger = self.recorder.state.ledger
        for account in ledger.accounts.values():
            if account.parent is None:
                continue
            held = ledger.held(account.parent, scope_hold(account.id))
            for kind in SPENT_KINDS:
                if account.budget.maximum(kind) is not None:
                    assert plus(account.settled.of(kind), account.reserved.of(kind)) <= held.of(kind)

    @invariant()
    def what_is_passed_over_in_quiet_moments_would_have_changed_nothing(self) -> None:
        """Far from its limits a run is judged without reading them all: the verdict is the same."""
        recorder, state = self.recorder, self.recorder.state
        thorough = Governor(recorder.started.config, tree=Thorough(), detectors=recorder.governor.detectors)
        for scope in () if state.is_over else state.scopes:
            at_s = books_of(self.guard).now_s
            assert recorder.verdict(at_s=at_s, scope=scope) == thorough.verdict(state, at_s=at_s, scope=scope)
            due = {(meter.owner, meter.kind) for meter in meters(state, scope) if meter.is_warning_due}
            assert may_warn(state, scope) or due <= state.warned

    @invariant()
    def there_is_at_most_one_ending_and_it_is_last(self) -> None:
        endings = [fact.seq for fact in self.recorder.facts if isinstance(fact.payload, RunEnded)]
        assert endings in ([], [self.recorder.facts[-1].seq])
        assert (self.guard.outcome is not None) == bool(endings)

    def teardown(self) -> None:
        """End it, however it stands, and hold its record up to the light."""
        if not hasattr(self, "guard"):
            return
        again = replay(self.guard.facts)
        assert again.facts == self.recorder.facts
        assert again.state == self.recorder.state == state_by_values(self.recorder)
        for scope in (ROOT, *self.recorder.state.scopes):
            at_s = self.recorder.state.now_s
            if self.guard.outcome is None:
                assert again.verdict(at_s=at_s, scope=scope) == self.recorder.verdict(at_s=at_s, scope=scope)
        for _, turn in self.open_turns:
            turn.__exit__(None, None, None)
        self.guard.cancel(by="teardown")
        assert not self.guard.may_continue()
        overran = any(fact.type == "budget.overrun" for fact in self.guard.facts)
        for check in self.guard.audit().checks:
            if check.name.startswith(("spending", "it ended within")):
                assert check.holds or overran or "time" in check.name, check
            else:
                assert check.holds, check


IS_FUZZING = settings.default is not None and not settings.default.derandomize

RunMachine.TestCase.settings = settings(
    max_examples=3_000 if IS_FUZZING else 150,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.mark.guarantee("A6", "A7", "A8", "A9", "A14", "H1")
class TestRunMachine(RunMachine.TestCase):
    """Named so that the guarantees page can point at it."""


def test_errors_never_escape_the_tree() -> None:
    """The machine above catches only ledger errors; this pins that they are part of the tree."""
    assert issubclass(LedgerError, EndstopError)
