"""Looks: for eyes, screen readers, keyboards and small screens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from page_stage import Desk, Guest, PageServer, question_field, words_of
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.guarantee("I5")

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
NARROW = {"width": 380, "height": 800}


@pytest.fixture(scope="module")
def furnished(shared_server: PageServer) -> Guest:
    """Somebody with something to show in every view."""
    guest = shared_server.new_guest()
    guest.ran("tools notes.md")
    guest.ran("hostile Markdown of all kinds, with a_name_that_is_far_too_long_" + "for_a_line_" * 20)
    guest.ran("Run!", model="playground:runaway", limits={"max_iterations": 10})
    guest.ran("Again!", model="playground:repeats_call")
    guest.paused()
    return guest


def views(guest: Guest) -> dict[str, str]:
    runs = {one["question"].split()[0]: one["run_id"] for one in guest.api("GET", "/api/runs")["runs"]}
    chats = {word: f"/c/{guest.conversation_of(run)}" for word, run in runs.items()}
    return {
        "a new chat": "/",
        "a chat with tools and sources": chats["tools"],
        "a chat with Markdown": chats["hostile"],
        "a chat that waits": chats["Never"],
        "runs": "/runs",
        "a run": f"/runs/{runs['Run!']}",
        "a run with findings": f"/runs/{runs['Again!']}",
        "a run that waits": f"/runs/{runs['Never']}",
        "reviews": "/reviews",
        "a tree": "/trees/oracle-agent",
        "the tree of a run": f"/trees/oracle-agent?run={runs['tools']}",
        "settings": "/settings",
    }


def visited(desk: Desk) -> Iterator[str]:
    """Each view in turn, once all of it is there; its name."""
    for name, path in views(desk.guest).items():
        desk.go(path)
        expect(desk.page.get_by_role("heading", level=1)).to_be_visible()
        expect(desk.page.get_by_text(" …", exact=False).filter(has_text="ing …")).to_have_count(0)
        yield name


@pytest.mark.parametrize("colours", ["light", pytest.param("dark", marks=pytest.mark.thorough)])
def test_axe_finds_nothing_serious_in_any_view_and_the_window_does_not_scroll(
    furnished: Guest, shared_server: PageServer, open_desk: Callable[..., Desk], colours: str
) -> None:
    # Our policy lets no script in; this one is let in past it, here only.
    desk = open_desk(shared_server, guest=furnished, color_scheme=colours, bypass_csp=True)
    found: dict[str, object] = {}
    for name in visited(desk):
        found |= {name: wrong} if (wrong := seriously_wrong(desk.page)) else {}
        assert longer_than_the_window(desk.page) == [0, 0], f"{name}: a view scrolls inside, never the window"
    desk.go("/")
    desk.page.get_by_role("button", name="Model: ").click()
    expect(desk.page.get_by_role("option").first).to_be_visible()
    found |= {"the list of models": wrong} if (wrong := seriously_wrong(desk.page)) else {}
    desk.page.keyboard.press("Escape")
    desk.page.keyboard.press("Control+k")
    expect(desk.page.get_by_role("combobox")).to_be_focused()
    found |= {"the palette": wrong} if (wrong := seriously_wrong(desk.page)) else {}
    assert found == {}


@pytest.mark.thorough
def test_nothing_has_to_be_scrolled_sideways_on_a_small_screen_nor_is_seriously_wrong_there(
    furnished: Guest, shared_server: PageServer, open_desk: Callable[..., Desk]
) -> None:
    desk = open_desk(shared_server, guest=furnished, viewport=NARROW, bypass_csp=True)
    found = {
        name: (longer_than_the_window(desk.page), seriously_wrong(desk.page, without="color-contrast"))
        for name in visited(desk)
    }
    assert {name: wrong for name, wrong in found.items() if wrong != ([0, 0], [])} == {}


@pytest.mark.thorough
def test_on_a_small_screen_conversations_and_budget_are_a_press_away(
    furnished: Guest, shared_server: PageServer, open_desk: Callable[..., Desk]
) -> None:
    desk = open_desk(shared_server, guest=furnished, viewport=NARROW)
    desk.page.get_by_role("button", name="Conversations").click()
    desk.page.get_by_role("dialog", name="Conversations").get_by_role("link", name="tools notes.md").click()
    expect(desk.exchange("tools notes.md")).to_contain_text("You said: tools notes.md")
    desk.page.get_by_role("button", name="Budget").click()
    budget = desk.page.get_by_role("dialog", name="What is left")
    expect(budget.get_by_role("meter", name="Turns")).to_have_attribute("aria-valuetext", "3 of 30")


def test_a_person_with_a_keyboard_alone_can_ask_and_stop(desk: Desk) -> None:
    page = desk.page
    page.reload()
    expect(question_field(page)).to_be_focused()
    question_field(page).blur()
    tab_to(page, "Skip to the content")
    page.keyboard.press("Enter")
    tab_to(page, "Your question")
    page.keyboard.type("slowly 2000")
    page.keyboard.press("Enter")
    expect(desk.exchange("slowly 2000")).to_contain_text("word3")
    tab_to(page, "Stop")
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem", name="Stop now")).to_be_focused()
    page.keyboard.press("Enter")
    expect(desk.exchange("slowly 2000").get_by_role("region", name="Cancelled")).to_be_visible()
    assert len(words_of(desk.exchange("slowly 2000").inner_text())) < 2000


@pytest.mark.thorough
def test_a_person_with_a_keyboard_alone_can_choose_a_model_and_read_a_source(desk: Desk) -> None:
    page = desk.page
    expect(question_field(page)).to_be_focused()
    tab_to(page, "Model: ")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("combobox")).to_be_focused()
    page.keyboard.press("Escape")
    expect(question_field(page)).to_be_focused()
    page.keyboard.type("tools notes.md")
    page.keyboard.press("Enter")
    expect(desk.exchange("tools notes.md").get_by_role("region", name="Sources")).to_be_visible()
    tab_to(page, "notes.md:3", backwards=True)
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("The needle is in the haystack.")


@pytest.mark.thorough
def test_where_the_keyboard_is_can_be_seen(page: Page) -> None:
    page.get_by_role("link", name="Runs").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Reviews")).to_be_focused()
    outline = page.get_by_role("link", name="Reviews").evaluate("node => getComputedStyle(node).outlineStyle")
    assert outline not in ("none", "")


@pytest.mark.thorough
def test_the_title_of_the_window_says_where_one_is(desk: Desk) -> None:
    assert "Endstop" in desk.page.title()


def seriously_wrong(page: Page, *, without: str = "") -> list[str]:
    """What axe finds that is serious or critical: the rule, and where. ``without``: a rule left out."""
    if not AXE.exists():
        pytest.skip("NOT RUN: axe is not installed (make page)")
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(content=AXE.read_text())
    rules = {without: {"enabled": False}} if without else {}
    options = {"resultTypes": ["violations"], "rules": rules}
    found = page.evaluate("options => axe.run(options)", options)["violations"]
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"][:3]
    ]


def longer_than_the_window(page: Page) -> object:
    """By how many pixels the document is wider and longer than what is seen."""
    return page.evaluate(
        """(({ scrollWidth, scrollHeight }) => [scrollWidth - innerWidth, scrollHeight - innerHeight])(
            document.scrollingElement
        )"""
    )


def tab_to(page: Page, name: str, *, backwards: bool = False) -> None:
    """Press Tab until something of that name has the focus."""
    focused = """() => {
        const node = document.activeElement;
        return node.ariaLabel ?? node.labels?.[0]?.textContent ?? node.textContent ?? '';
    }"""
    for _ in range(80):
        page.keyboard.press("Shift+Tab" if backwards else "Tab")
        if name in str(page.evaluate(focused)):
            return
    pytest.fail(f"the Tab key never came to {name!r}")
