"""The grammar, on whole replies: what is shown, what counts, what is logged."""

from __future__ import annotations

import pytest

import endstop.signals
from endstop.signals import FieldValue, ParsedReply, Signal, SignalType, parse_reply

FULL = '<signal type="need_turn"><reason>more</reason><confidence>0.85</confidence></signal>'
STUCK = '<signal type="stuck"/>'
OPEN = '<signal type="stuck">'
CLOSE = "</signal>"


def nothing_found(reply: ParsedReply) -> bool:
    return reply.signal is None and reply.extra_count == 0 and reply.malformed_count == 0


@pytest.mark.guarantee("C1", "C2", "C3")
def test_a_reply_that_ends_with_a_signal() -> None:
    reply = parse_reply(f"The answer.\n\n{FULL}")
    assert reply.text == "The answer.\n\n"
    assert reply.signal == Signal(type=SignalType.NEED_TURN, confidence=0.85, fields={"reason": "more"})
    assert (reply.extra, reply.malformed, reply.extra_count, reply.malformed_count) == ((), (), 0, 0)


@pytest.mark.guarantee("C1")
@pytest.mark.parametrize("type_", list(SignalType))
def test_every_type_is_read(type_: SignalType) -> None:
    reply = parse_reply(f'<signal type="{type_.value}"><note>x</note></signal>')
    assert reply.signal == Signal(type=type_, fields={"note": "x"})


@pytest.mark.guarantee("C1", "C2")
@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ("", {}),
        ("\n  <reason> a &lt; b </reason>\n  <n>2</n>\n", {"reason": "a < b", "n": 2}),
        ("<reason>a < b & c > d</reason>", {"reason": "a < b & c > d"}),
        ("<reason><b>bold</b></reason>", {"reason": "<b>bold</b>"}),
        ('<s>["a", "b"]</s>', {"s": ("a", "b")}),
        ("<a>1</a><a>2</a>", {"a": 1}),
        ("<confidence>0.5</confidence>", {}),
        ("<reason>the tag <signal> is</reason>", {"reason": "the tag <signal> is"}),
        ("<reason>日本 😀</reason>", {"reason": "日本 😀"}),
    ],
)
def test_the_fields_of_a_signal(body: str, fields: dict[str, FieldValue]) -> None:
    reply = parse_reply(f"{OPEN}{body}{CLOSE}")
    assert reply.text == ""
    assert reply.signal == Signal(type=SignalType.STUCK, fields=fields)


@pytest.mark.guarantee("C1", "C3")
@pytest.mark.parametrize(
    "opening",
    [
        '<signal type="stuck"/>',
        "<signal type='stuck'/>",
        '<signal\ttype = "stuck" />',
        '<signal\n  id="7"\n  type=\n"stuck" lang=\'en\'/>',
        '<signal\u00a0type="stuck"/>',
        '<signal subtype="x" type="stuck" type="other"/>',
        f'<signal type="stuck"{" " * 243}/>',
    ],
)
def test_an_opening_tag_is_recognised(opening: str) -> None:
    reply = parse_reply(f"a{opening}b")
    assert reply.text == "ab"
    assert reply.signal == Signal(type=SignalType.STUCK)


@pytest.mark.guarantee("C3")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "a < b > c",
        "<",
        "<<<",
        "<sig",
        "<signal",
        "<signal>",
        "<signal >",
        "<signal/>",
        "<signals type='stuck'/>",
        "<signal-type='stuck'/>",
        '<Signal type="stuck"/>',
        "<signal type=stuck/>",
        '<signal type="stuck/>',
        "<signal type=\"stuck'/>",
        '<signal subtype="stuck"/>',
        '<signal id="type"/>',
        '<signal <b type="stuck"/>',
        f'<signal type="stuck"{" " * 244}/>',
        "</signal>",
        f"<signal >x{CLOSE}",
        f"</signal></signal>{'x' * 5000}</signal",
        "Use `<signal` to begin, then ` type`.",
        "< signal type='stuck'/>",
    ],
)
def test_text_that_only_looks_like_a_signal_is_shown(text: str) -> None:
    reply = parse_reply(text)
    assert reply.text == text
    assert nothing_found(reply)


@pytest.mark.guarantee("C4")
@pytest.mark.parametrize(
    ("envelope", "problem"),
    [
        ('<signal type="unheard"></signal>', "unknown type 'unheard'"),
        ('<signal type="unheard"/>', "unknown type 'unheard'"),
        ('<signal type=""/>', "unknown type ''"),
        (f"{OPEN}prose{CLOSE}", "text outside of the fields"),
        (f"{OPEN}<a>x</a>prose{CLOSE}", "text outside of the fields"),
        (f"{OPEN}<a>x{CLOSE}", "the field 'a' is not closed"),
        (f"{OPEN}<1>x</1>{CLOSE}", "a tag that opens no field"),
    ],
)
def test_a_malformed_signal_is_no_signal_stripped_and_logged(envelope: str, problem: str) -> None:
    reply = parse_reply(f"before {envelope} after")
    assert reply.text == "before  after"
    assert reply.signal is None
    assert [(entry.text, entry.problem) for entry in reply.malformed] == [(envelope, problem)]
    assert reply.malformed_count == 1


@pytest.mark.guarantee("C4")
def test_a_malformed_signal_before_it_does_not_hide_the_first_well_formed_one() -> None:
    reply = parse_reply(f'<signal type="unheard"/>{FULL}{STUCK}')
    assert reply.signal is not None
    assert reply.signal.type is SignalType.NEED_TURN
    assert [signal.type for signal in reply.extra] == [SignalType.STUCK]
    assert (reply.extra_count, reply.malformed_count) == (1, 1)


@pytest.mark.guarantee("C4")
def test_of_several_the_first_counts_and_the_rest_are_stripped() -> None:
    reply = parse_reply(f"a{FULL}b{STUCK}c{FULL}d")
    assert reply.text == "abcd"
    assert reply.signal is not None
    assert reply.signal.type is SignalType.NEED_TURN
    assert [signal.type for signal in reply.extra] == [SignalType.STUCK, SignalType.NEED_TURN]


@pytest.mark.guarantee("C4", "C9")
def test_hostile_replies_cannot_fill_the_memory() -> None:
    reply = parse_reply(STUCK * 100 + '<signal type="x"/>' * 50)
    assert (len(reply.extra), reply.extra_count) == (20, 99)
    assert (len(reply.malformed), reply.malformed_count) == (20, 50)
    assert reply.text == ""


@pytest.mark.guarantee("C3", "C4")
@pytest.mark.parametrize("between", ["", " \n", "<reason>", "  <reason>because "])
def test_a_signal_in_a_signal_spoils_the_outer_one(between: str) -> None:
    reply = parse_reply(f"a{OPEN}{between}{FULL}b{CLOSE}c{CLOSE}")
    assert reply.text == f"ac{CLOSE}"
    assert reply.signal is not None
    assert reply.signal.type is SignalType.NEED_TURN
    assert [(entry.text, entry.problem) for entry in reply.malformed] == [
        (OPEN + between, "another signal opens inside it")
    ]


@pytest.mark.guarantee("C3", "C4")
def test_every_signal_stripped_before_its_end_has_its_close_stripped() -> None:
    reply = parse_reply(f"{OPEN * 3}{STUCK}1{CLOSE}2{CLOSE}3{CLOSE}4{CLOSE}")
    assert reply.text == f"4{CLOSE}"
    assert reply.malformed_count == 3


@pytest.mark.guarantee("C3")
def test_the_rest_of_a_signal_after_one_inside_it_is_not_shown_if_its_close_comes_soon() -> None:
    nested = f"a{OPEN}<reason>see {STUCK}"
    assert parse_reply(f"{nested} ok</reason>{CLOSE}b").text == "ab"
    assert parse_reply(f"{nested}{'x' * 256}{CLOSE}b").text == "ab"
    assert parse_reply(f"{nested}{'x' * 257}{CLOSE}b").text == f"a{'x' * 257}b"
    assert parse_reply(f"{nested} the answer goes on").text == "a the answer goes on"
    assert parse_reply(f"{nested} one {STUCK} two{CLOSE}b").text == "a one b"
    assert parse_reply(f"{nested} and <signal type=").text == "a and "


@pytest.mark.guarantee("C3")
def test_prose_that_mentions_a_tag_before_the_signal_is_shown() -> None:
    mention = f"Write {OPEN} and then the fields. "
    reply = parse_reply(mention + FULL + CLOSE)
    assert reply.text == mention + CLOSE
    assert reply.signal is not None
    assert reply.malformed_count == 0


@pytest.mark.guarantee("C3", "C4")
@pytest.mark.parametrize(
    "cut_off",
    [
        OPEN,
        f"{OPEN} \n",
        f"{OPEN}<rea",
        f"{OPEN}<reason>because",
        f"{OPEN}<a>x</a></sign",
        f"{OPEN}<a>x <signal",
    ],
)
def test_a_signal_cut_off_by_the_end_is_stripped_and_logged(cut_off: str) -> None:
    reply = parse_reply(f"text {cut_off}")
    assert reply.text == "text "
    assert reply.signal is None
    assert [(entry.text, entry.problem) for entry in reply.malformed] == [(cut_off, "cut off before its end")]


@pytest.mark.guarantee("C3", "C4")
@pytest.mark.parametrize("cut_off", ["<signal type=", '<signal \n type ="stu', '<signal type="stuck" /'])
def test_an_opening_tag_cut_off_by_the_end_is_stripped_and_logged(cut_off: str) -> None:
    reply = parse_reply(f"text {cut_off}")
    assert reply.text == "text "
    assert [(entry.text, entry.problem) for entry in reply.malformed] == [
        (cut_off, "cut off in its opening tag")
    ]


@pytest.mark.guarantee("C3")
@pytest.mark.parametrize(
    "text",
    [
        "the tag <signal typ",
        '<signal id="1" type=',
        f"<signal type={'x' * 252}",
        f"write {OPEN} first",
        f"write {OPEN} then </sig",
        f"write {OPEN} then <signal",
    ],
)
def test_a_mention_at_the_end_is_shown(text: str) -> None:
    reply = parse_reply(text)
    assert reply.text == text
    assert nothing_found(reply)


@pytest.mark.guarantee("C3", "C4")
def test_a_signal_cut_off_after_a_mention_is_stripped() -> None:
    reply = parse_reply(f"write {OPEN} first <signal type=")
    assert reply.text == f"write {OPEN} first "
    assert reply.malformed_count == 1


@pytest.mark.guarantee("C3")
@pytest.mark.parametrize(("chars", "is_signal"), [(4_096, True), (4_097, False)])
def test_a_signal_has_a_body_of_4096_characters_at_most(chars: int, is_signal: bool) -> None:
    text = f"{OPEN}<a>{'x' * (chars - 7)}</a>{CLOSE}"
    reply = parse_reply(text)
    assert (reply.signal is not None) is is_signal
    assert reply.text == ("" if is_signal else text)


@pytest.mark.guarantee("C3", "C4")
@pytest.mark.parametrize("chars", [4_096, 4_097])
def test_a_signal_cut_off_has_a_body_of_4096_characters_at_most(chars: int) -> None:
    text = f"{OPEN}<a>{'x' * (chars - 3)}"
    reply = parse_reply(text)
    assert reply.text == ("" if chars == 4_096 else text)
    assert reply.malformed_count == (chars == 4_096)


@pytest.mark.guarantee("C3")
@pytest.mark.parametrize("tail", ["</signa", "<signal"])
def test_a_tag_begun_at_the_end_of_too_long_a_body_does_not_make_it_a_signal(tail: str) -> None:
    text = f"{OPEN}<a>{'x' * 4_090}{tail}"
    reply = parse_reply(text)
    assert reply.text == text
    assert nothing_found(reply)


@pytest.mark.guarantee("C3")
@pytest.mark.parametrize("fill", [5_000, 100_000])
def test_a_signal_after_one_that_never_closes_is_found(fill: int) -> None:
    unclosed = f"{OPEN}<reason>{'x' * fill}"
    reply = parse_reply(unclosed + FULL)
    assert reply.text == unclosed
    assert reply.signal is not None
    assert reply.signal.type is SignalType.NEED_TURN


@pytest.mark.guarantee("C3")
def test_a_close_after_too_long_a_body_is_swallowed_only_if_one_is_pending() -> None:
    too_long = f"{OPEN}<reason>{'x' * 5_000}"
    assert parse_reply(too_long + CLOSE).text == too_long + CLOSE
    assert parse_reply(OPEN + too_long + CLOSE + CLOSE).text == too_long + CLOSE


def test_text_that_loses_nothing_is_not_copied() -> None:
    text = "prose with <b>tags</b> and the beginning of a <sig"
    assert parse_reply(text).text is text


def test_the_public_names_are_sorted_and_exist() -> None:
    names = endstop.signals.__all__
    assert names == sorted(names)
    assert all(hasattr(endstop.signals, name) for name in names)
