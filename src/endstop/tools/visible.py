"""What a confined command may see of this machine: programs and what they need, and nobody's own files."""

from __future__ import annotations

import os
import site
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"),
    *("/etc", "/opt", "/nix/store", "/gnu/store"),
)

_PROGRAMS = frozenset({"bin", "sbin", "shims"})
_INSTALLED = ("lib", "lib64", "libexec", "versions", "pyvenv.cfg")
"""One of these beside a folder of programs: both belong to an installation, and the programs need it."""
_MOST_LINKS = 500
_WORLD_READS = stat.S_IROTH
_WORLD_ENTERS = stat.S_IROTH | stat.S_IXOTH


def visible_folders(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """The system, the interpreter we run in, and where the programs on the ``PATH`` are installed."""
    home = Path.home()
    wanted = [Path(sys.prefix), Path(sys.base_prefix), *_of_path(environment.get("PATH", ""), home)]
    if site.ENABLE_USER_SITE:
        wanted.append(Path(site.getusersitepackages()))
    if (toolchains := rustup_home(environment)) is not None:
        wanted.append(toolchains)
    chosen = [folder for folder in wanted if not _is_above(folder, home)]
    return outermost(folder for folder in (*map(Path, SYSTEM), *chosen) if folder.exists())


def rustup_home(environment: Mapping[str, str]) -> Path | None:
    """Where the Rust tool chains are, if there are any: what is on the ``PATH`` only points there."""
    folder = Path(environment.get("RUSTUP_HOME", Path.home() / ".rustup"))
    return folder if folder.is_dir() else None


def program_folders(program: Path) -> tuple[Path, ...]:
    """What has to be seen for a program to run: its folder, its installation, and those its links lead to."""
    home = Path.home()
    found: list[Path] = []
    step = Path(os.path.abspath(program))  # not resolved: the way there counts as well
    for _ in range(10):
        found += _installation(step.parent, home)
        if not step.is_symlink():
            break
        step = Path(os.path.abspath(step.parent / step.readlink()))
    return outermost(folder for folder in found if folder.exists() and not _is_above(folder, home))


def outermost(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Each folder once, by its name and by what it really is, without those that are inside another."""
    wanted = {one for folder in folders for one in (folder, folder.resolve())}
    return tuple(sorted(one for one in wanted if not any(above in wanted for above in one.parents)))


@cache
def private_settings(folder: str = "/etc") -> tuple[tuple[str, bool], ...]:
    """What in a folder of the system is not for everybody, and whether it is a folder: passwords, keys.

    We may be one who can read it. A command must not be, only because we run it.
    """
    found: list[tuple[str, bool]] = []
    for here, folders, files in os.walk(folder):
        paths = (f"{here}/{name}" for name in files)
        found += [(path, False) for path in paths if _is_private(path, stat.S_IFREG, _WORLD_READS)]
        hidden = [name for name in folders if _is_private(f"{here}/{name}", stat.S_IFDIR, _WORLD_ENTERS)]
        found += [(f"{here}/{name}", True) for name in hidden]
        folders[:] = [name for name in folders if name not in hidden]
    return tuple(found)


def _of_path(path: str, home: Path) -> Iterator[Path]:
    for entry in dict.fromkeys(path.split(os.pathsep)):
        folder = Path(entry)
        if not folder.is_absolute() or not folder.is_dir() or any(map(folder.is_relative_to, SYSTEM)):
            continue
        installation = _installation(folder, home)
        yield from installation
        if folder in installation:  # by itself: what it has may be links to installations elsewhere
            links = [one for one in sorted(folder.iterdir())[:_MOST_LINKS] if one.is_symlink()]
            for link in links:
                yield from _installation(link.resolve().parent, home)


def _installation(folder: Path, home: Path) -> list[Path]:
    """The installation that a folder of programs belongs to; the folder by itself if there is none.

    ``~/.local`` looks like one, and has everything in it.
    """
    prefix = folder.parent
    is_one = folder.name in _PROGRAMS and any((prefix / name).exists() for name in _INSTALLED)
    return [folder] if not is_one or prefix.name == ".local" or _is_above(prefix, home) else [prefix]


def _is_above(folder: Path, home: Path) -> bool:
    """Whether it is somebody's whole home, or more."""
    return home.is_relative_to(folder) or home.resolve().is_relative_to(folder.resolve())


def _is_private(path: str, kind: int, readable: int) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return stat.S_IFMT(mode) == kind and mode & readable != readable
