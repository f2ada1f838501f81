"""What a client is told, whatever happens: properties over runs that fail, are repeated and die at will."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest
from chat_server import heard
from hypothesis import given
from hypothesis import strategies as st

from endstop.errors import InvalidValueError
from endstop.events.chunks import RunningPath
from endstop.events.facts import (
    Fact,
    ModelFailed,
    Payload,
    ReviewDecided,
    ReviewRequested,
    RunStarted,
    RunTaken,
    SourceCited,
    Thought,
    UserAwaited,
)
from endstop.events.steered import TreeChosen, TreeTraced
from endstop.kernel.agent import AgentConfig
from endstop.kernel.amounts import Amounts
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.limits import LimitKind, Meter
from endstop.kernel.observation import (
    AssistantSaid,
    BudgetGranted,
    CallReserved,
    CallSettled,
    ContextMeasured,
    RunEnded,
    RunPaused,
    RunResumed,
    SignalGiven,
    ToolCalled,
    ToolFinished,
    TurnStarted,
)
from endstop.kernel.outcome import Completed, Failed
from endstop.kernel.review import Rejected, Review
from endstop.kernel.wording import closed_in, reached
from endstop.server.reached import limit_reached
from endstop.server.stream import Cursor, LiveReply, StreamEvent, Telling, looks_back_to

GOLDEN = Path(__file__).parent.parent / "golden"

Item = Payload | tuple[bool, str]
"""What happens: a fact, or a piece of a reply (whether it is thinking, and its text)."""


@dataclass(frozen=True)
class World:
    """All that happens in a run, and how it looks from outside after so many steps."""

    items: Sequence[Item]

    def facts(self, steps: int) -> list[Fact]:
        payloads = [item for item in self.items[:steps] if not isinstance(item, tuple)]
        return [
            Fact(run_id="run", seq=seq, time=0.0, source="test", payload=payload)
            for seq, payload in enumerate(payloads)
        ]

    def reply(self, steps: int) -> LiveReply | None:
        """The reply that streams after so many steps; nothing lives on in a process that died."""
        found: LiveReply | None = None
        seq = -1
        for item in self.items[:steps]:
            if isinstance(item, tuple):
                if found is None:
                    found = LiveReply(after=seq, turn=0)
                found.pieces.append(item)
                continue
            seq += 1
            if isinstance(item, AssistantSaid | Thought | RunTaken):
                found = None
        return found


def told(world: World, telling: Telling, steps: int, lag: int) -> list[StreamEvent]:
    """What a client is told that looks after so many steps, the store being some facts behind."""
    facts = world.facts(steps)
    safe = facts[: max(len(facts) - lag, 0)]
    events: list[StreamEvent] = []
    for fact in safe:
        if fact.seq > telling.seq:
            events += telling.tell(fact)
    reply = world.reply(steps)
    if reply is not None and not telling.is_over:
        events += telling.hear(reply)
    return events


def come_back(world: World, event: StreamEvent) -> Telling:
    """A client that comes back with an id: the server looks back no further than it must."""
    cursor = Cursor.read(event.id)
    before = [fact for fact in world.facts(len(world.items)) if fact.seq <= cursor.seq]
    starts = [place for place, fact in enumerate(before) if looks_back_to(fact)]
    return Telling(cursor, before[starts[-1] :])


GRANT = Grant(turns=1, by="ana", why="nearly there")

texts = st.text("abc ", min_size=1, max_size=4)
pieces = st.lists(st.tuples(st.booleans(), texts), max_size=5)


@st.composite
def attempts(draw: st.DrawFn, turn: int) -> list[Item]:
    """A model call with all that may come of it. Only the last one of a turn comes to its end."""
    said = draw(pieces)
    cut = draw(st.integers(0, len(said)))
    granted: list[Item] = [BudgetGranted(at_s=0.0, grant=GRANT)] if draw(st.booleans()) else []
    reserved: Item = CallReserved(at_s=0.0, turn=turn, reservation="call", amounts=Amounts())
    items: list[Item] = [reserved, *said[:cut], *granted, *said[cut:]]
    if draw(st.booleans()):
        signal = SignalGiven(at_s=0.0, turn=turn, type="need_turn", confidence=0.9)
        return [*items, *_on_record(said, turn), signal, *draw(_calls(turn))]
    if draw(st.booleans()):
        failed = ModelFailed(turn=turn, attempt=1, code="busy", message="busy", retry_in_s=0.1)
        return [*items, *(_on_record(said, turn) if said else ()), failed, *draw(attempts(turn))]
    died: list[Item] = [RunTaken(owner="x"), CallSettled(at_s=0.0, turn=turn, reservation="call")]
    return [*items, *died]


def _on_record(said: Sequence[tuple[bool, str]], turn: int) -> list[Item]:
    thought = "".join(text for is_thought, text in said if is_thought)
    text = "".join(text for is_thought, text in said if not is_thought)
    settled: list[Item] = [CallSettled(at_s=0.0, turn=turn, reservation="call")]
    thoughts: list[Item] = [Thought(turn=turn, text=thought)] if thought else []
    return [*settled, *thoughts, AssistantSaid(at_s=0.0, turn=turn, text=text)]


@st.composite
def _calls(draw: st.DrawFn, turn: int) -> list[Item]:
    items: list[Item] = []
    for number in range(draw(st.integers(0, 2))):
        call = f"{turn}.{number}"
        items += [
            ToolCalled(at_s=0.0, turn=turn, call=call, tool="echo", key="k", arguments="{}"),
            AssistantSaid(at_s=0.0, scope="run/child", turn=0, text="a child's words"),
            Thought(scope="run/child", turn=0, text="a child's thoughts"),
            ToolFinished(at_s=0.0, turn=turn, call=call, tool="echo", key="k", result="r"),
        ]
    return items


@st.composite
def worlds(draw: st.DrawFn) -> World:
    items: list[Item] = []
    for turn in range(draw(st.integers(1, 3))):
        items += [TurnStarted(at_s=0.0, turn=turn), *draw(attempts(turn))]
        if draw(st.booleans()):
            items += [TreeTraced(turn=turn, steps=("0 running",)), ContextMeasured(at_s=0.0, tokens=5)]
    ending = draw(st.sampled_from([Completed(answer="a"), Failed(code="c", message="m", answer="")]))
    return World([SourceCited(title="t", location="l"), *items, RunEnded(at_s=0.0, outcome=ending)])


@pytest.mark.guarantee("I1")
@given(world=worlds(), data=st.data())
def test_whoever_is_cut_off_anywhere_knows_in_the_end_what_everybody_knows(
    world: World, data: st.DataObject
) -> None:
    steps = len(world.items)
    whole = heard(told(world, Telling.from_the_start(), steps, 0))
    looks = sorted(data.draw(st.lists(st.integers(0, steps), max_size=6), label="looks"))
    events: list[StreamEvent] = []
    telling = Telling.from_the_start()
    for look in looks:
        new = told(world, telling, look, data.draw(st.integers(0, 3), label="lag"))
        kept = data.draw(st.integers(0, len(new)), label="kept")
        events += new[:kept]
        if kept < len(new):  # the connection breaks; what was not sent is told again
            telling = come_back(world, events[-1]) if events else Telling.from_the_start()
    events += told(world, telling, steps, 0)
    assert heard(events) == whole
    assert [event.type for event in events].count("done") == 1


@pytest.mark.guarantee("I1")
@given(world=worlds())
def test_a_live_stream_can_be_cut_at_every_event_and_no_id_comes_twice(world: World) -> None:
    steps = len(world.items)
    whole = heard(told(world, Telling.from_the_start(), steps, 0))
    telling = Telling.from_the_start()
    events = [event for step in range(steps + 1) for event in told(world, telling, step, 0)]
    assert heard(events) == whole
    assert len({event.id for event in events}) == len(events)
    for cut, event in enumerate(events[:-1]):
        rest = told(world, come_back(world, event), steps, 0)
        assert heard([*events[: cut + 1], *rest]) == whole, event.id


@given(
    cursor=st.builds(
        Cursor,
        seq=st.integers(0, 10**9),
        part=st.none() | st.integers(0, 99),
        text=st.integers(0, 10**9),
        thinking=st.integers(0, 10**9),
    )
)
def test_an_id_is_read_back_as_it_was_written(cursor: Cursor) -> None:
    assert Cursor.read(str(cursor)) == cursor


def test_no_id_means_from_the_start() -> None:
    assert Cursor.read(None) == Cursor.read("") == Cursor(seq=-1)


@pytest.mark.parametrize("wrong", ["+", "1~2", "1..2", " 1", "1 ", "0x1", "1+2+3", "1\n"])
def test_what_is_no_id_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidValueError, match="Last-Event-ID"):
        Cursor.read(wrong)


def test_text_that_was_seen_and_is_not_what_came_on_record_is_taken_back_first() -> None:
    world = World([*_begun(), *_on_record([(True, "x"), (False, "ab")], 0)])
    before = world.facts(2)
    telling = Telling(Cursor(seq=1, text=3, thinking=2), before)
    events = [event for fact in world.facts(9)[2:] for event in telling.tell(fact)]
    kinds = [event.type for event in events]
    assert kinds == ["context_update", "retract", "thinking", "content"]
    assert events[1].data == {"turn": 0, "chars": 3, "thinking_chars": 2}
    assert events[3].data["content"] == "ab"


def test_a_run_that_waits_for_a_review_is_done_until_it_goes_on() -> None:
    review = Review(id="review:1", why="Iteration limit reached (2/2).")
    asked: list[Item] = [ReviewRequested(review=review), RunPaused(at_s=0.0, why=review.why)]
    world = World([*_begun(), *asked])
    telling = Telling.from_the_start()
    told(world, telling, 9, 0)
    (done,) = telling.caught_up()
    assert (done.id, done.type) == ("3", "done")
    assert done.data["outcome"] == "under_review"
    assert done.data["review_id"] == "review:1"
    assert telling.is_over
    assert come_back(world, done).caught_up() == []
    decided = ReviewDecided(review_id="review:1", decision=Rejected(by="a", why="b"), by="a")
    later = World([*world.items, RunResumed(at_s=0.0), decided, *_asks()])
    again = come_back(later, done)
    assert [event.type for event in told(later, again, 99, 0)] == ["resumed", "paused"]
    (awaited,) = again.caught_up()
    assert awaited.data["outcome"] == "awaiting_user"
    assert awaited.data["question"] == "Which one?"


def _begun() -> list[Item]:
    return [
        TurnStarted(at_s=0.0, turn=0),
        CallReserved(at_s=0.0, turn=0, reservation="call", amounts=Amounts()),
    ]


def _asks() -> list[Item]:
    return [UserAwaited(turn=0, question="Which one?"), RunPaused(at_s=0.0, why="Which one?")]


def test_live_text_and_its_retraction_look_the_same_for_ever() -> None:
    live = [(True, "Hm. "), (False, "Half "), (False, "of it")]
    died: list[Item] = [RunTaken(owner="x"), TurnStarted(at_s=0.0, turn=1)]
    world = World([*_begun(), *live, *died, *_begun()[1:], *_on_record([(False, "Whole.")], 1)])
    telling = Telling.from_the_start()
    events = [event for step in range(len(world.items) + 1) for event in told(world, telling, step, 0)]
    assert b"".join(event.to_sse() for event in events) == (GOLDEN / "chunks-live.sse").read_bytes()


def test_who_saw_that_it_was_paused_and_no_more_is_told_that_it_waits() -> None:
    world = World([*_begun(), *_asks()])
    *_, paused = told(world, Telling.from_the_start(), 9, 0)
    assert (paused.id, paused.type) == ("3.0", "paused")
    again = come_back(world, paused)
    assert told(world, again, 9, 0) == []
    (done,) = again.caught_up()
    assert (done.id, done.data["outcome"]) == ("3", "awaiting_user")


# ── whether a worker is at it ──────────────────────────────────────────────────────────────────────────────


def test_that_no_worker_is_at_it_is_told_once_until_one_takes_it() -> None:
    world = World([*_begun(), RunTaken(owner="x")])
    telling = Telling.from_the_start()
    told(world, telling, len(_begun()), 0)
    assert telling.see_worker(is_there=True, at=1.0) == []
    (event,) = telling.see_worker(is_there=False, at=2.0)
    assert event.to_sse() == b'data: {"type":"worker","is_there":false,"at":2.0}\n\n'
    assert telling.see_worker(is_there=False, at=3.0) == []
    (event, *_) = told(world, telling, len(world.items), 0)
    assert (event.type, event.data["is_there"]) == ("worker", True)


def test_a_run_that_waits_for_a_person_needs_no_worker() -> None:
    world = World([*_begun(), *_asks()])
    telling = Telling.from_the_start()
    told(world, telling, 9, 0)
    assert telling.see_worker(is_there=False, at=2.0) == []


# ── where a tree stands ───────────────────────────────────────────────────────────────────────────────────


def test_where_the_tree_stands_is_told_once_and_without_an_id() -> None:
    telling = Telling.from_the_start()
    path = RunningPath(path=(0, 3), names=("oracle-agent", "ask"))
    (event,) = telling.see(path)
    assert event.to_sse() == b'data: {"type":"running","path":[0,3],"names":["oracle-agent","ask"]}\n\n'
    assert telling.see(RunningPath(path=(0, 3), names=("oracle-agent", "ask"))) == []
    assert len(telling.see(RunningPath(path=(0,), names=("oracle-agent",)))) == 1
    assert len(telling.see(path)) == 1


def test_what_only_watchers_are_told_looks_the_same_for_ever() -> None:
    budget = Budget(turns=30, tokens=200_000, cost_usd="0.42", seconds=300)
    grant = Grant(turns=10, cost_usd="0.10", by="ana", why="nearly there")
    traced = TreeTraced(turn=0, steps=("0 running", "4 success"))
    signal = SignalGiven(at_s=1.0, turn=0, type="need_turn", confidence=0.9, reason="to read auth.py")
    payloads: list[Item] = [
        RunStarted(config=AgentConfig(budget=budget), question="Where is login?", model="test:scripted"),
        TreeChosen(tree="oracle-agent", hash="5f2c", spec="{}"),
        TurnStarted(at_s=0.0, turn=0),
        signal,
        traced,
        RunPaused(at_s=2.0, why="Iteration limit reached (30/30)."),
        RunResumed(at_s=2.0),
        BudgetGranted(at_s=2.0, grant=grant),
    ]
    telling = Telling.from_the_start()
    events = told(World(payloads), telling, 99, 0)
    events += telling.see(RunningPath(path=(0, 3, 7), names=("oracle-agent", "turns", "ask")))
    assert b"".join(event.to_sse() for event in events) == (GOLDEN / "chunks-watched.sse").read_bytes()


@pytest.mark.guarantee("I2")
@pytest.mark.parametrize(
    ("why", "limit_type", "current", "limit", "percent"),
    [
        ("Iteration limit reached (10/10).", "turns", 10, 10, 100.0),
        ("Token limit reached (1,995/2,000).", "tokens", 1_995, 2_000, 99.8),
        ("Maximum coding iterations (8) reached", "turns", 8, 8, 100.0),
    ],
)
def test_a_limit_that_led_to_a_review_is_told(
    why: str, limit_type: str, current: object, limit: object, percent: float
) -> None:
    world = World([*_begun(), ReviewRequested(review=Review(id="review:1", why=why))])
    (event,) = (event for event in told(world, Telling.from_the_start(), 9, 0) if event.type == "system")
    assert event.id == "2.0"
    assert event.data["system_type"] == "limit_reached"
    assert str(event.data["system_message"]).startswith(why.rstrip(".") + ". ")
    assert event.data["metadata"] == {
        "current_value": current,
        "limit_value": limit,
        "percent": percent,
        "limit_type": limit_type,
    }
    assert told(world, come_back(world, event), 9, 0) == []


@pytest.mark.parametrize(
    ("kind", "used", "maximum"),
    [
        (LimitKind.TURNS, 12, 12),
        (LimitKind.MODEL_CALLS, 3, 3),
        (LimitKind.TOKENS, 199_000, 200_000),
        (LimitKind.COST_USD, Decimal("1042.5"), Decimal("1500.50")),
        (LimitKind.SECONDS, 300.5, 300.0),
    ],
)
def test_the_words_of_every_limit_are_understood(kind: LimitKind, used: Any, maximum: Any) -> None:
    meter = Meter(kind=kind, used=used, maximum=maximum)
    for why in (reached(meter), closed_in(meter)):
        data = limit_reached(Review(id="review:1", why=why))
        assert data is not None
        metadata = cast("dict[str, object]", data["metadata"])
        assert metadata["limit_type"] == kind.value
        assert Decimal(str(metadata["limit_value"])) == Decimal(str(maximum))


def test_a_review_that_no_limit_led_to_says_nothing_of_one() -> None:
    assert limit_reached(Review(id="review:1", why="The same call was made 5 times.")) is None
    assert limit_reached(Review(id="review:1", why="Patience limit reached (1/1).")) is None
