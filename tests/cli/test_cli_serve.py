"""``endstop serve`` in a process of its own: the link, the ports, the signals, a crowd that sends nothing."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import pty
import re
import resource
import signal
import socket
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from cli_program import COMMAND, Endstop, environment, in_process_of_its_own, line_with, started

QUERY = {"query": "Where is the limit checked?"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A server that runs, and what it said when it was ready."""

    process: subprocess.Popen[str]
    address: str
    link: str | None
    token: str | None
    log: Path

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def client(self, token: str | None = None) -> httpx.Client:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.address, headers=headers, timeout=20)

    def ended(self, *signals: signal.Signals) -> int:
        for number in signals:
            self.process.send_signal(number)
            time.sleep(0.5)
        return self.process.wait(timeout=20)


@contextmanager
def serving(home: Path, *options: str, **env: str) -> Generator[Served]:
    home.mkdir(parents=True, exist_ok=True)
    project = home.parent / "project"
    project.mkdir(exist_ok=True)
    (project / "limits.py").write_text("def check_limit(turns):\n    return turns < 30\n")
    log = home / "log"
    port = () if "--port" in options else ("--port", "0")
    with log.open("w") as errors:
        process = subprocess.Popen(
            [*COMMAND, "serve", "--json", "--project", str(project), *port, *options],
            env=environment(home, **env),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, log.read_text()
        told: dict[str, Any] = json.loads(line)
        yield Served(
            process=process, address=told["address"], link=told["link"], token=told["token"], log=log
        )
    finally:
        process.kill()
        process.communicate()


@pytest.mark.guarantee("I6")
def test_a_fresh_install_lets_in_whoever_opens_the_link_and_nobody_else(home: Path) -> None:
    with serving(home) as served:
        assert served.link is not None
        with served.client() as browser, served.client() as other:
            assert other.get("/api/runs").status_code == 401
            opened = browser.get(served.link)
            assert opened.status_code == 303
            assert browser.get("/api/session").status_code == 401
            key = browser.headers["X-Endstop-Key"] = opened.headers["location"].removeprefix("/#key=")
            assert other.get(served.link).status_code == 401
            assert browser.get("/api/session").json() == {"user": "me", "via": "cookie"}
            assert browser.post("/api/oracle/query", json=QUERY).status_code == 403
            answer = browser.post("/api/oracle/query", json=QUERY, headers={"Origin": served.address})
            assert answer.status_code == 200
            assert '"type":"done"' in answer.text
        assert served.ended(signal.SIGINT) == 0
        logged = served.log.read_text()
        assert "path=/api/oracle/query status=200" in logged
        assert "run=run_" in logged
        assert served.link.partition("token=")[2] not in logged
        assert key not in logged
        assert "limit checked" not in logged
        assert "Traceback" not in logged


def test_people_are_told_in_words_how_to_come_in(home: Path) -> None:
    process = started(home, "serve", "--port", "0", "--token")
    link = line_with(process, "http://").strip()
    assert link.startswith("http://127.0.0.1:")
    assert "/?token=es_" in link
    assert line_with(process, "For programs").startswith("For programs, while it runs")
    token = line_with(process, "es_").strip()
    address = link.partition("/?")[0]
    answer = httpx.get(f"{address}/api/session", headers={"Authorization": f"Bearer {token}"})
    assert answer.json() == {"user": "me", "via": "token"}
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Ending after the turns under way" in out
    assert link not in err


def test_the_link_is_whole_on_a_narrow_terminal(home: Path) -> None:
    process, terminal = pty.fork()
    if process == 0:  # pragma: no cover - another program takes over here
        os.execve(COMMAND[0], [*COMMAND, "serve", "--port", "0"], environment(home))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 30, 0, 0))
    out = b""
    while b"Ctrl-C" not in out:
        out += os.read(terminal, 65_536)
    os.kill(process, signal.SIGINT)
    _, status = os.waitpid(process, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0
    assert re.search(rb"\r\nhttp://127.0.0.1:[0-9]+/\?token=es_[A-Za-z0-9_-]{43}\r\n", out)


def test_a_port_that_is_taken_is_told_and_another_is_used(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = started(home, "serve", "--port", str(port))
        told = line_with(process, "is taken")
        assert told.startswith(f"Port {port} is taken: this one listens at ")
        assert f":{port}/" not in line_with(process, "http://")
        process.kill()
        process.communicate()


def test_the_browser_is_opened_if_asked_for(home: Path, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.new && mv {opened}.new {opened}\n')
    browser.chmod(0o755)
    with serving(home, "--open", BROWSER=str(browser)) as served:
        until = time.monotonic() + 10
        while not opened.exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert opened.read_text().strip() == served.link


@pytest.mark.guarantee("I6")
def test_others_are_let_in_only_with_tokens_and_see_one_project(home: Path) -> None:
    refused = in_process_of_its_own(home, "serve", "--host", "0.0.0.0", "--port", "0", "--json")
    assert (refused.code, refused.error["code"]) == (2, "access_denied")
    assert "endstop users add NAME" in refused.error["to_do"]
    in_process_of_its_own(home, "users", "add", "ana")
    made = in_process_of_its_own(home, "tokens", "create", "--user", "ana", "--json").json
    with serving(home, "--host", "0.0.0.0") as served:
        assert served.link is None
        with served.client(made["token"]) as ana:
            assert ana.get("/api/session").json() == {"user": "ana", "via": "token"}
            assert ana.post("/api/oracle/query", json={**QUERY, "project": "/etc"}).status_code == 422
            assert ana.post("/api/oracle/query", json=QUERY).status_code == 200
            rebound = ana.get("/api/session", headers={"Host": "evil.example.org"})
            assert rebound.status_code == 403
        in_process_of_its_own(home, "tokens", "revoke", made["id"])
        time.sleep(1.1)
        with served.client(made["token"]) as ana:
            assert ana.get("/api/session").status_code == 401


@pytest.mark.parametrize(
    ("options", "code", "what"),
    [
        (("--port", "70000"), "invalid_value", "port is 70000"),
        (("--host", "example.org"), "invalid_value", "host is 'example.org'"),
        (("--host", "192.0.2.1"), "access_denied", "nobody has a token"),
        (("--host", "0.0.0.0", "--token"), "usage", "--token is for"),
        (("--project", "/nowhere"), "invalid_value", "project is '/nowhere'"),
        (("--nonsense",), "usage", "--nonsense"),
    ],
)
def test_what_cannot_be_served_is_refused(
    endstop: Endstop, options: tuple[str, ...], code: str, what: str
) -> None:
    done = endstop("serve", "--json", *options)
    assert (done.code, done.error["code"]) == (2, code)
    assert what in done.error["what"]


@pytest.fixture
def as_before() -> Iterator[None]:
    """Where things are logged to is for the whole process: it is as before after the test."""
    loggers = [logging.getLogger(name) for name in ("endstop", "uvicorn", "endstop.server")]
    before = [(each, each.handlers[:], each.propagate, each.level) for each in loggers]
    yield
    for logger, handlers, propagate, level in before:
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)


@pytest.mark.usefixtures("as_before")
@pytest.mark.parametrize(
    ("host", "options", "words"),
    [
        ("127.0.0.1", ("--token", "--model", "extractive"), "This link lets you in"),
        ("::1", ("--open",), "This link lets you in"),
        ("0.0.0.0", ("--open",), "for whoever has a token"),
    ],
)
def test_what_is_said_when_it_is_ready(
    endstop: Endstop,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    options: tuple[str, ...],
    words: str,
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    endstop("tokens", "create")
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as free:
        try:
            free.bind((host, 0))
        except OSError:
            pytest.skip(f"this machine has no {host}")
        port = free.getsockname()[1]
    address = f"http://[::1]:{port}" if ":" in host else f"http://127.0.0.1:{port}"
    ending = threading.Thread(target=_interrupt_when_ready, args=(address,))
    ending.start()
    done = endstop("serve", "--host", host, "--port", str(port), *options)
    ending.join()
    assert (done.code, words in done.out) == (0, True)
    assert ("es_" in done.out) is (host != "0.0.0.0")
    assert "info request method=GET path=/readyz status=200" in done.err
    assert len(opened) == options.count("--open")
    for link in opened:
        assert link in done.out
        assert f":{port}" in link


def _interrupt_when_ready(address: str) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            httpx.get(f"{address}/readyz")
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            os.kill(os.getpid(), signal.SIGINT)
            return


@pytest.mark.guarantee("H5", "D10")
def test_runs_left_open_go_on_and_a_second_ctrl_c_leaves_them_open_again(home: Path) -> None:
    process = started(home, "demo", "hangs_mid_stream", "--seconds", "30")
    line_with(process, "[1/1]")
    _wait_for(home, "runs", "--open")
    process.kill()
    process.communicate()
    with serving(home, "--token") as served:
        with served.client(served.token) as me:
            until = time.monotonic() + 10
            while me.get("/readyz").status_code != 200 and time.monotonic() < until:
                time.sleep(0.1)
        assert "left open" not in in_process_of_its_own(home, "runs").out
        began = time.monotonic()
        assert served.ended(signal.SIGINT, signal.SIGINT) == 130
        assert time.monotonic() - began < 10
        assert "Traceback" not in served.log.read_text()
    assert "left open" in in_process_of_its_own(home, "runs").out
    assert in_process_of_its_own(home, "cancel", "last").code == 0
    assert in_process_of_its_own(home, "audit", "last").code == 0


@pytest.fixture
def many_files() -> Iterator[None]:
    """This process may open as many files as a thousand connections need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4_096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_files")
def test_a_thousand_connections_that_send_nothing_keep_nobody_out(home: Path) -> None:
    with serving(home, "--token") as served, ExitStack() as crowd, served.client(served.token) as me:
        for _ in range(1_000):
            client = crowd.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=5))
            del client
        began = time.monotonic()
        for _ in range(20):
            assert me.get("/api/session").status_code == 200
        assert me.post("/api/oracle/query", json=QUERY).status_code == 200
        assert time.monotonic() - began < 10
        files = Path(f"/proc/{served.process.pid}/fd")
        if files.exists():
            assert len(list(files.iterdir())) < 300


def _wait_for(home: Path, *arguments: str) -> None:
    """Until the list has something in it, with a turn begun."""
    until = time.monotonic() + 15
    while time.monotonic() < until:
        listed = in_process_of_its_own(home, *arguments, "--json").json
        if listed and listed[0]["turns"]:
            return
    raise AssertionError("no run has begun")
