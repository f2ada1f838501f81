"""How an agent stands by its signals, folded from its record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from endstop.events.facts import Fact
from endstop.kernel.ledger import ROOT
from endstop.kernel.observation import SignalGiven, TurnEnded
from endstop.signals import Signal, SignalState, SignalType
from endstop.signals.contract import FieldValue


def signal_state_of(facts: Iterable[Fact], scope: str = ROOT) -> SignalState:
    """What the signals of all turns that have ended add up to (C5)."""
    state = SignalState()
    given: Signal | None = None
    for fact in facts:
        match fact.payload:
            case SignalGiven(scope=where) as one if where == scope:
                given = given or _signal(one)
            case TurnEnded(scope=where) if where == scope:
                state, given = state.after_turn(given), None
            case _:
                pass
    return state


def _signal(given: SignalGiven) -> Signal:
    fields = cast("dict[str, FieldValue]", dict(given.fields))
    return Signal(type=SignalType(given.type), confidence=given.confidence, fields=fields)
