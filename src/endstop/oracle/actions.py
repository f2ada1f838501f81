"""What a tree can have done. Each asks the governor, takes a step of the turn, or writes a fact."""

from __future__ import annotations

import logging

from endstop.events.steered import QueryClassified
from endstop.kernel.verdict import Stop
from endstop.oracle.query import QueryType, classify
from endstop.oracle.registry import LEAVES, board_of, services_of
from endstop.tree.leaves import LeafContext, LeafCost
from endstop.tree.spec import KeyType, PlainValue

_log = logging.getLogger("endstop.oracle")

_STATE = {
    "is_done": KeyType.BOOLEAN,
    "forced": KeyType.BOOLEAN,
    "stop_reason": KeyType.STRING,
    "warned": KeyType.BOOLEAN,
    "response": KeyType.STRING,
    "signal_type": KeyType.STRING,
    "signal_confidence": KeyType.NUMBER,
    "signal_reason": KeyType.STRING,
    "same_reason_count": KeyType.INTEGER,
    "turns_without_signal": KeyType.INTEGER,
    "tool_errors": KeyType.INTEGER,
    "fallback_action": KeyType.STRING,
    "fallback_hint": KeyType.STRING,
    "sources": KeyType.LIST,
}
_CLEARED: dict[str, PlainValue] = {
    "is_done": False,
    "forced": False,
    "warned": False,
    "tool_errors": 0,
    "sources": [],
}
_SIGNAL = {
    "signal_type": KeyType.STRING,
    "signal_confidence": KeyType.NUMBER,
    "signal_reason": KeyType.STRING,
}

# ── before the first turn ─────────────────────────────────────────────────────────────────────────────────


@LEAVES.action("state.reset_state", writes=_STATE)
def reset_state(leaf: LeafContext) -> None:
    """Begin with an empty state. What the run has spent and said is not in it: that is never reset."""
    board = board_of(leaf)
    for key in _STATE:
        board.set(key, _CLEARED.get(key))


@LEAVES.action("query.analyze_query", writes={"query": KeyType.STRING, "query_type": KeyType.STRING})
def analyze_query(leaf: LeafContext) -> None:
    """Say what sort of question it is (E8)."""
    board, run = board_of(leaf), services_of(leaf)
    classified = classify(run.question)
    board.set("query", run.question)
    board.set("query_type", classified.type.value)
    if run.turns.taken == 0:  # else it is in the record already
        run.turns.journal.note(
            QueryClassified(
                query_type=classified.type.value, confidence=classified.confidence, why=classified.why
            )
        )


@LEAVES.action("context.load_context", writes={"messages_before": KeyType.INTEGER, "project": KeyType.STRING})
def load_context(leaf: LeafContext) -> None:
    """Say what there is to go by: what the conversation has brought so far, and which project it is about."""
    board, run = board_of(leaf), services_of(leaf)
    board.set("messages_before", len(run.turns.before))
    board.set("project", run.parts.project)


# ── a turn ────────────────────────────────────────────────────────────────────────────────────────────────


@LEAVES.action("messages.build_llm_request")
def build_llm_request(leaf: LeafContext) -> None:
    """Compose the prompt for this sort of question, and choose the tools it is offered (E9)."""
    board, run = board_of(leaf), services_of(leaf)
    kind = QueryType(_text(board.get("query_type")) or QueryType.CODE.value)
    run.prepare(kind)


@LEAVES.action("turn.take_turn", cost=LeafCost(turns=1))
async def take_turn(leaf: LeafContext) -> bool:
    """Ask the model. Fails if the governor allows no turn, nothing pays for it, or the call failed."""
    return await services_of(leaf).take_turn()


@LEAVES.action("turn.end_turn")
def end_turn(leaf: LeafContext) -> None:
    """End the turn. What is missing in its reply (cut off, empty) is told to the model."""
    turns = services_of(leaf).turns
    if turns.is_under_way and not turns.is_finished:
        turns.judge()
    turns.end()


@LEAVES.action("tools.run_tools", writes={"tool_errors": KeyType.INTEGER}, cost=LeafCost(runs_tools=True))
async def run_tools(leaf: LeafContext) -> None:
    """Run the tool calls of the reply. Each gets exactly one result (D9)."""
    run = services_of(leaf)
    if run.turns.reply is None or not run.turns.is_under_way:
        return
    await run.turns.answer()
    run.tools_were_run()
    board_of(leaf).set("tool_errors", sum(message.is_error for message in run.turns.results))


# ── the signal of a reply ─────────────────────────────────────────────────────────────────────────────────


@LEAVES.action("signals.parse_response_signal", writes=_SIGNAL)
def parse_response_signal(leaf: LeafContext) -> None:
    """Put the signal of the reply on the blackboard; nothing, if it has none."""
    board, signal = board_of(leaf), services_of(leaf).signal
    board.set("signal_type", None if signal is None else signal.type.value)
    board.set("signal_confidence", None if signal is None else signal.confidence)
    board.set("signal_reason", None if signal is None else signal.reason)


@LEAVES.action(
    "signals.update_signal_state",
    writes={"same_reason_count": KeyType.INTEGER, "turns_without_signal": KeyType.INTEGER},
)
def update_signal_state(leaf: LeafContext) -> None:
    """Put on the blackboard what the signals so far add up to (C5)."""
    board, state = board_of(leaf), services_of(leaf).turns.signals
    board.set("same_reason_count", state.same_reason.count)
    board.set("turns_without_signal", state.turns_without_signal)


@LEAVES.action("signals.log_signal")
def log_signal(leaf: LeafContext) -> None:
    """Write the signal to the log. In the run's record it stands already (C8)."""
    run = services_of(leaf)
    signal = run.signal
    if signal is not None:
        _log.info(
            "%s turn %d: %s (%.2f) %s",
            run.turns.journal.run_id,
            run.turns.taken,
            signal.type.value,
            signal.confidence,
            signal.reason or "",
        )


@LEAVES.action("signals.strip_signal_from_response", writes={"response": KeyType.STRING})
def strip_signal_from_response(leaf: LeafContext) -> None:
    """Put the reply on the blackboard as people see it: without any part of a signal (C3)."""
    reply = services_of(leaf).turns.reply
    board_of(leaf).set("response", "" if reply is None else reply.text)


# ── limits ────────────────────────────────────────────────────────────────────────────────────────────────


@LEAVES.action("budget.emit_budget_warning", writes={"warned": KeyType.BOOLEAN})
def emit_budget_warning(leaf: LeafContext) -> None:
    """Say on the blackboard that a limit is near. The governor warns with the turn that begins, once (A2)."""
    board_of(leaf).set("warned", True)


@LEAVES.action("budget.emit_budget_exceeded", writes={"stop_reason": KeyType.STRING})
def emit_budget_exceeded(leaf: LeafContext) -> None:
    """Say on the blackboard why the run must stop. The record says it with the ending."""
    verdict = services_of(leaf).verdict()
    board_of(leaf).set("stop_reason", verdict.reason.message if isinstance(verdict, Stop) else None)


@LEAVES.action("budget.force_completion", writes={"forced": KeyType.BOOLEAN, "is_done": KeyType.BOOLEAN})
def force_completion(leaf: LeafContext, *, why: str = "The tree that steers it ended it.") -> None:
    """End the run with everything gathered (A5). If the governor has a reason, it is that one."""
    board, run = board_of(leaf), services_of(leaf)
    board.set("forced", True)
    board.set("is_done", True)
    run.turns.end()
    if not run.must_stop:
        run.turns.finished(run.gathered, caveat=why)


# ── the end ───────────────────────────────────────────────────────────────────────────────────────────────


@LEAVES.action("run.leave_loop", writes={"is_done": KeyType.BOOLEAN})
def leave_loop(leaf: LeafContext) -> None:
    """Take no further turn: go to the end."""
    board_of(leaf).set("is_done", True)


@LEAVES.action("conversation.save_conversation")
async def save_conversation(leaf: LeafContext) -> None:
    """See that everything so far is safe in the store."""
    turns = services_of(leaf).turns
    turns.end()
    await turns.journal.flush()


@LEAVES.action("sources.emit_sources", writes={"sources": KeyType.LIST})
def emit_sources(leaf: LeafContext) -> None:
    """Put on the blackboard where the answer comes from. Each source stands in the record already."""
    board_of(leaf).set("sources", list(services_of(leaf).sources[:100]))


@LEAVES.action("run.emit_done", writes={"is_done": KeyType.BOOLEAN})
def emit_done(leaf: LeafContext) -> None:
    """Say that the tree is through. The run ends by the governor's word, and with one ending."""
    run = services_of(leaf)
    run.turns.end()
    board_of(leaf).set("is_done", True)
    _log.info("%s: done after %d turns", run.turns.journal.run_id, run.turns.taken)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
