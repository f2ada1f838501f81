"""Chunks out of bytes: whatever way they are cut, and from wherever one goes on."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.client import Chunk
from endstop.client.stream import MOST_TRIES, Events, Tail
from endstop.errors import EndstopError

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def event(chunk_id: str, text: str, *, end: str = "\n") -> str:
    data = json.dumps({"type": "content", "content": text}, ensure_ascii=False)
    return f"event: content{end}data: {data}{end}id: {chunk_id}{end}{end}"


def fed(pieces: list[bytes]) -> list[Chunk]:
    events = Events()
    return [chunk for piece in pieces for chunk in events.feed(piece)]


@given(
    texts=st.lists(TEXTS, max_size=4),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    cuts=st.lists(st.integers(0, 400), max_size=6),
)
def test_events_are_the_same_however_their_bytes_are_cut(texts: list[str], end: str, cuts: list[int]) -> None:
    whole = "".join(event(f"{n}.0", text, end=end) for n, text in enumerate(texts)).encode()
    places = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    pieces = [whole[a:b] for a, b in pairwise(places)]
    # A last "\r" may be half of a line's end: only what follows it can tell.
    chunks = fed([*pieces, b":\n"])
    assert [(chunk.id, chunk.text) for chunk in chunks] == [(f"{n}.0", text) for n, text in enumerate(texts)]


def test_what_python_takes_for_the_end_of_a_line_is_a_part_of_the_text() -> None:
    text = "a\u2028b\x85c\x0bd\x1ce"
    data = json.dumps({"type": "content", "content": text}, ensure_ascii=False)
    assert "\u2028" in data
    assert [chunk.text for chunk in fed([f"data: {data}\n\n".encode()])] == [text]


def test_comments_unknown_fields_and_empty_events_are_no_chunks() -> None:
    assert fed([b": ping\n\nretry: 5\n\nid: 7\n\nevent: content\n\n:\n"]) == []


def test_data_of_several_lines_is_one_text() -> None:
    (chunk,) = fed([b'data: {"type":\ndata: "content"}\n\n'])
    assert chunk.type == "content"


def test_a_chunk_without_an_id_has_that_of_the_one_before_it() -> None:
    first, second = fed([(event("3.0", "a") + 'data: {"type":"system"}\n\n').encode()])
    assert (first.id, second.id) == ("3.0", "3.0")


def test_an_id_with_a_null_in_it_is_ignored() -> None:
    (chunk,) = fed([b'id: 1.0\nid: 2\x00.0\ndata: {"type":"content"}\n\n'])
    assert chunk.id == "1.0"


def test_a_type_may_stand_in_the_event_or_in_its_data() -> None:
    (chunk,) = fed([b'event: retract\ndata: {"chars":3}\n\n'])
    assert (chunk.type, chunk.data) == ("retract", {"chars": 3})


@pytest.mark.parametrize("data", [b"nonsense", b"[]", b"7", b'"text"'])
def test_a_stream_of_somebody_elses_is_refused(data: bytes) -> None:
    with pytest.raises(EndstopError, match="not what Endstop sends"):
        fed([b"data: " + data + b"\n\n"])


def chunk(kind: str, chunk_id: str = "1.0", **data: object) -> Chunk:
    return Chunk(id=chunk_id, type=kind, data=data)


def test_a_reader_sees_words_and_messages() -> None:
    assert chunk("content", content="hello").text == "hello"
    assert chunk("system", system_message="Slow down.").text == "Slow down."
    assert chunk("done", answer="hello").text == ""


def test_a_tail_asks_for_what_follows_the_last_chunk_it_saw() -> None:
    tail = Tail()
    assert tail.headers == {}
    tail.seen(chunk("content", "4.0"))
    tail.seen(chunk("content", ""))
    assert tail.headers == {"Last-Event-ID": "4.0"}
    assert not tail.is_over
    tail.seen(chunk("done", "5.0"))
    assert tail.is_over


def test_a_tail_waits_longer_each_time_and_then_gives_up_with_the_reason() -> None:
    tail, why = Tail(), EndstopError("Nobody answers")
    waits = [tail.wait_s(why) for _ in range(MOST_TRIES - 1)]
    assert waits == sorted(waits)
    assert waits[0] < waits[-1] <= 5
    with pytest.raises(EndstopError, match="Nobody answers"):
        tail.wait_s(why)


def test_a_stream_that_only_ever_ends_is_given_up_too() -> None:
    tail = Tail()
    for _ in range(MOST_TRIES - 1):
        tail.wait_s(None)
    with pytest.raises(EndstopError, match="without its last chunk"):
        tail.wait_s(None)


def test_hearing_something_new_makes_a_tail_patient_again() -> None:
    tail = Tail()
    first = tail.wait_s(None)
    tail.wait_s(None)
    tail.seen(chunk("content"))
    assert tail.wait_s(None) == first
