"""A small project in a repository of its own, for the examples to work in."""

from __future__ import annotations

from pathlib import Path

from endstop.coding.git import Git
from endstop.errors import InvalidValueError
from endstop.tools.threads import call_in_thread

_FILES = Path(__file__).parent / "sample"
_SUFFIX = ".txt"
"""At the end of each file's name here, so that no tool takes it for a part of Endstop."""
_BRANCH = "refs/heads/main"
_WHO = "Ada Example <ada@example.org> 1772445600 +0000"
"""Always the same author and date, so that the commit has the same number everywhere."""


async def make_sample_repository(folder: Path) -> Path:
    """The sample project in ``folder``: a repository with one commit. Refuses a folder that is not empty."""
    made = await call_in_thread(_made, folder)
    files = await call_in_thread(sample_files)
    git = Git(git_dir=None, folder=made, settings=("core.autocrlf=false",))
    await git.run("init", "--quiet", "--template=", "--object-format=sha1", f"--initial-branch={_branch()}")
    inside = Git(git_dir=made / ".git", work_tree=made, settings=git.settings)
    await inside.run("fast-import", "--quiet", given=_stream(files))
    await inside.run("reset", "--quiet", "--hard")
    return made


def sample_files() -> dict[str, bytes]:
    """What the sample project is made of, by path."""
    found = sorted(_FILES.glob(f"*{_SUFFIX}"))
    return {path.name.removesuffix(_SUFFIX): path.read_bytes() for path in found}


def _branch() -> str:
    return _BRANCH.removeprefix("refs/heads/")


def _made(folder: Path) -> Path:
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise InvalidValueError(
            "folder",
            str(folder),
            allowed="a folder that is empty, or not there yet",
            to_do="Name another one: what is there stays as it is",
        )
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def _stream(files: dict[str, bytes]) -> bytes:
    """All files in one commit, as ``git fast-import`` reads it."""
    message = b"A timesheet\n"
    parts = [
        f"commit {_BRANCH}\nauthor {_WHO}\ncommitter {_WHO}\ndata {len(message)}\n".encode() + message,
        *(
            f"M 100644 inline {name}\ndata {len(content)}\n".encode() + content + b"\n"
            for name, content in files.items()
        ),
        b"done\n",
    ]
    return b"".join(parts)
