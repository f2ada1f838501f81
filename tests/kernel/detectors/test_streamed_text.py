"""A chunk of text repeated over and over inside one streaming reply (B4)."""

import re
from itertools import pairwise
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endstop.kernel.detectors import RepeatedChunk, RepeatedText
from endstop.kernel.thresholds import DEFAULT_THRESHOLDS, Thresholds

PROSE = (
    "The quick brown fox jumps over the lazy dog while nobody watches it from the other side of the fence. "
)
FIFTY = "I apologise for the confusion, let me try again.\n\n"
LONG = "".join(f"{number}. {PROSE}" for number in range(15))


def fed(*pieces: str, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> RepeatedText | None:
    reader = RepeatedChunk(thresholds)
    for piece in pieces:
        found = reader.feed(piece)
        if found is not None:
            return found
    return None


def first_found(text: str, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> int | None:
    """How many characters were read when it was found, one at a time."""
    reader = RepeatedChunk(thresholds)
    for count, character in enumerate(text, start=1):
        if reader.feed(character) is not None:
            return count
    return None


@pytest.mark.guarantee("B4")
@pytest.mark.parametrize("chunk", [FIFTY, "x" * 19 + ".", PROSE, LONG, "Straße – naïve ☃ und Äpfel ☂ "])
def test_ten_copies_are_found_and_nine_are_not(chunk: str) -> None:
    before = "First I looked at the files, and then: "
    assert fed(before, chunk * 9, "and so it ends, with something else altogether.") is None
    found = fed(before, chunk * 10)
    assert found is not None
    assert found.times == 10


@pytest.mark.guarantee("B4")
def test_the_chunk_is_told_with_its_number_of_copies() -> None:
    found = fed("So:", FIFTY * 10)
    assert found == RepeatedText(chunk=" ".join(FIFTY.split()) + " ", times=10)


@pytest.mark.guarantee("B4")
@pytest.mark.parametrize("size", [20, 33, 64, 100, 128, 777, 2_000])
def test_it_is_found_at_the_very_character_that_completes_the_last_copy(size: int) -> None:
    chunk = "".join(chr(ord("a") + (n * n // 3 + n // 7) % 26) for n in range(size - 1)) + "!"
    assert first_found("?" + chunk * 10) == 1 + 10 * size


@pytest.mark.guarantee("B4")
@pytest.mark.parametrize(("size", "found"), [(1_999, True), (2_000, True), (2_001, False)])
def test_chunks_up_to_the_largest_are_looked_for(size: int, found: bool) -> None:
    chunk = "".join(chr(ord("a") + (n * n // 5 + n // 11) % 26) for n in range(size))
    assert (fed(chunk * 12) is not None) is found


@pytest.mark.guarantee("B4")
@pytest.mark.parametrize(
    ("text", "found"), [("ha" * 99, False), ("ha" * 100, True), ("a" * 199, False), ("a" * 200, True)]
)
def test_a_short_chunk_must_fill_as_much_as_ten_of_twenty_characters(text: str, found: bool) -> None:
    assert (fed(text) is not None) is found


@pytest.mark.guarantee("B4")
@pytest.mark.parametrize(
    "text",
    ["-" * 5_000, "0, " * 2_000, "| --- | --- |\n" * 300, "1 0 0 1\n" * 500, "· " * 900, "" * 3, " " * 5_000],
)
def test_rulers_and_matrices_are_not_cut_off(text: str) -> None:
    assert fed(text) is None


@pytest.mark.guarantee("B4")
def test_ordinary_text_is_not_cut_off() -> None:
    numbered = "".join(f"{n}. {PROSE}\n" for n in range(200))
    table = "".join(f"| row {n} | yes | no |\n" for n in range(300))
    code = "".join(f"    assert value_{n} == {n}\n" for n in range(300))
    for text in (numbered, table, code):
        assert fed(*re.findall(r"(?s).{1,7}", text)) is None


@pytest.mark.guarantee("B4")
def test_white_space_between_the_copies_does_not_count() -> None:
    copies = [f"Let me check{gap}the file{gap}again." for gap in (" ", "\n", "  ", "\t\n ", "\r\n") * 2]
    assert fed(*[f"{copy}{gap}" for copy, gap in zip(copies, ["\n", " "] * 5, strict=True)]) is not None


@pytest.mark.guarantee("B4")
def test_a_chunk_that_holds_a_long_run_of_its_own_is_found() -> None:
    chunk = "=" * 300 + " heading " + "=" * 40
    assert first_found("intro " + chunk * 10) == 6 + 10 * len(chunk)


@pytest.mark.guarantee("B4")
def test_a_chunk_is_found_though_every_look_falls_into_a_run_inside_it() -> None:
    chunk = "a" * 10 + "x" + "a" * 69 + "y" + "a" * 47
    assert len(chunk) == 2 * 64
    assert first_found(chunk * 10) == 10 * len(chunk)


@pytest.mark.guarantee("B4")
def test_after_a_finding_the_search_begins_anew() -> None:
    reader = RepeatedChunk()
    found = [reader.feed(FIFTY) for _ in range(20)]
    assert [place for place, each in enumerate(found) if each is not None] == [9, 19]


@pytest.mark.guarantee("B4", "B11")
def test_copies_and_sizes_can_be_set() -> None:
    thresholds = Thresholds(repeated_chunks=3, smallest_chunk_chars=5, largest_chunk_chars=30)
    assert fed("abcdef " * 3, thresholds=thresholds) is not None
    assert fed("abcdef " * 2 + "abcdef", thresholds=thresholds) is None
    assert fed(("a" + "b" * 30) * 3, thresholds=thresholds) is not None
    assert fed("abcdefghijklmnopqrstuvwxyz12345" * 5, thresholds=thresholds) is None


SMALL = Thresholds(repeated_chunks=4, smallest_chunk_chars=4, largest_chunk_chars=24)


def is_repeated(text: str, thresholds: Thresholds) -> bool:
    """Whether a text ends in the copies that the thresholds ask for, by trying every length."""
    for length in range(1, thresholds.largest_chunk_chars + 1):
        span = thresholds.repeated_chunks * max(length, thresholds.smallest_chunk_chars)
        if span > len(text):
            break
        last = text[-span:]
        if last[length:] == last[:-length] and any(map(str.isalpha, last[-length:])):
            return True
    return False


@pytest.mark.guarantee("B4")
@settings(deadline=None)
@given(st.text("abc- \n", max_size=300))
def test_whatever_is_found_is_there(text: str) -> None:
    at = first_found(text, SMALL)
    if at is not None:
        assert is_repeated(re.sub(r"\s+", " ", text[:at]), SMALL)


@pytest.mark.guarantee("B4")
@settings(deadline=None)
@given(
    st.text("abcdefgh.", max_size=150),
    st.text("abcdefgh.", min_size=10, max_size=60).filter(lambda chunk: any(map(str.isalpha, chunk))),
)
def test_ten_copies_are_always_found_by_their_end(before: str, chunk: str) -> None:
    copies = max(10, -(-200 // len(chunk)))
    assert first_found(before + chunk * copies) is not None


@pytest.mark.guarantee("B4")
@settings(deadline=None)
@given(
    st.text("ab \n", max_size=120),
    st.text("abc \t", min_size=1, max_size=30),
    st.integers(2, 40),
    st.lists(st.integers(0, 400), max_size=12),
)
def test_how_the_text_is_cut_makes_no_difference(
    before: str, chunk: str, copies: int, cuts: list[int]
) -> None:
    text = before + chunk * copies
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[start:end] for start, end in pairwise(places)]
    assert fed(*pieces) == fed(text) == fed(*text)


def test_memory_is_bounded_and_the_cost_linear() -> None:
    reader = RepeatedChunk()
    began = perf_counter()
    for number in range(20_000):
        reader.feed(f"{number} {PROSE[number % 90 :]}"[:25])
    assert perf_counter() - began < 5
    kept = vars_of(reader)
    assert len(kept["_text"]) <= 20_001
    assert len(kept["_due"]) <= 32
    assert sum(map(len, kept["_pending"])) <= 64


def vars_of(reader: RepeatedChunk) -> dict[str, str]:
    return {name: getattr(reader, name) for name in RepeatedChunk.__slots__}


def test_many_lengths_under_watch_are_bounded() -> None:
    text = "".join(chr(ord("a") + (n * n // 3 + n // 7 + n // 31) % 26) for n in range(1_984))
    for distance in range(700, 1_500, 17):
        text += text[-distance : 64 - distance]
    reader = RepeatedChunk()
    assert reader.feed(text) is None
    assert len(vars_of(reader)["_due"]) == 32
