"""Limits: one sees what is left, that it was warned, why it ended, and can let it go on."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from page_stage import FOREVER, Desk, Guest, Recorder, meter, question_field, turns_shown
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.guarantee("I5")


def choose_player(page: Page, title: str) -> None:
    page.get_by_role("button", name="Model: ").click()
    page.get_by_role("dialog", name="Choose a model").get_by_role("option", name=title).click()
    expect(page.get_by_role("button", name="Model: ")).to_contain_text("playground")


@pytest.mark.guarantee("I2")
def test_a_runaway_is_warned_in_amber_with_value_and_limit_and_without_buttons(desk: Desk) -> None:
    choose_player(desk.page, "Runaway")
    desk.ask("Run!")
    warning = desk.exchange("Run!").get_by_role("note").filter(has_text="iteration limit")
    expect(warning).to_contain_text("of 12 turns")
    expect(warning.get_by_role("button")).to_have_count(0)
    expect(warning.get_by_role("link")).to_have_count(0)
    expect(warning.get_by_role("textbox")).to_have_count(0)
    red, green, blue = colour_of(desk.page, "note")
    assert red > green > blue, "amber has more red than green, and more green than blue"


def test_a_runaway_ends_at_its_limit_with_the_reason_and_the_answer_kept(desk: Desk) -> None:
    choose_player(desk.page, "Runaway")
    desk.ask("Run!")
    run = desk.exchange("Run!")
    expect(run).to_contain_text("iteration limit allowed (12/12)")
    expect(run).to_contain_text("This is what I have found so far.")
    expect(meter(desk.page, "Turns")).to_have_attribute("aria-valuetext", "12 of 12")


def test_a_runaway_that_summed_up_on_its_last_turn_goes_on_with_ten_more_turns(desk: Desk) -> None:
    """As a question that follows: what has ended stays ended, and nothing of it is changed."""
    choose_player(desk.page, "Runaway")
    expect(desk.page.get_by_role("form", name="Ask")).to_contain_text("at most 12 turns")
    desk.ask("Run!")
    desk.exchange("Run!").get_by_role("button", name="Continue with 10 more turns").click()
    expect(desk.page.get_by_role("article")).to_have_count(2)
    expect(meter(desk.page, "Turns")).to_have_attribute("aria-valuetext", "10 of 10")
    expect(desk.page.get_by_role("article").last).to_contain_text("iteration limit allowed (10/10)")
    expect(desk.exchange("Run!")).to_contain_text("iteration limit allowed (12/12)")
    expect(desk.page.get_by_role("button", name="Continue with 10 more turns")).to_have_count(1)


@pytest.mark.thorough
def test_who_comes_back_to_a_runaway_continues_that_and_not_what_is_chosen_now(
    desk: Desk, guest: Guest
) -> None:
    desk.open_chat(guest.ran("Run!", model="playground:runaway", limits={"max_iterations": 3}))
    expect(desk.page.get_by_role("button", name="Model: ")).not_to_contain_text("Runaway")
    desk.exchange("Run!").get_by_role("button", name="Continue with 10 more turns").click()
    expect(desk.page.get_by_role("article")).to_have_count(2)
    expect(meter(desk.page, "Turns")).to_have_attribute("aria-valuetext", "10 of 10")


@pytest.mark.guarantee("A8")
def test_a_run_that_met_its_limit_goes_on_with_ten_more_turns(desk: Desk, guest: Guest) -> None:
    run = guest.paused(turns=4)
    desk.open_chat(run)
    stopped = desk.exchange("Never stop")
    notice = stopped.get_by_role("region", name="Paused")
    expect(notice).to_contain_text("limit")
    expect(notice).to_contain_text("is kept")
    expect(meter(desk.page, "Turns")).to_have_attribute("aria-valuetext", "4 of 4")
    shown = turns_shown(desk.page)
    notice.get_by_role("button", name="Continue with 10 more turns").click()
    expect(stopped).to_contain_text("added 10 turns")
    expect(meter(desk.page, "Turns")).to_have_attribute("aria-valuetext", "14 of 14")
    assert_only_grows(shown)
    assert desk.run_id() == run, "it went on in the same run"
    expect(desk.page.get_by_role("article")).to_have_count(1)


@pytest.mark.thorough
def test_a_run_that_met_its_limit_can_be_ended_there(desk: Desk, guest: Guest) -> None:
    desk.open_chat(guest.paused())
    desk.exchange("Never stop").get_by_role("button", name="End it here").click()
    expect(desk.exchange("Never stop").get_by_role("region", name="Abandoned")).to_contain_text("kept")
    expect(desk.page.get_by_role("button", name="Continue with")).to_have_count(0)


def test_meters_move_while_it_runs_and_show_warning_and_reserve(desk: Desk) -> None:
    desk.guest.set(max_iterations=10)
    desk.ask(FOREVER)
    shown = turns_shown(desk.page)
    rail = desk.page.get_by_role("complementary", name="Budget of the run")
    expect(rail).to_contain_text("Running")
    expect(rail).to_contain_text("Needs another turn")
    turns = meter(desk.page, "Turns")
    expect(turns.locator("[data-mark=warning]")).to_have_attribute("style", re.compile(r"left: 70%"))
    expect(turns.locator("[data-mark=reserve]")).to_have_attribute("style", re.compile(r"width: 10%"))
    expect(rail).to_contain_text("kept for finishing")
    expect(desk.page.get_by_role("button", name="Send")).to_be_visible()
    assert_only_grows(shown)


@pytest.mark.thorough
def test_time_never_falls_back_not_even_at_the_end(desk: Desk) -> None:
    seen = Recorder.begun(
        desk.page, "document.querySelector('aside [role=meter][aria-label=Time]')?.ariaValueText ?? ''"
    )
    desk.ask("slowly 60")
    expect(desk.exchange("slowly 60").get_by_role("status")).to_have_text("Ended: Completed")
    expect(desk.page.get_by_role("complementary", name="Budget of the run")).to_contain_text("Completed")
    seconds = [float(text.split(" s of ")[0]) for text in seen.samples() if " s of " in text]
    assert seconds[-1] > 1
    assert all(before - after < 0.5 for before, after in pairwise(seconds)), seconds


def test_the_path_of_the_tree_that_runs_now_is_named(desk: Desk) -> None:
    desk.ask("slowly 100")
    rail = desk.page.get_by_role("complementary", name="Budget of the run")
    expect(rail.get_by_role("heading", name="Running now")).to_be_visible()
    expect(rail.get_by_role("heading", name="Running now")).to_be_hidden()


def test_a_cost_that_nobody_knows_is_said_to_be_unknown(desk: Desk) -> None:
    desk.ask("Hello")
    expect(desk.exchange("Hello").get_by_role("status")).to_have_text("Ended: Completed")
    expect(meter(desk.page, "Cost")).to_have_attribute("aria-valuetext", "unknown (1 call)")
    desk.go(f"/runs/{desk.run_id()}")
    expect(desk.page.get_by_role("main")).to_contain_text("The price of 1 call is unknown")


def test_a_loop_says_what_was_found_and_why_it_ended(desk: Desk) -> None:
    choose_player(desk.page, "Repeats call")
    desk.ask("Look again")
    expect(desk.exchange("Look again").get_by_role("note").first).to_be_visible()
    expect(desk.page.get_by_role("button", name="Send")).to_be_visible()
    desk.go(f"/runs/{desk.run_id()}")
    expect(desk.page.get_by_role("heading", name="Findings (")).to_be_visible()


@pytest.mark.thorough
def test_while_one_question_runs_another_is_not_sent(desk: Desk) -> None:
    desk.ask("slowly 100")
    expect(desk.exchange("slowly 100")).to_contain_text("word1")
    desk.ask("And now?")
    expect(question_field(desk.page)).to_have_value("And now?")
    expect(desk.page.get_by_role("article")).to_have_count(1)


def assert_only_grows(shown: Recorder) -> None:
    read = [[int(part) for part in text.split(" of ")] for text in shown.samples() if " of " in text]
    used, limits = [one[0] for one in read], [one[1] for one in read]
    assert len(set(used)) > 3, "it moved while it ran"
    assert used == sorted(used)
    assert limits == sorted(limits)


def colour_of(page: Page, role: str) -> tuple[int, ...]:
    """The colour of its border, as red, green and blue."""
    script = """node => {
        const context = document.createElement('canvas').getContext('2d');
        context.fillStyle = getComputedStyle(node).borderTopColor;
        context.fillRect(0, 0, 1, 1);
        return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
    }"""
    return tuple(page.get_by_role(role).first.evaluate(script))  # pyright: ignore[reportArgumentType]
