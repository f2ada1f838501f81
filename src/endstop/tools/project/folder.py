"""A folder that nothing leads out of: not ``..``, not an absolute path, not a symbolic link, not a race."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from pathlib import Path

from endstop.errors import InvalidValueError, ToolError, ToolRefusedError, brief

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A FIFO or a device is opened without waiting for anybody, and closed at once when it is seen to be one.
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_DRIVE = re.compile(r"[A-Za-z]:[\\/]|\\\\|//")


class Folder:
    """A folder, and the files in it by their path below it (with ``/``, whatever the system)."""

    def __init__(self, path: str | Path, *, field: str = "folder") -> None:
        try:
            root = Path(path).resolve(strict=True)
            with os.scandir(root):
                pass
        except (OSError, ValueError, RuntimeError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise InvalidValueError(
                field,
                str(path),
                allowed=f"a folder that exists and can be read (this one cannot: {why})",
                to_do="Give the path of a folder, or change its permissions",
            ) from error
        self.root = str(root)

    def inside(self, path: str) -> str:
        """Where ``path`` really leads to, below the folder; ``""`` is the folder itself.

        ``ToolRefusedError`` if that is outside.
        """
        if "\0" in path or _DRIVE.match(path):
            raise self._outside(path)
        wanted = path.strip().replace("\\", "/") if not self._exists(path) else path
        try:
            real = os.path.realpath(posixpath.join(self.root, wanted))
            real.encode()
        except (OSError, ValueError) as error:
            raise self._outside(path) from error
        if real == self.root:
            return ""
        prefix = self.root.rstrip("/") + "/"
        if not real.startswith(prefix):
            raise self._outside(path)
        return real.removeprefix(prefix)

    def read(self, path: str, *, most_bytes: int) -> bytes:
        """The content of a regular file; ``path`` as ``inside`` gave it, with no link on the way."""
        file = self._open(path)
        try:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode):
                raise ToolError(f"{brief(path)} is not a file", to_do="Use list_files to see what there is")
            if found.st_size > most_bytes:
                raise ToolError(
                    f"{brief(path)} has {found.st_size:,} bytes",
                    allowed=f"files of at most {most_bytes:,} bytes",
                )
            return _read_all(file, most_bytes)
        finally:
            os.close(file)

    def open_folder(self, path: str = "") -> int:
        """A descriptor of a folder below this one, reached without following a link."""
        here = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for step in path.split("/") if path else ():
                there = os.open(step, _OPEN_FOLDER, dir_fd=here)
                os.close(here)
                here = there
        except BaseException:
            os.close(here)
            raise
        return here

    def _open(self, path: str) -> int:
        above, _, name = path.rpartition("/")
        try:
            folder = self.open_folder(above)
            try:
                return os.open(name or ".", _OPEN_FILE, dir_fd=folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise ToolError(
                f"{brief(path)} cannot be opened: {error.strerror}",
                to_do="Use list_files to see what there is",
            ) from error

    def _exists(self, path: str) -> bool:
        try:
            return os.path.lexists(posixpath.join(self.root, path))
        except (OSError, ValueError):
            return False

    def _outside(self, path: str) -> ToolRefusedError:
        return ToolRefusedError(
            f"{brief(path)} is not inside the project folder",
            allowed="paths below the project folder, such as src/main.py",
            to_do="Use list_files to see what there is",
        )


def _read_all(file: int, most_bytes: int) -> bytes:
    """All of it; the file may grow meanwhile, but no more than is allowed is read."""
    pieces: list[bytes] = []
    left = most_bytes
    while left > 0 and (piece := os.read(file, min(left, 1_048_576))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
