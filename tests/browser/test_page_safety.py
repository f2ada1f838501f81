"""Safety: what models, tools, files and people write is text, whatever it would like to be.

That no page asks anybody but its server is looked at in every test, when a desk is closed.
"""

from __future__ import annotations

import pytest
from page_stage import Desk
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.guarantee("I5")

HOSTILE = "<img src=x onerror=window.pwned=6><script>window.pwned=7</script>"
FILE = "<img src=x onerror=window.pwned=5>.py"


def assert_nothing_ran(page: Page) -> None:
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("document.querySelectorAll('main img').length") == 0


def test_html_of_a_model_is_shown_as_the_text_it_is(desk: Desk) -> None:
    desk.ask("hostile please")
    answer = desk.exchange("hostile please")
    expect(answer).to_contain_text("<script>window.pwned = 1</script>")
    expect(answer).to_contain_text('<svg onload="window.pwned = 4">')
    expect(answer).to_contain_text("After")
    assert_nothing_ran(desk.page)
    desk.go(f"/runs/{desk.run_id()}")
    expect(desk.page.get_by_role("heading", name="The answer")).to_be_visible()
    expect(desk.page.get_by_role("main")).to_contain_text("<script>window.pwned = 1</script>")
    assert_nothing_ran(desk.page)


def test_a_link_to_a_script_is_no_link_and_a_picture_is_not_loaded(desk: Desk) -> None:
    desk.ask("hostile please")
    answer = desk.exchange("hostile please")
    expect(answer).to_contain_text("a link")
    expect(answer).to_contain_text("a picture (not loaded)")
    expect(answer.get_by_role("link", name="a link")).to_have_count(0)
    assert desk.page.evaluate("[...document.links].filter(l => !/^https?:/.test(l.protocol)).length") == 0


def test_a_hostile_file_name_in_a_tool_result_and_among_sources_is_text(desk: Desk) -> None:
    question = f"tools read the code in {FILE}"
    desk.ask(question)
    answer = desk.exchange(question)
    expect(answer.get_by_role("status")).to_have_text("Ended: Completed")
    answer.get_by_role("button", name="search_code").click()
    answer.get_by_role("button", name="read_file").click()
    expect(answer).to_contain_text("needle = '<b>bold</b>'")
    answer.get_by_role("region", name="Sources").get_by_role("button", name=FILE).first.click()
    expect(desk.page.get_by_role("dialog")).to_contain_text("<b>bold</b>")
    assert_nothing_ran(desk.page)
    desk.page.keyboard.press("Escape")
    desk.go(f"/runs/{desk.run_id()}")
    expect(desk.page.get_by_role("heading", name="sources")).to_be_visible()
    assert_nothing_ran(desk.page)


def test_a_hostile_question_is_text_wherever_it_is_shown(desk: Desk) -> None:
    desk.ask(HOSTILE)
    expect(desk.exchange(HOSTILE).get_by_role("status")).to_have_text("Ended: Completed")
    conversations = desk.page.get_by_role("navigation", name="Conversations")
    expect(conversations.get_by_role("link", name=HOSTILE)).to_be_visible()
    expect(desk.page.get_by_role("heading", name=HOSTILE)).to_be_visible()
    assert_nothing_ran(desk.page)
    desk.go("/runs")
    desk.page.get_by_role("link", name=HOSTILE).click()
    expect(desk.page.get_by_role("heading", name=HOSTILE)).to_be_visible()
    assert_nothing_ran(desk.page)


@pytest.mark.thorough
def test_a_hostile_question_under_review_is_text(desk: Desk) -> None:
    desk.guest.ran(
        HOSTILE, model="playground:ignores_last_turn", on_limit="review", limits={"max_iterations": 2}
    )
    desk.go("/reviews")
    expect(desk.page.get_by_role("article")).to_contain_text(HOSTILE)
    assert_nothing_ran(desk.page)


def test_a_tree_that_says_hostile_things_of_itself_is_text(desk: Desk) -> None:
    trees = desk.server.home / "trees"
    trees.mkdir(exist_ok=True)
    (trees / "hostile.lua").write_text(
        f'-- {HOSTILE}\nreturn BT.tree("hostile", {{\n  doc = "{HOSTILE}",\n'
        f'  root = BT.sequence{{ name = "{HOSTILE}", BT.no_such_thing{{}} }},\n}})\n'
    )
    desk.go("/trees/hostile")
    expect(desk.page.get_by_role("region", name="The Lua of the tree")).to_contain_text(HOSTILE)
    assert_nothing_ran(desk.page)


@pytest.mark.thorough
def test_even_a_script_that_got_in_would_not_be_allowed_to_run(desk: Desk) -> None:
    """The second wall: the policy that comes with the page."""
    violated = """() => new Promise(resolve => {
        document.addEventListener('securitypolicyviolation', event => resolve(event.violatedDirective));
        const script = document.createElement('script');
        script.textContent = 'window.pwned = 8';
        document.body.append(script);
    })"""
    assert "script-src" in str(desk.page.evaluate(violated))
    assert desk.page.evaluate("window.pwned") is None
    desk.trouble.clear()  # the browser says on its console what it did not let through


@pytest.mark.thorough
def test_no_other_site_may_frame_the_page_and_nothing_is_told_to_others(desk: Desk) -> None:
    answer = desk.page.reload()
    assert answer is not None
    headers = answer.headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
