"""What browser tests share: the process of the server, and a person who notices what goes wrong."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import httpx
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, expect

_SCRIPT = Path(__file__).parent / "page_server.py"
BROWSER_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
WAIT_MS = 15_000
"""How long something may take to be seen. Far above what it takes, for machines that are busy."""
BUILT_MS = 150_000
"""How long a coding session may take: its tests are really run, several times."""
FOREVER = "forever read the files of this code"
"""A question about code, so that the oracle offers its tools; the model calls one each turn, without end."""
PAUSES = "playground:ignores_last_turn"
"""Never finishes by itself, so it waits for a review at its limit."""

expect.set_options(timeout=WAIT_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """A user with runs, conversations and settings of their own, so that tests do not meet."""

    name: str
    token: str
    url: str

    def signed_in(self) -> Any:
        """What a browser of theirs keeps: cookie and key."""
        answer = httpx.post(f"{self.url}/api/session", json={"token": self.token}).raise_for_status()
        name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
        cookie = {"name": name, "value": value, "domain": "127.0.0.1", "path": "/"}
        cookie |= {"expires": -1, "httpOnly": True, "secure": False, "sameSite": "Strict"}
        key = {"name": "endstop.key", "value": answer.json()["key"]}
        return {"cookies": [cookie], "origins": [{"origin": self.url, "localStorage": [key]}]}

    def api(self, method: str, path: str, body: object = None) -> Any:
        """Call the server as a program of theirs does."""
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = httpx.request(method, self.url + path, json=body, headers=headers).raise_for_status()
        return answer.json() if answer.content else None

    def ran(self, question: str, **given: object) -> str:
        """Ask, and wait until it has ended or paused; the id of the run."""
        return self._asked(question, given, to_end=True)

    def began(self, question: str, **given: object) -> str:
        """Ask, and leave it running; the id of the run."""
        return self._asked(question, given, to_end=False)

    def paused(self, turns: int = 3) -> str:
        """A run that has met its limit of turns, and waits for a review."""
        return self.ran("Never stop", model=PAUSES, on_limit="review", limits={"max_iterations": turns})

    def began_coding(self, example: str) -> str:
        """An example of a coding session, begun; the id of its run."""
        return cast("str", self.api("POST", "/api/coding", {"example": example})["run_id"])

    def coded(self, example: str) -> dict[str, Any]:
        """An example of a coding session at its end, its questions answered as the example says."""
        examples = self.api("GET", "/api/coding/examples")
        answers = next(iter(one["answers"] for one in examples if one["name"] == example))
        run, left, asked = self.began_coding(example), list(answers), None
        for _ in range(BUILT_MS // 200):
            session = self.api("GET", f"/api/coding/{run}")
            if session["run_phase"] == "ENDED":
                return cast("dict[str, Any]", session)
            if session["run_phase"] == "AWAIT_USER" and session["asked"] != asked:
                asked = session["asked"]
                self.api("POST", f"/api/runs/{run}/answer", {"answer": left.pop(0)})
            time.sleep(0.2)
        raise AssertionError(f"the session {run} did not end")

    def conversation_of(self, run: str) -> str:
        return cast("str", self.api("GET", f"/api/runs/{run}")["conversation_id"])

    def set(self, **settings: object) -> None:
        self.api("PUT", "/api/settings/agent-config", settings)

    def _asked(self, question: str, given: dict[str, object], *, to_end: bool) -> str:
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "text/event-stream"}
        body = {"query": question, **given}
        with httpx.stream("POST", f"{self.url}/api/oracle/query", json=body, headers=headers) as answer:
            answer.raise_for_status()
            if to_end:
                answer.read()
            return answer.headers["x-run-id"]


@dataclass(slots=True, kw_only=True)
class PageServer:
    """A server in its own process, with a home that outlives it."""

    home: Path
    project: Path
    port: int
    is_priced: bool = False
    """Whether anybody knows what its model costs."""
    link: str = ""
    """Signs its owner in, once."""
    _guests: int = 0
    _process: subprocess.Popen[str] | None = None

    @classmethod
    @contextmanager
    def started(cls, folder: Path, *, project: Path | None = None) -> Generator[PageServer]:
        """``project``: what is asked about, if not a small one of our own. That one's model is priced."""
        home = folder / "home"
        home.mkdir()
        given = project or _small_project(folder)
        server = cls(home=home, project=given, port=_free_port(), is_priced=project is not None)
        server.start()
        try:
            yield server
        finally:
            server.kill()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, str(_SCRIPT), str(self.home), str(self.port), str(self.project)]
        command += ["priced"] if self.is_priced else []
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.link = self._said()

    def kill(self) -> None:
        """With no time for any last words."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def new_guest(self) -> Guest:
        self._guests += 1
        name = f"guest{self._guests}"
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(name + "\n")
        self._process.stdin.flush()
        return Guest(name=name, token=self._said(), url=self.url)

    def _said(self) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        assert line, "the server did not start"
        return line


@dataclass(slots=True, kw_only=True)
class Desk:
    """A person before a window of their own."""

    server: PageServer
    guest: Guest
    context: BrowserContext
    page: Page
    trouble: list[str] = field(default_factory=list[str])
    """What no test wants: errors of scripts, requests to elsewhere."""

    @classmethod
    def opened(cls, browser: Browser, server: PageServer, **options: Any) -> Desk:
        """``options``: those of a browser context (``viewport``, ``color_scheme`` …), and ``guest``: who."""
        guest = options.pop("guest", None) or server.new_guest()
        options.setdefault("storage_state", guest.signed_in())
        options.setdefault("viewport", {"width": 1280, "height": 800})
        context = browser.new_context(**options)
        context.set_default_timeout(WAIT_MS)
        desk = cls(server=server, guest=guest, context=context, page=context.new_page())
        context.on("weberror", lambda error: desk.trouble.append(f"script error: {error.error}"))
        context.on(
            "console", lambda message: desk._console(message)
        )  # it would like to keep notes on a method
        context.on("request", lambda request: desk._requested(request))
        desk.go("/")
        return desk

    def go(self, path: str) -> None:
        """Go there, and wait until it can be used."""
        self.page.goto(self.server.url + path)
        expect(self.page.get_by_role("main")).to_be_visible()

    def ask(self, question: str) -> None:
        question_field(self.page).fill(question)
        self.page.keyboard.press("Enter")

    def open_chat(self, run: str) -> None:
        """The conversation of a run."""
        self.go(f"/c/{self.guest.conversation_of(run)}")

    def second_tab(self) -> Page:
        """The same place, in another tab."""
        tab = self.context.new_page()
        tab.goto(self.page.url)
        return tab

    def exchange(self, question: str) -> Locator:
        return exchange(self.page, question)

    def run_id(self) -> str:
        """The run that the chat shows, once it has one."""
        link = self.page.get_by_role("link", name="Everything about this run")
        return (link.get_attribute("href") or "").removeprefix("/runs/")

    def close(self) -> None:
        self.context.close()
        assert not self.trouble, self.trouble

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.trouble.append(f"console: {message.text}")

    def _requested(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https") and parts.netloc != f"127.0.0.1:{self.server.port}":
            self.trouble.append(f"request to elsewhere: {request.url}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """Looks at a page at every frame, and keeps what it saw whenever that had changed."""

    page: Page

    @classmethod
    def begun(cls, page: Page, expression: str) -> Recorder:
        """``expression``: JavaScript that gives a text."""
        page.evaluate(
            """expression => {
                const look = new Function('return ' + expression);
                window.seen = [];
                const frame = () => {
                    const now = look();
                    if (now !== window.seen.at(-1)) window.seen.push(now);
                    requestAnimationFrame(frame);
                };
                frame();
            }""",
            expression,
        )
        return cls(page=page)

    def samples(self) -> list[str]:
        return cast("list[str]", self.page.evaluate("window.seen"))


def question_field(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Your question")


def exchange(page: Page, question: str) -> Locator:
    """A question in the chat and what came of it."""
    return page.get_by_role("article", name=question, exact=True)


def meter(page: Page, name: str) -> Locator:
    return page.get_by_role("complementary", name="Budget of the run").get_by_role("meter", name=name)


def turns_shown(page: Page) -> Recorder:
    """All that the meter of turns says from now on: ``"3 of 10"``."""
    return Recorder.begun(
        page, "document.querySelector('aside [role=meter][aria-label=Turns]')?.ariaValueText ?? ''"
    )


def words_of(text: str) -> list[str]:
    """What ``slowly`` has said, word by word."""
    return re.findall(r"word\d+", text)


def _small_project(folder: Path) -> Path:
    project = folder / "project"
    project.mkdir()
    (project / "notes.md").write_text("# Notes\n\nThe needle is in the haystack.\n")
    (project / "<img src=x onerror=window.pwned=5>.py").write_text("needle = '<b>bold</b>'\n")
    return project


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]
