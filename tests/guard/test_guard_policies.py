"""Policies of others: they can end a run, and can neither break it nor let it run away."""

from __future__ import annotations

from dataclasses import replace

import pytest

import endstop as es
from endstop.errors import PolicyError, UnknownPolicyError
from endstop.kernel import decision
from endstop.kernel.observation import ToolFinished
from endstop.kernel.outcome import StopRule


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setattr(decision, "_registry", {"default": es.DefaultDecisionTree})


def run(policy: str, *, turns: int = 6) -> es.Guard:
    guard = es.Guard(es.Budget(turns=turns), policy=policy)
    while guard.may_continue():
        with guard.turn() as turn:
            turn.said(f"Part {turn.number}.")
            turn.called("search", {"q": "same"})
    return guard


@pytest.mark.guarantee("F3")
def test_a_policy_can_end_a_run_for_reasons_of_its_own() -> None:
    @es.decision_tree("early")
    class Early(es.DefaultDecisionTree):  # pyright: ignore[reportUnusedClass]
        def should_continue(self, state: es.AgentState) -> tuple[bool, str]:
            return (False, "that will do") if state.turn == 2 else super().should_continue(state)

    guard = run("early")
    assert guard.usage.turns == 2
    assert isinstance(guard.outcome, es.Forced)
    assert guard.outcome.reason.rule is StopRule.POLICY
    assert guard.outcome.reason.message == "The run's policy ended it: that will do"
    assert guard.audit().holds


@pytest.mark.guarantee("F3", "E11")
def test_a_policy_that_always_goes_on_cannot_run_away() -> None:
    @es.decision_tree("for ever")
    class ForEver(es.DefaultDecisionTree):  # pyright: ignore[reportUnusedClass]
        def should_continue(self, state: es.AgentState) -> tuple[bool, str]:
            return True, "always"

    guard = run("for ever")
    assert guard.usage.turns == 6
    assert isinstance(guard.outcome, es.Forced)
    assert guard.outcome.reason.rule is StopRule.TURNS


@pytest.mark.guarantee("F3")
@pytest.mark.parametrize("answer", [None, True, (True,), (1, "one"), (False, 3), (True, "a", "b")])
def test_a_policy_that_answers_nonsense_ends_the_run_with_its_work_saved(answer: object) -> None:
    @es.decision_tree("nonsense")
    class Nonsense(es.DefaultDecisionTree):  # pyright: ignore[reportUnusedClass]
        def should_continue(self, state: es.AgentState) -> tuple[bool, str]:
            if state.turn < 1:
                return True, "fine so far"
            return answer  # type: ignore[return-value]

    guard = run("nonsense")
    assert isinstance(guard.outcome, es.Failed)
    assert guard.outcome.code == "policy_error"
    assert "should_continue answered" in guard.outcome.message
    assert guard.outcome.answer == "Part 0."
    assert guard.audit().holds


@pytest.mark.guarantee("F3")
@pytest.mark.parametrize("method", ["should_continue", "on_turn_start", "on_tool_result"])
def test_a_policy_that_raises_ends_the_run_with_its_work_saved(method: str) -> None:
    @es.decision_tree("broken")
    class Broken(es.DefaultDecisionTree):  # pyright: ignore[reportUnusedClass]
        turns = 0

    def fail(self: Broken, state: es.AgentState, *rest: object) -> object:
        if state.turn < 1:
            return (True, "fine so far") if method == "should_continue" else state
        raise RuntimeError("a bug in the policy")

    setattr(Broken, method, fail)
    guard = run("broken")
    assert isinstance(guard.outcome, es.Failed)
    assert f"{method} raised RuntimeError: a bug in the policy" in guard.outcome.message
    assert guard.outcome.answer.startswith("Part 0.")
    assert guard.audit().holds


@pytest.mark.guarantee("F2")
def test_a_policy_keeps_notes_in_extensions_and_they_survive_a_resume() -> None:
    @es.decision_tree("counting")
    class Counting(es.DefaultDecisionTree):  # pyright: ignore[reportUnusedClass]
        def should_continue(self, state: es.AgentState) -> tuple[bool, str]:
            if state.extensions.get("results", 0) == 3:
                return False, "three results"
            return True, "not yet"

        def on_tool_result(self, state: es.AgentState, result: ToolFinished) -> es.AgentState:
            count = state.extensions.get("results", 0)
            assert isinstance(count, int)
            return replace(state, extensions={**state.extensions, "results": count + 1})

    guard = es.Guard(es.Budget(turns=9), policy="counting")
    with guard.turn() as turn:
        turn.called("search", {"q": 1})
        turn.called("search", {"q": 2})
    again = es.Guard.resume(guard.facts)
    assert again.may_continue()
    with again.turn() as turn:
        turn.called("search", {"q": 3})
    assert not again.may_continue()
    assert again.audit().holds


@pytest.mark.guarantee("F2")
def test_a_policy_that_hangs_on_to_its_notes_cannot_change_the_run_behind_its_back() -> None:
    kept: list[dict[str, object]] = []

    @es.decision_tree("sly")
    class Sly(es.DefaultDecisionTree):  # pyright: ignore[reportUnusedClass]
        def on_turn_start(self, state: es.AgentState) -> es.AgentState:
            notes: dict[str, object] = {"turns": [state.turn]}
            kept.append(notes)
            return replace(state, extensions=notes)

        def should_continue(self, state: es.AgentState) -> tuple[bool, str]:
            for notes in kept:
                notes["turns"] = "tampered"
            assert state.extensions.get("turns") != "tampered"
            with pytest.raises(AttributeError):
                state.turn = 0  # type: ignore[misc]
            return super().should_continue(state)

    guard = run("sly")
    assert isinstance(guard.outcome, es.Forced)


@pytest.mark.guarantee("F2", "F3")
@pytest.mark.parametrize("change", [{"turn": 0}, {"extensions": {"x": object()}}, {"extensions": None}])
def test_a_policy_may_change_its_extensions_only_and_only_to_plain_values(change: dict[str, object]) -> None:
    @es.decision_tree("meddling")
    class Meddling(es.DefaultDecisionTree):  # pyright: ignore[reportUnusedClass]
        def on_turn_start(self, state: es.AgentState) -> es.AgentState:
            return replace(state, **change) if state.turn else state  # type: ignore[arg-type]

    guard = run("meddling")
    assert isinstance(guard.outcome, es.Failed)
    assert guard.outcome.code == "policy_error"
    assert guard.outcome.answer


@pytest.mark.guarantee("F1", "F3")
def test_a_policy_is_checked_when_it_is_chosen() -> None:
    @es.decision_tree("half")
    class Half:  # pyright: ignore[reportUnusedClass]
        def should_continue(self, state: es.AgentState) -> tuple[bool, str]:
            return True, ""

    with pytest.raises(PolicyError, match="lacks on_turn_start, on_tool_result, get_config"):
        es.Guard(es.Budget(turns=3), policy="half")
    with pytest.raises(UnknownPolicyError, match="Allowed: default, half"):
        es.Guard(es.Budget(turns=3), policy="hlaf")


@pytest.mark.guarantee("F1")
def test_without_a_budget_the_policy_brings_its_own() -> None:
    @es.decision_tree("own budget")
    class OwnBudget(es.DefaultDecisionTree):  # pyright: ignore[reportUnusedClass]
        def get_config(self) -> es.AgentConfig:
            return es.AgentConfig(budget=es.Budget(turns=2))

    guard = es.Guard(policy="own budget", must_use_tools=True, stop=es.turns(1))
    assert guard.upper_bound.turns == 2
    with guard.turn():
        pass
    assert not guard.may_continue()
    assert isinstance(guard.outcome, es.Stopped)
    assert guard.outcome.reason.rule is StopRule.CONDITION
    assert es.Guard().upper_bound.turns == 30


@pytest.mark.guarantee("F1")
def test_a_policy_that_gets_its_method_when_it_is_made_is_told_all_the_same() -> None:
    told: list[int] = []

    @es.decision_tree("late")
    def make() -> es.DefaultDecisionTree:  # pyright: ignore[reportUnusedFunction]
        tree = es.DefaultDecisionTree()

        def on_turn_start(state: es.AgentState) -> es.AgentState:
            told.append(state.turn)
            return state

        tree.on_turn_start = on_turn_start
        return tree

    run("late", turns=2)
    assert told == [0, 1]
