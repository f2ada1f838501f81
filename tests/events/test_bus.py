"""The bus: whoever listens harms neither the run nor the others."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from payload_examples import EXAMPLES, type_in
from recorded_runs import Stage, a_fact, finished, recorded, said_by_user

from endstop.errors import InvalidValueError
from endstop.events.bus import DEFAULT_CAPACITY, Bus, Subscription
from endstop.events.facts import Fact
from endstop.kernel.budget import Budget

pytestmark = pytest.mark.guarantee("H3")


def numbered(count: int) -> list[Fact]:
    return [a_fact(said_by_user(float(seq)), seq=seq) for seq in range(count)]


def published(bus: Bus, facts: list[Fact]) -> None:
    for fact in facts:
        bus.publish(fact)


def test_a_listener_takes_what_was_published_in_order() -> None:
    bus, facts = Bus(), numbered(5)
    listener = bus.subscribe()
    published(bus, facts)
    assert list(listener.take()) == facts


def test_what_was_taken_is_gone() -> None:
    bus, facts = Bus(), numbered(4)
    listener = bus.subscribe()
    published(bus, facts[:2])
    assert list(listener.take()) == facts[:2]
    published(bus, facts[2:])
    assert list(listener.take()) == facts[2:]
    assert listener.take() == ()


def test_a_listener_hears_nothing_of_what_was_published_before() -> None:
    bus, facts = Bus(), numbered(2)
    bus.publish(facts[0])
    listener = bus.subscribe()
    bus.publish(facts[1])
    assert list(listener.take()) == facts[1:]


def test_every_listener_has_a_queue_of_its_own() -> None:
    bus, facts = Bus(), numbered(3)
    first, second = bus.subscribe(), bus.subscribe()
    published(bus, facts)
    assert list(first.take()) == list(second.take()) == facts


def test_who_subscribes_after_a_fact_was_published_does_not_hear_it() -> None:
    bus = Bus()
    bus.publish(numbered(1)[0])
    assert bus.subscribe().take() == ()


@pytest.mark.parametrize(
    ("wanted", "heard"),
    [
        ((), set(map(type_in, EXAMPLES))),
        (("run.ended",), {"run.ended"}),
        (("budget.token",), {"budget.token.warning", "budget.token.exceeded"}),
        (("agent.loop",), {"agent.loop.detected"}),
        (("run.ended", "turn"), {"run.ended", "turn.started", "turn.ended"}),
        (("run", "run.ended"), {name for name in map(type_in, EXAMPLES) if name.startswith("run.")}),
        (("budget.iter",), set[str]()),
        (("b",), set[str]()),
        (("nothing.there",), set[str]()),
    ],
)
def test_a_listener_hears_the_types_it_asked_for_by_whole_name_or_by_first_parts(
    wanted: tuple[str, ...], heard: set[str]
) -> None:
    bus = Bus()
    listener = bus.subscribe(*wanted)
    published(bus, [a_fact(payload) for payload in EXAMPLES.values()])
    assert {fact.type for fact in listener.take()} == heard


def test_a_fact_that_two_of_its_wishes_name_is_heard_once() -> None:
    bus = Bus()
    listener = bus.subscribe("user", "user.said")
    published(bus, numbered(1))
    assert len(listener.take()) == 1


def test_a_listener_is_woken_for_each_fact_it_wants_and_for_no_other() -> None:
    bus, woken = Bus(), list[int]()
    bus.subscribe("user", wake=lambda: woken.append(1))
    bus.subscribe("turn", wake=lambda: woken.append(2))
    published(bus, numbered(3))
    assert woken == [1, 1, 1]


def test_the_fact_is_there_when_a_listener_is_woken() -> None:
    bus, heard = Bus(), list[Fact]()
    listener = bus.subscribe(wake=lambda: heard.extend(listener.take()))
    facts = numbered(3)
    published(bus, facts)
    assert heard == facts


def failing(error: BaseException) -> Callable[[], None]:
    def wake() -> None:
        raise error

    return wake


def test_a_listener_that_raises_does_not_keep_the_others_from_hearing() -> None:
    bus, facts = Bus(), numbered(3)
    before = bus.subscribe()
    bus.subscribe(wake=failing(RuntimeError("broken")))
    after = bus.subscribe()
    published(bus, facts)
    assert list(before.take()) == list(after.take()) == facts


def test_what_a_listener_raised_is_kept_and_it_is_not_woken_again() -> None:
    bus, error, woken = Bus(), RuntimeError("broken"), list[int]()

    def wake() -> None:
        woken.append(1)
        raise error

    listener = bus.subscribe(wake=wake)
    published(bus, numbered(3))
    assert listener.failure is error
    assert woken == [1]


def test_a_listener_that_raised_can_still_take_everything() -> None:
    bus, facts = Bus(), numbered(3)
    listener = bus.subscribe(wake=failing(RuntimeError("broken")))
    published(bus, facts)
    assert list(listener.take()) == facts


def test_a_listener_that_never_fails_has_no_failure() -> None:
    bus = Bus()
    listener = bus.subscribe(wake=list[int]().clear)
    published(bus, numbered(1))
    assert listener.failure is None


def test_a_listener_that_never_takes_keeps_the_newest_and_counts_what_it_missed() -> None:
    bus, facts = Bus(), numbered(10)
    listener = bus.subscribe(capacity=3)
    published(bus, facts)
    assert listener.missed == 7
    assert list(listener.take()) == facts[-3:]


def test_what_was_missed_is_the_gap_in_the_numbers() -> None:
    bus, facts = Bus(), numbered(10)
    listener = bus.subscribe(capacity=3)
    published(bus, facts[:2])
    (*_, last) = listener.take()
    published(bus, facts[2:])
    assert listener.take()[0].seq - last.seq - 1 == listener.missed == 5


@pytest.mark.parametrize(("count", "missed"), [(0, 0), (2, 0), (3, 0), (4, 1)])
def test_a_queue_that_is_just_full_has_missed_nothing(count: int, missed: int) -> None:
    bus = Bus()
    listener = bus.subscribe(capacity=3)
    published(bus, numbered(count))
    assert listener.missed == missed


def test_a_slow_listener_does_not_make_others_miss_anything() -> None:
    bus, facts = Bus(), numbered(10)
    slow, quick = bus.subscribe(capacity=1), bus.subscribe()
    published(bus, facts)
    assert (slow.missed, quick.missed) == (9, 0)
    assert list(quick.take()) == facts


def test_facts_of_types_it_does_not_want_take_no_room() -> None:
    bus = Bus()
    listener = bus.subscribe("turn", capacity=1)
    published(bus, numbered(5))
    assert listener.missed == 0


def test_a_listener_that_says_nothing_of_room_has_room_for_a_thousand() -> None:
    bus = Bus()
    listener = bus.subscribe()
    published(bus, numbered(DEFAULT_CAPACITY + 1))
    assert (DEFAULT_CAPACITY, listener.missed) == (1_000, 1)


@pytest.mark.parametrize("capacity", [0, -1, 1_000_001, True, False, 1.5, "10", None])
def test_room_that_makes_no_sense_is_refused(capacity: int) -> None:
    bus = Bus()
    with pytest.raises(InvalidValueError, match="capacity"):
        bus.subscribe(capacity=capacity)


@pytest.mark.parametrize("capacity", [1, 1_000_000])
def test_the_bounds_of_room_are_allowed(capacity: int) -> None:
    bus, (fact,) = Bus(), numbered(1)
    listener = bus.subscribe(capacity=capacity)
    bus.publish(fact)
    assert listener.take() == (fact,)


def test_a_listener_that_closed_hears_no_more_and_can_still_take_what_had_arrived() -> None:
    bus, facts = Bus(), numbered(4)
    listener = bus.subscribe()
    published(bus, facts[:2])
    listener.close()
    published(bus, facts[2:])
    assert list(listener.take()) == facts[:2]


def test_a_listener_that_closes_does_not_close_the_others() -> None:
    bus, facts = Bus(), numbered(4)
    first, second, third = bus.subscribe(), bus.subscribe(), bus.subscribe()
    published(bus, facts[:2])
    second.close()
    published(bus, facts[2:])
    assert list(first.take()) == list(third.take()) == facts


def test_closing_twice_does_no_harm() -> None:
    bus = Bus()
    listener, other = bus.subscribe(), bus.subscribe()
    listener.close()
    listener.close()
    published(bus, numbered(1))
    assert len(other.take()) == 1


def test_a_listener_that_closes_itself_while_it_is_woken_harms_nobody() -> None:
    bus, facts = Bus(), numbered(3)
    before = bus.subscribe()
    closing = bus.subscribe(wake=lambda: closing.close())
    after = bus.subscribe()
    published(bus, facts)
    assert list(before.take()) == list(after.take()) == facts
    assert list(closing.take()) == facts[:1]


def test_a_listener_that_subscribes_another_while_it_is_woken_harms_nobody() -> None:
    bus, facts, late = Bus(), numbered(2), list[Subscription]()

    def wake() -> None:
        if not late:
            late.append(bus.subscribe())

    first = bus.subscribe(wake=wake)
    published(bus, facts)
    assert list(first.take()) == facts
    assert list(late[0].take()) == facts[1:]


def test_a_listener_that_publishes_while_it_is_woken_does_not_bring_the_run_down() -> None:
    bus, facts = Bus(), numbered(1)
    listener = bus.subscribe(wake=lambda: bus.publish(facts[0]))
    other = bus.subscribe()
    bus.publish(facts[0])
    assert isinstance(listener.failure, RecursionError)
    assert facts[0] in other.take()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1)])
def test_what_is_meant_to_end_the_process_is_not_swallowed(error: BaseException) -> None:
    bus = Bus()
    bus.subscribe(wake=failing(error))
    with pytest.raises(type(error)):
        bus.publish(numbered(1)[0])


def test_a_guarded_run_is_not_disturbed_by_listeners_that_fail_or_never_take(stage: Stage) -> None:
    guard = stage.guard(Budget(turns=3))
    broken = guard.bus.subscribe(wake=failing(ValueError("broken")))
    guard.bus.subscribe(capacity=1)
    good = guard.bus.subscribe("run", "turn")
    with guard.turn() as turn:
        turn.finished("done")
    guard.may_continue()
    assert guard.audit().holds
    assert isinstance(broken.failure, ValueError)
    assert [fact.type for fact in good.take()] == ["turn.started", "turn.ended", "run.ended"]


def test_a_guard_hands_on_every_fact_after_the_first(stage: Stage) -> None:
    assert finished(stage).facts == recorded("finished")
    assert sorted(stage.states) == list(range(len(recorded("finished"))))
