"""Reviews: a person decides whether a run that met its limit goes on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from page_stage import Desk, Guest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.guarantee("D4", "I5")


@pytest.fixture
def waiting(desk: Desk, guest: Guest) -> str:
    """A run that waits, before a person who looks at the reviews."""
    run = guest.paused()
    desk.go("/reviews")
    expect(desk.page.get_by_role("heading", name="1 review waits")).to_be_visible()
    return run


def test_the_navigation_counts_what_waits_as_it_comes(page: Page, guest: Guest) -> None:
    reviews = page.get_by_role("navigation", name="Views").get_by_role("link", name="Reviews")
    expect(reviews).not_to_contain_text("1")
    guest.paused()
    expect(reviews).to_contain_text("1")
    expect(page.get_by_role("link", name="A run waits for your decision")).to_be_visible()
    guest.paused()
    expect(reviews).to_contain_text("2")


@pytest.mark.guarantee("D3")
def test_a_review_says_why_what_it_was_doing_and_what_it_spent(page: Page, waiting: str) -> None:
    review = page.get_by_role("article")
    expect(review).to_contain_text("Never stop")
    expect(review).to_contain_text("limit")
    expect(review).to_contain_text("Was doing")
    expect(review).to_contain_text("3 turns")


def test_approving_with_an_amount_lets_it_go_on(page: Page, guest: Guest, waiting: str) -> None:
    page.get_by_role("textbox", name="Turns").fill("2")
    page.get_by_role("button", name="Approve and go on").click()
    expect(page.get_by_role("list", name="What was decided")).to_contain_text("The run goes on.")
    page.get_by_role("link", name="See the run").click()
    expect(page.get_by_role("meter", name="Turns")).to_have_attribute("aria-valuetext", "5 of 5")
    assert guest.api("GET", f"/api/runs/{waiting}")["grants"][0]["added"]["turns"] == 2


def test_asking_for_changes_gives_the_agent_the_feedback(page: Page, guest: Guest, waiting: str) -> None:
    page.get_by_role("radio", name="Ask for changes").check()
    page.get_by_role("button", name="Send and go on").click()
    expect(page.get_by_text("Say what the agent should do otherwise.")).to_be_visible()
    page.get_by_role("textbox", name="What should it do otherwise?").fill("Look in the cellar")
    page.get_by_role("button", name="Send and go on").click()
    expect(page.get_by_role("list", name="What was decided")).to_contain_text("changes asked for")
    facts = guest.api("GET", f"/api/runs/{waiting}/facts")
    assert "Look in the cellar" in str(facts)


def test_rejecting_ends_it_with_its_work_saved(page: Page, waiting: str) -> None:
    page.get_by_role("radio", name="Reject").check()
    page.get_by_role("textbox", name="Why?").fill("Enough")
    page.get_by_role("button", name="Reject …").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Reject").click()
    expect(page.get_by_role("list", name="What was decided")).to_contain_text("The run has ended")
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    page.get_by_role("link", name="See the run").click()
    expect(page.get_by_role("region", name="How it ended")).to_contain_text("Enough")


@pytest.mark.thorough
def test_a_rejection_is_asked_about_once_more_and_can_be_taken_back(page: Page, waiting: str) -> None:
    page.get_by_role("radio", name="Reject").check()
    page.get_by_role("textbox", name="Why?").fill("Enough")
    page.get_by_role("button", name="Reject …").click()
    page.get_by_role("button", name="Keep it as it is").click()
    expect(page.get_by_role("heading", name="1 review waits")).to_be_visible()


def test_what_is_decided_in_another_tab_disappears_here(desk: Desk, waiting: str) -> None:
    other = desk.second_tab()
    other.get_by_role("textbox", name="Turns").fill("1")
    other.get_by_role("button", name="Approve and go on").click()
    expect(desk.page.get_by_role("list", name="What was decided")).to_contain_text("decided meanwhile")


def test_more_than_the_cap_allows_is_refused_with_the_reason(page: Page, guest: Guest, waiting: str) -> None:
    page.get_by_role("textbox", name="Turns").fill("900")
    page.get_by_role("button", name="Approve and go on").click()
    expect(page.get_by_role("alert")).to_contain_text("900")
    expect(page.get_by_role("heading", name="1 review waits")).to_be_visible()
    assert guest.api("GET", f"/api/runs/{waiting}")["phase"] == "BUDGET_REVIEW"
    page.get_by_role("textbox", name="Turns").fill("1")
    page.get_by_role("button", name="Approve and go on").click()
    expect(page.get_by_role("list", name="What was decided")).to_contain_text("The run goes on.")


@pytest.mark.thorough
def test_an_amount_that_is_no_number_is_said_to_be_none(page: Page, waiting: str) -> None:
    page.get_by_role("textbox", name="Turns").fill("many")
    page.get_by_role("button", name="Approve and go on").click()
    expect(page.get_by_role("textbox", name="Turns")).to_have_attribute("aria-invalid", "true")


@pytest.mark.thorough
def test_reviews_of_others_are_not_there(waiting: str, desk: Desk, open_desk: Callable[..., Desk]) -> None:
    other = open_desk(desk.server)
    other.go("/reviews")
    expect(other.page.get_by_text("Nothing waits for you")).to_be_visible()
