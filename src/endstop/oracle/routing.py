"""What follows from how an agent says it stands (C6), and from its not saying it (C7)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from endstop.errors import EndstopError
from endstop.events.steered import CapabilityMissing, FallbackChosen
from endstop.kernel.budget import Budget
from endstop.kernel.limits import LimitKind
from endstop.kernel.outcome import Completed, Forced
from endstop.kernel.texts import shortened
from endstop.oracle.fallback import FallbackAction, Situation
from endstop.oracle.prompting import compose
from endstop.oracle.query import QueryType
from endstop.oracle.registry import LEAVES, board_of, services_of
from endstop.oracle.services import OracleServices
from endstop.signals import Signal, SignalType
from endstop.tree.leaves import LeafContext, LeafCost
from endstop.tree.spec import KeyType

_ANSWER_NOW = "Answer now with what you have, in full and without tools. Say what is missing."
_MOST_TOLD = 8_000
_DONE = {"is_done": KeyType.BOOLEAN}


@LEAVES.action("answer.accept_answer", writes=_DONE)
def accept_answer(leaf: LeafContext) -> bool:
    """Take the reply as the answer, with the caveat that its signal makes. Fails if it is none."""
    run = services_of(leaf)
    reply = run.turns.reply
    if reply is None or reply.calls or not reply.is_whole or not reply.text.strip():
        return False
    run.turns.finished(reply.text.strip(), caveat=caveat_of(reply.signal))
    board_of(leaf).set("is_done", True)
    return True


@LEAVES.action("answer.force_response", writes=_DONE, cost=LeafCost(turns=1))
async def force_response(leaf: LeafContext) -> bool:
    """Have an answer now: what the agent wrote, or, if it wrote none, what it says in one more turn without
    tools. Where there is no such turn, what was gathered is the answer."""
    if accept_answer(leaf):
        return True
    run = services_of(leaf)
    caveat = caveat_of(run.signal) or "The agent was told to answer with what it had."
    run.turns.end()
    run.turns.tell(_ANSWER_NOW)
    has_replied = await run.take_turn(offers_tools=False)
    written = run.turns.reply.text.strip() if has_replied and run.turns.reply is not None else ""
    run.turns.end()
    if not run.must_stop:
        run.turns.finished(written or run.gathered, caveat=caveat)
    board_of(leaf).set("is_done", True)
    return True


@LEAVES.action("capability.record_gap")
def record_gap(leaf: LeafContext) -> None:
    """Put on record what the agent would have needed and does not have."""
    run, signal = services_of(leaf), services_of(leaf).signal
    if signal is None or signal.type is not SignalType.NEED_CAPABILITY:
        return
    run.turns.journal.note(
        CapabilityMissing(
            scope=run.turns.scope,
            turn=max(run.turns.taken - 1, 0),
            capability=_field(signal, "capability") or "something it did not name",
            reason=_field(signal, "reason"),
            workaround=_field(signal, "workaround"),
        )
    )


@LEAVES.action("delegation.delegate", cost=LeafCost(turns=1))
async def delegate(leaf: LeafContext) -> bool:
    """Have a sub-agent do what the agent recommends, on a part of what is left, and tell what it found."""
    run, signal = services_of(leaf), services_of(leaf).signal
    if signal is None or signal.type is not SignalType.DELEGATION_RECOMMENDED:
        return False
    task = _field(signal, "scope") or _field(signal, "reason")
    budget = _part_of_what_is_left(run, signal)
    if not task or budget is None:
        return False
    run.turns.end()
    agent = replace(
        run.turns.agent,
        name=_name(_field(signal, "subagent_type")),
        steering=None,
        system=compose(
            QueryType.RESEARCH, tools=run.turns.tools, project=run.parts.project, files=run.parts.prompts
        ),
    )
    try:
        outcome = await run.turns.run_child(agent, task, budget=budget)
    except EndstopError as error:
        run.turns.tell(f"What you wanted to delegate could not be: {error}")
        return False
    found = outcome.answer if isinstance(outcome, Completed | Forced) else ""
    run.turns.tell(
        f"You had this done by a sub-agent: {task}\nIt {outcome}. It found:\n"
        f"{shortened(found, _MOST_TOLD) or 'nothing.'}"
    )
    return True


@LEAVES.action(
    "fallback.trigger_fallback",
    writes={"fallback_action": KeyType.STRING, "fallback_hint": KeyType.STRING},
)
async def trigger_fallback(leaf: LeafContext) -> None:
    """Have a classifier choose: ``continue``, ``force_response``, ``retry_with_hint`` or ``escalate``."""
    board, run = board_of(leaf), services_of(leaf)
    situation, choose = situation_of(run), run.parts.choose
    takes_time = run.parts.chooser_takes_time
    choice = await asyncio.to_thread(choose, situation) if takes_time else choose(situation)
    run.fallbacks += 1
    run.turns.journal.note(
        FallbackChosen(
            scope=run.turns.scope,
            turn=max(run.turns.taken - 1, 0),
            action=choice.action.value,
            why=choice.why,
            by=choice.by,
        )
    )
    board.set("fallback_action", choice.action.value)
    board.set("fallback_hint", choice.hint)
    if choice.action is FallbackAction.RETRY_WITH_HINT and choice.hint:
        run.turns.end()
        run.turns.tell(choice.hint)


@LEAVES.action("user.escalate", writes=_DONE)
def escalate(leaf: LeafContext) -> None:
    """Ask the user. The run waits for the answer, and its clock stands still meanwhile."""
    run = services_of(leaf)
    said = run.turns.reply.text.strip() if run.turns.reply is not None else ""
    blocker = "" if run.signal is None else _field(run.signal, "blocker")
    run.turns.end()
    run.turns.question_to_user = said or blocker or "I cannot go on by myself. What should I do?"
    board_of(leaf).set("is_done", True)


def situation_of(run: OracleServices) -> Situation:
    """How the agent stands, for whoever chooses the fallback."""
    turns = run.turns
    reply = turns.reply
    return Situation(
        question=run.question,
        text="" if reply is None else reply.text,
        signal=run.signal,
        turns_without_signal=turns.signals.turns_without_signal,
        turns_left=run.turns_left,
        tool_calls_last_turn=0 if reply is None else len(reply.calls),
        tool_errors_in_a_row=run.tool_errors_in_a_row,
        has_sources=bool(run.sources),
        fallbacks_before=run.fallbacks,
    )


def caveat_of(signal: Signal | None) -> str:
    """What the agent itself says is wanting in its answer."""
    match signal:
        case Signal(type=SignalType.PARTIAL_ANSWER):
            missing, caveat = _field(signal, "missing"), _field(signal, "caveat")
            return " ".join(
                filter(None, ("A partial answer.", caveat, f"Missing: {missing}." if missing else ""))
            )
        case Signal(type=SignalType.STUCK):
            blocker = _field(signal, "blocker")
            return f"The agent was stuck: {blocker}" if blocker else "The agent was stuck."
        case Signal(type=SignalType.NEED_CAPABILITY):
            return f"The agent would have needed: {_field(signal, 'capability') or 'something it lacks'}"
        case _:
            return ""


def _part_of_what_is_left(run: OracleServices, signal: Signal) -> Budget | None:
    """Half of the turns and tokens that are left, at most; less, if the agent thinks less is enough."""
    view = run.turns.view
    turns, tokens = view.meter(LimitKind.TURNS), view.meter(LimitKind.TOKENS)
    turns_left = 10 if turns is None else int(turns.remaining) // 2
    if turns_left < 1:
        return None
    tokens_left = None if tokens is None else int(tokens.remaining) // 2
    asked = signal.fields.get("estimated_tokens")
    if isinstance(asked, int) and asked > 0:
        tokens_left = asked if tokens_left is None else min(asked, tokens_left)
    if tokens_left is not None and tokens_left < 1:
        return None
    above = run.turns.agent.config.budget
    return Budget(
        turns=turns_left,
        tokens=tokens_left,
        tool_calls_per_turn=above.tool_calls_per_turn,
        parallel_tools=above.parallel_tools,
    )


def _field(signal: Signal, name: str) -> str:
    value = signal.fields.get(name)
    if isinstance(value, tuple):
        return "; ".join(str(one) for one in value)
    return "" if value is None else str(value).strip()


def _name(wanted: str) -> str:
    kept = "".join(char if char.isalnum() else "-" for char in wanted.lower()).strip("-")[:40]
    return kept or "researcher"
