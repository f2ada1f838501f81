"""The Coding view: a session from its request to its end, with real git and real tests, and no key."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from page_stage import BUILT_MS, Desk, Guest, PageServer
from playwright.sync_api import Locator, Page, expect
from test_page_looks import NARROW, longer_than_the_window, seriously_wrong

pytestmark = pytest.mark.timeout(200)


def git(repository: str, *arguments: str) -> str:
    return subprocess.check_output(("git", "-C", repository, *arguments), text=True).strip()


def region(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name)


def steps(page: Page) -> Locator:
    return page.get_by_role("list", name="Steps").get_by_role("listitem")


@pytest.mark.thorough
@pytest.mark.guarantee("G8")
def test_an_example_goes_from_its_card_to_accepted(desk: Desk, guest: Guest) -> None:
    page = desk.page
    desk.go("/coding")
    expect(page.get_by_text("No model that writes code is set up here yet")).to_be_visible()
    page.get_by_role("button", name="Watch it: Hours and share of each project").click()
    expect(region(page, "It asks you")).to_be_visible()
    session = guest.api("GET", "/api/coding/" + page.url.rsplit("/", 1)[1])
    before = git(session["repository"], "rev-parse", "main")
    page.get_by_role("button", name="Write “").click()
    page.get_by_role("button", name="Answer").click()
    expect(region(page, "The price")).to_contain_text("at most")
    expect(steps(page).filter(has_text="Price")).to_have_attribute("aria-current", "step")
    page.get_by_role("button", name="Approve $").click()
    expect(region(page, "How it ended")).to_contain_text("Succeeded", timeout=BUILT_MS)
    expect(steps(page).last).to_contain_text("reached")
    rounds = page.get_by_role("table", name="Rounds that have ended").get_by_role("row")
    expect(rounds).to_have_count(3)  # with its heading
    expect(page.get_by_role("list", name="Issues").first).to_contain_text("Critical")
    page.get_by_role("button", name="What this round changed").last.click()
    expect(region(page, "Changes of timesheet.py")).to_contain_text("percent = 100 / total if total else 0")
    assert git(session["repository"], "rev-parse", "main") == before, "untouched until it is accepted"
    page.get_by_role("button", name="Accept, and merge it").click()
    expect(page.get_by_text(re.compile("Merged into main"))).to_be_visible()
    assert "total if total else 0" in git(session["repository"], "show", "main:timesheet.py")


@pytest.mark.guarantee("G2")
def test_a_price_that_is_too_high_is_rejected_and_nothing_is_built(desk: Desk, guest: Guest) -> None:
    run = guest.began_coding("dear")
    desk.go(f"/coding/{run}")
    price = region(desk.page, "The price")
    expect(price).to_contain_text("The policy rejects what costs more than $5.00")
    expect(price.get_by_role("list", name="Instead").get_by_role("listitem")).to_have_count(3)
    expect(price.get_by_role("button", name="Approve")).to_have_count(0)
    price.get_by_role("button", name="None of these").click()
    ending = region(desk.page, "How it ended")
    expect(ending).to_contain_text("Abandoned")
    expect(ending).to_contain_text("Smaller scope (at most $1.58)")
    expect(desk.page.get_by_text("Nothing was built.")).to_be_visible()
    expect(steps(desk.page).filter(has_text="Build")).to_contain_text("not reached")


@pytest.mark.guarantee("I5")
@pytest.mark.parametrize(
    "looks",
    [
        {"viewport": NARROW},
        pytest.param({"color_scheme": "light"}, marks=pytest.mark.thorough),
        pytest.param({"color_scheme": "dark"}, marks=pytest.mark.thorough),
    ],
)
def test_nothing_is_seriously_wrong_and_nothing_has_to_be_scrolled_sideways(
    shared_server: PageServer, open_desk: Callable[..., Desk], looks: dict[str, object]
) -> None:
    desk = open_desk(shared_server, bypass_csp=True, **looks)
    priced, given_up = desk.guest.began_coding("dear"), desk.guest.coded("vague")["run_id"]
    desk.go("/coding")
    desk.page.get_by_role("button", name="More: ").click()
    waits = {
        "/coding": desk.page.get_by_role("list", name="Sessions"),
        f"/coding/{priced}": region(desk.page, "The price"),
        f"/coding/{given_up}": region(desk.page, "How it ended"),
    }
    found: dict[str, object] = {}
    for path, shown in waits.items():
        if path != "/coding":
            desk.go(path)
        expect(shown).to_be_visible()
        wrong = (longer_than_the_window(desk.page), seriously_wrong(desk.page))
        found |= {} if wrong == ([0, 0], []) else {path: wrong}
    assert found == {}


@pytest.fixture(scope="module")
def built(shared_server: PageServer) -> tuple[Guest, str]:
    """Somebody with a session that was built, and waits to be accepted."""
    guest = shared_server.new_guest()
    return guest, guest.coded("accepted")["run_id"]


@pytest.mark.thorough
@pytest.mark.guarantee("I5")
@pytest.mark.parametrize("looks", [{"color_scheme": "light"}, {"color_scheme": "dark"}, {"viewport": NARROW}])
def test_rounds_and_their_diffs_are_readable_for_all_on_any_screen(
    built: tuple[Guest, str],
    shared_server: PageServer,
    open_desk: Callable[..., Desk],
    looks: dict[str, object],
) -> None:
    desk = open_desk(shared_server, guest=built[0], bypass_csp=True, **looks)
    desk.go(f"/coding/{built[1]}")
    for name in ("What this round changed", "All that the session changed", "Output of"):
        desk.page.get_by_role("button", name=name).last.click()
    expect(region(desk.page, "Changes of timesheet.py")).to_have_count(2)
    assert longer_than_the_window(desk.page) == [0, 0]
    assert seriously_wrong(desk.page) == []


@pytest.mark.thorough
def test_the_work_can_be_taken_as_a_patch_that_applies(
    built: tuple[Guest, str], shared_server: PageServer, open_desk: Callable[..., Desk], tmp_path: Path
) -> None:
    guest, run = built
    desk = open_desk(shared_server, guest=guest)
    desk.go(f"/coding/{run}")
    desk.page.get_by_role("button", name="Take it as a patch").click()
    with desk.page.expect_download() as waiting:
        desk.page.get_by_role("dialog").get_by_role("button", name="Download").click()
    assert waiting.value.suggested_filename == f"{run}.patch"
    waiting.value.save_as(tmp_path / "work.patch")
    repository = guest.api("GET", f"/api/coding/{run}")["repository"]
    git(repository, "apply", "--check", str(tmp_path / "work.patch"))
    desk.page.keyboard.press("Escape")
    expect(desk.page.get_by_role("button", name="Accept, and merge it")).to_be_visible()


@pytest.mark.thorough
def test_a_round_is_restored_and_then_all_of_it_discarded_once_that_is_confirmed(
    desk: Desk, guest: Guest
) -> None:
    session = guest.coded("stuck")
    repository, branch = session["repository"], session["branch"]
    desk.go(f"/coding/{session['run_id']}")
    expect(region(desk.page, "How it ended")).to_contain_text("Stuck")
    desk.page.get_by_role("button", name="Restore round 1").click()
    expect(desk.page.get_by_text("Round 1 is restored.")).to_be_visible()
    first = session["commits"][0]["commit"]
    assert git(repository, "diff", first, branch) == ""
    desk.page.get_by_role("button", name="Discard").click()
    dialog = desk.page.get_by_role("alertdialog")
    dialog.get_by_role("button", name="Keep it as it is").click()
    assert git(repository, "branch", "--list", branch)
    desk.page.get_by_role("button", name="Discard").click()
    dialog.get_by_role("button", name="Discard").click()
    expect(desk.page.get_by_text("It was discarded.")).to_be_visible()
    assert not git(repository, "branch", "--list", branch)


@pytest.mark.thorough
@pytest.mark.guarantee("A13")
def test_a_session_is_looked_at_before_it_begins_and_can_be_stopped(
    own_server: PageServer, open_desk: Callable[..., Desk]
) -> None:
    project = own_server.project
    (project / "test_it.py").write_text("def test_it():\n    assert True\n")
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "Begin"]):
        git(str(project), "-c", "user.name=Ana", "-c", "user.email=ana@example.org", *command)
    (project / "notes.md").write_text("# Changed since\n")
    desk = open_desk(own_server)
    page = desk.page
    desk.go("/coding")
    expect(page.get_by_role("textbox", name="Model")).to_be_visible()
    expect(page.get_by_role("button", name="Look first")).to_be_disabled()
    page.get_by_role("textbox", name="What is to be built?").fill("Show the hours of each project.")
    page.get_by_role("combobox", name="Repository").fill(str(project))
    page.get_by_role("textbox", name="Model").fill("example:accepted")
    page.get_by_role("button", name="More: ").click()
    page.get_by_role("textbox", name="Test command").fill("python3 -m unittest")
    page.get_by_role("textbox", name="Rounds").fill("99")
    page.get_by_role("button", name="Look first").click()
    expect(page.get_by_role("alert")).to_contain_text("build.rounds is 99")
    page.get_by_role("textbox", name="Rounds").fill("2")
    page.get_by_role("button", name="Look first").click()
    proposal = region(page, "Before it begins")
    expect(proposal).to_contain_text("At most 50 turns")
    expect(proposal).to_contain_text("1 file has a change that no commit holds")
    expect(proposal.get_by_role("button", name="Start")).to_be_disabled()
    proposal.get_by_role("checkbox", name="That is all right").check()
    proposal.get_by_role("button", name="Start").click()
    expect(region(page, "It asks you")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("menuitem", name="Stop now").click()
    expect(region(page, "How it ended")).to_contain_text("Cancelled")
    assert (project / "notes.md").read_text() == "# Changed since\n"


@pytest.mark.thorough
def test_a_session_is_found_again_in_the_list_and_by_the_palette(
    built: tuple[Guest, str], shared_server: PageServer, open_desk: Callable[..., Desk]
) -> None:
    desk = open_desk(shared_server, guest=built[0])
    desk.page.keyboard.press("Control+k")
    expect(desk.page.get_by_role("combobox")).to_be_focused()
    desk.page.keyboard.type("coding")
    expect(desk.page.get_by_role("option", name="Coding")).to_have_attribute("aria-selected", "true")
    desk.page.keyboard.press("Enter")
    one = desk.page.get_by_role("list", name="Sessions").get_by_role("listitem")
    expect(one).to_contain_text("Yours to accept")
    one.get_by_role("link").click()
    expect(region(desk.page, "How it ended")).to_contain_text("Succeeded")
    desk.page.get_by_role("link", name="Everything about this run").click()
    expect(desk.page).to_have_url(re.compile(f"/runs/{built[1]}$"))


@pytest.mark.thorough
def test_a_session_of_somebody_else_is_not_shown(built: tuple[Guest, str], desk: Desk) -> None:
    desk.go(f"/coding/{built[1]}")
    expect(desk.page.get_by_role("alert")).to_contain_text(built[1])
    desk.go("/coding")
    expect(desk.page.get_by_text("None yet.")).to_be_visible()


@pytest.mark.thorough
def test_a_reload_in_the_middle_of_a_build_shows_the_same_and_goes_on(desk: Desk, guest: Guest) -> None:
    run = guest.began_coding("stuck")
    desk.go(f"/coding/{run}")
    expect(desk.page.get_by_role("heading", name="Round 1 of 3")).to_be_visible(timeout=BUILT_MS)
    desk.page.reload()
    expect(desk.page.get_by_role("heading", name="Round 1 of 3")).to_be_visible()
    expect(region(desk.page, "How it ended")).to_contain_text("Stuck", timeout=BUILT_MS)
    expect(desk.page.get_by_role("table", name="Rounds that have ended").get_by_role("row")).to_have_count(4)
