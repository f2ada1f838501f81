"""Streams: a reload, a lost connection, a killed server, a second tab: the same text, and it goes on."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from page_line import Line
from page_stage import Desk, PageServer, Recorder, exchange, question_field, words_of
from playwright.sync_api import Locator, expect

pytestmark = pytest.mark.guarantee("I1", "I5")

WORDS = 150
QUESTION = f"slowly {WORDS}"
ALL = [f"word{number}" for number in range(WORDS)]


def assert_said_in_full(answer: Locator) -> None:
    """Each word once and in order, and nothing after its end."""
    expect(answer.get_by_role("status")).to_have_text("Ended: Completed")
    assert words_of(answer.inner_text()) == ALL


def test_a_reload_in_the_middle_shows_the_same_text_and_goes_on(desk: Desk) -> None:
    desk.ask(QUESTION)
    expect(desk.exchange(QUESTION)).to_contain_text("word20")
    before = words_of(desk.exchange(QUESTION).inner_text())
    desk.page.reload()
    expect(desk.exchange(QUESTION)).to_contain_text(before[-1])
    assert words_of(desk.exchange(QUESTION).inner_text())[: len(before)] == before
    assert_said_in_full(desk.exchange(QUESTION))


@pytest.mark.thorough
def test_a_reload_after_the_end_shows_the_same_answer(desk: Desk) -> None:
    desk.ask("slowly 20")
    expect(desk.exchange("slowly 20").get_by_role("status")).to_have_text("Ended: Completed")
    desk.page.reload()
    expect(desk.exchange("slowly 20")).to_contain_text("word19")
    assert words_of(desk.exchange("slowly 20").inner_text()) == ALL[:20]


@pytest.mark.thorough
def test_going_to_another_view_and_back_loses_no_word(desk: Desk) -> None:
    desk.ask(QUESTION)
    expect(desk.exchange(QUESTION)).to_contain_text("word10")
    desk.page.get_by_role("link", name="Runs").click()
    expect(desk.page.get_by_role("heading", name="Runs", level=1)).to_be_visible()
    desk.page.go_back()
    assert_said_in_full(desk.exchange(QUESTION))


def test_the_text_only_grows_while_it_streams(desk: Desk) -> None:
    desk.ask(QUESTION)
    expect(desk.exchange(QUESTION)).to_contain_text("word0")
    seen = Recorder.begun(desk.page, "document.querySelector('article').innerText")
    assert_said_in_full(desk.exchange(QUESTION))
    texts = [_streamed(sample) for sample in seen.samples()]
    assert len(set(texts)) > 20, "it was looked at while it grew"
    for before, after in pairwise(texts):
        assert after.startswith(before), "text that was there was taken back or changed"


def test_the_text_stays_where_it_is_while_it_streams(desk: Desk) -> None:
    """No layout jumps: the first line of a short answer keeps its place."""
    desk.ask("slowly 60")
    expect(desk.exchange("slowly 60")).to_contain_text("word0")
    place = "Math.round(document.querySelector('article').getBoundingClientRect().top) + ''"
    seen = Recorder.begun(desk.page, place)
    expect(desk.exchange("slowly 60").get_by_role("status")).to_have_text("Ended: Completed")
    assert len(seen.samples()) == 1, seen.samples()


def test_a_connection_that_breaks_is_taken_up_again_without_a_word_lost_or_repeated(
    shared_server: PageServer, open_desk: Callable[..., Desk]
) -> None:
    with Line.laid(shared_server.port) as line:
        desk = open_desk(shared_server, proxy=line.proxy)
        desk.ask(QUESTION)
        answer = desk.exchange(QUESTION)
        expect(answer).to_contain_text("word20")
        line.cut()
        expect(answer).to_contain_text("The connection broke, trying again")
        rail = desk.page.get_by_role("complementary", name="Budget of the run")
        expect(rail).to_contain_text("The connection is gone")
        assert words_of(answer.inner_text())[20:], "what was said stays while it is tried again"
        line.mend()
        assert_said_in_full(answer)


@pytest.mark.thorough
def test_what_is_asked_while_the_line_is_down_can_be_asked_again(
    shared_server: PageServer, open_desk: Callable[..., Desk]
) -> None:
    with Line.laid(shared_server.port) as line:
        desk = open_desk(shared_server, proxy=line.proxy)
        line.cut()
        desk.ask("Are you there?")
        expect(desk.page.get_by_role("alert")).to_contain_text("cannot be reached")
        expect(question_field(desk.page)).to_have_value("Are you there?")
        line.mend()
        desk.page.get_by_role("button", name="Try again").click()
        expect(desk.exchange("Are you there?")).to_contain_text("You said: Are you there?")
        expect(desk.page.get_by_role("article")).to_have_count(1)


@pytest.mark.guarantee("H5")
def test_a_server_that_is_killed_and_comes_back_ends_the_run_without_a_word_twice(
    own_server: PageServer, open_desk: Callable[..., Desk]
) -> None:
    desk = open_desk(own_server)
    desk.ask(QUESTION)
    answer = desk.exchange(QUESTION)
    expect(answer).to_contain_text("word20")
    own_server.kill()
    expect(answer).to_contain_text("trying again")
    own_server.start()
    assert_said_in_full(answer)


def test_two_tabs_show_the_same_text(desk: Desk) -> None:
    desk.ask(QUESTION)
    expect(desk.exchange(QUESTION)).to_contain_text("word10")
    other = exchange(desk.second_tab(), QUESTION)
    expect(other).to_contain_text("word10")
    assert_said_in_full(other)
    assert_said_in_full(desk.exchange(QUESTION))


@pytest.mark.thorough
def test_what_is_asked_in_one_tab_appears_in_the_other(desk: Desk) -> None:
    desk.ask("First")
    expect(desk.exchange("First").get_by_role("status")).to_have_text("Ended: Completed")
    other = desk.second_tab()
    expect(exchange(other, "First")).to_be_visible()
    desk.ask("Second")
    expect(desk.exchange("Second").get_by_role("status")).to_have_text("Ended: Completed")
    expect(exchange(other, "Second")).to_contain_text("You said: Second")


@pytest.mark.thorough
def test_a_run_stopped_in_one_tab_is_stopped_in_the_other(desk: Desk) -> None:
    desk.ask("slowly 2000")
    expect(desk.exchange("slowly 2000")).to_contain_text("word5")
    other = desk.second_tab()
    expect(exchange(other, "slowly 2000")).to_contain_text("word5")
    other.keyboard.press("Escape")
    expect(desk.exchange("slowly 2000").get_by_role("region", name="Cancelled")).to_be_visible()
    expect(exchange(other, "slowly 2000").get_by_role("region", name="Cancelled")).to_be_visible()


def _streamed(text: str) -> str:
    """What was streamed, of all that stands there."""
    found = re.search(r"word0[word\d\s]*", text)
    return " ".join(found[0].split()) if found else ""
