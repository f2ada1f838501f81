"""The leaves one by one: what each condition says of a run, and that none raises where there is none."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import pytest
from oracle_words import PARTS, of, signal

from endstop.events.recorder import Recorder
from endstop.events.steered import CapabilityMissing
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import AgentFinished, CancelRequested, TurnEnded, TurnStarted
from endstop.kernel.outcome import Outcome
from endstop.loop.agent import Agent
from endstop.loop.asking import Reply
from endstop.loop.bounded import Overseer
from endstop.loop.journal import Journal
from endstop.loop.turns import Turns
from endstop.oracle.leaves import LEAVES
from endstop.oracle.routing import caveat_of
from endstop.oracle.services import OracleServices
from endstop.oracle.steering import TreeSteering, counts_of
from endstop.ports import ToolRequest
from endstop.runner.opening import new_recorder
from endstop.signals import Signal, SignalType, parse_reply
from endstop.testing import FakeClock, ScriptedModel
from endstop.tree.blackboard import Blackboard
from endstop.tree.leaves import LeafContext
from endstop.tree.spec import KeySpec, NodeSpec, TreeSpec

CONDITIONS = sorted(leaf.name for leaf in LEAVES if not leaf.is_action)
REQUIRED = {"signals.signal_type_is": {"type": "stuck"}, "reply.is_longer_than": {"chars": 5}}


async def no_child(*_: object, **__: object) -> Outcome:
    raise AssertionError("nobody asked for a child")


def standing(
    *, used: int = 0, budget: Budget | None = None, said: str | None = None, calls: int = 0
) -> OracleServices:
    """A run that has used so many turns, and whose model said this last."""
    budget = budget or Budget(turns=10)
    steering = TreeSteering(
        tree=TreeSpec(name="none", root=NodeSpec(kind="sequence", name="none")), leaves=LEAVES, parts=PARTS
    )
    agent = Agent(model=ScriptedModel("x"), config=AgentConfig(budget=budget), steering=steering)
    recorder: Recorder = new_recorder(agent, "Where?", time=0.0)
    journal = Journal(recorder, clock=FakeClock())
    for turn in range(used):
        closing = LimitKind.TURNS if turn + 1 == budget.turns else None
        journal.enter(TurnStarted(at_s=0.0, turn=turn, closing=closing))
        journal.enter(TurnEnded(at_s=0.0, turn=turn))
    turns = Turns(journal, agent, Overseer(), run_child=no_child)
    if said is not None:
        parsed = parse_reply(said)
        wanted = [ToolRequest(id=str(n), tool="echo", arguments="{}") for n in range(calls)]
        turns.reply = Reply(text=parsed.text, calls=wanted, signal=parsed.signal, is_whole=True)
        turns.signals = turns.signals.after_turn(parsed.signal)
    return OracleServices(turns, PARTS)


def holds(name: str, run: OracleServices | None, **arguments: Any) -> bool:
    leaf = LEAVES.get(name)
    assert leaf is not None
    return leaf.function(LeafContext(blackboard=Blackboard(), services=run), **arguments)


async def do(name: str, run: OracleServices, **arguments: Any) -> Blackboard:
    """Do an action; the blackboard it wrote on."""
    leaf = LEAVES.get(name)
    assert leaf is not None
    types = {key: kind for one in LEAVES for key, kind in one.writes.items()}
    board = Blackboard([KeySpec(name=key, type=kind) for key, kind in types.items()])
    answer = leaf.function(LeafContext(blackboard=board, services=run), **arguments)
    if isinstance(answer, Awaitable):
        await answer
    return board


@pytest.mark.guarantee("E2")
@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize("board", [None, Blackboard()], ids=["no blackboard", "no run"])
def test_a_condition_with_nothing_to_ask_fails_and_never_raises(name: str, board: Blackboard | None) -> None:
    leaf = LEAVES.get(name)
    assert leaf is not None
    assert leaf.function(LeafContext(blackboard=board), **REQUIRED.get(name, {})) is False


@pytest.mark.parametrize("name", sorted(leaf.name for leaf in LEAVES))
def test_every_leaf_says_what_it_does(name: str) -> None:
    leaf = LEAVES.get(name)
    assert leaf is not None
    assert leaf.doc.endswith(".") or leaf.doc.endswith(")")


@pytest.mark.guarantee("A3")
@pytest.mark.parametrize(
    ("used", "remain", "at_limit", "over"),
    [(0, True, False, False), (28, True, False, False), (29, True, True, False), (30, False, False, True)],
)
def test_the_arithmetic_of_turns(used: int, remain: bool, at_limit: bool, over: bool) -> None:
    run = standing(used=used, budget=Budget(turns=30))
    assert holds("budget.turns_remaining", run) is remain
    assert holds("budget.is_at_budget_limit", run) is at_limit
    assert holds("budget.is_over_budget", run) is over
    assert holds("run.must_stop", run) is over


@pytest.mark.guarantee("A2")
@pytest.mark.parametrize(("used", "due"), [(6, False), (7, True), (9, True)])
def test_a_warning_is_due_from_seventy_percent(used: int, due: bool) -> None:
    assert holds("budget.is_warning_due", standing(used=used)) is due


def test_without_a_limit_on_turns_there_always_are_some() -> None:
    assert holds("budget.turns_remaining", standing(used=50, budget=Budget(tokens=1_000)), at_least=1_000)


@pytest.mark.guarantee("C6")
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("signals.has_signal", {}, True),
        ("signals.check_signal", {}, True),
        ("signals.check_signal", {"type": "need_turn"}, True),
        ("signals.check_signal", {"type": "need_turn", "confidence": 0.7}, False),
        ("signals.check_signal", {"type": "stuck"}, False),
        ("signals.signal_type_is", {"type": "need_turn"}, True),
        ("signals.signal_type_is", {"type": "stuck"}, False),
        ("signals.signal_confidence_above", {}, True),
        ("signals.signal_confidence_above", {"threshold": 0.6}, True),
        ("signals.signal_confidence_above", {"threshold": 0.61}, False),
        ("signals.wants_another_turn", {}, True),
        ("signals.consecutive_same_reason_gte", {"count": 1}, True),
        ("signals.consecutive_same_reason_gte", {"count": 2}, False),
        ("signals.has_repeated_signal", {}, False),
        ("fallback.needs_fallback", {}, False),
        ("tools.no_tool_calls", {}, True),
        ("tools.has_tool_calls", {}, False),
        ("tools.has_failed", {}, False),
        ("reply.has_text", {}, True),
        ("run.is_finished", {}, False),
        ("run.has_failed", {}, False),
        ("run.is_stuck_loop", {}, False),
        ("budget.is_out_of_time", {}, False),
    ],
)
def test_what_is_said_of_a_reply_that_needs_a_turn(
    name: str, arguments: dict[str, Any], expected: bool
) -> None:
    run = standing(said="Looking. " + signal("need_turn", 0.6, reason="more"))
    assert holds(name, run, **arguments) is expected


@pytest.mark.parametrize(("confidence", "wants"), [(0.49, False), (0.5, True), (1.0, True)])
def test_another_turn_is_wanted_from_half_confidence(confidence: float, wants: bool) -> None:
    run = standing(said=signal("need_turn", confidence, reason="more"))
    assert holds("signals.wants_another_turn", run) is wants


def test_tool_calls_are_seen() -> None:
    run = standing(said="Looking.", calls=2)
    assert holds("tools.has_tool_calls", run)
    assert not holds("tools.no_tool_calls", run)


def test_cancelling_and_finishing_are_seen() -> None:
    run = standing()
    run.turns.journal.enter(AgentFinished(at_s=0.0, answer="x"))
    assert holds("run.is_finished", run)
    run.turns.journal.enter(CancelRequested(at_s=0.0, by="me"))
    assert holds("run.is_cancelled", run)


async def test_the_signal_and_the_text_of_a_reply_are_put_on_the_blackboard() -> None:
    run = standing(said="Looking. " + signal("need_turn", 0.6, reason="more"))
    board = await do("signals.parse_response_signal", run)
    assert [board.get(key) for key in ("signal_type", "signal_confidence", "signal_reason")] == [
        "need_turn",
        0.6,
        "more",
    ]
    board = await do("signals.strip_signal_from_response", run)
    assert str(board.get("response")).strip() == "Looking."
    board = await do("signals.update_signal_state", run)
    assert (board.get("same_reason_count"), board.get("turns_without_signal")) == (1, 0)


async def test_what_is_missing_is_recorded_only_when_the_agent_says_so() -> None:
    run = standing(said="x" + signal("need_capability", 0.6, workaround="ask"))
    await do("capability.record_gap", run)
    await do("capability.record_gap", standing(said="x"))
    [gap] = of(run.turns.journal.recorder.facts, CapabilityMissing)
    assert (gap.capability, gap.workaround) == ("something it did not name", "ask")


async def test_an_answer_is_accepted_only_if_it_is_one() -> None:
    for run in (standing(), standing(said=""), standing(said="Looking.", calls=1)):
        await do("answer.accept_answer", run)
        assert not run.turns.is_finished
    run = standing(said="In pond.py.")
    board = await do("answer.accept_answer", run)
    assert run.turns.is_finished
    assert board.get("is_done") is True


async def test_forcing_without_a_limit_completes_with_a_warning_that_says_why() -> None:
    run = standing()
    await do("budget.force_completion", run, why="Enough.")
    assert run.turns.is_finished
    assert run.turns.journal.recorder.state.scopes["run"].caveat == "Enough."


async def test_nothing_is_delegated_without_a_turn_to_give_away() -> None:
    wish = "x" + signal("delegation_recommended", 0.9, scope="Read all.")
    run = standing(used=9, said=wish)
    await do("delegation.delegate", run)
    assert run.turns.taken == 9


@pytest.mark.parametrize(
    ("given", "caveat"),
    [
        (None, ""),
        (Signal(type=SignalType.CONTEXT_SUFFICIENT), ""),
        (Signal(type=SignalType.STUCK), "The agent was stuck."),
        (Signal(type=SignalType.STUCK, fields={"blocker": "a wall"}), "The agent was stuck: a wall"),
        (Signal(type=SignalType.PARTIAL_ANSWER), "A partial answer."),
        (
            Signal(type=SignalType.PARTIAL_ANSWER, fields={"missing": ("a", "b"), "caveat": "Old."}),
            "A partial answer. Old. Missing: a; b.",
        ),
        (Signal(type=SignalType.NEED_CAPABILITY), "The agent would have needed: something it lacks"),
    ],
)
def test_what_an_agent_says_is_wanting(given: Signal | None, caveat: str) -> None:
    assert caveat_of(given) == caveat


def test_a_tree_may_name_the_counts_of_the_budget() -> None:
    assert counts_of(Budget(turns=7, tool_calls_per_turn=4, parallel_tools=2)) == {
        "max_turns": 7,
        "max_tool_calls_per_turn": 4,
        "max_parallel_tools": 2,
    }
