"""The output of a command as it comes in, with a cap: the head and the tail are kept."""

from __future__ import annotations


class CappedOutput:
    """Keeps the first and the last bytes, and counts those between."""

    def __init__(self, max_bytes: int) -> None:
        self._head_room = max_bytes // 2
        self._tail_room = max(1, max_bytes - self._head_room)
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0

    @property
    def is_cut(self) -> bool:
        return self._left_out > 0 or len(self._tail) > self._tail_room

    def add(self, piece: bytes) -> None:
        room = self._head_room - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:]
        if (
            len(self._tail) > 2 * self._tail_room
        ):  # not at each piece: moving bytes costs more than keeping them
            self._trim()

    def text(self) -> str:
        """What was kept, with a line that says how much was not."""
        self._trim()
        if not self._left_out:
            return bytes(self._head + self._tail).decode(errors="replace")
        head, tail = (bytes(part).decode(errors="replace") for part in (self._head, self._tail))
        return f"{head}\n[... {self._left_out:,} bytes left out ...]\n{tail}"

    def _trim(self) -> None:
        extra = len(self._tail) - self._tail_room
        if extra > 0:
            del self._tail[:extra]
            self._left_out += extra
