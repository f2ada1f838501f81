"""From an agent and a question to a run that can be driven; from a record to one that can go on."""

from __future__ import annotations

import os
from collections.abc import Sequence

from endstop.errors import GrantRefusedError, PriceUnknownError, RunStateError
from endstop.events.facts import Fact, ReviewRequested, RunStarted, RunTaken, UserAwaited
from endstop.events.recorder import Recorder, replay
from endstop.events.reviewing import open_request, open_review
from endstop.kernel.budget import Grant, UnknownPrice
from endstop.kernel.ledger import ROOT
from endstop.kernel.limits import LimitKind, words
from endstop.kernel.observation import (
    CallStatus,
    RunEnded,
    RunPaused,
    RunResumed,
    ToolFinished,
    UserSaid,
)
from endstop.kernel.outcome import AwaitingUser, Outcome, StopReason, StopRule, UnderReview
from endstop.kernel.review import Rejected, ReviewDecision, RunPhase
from endstop.loop.agent import Agent
from endstop.loop.elsewhere import handed_out
from endstop.ports import ModelUsage, StoredRun

SOURCE = "runner"


def new_recorder(
    agent: Agent,
    question: str,
    *,
    time: float,
    user: str | None = None,
    project: str | None = None,
    run_id: str | None = None,
) -> Recorder:
    """The record of a run that is about to start. Refuses what could not be held to its budget."""
    words("question", question)
    require_price(agent)
    own = agent.detectors
    started = RunStarted(
        config=agent.config,
        policy=agent.policy,
        user=user,
        project=project,
        question=question,
        detectors=None if own is None else tuple(type(one).__name__ for one in own),
        agent=agent.name,
        model=agent.model.name,
        system=agent.system,
        tools=tuple(tool.spec.name for tool in agent.tools),
        on_limit=agent.on_limit.value,
        max_output_tokens=agent.max_output_tokens,
        own_parts=agent.own_parts,
    )
    run_id = run_id or f"run_{os.urandom(6).hex()}"
    recorder = Recorder(started, run_id=run_id, time=time, source=SOURCE, detectors=own)
    if agent.conducting is not None:
        for note in agent.conducting.opening(run_id, agent.config.budget):
            recorder.note(note, time=time)
    return recorder


def require_price(agent: Agent) -> None:
    """A cost limit and a model whose price nobody knows: refused before anything is spent (A10)."""
    budget = agent.config.budget
    if budget.cost_usd is None or budget.unknown_price is not UnknownPrice.REFUSE:
        return
    if agent.model.cost_usd(ModelUsage(input_tokens=1_000, output_tokens=1_000)) is None:
        raise PriceUnknownError(
            f"Nobody knows what {agent.model.name} costs, so the cost limit could not be kept",
            allowed="a model of known price under a cost limit",
            to_do='Give its price, leave out cost_usd, or set unknown_price="warn" to go on with a warning',
        )


def reopened(facts: Sequence[Fact], agent: Agent | None) -> Recorder:
    """A recorder that stands where a record ends. The record of a run that has ended is refused."""
    recorder = replay(facts, detectors=None if agent is None else agent.detectors)
    if recorder.state.is_over:
        raise RunStateError(
            f"The run {recorder.run_id} has finished: {recorder.state.ending}",
            allowed="runs that are paused, or were left open",
            to_do="A run has one ending. Start a new one; `endstop explain` tells why this one ended",
        )
    return recorder


def taken_over(
    recorder: Recorder, owner: str, *, time: float, lived_s: float = 0.0, agent: Agent | None = None
) -> None:
    """Take a run on: close what its last process left open. Whoever held it before loses it by this.

    ``lived_s`` is how long that process is known to have gone on after its last fact: it counts, too.
    """
    recorder.note(RunTaken(owner=owner), time=time)
    now_s = recorder.state.now_s + lived_s
    if agent is not None:
        _answer_harmless(recorder, agent, at_s=now_s, time=time)
    recorder.close_open(at_s=now_s, time=time)
    if agent is not None and agent.conducting is not None:
        return  # its parts are gone on with
    above = StopReason(rule=StopRule.PARENT, message="The process that ran it has died.")
    kept = {name for scope in handed_out(recorder) for name in _above(recorder, scope)}
    for child in recorder.state.ledger.children(ROOT):
        if child not in kept:  # with a sub-agent in it that runs as a run of its own, and lives on
            recorder.end(above, at_s=now_s, time=time, scope=child)


def _above(recorder: Recorder, scope: str) -> list[str]:
    return [account.id for account in recorder.state.ledger.lineage(scope)]


def lived_on_s(stored: StoredRun, facts: Sequence[Fact]) -> float:
    """How long the process that worked on a run is known to have lived after its last fact."""
    if stored.phase is not RunPhase.RUNNING or stored.beat_at is None:
        return 0.0
    return max(stored.beat_at - facts[-1].time, 0.0)


def _answer_harmless(recorder: Recorder, agent: Agent, *, at_s: float, time: float) -> None:
    """Tell the model of calls that were cut off and can be made again without harm."""
    harmless = {
        tool.spec.name
        for tool in agent.tools
        if tool.traits.is_idempotent or not tool.traits.changes_something
    }
    for called in recorder.open_calls():
        if called.tool in harmless:
            answer = ToolFinished(
                at_s=at_s,
                turn=called.turn,
                call=called.call,
                tool=called.tool,
                key=called.key,
                status=CallStatus.INTERRUPTED,
                result="Interrupted: the process ended while this was under way. It can be called again.",
                is_cursor=called.is_cursor,
            )
            recorder.observe(answer, time=time)


def phase_of(recorder: Recorder) -> RunPhase:
    if recorder.state.is_over:
        return RunPhase.ENDED
    if recorder.state.paused_at_s is None:
        return RunPhase.RUNNING
    return RunPhase.BUDGET_REVIEW if open_review(recorder.facts) is not None else RunPhase.AWAIT_USER


def require_review(recorder: Recorder) -> ReviewRequested:
    """The review that waits to be decided, and the part of the run it is about."""
    waiting = open_request(recorder.facts)
    if waiting is None:
        raise RunStateError(
            f"No review of {recorder.run_id} waits to be decided",
            allowed="runs in BUDGET_REVIEW; this one is " + phase_of(recorder).value,
            to_do="It may have been decided already: `endstop show` tells",
        )
    return waiting


def require_sensible(recorder: Recorder, scope: str, decision: ReviewDecision) -> None:
    """A grant of what has no limit, or past the cap, is a slip of the pen, and costs nobody the run."""
    if isinstance(decision, Rejected):
        return
    limits = recorder.state.ledger.account(scope).budget.limits
    beside = [kind.value for kind in _GRANTED if _amount(decision.grant, kind) and kind not in limits]
    if beside:
        raise GrantRefusedError(
            f"The run {recorder.run_id} has no limit on {', '.join(beside)} to add to",
            allowed=", ".join(kind.value for kind in _GRANTED if kind in limits),
            to_do="Grant more of what its budget limits; the review still waits",
        )
    recorder.state.ledger.grant(scope, decision.grant)  # raises if it is past the cap; entered only later


def _amount(grant: Grant, kind: LimitKind) -> object:
    return getattr(grant, kind.value)


_GRANTED = (
    LimitKind.TURNS,
    LimitKind.MODEL_CALLS,
    LimitKind.TOKENS,
    LimitKind.COST_USD,
    LimitKind.SECONDS,
)


def outcome_of(facts: Sequence[Fact]) -> Outcome | None:
    """How a run stands by its record: its ending, what it waits for, or None while it is under way."""
    payload = facts[-1].payload if facts else None
    if isinstance(payload, RunEnded):
        return payload.outcome
    is_paused = False
    for fact in facts:
        if isinstance(fact.payload, RunPaused | RunResumed):
            is_paused = isinstance(fact.payload, RunPaused)
    if not is_paused:
        return None
    review = open_review(facts)
    return AwaitingUser(question=asked_last(facts)) if review is None else UnderReview(review=review)


def asked_last(facts: Sequence[Fact]) -> str:
    """What the user was asked last, answered or not: at its limit, an agent waits with nothing new to ask."""
    asked = last_awaited(facts)
    return "" if asked is None else asked.question


def last_awaited(facts: Sequence[Fact]) -> UserAwaited | None:
    """The last time that the user was asked something, and which part of the run did."""
    for fact in reversed(facts):
        if isinstance(fact.payload, UserAwaited):
            return fact.payload
    return None


def last_question(facts: Sequence[Fact]) -> str:
    """What the user was asked last, and has not answered."""
    question = ""
    for fact in facts:
        if isinstance(fact.payload, UserAwaited):
            question = fact.payload.question
        elif isinstance(fact.payload, UserSaid):
            question = ""
    return question
