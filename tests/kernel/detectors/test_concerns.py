"""What a detector says it does not care about leaves it as it is: so it need not be shown it."""

from __future__ import annotations

import pytest

from endstop.events.facts import OBSERVATIONS
from endstop.kernel.amounts import NOTHING
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.detectors import Action, Detector, Seen, standard_detectors
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import (
    AgentFinished,
    AssistantSaid,
    BudgetGranted,
    CallReserved,
    CallSettled,
    CallUnaffordable,
    CancelRequested,
    ChildSettled,
    ContextMeasured,
    IterationEnded,
    ReplyRepeated,
    RunEnded,
    RunPaused,
    RunResumed,
    ScopeEnded,
    ScopeOpened,
    SignalGiven,
    ToolFinished,
    TurnEnded,
    TurnStarted,
    UserSaid,
    tool_called,
)
from endstop.kernel.outcome import Completed
from endstop.testing import ObservationScript, call, watch

FINISHED = ToolFinished(at_s=99, turn=9, call="1", tool="read", key="k", result="r")
ONE_OF_EACH: list[Seen] = [
    FINISHED,
    Action(finished=FINISHED, what="read()"),
    tool_called(at_s=99, turn=9, call="1", tool="read", arguments={}),
    AgentFinished(at_s=99),
    AssistantSaid(at_s=99, turn=9, text="hm"),
    BudgetGranted(at_s=99, grant=Grant(turns=1, by="me", why="more")),
    CallReserved(at_s=99, turn=9, reservation="r", amounts=NOTHING),
    CallSettled(at_s=99, turn=9, reservation="r", is_estimate=True),
    CallUnaffordable(at_s=99, limit=LimitKind.TOKENS),
    CancelRequested(at_s=99, by="me"),
    ChildSettled(at_s=99, reservation="child", is_estimate=True),
    ContextMeasured(at_s=99, tokens=1),
    IterationEnded(at_s=99, iteration=1),
    ReplyRepeated(at_s=99, turn=9, chunk="again", times=10),
    RunEnded(at_s=99, outcome=Completed(answer="")),
    RunPaused(at_s=99),
    RunResumed(at_s=99),
    ScopeEnded(at_s=99, outcome=Completed(answer="")),
    ScopeOpened(at_s=99, budget=Budget(turns=1)),
    SignalGiven(at_s=99, turn=9, type="need_turn", confidence=1, reason="more"),
    TurnEnded(at_s=99, turn=9),
    TurnStarted(at_s=99, turn=9),
    UserSaid(at_s=99),
]
DETECTORS = standard_detectors(must_use_tools=True)


def test_there_is_one_of_each_kind_of_observation() -> None:
    assert {type(seen) for seen in ONE_OF_EACH} - {Action} == set(OBSERVATIONS)


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda detector: type(detector).__name__)
def test_what_does_not_concern_a_detector_leaves_it_as_it_is(detector: Detector) -> None:
    script = ObservationScript()
    script.turn(call("read", {}, ok=False), text="a", signal_reason="more").turn(text="b")
    busy, _ = watch(detector, script)
    for seen in ONE_OF_EACH:
        if type(seen) not in getattr(detector, "CONCERNS", ()):
            for one in (detector, busy):
                assert one.observe(seen) == (one, None)


def test_every_standard_detector_says_what_concerns_it() -> None:
    assert all(getattr(detector, "CONCERNS", ()) for detector in DETECTORS)
