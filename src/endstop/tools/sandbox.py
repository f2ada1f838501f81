"""The bubblewrap sandbox: a file system of its own with only what was let in, and no way out of it.

A list of what is there, not of what is hidden: whatever nobody thought of is not there.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from endstop.tools.visible import private_settings

PRIVATE_HOME = "/tmp/home"

_PROBE_S = 5.0
_ALWAYS = ("--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL")
_SIZED, _NO_INNER_USERS = "--size", "--disable-userns"
_VARIANTS = (frozenset({_SIZED, _NO_INNER_USERS}), frozenset({_SIZED}), frozenset[str]())
"""What older versions of bubblewrap do not have, best first."""
_DEVICES_BYTES = 64_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Bubblewrap:
    """The program, or why it cannot be used."""

    program: str | None = None
    why_not: str = ""
    abilities: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Openings:
    """What a sandbox lets in of the world outside."""

    folder: Path
    """The work is done there, and can be written."""
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    network: bool = False
    memory_bytes: int


@cache
def installed_bubblewrap() -> Bubblewrap:
    """What is installed here, tried out once."""
    program = shutil.which("bwrap")
    return Bubblewrap(why_not="bubblewrap is not installed") if program is None else tried(program)


def tried(program: str) -> Bubblewrap:
    """Whether that bubblewrap works here: it needs user namespaces, which not every machine gives."""
    why = ""
    for abilities in _VARIANTS:
        found = Bubblewrap(program=program, abilities=abilities)
        openings = Openings(folder=Path("/usr"), readable=_SMALLEST, memory_bytes=_DEVICES_BYTES)
        command = [*sandboxed(["/bin/sh", "-c", "exit 0"], found, openings, is_read_only=True)]
        try:
            done = subprocess.run(
                command, env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROBE_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return Bubblewrap(why_not=f"bubblewrap does not work here: {type(error).__name__}")
        if done.returncode == 0:
            return found
        why = done.stderr.decode(errors="replace").strip().removeprefix("bwrap: ").split("\n")[0]
    return Bubblewrap(why_not=f"bubblewrap does not work here: {why[:200] or 'it says nothing'}")


_SMALLEST = tuple(map(Path, ("/bin", "/lib", "/lib32", "/lib64", "/nix/store")))


def sandboxed(
    command: Sequence[str], bubblewrap: Bubblewrap, openings: Openings, *, is_read_only: bool = False
) -> list[str]:
    """The command as bubblewrap is told of it."""
    words = [str(bubblewrap.program), *_ALWAYS]
    if _NO_INNER_USERS in bubblewrap.abilities:
        words += ["--unshare-user", _NO_INNER_USERS]
    if openings.network:
        words.append("--share-net")
    for _, mount in sorted(_mounts(bubblewrap, openings, is_read_only), key=lambda one: one[0]):
        words += mount
    return [
        *words,
        "--remount-ro",
        "/dev",
        "--remount-ro",
        "/",
        "--chdir",
        str(openings.folder),
        "--",
        *command,
    ]


def _mounts(
    bubblewrap: Bubblewrap, openings: Openings, is_read_only: bool
) -> list[tuple[tuple[int, int], list[str]]]:
    """Each with its place in the order: a folder comes before what is inside it, else it would hide that."""
    mounts: list[tuple[tuple[int, int], list[str]]] = []

    def add(path: str | Path, *words: str, rank: int = 0) -> None:
        mounts.append(((len(Path(path).parts), rank), [*words, str(path)]))

    def add_private(path: str | Path, size: int) -> None:
        add(path, *((_SIZED, str(size)) if _SIZED in bubblewrap.abilities else ()), "--tmpfs")

    add("/proc", "--proc")
    add("/dev", "--dev")
    add_private("/dev/shm", openings.memory_bytes)
    add_private("/tmp", openings.memory_bytes)
    add(PRIVATE_HOME, "--dir")
    for path in openings.readable:
        add(path, "--ro-bind-try", str(path), rank=1)
    if Path("/etc") in openings.readable:
        for path, is_folder in private_settings():
            if is_folder:
                add_private(path, _NOTHING)
            elif Path(path).exists():
                add(path, "--ro-bind", "/dev/null")
    home = Path.home()
    if any(home.is_relative_to(path) for path in openings.readable):
        add_private(home, openings.memory_bytes)
    for path in (openings.folder, *openings.writable):
        add(path, "--ro-bind" if is_read_only else "--bind", str(path), rank=2)
    link = openings.folder / ".git"
    if (
        link.exists() and not link.is_symlink()
    ):  # it says where the repository is: not for a command to change
        add(link, "--ro-bind", str(link), rank=3)
    return mounts


_NOTHING = 4_096
