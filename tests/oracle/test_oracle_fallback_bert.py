"""The chooser that reads (C7), without its model: how it votes, and what it does when there is no model.

With the model: the folder ``bert``.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.errors import EndstopError, InvalidValueError
from endstop.oracle.fallback import FallbackAction, Situation, choose, make_chooser
from endstop.oracle.fallback_bert import BertChooser, facts_of, words_of
from endstop.oracle.fallback_examples import EXAMPLES
from endstop.oracle.minilm import WordPieces, checked_file
from endstop.signals import Signal, SignalType

WORDS = [
    *["[PAD]", "[UNK]", "[CLS]", "[SEP]"],
    *["the", "agent", "##s", "play", "##ing", "?", "!", "你", "好", "-", "e", "##le", "##ve"],
]


class LetterCounts:
    """An encoder that goes by how often each letter occurs: enough for texts that are the same."""

    def encode(self, text: str) -> Sequence[float]:
        counts = Counter(text.lower())
        vector = [float(counts[chr(code)]) for code in range(97, 123)]
        length = sum(one * one for one in vector) ** 0.5 or 1.0
        return [one / length for one in vector]


class Broken:
    """An encoder that gives nonsense, or nothing."""

    def __init__(self, value: float | None) -> None:
        self.value = value

    def encode(self, text: str) -> Sequence[float]:
        if self.value is None:
            raise RuntimeError("no more memory")
        return [self.value, self.value]


@pytest.mark.guarantee("C7")
def test_without_its_packages_the_rules_decide_and_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    chooser = make_chooser("bert")
    for _ in range(2):
        choice = chooser(Situation(text="Which one do you mean?"))
        assert choice.action is FallbackAction.ESCALATE
        assert choice.by == "heuristics"
        assert choice.why.startswith("it asks the user something (bert cannot be used: ")
        assert "pip install 'endstop[bert]'" in choice.why


def test_loading_that_failed_is_not_tried_again() -> None:
    tries: list[int] = []

    def load() -> LetterCounts:
        tries.append(1)
        raise OSError("the disk is gone")

    chooser = BertChooser(load)
    whys = [chooser(Situation()).why for _ in range(3)]
    assert len(tries) == 1
    assert all("OSError: the disk is gone" in why for why in whys)


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), -1e300])
def test_a_model_that_breaks_leaves_it_to_the_rules(value: float | None) -> None:
    situation = Situation(text="hm", tool_calls_last_turn=1)
    choice = BertChooser(lambda: Broken(value))(situation)
    assert (choice.action, choice.by) == (choose(situation).action, "heuristics")
    assert "bert cannot be used" in choice.why


def test_a_known_situation_is_found_again_and_votes() -> None:
    chooser = BertChooser(LetterCounts)
    right = [chooser(known).action is action for action, known in EXAMPLES]
    assert sum(right) >= 0.8 * len(right)
    assert chooser(EXAMPLES[0][1]).by == "bert"


def test_each_action_has_examples_and_none_is_there_twice() -> None:
    counts = Counter(action for action, _ in EXAMPLES)
    assert set(counts) == set(FallbackAction)
    assert min(counts.values()) >= 10
    assert len({(words_of(known), facts_of(known)) for _, known in EXAMPLES}) == len(EXAMPLES)


def test_trying_again_comes_with_a_hint_and_nothing_else_does() -> None:
    chooser = BertChooser(LetterCounts)
    for _, known in EXAMPLES:
        choice = chooser(known)
        assert bool(choice.hint) is (choice.action is FallbackAction.RETRY_WITH_HINT)


@pytest.mark.guarantee("C7")
@given(st.text(max_size=200), st.integers(2, 9), st.integers(0, 2), st.booleans())
def test_it_keeps_to_the_bound_like_the_rules(text: str, before: int, calls: int, found: bool) -> None:
    situation = Situation(text=text, tool_calls_last_turn=calls, fallbacks_before=before, has_sources=found)
    assert BertChooser(LetterCounts)(situation).action in (
        FallbackAction.FORCE_RESPONSE,
        FallbackAction.ESCALATE,
    )


@pytest.mark.parametrize(
    ("situation", "words"),
    [
        (Situation(), "nothing"),
        (Situation(text="One. Two!\nThree?  Four."), "Three? Four."),
        (
            Situation(
                text="Hm.", signal=Signal(type=SignalType.STUCK, fields={"blocker": "a wall", "x": "y"})
            ),
            "Hm. a wall",
        ),
    ],
)
def test_what_is_read_is_the_end_of_the_reply_and_the_signal(situation: Situation, words: str) -> None:
    assert words_of(situation) == words


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("The AGENTS", ["the", "agent", "##s"]),
        ("playing?!", ["play", "##ing", "?", "!"]),
        ("Élève", ["e", "##le", "##ve"]),
        ("你好", ["你", "好"]),
        ("the\tagent\u200b-\0the", ["the", "agent", "-", "the"]),
        ("zebra", ["[UNK]"]),
        ("playz", ["[UNK]"]),
        ("s" * 101, ["[UNK]"]),
    ],
)
def test_a_text_is_cut_into_the_longest_pieces_that_are_known(text: str, pieces: list[str]) -> None:
    assert [WORDS[number] for number in WordPieces(WORDS).numbers(text)] == ["[CLS]", *pieces, "[SEP]"]


def test_a_long_text_is_cut_off() -> None:
    numbers = WordPieces(WORDS).numbers("the agents " * 100_000, most=8)
    assert [WORDS[number] for number in numbers] == [
        *["[CLS]", "the", "agent", "##s", "the", "agent", "##s", "[SEP]"],
    ]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package of somebody else's, which must not be imported."""
    folder = tmp_path / "some_weights"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    (folder / "data.bin").write_bytes(b"abc")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return folder


ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_file_in_a_package_is_found_and_checked(package: Path) -> None:
    assert checked_file("some_weights", "data.bin", ABC) == package / "data.bin"


@pytest.mark.parametrize(("name", "actual"), [("data.bin", "88d4266fd4e6"), ("other.bin", "missing")])
def test_a_file_that_is_not_the_one_meant_is_not_used(package: Path, name: str, actual: str) -> None:
    (package / "data.bin").write_bytes(b"abcd")
    with pytest.raises(InvalidValueError, match=rf"the SHA-256 of {name} is '{actual}"):
        checked_file("some_weights", name, ABC)


@pytest.mark.parametrize("name", ["no_such_package_here", "_csv"])
def test_a_package_that_is_not_there_is_an_error_that_says_how_to_get_it(name: str) -> None:
    with pytest.raises(EndstopError, match=rf"the package {name} is not installed\. Install it with: pip"):
        checked_file(name, "data.bin", ABC)
