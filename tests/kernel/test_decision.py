"""Decision trees: a protocol checked at runtime, a registry, and answers that are never trusted."""

from dataclasses import replace
from typing import Any, cast

import pytest

from endstop.errors import EndstopError, PolicyError, UnknownPolicyError, brief
from endstop.kernel import decision
from endstop.kernel.agent import AgentConfig, AgentState
from endstop.kernel.budget import Budget
from endstop.kernel.decision import (
    Decision,
    DecisionTree,
    DefaultDecisionTree,
    ask,
    decision_tree,
    make_decision_tree,
    rule_named,
    told,
)
from endstop.kernel.finding import Finding, Pattern
from endstop.kernel.limits import LimitKind, Meter
from endstop.kernel.observation import ToolFinished
from endstop.kernel.outcome import StopRule

METHODS = ("should_continue", "on_turn_start", "on_tool_result", "get_config")
STATE = AgentState(user="ada", turn=3, extensions={"mine": 1})
RESULT = ToolFinished(at_s=0.0, turn=0, call="1.1", tool="read", key="k")


class Cautious(DefaultDecisionTree):
    """A policy of somebody else's, which keeps something in itself."""

    def __init__(self) -> None:
        self.asked = 0

    def should_continue(self, state: AgentState) -> Decision:
        self.asked += 1
        if state.percent.get(LimitKind.COST_USD, 0) > 50:
            return False, "half the money is gone"
        return super().should_continue(state)


class Unshowable:
    """Nonsense that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no words for it")


class Answering(DefaultDecisionTree):
    """Answers with whatever it was given, or raises it."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def should_continue(self, state: AgentState) -> Decision:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only ours is known; what a test registers is forgotten after it."""
    monkeypatch.setattr(decision, "_registry", {"default": DefaultDecisionTree})


@pytest.mark.guarantee("F1")
def test_the_default_tree_fulfils_the_protocol() -> None:
    assert isinstance(DefaultDecisionTree(), DecisionTree)


@pytest.mark.guarantee("F1")
def test_a_class_that_derives_from_nothing_fulfils_the_protocol_by_its_methods() -> None:
    @decision_tree("plain")
    class Plain:
        def should_continue(self, state: AgentState) -> Decision:
            return state.turn < 2, "two turns are enough"

        def on_turn_start(self, state: AgentState) -> AgentState:
            return state

        def on_tool_result(self, state: AgentState, result: ToolFinished) -> AgentState:
            return state

        def get_config(self) -> AgentConfig:
            return AgentConfig(budget=Budget(turns=2))

    assert isinstance(Plain(), DecisionTree)
    assert ask(make_decision_tree("plain"), STATE) == (False, "two turns are enough")


@pytest.mark.guarantee("F1")
@pytest.mark.parametrize("missing", METHODS)
@pytest.mark.parametrize("instead", ["absent", "not callable"])
def test_a_tree_without_one_of_the_four_methods_is_refused_by_its_name(missing: str, instead: str) -> None:
    methods: dict[str, Any] = {name: lambda *_: None for name in METHODS if name != missing}  # pyright: ignore[reportUnknownLambdaType]
    if instead == "not callable":
        methods[missing] = "a word"
    incomplete = type("Incomplete", (), methods)
    decision_tree("incomplete")(incomplete)
    with pytest.raises(PolicyError) as caught:
        make_decision_tree("incomplete")
    assert str(caught.value) == (
        f"The decision tree 'incomplete' lacks {missing}. "
        "Allowed: an object with should_continue, on_turn_start, on_tool_result, get_config. "
        "Derive from DefaultDecisionTree to get what you do not write yourself."
    )


@pytest.mark.guarantee("F1")
def test_all_missing_methods_are_named_at_once() -> None:
    decision_tree("empty")(object)
    with pytest.raises(
        PolicyError, match=r"lacks should_continue, on_turn_start, on_tool_result, get_config\."
    ):
        make_decision_tree("empty")


@pytest.mark.guarantee("F3")
def test_the_default_tree_goes_on_changes_nothing_and_brings_the_default_configuration() -> None:
    tree = make_decision_tree("default")
    assert tree.should_continue(STATE) == (True, "nothing speaks against it")
    assert tree.on_turn_start(STATE) is STATE
    assert tree.on_tool_result(STATE, RESULT) is STATE
    assert tree.get_config() == AgentConfig()


@pytest.mark.guarantee("A12", "F3")
def test_the_default_tree_stops_with_the_name_of_the_winning_rule() -> None:
    looping = Finding(pattern=Pattern.CYCLE, message="Round and round.", advice="Stop.", times=3)
    full = Meter(kind=LimitKind.TURNS, used=5, maximum=5)
    state = replace(STATE, meters=(full,), findings=(looping,))
    assert DefaultDecisionTree().should_continue(state) == (False, StopRule.TURNS)


@pytest.mark.guarantee("F3")
def test_a_registered_tree_is_chosen_by_its_name_and_stays_the_class_it_was() -> None:
    registered = decision_tree("cautious")(Cautious)
    assert registered is Cautious
    assert isinstance(make_decision_tree("cautious"), Cautious)


@pytest.mark.guarantee("F3")
def test_a_function_that_makes_a_tree_can_be_registered() -> None:
    @decision_tree("made")
    def make() -> DecisionTree:
        return Answering((True, "made to order"))

    assert make_decision_tree("made").should_continue(STATE) == (True, "made to order")
    assert isinstance(make(), Answering)


@pytest.mark.guarantee("F3")
def test_every_run_gets_a_tree_of_its_own() -> None:
    decision_tree("cautious")(Cautious)
    first, second = make_decision_tree("cautious"), make_decision_tree("cautious")
    ask(first, STATE)
    assert isinstance(first, Cautious)
    assert isinstance(second, Cautious)
    assert (first.asked, second.asked) == (1, 0)


@pytest.mark.guarantee("F3")
@pytest.mark.parametrize("name", ["default", "cautious", ""])
def test_a_name_that_is_taken_or_empty_cannot_be_registered(name: str) -> None:
    decision_tree("cautious")(Cautious)
    with pytest.raises(PolicyError) as caught:
        decision_tree(name)
    assert str(caught.value) == (
        f"A decision tree cannot be registered as {name!r}. "
        "Allowed: a name that is not taken: cautious, default are. Choose another name."
    )
    assert isinstance(make_decision_tree("default"), DefaultDecisionTree)


@pytest.mark.guarantee("F3")
def test_a_name_cannot_be_registered_twice_through_one_decorator() -> None:
    register = decision_tree("cautious")
    register(Cautious)
    with pytest.raises(PolicyError, match="'cautious'"):
        register(DefaultDecisionTree)
    assert isinstance(make_decision_tree("cautious"), Cautious)


@pytest.mark.guarantee("F3")
@pytest.mark.parametrize("name", [Cautious, None, 7])
def test_a_name_that_is_no_text_is_refused(name: Any) -> None:
    with pytest.raises(PolicyError, match="cannot be registered as"):
        decision_tree(name)


@pytest.mark.guarantee("F3")
def test_an_unknown_tree_is_refused_with_those_that_are_known() -> None:
    decision_tree("cautious")(Cautious)
    with pytest.raises(UnknownPolicyError) as caught:
        make_decision_tree("bold")
    assert str(caught.value) == (
        "There is no decision tree 'bold'. Allowed: cautious, default. "
        'Register it with @decision_tree("bold"), or choose one of these.'
    )
    assert isinstance(caught.value, PolicyError)


@pytest.mark.guarantee("F3")
def test_what_one_test_registered_is_unknown_to_the_next() -> None:
    with pytest.raises(UnknownPolicyError, match=r"Allowed: default\."):
        make_decision_tree("cautious")


@pytest.mark.guarantee("F3")
def test_a_tree_that_cannot_be_made_says_why() -> None:
    @decision_tree("broken")
    def broken() -> DecisionTree:
        raise ValueError("no such file")

    with pytest.raises(PolicyError) as caught:
        make_decision_tree("broken")
    assert str(caught.value) == (
        "The decision tree 'broken' could not be made: ValueError: no such file. "
        "It is made without arguments; give its parameters defaults."
    )
    assert isinstance(caught.value.__cause__, ValueError)
    assert broken is not None


@pytest.mark.guarantee("F3")
def test_a_tree_that_needs_arguments_says_so() -> None:
    decision_tree("demanding")(cast("Any", Answering))
    with pytest.raises(PolicyError, match=r"could not be made: TypeError.*made without arguments"):
        make_decision_tree("demanding")


@pytest.mark.guarantee("F1")
@pytest.mark.parametrize("answer", [(True, "why not"), (False, "enough"), (False, StopRule.TURNS)])
def test_a_decision_is_passed_on_as_it_is(answer: Decision) -> None:
    assert ask(Answering(answer), STATE) == answer


NONSENSE = [
    None,
    True,
    False,
    "stop",
    (),
    (True,),
    (True, "why", "and more"),
    (True, None),
    (False, 7),
    (1, "one is not true"),
    ("False", "text is not false"),
    (None, "perhaps"),
    (False, " "),
    {True: "why"},
    AgentState(),
]


@pytest.mark.guarantee("F1", "F3")
@pytest.mark.parametrize("answer", NONSENSE)
def test_an_answer_that_is_no_decision_is_refused_and_shown(answer: object) -> None:
    with pytest.raises(PolicyError) as caught:
        ask(Answering(answer), STATE)
    assert caught.value.what == f"should_continue answered {brief(answer)}"
    assert caught.value.allowed == "(True or False, a reason in words)"


@pytest.mark.guarantee("F3")
@pytest.mark.parametrize(
    "error", [RuntimeError("out of ideas"), KeyError("plan"), RecursionError("too deep")]
)
def test_a_policy_that_raises_is_refused_with_what_it_raised(error: Exception) -> None:
    with pytest.raises(PolicyError) as caught:
        ask(Answering(error), STATE)
    assert caught.value.what == f"should_continue raised {type(error).__name__}: {error}"
    assert caught.value.__cause__ is error
    assert caught.value.code == "policy_failed"


@pytest.mark.guarantee("F3")
def test_an_interruption_is_not_taken_for_a_policy_that_failed() -> None:
    with pytest.raises(KeyboardInterrupt):
        ask(Answering(KeyboardInterrupt()), STATE)


@pytest.mark.guarantee("F3")
def test_an_answer_that_cannot_be_shown_is_refused_all_the_same() -> None:
    with pytest.raises(PolicyError, match="Unshowable"):
        ask(Answering(Unshowable()), STATE)
    with pytest.raises(PolicyError, match="Unshowable"):
        told("on_turn_start", STATE, Unshowable)


@pytest.mark.guarantee("F3")
def test_an_error_that_cannot_be_shown_is_refused_all_the_same() -> None:
    class WordlessError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words for it")

    with pytest.raises(PolicyError, match="WordlessError"):
        ask(Answering(WordlessError()), STATE)


@pytest.mark.guarantee("F2")
def test_a_tree_may_change_its_extensions() -> None:
    after = told("on_turn_start", STATE, lambda: replace(STATE, extensions={"mine": 2}))
    assert after.extensions == {"mine": 2}
    assert replace(after, extensions=STATE.extensions) == STATE


@pytest.mark.guarantee("F2")
def test_a_tree_may_leave_the_state_as_it_is_or_return_an_equal_one() -> None:
    assert told("on_turn_start", STATE, lambda: STATE) is STATE
    assert told("on_turn_start", STATE, lambda: replace(STATE)) == STATE


CORE_CHANGES: dict[str, Any] = {
    "user": "eve",
    "project": "other",
    "turn": 0,
    "start_time_s": 9.0,
    "recent_actions": ("read",),
    "termination_reason": StopRule.FINISHED,
    "config": AgentConfig(budget=Budget(turns=1_000)),
    "meters": (Meter(kind=LimitKind.TURNS, used=0, maximum=1),),
    "is_cancelled": True,
    "is_finished": True,
    "closing": LimitKind.TURNS,
}


@pytest.mark.guarantee("F2", "F3")
@pytest.mark.parametrize("field", CORE_CHANGES)
def test_a_tree_that_changes_anything_else_is_refused_by_the_name_of_the_field(field: str) -> None:
    changed = replace(STATE, **{field: CORE_CHANGES[field]}, extensions={"mine": 2})
    with pytest.raises(PolicyError) as caught:
        told("on_turn_start", STATE, lambda: changed)
    assert str(caught.value) == (
        f"on_turn_start changed {field}. Allowed: a change of extensions only. "
        "Use dataclasses.replace(state, extensions={...})."
    )


@pytest.mark.guarantee("F2")
def test_all_changed_fields_are_named_at_once() -> None:
    with pytest.raises(PolicyError, match=r"on_tool_result changed user, turn\."):
        told("on_tool_result", STATE, lambda: replace(STATE, turn=0, user="eve"))


@pytest.mark.guarantee("F3")
@pytest.mark.parametrize("answer", [None, True, {"turn": 3}, (True, "why"), AgentState])
def test_what_is_no_state_is_refused_and_shown(answer: object) -> None:
    with pytest.raises(PolicyError) as caught:
        told("on_tool_result", STATE, lambda: answer)
    assert caught.value.what == f"on_tool_result answered {answer!r:.80}"
    assert caught.value.allowed == "an AgentState"


@pytest.mark.guarantee("F3")
def test_a_tree_that_raises_when_told_something_is_refused_with_what_it_raised() -> None:
    def tell() -> object:
        raise ZeroDivisionError("division by zero")

    with pytest.raises(PolicyError, match=r"^on_turn_start raised ZeroDivisionError: division by zero\."):
        told("on_turn_start", STATE, tell)


@pytest.mark.guarantee("F3", "I7")
@pytest.mark.parametrize("answer", [None, RuntimeError("out of ideas")], ids=["nonsense", "raises"])
def test_the_error_of_a_policy_says_what_to_do(answer: object) -> None:
    def tell() -> object:
        if isinstance(answer, Exception):
            raise answer
        return answer

    errors: list[EndstopError] = []
    for attempt in (lambda: ask(Answering(answer), STATE), lambda: told("on_turn_start", STATE, tell)):
        with pytest.raises(PolicyError) as caught:
            attempt()
        errors.append(caught.value)
    assert all(error.to_do for error in errors)


@pytest.mark.parametrize("rule", StopRule)
def test_a_rule_of_ours_is_known_by_its_name(rule: StopRule) -> None:
    assert rule_named(rule.value) is rule


@pytest.mark.parametrize("reason", ["", "half the money is gone", "TURNS", "turns "])
def test_any_other_reason_names_no_rule(reason: str) -> None:
    assert rule_named(reason) is None
