"""Runs: all of them, narrowed by the address; and one of them, with how it ended and why."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from page_stage import FOREVER, Desk, Guest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.guarantee("I5")


def rows(page: Page) -> Locator:
    return page.get_by_role("table").get_by_role("link")


@pytest.fixture
def three_runs(guest: Guest) -> Guest:
    guest.ran("Apples are red")
    guest.ran("Pears are green")
    guest.paused()
    return guest


def test_every_run_is_listed_with_what_it_used_and_how_it_ended(desk: Desk, three_runs: Guest) -> None:
    desk.go("/runs")
    expect(rows(desk.page)).to_have_text(["Never stop", "Pears are green", "Apples are red"])
    apples = desk.page.get_by_role("row", name="Apples are red")
    expect(apples).to_contain_text("Completed")
    expect(apples).to_contain_text("unknown")
    expect(desk.page.get_by_role("row", name="Never stop")).to_contain_text("Waits for a review")


def test_filters_live_in_the_address(desk: Desk, three_runs: Guest) -> None:
    page = desk.page
    desk.go("/runs")
    expect(rows(page)).to_have_count(3)
    page.get_by_role("combobox", name="Status").select_option("Ended")
    expect(rows(page)).to_have_count(2)
    expect(page).to_have_url(re.compile("phase=ENDED"))
    page.reload()
    expect(rows(page)).to_have_count(2)
    expect(page.get_by_role("combobox", name="Status")).to_have_value("ENDED")
    page.go_back()
    expect(rows(page)).to_have_count(3)
    expect(page.get_by_role("combobox", name="Status")).to_have_value("any")


@pytest.mark.thorough
def test_a_search_finds_runs_by_words_of_their_question(desk: Desk, three_runs: Guest) -> None:
    desk.go("/runs")
    expect(rows(desk.page)).to_have_count(3)
    desk.page.keyboard.press("/")
    desk.page.keyboard.type("apples")
    expect(rows(desk.page)).to_have_text(["Apples are red"])
    expect(desk.page).to_have_url(re.compile("text=apples"))
    desk.page.get_by_role("searchbox").fill("plums")
    expect(desk.page.get_by_text("Nothing matches")).to_be_visible()
    desk.page.get_by_role("button", name="Show all runs").click()
    expect(rows(desk.page)).to_have_count(3)
    expect(desk.page.get_by_role("searchbox")).to_have_value("")


@pytest.mark.thorough
def test_a_new_user_is_told_what_will_stand_there(desk: Desk) -> None:
    desk.go("/runs")
    expect(desk.page.get_by_text("No runs yet")).to_be_visible()


@pytest.mark.thorough
def test_a_run_that_is_begun_elsewhere_appears_by_itself(desk: Desk) -> None:
    desk.go("/runs")
    expect(desk.page.get_by_text("No runs yet")).to_be_visible()
    desk.guest.ran("From afar")
    expect(rows(desk.page)).to_have_text(["From afar"])


@pytest.mark.guarantee("A5")
def test_a_run_says_in_a_sentence_how_it_ended_and_what_was_kept(desk: Desk, guest: Guest) -> None:
    run = guest.ran("Run!", model="playground:runaway", limits={"max_iterations": 6})
    desk.go(f"/runs/{run}")
    ending = desk.page.get_by_role("region", name="How it ended")
    expect(ending).to_contain_text("the last turn the iteration limit allowed (6/6)")
    expect(desk.page.get_by_role("heading", name="The answer")).to_be_visible()
    expect(desk.page.get_by_role("main")).to_contain_text("This is what I have found so far.")


def test_the_chart_is_drawn_and_says_in_words_what_it_shows(desk: Desk, guest: Guest) -> None:
    run = guest.ran("Run!", model="playground:runaway", limits={"max_iterations": 10})
    desk.go(f"/runs/{run}")
    chart = desk.page.get_by_role("img", name="Chart. It used 10 of 10 turns")
    expect(chart).to_be_visible()
    expect(chart.locator("canvas")).to_be_visible()
    assert painted(chart), "the canvas is not empty"
    marks = desk.page.get_by_role("list", name="Marks of the chart")
    expect(marks).to_contain_text("Approaching iteration limit")
    desk.page.get_by_text("The chart as a table").click()
    expect(
        desk.page.get_by_role("table", name="What was used by when").get_by_role("row").last
    ).to_contain_text("10")


@pytest.mark.thorough
def test_the_timeline_has_the_facts_and_can_be_narrowed_to_what_is_grave(desk: Desk, guest: Guest) -> None:
    run = guest.ran("Run!", model="playground:runaway", limits={"max_iterations": 10})
    desk.go(f"/runs/{run}")
    shown = desk.page.get_by_role("status").filter(has_text="facts")
    expect(shown).to_be_visible()
    expect(shown).to_contain_text(re.compile(r"\d+ of \d+ shown"))
    most = guest.api("GET", f"/api/runs/{run}")["facts"]
    expect(shown).to_contain_text(f"the record has {most} facts")
    every = desk.page.get_by_role("listitem").filter(has_text="Turn").count()
    desk.page.get_by_role("combobox", name="Show", exact=True).select_option("warning")
    expect(desk.page.get_by_role("listitem").filter(has_text="Turn")).not_to_have_count(every)
    expect(shown).to_contain_text(re.compile(r"^[1-3] of [1-3] shown"))


def test_the_audit_of_a_run_holds_and_says_what_was_checked(desk: Desk, guest: Guest) -> None:
    desk.go(f"/runs/{guest.ran('Hello')}")
    expect(desk.page.get_by_text("Holds", exact=True)).to_be_visible()
    expect(desk.page.get_by_role("img", name="Holds:").first).to_be_visible()
    expect(desk.page.get_by_role("img", name="Does not hold:")).to_have_count(0)


def test_an_export_has_every_fact_of_the_record(desk: Desk, guest: Guest, tmp_path: Path) -> None:
    run = guest.ran("Hello")
    facts = guest.api("GET", f"/api/runs/{run}")["facts"]
    desk.go(f"/runs/{run}")
    with desk.page.expect_download() as waiting:
        desk.page.get_by_role("button", name="Export").click()
    assert waiting.value.suggested_filename == f"{run}.jsonl"
    waiting.value.save_as(tmp_path / "record.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "record.jsonl").read_text().splitlines()]
    assert len(lines) == facts


@pytest.mark.thorough
def test_findings_stand_there_with_their_evidence(desk: Desk, guest: Guest) -> None:
    desk.go(f"/runs/{guest.ran('Again!', model='playground:repeats_call')}")
    expect(desk.page.get_by_role("heading", name="Findings (")).to_be_visible()
    expect(desk.page.get_by_role("main")).to_contain_text("the same again")


def test_a_run_that_waits_goes_on_from_its_page(desk: Desk, guest: Guest) -> None:
    run = guest.paused()
    desk.go(f"/runs/{run}")
    expect(desk.page.get_by_role("region", name="How it ended")).to_contain_text("It waits for a review.")
    desk.page.get_by_role("textbox", name="How many more turns").fill("2")
    desk.page.get_by_role("button", name="Continue with 2 more turns").click()
    expect(desk.page.get_by_role("meter", name="Turns")).to_have_attribute("aria-valuetext", "5 of 5")
    expect(desk.page.get_by_role("main")).to_contain_text("2 turns")


@pytest.mark.thorough
def test_a_run_under_way_is_followed_and_can_be_stopped(desk: Desk, guest: Guest) -> None:
    run = guest.began(FOREVER)
    desk.go(f"/runs/{run}")
    expect(desk.page.get_by_role("region", name="How it ended")).to_contain_text("It is running.")
    desk.page.get_by_role("button", name="Stop", exact=True).click()
    desk.page.get_by_role("menuitem", name="Now").click()
    expect(desk.page.get_by_role("region", name="How it ended")).to_contain_text(re.compile("ancelled"))


@pytest.mark.thorough
def test_a_run_leads_to_its_conversation_and_its_tree(desk: Desk, guest: Guest) -> None:
    desk.go(f"/runs/{guest.ran('Hello')}")
    desk.page.get_by_role("link", name="Its conversation").click()
    expect(desk.exchange("Hello")).to_be_visible()
    desk.page.go_back()
    desk.page.get_by_role("link", name="Its tree").click()
    expect(desk.page.get_by_role("heading", name="oracle-agent")).to_be_visible()


@pytest.mark.thorough
def test_a_run_that_does_not_exist_is_said_not_to(desk: Desk) -> None:
    desk.go("/runs/run_nobody")
    expect(desk.page.get_by_role("alert")).to_contain_text("run_nobody")


def painted(chart: Locator) -> bool:
    script = """node => {
        const canvas = node.querySelector('canvas');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size > 5;
    }"""
    return bool(chart.evaluate(script))
