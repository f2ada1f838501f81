"""Which rule ends a run when several are met at once: every rule, every pair of rules, and all of them."""

from collections.abc import Iterable
from decimal import Decimal
from itertools import combinations

import pytest

from endstop.kernel.agent import AgentConfig, AgentState
from endstop.kernel.budget import Budget
from endstop.kernel.conditions import idle
from endstop.kernel.decision import DefaultDecisionTree
from endstop.kernel.finding import Finding, Pattern, Response
from endstop.kernel.governor import Governor
from endstop.kernel.limits import LimitKind, Meter, Number
from endstop.kernel.observation import ScopeOpened
from endstop.kernel.order import ENFORCED, last_turn_limit, rule_of_finding, rules_met
from endstop.kernel.outcome import StopRule

FULL: dict[StopRule, Meter] = {
    StopRule.TURNS: Meter(kind=LimitKind.TURNS, used=30, maximum=30, finish=1),
    StopRule.MODEL_CALLS: Meter(kind=LimitKind.MODEL_CALLS, used=50, maximum=50, finish=1),
    StopRule.TOKENS: Meter(kind=LimitKind.TOKENS, used=1_000, maximum=1_000, finish=50),
    StopRule.COST: Meter(kind=LimitKind.COST_USD, used=Decimal("0.5"), maximum=Decimal("0.5")),
    StopRule.CONTEXT: Meter(kind=LimitKind.CONTEXT_TOKENS, used=900, maximum=800),
    StopRule.TIME: Meter(kind=LimitKind.SECONDS, used=61.0, maximum=60.0, finish=3.0),
}

EMPTY = tuple(
    Meter(kind=meter.kind, used=0, maximum=meter.maximum, finish=meter.finish) for meter in FULL.values()
)

LOOPING = Finding(pattern=Pattern.IDENTICAL_CALL, message="The same call 3 times.", advice="Stop.", times=3)
FAILING = Finding(pattern=Pattern.ERROR_STREAK, message="3 errors in a row", advice="Stop.", times=3)

RANKED = [
    (StopRule.CANCELLED, "Cancelled."),
    (StopRule.FINISHED, "The agent finished."),
    (StopRule.TURNS, "Iteration limit reached (30/30)."),
    (StopRule.MODEL_CALLS, "Model call limit reached (50/50)."),
    (StopRule.TOKENS, "Token limit reached (1,000/1,000)."),
    (StopRule.COST, "Cost limit reached ($0.50/$0.50)."),
    (StopRule.CONTEXT, "Context limit reached (900/800)."),
    (
        StopRule.PRICE_UNKNOWN,
        "A call has no known price, so the cost limit cannot be kept. Tell its cost, or set "
        'unknown_price="warn" to go on with a warning.',
    ),
    (StopRule.TIME, "Time limit reached (61 s/60 s)."),
    (StopRule.NO_PROGRESS, "The same call 3 times."),
    (StopRule.ERROR_LIMIT, "3 errors in a row."),
    (StopRule.CONDITION, "Stop condition met: nothing happened for 61.0 seconds."),
]
"""Every rule that the default policy knows, the one that wins first, with what it says."""

RULES = [rule for rule, _ in RANKED]


def state_meeting(rules: Iterable[StopRule]) -> AgentState:
    """A run in which exactly these rules are met, every limit set."""
    met = set(rules)
    findings = [(StopRule.ERROR_LIMIT, FAILING), (StopRule.NO_PROGRESS, LOOPING)]
    return AgentState(
        is_cancelled=StopRule.CANCELLED in met,
        is_finished=StopRule.FINISHED in met,
        is_price_unknown=StopRule.PRICE_UNKNOWN in met,
        idle_s=61.0 if StopRule.CONDITION in met else 0.0,
        meters=tuple(
            full if rule in met else empty for (rule, full), empty in zip(FULL.items(), EMPTY, strict=True)
        ),
        findings=tuple(finding for rule, finding in findings if rule in met),
        config=AgentConfig(stop=idle(60)),
    )


def decided(state: AgentState) -> tuple[bool, str]:
    return DefaultDecisionTree().should_continue(state)


@pytest.mark.guarantee("A12")
def test_where_no_rule_is_met_the_run_goes_on() -> None:
    state = state_meeting([])
    assert list(rules_met(state)) == []
    assert decided(state) == (True, "nothing speaks against it")


@pytest.mark.guarantee("A12")
@pytest.mark.parametrize(("rule", "message"), RANKED)
def test_each_rule_alone_ends_the_run_and_says_so(rule: StopRule, message: str) -> None:
    state = state_meeting([rule])
    (reason,) = rules_met(state)
    assert (reason.rule, reason.message) == (rule, message)
    assert decided(state) == (False, rule)


@pytest.mark.guarantee("A12")
@pytest.mark.parametrize(("winner", "loser"), [*combinations(RULES, 2)])
def test_of_two_rules_met_at_once_the_higher_one_wins(winner: StopRule, loser: StopRule) -> None:
    state = state_meeting([loser, winner])
    assert [reason.rule for reason in rules_met(state)] == [winner, loser]
    assert decided(state) == (False, winner)


@pytest.mark.guarantee("A12")
def test_when_all_are_met_at_once_they_come_in_their_order() -> None:
    state = state_meeting(RULES)
    assert [(reason.rule, reason.message) for reason in rules_met(state)] == RANKED
    assert decided(state) == (False, StopRule.CANCELLED)


@pytest.mark.guarantee("A12")
@pytest.mark.parametrize("place", range(len(RULES)))
def test_of_all_that_are_left_the_first_wins(place: int) -> None:
    assert decided(state_meeting(RULES[place:])) == (False, RULES[place])


@pytest.mark.guarantee("A12")
def test_the_seven_steps_of_the_requirements_are_in_that_order() -> None:
    steps = [
        *(StopRule.CANCELLED, StopRule.FINISHED, StopRule.TURNS, StopRule.TOKENS, StopRule.TIME),
        *(StopRule.NO_PROGRESS, StopRule.ERROR_LIMIT),
    ]
    assert [reason.rule for reason in rules_met(state_meeting(steps))] == steps


@pytest.mark.guarantee("A12")
@pytest.mark.parametrize("between", [StopRule.TOKENS, StopRule.COST])
def test_cost_ranks_with_tokens(between: StopRule) -> None:
    assert decided(state_meeting([StopRule.TURNS, between])) == (False, StopRule.TURNS)
    assert decided(state_meeting([between, StopRule.TIME])) == (False, between)


@pytest.mark.guarantee("A12")
@pytest.mark.parametrize("rule", FULL)
def test_the_reason_of_a_limit_carries_its_figures(rule: StopRule) -> None:
    (reason,) = rules_met(state_meeting([rule]))
    meter = FULL[rule]
    assert (reason.limit, reason.current, reason.maximum) == (meter.kind, meter.used, meter.maximum)


@pytest.mark.guarantee("A12")
def test_the_limits_a_run_is_shown_come_in_the_order_in_which_they_win() -> None:
    budget = Budget(seconds=60, context_tokens=800, cost_usd="0.5", tokens=1_000, model_calls=50, turns=30)
    governor = Governor(AgentConfig(budget=budget))
    kinds = [meter.kind for meter in FULL.values()]
    assert [meter.kind for meter in governor.view(governor.start()).meters] == kinds


@pytest.mark.guarantee("A7", "A12")
def test_the_limits_a_scope_is_shown_are_its_own_and_its_parents_in_the_same_order() -> None:
    governor = Governor(AgentConfig(budget=Budget(turns=30, tokens=1_000, seconds=60, model_calls=50)))
    opened = ScopeOpened(at_s=0.0, scope="child", budget=Budget(seconds=30, cost_usd=1, tokens=100))
    state, _ = governor.step(governor.start(), opened)
    shown = [(meter.kind, meter.owner) for meter in governor.view(state, "child").meters]
    assert shown == [
        (LimitKind.TURNS, "run"),
        (LimitKind.MODEL_CALLS, "run"),
        (LimitKind.TOKENS, "child"),
        (LimitKind.COST_USD, "child"),
        (LimitKind.SECONDS, "child"),
    ]


def one_meter(kind: LimitKind, used: Number, maximum: Number, finish: Number = 0) -> tuple[Meter, ...]:
    return (Meter(kind=kind, used=used, maximum=maximum, finish=finish),)


@pytest.mark.guarantee("A3")
@pytest.mark.parametrize(
    ("used", "maximum", "goes_on"),
    [(28, 30, True), (29, 30, True), (30, 30, False), (0, 1, True), (1, 1, False)],
)
def test_one_more_turn_is_granted_at_29_of_30_and_none_at_30(used: int, maximum: int, goes_on: bool) -> None:
    state = AgentState(turn=used, meters=one_meter(LimitKind.TURNS, used, maximum, 1))
    assert decided(state)[0] is goes_on


@pytest.mark.guarantee("A3")
@pytest.mark.parametrize(
    ("rule", "goes_on"),
    [
        (StopRule.TURNS, True),
        (StopRule.MODEL_CALLS, True),
        (StopRule.TOKENS, False),
        (StopRule.COST, False),
        (StopRule.CONTEXT, False),
        (StopRule.TIME, False),
    ],
)
def test_the_last_turn_may_be_finished_but_not_past_tokens_cost_or_time(
    rule: StopRule, goes_on: bool
) -> None:
    state = AgentState(is_in_turn=True, meters=(FULL[rule],))
    assert decided(state)[0] is goes_on


@pytest.mark.guarantee("A4", "A12")
def test_after_the_closing_turn_the_limit_that_closed_in_ends_the_run() -> None:
    meters = one_meter(LimitKind.TOKENS, 960, 1_000, 50)
    during = AgentState(meters=meters, closing=LimitKind.TOKENS, is_in_turn=True)
    after = AgentState(meters=meters, closing=LimitKind.TOKENS)
    assert decided(during)[0]
    (reason,) = rules_met(after)
    assert (reason.rule, reason.message) == (
        StopRule.TOKENS,
        "Token limit closed in (960/1,000): what is left pays for no further turn.",
    )


@pytest.mark.guarantee("A4")
def test_a_closing_turn_for_one_limit_does_not_end_the_run_by_another() -> None:
    meters = (
        *one_meter(LimitKind.TURNS, 3, 30, 1),
        *one_meter(LimitKind.TOKENS, 960, 1_000, 50),
        *one_meter(LimitKind.SECONDS, 1.0, 60.0, 3.0),
    )
    (reason,) = rules_met(AgentState(meters=meters, closing=LimitKind.TOKENS))
    assert reason.rule is StopRule.TOKENS


@pytest.mark.guarantee("A5", "A12")
def test_an_answer_in_the_closing_turn_is_a_natural_stop_that_names_the_limit() -> None:
    state = AgentState(
        is_finished=True, meters=one_meter(LimitKind.TURNS, 30, 30, 1), closing=LimitKind.TURNS
    )
    reason = next(rules_met(state))
    assert (reason.rule, reason.limit) == (StopRule.FINISHED, LimitKind.TURNS)
    assert reason.message == "Completed on the last turn the iteration limit allowed (30/30)."


@pytest.mark.guarantee("A5")
def test_an_answer_before_the_closing_turn_names_no_limit() -> None:
    reason = next(rules_met(AgentState(is_finished=True, meters=one_meter(LimitKind.TURNS, 3, 30, 1))))
    assert (reason.rule, reason.limit) == (StopRule.FINISHED, None)


def test_an_answer_in_the_closing_turn_of_a_limit_that_is_no_longer_shown_is_a_natural_stop() -> None:
    reason = next(rules_met(AgentState(is_finished=True, closing=LimitKind.TOKENS)))
    assert (reason.rule, reason.limit) == (StopRule.FINISHED, None)


@pytest.mark.guarantee("B8")
@pytest.mark.parametrize(
    ("response", "ends", "asks"),
    [
        (Response.GO_ON, False, False),
        (Response.NUDGE, False, False),
        (Response.ASK, True, True),
        (Response.STOP, True, False),
    ],
)
@pytest.mark.parametrize("finding", [LOOPING, FAILING], ids=["no progress", "errors"])
def test_a_finding_ends_a_run_only_where_the_policy_says_so(
    finding: Finding, response: Response, ends: bool, asks: bool
) -> None:
    config = AgentConfig(responses={finding.pattern: response})
    reasons = list(rules_met(AgentState(findings=(finding,), config=config)))
    assert [(reason.finding, reason.asks) for reason in reasons] == [(finding, asks)] * ends


@pytest.mark.guarantee("A12", "B2")
@pytest.mark.parametrize("pattern", Pattern)
def test_only_a_row_of_errors_counts_under_the_error_limit(pattern: Pattern) -> None:
    finding = Finding(pattern=pattern, message="", advice="", times=3)
    expected = StopRule.ERROR_LIMIT if pattern is Pattern.ERROR_STREAK else StopRule.NO_PROGRESS
    assert rule_of_finding(finding) is expected


@pytest.mark.guarantee("A4")
@pytest.mark.parametrize(
    ("meters", "limit"),
    [
        ((), None),
        (one_meter(LimitKind.TURNS, 28, 30, 1), None),
        (one_meter(LimitKind.TURNS, 29, 30, 1), LimitKind.TURNS),
        (one_meter(LimitKind.TURNS, 30, 30, 1), None),
        (one_meter(LimitKind.TOKENS, 950, 1_000, 50), LimitKind.TOKENS),
        (
            (*one_meter(LimitKind.TURNS, 29, 30, 1), *one_meter(LimitKind.TOKENS, 950, 1_000, 50)),
            LimitKind.TURNS,
        ),
        (
            (*one_meter(LimitKind.TURNS, 2, 30, 1), *one_meter(LimitKind.SECONDS, 58.0, 60.0, 3.0)),
            LimitKind.SECONDS,
        ),
    ],
)
def test_the_last_turn_is_named_after_the_first_limit_that_leaves_room_for_no_other(
    meters: tuple[Meter, ...], limit: LimitKind | None
) -> None:
    assert last_turn_limit(AgentState(meters=meters)) is limit


@pytest.mark.guarantee("F3")
def test_limits_cancellation_and_unknown_prices_hold_whatever_a_policy_says() -> None:
    assert {StopRule.CANCELLED, StopRule.PRICE_UNKNOWN, *FULL} == ENFORCED
