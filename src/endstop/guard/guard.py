"""The guard: a budget, stuck detection and an explanation around anybody's own agent loop."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from endstop.errors import InvalidValueError
from endstop.events.audit import Audit, audit
from endstop.events.bus import Bus
from endstop.events.explain import Explanation, explain
from endstop.events.facts import Fact, RunStarted
from endstop.events.recorder import Recorder, replay
from endstop.guard.books import Books, Reviewer
from endstop.guard.clock import SystemClock
from endstop.guard.reviewing import Reviews
from endstop.guard.scope import Scope
from endstop.kernel.agent import AgentConfig
from endstop.kernel.bounds import UpperBound, require_bounded, upper_bound
from endstop.kernel.budget import Budget
from endstop.kernel.conditions import Condition
from endstop.kernel.decision import DEFAULT_POLICY, make_decision_tree
from endstop.kernel.detectors import Detector
from endstop.kernel.ledger import ROOT
from endstop.kernel.limits import words
from endstop.kernel.thresholds import Thresholds
from endstop.ports import Clock

_SOURCE = "guard"


class Guard(Scope):
    """Guards a loop that is not ours: no model, no tools, no framework, sync or async.

    >>> guard = Guard(Budget(turns=30, tokens=200_000))
    >>> while guard.may_continue():
    ...     with guard.turn(reserve_tokens=4_000) as turn:
    ...         reply = call_my_model(messages, hint=turn.hint)
    ...         turn.spent(input_tokens=…, output_tokens=…)
    ...         for call in reply.calls:
    ...             turn.called(call.name, call.args, ok=True, result=…)
    >>> print(guard.outcome, guard.explain())
    """

    def __init__(
        self,
        budget: Budget | None = None,
        *,
        detectors: Iterable[Detector] | None = None,
        thresholds: Thresholds | None = None,
        responses: Mapping[str, str] | None = None,
        must_use_tools: bool | None = None,
        stop: Condition | None = None,
        policy: str = DEFAULT_POLICY,
        reviewer: Reviewer | None = None,
        user: str | None = None,
        project: str | None = None,
        question: str = "",
        run_id: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        own = _own_detectors(detectors)
        config = _config(
            policy,
            budget=budget,
            thresholds=thresholds,
            responses=responses,
            must_use_tools=must_use_tools,
            stop=stop,
        )
        require_bounded(config.budget)
        clock = SystemClock() if clock is None else clock
        started = RunStarted(
            config=config,
            policy=policy,
            user=user,
            project=project,
            question=question,
            detectors=None if own is None else tuple(type(one).__name__ for one in own),
        )
        recorder = Recorder(
            started,
            run_id=run_id or f"run_{os.urandom(6).hex()}",
            time=clock.unix_s(),
            source=_SOURCE,
            detectors=own,
        )
        self._detectors = own
        self._adopt(recorder, clock, reviewer)

    @classmethod
    def resume(
        cls,
        facts: Iterable[Fact],
        *,
        detectors: Iterable[Detector] | None = None,
        reviewer: Reviewer | None = None,
        clock: Clock | None = None,
    ) -> Guard:
        """Go on with a run whose process died, from its facts: every counter and the clock as they stood.

        Calls it was in the middle of are recorded as interrupted, and what it had reserved counts as spent.
        """
        guard = cls.__new__(cls)
        own = _own_detectors(detectors)
        guard._detectors = own
        recorder = replay(facts, detectors=own)
        guard._adopt(recorder, SystemClock() if clock is None else clock, reviewer)
        if guard._books.is_open(ROOT):
            recorder.close_open(at_s=recorder.state.now_s, time=guard._books.unix_s)
        return guard

    @property
    def run_id(self) -> str:
        return self._books.recorder.run_id

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The record so far, to be saved: one JSON line each with ``endstop.encode``."""
        return tuple(self._books.recorder.facts)

    @property
    def bus(self) -> Bus:
        """Hands each fact to whoever subscribes, as it is recorded."""
        return self._books.bus

    @property
    def upper_bound(self) -> UpperBound:
        """What this run can use at most."""
        return upper_bound(self._books.recorder.started.config.budget)

    def cancel(self, by: str = "user", *, after_turn: bool = False) -> None:
        """End the run: now (``turn.must_stop`` says so inside a turn), or after the turn under way."""
        self._books.cancel(words("by", by), after_turn=after_turn)

    def explain(self) -> Explanation:
        """Why it stopped, in plain words, with evidence. Print it."""
        return explain(self._books.recorder.facts)

    def audit(self) -> Audit:
        """Proof from the record that the run kept its promises."""
        return audit(self.facts, detectors=self._detectors)

    def _adopt(self, recorder: Recorder, clock: Clock, reviewer: Reviewer | None) -> None:
        books = Books(recorder, clock=clock, bus=Bus())
        super().__init__(books, ROOT, None if reviewer is None else Reviews(books, reviewer))


def _own_detectors(detectors: Iterable[Detector] | None) -> tuple[Detector, ...] | None:
    if detectors is None:
        return None
    own = tuple(detectors)
    for detector in own:
        if not isinstance(detector, Detector):  # pyright: ignore[reportUnnecessaryIsInstance] - callers' code
            raise InvalidValueError("detectors", detector, allowed="objects with a method observe(seen)")
    return own


def _config(
    policy: str,
    *,
    budget: Budget | None,
    thresholds: Thresholds | None,
    responses: Mapping[str, str] | None,
    must_use_tools: bool | None,
    stop: Condition | None,
) -> AgentConfig:
    """What the policy brings along, with what was given in its place."""
    if budget is not None and not isinstance(budget, Budget):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidValueError("budget", budget, allowed="a Budget, such as Budget(turns=30)")
    given = {
        "budget": budget,
        "thresholds": thresholds,
        "responses": responses,
        "must_use_tools": must_use_tools,
        "stop": stop,
    }
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return replace(make_decision_tree(policy).get_config(), **chosen)
