"""The governor: the one place that decides whether a run may go on.

``step(state, observation) -> (state, verdict)`` is a pure function. Replaying the observations of a record
gives the same verdicts and the same state; resume, audit and the tests rest on that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from endstop.errors import ClosedAccountError, ObservationError, PolicyError
from endstop.kernel import wording
from endstop.kernel.agent import AgentConfig, AgentState
from endstop.kernel.decision import DecisionTree, DefaultDecisionTree, ask, is_left_to_default, rule_named
from endstop.kernel.detectors import Detector, Watch, standard_detectors
from endstop.kernel.entries import ENTRIES
from endstop.kernel.evolve import draft, evolve
from endstop.kernel.ledger import ROOT, Ledger
from endstop.kernel.observation import Observation, ScopeOpened, ToolFinished, TurnStarted
from endstop.kernel.order import ENFORCED, FINISHED, last_turn_limit, rules_met
from endstop.kernel.outcome import StopReason, StopRule
from endstop.kernel.state import GovernorState, ScopeState
from endstop.kernel.transitions import (
    OF_MORE_SCOPES,
    closed,
    enter_in_run,
    extend,
    not_open,
    opened,
    reported,
)
from endstop.kernel.verdict import (
    GO_ON,
    NOTHING_NOTICED,
    LastTurn,
    LimitWarned,
    Notice,
    Noticed,
    Stop,
    Verdict,
    limit_notice,
)
from endstop.kernel.views import agent_state, is_at_ease, is_plainly_finished, may_warn, meters


class Governor:
    """Decides for runs of one configuration and policy. Holds no state of any run."""

    def __init__(
        self,
        config: AgentConfig,
        *,
        tree: DecisionTree | None = None,
        detectors: Iterable[Detector] | None = None,
        user: str | None = None,
        project: str | None = None,
    ) -> None:
        self.config = config
        self.tree: DecisionTree = DefaultDecisionTree() if tree is None else tree
        self.detectors = (
            standard_detectors(config.thresholds, must_use_tools=config.must_use_tools)
            if detectors is None
            else tuple(detectors)
        )
        # Where only the order of A12 decides, and the tree need not be told anything.
        self._goes_by_order = config.stop is None and is_left_to_default(self.tree, "should_continue")
        self._tells_turns = not is_left_to_default(self.tree, "on_turn_start")
        self._tells_results = not is_left_to_default(self.tree, "on_tool_result")
        self.user = user
        self.project = project

    def start(self) -> GovernorState:
        """The state of a run that has just begun, at zero on its clock."""
        return GovernorState(
            ledger=Ledger.open(self.config.budget),
            scopes={ROOT: self._new_scope(0.0, 0.0)},
        )

    def step(self, state: GovernorState, observation: Observation) -> tuple[GovernorState, Verdict]:
        """The state after an observation, and the verdict. Raises, and changes nothing, if it cannot be."""
        following, _ = self.observe(state, observation)
        if observation.scope not in following.scopes or following.is_over:
            ended = StopReason(rule=StopRule.PARENT, message="It has ended.")
            return following, Stop(reason=ended)
        return following, self.verdict(following, at_s=observation.at_s, scope=observation.scope)

    def observe(self, state: GovernorState, observation: Observation) -> tuple[GovernorState, Noticed]:
        """The state after an observation, and what was noticed. For drivers, which ask for verdicts apart."""
        if type(observation) not in OF_MORE_SCOPES:
            following = opened(state)
            noticed = self.enter(following, observation)
            return closed(following), noticed
        _require_possible(state, observation)
        if isinstance(observation, ScopeOpened):
            return self._opened(evolve(state, now_s=observation.at_s), observation), NOTHING_NOTICED
        return enter_in_run(state, observation, self.config)

    def enter(self, state: Any, observation: Observation) -> Noticed:
        """The same in place, in a state that is open (see ``transitions``), and only for what concerns one
        scope: the books and counters first, then the detectors, then the policy.

        Raises, and changes nothing, if it cannot be: an entry checks all before it changes anything.
        """
        kind, at_s, scope = type(observation), observation.at_s, observation.scope
        if state.ending is not None or not at_s >= state.now_s:
            _require_possible(state, observation)
        own = state.scopes.get(scope)
        if own is None:
            raise not_open(state, observation)
        if own.__class__ is ScopeState:
            own = state.scopes[scope] = draft(own)
        entry = ENTRIES.get(kind)
        noticed = NOTHING_NOTICED if entry is None else entry(state, own, observation)
        state.now_s = own.last_activity_s = at_s
        watch = own.watch
        if watch.places[kind] is not None:
            own.watch, found = watch.after(observation)
            if found:
                noticed = reported(own, found, noticed, observation, self.config)
        if kind is TurnStarted:
            noticed = self._turn_started(state, noticed, observation)
        elif self._tells_results and isinstance(observation, ToolFinished):
            extend(state, observation, self.view, self.tree)
        return noticed

    def _turn_started(self, state: Any, noticed: Noticed, started: Any) -> Noticed:
        if started.closing is not None or may_warn(state, started.scope):
            noticed = self._warned(state, noticed, started)
        if self._tells_turns:
            extend(state, started, self.view, self.tree)
        return noticed

    def verdict(self, state: GovernorState, *, at_s: float, scope: str = ROOT) -> Verdict:
        """What the governor says of a scope at this moment, with nothing new observed."""
        if self._goes_by_order:
            if is_at_ease(state, scope, self.config, at_s=at_s):
                return GO_ON
            if is_plainly_finished(state, scope):
                return _FINISHED
        now = state if at_s <= state.now_s else evolve(state, now_s=at_s)
        failure = now.scopes[scope].policy_failure
        if failure is not None:
            return Stop(reason=StopReason(rule=StopRule.POLICY_ERROR, message=failure))
        view = self.view(now, scope)
        try:
            goes_on, why = ask(self.tree, view)
        except PolicyError as error:
            return Stop(
                reason=StopReason(rule=StopRule.POLICY_ERROR, message=f"The run's policy failed: {error}")
            )
        met = tuple(rules_met(view))
        if not goes_on:
            return Stop(reason=_policy_reason(why, met))
        enforced = next((reason for reason in met if reason.rule in ENFORCED), None)
        if enforced is not None:
            return Stop(reason=enforced)
        closing = last_turn_limit(view)
        return GO_ON if closing is None else LastTurn(limit=closing)

    def view(self, state: GovernorState, scope: str = ROOT) -> AgentState:
        """How a scope stands, as its decision tree sees it."""
        return agent_state(state, scope, self.config, user=self.user, project=self.project)

    def _opened(self, state: GovernorState, opened: ScopeOpened) -> GovernorState:
        ledger = state.ledger.carve(opened.parent, opened.scope, opened.budget)
        new = self._new_scope(opened.at_s, state.charged_s)
        return evolve(state, scopes={**state.scopes, opened.scope: new}, ledger=ledger)

    def _new_scope(self, at_s: float, charged_s: float) -> ScopeState:
        return ScopeState(
            opened_at_s=at_s,
            opened_charged_s=charged_s,
            last_activity_s=at_s,
            watch=Watch(detectors=self.detectors),
        )

    def _warned(self, state: Any, noticed: Noticed, started: TurnStarted) -> Noticed:
        """Give the warnings that are due at the start of a turn, each once, with a hint to wrap up."""
        due = [
            meter
            for meter in meters(state, started.scope)
            if meter.is_warning_due and (meter.owner, meter.kind) not in state.warned
        ]
        if not due and started.closing is None:
            return noticed
        account = state.ledger.account(started.scope)
        notices: tuple[Notice, ...] = tuple(
            limit_notice(LimitWarned, meter, account, turn=started.turn, message=wording.approaching(meter))
            for meter in due
        )
        hints = [wording.approaching(meter) for meter in due]
        if started.closing is not None:
            hints = [
                wording.last_turn(started.closing, self.config.terminal_tool if started.scope == ROOT else "")
            ]
        state.warned = state.warned | {(meter.owner, meter.kind) for meter in due}
        return Noticed(notices=(*noticed.notices, *notices), hints=(*noticed.hints, *hints))


def _require_possible(state: GovernorState, observation: Observation) -> None:
    if state.ending is not None:
        raise ClosedAccountError(
            f"{type(observation).__name__} was reported after the run had ended",
            to_do="A run has one ending; start a new one",
        )
    if not observation.at_s >= state.now_s:  # also catches NaN
        raise ObservationError(
            f"{type(observation).__name__} is at {observation.at_s} s, the run's clock at {state.now_s} s",
            allowed="times that do not go back",
            to_do="Report what happened in its order, on a monotonic clock",
        )


_FINISHED = Stop(reason=FINISHED)


def _policy_reason(why: str, met: tuple[StopReason, ...]) -> StopReason:
    """The reason a policy stopped for: one of our rules if it names one that is met, else its own words."""
    rule = rule_named(why)
    found = next((reason for reason in met if reason.rule is rule), None)
    if found is not None:
        return found
    return StopReason(rule=StopRule.POLICY, message=f"The run's policy ended it: {why}")
