"""Trees: drawn, beside the Lua they come from, with their bound and their problems; live for a run."""

from __future__ import annotations

import re

import pytest
from page_stage import FOREVER, Desk, Guest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.guarantee("E6", "I5")

BROKEN = """return BT.tree("broken", {
  root = BT.sequence{
    BT.action{ fn = "no_such_action" },
    BT.condition{ fn = "no_such_condition" },
  },
})
"""


@pytest.fixture
def oracle_tree(desk: Desk) -> Page:
    desk.go("/trees")
    desk.page.get_by_role("link", name=re.compile("^oracle-agent")).click()
    expect(desk.page.get_by_label("Drawing of the tree oracle-agent")).to_be_visible()
    return desk.page


def test_a_tree_is_drawn_with_its_nodes(oracle_tree: Page) -> None:
    drawing = oracle_tree.get_by_label("Drawing of the tree oracle-agent")
    for name in ("sequence get ready", "repeat until turns", "sequence wind up"):
        expect(drawing.get_by_role("button", name=name)).to_be_in_viewport()


def test_a_part_of_the_drawing_can_be_folded_and_opened(oracle_tree: Page) -> None:
    drawing = oracle_tree.get_by_label("Drawing of the tree oracle-agent")
    inside = drawing.get_by_role("button", name="action state.reset_state")
    expect(inside).to_be_visible()
    drawing.get_by_role("button", name="Fold get ready").click()
    expect(inside).to_have_count(0)
    drawing.get_by_role("button", name="open get ready").click()
    expect(inside).to_be_visible()


def test_a_node_that_is_selected_has_its_line_of_lua_highlighted(oracle_tree: Page) -> None:
    drawing = oracle_tree.get_by_label("Drawing of the tree oracle-agent")
    drawing.get_by_role("button", name="action query.analyze_query").click()
    lua = oracle_tree.get_by_role("region", name="The Lua of the tree")
    line = lua.locator("[aria-current=true]")
    expect(line).to_have_count(1)
    expect(line).to_be_in_viewport()
    expect(line).to_contain_text('BT.action("query.analyze_query")')
    details = oracle_tree.get_by_role("region", name="The tree", exact=True)
    expect(details).to_contain_text(re.compile(r"oracle-agent.lua, line \d+"))


@pytest.mark.thorough
def test_a_line_of_lua_selects_the_node_that_it_makes(oracle_tree: Page) -> None:
    lua = oracle_tree.get_by_role("region", name="The Lua of the tree")
    lua.get_by_role("button", name="context.load_context").click()
    drawing = oracle_tree.get_by_label("Drawing of the tree oracle-agent")
    expect(drawing.get_by_role("button", pressed=True)).to_have_accessible_name("action context.load_context")


@pytest.mark.thorough
def test_a_tree_can_be_walked_as_a_list_with_the_arrow_keys(oracle_tree: Page) -> None:
    oracle_tree.get_by_role("button", name="List", exact=True).click()
    listed = oracle_tree.get_by_role("tree", name="The tree oracle-agent")
    listed.get_by_role("treeitem").first.focus()
    oracle_tree.keyboard.press("ArrowDown")
    expect(listed.get_by_role("treeitem").nth(1)).to_be_focused()
    oracle_tree.keyboard.press("ArrowUp")
    oracle_tree.keyboard.press("ArrowLeft")
    expect(listed.get_by_role("treeitem")).to_have_count(1)


@pytest.mark.guarantee("A13")
def test_the_upper_bound_of_a_tree_is_said_in_words(oracle_tree: Page, guest: Guest) -> None:
    expect(oracle_tree.get_by_role("main")).to_contain_text("A run can use at most 30 turns")
    guest.set(max_iterations=11)
    oracle_tree.reload()
    expect(oracle_tree.get_by_role("main")).to_contain_text("A run can use at most 11 turns")


@pytest.mark.guarantee("E3")
def test_a_broken_tree_of_ones_own_shows_all_its_problems_with_their_lines(desk: Desk) -> None:
    trees = desk.server.home / "trees"
    trees.mkdir(exist_ok=True)
    (trees / "broken.lua").write_text(BROKEN)
    desk.go("/trees")
    expect(desk.page.get_by_role("link", name=re.compile("^broken"))).to_contain_text("2 problems")
    desk.page.get_by_role("link", name=re.compile("^broken")).click()
    problems = desk.page.get_by_role("main")
    expect(problems).to_contain_text("Line 3:")
    expect(problems).to_contain_text("no_such_action")
    expect(problems).to_contain_text("Line 4:")
    expect(problems).to_contain_text("no_such_condition")


@pytest.mark.thorough
def test_a_change_can_be_tried_and_is_checked_as_one_types(oracle_tree: Page) -> None:
    oracle_tree.get_by_role("button", name="Try a change").click()
    text = oracle_tree.get_by_role("textbox", name="The text of the tree")
    expect(oracle_tree.get_by_text("No problems:")).to_be_visible()
    text.fill(text.input_value().replace("BT.action", "BT.acton", 1))
    expect(oracle_tree.get_by_role("status").filter(has_text="problem")).to_contain_text("1 problem")


def test_the_tree_of_a_run_shows_what_runs_now_and_then_how_it_went(desk: Desk, guest: Guest) -> None:
    run = guest.began(FOREVER)
    desk.go(f"/trees/oracle-agent?run={run}")
    drawing = desk.page.get_by_label("Drawing of the tree oracle-agent")
    expect(drawing.get_by_role("button", name=re.compile("running now")).first).to_be_visible()
    expect(desk.page.get_by_text("Live", exact=True).first).to_be_visible()
    guest.api("POST", f"/api/runs/{run}/cancel", {})
    expect(desk.page.get_by_text("Cancelled", exact=True)).to_be_visible()
    expect(drawing.get_by_role("button", name=re.compile("succeeded")).first).to_be_visible()


@pytest.mark.thorough
def test_the_tree_of_a_run_can_be_stepped_through_turn_by_turn(desk: Desk, guest: Guest) -> None:
    run = guest.ran("tools notes.md")
    desk.go(f"/trees/oracle-agent?run={run}")
    desk.page.get_by_role("button", name="Previous turn").click()
    expect(desk.page.get_by_role("toolbar", name="Turns")).to_contain_text("Turn 3 of 3")
    desk.page.get_by_role("button", name="Previous turn").click()
    expect(desk.page.get_by_role("toolbar", name="Turns")).to_contain_text("Turn 2 of 3")
    desk.page.reload()
    expect(desk.page.get_by_role("toolbar", name="Turns")).to_contain_text("Turn 2 of 3")
