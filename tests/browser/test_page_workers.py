"""The page while workers and servers die: a short pause, words that say so, and the answer goes on."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from page_stage import Recorder, meter
from page_workers import Troupe, Watcher, kill
from playwright.sync_api import Browser, expect

pytestmark = [pytest.mark.thorough, pytest.mark.guarantee("I1", "H5"), pytest.mark.timeout(90)]

WORDS = 60
QUICK = {"beat_s": 0.4, "silent_s": 2.0}
"""The dead are found within three seconds."""
REAL = {"beat_s": 2.0, "silent_s": 8.0}
"""As workers are unless they are told otherwise."""

SILENT = "Its worker is silent, waiting for another"

Watch = Callable[..., tuple[Troupe, Watcher]]


@pytest.fixture
def watch(browser: Browser, postgres_url: str, tmp_path: Path) -> Generator[Watch]:
    """Asks for an answer of many words, of so many workers. What goes wrong in the page fails the test."""
    watchers: list[Watcher] = []
    with ExitStack() as stack:

        def begun(pace: dict[str, Any], *, workers: int = 1, word_s: float = 0.05) -> tuple[Troupe, Watcher]:
            troupe = stack.enter_context(Troupe.gathered(postgres_url, tmp_path, **pace))
            for _ in range(workers):
                troupe.worker()
            watchers.append(Watcher.asked(browser, troupe, steps=0, words=WORDS, word_s=word_s))
            return troupe, watchers[-1]

        yield begun
        for watcher in watchers:
            watcher.page.close()
            assert not watcher.trouble, watcher.trouble


def assert_said_in_full(troupe: Troupe, watcher: Watcher) -> None:
    """It has ended, and on the screen are the words of the record, each of them once."""
    expect(watcher.status).to_have_text("Ended: Completed", timeout=30_000)
    expect(watcher.page.get_by_role("button", name="Hide the work")).to_be_visible()
    words = watcher.words()
    assert len(words) == WORDS
    assert [" ".join(words)] == troupe.said(watcher.run)


def test_the_worker_is_killed_in_the_middle_of_an_answer_and_the_answer_goes_on(watch: Watch) -> None:
    troupe, watcher = watch(QUICK)
    expect(watcher.answer).to_contain_text("w12")
    seen = Recorder.begun(watcher.page, "document.querySelector('article').innerText")
    kill(troupe.workers[0])
    before = watcher.words()
    assert 12 < len(before) < WORDS
    troupe.worker()
    assert_said_in_full(troupe, watcher)
    texts = seen.samples()
    assert not any("Nobody works on this" in text for text in texts), "it looked as if it were lost"
    begun_anew = [text for text in texts if "w0" in text and "w12" not in text]
    assert begun_anew, "the new worker's words were seen as they came"
    assert all(text.split().count("w1") <= 1 for text in texts), "the new words stood beside the old ones"


def test_the_pause_is_said_to_be_one_and_takes_none_of_the_time(watch: Watch) -> None:
    troupe, watcher = watch(REAL)
    expect(watcher.answer).to_contain_text("w12")
    kill(troupe.workers[0])
    troupe.worker()
    expect(watcher.status).to_have_text(SILENT)
    assert len(watcher.words()) > 12, "what was said stays while another worker is waited for"
    time = meter(watcher.page, "Time")
    stood = time.get_attribute("aria-valuetext")
    watcher.page.wait_for_timeout(1_500)
    expect(watcher.status).to_have_text(SILENT)
    assert time.get_attribute("aria-valuetext") == stood
    assert_said_in_full(troupe, watcher)


def test_a_reload_in_the_pause_shows_the_same_words(watch: Watch) -> None:
    troupe, watcher = watch(REAL)
    expect(watcher.answer).to_contain_text("w12")
    kill(troupe.workers[0])
    watcher.page.wait_for_timeout(500)
    before = watcher.words()
    watcher.page.reload()
    expect(watcher.answer).to_contain_text(before[-1])
    assert watcher.words() == before
    expect(watcher.status).to_have_text(SILENT)
    troupe.worker()
    assert_said_in_full(troupe, watcher)


@pytest.mark.parametrize("with_worker", [False, True])
def test_the_server_is_killed_and_comes_back(watch: Watch, *, with_worker: bool) -> None:
    troupe, watcher = watch(QUICK, word_s=0.15)
    expect(watcher.answer).to_contain_text("w12")
    kill(troupe.server)
    if with_worker:
        kill(troupe.workers[0])
        troupe.worker()
    expect(watcher.status).to_have_text("The connection broke, trying again")
    assert len(watcher.words()) > 12
    troupe.start_server()
    assert_said_in_full(troupe, watcher)


def test_what_nobody_works_on_can_be_stopped(watch: Watch) -> None:
    troupe, watcher = watch(REAL)
    expect(watcher.answer).to_contain_text("w12")
    kill(troupe.workers[0])
    watcher.page.keyboard.press("Escape")
    expect(watcher.page.get_by_role("button", name="Stopping …")).to_be_visible()
    expect(watcher.status).to_have_text("Ended: Cancelled", timeout=20_000)
    expect(watcher.answer).to_contain_text("There was nothing to keep yet.")
    assert watcher.words() == []
    assert troupe.said(watcher.run) == []


def test_a_question_that_waits_for_a_worker_says_so_and_is_not_taken_for_lost(watch: Watch) -> None:
    troupe, watcher = watch(QUICK, workers=0)
    seen = Recorder.begun(watcher.page, "document.querySelector('article')?.innerText ?? ''")
    expect(watcher.status).to_have_text("Waiting for a worker")
    expect(watcher.page.get_by_role("button", name="Stop")).to_be_visible()
    troupe.worker()
    assert_said_in_full(troupe, watcher)
    assert not any("Nobody works on this" in text for text in seen.samples())
