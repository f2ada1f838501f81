"""Writes docs/images: every view of the page, light and dark, wide and narrow.

The server is the one of the browser tests, so that pictures can be made anywhere, without a key: its model
does as it is told. What is asked about is a copy of our own documentation.

    python scripts/screenshots.py
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from generated_page import ROOT
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

sys.path.insert(0, str(ROOT / "tests" / "browser"))
stage: Any = import_module("page_stage")

IMAGES = ROOT / "docs" / "images"
QUESTION = "How does Endstop stop an agent that would run for ever?"
SIZES = {"wide": {"width": 1280, "height": 800}, "narrow": {"width": 380, "height": 800}}
Ready: TypeAlias = Callable[[Page], None]
RUNAWAY = "Run as far as you can."

WITHOUT_PLACES = """places => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode())
        for (const [place, words] of Object.entries(places))
            walker.currentNode.nodeValue = walker.currentNode.nodeValue.replaceAll(place, words);
}"""
"""Where this machine keeps its files is nothing for a picture."""


def main() -> None:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("There is no Chromium here. On Debian: apt-get install chromium")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        project = Path(folder) / "work" / "endstop"
        shutil.copytree(ROOT / "docs", project / "docs", ignore=shutil.ignore_patterns("images"))
        browser = playwright.chromium.launch(executable_path=chromium, args=stage.BROWSER_OPTIONS)
        with stage.PageServer.started(Path(folder), project=project) as server:
            guest = furnished(server)
            for name, (path, is_ready) in views(guest).items():
                for colours in ("light", "dark"):
                    for size in SIZES:
                        take(browser, server, guest, path, is_ready, f"{name}-{colours}-{size}.png")
        browser.close()


def furnished(server: Any) -> Any:
    """Somebody with a good answer, a runaway that was stopped, a loop that was found, and one that waits.

    Of coding sessions, one that was built, and one whose price is to be decided.
    """
    guest = server.new_guest()
    guest.ran("think about what a reserve is for")
    guest.ran("Look at it once more", model="playground:repeats_call")
    guest.paused(turns=8)
    guest.ran(RUNAWAY, model="playground:runaway", on_limit="review")
    guest.ran(QUESTION)
    guest.coded("accepted")
    guest.began_coding("dear")
    return guest


def views(guest: Any) -> dict[str, tuple[str, Ready]]:
    runs = {one["question"]: one["run_id"] for one in guest.api("GET", "/api/runs")["runs"]}
    sessions = {one["model"]: f"/coding/{one['run_id']}" for one in guest.api("GET", "/api/coding")}
    chat = {question: f"/c/{guest.conversation_of(runs[question])}" for question in (QUESTION, RUNAWAY)}
    return {
        "chat": (chat[QUESTION], from_its_beginning),
        "chat-limit": (chat[RUNAWAY], opened),
        "runs": ("/runs", lambda page: shown(page.get_by_role("link", name=QUESTION))),
        "run": (f"/runs/{runs[RUNAWAY]}", lambda page: shown(page.get_by_role("img", name="Chart"))),
        "reviews": ("/reviews", lambda page: shown(page.get_by_role("textbox", name="Turns"))),
        "trees": ("/trees/oracle-agent", tree_drawn),
        "coding": (sessions["example:accepted"], lambda page: session_read(page, "How it ended")),
        "coding-price": (sessions["example:dear"], lambda page: session_read(page, "The price")),
        "settings": ("/settings", lambda page: shown(page.get_by_role("textbox", name="Turns").first)),
    }


def shown(what: Locator) -> None:
    expect(what).to_be_visible()


def session_read(page: Page, region: str) -> None:
    shown(page.get_by_role("region", name=region))
    expect(page.get_by_role("meter", name="Cost")).to_have_attribute("aria-valuetext", re.compile(r"of \$"))


def opened(page: Page) -> None:
    """All that it did on the way is shown, too."""
    page.get_by_role("button", name="Show the work").click()
    expect(page.get_by_role("button", name="Hide the work")).to_be_visible()


def from_its_beginning(page: Page) -> None:
    opened(page)
    page.get_by_role("article").evaluate("node => node.scrollIntoView({ block: 'start' })")


def tree_drawn(page: Page) -> None:
    """As a drawing, or, where there is no room for one, as a list."""
    shown(page.get_by_role("button", name="sequence get ready").or_(page.get_by_role("tree")))


def take(browser: Browser, server: Any, guest: Any, path: str, is_ready: Ready, file: str) -> None:
    *_, colours, size = Path(file).stem.split("-")
    desk = stage.Desk.opened(browser, server, guest=guest, color_scheme=colours, viewport=SIZES[size])
    desk.go(path)
    is_ready(desk.page)
    desk.page.evaluate(WITHOUT_PLACES, {str(server.home): "~/.endstop", f"{sys.prefix}/bin/": ""})
    desk.page.mouse.move(0, 0)
    desk.page.wait_for_load_state("load")
    desk.page.evaluate("document.fonts.ready")
    desk.page.screenshot(path=IMAGES / file, animations="disabled", caret="hide")
    desk.close()
    print(f"{file}  {(IMAGES / file).stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
