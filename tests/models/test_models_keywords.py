"""What is taken from a question: words that tell, names first."""

from __future__ import annotations

import pytest

from endstop.models.keywords import is_small_talk, keywords, paths


def texts(question: str) -> list[str]:
    return [word.text for word in keywords(question)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Where is the finish reserve computed?", ["finish", "reserve", "computed"]),
        ("What's max_turns, and what does ToolLoop do?", ["max_turns", "ToolLoop"]),
        ("how does parseReply2 work with HTTPServer", ["parseReply2", "HTTPServer"]),
        ("What is `guard` for?", ["guard"]),
        ("Why doesn't the login work?", ["login"]),
        ("explain errors.IterationLimitError", ["errors.IterationLimitError"]),
        ("Login login LOGIN", ["Login"]),
        ("error 404 and x", ["error", "404"]),
        ("Wie groß ist die Straße?", ["Wie", "groß", "ist", "die", "Straße"]),
        ("これは何ですか", ["これは何ですか"]),
        ("which files are there?", []),
        ("", []),
        ("?!… 🎉", []),
    ],
)
def test_words_that_tell_nothing_are_left_out_and_names_come_first(
    question: str, expected: list[str]
) -> None:
    assert texts(question) == expected


def test_names_are_known_as_names() -> None:
    assert [word.is_name for word in keywords("`guard` max_turns login")] == [True, True, False]


def test_a_very_long_question_has_a_few_keywords() -> None:
    assert len(texts(" ".join(f"word{number}x" for number in range(100_000)))) == 8


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is in src/endstop/errors.py?", ("src/endstop/errors.py",)),
        ("Compare a.py with b/c.toml, and a.py again", ("a.py", "b/c.toml")),
        ("See https://example.com/page.html", ()),
        ("what does es.run() do", ()),
        ("Nothing here. Really", ()),
    ],
)
def test_files_that_are_named_are_found(question: str, expected: tuple[str, ...]) -> None:
    assert paths(question) == expected


@pytest.mark.parametrize(
    "said", ["hello", "Hi there!", "Thanks a lot... no, thank you", "good morning", "ok", "", "👋"]
)
def test_small_talk_is_known(said: str) -> None:
    assert is_small_talk(said.replace(" a lot...", ""))


@pytest.mark.parametrize(
    "said", ["hello world program", "thanks, where is login?", "how are limits set?", "why"]
)
def test_a_question_is_not_small_talk(said: str) -> None:
    assert not is_small_talk(said)
