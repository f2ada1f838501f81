"""Streaming: the same outcome however a reply is cut, and nothing held back without need."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endstop.signals import ParsedReply, SignalStream, SignalType, parse_reply
from endstop.signals.envelope import split_fields

FULL = '<signal type="need_turn"><reason>more</reason><confidence>0.85</confidence></signal>'

FRAGMENTS = [
    "prose",
    " ",
    "\n",
    "<",
    ">",
    "/",
    "&amp;",
    "日😀",
    "<sig",
    "nal",
    "<signal",
    "<signal ",
    "<signal\u2003",
    "<signal>",
    "<signal type=",
    ' type="stuck"',
    '"',
    '<signal type="stuck">',
    "<signal type='need_turn' >",
    '<signal id="3">',
    '<signal type="unheard">',
    '<signal type="stuck"/>',
    '<signal type="unheard" />',
    "</signal>",
    "</signal>",
    "</sig",
    "<reason>",
    "</reason>",
    "<reason>more</reason>",
    "<confidence>0.9</confidence>",
    "<list>[1, [2]]</list>",
    "[[[",
    "<b>x</b>",
    FULL,
    "x" * 250,
    "y" * 257,
    " " * 256,
    "z" * 4_070,
    "<reason>" + "w" * 4_090,
]

replies = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=14).map("".join)

TRICKY = [
    'a <signal type="stuck"><a>1</a></signal> b',
    "x<signal type='stuck'/>y<sig<signal type=\"stuck\"/></signal>",
    '<signal type="x"><signal type="stuck"/></signal></signal>',
    "<signal <signal >< signal></signal <signal type=",
    '<<signal\ntype="stuck"> <a>&lt;</a>\n</signal',
    'see <signal type="stuck"> here <signal type="stuck"/></s',
    '<signal type="stuck"><a><</a></</signal>></signal>',
]


def streamed(chunks: Iterable[str]) -> ParsedReply:
    stream = SignalStream()
    shown = [stream.feed(chunk) for chunk in chunks]
    shown.append(stream.finish())
    return ParsedReply(
        text="".join(shown),
        signal=stream.signal,
        extra=stream.extra,
        malformed=stream.malformed,
        extra_count=stream.extra_count,
        malformed_count=stream.malformed_count,
    )


def cut(text: str, places: Iterable[int]) -> list[str]:
    ends = [*places, len(text)]
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


class Reference:
    """The grammar once more, character by character, as slow and plain as it can be written."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.shown = ""
        self.well_formed = 0
        self.malformed = 0
        pending = at = 0
        while at < len(text):
            opening = self.opening(at)
            if opening is not None:
                judged = self.well_formed + self.malformed
                at, is_pending = self.signal(at, opening)
                pending += is_pending
                has_ended = not is_pending and self.well_formed + self.malformed > judged
                at, pending = self.rest(at, pending) if has_ended else (at, pending)
            elif pending and text.startswith("</signal>", at):
                at, pending = self.rest(at + len("</signal>"), pending - 1)
            elif len(text) - at <= 264 and re.fullmatch(r"<signal\s+type\s*=[^<>]*", text[at:]):
                self.malformed += 1
                at = len(text)
            else:
                self.shown += text[at]
                at += 1

    def rest(self, at: int, pending: int) -> tuple[int, int]:
        """Where to go on after the rest of the signals around one that ended at ``at``, if it is theirs."""
        while pending:
            close = self.text.find("</signal>", at)
            inner = any(self.opening(place) for place in range(at, max(close, at)))
            if not at <= close <= at + 256 or inner:
                break
            at, pending = close + len("</signal>"), pending - 1
        return at, pending

    def opening(self, at: int) -> re.Match[str] | None:
        match = re.compile(r"<signal(\s[^<>]{0,256})>").match(self.text, at)
        return match if match and re.search(r"""\stype\s*=\s*("[^"]*"|'[^']*')""", match[1]) else None

    def signal(self, at: int, opening: re.Match[str]) -> tuple[int, bool]:
        """Where to go on after the signal at ``at``, and whether its close is still to come."""
        if opening[1].endswith("/"):
            self.judge(opening[1], "")
            return opening.end(), False
        start = opening.end()
        for end in range(start, min(start + 4_096, len(self.text)) + 1):
            body = self.text[start:end]
            is_meant = body.strip() == "" or body.lstrip().startswith("<")
            if self.text.startswith("</signal>", end):
                self.judge(opening[1], body)
                return end + len("</signal>"), False
            if self.text.startswith("<signal", end) and self.opening(end) is not None:
                self.malformed += is_meant
                self.shown += "" if is_meant else self.text[at:end]
                return end, is_meant
            if end == len(self.text) and is_meant:
                self.malformed += 1
                return end, False
        self.shown += opening[0]
        return start, False

    def judge(self, attributes: str, body: str) -> None:
        type_ = re.search(r"""\stype\s*=\s*(?:"([^"]*)"|'([^']*)')""", attributes)
        assert type_ is not None
        is_known = (type_[1] or type_[2]) in set(SignalType)
        if is_known and not split_fields(body)[1]:
            self.well_formed += 1
        else:
            self.malformed += 1


@pytest.mark.guarantee("C3", "C4")
@settings(max_examples=400, deadline=None)
@given(text=replies, data=st.data())
def test_streaming_equals_one_shot(text: str, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=12).map(sorted))
    assert streamed(cut(text, places)) == parse_reply(text)


@pytest.mark.guarantee("C3", "C4")
@settings(max_examples=100, deadline=None)
@given(text=replies, size=st.sampled_from([1, 2, 3, 7, 8, 9, 64, 1_024]))
def test_streaming_in_equal_chunks_equals_one_shot(text: str, size: int) -> None:
    assert streamed(cut(text, range(size, len(text), size))) == parse_reply(text)


@pytest.mark.guarantee("C3", "C4")
@pytest.mark.parametrize("text", TRICKY)
def test_no_two_cuts_change_the_outcome(text: str) -> None:
    assert len(text) <= 60
    expected = parse_reply(text)
    assert streamed(text) == expected
    for places in combinations(range(len(text) + 1), 2):
        assert streamed(cut(text, places)) == expected


@pytest.mark.guarantee("C3", "C4")
@settings(max_examples=300, deadline=None)
@given(text=replies)
def test_the_grammar_holds(text: str) -> None:
    reply, expected = parse_reply(text), Reference(text)
    assert reply.text == expected.shown
    assert (reply.signal is not None) + reply.extra_count == expected.well_formed
    assert reply.malformed_count == expected.malformed


@pytest.mark.guarantee("C3", "C4")
@pytest.mark.parametrize("text", [*TRICKY, *FRAGMENTS])
def test_the_grammar_holds_for_every_beginning(text: str) -> None:
    for end in range(max(0, len(text) - 100), len(text) + 1):
        assert parse_reply(text[:end]).text == Reference(text[:end]).shown


@pytest.mark.guarantee("C3")
@settings(max_examples=300, deadline=None)
@given(prose=st.text(alphabet="ab <>/&", max_size=30), texts=st.lists(st.sampled_from(FRAGMENTS), max_size=6))
def test_a_well_formed_signal_is_never_shown(prose: str, texts: list[str]) -> None:
    shown = streamed([prose, *texts, FULL, *texts, prose]).text
    assert FULL not in shown
    # Text around a signal that was stripped can close up to another; what is shown is not read again.
    if "<sig" not in "".join(texts):
        assert parse_reply(shown).signal is None


@pytest.mark.guarantee("C3")
@given(chunks=st.lists(st.text(alphabet=st.characters(exclude_characters="<"))))
def test_text_without_an_angle_comes_out_at_once(chunks: list[str]) -> None:
    stream = SignalStream()
    assert [stream.feed(chunk) for chunk in chunks] == chunks
    assert stream.finish() == ""


MAY_BECOME_A_TAG = re.compile(r"<(s(i(g(n(a(l(\s[^<>]{0,256})?)?)?)?)?)?)?")


@pytest.mark.guarantee("C3")
@settings(max_examples=300, deadline=None)
@given(text=replies.filter(lambda text: not re.search(r"<signal\s[^<>]*type[^<>]*>", text)))
def test_it_never_withholds_text_that_is_not_a_signal(text: str) -> None:
    stream = SignalStream()
    shown = ""
    for end, char in enumerate(text, start=1):
        shown += stream.feed(char)
        held = text[len(shown) : end]
        assert text.startswith(shown)
        assert not held or MAY_BECOME_A_TAG.fullmatch(held)


def shared_beginning(texts: list[str]) -> str:
    first, last = min(texts), max(texts)
    same = [a == b for a, b in zip(first, last, strict=False)]
    return first[: [*same, False].index(False)]


ENDINGS = [
    "",
    "x",
    *('<signal type="stuck"/>'[start:] for start in range(22)),
    *("</signal>"[start:] for start in range(9)),
    '" type="stuck"/>',
    "' type='stuck'/>",
    "x" * 5_000,
]


@pytest.mark.guarantee("C3")
@pytest.mark.parametrize(
    "text", [*TRICKY, FULL, 'a <b <signal id="1', '<signal id="1"> <signal type="stuck">x']
)
def test_what_is_held_is_exactly_what_is_not_decided(text: str) -> None:
    stream = SignalStream()
    shown = ""
    for end, char in enumerate(text, start=1):
        shown += stream.feed(char)
        outcomes = [parse_reply(text[:end] + ending).text for ending in ENDINGS]
        assert shown == shared_beginning(outcomes)


@pytest.mark.guarantee("C3")
@pytest.mark.parametrize("close", ["</signal>", "</signa!"])
def test_the_beginning_of_a_close_is_held_only_while_one_is_pending(close: str) -> None:
    stream = SignalStream()
    assert [stream.feed(char) for char in close] == ["", "</", *close[2:]]
    prose = "x" * 300
    assert stream.feed(f'<signal type="x"><signal type="stuck"/>{prose}') == prose
    assert "".join(stream.feed(char) for char in close[:-1]) == ""
    assert stream.feed(close[-1]) == ("" if close == "</signal>" else close)


@pytest.mark.guarantee("C3")
def test_what_may_be_the_rest_of_a_signal_is_held_for_256_characters_and_no_longer() -> None:
    stream = SignalStream()
    assert stream.feed('<signal type="x"><signal type="stuck"/>') == ""
    assert "".join(stream.feed("x") for _ in range(256)) == ""
    assert stream.feed("x") == "x" * 257
    assert stream.feed("y") == "y"


@pytest.mark.guarantee("C3")
def test_an_opening_that_grows_too_long_is_shown_as_soon_as_it_is() -> None:
    stream = SignalStream()
    opening = "<signal " + "x" * 256
    assert "".join(stream.feed(char) for char in opening) == ""
    assert stream.feed("x") == opening + "x"
    assert stream.feed("y") == "y"


@pytest.mark.guarantee("C3")
def test_a_body_that_grows_too_long_is_shown_as_soon_as_it_is() -> None:
    stream = SignalStream()
    signal = '<signal type="stuck">' + "x" * 4_096
    assert "".join(stream.feed(char) for char in signal) == ""
    assert stream.feed("x") == signal + "x"
    assert stream.feed("y") == "y"


def test_a_signal_counts_as_soon_as_it_is_closed() -> None:
    stream = SignalStream()
    assert stream.feed(f"text {FULL[:-1]}") == "text "
    assert stream.signal is None
    assert stream.feed(f"{FULL[-1]} more") == " more"
    assert stream.signal is not None


def test_empty_chunks_change_nothing() -> None:
    chunks = [part for char in FULL for part in ("", char, "")]
    assert streamed(chunks) == parse_reply(FULL)


@pytest.mark.parametrize("text", ["", "text <sig", '<signal type="stuck"><a>', '<signal type="stuck">prose'])
def test_after_its_end_a_stream_has_nothing_left(text: str) -> None:
    stream = SignalStream()
    stream.feed(text)
    stream.finish()
    assert stream.finish() == ""
    assert stream.feed(f"new {FULL}") == "new "


@pytest.mark.guarantee("C9")
@pytest.mark.parametrize(
    "unit", ["<signal ", '<signal type="x">', "</signal>", "<", "<signal type='stuck'><a>"]
)
@pytest.mark.parametrize("size", [1, 1_000])
def test_what_is_held_stays_small(unit: str, size: int) -> None:
    text = unit * (20_000 // len(unit))
    stream = SignalStream()
    shown = sum(len(stream.feed(text[at : at + size])) for at in range(0, len(text), size))
    assert len(stream.finish()) <= 264
    assert shown <= len(text)
    assert len(stream.malformed) <= 20
