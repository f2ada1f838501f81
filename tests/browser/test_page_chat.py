"""Chat: asking, reading, stopping, and finding it again."""

from __future__ import annotations

import re

import pytest
from page_stage import FOREVER, Desk, Guest, Recorder, question_field, words_of
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.guarantee("I5")


def test_a_question_is_answered_and_never_stands_there_twice(desk: Desk) -> None:
    seen = Recorder.begun(
        desk.page, "document.querySelector('main').innerText.split('Hello there').length - 1 + ''"
    )
    desk.ask("Hello there")
    answered = desk.exchange("Hello there")
    expect(answered).to_contain_text("You said: Hello there")
    expect(answered.get_by_role("status")).to_have_text("Ended: Completed")
    expect(desk.page.get_by_role("article")).to_have_count(1)
    expect(desk.page.get_by_role("complementary", name="Conversations")).to_contain_text("Hello there")
    # The question, the answer that repeats it, the heading, and the list of conversations.
    desk.page.wait_for_function("() => window.seen.at(-1) === '4'")
    assert max(map(int, seen.samples())) == 4


@pytest.mark.guarantee("I1")
def test_the_answer_grows_while_it_is_written(desk: Desk) -> None:
    desk.ask("slowly 60")
    answer = desk.exchange("slowly 60")
    expect(answer).to_contain_text("word3")
    expect(answer.get_by_role("status")).to_have_text("Answering")
    assert "word59" not in answer.inner_text()
    expect(answer).to_contain_text("word59")
    expect(answer.get_by_role("status")).to_have_text("Ended: Completed")
    assert words_of(answer.inner_text()) == [f"word{number}" for number in range(60)]


@pytest.mark.thorough
def test_the_protocol_between_agent_and_engine_is_not_shown(desk: Desk) -> None:
    desk.ask("Hello")
    expect(desk.exchange("Hello").get_by_role("status")).to_have_text("Ended: Completed")
    expect(desk.page.get_by_role("main")).not_to_contain_text("<signal")


def test_a_source_opens_its_passage(desk: Desk) -> None:
    desk.ask("tools notes.md")
    sources = desk.exchange("tools notes.md").get_by_role("region", name="Sources")
    sources.get_by_role("button", name="notes.md:3").click()
    passage = desk.page.get_by_role("dialog", name="notes.md")
    expect(passage).to_contain_text("The needle is in the haystack.")
    desk.page.keyboard.press("Escape")
    expect(passage).to_be_hidden()
    expect(sources.get_by_role("button", name="notes.md:3")).to_be_focused()


def test_a_tool_call_is_one_line_that_opens_to_what_it_gave(desk: Desk) -> None:
    desk.ask("tools notes.md")
    call = desk.exchange("tools notes.md").get_by_role("button", name="read_file")
    expect(call).to_have_attribute("aria-expanded", "false")
    expect(desk.exchange("tools notes.md")).not_to_contain_text("# Notes")
    call.click()
    expect(desk.exchange("tools notes.md")).to_contain_text("# Notes")
    call.click()
    expect(desk.exchange("tools notes.md")).not_to_contain_text("# Notes")


def test_thinking_is_folded_until_somebody_wants_it(desk: Desk) -> None:
    desk.ask("think hard")
    answer = desk.exchange("think hard")
    expect(answer).to_contain_text("Thought through: hard")
    expect(answer).not_to_contain_text("First I weigh it.")
    answer.get_by_role("button", name="Thought").click()
    expect(answer).to_contain_text("First I weigh it.")


def test_enter_sends_and_shift_enter_begins_a_line(page: Page) -> None:
    expect(question_field(page)).to_be_focused()
    page.keyboard.type("One")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("Two")
    expect(question_field(page)).to_have_value("One\nTwo")
    expect(page.get_by_role("article")).to_have_count(0)
    page.keyboard.press("Enter")
    expect(page.get_by_role("article")).to_contain_text("You said: One")
    expect(question_field(page)).to_have_value("")


def test_enter_pressed_twice_asks_once(desk: Desk) -> None:
    question_field(desk.page).fill("Only once")
    desk.page.keyboard.press("Enter")
    desk.page.keyboard.press("Enter")
    expect(desk.exchange("Only once").get_by_role("status")).to_have_text("Ended: Completed")
    assert len(desk.guest.api("GET", "/api/runs")["runs"]) == 1


@pytest.mark.thorough
def test_an_empty_question_is_not_sent(page: Page) -> None:
    question_field(page).fill("   ")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Send")).to_be_disabled()
    expect(page.get_by_role("article")).to_have_count(0)


@pytest.mark.thorough
def test_a_slash_leads_to_the_question_from_anywhere_in_the_chat(page: Page) -> None:
    page.get_by_role("heading", level=1).click()
    question_field(page).blur()
    page.keyboard.press("/")
    expect(question_field(page)).to_be_focused()
    expect(question_field(page)).to_have_value("")


def test_the_palette_leads_to_every_view(page: Page) -> None:
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog").get_by_role("combobox")).to_be_focused()
    page.keyboard.type("sett")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/settings$"))
    expect(page.get_by_role("heading", name="Settings", level=1)).to_be_visible()
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_escape_stops_the_run_and_keeps_what_was_said(desk: Desk) -> None:
    desk.ask("slowly 2000")
    answer = desk.exchange("slowly 2000")
    expect(answer).to_contain_text("word5")
    desk.page.keyboard.press("Escape")
    notice = answer.get_by_role("region", name="Cancelled")
    expect(notice).to_contain_text("what it had by then")
    said = words_of(answer.inner_text())
    assert len(said) > 5
    assert said == [f"word{number}" for number in range(len(said))]
    expect(desk.page.get_by_role("button", name="Send")).to_be_visible()


@pytest.mark.thorough
def test_escape_closes_what_is_open_before_it_stops_anything(desk: Desk) -> None:
    desk.ask("slowly 2000")
    expect(desk.exchange("slowly 2000")).to_contain_text("word1")
    desk.page.keyboard.press("Control+k")
    expect(desk.page.get_by_role("dialog")).to_be_visible()
    desk.page.keyboard.press("Escape")
    expect(desk.page.get_by_role("dialog")).to_be_hidden()
    expect(desk.page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    desk.page.keyboard.press("Escape")
    expect(desk.exchange("slowly 2000").get_by_role("region", name="Cancelled")).to_be_visible()


def test_stop_now_ends_it_in_the_middle_of_a_turn(desk: Desk) -> None:
    desk.ask("slowly 2000")
    expect(desk.exchange("slowly 2000")).to_contain_text("word1")
    desk.page.get_by_role("button", name="Stop", exact=True).click()
    desk.page.get_by_role("menuitem", name="Stop now").click()
    expect(desk.exchange("slowly 2000").get_by_role("region", name="Cancelled")).to_be_visible()
    assert len(words_of(desk.exchange("slowly 2000").inner_text())) < 2000


def test_stop_after_the_turn_lets_the_turn_finish(desk: Desk) -> None:
    desk.ask(FOREVER)
    expect(desk.exchange(FOREVER)).to_contain_text("Part 1 is read.")
    desk.page.get_by_role("button", name="Stop", exact=True).click()
    desk.page.get_by_role("menuitem", name="Stop after this turn").click()
    answer = desk.exchange(FOREVER)
    expect(answer.get_by_role("region", name="Cancelled")).to_be_visible()
    said = re.findall(r"Part (\d+) is read", answer.inner_text())
    if answer.get_by_role("button", name="earlier calls").count():
        answer.get_by_role("button", name="earlier calls").click()
    expect(answer.get_by_role("button", name=re.compile(r"^search_code .* done$"))).to_have_count(len(said))


@pytest.mark.guarantee("A13")
def test_what_it_can_use_at_most_is_said_before_it_is_sent(page: Page, guest: Guest) -> None:
    composer = page.get_by_role("form", name="Ask")
    expect(composer).to_contain_text("at most 30 turns · 200k tokens")
    guest.set(max_iterations=7, token_budget=50_000, timeout_seconds=60)
    page.reload()
    expect(composer).to_contain_text("at most 7 turns · 50k tokens")
    expect(composer).to_contain_text("1 min")


@pytest.mark.thorough
def test_a_limit_changed_in_settings_changes_the_bound_in_the_chat(page: Page) -> None:
    expect(page.get_by_role("form", name="Ask")).to_contain_text("at most 30 turns")
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("textbox", name="Turns", exact=True).fill("9")
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    page.get_by_role("link", name="Chat").click()
    expect(page.get_by_role("form", name="Ask")).to_contain_text("at most 9 turns")


def test_a_conversation_goes_on_and_is_found_again(desk: Desk) -> None:
    desk.ask("First")
    expect(desk.exchange("First").get_by_role("status")).to_have_text("Ended: Completed")
    desk.ask("Second")
    expect(desk.exchange("Second")).to_contain_text("You said: Second")
    desk.go("/")
    expect(desk.page.get_by_role("article")).to_have_count(0)
    desk.page.get_by_role("navigation", name="Conversations").get_by_role("link", name="First").click()
    expect(desk.page.get_by_role("article")).to_have_count(2)
    expect(desk.exchange("First")).to_contain_text("You said: First")
    expect(desk.exchange("Second")).to_contain_text("You said: Second")


def test_a_branch_is_another_conversation_and_leaves_the_first_alone(desk: Desk) -> None:
    for question in ("First", "Second"):
        desk.ask(question)
        expect(desk.exchange(question).get_by_role("status")).to_have_text("Ended: Completed")
    trunk = desk.page.url
    desk.exchange("First").get_by_role("button", name="Branch from here").click()
    expect(desk.page).not_to_have_url(trunk)
    expect(desk.page.get_by_role("article")).to_have_count(1)
    desk.ask("Otherwise")
    expect(desk.exchange("Otherwise").get_by_role("status")).to_have_text("Ended: Completed")
    expect(desk.page.get_by_role("article")).to_have_count(2)
    desk.page.goto(trunk)
    expect(desk.exchange("Second")).to_be_visible()
    expect(desk.exchange("Otherwise")).to_have_count(0)


@pytest.mark.thorough
def test_a_deleted_conversation_is_gone_once_it_was_confirmed(desk: Desk) -> None:
    desk.ask("Forget me")
    expect(desk.exchange("Forget me").get_by_role("status")).to_have_text("Ended: Completed")
    listed = desk.page.get_by_role("navigation", name="Conversations").get_by_role("link", name="Forget me")
    desk.page.get_by_role("button", name="Delete Forget me").click()
    desk.page.get_by_role("button", name="Keep it").click()
    expect(listed).to_be_visible()
    desk.page.get_by_role("button", name="Delete Forget me").click()
    desk.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(listed).to_have_count(0)
    expect(desk.page).to_have_url(re.compile(r"/$"))
    desk.page.reload()
    expect(desk.page.get_by_text("No conversations yet")).to_be_visible()


def test_the_list_of_models_has_the_playground(page: Page) -> None:
    page.get_by_role("button", name="Model: ").click()
    choice = page.get_by_role("dialog", name="Choose a model")
    expect(choice.get_by_role("option", name="Runaway")).to_contain_text("How it ends")
    choice.get_by_role("combobox").fill("loop")
    expect(choice.get_by_role("option", name="Runaway")).to_be_hidden()
    choice.get_by_role("option").first.click()
    expect(choice).to_be_hidden()
    expect(page.get_by_role("button", name="Model: ")).to_contain_text("playground")


@pytest.mark.thorough
def test_what_was_typed_outlives_a_reload(page: Page) -> None:
    question_field(page).fill("Half a question")
    page.reload()
    expect(question_field(page)).to_have_value("Half a question")
