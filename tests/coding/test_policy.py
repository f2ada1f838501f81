"""The policy of coding sessions: its defaults, its bounds, and rules that cannot both hold (G6)."""

from __future__ import annotations

import pickle
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.coding.policy import (
    DEFAULT_POLICY,
    ROLES,
    TOOLS,
    CommandRules,
    Permission,
    Policy,
    PriceRules,
    ReviewedBy,
    ReviewRules,
    SessionRules,
    values_of,
)
from endstop.coding.policy_file import policy_of, policy_text
from endstop.coding.policy_keys import POLICY_KEYS, POLICY_SECTIONS, policy_with
from endstop.coding.policy_problems import PolicyProblem, PolicyRefusedError
from endstop.coding.policy_values import Choice, Money, Number, Text, Texts, Whole
from endstop.errors import InvalidValueError

BOUNDED = [key for key in POLICY_KEYS.values() if isinstance(key.kind, Whole | Number | Money)]


def problems_of(values: dict[str, Any]) -> list[str]:
    with pytest.raises(PolicyRefusedError) as refused:
        policy_with(values)
    return [str(problem) for problem in refused.value.problems]


@pytest.mark.guarantee("G6")
def test_a_session_has_thirty_minutes_fifty_calls_ten_dollars_and_half_a_million_tokens() -> None:
    budget = Policy().budget()
    assert (budget.seconds, budget.model_calls, budget.cost_usd, budget.tokens) == (
        1_800,
        50,
        Decimal(10),
        500_000,
    )


@pytest.mark.guarantee("G6")
def test_the_budget_is_what_the_policy_says() -> None:
    rules = SessionRules(minutes=1.5, model_calls=7, cost_usd=Decimal("2.50"), tokens=9_000)
    budget = Policy(session=rules).budget()
    assert (budget.seconds, budget.model_calls, budget.cost_usd, budget.tokens) == (
        90,
        7,
        Decimal("2.50"),
        9_000,
    )


@pytest.mark.guarantee("G1", "G2", "G3", "G4", "G5")
@pytest.mark.parametrize(
    ("key", "default"),
    [
        ("interview.is_on", True),
        ("interview.soft", 8),
        ("interview.hard", 10),
        ("specify.attempts", 3),
        ("price.auto_proceed_under_usd", Decimal(1)),
        ("price.reject_over_usd", Decimal(5)),
        ("price.contingency", 1.5),
        ("price.cycles", 2),
        ("plan.seconds", 30.0),
        ("plan.most_tasks", 20),
        ("build.rounds", 3),
        ("build.turns", 8),
        ("critic.most_issues", 10),
        ("reflexion.passes", 2),
        ("reflexion.least_lines", 10),
        ("reflexion.least_saving", 0.05),
        ("convergence.rounds", 3),
        ("convergence.lines", 10),
        ("tests.command", None),
        ("commands.network", False),
        ("commands.allow", None),
        ("tools.run_command", "allow"),
        ("review.by", "person"),
        ("models.builder", None),
    ],
)
def test_the_figures_that_hold_unless_somebody_says_otherwise(key: str, default: object) -> None:
    assert values_of(DEFAULT_POLICY)[key] == default


def test_every_key_is_a_value_of_a_policy_and_says_what_it_means() -> None:
    assert list(values_of(DEFAULT_POLICY)) == list(POLICY_KEYS)
    assert values_of(DEFAULT_POLICY) == {name: key.default for name, key in POLICY_KEYS.items()}
    assert all(key.meaning.endswith(".") and key.kind.allowed for key in POLICY_KEYS.values())
    assert {key.section for key in POLICY_KEYS.values()} == set(POLICY_SECTIONS)


@pytest.mark.guarantee("G6")
@pytest.mark.parametrize("key", BOUNDED, ids=lambda key: key.name)
def test_every_number_is_taken_at_its_bounds_and_refused_past_them(key: Any) -> None:
    step = key.kind.smallest * 0 + 1
    for edge in (key.kind.smallest, key.kind.largest):
        assert key.kind.read(key.name, edge) == edge
    for past in (
        key.kind.smallest - step,
        key.kind.largest + step,
        float("nan"),
        float("inf"),
        True,
        "x",
        None,
    ):
        with pytest.raises(InvalidValueError) as refused:
            key.kind.read(key.name, past)
        assert key.name in refused.value.what
        assert refused.value.allowed


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("interview.is_on", "yes"),
        ("interview.is_on", 1),
        ("tests.command", ""),
        ("tests.command", " pytest"),
        ("tests.command", "two\nlines"),
        ("tests.command", "x" * 2_001),
        ("tests.command", 7),
        ("commands.allow", "pytest"),
        ("commands.allow", ["pytest -q"]),
        ("commands.allow", ["a;b"]),
        ("commands.allow", [7]),
        ("commands.allow", ["x"] * 101),
        ("commands.readable", None),
        ("commands.readable", ["data"]),
        ("commands.readable", ["/data/../etc"]),
        ("forbidden.paths", ["/etc/passwd"]),
        ("forbidden.paths", ["../x"]),
        ("forbidden.paths", ["~/x"]),
        ("forbidden.contents", ["("]),
        ("forbidden.contents", ["(?P<a>x)(?P<a>y)"]),
        ("tools.run_command", "maybe"),
        ("tools.run_command", ["allow"]),
        ("tools.run_command", None),
        ("review.by", "nobody"),
        ("models.builder", "claude"),
        ("models.builder", ":model"),
        ("models.builder", "provider:"),
        ("session.cost_usd", "much"),
        ("session.cost_usd", True),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_does(key: str, value: object) -> None:
    with pytest.raises(PolicyRefusedError) as refused:
        policy_with({key: value})
    (problem,) = refused.value.problems
    assert problem.key == key
    assert problem.allowed


@pytest.mark.parametrize(
    ("key", "given", "held"),
    [
        ("session.minutes", 45, 45.0),
        ("session.cost_usd", "2.50", Decimal("2.50")),
        ("session.cost_usd", 2.1, Decimal("2.1")),
        ("tests.command", "make test", "make test"),
        ("commands.allow", ["pytest", "make"], ("pytest", "make")),
        ("commands.allow", [], ()),
        ("commands.readable", ["/data", "~/models"], ("/data", "~/models")),
        ("tools.run_command", "deny", Permission.DENY),
        ("review.by", "agent", ReviewedBy.AGENT),
        ("models.builder", "extractive", "extractive"),
        ("models.builder", "local:/path/to/file.gguf", "local:/path/to/file.gguf"),
    ],
)
def test_what_makes_sense_is_held_in_one_form(key: str, given: object, held: object) -> None:
    value = values_of(policy_with({key: given}))[key]
    assert value == held
    assert type(value) is type(held)


@pytest.mark.guarantee("G6")
@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {"price.auto_proceed_under_usd": 4, "price.reject_over_usd": 3},
            "price.auto_proceed_under_usd is $4.00, which is more than price.reject_over_usd: $3.00",
        ),
        (
            {"session.cost_usd": "0.50"},
            "price.auto_proceed_under_usd is $1.00, which is more than session.cost_usd: $0.50",
        ),
        ({"interview.soft": 11}, "interview.soft is 11, which is more than interview.hard: 10"),
        (
            {"plan.seconds": 61, "session.minutes": 1},
            "plan.seconds is 61, which is more than session.minutes: 1",
        ),
        (
            {"tools.write_file": "deny", "tools.edit_file": "deny", "tools.run_command": "deny"},
            "are all denied, so that nothing can be built",
        ),
    ],
)
def test_rules_that_cannot_both_hold_are_refused(values: dict[str, Any], words: str) -> None:
    (problem,) = problems_of(values)
    assert words in problem


@pytest.mark.parametrize(
    "values",
    [
        {"price.auto_proceed_under_usd": 5},
        {"price.auto_proceed_under_usd": 1, "session.cost_usd": 1},
        {"interview.soft": 10},
        {"plan.seconds": 60, "session.minutes": 1},
        {"tools.write_file": "deny", "tools.edit_file": "deny"},
    ],
)
def test_rules_that_just_agree_are_taken(values: dict[str, Any]) -> None:
    held = values_of(policy_with(values))
    assert {key: held[key] for key in values} == values


def test_all_problems_are_told_at_once_and_nothing_that_follows_from_them() -> None:
    problems = problems_of(
        {"session.minuts": 3, "session.cost_usd": 0, "critic.turns": 0, "interview.soft": 20}
    )
    assert problems == [
        "There is no key session.minuts. Did you mean session.minutes?",
        'session.cost_usd is 0. Allowed: dollars from 0.01 to 1,000, such as "0.50".',
        "critic.turns is 0. Allowed: a whole number from 1 to 50.",
        "interview.soft is 20, which is more than interview.hard: 10. Lower the first or raise the second.",
    ]


def test_a_key_that_resembles_none_is_told_which_there_are() -> None:
    (problem,) = problems_of({"zzz.qqq": 3})
    assert "Allowed: session.minutes, session.model_calls," in problem


def test_a_section_made_in_code_is_checked_too() -> None:
    with pytest.raises(InvalidValueError, match=r"session\.minutes is 0"):
        SessionRules(minutes=0)
    with pytest.raises(InvalidValueError, match=r"one of commands\.allow is 'a b'"):
        CommandRules(allow=("a b",))
    with pytest.raises(PolicyRefusedError, match=r"price\.auto_proceed_under_usd is \$3\.00"):
        Policy(price=PriceRules(auto_proceed_under_usd=Decimal(3), reject_over_usd=Decimal(2)))


def test_entries_for_tools_and_models_made_in_code_are_checked_too() -> None:
    with pytest.raises(PolicyRefusedError) as refused:
        Policy(tools={"run_comand": Permission.DENY, "run_tests": "no"})  # type: ignore[dict-item]
    assert [problem.key for problem in refused.value.problems] == ["tools.run_comand", "tools.run_tests"]
    assert refused.value.problems[0].to_do == "Did you mean tools.run_command?"
    with pytest.raises(PolicyRefusedError, match=r"models\.critc"):
        Policy(models={"critc": "a:b"})
    with pytest.raises(InvalidValueError, match="tools is 7"):
        Policy(tools=7)  # type: ignore[arg-type]


def test_tools_that_are_not_named_are_allowed_and_roles_without_a_model_are_not_there() -> None:
    policy = Policy(tools={"run_command": Permission.DENY}, models={"builder": "a:b"})
    assert [tool for tool in TOOLS if policy.tools[tool] is Permission.DENY] == ["run_command"]
    assert dict(policy.models) == {"builder": "a:b"}
    assert set(policy.tools) == set(TOOLS)
    assert [key.own_name for key in POLICY_KEYS.values() if key.section == "models"] == list(ROLES)


def test_a_policy_cannot_be_changed_behind_a_sessions_back() -> None:
    given = {"builder": "a:b"}
    policy = Policy(models=given)
    given["builder"] = "c:d"
    assert policy.models["builder"] == "a:b"
    with pytest.raises(TypeError):
        policy.tools["run_command"] = Permission.DENY  # type: ignore[index]


def test_a_policy_and_what_is_wrong_with_one_cross_a_process() -> None:
    policy = Policy(models={"builder": "a:b"}, review=ReviewRules(by=ReviewedBy.AGENT))
    assert pickle.loads(pickle.dumps(policy)) == policy
    with pytest.raises(PolicyRefusedError) as refused:
        policy_with({"critic.turns": 0})
    again = pickle.loads(pickle.dumps(refused.value))
    assert (str(again), again.problems) == (str(refused.value), refused.value.problems)


def _values(kind: Any) -> st.SearchStrategy[Any]:
    match kind:
        case Whole():
            return st.integers(kind.smallest, kind.largest)
        case Number():
            return st.floats(kind.smallest, kind.largest)
        case Money():
            return st.decimals(kind.smallest, kind.largest, places=4)
        case Choice():
            return st.sampled_from(list(kind.words))
        case Text():
            return st.none() | st.sampled_from(["provider:model", "extractive"])
        case Texts():
            return (
                st.lists(st.sampled_from(["abc", "x-1"]), max_size=3).map(tuple)
                if kind.is_good("abc")
                else st.just(())
            )
        case _:
            return st.booleans()


POLICIES = st.fixed_dictionaries({}, optional={name: _values(key.kind) for name, key in POLICY_KEYS.items()})


def came_of(values: dict[str, Any]) -> Policy | tuple[PolicyProblem, ...]:
    try:
        return policy_with(values)
    except PolicyRefusedError as refused:
        return refused.problems


@given(POLICIES)
def test_a_policy_read_from_its_own_text_is_the_same(values: dict[str, Any]) -> None:
    policy = came_of(values)
    if isinstance(policy, Policy):
        assert policy_of(policy_text(policy)) == policy
    else:
        assert all("more than" in problem.what or "all denied" in problem.what for problem in policy)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*POLICY_KEYS, "nonsense"]), JSON, max_size=6))
def test_whatever_stands_behind_a_key_ends_in_a_policy_or_in_words(values: dict[str, Any]) -> None:
    policy = came_of(values)
    if isinstance(policy, Policy):
        assert policy.budget().seconds == policy.session.minutes * 60
    else:
        assert all(problem.what and problem.key for problem in policy)
