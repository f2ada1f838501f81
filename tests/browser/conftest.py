"""A real browser before a real server. Where there is no Chromium these tests are not run, and say so."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from page_stage import BROWSER_OPTIONS, Desk, Guest, PageServer
from playwright.sync_api import Browser, Page, sync_playwright

import endstop

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PAGE = Path(endstop.__file__).parent / "page" / "index.html"


@pytest.fixture(scope="session")
def browser() -> Generator[Browser]:
    found = next((path for path in map(shutil.which, _NAMES) if path), None)
    if found is None:
        pytest.skip("NOT RUN: there is no Chromium here (Debian: apt-get install chromium)")
    if not _PAGE.exists():
        pytest.skip("NOT RUN: the page was not built (make page)")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=BROWSER_OPTIONS)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def shared_server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Generator[PageServer]:
    """One server for all tests that leave it as it is."""
    with PageServer.started(tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture
def own_server(browser: Browser, tmp_path: Path) -> Generator[PageServer]:
    """A server that may be killed."""
    with PageServer.started(tmp_path) as server:
        yield server


@pytest.fixture
def open_desk(browser: Browser) -> Generator[Callable[..., Desk]]:
    """Opens desks: a person before a window of their own. What goes wrong in a page fails the test."""
    desks: list[Desk] = []

    def opened(server: PageServer, **options: object) -> Desk:
        desks.append(Desk.opened(browser, server, **options))
        return desks[-1]

    yield opened
    for desk in desks:
        desk.close()


@pytest.fixture
def desk(shared_server: PageServer, open_desk: Callable[..., Desk]) -> Desk:
    """A person who is signed in, before the shared server."""
    return open_desk(shared_server)


@pytest.fixture
def guest(desk: Desk) -> Guest:
    """Who sits there."""
    return desk.guest


@pytest.fixture
def page(desk: Desk) -> Page:
    return desk.page
