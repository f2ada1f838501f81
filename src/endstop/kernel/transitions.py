"""The state after an observation: first the books and counters, then the detectors, then the policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from endstop.errors import ClosedAccountError, InvalidValueError, PolicyError
from endstop.kernel import wording
from endstop.kernel.agent import AgentConfig, AgentState
from endstop.kernel.decision import DecisionTree, told
from endstop.kernel.entries import ENTRIES, no_entry
from endstop.kernel.evolve import draft, evolve
from endstop.kernel.finding import Finding, Response
from endstop.kernel.frozen import frozen_json
from endstop.kernel.observation import Observation, ToolFinished, TurnStarted
from endstop.kernel.run_entries import RUN_ENTRIES
from endstop.kernel.state import GovernorState, ScopeState
from endstop.kernel.verdict import FindingReported, Noticed

_MOST_FINDINGS = 20


def apply(
    state: GovernorState, observation: Observation, config: AgentConfig
) -> tuple[GovernorState, Noticed]:
    """Enter an observation: the books, the counters, the detectors."""
    scope = observation.scope
    if scope not in state.scopes:
        raise ClosedAccountError(
            f"{type(observation).__name__} was reported for {scope!r}, which is not open",
            allowed=", ".join(state.scopes),
            to_do="A scope that has ended takes no more; open a new one",
        )
    if type(observation) in RUN_ENTRIES:
        return _applied_to_run(state, observation, config)
    following, own = draft(state), draft(state.scopes[scope])
    following.now_s = own.last_activity_s = observation.at_s
    noticed = ENTRIES.get(type(observation), no_entry)(following, own, observation)
    own.watch, found = own.watch.after(observation)
    if found:
        noticed = _reported(own, found, noticed, observation, config)
    own.__class__ = ScopeState
    following.scopes = {**state.scopes, scope: own}
    following.__class__ = GovernorState
    return following, noticed


def _applied_to_run(
    state: GovernorState, observation: Observation, config: AgentConfig
) -> tuple[GovernorState, Noticed]:
    """Enter what concerns more than one scope. It is no activity of the scope it is told in, unless one of
    its detectors makes something of it."""
    scope = observation.scope
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
        noticed = _reported(own, found, noticed, observation, config)
    own.__class__ = ScopeState
    return evolve(entered, scopes={**entered.scopes, scope: own}), noticed


def _reported(
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


def extended(
    state: GovernorState,
    observation: TurnStarted | ToolFinished,
    view: Callable[[GovernorState, str], AgentState],
    tree: DecisionTree,
) -> GovernorState:
    """Tell the decision tree what it asked to be told, and keep its extensions."""
    before = view(state, observation.scope)
    try:
        if isinstance(observation, ToolFinished):
            after = told("on_tool_result", before, lambda: tree.on_tool_result(before, observation))
        else:
            after = told("on_turn_start", before, lambda: tree.on_turn_start(before))
        if after is before:
            return state
        extensions = frozen_json("extensions", after.extensions)
    except (PolicyError, InvalidValueError) as error:
        return _with_scope(state, observation, policy_failure=f"The run's policy failed: {error}")
    return _with_scope(state, observation, extensions=extensions)


def _with_scope(state: GovernorState, observation: Observation, **changes: object) -> GovernorState:
    """The state with the observation's scope changed."""
    scope = evolve(state.scopes[observation.scope], **changes)
    return evolve(state, scopes={**state.scopes, observation.scope: scope})
