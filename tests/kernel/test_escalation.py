"""Escalation: a soft limit that warns once, and a hard limit that ends a loop on purpose."""

from typing import Any

import pytest

from endstop.errors import EndstopError, EscalationError, InvalidValueError, IterationLimitError
from endstop.kernel.escalation import Escalation, EscalationState, Work, default_escalation, next_iteration


def run_to_the_end(escalation: Escalation) -> IterationLimitError:
    """Count iterations until the hard limit, which must come within a hundred of them."""
    state = EscalationState()
    for _ in range(100):
        state, limit = next_iteration(escalation, state)
        if limit is not None:
            return limit
    pytest.fail("no limit ended the loop")


@pytest.mark.guarantee("D2")
def test_the_ending_says_key_limit_and_iteration_word_for_word() -> None:
    limit = run_to_the_end(Escalation(key="coding_56c6", hard=8))
    assert str(limit) == "iteration limit (8) exceeded for key 'coding_56c6' at iteration 8"
    assert (limit.key, limit.limit, limit.iteration) == ("coding_56c6", 8, 8)


@pytest.mark.guarantee("D2")
def test_the_ending_is_an_error_with_a_code_of_its_own() -> None:
    limit = IterationLimitError("coding_56c6", 8, 8)
    assert isinstance(limit, EndstopError)
    assert limit.code == "iteration_limit"


@pytest.mark.guarantee("D2")
@pytest.mark.parametrize("hard", [1, 2, 8, 10])
def test_the_hard_limit_ends_the_loop_at_exactly_its_iteration(hard: int) -> None:
    assert run_to_the_end(Escalation(key="work", hard=hard)).iteration == hard


@pytest.mark.guarantee("D2")
def test_below_the_hard_limit_the_loop_goes_on_and_only_counts() -> None:
    state, limit = next_iteration(Escalation(key="work", hard=8), EscalationState(iteration=6))
    assert (state, limit) == (EscalationState(iteration=7), None)


@pytest.mark.guarantee("D2")
def test_a_loop_that_goes_on_after_its_limit_is_told_again() -> None:
    _, limit = next_iteration(Escalation(key="work", hard=8), EscalationState(iteration=9))
    assert str(limit) == "iteration limit (8) exceeded for key 'work' at iteration 10"


@pytest.mark.guarantee("D2")
def test_the_soft_limit_warns_once_and_the_loop_goes_on_to_the_hard_one() -> None:
    warned: list[tuple[str, int, int]] = []
    escalation = Escalation(
        key="pm",
        soft=8,
        hard=10,
        on_soft=lambda key, limit, iteration: warned.append((key, limit, iteration)),
    )
    assert run_to_the_end(escalation).iteration == 10
    assert warned == [("pm", 8, 8)]


@pytest.mark.guarantee("D2")
def test_a_soft_limit_without_a_handler_is_remembered_as_warned() -> None:
    escalation = Escalation(key="pm", soft=2, hard=4)
    state, limit = next_iteration(escalation, EscalationState(iteration=1))
    assert (state, limit) == (EscalationState(iteration=2, is_warned=True), None)
    state, limit = next_iteration(escalation, state)
    assert (state, limit) == (EscalationState(iteration=3, is_warned=True), None)


@pytest.mark.guarantee("D2")
def test_a_soft_limit_that_was_missed_warns_late_rather_than_never() -> None:
    warned: list[int] = []
    escalation = Escalation(key="pm", soft=2, hard=9, on_soft=lambda _key, _limit, at: warned.append(at))
    next_iteration(escalation, EscalationState(iteration=4))
    assert warned == [5]


@pytest.mark.guarantee("D2")
def test_the_handler_of_the_hard_limit_runs_once_with_the_limit() -> None:
    handled: list[IterationLimitError] = []
    limit = run_to_the_end(Escalation(key="coding_56c6", hard=8, on_hard=handled.append))
    assert handled == [limit]


@pytest.mark.guarantee("D2")
def test_where_soft_and_hard_are_one_the_hard_limit_counts() -> None:
    events: list[str] = []
    escalation = Escalation(
        key="work",
        soft=3,
        hard=3,
        on_soft=lambda _key, _limit, _at: events.append("soft"),
        on_hard=lambda _: events.append("hard"),
    )
    assert run_to_the_end(escalation).iteration == 3
    assert events == ["hard"]


@pytest.mark.guarantee("D2")
def test_a_handler_that_fails_is_an_error_in_which_the_limit_is_still_visible() -> None:
    def fail(_limit: IterationLimitError) -> None:
        raise RuntimeError("no mail server")

    with pytest.raises(EscalationError) as caught:
        run_to_the_end(Escalation(key="coding_56c6", hard=8, on_hard=fail))
    error = caught.value
    assert (error.limit.key, error.limit.limit, error.limit.iteration) == ("coding_56c6", 8, 8)
    assert str(error).startswith(
        "iteration limit (8) exceeded for key 'coding_56c6' at iteration 8; "
        "its handler failed with RuntimeError: no mail server."
    )
    assert isinstance(error.__cause__, RuntimeError)
    assert (error.code, bool(error.to_do)) == ("escalation_failed", True)


@pytest.mark.guarantee("D2")
def test_a_handler_that_is_interrupted_is_not_taken_for_one_that_failed() -> None:
    def interrupt(_limit: IterationLimitError) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_to_the_end(Escalation(key="work", hard=1, on_hard=interrupt))


@pytest.mark.guarantee("D2")
@pytest.mark.parametrize("value", [0, -1, 1_000_001, 8.0, float("nan"), True, "8", None])
def test_a_hard_limit_out_of_bounds_is_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidValueError, match=r"^hard is .*a whole number from 1 to 1,000,000"):
        Escalation(key="work", hard=value)


@pytest.mark.guarantee("D2")
@pytest.mark.parametrize("value", [0, -1, 9, 8.0, float("nan"), True, "8"])
def test_a_soft_limit_out_of_bounds_or_past_the_hard_one_is_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidValueError, match=r"^soft is .*from 1 to 8\. Soft comes before hard\.$"):
        Escalation(key="work", soft=value, hard=8)


@pytest.mark.guarantee("D2")
def test_an_escalation_without_a_key_is_refused() -> None:
    with pytest.raises(InvalidValueError, match=r"^key is ''\. Allowed: a name, such as 'coding_56c6'"):
        Escalation(key="", hard=8)


@pytest.mark.guarantee("D2")
def test_a_soft_handler_that_fails_leaves_the_limit_visible() -> None:
    def fail(key: str, limit: int, iteration: int) -> None:
        raise RuntimeError("no mail server")

    escalation = Escalation(key="pm", soft=1, hard=3, on_soft=fail)
    with pytest.raises(EscalationError, match="no mail server") as caught:
        next_iteration(escalation, EscalationState())
    assert (caught.value.limit.key, caught.value.limit.limit) == ("pm", 1)


@pytest.mark.guarantee("D6")
@pytest.mark.parametrize(
    ("work", "soft", "hard"),
    [(Work.CODING, None, 8), (Work.PLANNING, None, 8), (Work.PRODUCT_MANAGER, 8, 10)],
)
def test_work_has_its_limits_from_the_start(work: Work, soft: int | None, hard: int) -> None:
    limits = default_escalation(work, "56c6")
    assert (limits.key, limits.soft, limits.hard) == (f"{work}_56c6", soft, hard)
