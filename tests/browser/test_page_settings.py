"""Settings: saved as one changes them, with what is wrong beside the field; tokens, shown once."""

from __future__ import annotations

import re
from collections.abc import Callable

import httpx
import pytest
from page_stage import FOREVER, Desk, Guest, PageServer, meter
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.guarantee("I3", "I5")


@pytest.fixture
def settings(desk: Desk) -> Page:
    desk.go("/settings")
    expect(desk.page.get_by_role("textbox", name="Turns", exact=True)).to_have_value("30")
    return desk.page


def test_a_number_is_saved_as_it_is_typed(settings: Page, guest: Guest) -> None:
    settings.get_by_role("textbox", name="Turns", exact=True).fill("12")
    expect(settings.get_by_text("Saved", exact=True)).to_be_visible()
    settings.reload()
    expect(settings.get_by_role("textbox", name="Turns", exact=True)).to_have_value("12")
    assert guest.api("GET", "/api/settings/agent-config")["max_iterations"] == 12


@pytest.mark.thorough
def test_a_slider_moves_the_number_and_is_saved(settings: Page, guest: Guest) -> None:
    slider = settings.get_by_role("slider", name="Turns, slider")
    slider.focus()
    settings.keyboard.press("ArrowRight")
    expect(settings.get_by_role("textbox", name="Turns", exact=True)).to_have_value("31")
    expect(slider).to_have_attribute("aria-valuetext", "31 turns")
    expect(settings.get_by_text("Saved", exact=True)).to_be_visible()
    settings.reload()
    expect(settings.get_by_role("textbox", name="Turns", exact=True)).to_have_value("31")


def test_what_is_not_allowed_is_said_beside_the_field_and_not_saved(settings: Page, guest: Guest) -> None:
    turns = settings.get_by_role("textbox", name="Turns", exact=True)
    turns.fill("500")
    wrong = settings.get_by_role("alert")
    expect(wrong).to_contain_text("100")
    expect(turns).to_have_attribute("aria-invalid", "true")
    expect(settings.get_by_text("Not saved")).to_be_visible()
    assert guest.api("GET", "/api/settings/agent-config")["max_iterations"] == 30
    turns.fill("50")
    expect(wrong).to_have_count(0)
    expect(settings.get_by_text("Saved", exact=True)).to_be_visible()


@pytest.mark.thorough
def test_what_is_no_number_stays_to_be_mended(settings: Page) -> None:
    turns = settings.get_by_role("textbox", name="Turns", exact=True)
    turns.fill("many")
    expect(settings.get_by_role("alert")).to_be_visible()
    expect(turns).to_have_value("many")


def test_a_save_that_fails_says_so_and_can_be_tried_again(settings: Page) -> None:
    settings.route("**/api/settings/agent-config", lambda route: route.abort())
    settings.get_by_role("textbox", name="Turns", exact=True).fill("8")
    expect(settings.get_by_role("alert")).to_contain_text("cannot be reached")
    settings.unroute("**/api/settings/agent-config")
    settings.get_by_role("alert").get_by_role("button", name="Try again").click()
    expect(settings.get_by_text("Saved", exact=True)).to_be_visible()


def test_all_limits_can_be_set_back_to_the_defaults(settings: Page, guest: Guest) -> None:
    guest.set(max_iterations=5, token_budget=9_000)
    settings.reload()
    expect(settings.get_by_role("textbox", name="Turns", exact=True)).to_have_value("5")
    settings.get_by_role("button", name="Set back to the defaults").click()
    settings.get_by_role("button", name="Set back", exact=True).click()
    expect(settings.get_by_role("textbox", name="Turns", exact=True)).to_have_value("30")
    expect(settings.get_by_role("textbox", name="Tokens", exact=True)).to_have_value("200000")
    assert guest.api("GET", "/api/settings/agent-config")["max_iterations"] == 30


def test_a_change_counts_for_the_next_run_and_not_for_one_under_way(desk: Desk, guest: Guest) -> None:
    guest.set(max_iterations=20)
    desk.ask(FOREVER)
    expect(meter(desk.page, "Turns")).to_have_attribute("aria-valuetext", re.compile("of 20"))
    guest.set(max_iterations=5)
    desk.page.keyboard.press("Escape")
    expect(desk.exchange(FOREVER).get_by_role("region", name="Cancelled")).to_be_visible()
    expect(meter(desk.page, "Turns")).to_have_attribute("aria-valuetext", re.compile("of 20"))
    desk.ask("And now?")
    expect(meter(desk.page, "Turns")).to_have_attribute("aria-valuetext", "1 of 5")


@pytest.mark.thorough
def test_a_change_in_one_tab_is_there_in_another_after_a_reload(desk: Desk, settings: Page) -> None:
    other = desk.second_tab()
    settings.get_by_role("textbox", name="Turns", exact=True).fill("12")
    expect(settings.get_by_text("Saved", exact=True)).to_be_visible()
    other.reload()
    expect(other.get_by_role("textbox", name="Turns", exact=True)).to_have_value("12")


@pytest.mark.guarantee("I6")
def test_a_token_is_shown_once_lets_a_program_in_and_can_be_revoked(
    own_server: PageServer, open_desk: Callable[..., Desk]
) -> None:
    page = open_desk(own_server, storage_state={"cookies": [], "origins": []}).page
    page.goto(own_server.link)
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("textbox", name="What is it for?").fill("laptop")
    page.get_by_role("button", name="Make a token").click()
    shown = page.get_by_role("dialog", name="Your token laptop")
    secret = shown.get_by_role("textbox", name="The token").input_value()
    assert status_with(own_server, secret) == 200
    shown.get_by_role("button", name="I have it").click()
    expect(shown).to_be_hidden()
    page.reload()
    expect(page.get_by_role("list", name="Tokens that are good")).to_contain_text("laptop")
    assert secret not in page.content()
    page.get_by_role("button", name="Revoke laptop").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("button", name="Revoke laptop")).to_have_count(0)
    expect(page.get_by_text("1 token that has ended")).to_be_visible()


@pytest.mark.thorough
@pytest.mark.guarantee("I6")
def test_who_came_in_by_a_token_makes_no_other_and_is_told_why(settings: Page) -> None:
    settings.get_by_role("textbox", name="What is it for?").fill("laptop")
    settings.get_by_role("button", name="Make a token").click()
    expect(settings.get_by_role("alert")).to_contain_text("a token makes no others")


@pytest.mark.thorough
def test_colours_follow_the_machine_until_one_chooses(settings: Page) -> None:
    dark = "matchMedia('(prefers-color-scheme: dark)').matches"
    assert settings.evaluate(dark) is False
    background = "getComputedStyle(document.body).backgroundColor"
    light = settings.evaluate(background)
    settings.get_by_role("radio", name="Dark").check()
    assert settings.evaluate(background) != light
    chosen = settings.evaluate(background)
    settings.reload()
    expect(settings.get_by_role("radio", name="Dark")).to_be_checked()
    assert settings.evaluate(background) == chosen


def status_with(server: PageServer, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.get(f"{server.url}/api/session", headers=headers).status_code
