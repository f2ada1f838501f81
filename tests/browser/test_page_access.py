"""Access: who comes in, and that nobody sees anything of somebody else."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from page_stage import Desk, PageServer
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.guarantee("I5", "I6")


def expect_sign_in(page: Page) -> None:
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    expect(page.get_by_role("navigation", name="Views")).to_have_count(0)


def test_the_link_lets_its_owner_in_once_and_leaves_no_key_in_the_address(
    own_server: PageServer, browser: Browser
) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(own_server.link)
    expect(page.get_by_role("navigation", name="Views")).to_be_visible()
    expect(page).to_have_url(f"{own_server.url}/")
    page.reload()
    expect(page.get_by_role("navigation", name="Views")).to_be_visible()
    second = browser.new_context()
    late = second.new_page()
    late.goto(own_server.link)
    expect(late.get_by_role("navigation", name="Views")).to_have_count(0)
    late.goto(own_server.url)
    expect_sign_in(late)
    context.close()
    second.close()


def test_nobody_comes_in_without_signing_in(
    shared_server: PageServer, open_desk: Callable[..., Desk]
) -> None:
    desk = open_desk(shared_server, storage_state={"cookies": [], "origins": []})
    expect_sign_in(desk.page)
    for path in ("/runs", "/settings", "/runs/run_1", "/trees/oracle-agent"):
        desk.go(path)
        expect_sign_in(desk.page)


def test_a_token_signs_in_and_signing_out_ends_it(
    shared_server: PageServer, open_desk: Callable[..., Desk]
) -> None:
    desk = open_desk(shared_server, storage_state={"cookies": [], "origins": []})
    page = desk.page
    page.get_by_label("Token").fill(desk.guest.token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("navigation", name="Views")).to_be_visible()
    page.get_by_role("link", name="Settings").click()
    expect(page.get_by_role("main")).to_contain_text(desk.guest.name)
    page.get_by_role("button", name="Sign out").click()
    expect_sign_in(page)
    page.reload()
    expect_sign_in(page)


@pytest.mark.thorough
def test_a_wrong_token_is_refused_with_the_reason(
    shared_server: PageServer, open_desk: Callable[..., Desk]
) -> None:
    desk = open_desk(shared_server, storage_state={"cookies": [], "origins": []})
    desk.page.get_by_label("Token").fill("es_" + "x" * 43)
    desk.page.get_by_role("button", name="Sign in").click()
    expect(desk.page.get_by_role("alert")).to_be_visible()
    expect_sign_in(desk.page)


def test_a_cookie_without_the_key_of_the_page_opens_nothing(desk: Desk) -> None:
    expect(desk.page.get_by_role("navigation", name="Views")).to_be_visible()
    desk.page.evaluate("localStorage.clear()")
    desk.page.reload()
    expect_sign_in(desk.page)


@pytest.mark.thorough
def test_a_key_without_the_cookie_opens_nothing(desk: Desk) -> None:
    expect(desk.page.get_by_role("navigation", name="Views")).to_be_visible()
    desk.context.clear_cookies()
    desk.page.reload()
    expect_sign_in(desk.page)


@pytest.mark.thorough
def test_a_link_with_a_key_that_is_none_signs_nobody_out(desk: Desk) -> None:
    desk.page.goto(f"{desk.server.url}/runs#key=es_made_up")
    expect(desk.page.get_by_role("heading", name="Runs", level=1)).to_be_visible()
    expect(desk.page).to_have_url(re.compile("/runs$"))


def test_one_user_sees_nothing_of_another(shared_server: PageServer, open_desk: Callable[..., Desk]) -> None:
    ana, bob = open_desk(shared_server), open_desk(shared_server)
    run = ana.guest.ran("The secret of Ana")
    waiting = ana.guest.paused()
    conversation = ana.guest.conversation_of(run)
    for path, said in (
        ("/runs", "No runs yet"),
        ("/reviews", "Nothing waits for you"),
        ("/", "No conversations yet"),
        (f"/runs/{run}", "There is no run"),
        (f"/runs/{waiting}", "There is no run"),
        (f"/c/{conversation}", "There is no conversation"),
    ):
        bob.go(path)
        expect(bob.page.get_by_role("main")).to_contain_text(said)
        assert "secret of Ana" not in bob.page.content()
    ana.go(f"/runs/{run}")
    expect(ana.page.get_by_role("heading", name="The secret of Ana")).to_be_visible()


@pytest.mark.thorough
def test_a_session_that_ends_while_the_page_is_open_leads_to_the_way_in(desk: Desk) -> None:
    desk.go("/runs")
    other = desk.second_tab()
    other.get_by_role("link", name="Settings").click()
    other.get_by_role("button", name="Sign out").click()
    expect_sign_in(other)
    expect_sign_in(desk.page)
