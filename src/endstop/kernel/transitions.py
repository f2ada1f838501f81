"""States that are open to be written to in place, and what is entered into a state beside the books."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from endstop.errors import ClosedAccountError, InvalidValueError, PolicyError
from endstop.kernel import wording
from endstop.kernel.agent import AgentConfig, AgentState
from endstop.kernel.decision import DecisionTree, told
from endstop.kernel.evolve import draft, evolve
from endstop.kernel.finding import Finding, Response
from endstop.kernel.frozen import frozen_json
from endstop.kernel.observation import Observation, ScopeOpened, ToolFinished, TurnStarted
from endstop.kernel.open_ledger import OpenLedger, open_ledger
from endstop.kernel.run_entries import RUN_ENTRIES
from endstop.kernel.state import GovernorState, ScopeState
from endstop.kernel.verdict import FindingReported, Noticed

_MOST_FINDINGS = 20


OF_MORE_SCOPES = frozenset({ScopeOpened, *RUN_ENTRIES})
"""The observations that change more than the scope they are made in. All others can be entered in place."""


def opened(state: GovernorState) -> Any:
    """A copy of the state that ``enter`` changes in place. Its scopes are opened as they are needed."""
    copy = draft(state)
    copy.ledger = open_ledger(state.ledger)
    copy.scopes = dict(state.scopes)
    return copy


def closed(state: Any) -> GovernorState:
    """The state as a value. It has taken no copy: ``state`` is open no longer."""
    for own in state.scopes.values():
        if own.__class__ is not ScopeState:
            own.__class__ = ScopeState
    if isinstance(state.ledger, OpenLedger):
        state.ledger.closed()
    state.__class__ = GovernorState
    return state


def not_open(state: GovernorState, observation: Observation) -> ClosedAccountError:
    return ClosedAccountError(
        f"{type(observation).__name__} was reported for {observation.scope!r}, which is not open",
        allowed=", ".join(state.scopes),
        to_do="A scope that has ended takes no more; open a new one",
    )


def enter_in_run(
    state: GovernorState, observation: Observation, config: AgentConfig
) -> tuple[GovernorState, Noticed]:
    """Enter what concerns more than one scope. It is no activity of the scope it is told in, unless one of
    its detectors makes something of it."""
    scope = observation.scope
    if scope not in state.scopes:
        raise not_open(state, observation)
    entered, noticed = RUN_ENTRIES[type(observation)](evolve(state, now_s=observation.at_s), observation)
    if scope not in entered.scopes:
        return entered, noticed
    own = draft(entered.scopes[scope])
    before = own.watch
    own.watch, found = before.after(observation)
    if own.watch is before and not found:
        return entered, noticed
    own.last_activity_s = observation.at_s
    if found:
        noticed = reported(own, found, noticed, observation, config)
    own.__class__ = ScopeState
    return evolve(entered, scopes={**entered.scopes, scope: own}), noticed


def reported(
    own: Any, found: tuple[Finding, ...], noticed: Noticed, observation: Observation, config: AgentConfig
) -> Noticed:
    """Keep in a scope what its detectors found, and report it."""
    turn = max(own.turns_started - 1, 0)
    reports = tuple(
        FindingReported(scope=observation.scope, finding=one, response=config.response(one), turn=turn)
        for one in found
    )
    nudges = [
        f"{wording.sentence(report.finding.message)} {report.finding.advice or wording.TRY_OTHERWISE}"
        for report in reports
        if report.response is Response.NUDGE
    ]
    own.findings = (*own.findings, *found)[-_MOST_FINDINGS:]
    own.pending_hints = (*own.pending_hints, *nudges)[-_MOST_FINDINGS:]
    return Noticed(notices=(*noticed.notices, *reports), hints=noticed.hints)


def extend(
    state: Any,
    observation: TurnStarted | ToolFinished,
    view: Callable[[GovernorState, str], AgentState],
    tree: DecisionTree,
) -> None:
    """Tell the decision tree what it asked to be told, and keep its extensions in the open state."""
    before = view(state, observation.scope)
    own = state.scopes[observation.scope]
    try:
        if isinstance(observation, ToolFinished):
            after = told("on_tool_result", before, lambda: tree.on_tool_result(before, observation))
        else:
            after = told("on_turn_start", before, lambda: tree.on_turn_start(before))
        if after is not before:
            own.extensions = frozen_json("extensions", after.extensions)
    except (PolicyError, InvalidValueError) as error:
        own.policy_failure = f"The run's policy failed: {error}"
