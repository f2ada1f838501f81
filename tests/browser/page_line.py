"""A line between browser and server that can be cut: "offline", as Chromium does it, spares open streams."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


class Line:
    """Passes bytes on, both ways. The browser takes it for a proxy."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._is_cut = False
        threading.Thread(target=self._accept, daemon=True).start()

    @classmethod
    @contextmanager
    def laid(cls, port: int) -> Generator[Line]:
        line = cls(port)
        try:
            yield line
        finally:
            line._listening.close()
            line.cut()

    @property
    def proxy(self) -> Any:
        """For the options of a browser context."""
        return {"server": f"http://127.0.0.1:{self._listening.getsockname()[1]}", "bypass": "<-loopback>"}

    def cut(self) -> None:
        """Whatever is open breaks, and nothing comes through."""
        with self._lock:
            self._is_cut = True
            for end in self._open:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        self._is_cut = False

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed: that was the last
            while True:
                near, _ = self._listening.accept()
                if self._is_cut:
                    near.close()
                    continue
                threading.Thread(target=self._carry, args=(near,), daemon=True).start()

    def _carry(self, near: socket.socket) -> None:
        with near, socket.create_connection(("127.0.0.1", self._to)) as far:
            with self._lock:
                self._open |= {near, far}
            back = threading.Thread(target=_pass_on, args=(far, near, b""), daemon=True)
            back.start()
            _pass_on(near, far, f" http://127.0.0.1:{self._to}".encode())
            back.join()
            with self._lock:
                self._open -= {near, far}


def _pass_on(source: socket.socket, target: socket.socket, whole: bytes) -> None:
    """``whole``: what a browser writes before the path when it asks a proxy, and a server does not expect."""
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data.replace(whole + b"/", b" /", 1) if whole else data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
