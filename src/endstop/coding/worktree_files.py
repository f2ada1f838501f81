"""Files of a worktree as agents change them: inside of it only, whole or not at all.

No link is followed, on no step of the way and at no time: each folder is opened from the one above it.
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
import stat
import threading
import uuid
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

from endstop.coding.forbidden import Forbidden
from endstop.errors import ToolArgumentsError, ToolError, ToolRefusedError, brief
from endstop.tools.project.folder import Folder

MOST_BYTES = 1_000_000
"""The largest file that can be written."""

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DRIVE = re.compile(r"[A-Za-z]:/")
_NEW_MODE = 0o666  # less what the user's mask takes away
_MOST_LINES_TOLD = 5

FilePath = Annotated[str, "From the top of the project, such as src/main.py"]


class WorktreeFiles:
    """Writes, edits and deletes files. Each method is a tool; they block, and are called in threads."""

    def __init__(self, folder: str | Path, forbidden: Forbidden) -> None:
        self._folder = Folder(folder)
        self._forbidden = forbidden
        self._changing = threading.Lock()
        """Two changes asked for in one turn are made one after the other, else one could undo the other."""

    def write_file(self, path: FilePath, content: Annotated[str, "All of the new content"]) -> str:
        """Write a whole file: a new one, or a new content for an old one. Folders are made as needed."""
        name = self._checked(path)
        with self._changing:
            before = self._text_or_none(name)
            self._forbidden.check_content(name, content, before or "")
            self._put(name, content)
        lines = _lines(content)
        return f"{'Wrote' if before is None else 'Replaced'} {name}: {lines:,} line{'s' * (lines != 1)}."

    def edit_file(
        self,
        path: FilePath,
        old: Annotated[str, "The text to replace, exactly as it is in the file; it must be there only once"],
        new: Annotated[str, "The text to put in its place"],
    ) -> str:
        """Replace one piece of a file with another."""
        name = self._checked(path)
        with self._changing:
            text = self._text(name)
            if "\r\n" in text and old not in text:  # models write plain line ends
                old, new = _with_crlf(old), _with_crlf(new)
            _check_edit(name, text, old, new)
            changed = text.replace(old, new)
            self._forbidden.check_content(name, changed, text)
            self._put(name, changed)
        line = text[: text.index(old)].count("\n") + 1
        return f"Changed {name} at line {line:,}: {_lines(old):,} lines became {_lines(new):,}."

    def delete_file(self, path: FilePath) -> str:
        """Delete a file."""
        name = self._checked(path)
        above, _, last = name.rpartition("/")
        try:
            with self._opened(above) as folder:
                if stat.S_ISDIR(os.stat(last, dir_fd=folder, follow_symlinks=False).st_mode):
                    raise ToolError(f"{brief(path)} is a folder", to_do="Delete the files in it one by one")
                os.unlink(last, dir_fd=folder)
        except OSError as error:
            raise _failed("deleted", name, error) from error
        return f"Deleted {name}."

    def _checked(self, path: str) -> str:
        """The path below the folder, if it may be changed."""
        wanted = path.strip().replace("\\", "/")
        if wanted.startswith("/"):
            inside = f"{self._folder.root}/"
            if not wanted.startswith(inside):
                raise _outside(path)
            wanted = wanted.removeprefix(inside)
        steps = [step for step in wanted.split("/") if step not in ("", ".")]
        if ".." in steps or "\0" in wanted or _DRIVE.match(wanted):
            raise _outside(path)
        if not steps or wanted.endswith("/"):
            raise ToolArgumentsError(
                f"{brief(path)} is not the path of a file", allowed="such as src/main.py"
            )
        name = posixpath.join(*steps)
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise ToolArgumentsError(f"{brief(path)} is not valid text") from error
        self._forbidden.check_path(name)
        return name

    def _text(self, name: str) -> str:
        try:
            return self._folder.read(name, most_bytes=MOST_BYTES).decode()
        except UnicodeDecodeError as error:
            raise ToolError(f"{brief(name)} is not a text in UTF-8", to_do="Write it as a whole") from error

    def _text_or_none(self, name: str) -> str | None:
        """What a file has in it now; None if there is none. What is not text is as good as empty."""
        if not os.path.lexists(f"{self._folder.root}/{name}"):
            return None
        with suppress(ToolError):
            return self._text(name)
        return ""

    def _put(self, name: str, text: str) -> None:
        """Write beside the file, then put that in its place: a reader sees the one or the other."""
        try:
            content = text.encode()
        except UnicodeEncodeError as error:
            raise ToolArgumentsError(
                "The content is not valid text", to_do="Leave out lone surrogates"
            ) from error
        if len(content) > MOST_BYTES:
            raise ToolError(
                f"{brief(name)} would have {len(content):,} bytes",
                allowed=f"at most {MOST_BYTES:,} bytes",
                to_do="Divide it into several files",
            )
        above, _, last = name.rpartition("/")
        try:
            with self._opened(above, is_made=True) as folder:
                _replace(folder, last, content)
        except OSError as error:
            raise _failed("written", name, error) from error

    @contextmanager
    def _opened(self, path: str, *, is_made: bool = False) -> Generator[int]:
        """A folder below, reached step by step without following a link; made on the way if asked for."""
        here = self._folder.open_folder()
        try:
            for step in path.split("/") if path else ():
                if is_made:
                    with suppress(FileExistsError):
                        os.mkdir(step, dir_fd=here)
                there = os.open(step, _OPEN_FOLDER, dir_fd=here)
                os.close(here)
                here = there
            yield here
        finally:
            os.close(here)


def _replace(folder: int, name: str, content: bytes) -> None:
    mode = _mode_of(folder, name)
    beside = f".endstop-{uuid.uuid4().hex}"
    try:
        with os.fdopen(os.open(beside, _CREATE, _NEW_MODE, dir_fd=folder), "wb") as stream:
            stream.write(content)
            if mode is not None:
                os.fchmod(stream.fileno(), mode)
        os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside, dir_fd=folder)
        raise


def _mode_of(folder: int, name: str) -> int | None:
    """The permissions of the file that is there, without set-user-id and such; None if there is none."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, "it is a link")
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EISDIR, "it is not a file")
    return stat.S_IMODE(found.st_mode) & 0o777


def _check_edit(name: str, text: str, old: str, new: str) -> None:
    if not old:
        raise ToolArgumentsError("old is empty", to_do="Give the text to replace, or use write_file")
    if old == new:
        raise ToolArgumentsError("old and new are the same", to_do="Give the text as it shall become")
    starts = _starts(text, old)
    if not starts:
        raise ToolError(f"The text was not found in {brief(name)}", to_do=_hint(text, old))
    if len(starts) > 1:
        lines = ", ".join(str(text[:start].count("\n") + 1) for start in starts[:_MOST_LINES_TOLD])
        more = " and more" if len(starts) > _MOST_LINES_TOLD else ""
        raise ToolError(
            f"The text is in {brief(name)} more than once (lines {lines}{more})",
            to_do="Give more of the lines around it, so that it is there only once",
        )


def _starts(text: str, old: str) -> list[int]:
    """Where it begins, also where it overlaps itself; the first few."""
    starts: list[int] = []
    at = text.find(old)
    while at >= 0 and len(starts) <= _MOST_LINES_TOLD:
        starts.append(at)
        at = text.find(old, at + 1)
    return starts


def _hint(text: str, old: str) -> str:
    wanted = old.strip().split("\n")[0].strip()
    for number, line in enumerate(text.split("\n"), 1):
        if wanted and wanted in line:
            return f"Line {number:,} is like its first line: read the file there, and give the text exactly"
    return "Read the file, and give the text exactly as it is there, with its white space"


def _with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _outside(path: str) -> ToolRefusedError:
    return ToolRefusedError(
        f"{brief(path)} is not inside the project folder",
        allowed="paths below the project folder, without .., such as src/main.py",
    )


def _failed(done: str, name: str, error: OSError) -> ToolError:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return ToolRefusedError(
            f"{brief(name)} cannot be {done}: it is a link, or a link or a file is on the way",
            to_do="Use another path; list_files shows what there is",
        )
    return ToolError(
        f"{brief(name)} cannot be {done}: {error.strerror}", to_do="list_files shows what there is"
    )
