"""llama.cpp's server as a child process: started when it is first needed, shared by all who name its file."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import secrets
import subprocess
import sys
from dataclasses import dataclass
from threading import Lock

from endstop.errors import ModelUnreachableError, UnknownModelError

_POLL_S = 0.02
_PATIENCE_S = 1.0
_BATCH_TOKENS = 128
"""A prompt is worked on in parts of this size; between them a client that has gone is noticed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaSettings:
    """What a server is started with. Equal settings share a server."""

    path: str
    context_tokens: int
    threads: int | None


class LlamaServer:
    """One child process."""

    def __init__(self, settings: LlamaSettings) -> None:
        self.key = secrets.token_urlsafe(24)
        self.users = 0
        self._settings = settings
        self._lock = Lock()
        self._told = b""
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def address(self) -> str:
        """Where it listens. Starts it if it does not run, and waits until its file is loaded."""
        while True:
            with self._lock:
                told = self._poll()
            if told is not None:
                return told
            await asyncio.sleep(_POLL_S)

    def stop(self) -> None:
        """End the process. Asked again, a new one is started."""
        with self._lock:
            process, self._process, self._told = self._process, None, b""
        if process is not None:
            _end(process)

    def _poll(self) -> str | None:
        """The address, if it has been told by now."""
        process = self._process
        if process is None:
            self._start()
            return None
        self._told += _read(process)
        has_ended = process.poll() is not None
        if b"\n" in self._told:
            told: dict[str, str] = json.loads(self._told)
            if "address" in told and has_ended:  # it died between two calls: that is no reason to fail one
                self._forget(process)
                return None
            if "address" in told:
                return told["address"]
            if "error" in told:
                self._forget(process)
                raise UnknownModelError(
                    f"{self._settings.path} cannot be loaded: {told['error']}",
                    to_do="Check that it is a whole GGUF file of a kind that llama.cpp knows",
                )
        if has_ended:
            self._forget(process)
            raise ModelUnreachableError(
                f"llama.cpp ended while it loaded {self._settings.path} (exit code {process.returncode})",
                to_do="Try again; if it happens again, the memory may be too small for this model",
            )
        return None

    def _forget(self, process: subprocess.Popen[bytes]) -> None:
        self._process, self._told = None, b""
        _end(process)

    def _start(self) -> None:
        self._process = process = subprocess.Popen(
            [sys.executable, "-m", "endstop.models.local_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # what the terminal sends to us is not for it: it ends when we do
        )
        settings = {
            "path": self._settings.path,
            "context_tokens": self._settings.context_tokens,
            "threads": self._settings.threads,
            "batch_tokens": _BATCH_TOKENS,
            "key": self.key,
        }
        assert process.stdin is not None
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        process.stdin.write(json.dumps(settings).encode() + b"\n")
        process.stdin.flush()


def _read(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    try:
        return os.read(process.stdout.fileno(), 65_536)
    except BlockingIOError:
        return b""


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    try:
        process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


_servers: dict[LlamaSettings, LlamaServer] = {}
_lock = Lock()


def shared_server(settings: LlamaSettings) -> LlamaServer:
    """The server for these settings. Give it back with ``give_back``."""
    with _lock:
        server = _servers.setdefault(settings, LlamaServer(settings))
        server.users += 1
        return server


def give_back(settings: LlamaSettings) -> None:
    """The last one to give a server back stops it."""
    with _lock:
        server = _servers[settings]
        server.users -= 1
        if server.users:
            return
        del _servers[settings]
    server.stop()


@atexit.register
def _stop_all() -> None:
    for server in _servers.values():
        server.stop()
