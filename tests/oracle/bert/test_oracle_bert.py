"""The chooser that reads (C7), with its real model: it needs no network, and sees what is meant."""

from __future__ import annotations

import socket

import pytest

from endstop.oracle.fallback import FallbackAction, Situation, make_chooser
from endstop.oracle.fallback_bert import BertChooser
from endstop.oracle.minilm import MiniLm
from endstop.signals import FieldValue, Signal, SignalType

CONTINUE, FORCE = FallbackAction.CONTINUE, FallbackAction.FORCE_RESPONSE
RETRY, ESCALATE = FallbackAction.RETRY_WITH_HINT, FallbackAction.ESCALATE


@pytest.fixture(scope="module")
def model() -> MiniLm:
    return MiniLm()


@pytest.fixture(scope="module")
def chooser(model: MiniLm) -> BertChooser:
    return BertChooser(lambda: model)


def stuck(**fields: FieldValue) -> Signal:
    return Signal(type=SignalType.STUCK, confidence=0.4, fields=fields)


def likeness(model: MiniLm, one: str, other: str) -> float:
    return sum(a * b for a, b in zip(model.encode(one), model.encode(other), strict=True))


def test_texts_that_mean_alike_lie_close_together(model: MiniLm) -> None:
    near = likeness(model, "I may not open that folder", "Access to the directory is denied")
    far = likeness(model, "I may not open that folder", "The cake was delicious")
    assert near > far + 0.3


def test_the_same_text_gives_the_same_vector_of_length_1(model: MiniLm) -> None:
    vector = model.encode("Where is the retry?")
    assert vector == model.encode("Where is the retry?")
    assert len(vector) == 384
    assert sum(one * one for one in vector) == pytest.approx(1.0)


def test_any_text_can_be_encoded(model: MiniLm) -> None:
    for text in ("", " ", "\0", "👍" * 500, "word " * 5_000, "x" * 50_000, "\ud800"):
        assert len(model.encode(text)) == 384


def test_it_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("it went to the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    choice = make_chooser("bert")(Situation(text="Could you paste the log here?"))
    assert (choice.action, choice.by) == (ESCALATE, "bert")


UNSEEN: list[tuple[Situation, FallbackAction]] = [
    (Situation(text="Opening the next module.", tool_calls_last_turn=1, has_sources=True), CONTINUE),
    (Situation(text="I am reading the parser now.", tool_calls_last_turn=2), CONTINUE),
    (
        Situation(text="Found two callers, looking at both.", tool_calls_last_turn=2, has_sources=True),
        CONTINUE,
    ),
    (Situation(text="Searching the tests.", tool_calls_last_turn=1), CONTINUE),
    (Situation(text="The limit is 30 by default; it stands in settings.py:14.", has_sources=True), FORCE),
    (Situation(text="So there are two caches, one per user and one for all.", has_sources=True), FORCE),
    (Situation(text="The change log says it was removed in version 3.", has_sources=True), FORCE),
    (Situation(text="Both do the same, the second one faster.", has_sources=True), FORCE),
    (Situation(signal=stuck(blocker="no hits", suggestions=("try the plural",))), RETRY),
    (Situation(text="I do not see it.", signal=stuck(blocker="the search is empty")), RETRY),
    (Situation(text="It failed once more.", tool_calls_last_turn=1, tool_errors_in_a_row=2), RETRY),
    (Situation(text="Let me consider this."), RETRY),
    (Situation(text="Which of your servers is this about?"), ESCALATE),
    (Situation(text="What is the name of the customer you mean?"), ESCALATE),
    (Situation(text="Should the report be daily or weekly?"), ESCALATE),
    (Situation(text="Can you upload the file?"), ESCALATE),
]


@pytest.mark.guarantee("C7")
def test_most_situations_it_has_never_seen_are_chosen_rightly(chooser: BertChooser) -> None:
    choices = [(chooser(situation), action, situation) for situation, action in UNSEEN]
    assert {choice.by for choice, _, _ in choices} == {"bert"}
    wrong = [
        (choice.action, action, situation.text)
        for choice, action, situation in choices
        if choice.action != action
    ]
    assert len(wrong) <= 2, wrong


def test_a_choice_is_made_in_the_same_way_every_time(chooser: BertChooser) -> None:
    for situation, _ in UNSEEN:
        assert chooser(situation) == chooser(situation)
