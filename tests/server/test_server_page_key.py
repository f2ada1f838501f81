"""Coming in over real HTTP: the cookie is half of it, the key of the page the other half (I6)."""

from __future__ import annotations

from collections.abc import Generator

import httpx
import pytest

from endstop.server.tokens import new_secret
from served import Served, served

ME = "/api/session"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("home")) as one:
        yield one


def opened(server: Served, browser: httpx.Client) -> str:
    """Open the link as a browser does, which keeps the cookie; the key, which its page keeps."""
    port = int(server.url.rpartition(":")[2])
    answer = browser.get(server.access.one_time_link(port))
    assert answer.status_code == 303
    return answer.headers["location"].removeprefix("/#key=")


@pytest.mark.guarantee("I6")
def test_a_cookie_without_the_key_of_its_page_is_nobodys(server: Served) -> None:
    with httpx.Client(base_url=server.url) as browser:
        key = opened(server, browser)
        assert browser.get(ME).status_code == 401
        assert browser.get(ME, headers={"X-Endstop-Key": new_secret()}).status_code == 401
        found = browser.get(ME, headers={"X-Endstop-Key": key})
        assert (found.status_code, found.json()["via"]) == (200, "cookie")
        assert browser.get(ME).json() == httpx.get(f"{server.url}{ME}").json()  # as if not signed in


@pytest.mark.guarantee("I6")
def test_a_program_with_a_token_needs_no_key(server: Served) -> None:
    found = httpx.get(f"{server.url}{ME}", headers={"Authorization": f"Bearer {server.token()}"})
    assert (found.status_code, found.json()["via"]) == (200, "token")


def test_two_browsers_have_nothing_of_each_other(server: Served) -> None:
    with httpx.Client(base_url=server.url) as one, httpx.Client(base_url=server.url) as other:
        keys = [opened(server, one), opened(server, other)]
        for browser, key, is_known in ((one, keys[0], True), (one, keys[1], False), (other, keys[0], False)):
            status = browser.get(ME, headers={"X-Endstop-Key": key}).status_code
            assert (status == 200) is is_known


def test_the_link_leads_to_the_page(server: Served) -> None:
    with httpx.Client(base_url=server.url, follow_redirects=True) as browser:
        port = int(server.url.rpartition(":")[2])
        landed = browser.get(server.access.one_time_link(port))
        assert (landed.status_code, landed.url.path) == (200, "/")
        assert landed.headers["content-type"] == "text/html; charset=utf-8"
