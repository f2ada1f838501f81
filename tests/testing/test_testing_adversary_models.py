"""Each adversarial model does what it says."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from itertools import pairwise
from typing import cast

import pytest
from adversary_words import asked, calls_of, end_of, replies, streamed, text_of

from endstop.errors import ModelBrokeOffError, ModelError, ModelOverloadedError
from endstop.kernel.canonical import canonical_arguments, fold_text
from endstop.kernel.detectors import RepeatedChunk
from endstop.ports import Model, ModelUsage, ReplyEnded, TextPiece, ThoughtPiece, UserMessage
from endstop.signals import parse_reply
from endstop.testing import Runaway
from endstop.testing.adversaries import calls, errors, signals, streams, usage
from endstop.testing.adversaries.wording import words


def test_words_are_the_same_for_the_same_number_and_others_for_another() -> None:
    assert words(7) == words(7)
    assert len({words(number) for number in range(20_000)}) == 20_000


async def hangs(model: Model, *, after: int = 0) -> bool:
    """Whether the stream brings nothing more after so many pieces."""
    stream = model.stream(asked())
    for _ in range(after):
        await anext(stream)
    try:
        await asyncio.wait_for(anext(stream), timeout=0.05)
    except TimeoutError:
        return True
    return False


@pytest.mark.parametrize("gives_way", [True, False])
async def test_one_never_stops_and_never_repeats_itself(gives_way: bool) -> None:
    pieces = await streamed(streams.NeverStops(gives_way=gives_way), asked(max_output_tokens=1), most=20_000)
    assert len({piece.text for piece in pieces if isinstance(piece, TextPiece)}) == 20_000
    watching = RepeatedChunk()
    assert all(watching.feed(piece.text) is None for piece in pieces if isinstance(piece, TextPiece))


async def test_one_lets_others_go_on_and_one_does_not() -> None:
    for gives_way in (True, False):
        ticked = asyncio.Event()
        asyncio.get_running_loop().call_soon(ticked.set)
        await streamed(streams.NeverStops(gives_way=gives_way), most=10)
        assert ticked.is_set() is gives_way
        await asyncio.sleep(0)


async def test_one_thinks_for_ever() -> None:
    assert all(isinstance(piece, ThoughtPiece) for piece in await streamed(streams.NeverStops(thinks=True)))


async def test_one_streams_nothing_for_ever() -> None:
    assert {cast("TextPiece", piece).text for piece in await streamed(streams.StreamsNothing())} == {""}


async def test_one_repeats_a_paragraph_until_it_is_noticed() -> None:
    watching = RepeatedChunk()
    pieces = await streamed(streams.RepeatsParagraph(), most=1_000)
    found = [watching.feed(text_of([piece])) for piece in pieces]
    assert next(each.times for each in found if each is not None) >= 10


async def test_one_drips() -> None:
    before = time.monotonic()
    pieces = await streamed(streams.DripsTokens(interval_s=0.01), most=4)
    assert time.monotonic() - before >= 0.04
    assert all(len(cast("TextPiece", piece).text) == 4 for piece in pieces)


async def test_one_hangs_before_its_first_token_and_one_after_some() -> None:
    assert await hangs(streams.Hangs())
    assert await hangs(streams.Hangs(pieces=3), after=3)
    assert not await hangs(streams.Hangs(pieces=3), after=2)


async def test_one_breaks_off() -> None:
    stream = streams.BreaksOff(pieces=1).stream(asked())
    await anext(stream)
    with pytest.raises(ModelBrokeOffError):
        await anext(stream)


async def test_one_breaks_off_silently() -> None:
    pieces = await streamed(streams.BreaksOff(pieces=2, silently=True))
    assert [type(piece) for piece in pieces] == [TextPiece, TextPiece]


async def test_one_will_not_be_cancelled_for_a_while() -> None:
    model = streams.Stubborn(for_s=0.1)
    task = asyncio.create_task(streamed(model))
    for _ in range(3):
        await asyncio.sleep(0.01)
        task.cancel()
    assert text_of(await task) == "I am not done. Now I am."
    assert model.times_cancelled == 3


async def test_one_ignores_its_cap_and_says_so_honestly() -> None:
    model = streams.IgnoresOutputCap(times=3)
    first, second = [await streamed(model, asked(max_output_tokens=50)) for _ in range(2)]
    told = end_of(first).usage
    assert told is not None
    assert told.output_tokens >= len(text_of(first)) / 4 > 2 * 50
    assert told.input_tokens == model.input_tokens(asked())
    assert calls_of(first)[0].arguments != calls_of(second)[0].arguments
    assert text_of(first) != text_of(second)


async def test_one_takes_its_time_to_be_closed() -> None:
    before = time.monotonic()
    await streamed(streams.ClosesSlowly(for_s=0.05), most=2)
    assert time.monotonic() - before >= 0.05


async def test_one_says_megabytes_in_one_piece() -> None:
    pieces = await streamed(streams.HugePiece(megabytes=2))
    assert [type(piece) for piece in pieces] == [TextPiece, ReplyEnded]
    assert len(text_of(pieces)) == 2_000_000


async def test_one_talks_after_the_end() -> None:
    pieces = await streamed(streams.TalksAfterTheEnd(), most=50)
    assert isinstance(pieces[1], ReplyEnded)
    assert sum(isinstance(piece, ReplyEnded) for piece in pieces) > 20
    assert len(text_of(pieces[2:])) > 100


def test_one_has_no_stream() -> None:
    assert not hasattr(streams.NoStream().stream(asked()), "__anext__")


async def test_one_streams_garbage_and_ends() -> None:
    pieces = await streamed(streams.StreamsGarbage(pieces=8))
    assert None in pieces
    assert isinstance(pieces[-1], ReplyEnded)


async def queries(model: Model, number: int) -> list[str]:
    """The arguments of one call per turn, as the kernel compares them."""
    told = await replies(model, number)
    return [canonical_arguments(call.arguments) for each in told for call in calls_of(each)]


async def test_one_runs_away_and_never_asks_twice() -> None:
    assert len(set(await queries(Runaway(), 1_000))) == 1_000


async def test_one_that_is_resumed_with_a_fresh_model_still_never_asks_twice() -> None:
    asked_now = [
        calls_of(await streamed(Runaway(), asked([UserMessage(text="Go.")] * length)))[0].arguments
        for length in range(1, 500)
    ]
    assert len(set(asked_now)) == len(asked_now)


async def test_one_that_runs_away_sums_up_when_its_tool_is_no_longer_offered() -> None:
    pieces = await streamed(Runaway(), asked(tools=()))
    assert not calls_of(pieces)
    assert text_of(pieces)


async def test_one_repeats_its_call() -> None:
    assert len(set(await queries(calls.RepeatsCall(), 5))) == 1


@pytest.mark.parametrize("length", [2, 3])
async def test_some_go_round_in_circles(length: int) -> None:
    made = await queries(calls.Cycles(length=length), 3 * length)
    assert len(set(made)) == length
    assert made == made[:length] * 3


async def test_one_finds_new_words_for_the_same_call() -> None:
    told = await replies(calls.RewordsItsProse(), 12)
    assert len({text_of(each) for each in told}) == 12
    written = [call.arguments for each in told for call in calls_of(each)]
    assert len(set(written)) > 4
    assert len({canonical_arguments(each) for each in written}) == 1


async def test_one_says_nothing() -> None:
    assert [type(piece) for piece in await streamed(calls.RepliesEmptily())] == [ReplyEnded]


async def test_one_only_talks() -> None:
    told = await replies(calls.OnlyProse(), 20)
    assert not any(calls_of(each) for each in told)
    assert len({text_of(each) for each in told}) == 20


async def test_one_asks_for_ten_thousand_calls_at_once() -> None:
    made = calls_of(await streamed(calls.ManyCalls(), most=20_000))
    assert len({(call.id, call.arguments) for call in made}) == 10_000


async def test_one_calls_tools_that_are_not_there() -> None:
    names = [calls_of(each)[0].tool for each in await replies(calls.UnknownTools(), 20)]
    assert len(set(names)) == 20
    assert "echo" not in names


async def test_one_breaks_its_arguments() -> None:
    texts = [calls_of(each)[0].arguments for each in await replies(calls.BrokenArguments(), 8)]
    assert len(set(texts)) == 8
    assert not any(is_object(text) for text in texts)


def is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


async def test_one_writes_megabytes_of_arguments() -> None:
    texts = [calls_of(each)[0].arguments for each in await replies(calls.HugeArguments(chars=1_000_000), 2)]
    assert all(len(text) > 1_000_000 for text in texts)
    assert texts[0] != texts[1]


async def test_one_says_and_asks_for_odd_text() -> None:
    pieces = await streamed(calls.SaysOddText())
    for text in (text_of(pieces), json.loads(calls_of(pieces)[0].arguments)["query"]):
        with pytest.raises(UnicodeEncodeError):
            text.encode()


async def test_one_calls_tools_when_none_are_offered() -> None:
    pieces = await streamed(calls.IgnoresLastTurn(), asked(tools=()))
    assert len(calls_of(pieces)) == 1
    assert text_of(pieces) == ""


async def test_one_gives_all_its_calls_the_same_id() -> None:
    made = [call for each in await replies(calls.ReusesCallIds(), 3) for call in calls_of(each)]
    assert {call.id for call in made} == {"call_1"}
    assert len({call.arguments for call in made}) == 6


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (usage.tells_too_little, ModelUsage(input_tokens=1, output_tokens=1)),
        (usage.tells_too_much, ModelUsage(input_tokens=10**18, output_tokens=10**18)),
        (usage.tells_none, None),
        (usage.tells_negative, ModelUsage(input_tokens=-1_000_000, output_tokens=-1)),
    ],
)
async def test_some_lie_about_what_they_used(make: Callable[[], Model], told: ModelUsage | None) -> None:
    pieces = await streamed(make())
    assert end_of(pieces).usage == told
    assert calls_of(pieces)


async def test_one_tells_usage_that_is_no_number() -> None:
    told = end_of(await streamed(usage.tells_nonsense())).usage
    assert told is not None
    assert told.input_tokens != told.input_tokens
    assert cast("object", told.output_tokens) == "many"


async def test_one_gives_the_same_reason_in_other_white_space() -> None:
    parsed = [parse_reply(text_of(each)) for each in await replies(signals.same_reason(), 12)]
    reasons = [each.signal.reason for each in parsed if each.signal is not None]
    assert len(reasons) == 12
    assert all(one != other for one, other in pairwise(reasons))
    assert len({fold_text(reason or "") for reason in reasons}) == 1


async def test_one_writes_signals_that_cannot_be_read() -> None:
    parsed = [parse_reply(text_of(each)) for each in await replies(signals.malformed_signals(), 14)]
    assert all(each.signal is None for each in parsed)
    assert sum(each.malformed_count for each in parsed) == 8


async def test_one_writes_signals_inside_signals() -> None:
    parsed = parse_reply(text_of(await streamed(signals.nested_signals(depth=5))))
    assert parsed.malformed_count
    assert "signal" not in parsed.text


async def test_one_streams_its_signals_in_tiny_pieces() -> None:
    pieces = await streamed(signals.split_signals(), most=1_000)
    assert all(len(piece.text) <= 3 for piece in pieces if isinstance(piece, TextPiece))
    assert parse_reply(text_of(pieces)).signal is not None


@pytest.mark.parametrize("kind", sorted(errors.PROVIDER_ERRORS))
async def test_some_fail_for_ever_as_providers_do(kind: str) -> None:
    model = errors.FailsForEver(errors.PROVIDER_ERRORS[kind])
    for _ in range(3):
        with pytest.raises(ModelError):
            await streamed(model)


def test_there_is_one_of_each_kind_of_provider_error() -> None:
    kinds = {type(make()) for make in errors.PROVIDER_ERRORS.values()}
    assert kinds == {ModelError, *ModelError.__subclasses__()}


async def test_one_recovers() -> None:
    model = errors.Recovers(failures=2, answer="At last.")
    for _ in range(2):
        with pytest.raises(ModelOverloadedError):
            await streamed(model)
    assert text_of(await streamed(model)) == "At last."


async def test_one_asks_to_wait_an_hour() -> None:
    with pytest.raises(ModelOverloadedError) as told:
        await streamed(errors.asks_to_wait_an_hour())
    assert told.value.retry_after_s == 3_600


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (errors.raises_exception, Exception),
        (errors.raises_base_exception, errors.Catastrophe),
        (errors.raises_system_exit, SystemExit),
        (errors.raises_cancelled, asyncio.CancelledError),
    ],
)
async def test_some_raise_what_no_model_should(make: Callable[[], Model], kind: type[BaseException]) -> None:
    raised: BaseException | None = None
    try:
        await streamed(make())
    except BaseException as error:  # noqa: BLE001 - that is what is tested
        raised = error
    assert type(raised) is kind
