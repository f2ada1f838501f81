"""Stands in for the package of this name: a server that does what the last message tells it to.

The real one is tried in ``tests/real_model``; it is no part of the usual environment.
"""

from __future__ import annotations

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any


class CommonParams(SimpleNamespace):
    def __init__(self) -> None:
        super().__init__(
            model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace()
        )


class Server:
    def __init__(self, params: Any) -> None:
        path = Path(params.model.path)
        told = path.read_bytes()
        sys.stdout.write("llama.cpp says a lot\n")
        sys.stdout.flush()
        if b"broken" in told:
            raise RuntimeError("Failed to init server")
        if b"crash" in told:
            os._exit(3)
        if b"slow" in told:
            time.sleep(60)

        class Answering(_Answering):
            key = params.api_keys[0]
            notes = path.with_suffix(".left")

        self._served = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self._served.daemon_threads = True
        Thread(target=self._served.serve_forever, daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{self._served.server_port}"


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    key: str
    notes: Path

    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.close_connection = True
        wish, _, text = body["messages"][-1]["content"].partition(":")
        if self.headers["Authorization"] != f"Bearer {self.key}":
            return self._refuse(401, "who are you")
        if wish == "refuse":
            return self._refuse(int(text), "so it is")
        if wish == "odd":
            return self._refuse(500, "")
        if wish == "die":
            os._exit(9)
        if wish == "mute":
            self.wfile.write(b"what?\r\n\r\n")
            return None
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            self._stream(wish, text, body)
        except OSError:
            self.notes.write_text("the client has left")
        return None

    def _refuse(self, status: int, words: str) -> None:
        data = json.dumps({"error": {"message": words}}).encode() if words else b"<html>"
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, wish: str, text: str, body: dict[str, Any]) -> None:
        if wish == "echo":
            text = json.dumps(body)
        if wish == "think":
            self._event({"choices": [{"delta": {"reasoning_content": "hm"}}]})
        for at in range(0, len(text), 3):
            self._event({"choices": [{"delta": {"content": text[at : at + 3]}}]})
        if wish == "cut":
            return self._chunk(b"")
        if wish == "drop":
            return None
        if wish == "nonsense":
            return self._chunk(b"data: {nope\n\n")
        while wish == "forever":
            self._event({"choices": [{"delta": {"content": "on "}}]})
            time.sleep(0.005)
        finish = "length" if wish == "length" else "stop"
        self._event({"choices": [{"finish_reason": finish}]})
        self._event({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})
        self._chunk(b"data: [DONE]\n\n")
        return self._chunk(b"")

    def _event(self, event: object) -> None:
        self._chunk(b"data: " + json.dumps(event).encode() + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()
