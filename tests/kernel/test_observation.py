"""Observations: what the kernel is told, and what follows from it alone."""

from dataclasses import FrozenInstanceError
from decimal import Decimal

import pytest

from endstop.kernel.amounts import NOTHING, Amounts
from endstop.kernel.ledger import ROOT
from endstop.kernel.observation import (
    CallSettled,
    CallStatus,
    CancelRequested,
    ToolFinished,
    TurnStarted,
    tool_called,
    used_amounts,
)


@pytest.mark.guarantee("B2")
@pytest.mark.parametrize("status", CallStatus)
def test_a_tool_that_did_not_do_its_job_is_an_error_and_nothing_else_is(status: CallStatus) -> None:
    errors = {CallStatus.FAILED, CallStatus.TIMED_OUT, CallStatus.REFUSED}
    finished = ToolFinished(at_s=0.0, turn=0, call="1.1", tool="run", key="k", status=status)
    assert finished.is_error is (status in errors)


@pytest.mark.guarantee("B1")
def test_a_call_is_reported_with_its_arguments_in_one_form_whatever_they_were() -> None:
    as_mapping = tool_called(at_s=1.0, turn=2, call="3.1", tool="read", arguments={"b": 1.0, "a": "x  y"})
    as_text = tool_called(at_s=1.0, turn=2, call="3.1", tool="read", arguments='{"a": "x y", "b": 1}')
    assert as_mapping == as_text
    assert (as_mapping.arguments, as_mapping.scope) == ('{"a":"x y","b":1}', ROOT)


@pytest.mark.guarantee("B1")
def test_broken_arguments_can_be_reported_too() -> None:
    called = tool_called(
        at_s=1.0, turn=2, call="3.1", tool="read", arguments='{"a": ', scope="child", is_cursor=True
    )
    assert (called.scope, called.is_cursor, bool(called.key)) == ("child", True, True)


@pytest.mark.guarantee("A6")
@pytest.mark.parametrize(
    ("settled", "cost", "entry"),
    [
        (
            CallSettled(at_s=0.0, turn=0, reservation="call", input_tokens=100, output_tokens=20),
            Decimal("0.5"),
            Amounts(model_calls=1, tokens=120, cost_usd=Decimal("0.5")),
        ),
        (
            CallSettled(at_s=0.0, turn=0, reservation="call", output_tokens=20, model_calls=0),
            Decimal(0),
            Amounts(tokens=20),
        ),
        (
            CallSettled(at_s=0.0, turn=0, reservation="call", model_calls=0),
            Decimal("0.5"),
            Amounts(cost_usd=Decimal("0.5")),
        ),
        (CallSettled(at_s=0.0, turn=0, reservation="call", model_calls=0), Decimal(0), NOTHING),
        (
            CallSettled(at_s=0.0, turn=0, reservation="call", model_calls=2, input_tokens=1),
            Decimal(0),
            Amounts(model_calls=2, tokens=2),
        ),
    ],
)
def test_a_settled_call_is_entered_with_its_calls_its_cost_and_a_token_for_each_call_at_least(
    settled: CallSettled, cost: Decimal, entry: Amounts
) -> None:
    assert used_amounts(settled, cost) == entry


def test_what_is_left_out_of_an_observation_means_the_ordinary_case() -> None:
    settled = CallSettled(at_s=0.0, turn=0, reservation="call")
    assert (settled.model_calls, settled.is_final, settled.is_estimate, settled.cost_usd) == (
        1,
        True,
        False,
        None,
    )
    finished = ToolFinished(at_s=0.0, turn=0, call="1.1", tool="run", key="k")
    assert finished.status is CallStatus.EXECUTED
    assert (finished.is_waiting, finished.is_cursor, finished.changes_something) == (False, False, False)
    called = tool_called(at_s=0.0, turn=0, call="1.1", tool="run", arguments={})
    assert not called.is_cursor
    assert not CancelRequested(at_s=0.0, by="ada").after_turn
    assert TurnStarted(at_s=0.0, turn=0).closing is None


def test_observations_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        TurnStarted(at_s=0.0, turn=0).turn = 1  # pyright: ignore[reportAttributeAccessIssue]
