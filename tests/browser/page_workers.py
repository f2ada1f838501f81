"""What the page is looked at with where runs are handed out: a server, workers, and a person before a window.

All are processes of their own on one database, and any of them may be killed. They play plays, which stand in
the question: see ``scale_cast`` beside them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from page_stage import exchange, question_field
from playwright.sync_api import Browser, Locator, Page, expect

_SCALE = Path(__file__).parent.parent / "scale"

Process = subprocess.Popen[str]


@dataclass(slots=True, kw_only=True)
class Troupe:
    """A server that hands out, and whoever works for it."""

    url: str
    """Of the database."""
    folder: Path
    beat_s: float
    silent_s: float
    server: Process | None = None
    workers: list[Process] = field(default_factory=list[Process])
    told: dict[str, str] = field(default_factory=dict[str, str])
    """What the server said of itself: ``address``, ``token``, ``link``."""

    @classmethod
    @contextmanager
    def gathered(cls, url: str, folder: Path, *, beat_s: float, silent_s: float) -> Generator[Troupe]:
        """With a server, and without a worker. All are gone at the end."""
        troupe = cls(url=url, folder=folder, beat_s=beat_s, silent_s=silent_s)
        try:
            troupe.start_server()
            yield troupe
        finally:
            for process in (troupe.server, *troupe.workers):
                kill(process)

    def start_server(self) -> None:
        """Once more at its old place, if it had one."""
        port = self.told.get("address", ":0").rpartition(":")[2]
        self.server = _begun("scale_server.py", self.url, str(self.folder), port)
        self.told = json.loads(_first_line(self.server))

    def worker(self) -> Process:
        """One more, which works when this returns."""
        wanted: dict[str, Any] = {"url": self.url, "folder": str(self.folder), "concurrency": 4}
        wanted |= {"queues": None, "per_user": None, "per_model": None, "drain_s": 10.0, "clock_s": 0.0}
        wanted |= {"beat_s": self.beat_s, "silent_s": self.silent_s}
        worker = _begun("scale_worker.py", json.dumps(wanted))
        self.workers.append(worker)
        assert _first_line(worker) == "ready"
        return worker

    def api(self, path: str) -> Any:
        headers = {"Authorization": f"Bearer {self.told['token']}"}
        return httpx.get(self.told["address"] + path, headers=headers).raise_for_status().json()

    def said(self, run: str) -> list[str]:
        """The replies of a run, by its record."""
        facts = self.api(f"/api/runs/{run}/facts?limit=1000")["facts"]
        return [fact["payload"]["text"] for fact in facts if fact["type"] == "assistant.said"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watcher:
    """Somebody who has asked, and looks at what comes."""

    page: Page
    question: str
    trouble: list[str]

    @classmethod
    def asked(cls, browser: Browser, troupe: Troupe, **play: object) -> Watcher:
        """Signed in, with a question that is on its way."""
        page = browser.new_page()
        trouble: list[str] = []
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.goto(troupe.told["link"])
        expect(page.get_by_role("main")).to_be_visible()
        question = json.dumps(play)
        question_field(page).fill(question)
        page.keyboard.press("Enter")
        return cls(page=page, question=question, trouble=trouble)

    @property
    def answer(self) -> Locator:
        return exchange(self.page, self.question)

    @property
    def status(self) -> Locator:
        """How it stands, as it is said aloud."""
        return self.answer.get_by_role("status")

    @property
    def run(self) -> str:
        link = self.page.get_by_role("link", name="Everything about this run")
        return (link.get_attribute("href") or "").removeprefix("/runs/")

    def words(self) -> list[str]:
        """The words of the play that are on the screen, in their order."""
        said = self.answer.inner_text().replace(self.question, "").split()
        return [word for word in said if word[:1] in "w🐢" and word[1:].isdecimal()]


def kill(process: Process | None) -> None:
    """With no time for any last words. One that is dead already stays so."""
    if process is not None and process.poll() is None:
        process.kill()
        process.communicate()


def _begun(script: str, *given: str) -> Process:
    command = [sys.executable, str(_SCALE / script), *given]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def _first_line(process: Process) -> str:
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    assert line, "it did not start"
    return line
