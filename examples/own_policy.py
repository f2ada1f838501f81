"""A policy of one's own: stop when half the money is gone and nothing was found, and ignore one kind of loop.

Run it: python examples/own_policy.py

A policy can end a run earlier than the default, or go on in spite of a finding. It cannot go past a limit.
"""

from dataclasses import replace

import endstop as es
from endstop.kernel.observation import ToolFinished


@es.decision_tree("frugal")
class Frugal(es.DefaultDecisionTree):
    """Gives up at half the money if no search has found anything."""

    def should_continue(self, state: es.AgentState) -> tuple[bool, str]:
        is_fruitless = not state.extensions.get("found")
        if is_fruitless and state.percent.get("cost_usd", 0) >= 50:
            return False, "half the money is gone and nothing was found"
        return super().should_continue(state)

    def on_tool_result(self, state: es.AgentState, result: ToolFinished) -> es.AgentState:
        if "found nothing" in result.result:
            return state
        return replace(state, extensions={**state.extensions, "found": True})


guard = es.Guard(es.Budget(turns=30, cost_usd="0.10"), policy="frugal")
while guard.may_continue():
    with guard.turn() as turn:
        turn.spent(input_tokens=800, output_tokens=100, cost_usd="0.012")
        turn.called("search", {"query": f"attempt {turn.number}"}, result="found nothing")

print(guard.explain())
