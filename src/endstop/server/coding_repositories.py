"""Which repositories a caller may have worked in: on their own machine any, elsewhere those that are served.

A session runs commands. Whoever started the server could run them anyway; everybody else gets to the
repositories that it was started for, and only where a sandbox keeps the commands in.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from endstop.coding.repository import Repository, open_repository
from endstop.errors import ForbiddenError, InvalidValueError, RepositoryError
from endstop.server.access import Access, Caller
from endstop.tools.threads import call_in_thread

_MOST_OFFERED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Repositories:
    """The repositories of one server."""

    access: Access
    served: tuple[Path, ...] = ()
    """Folders by their whole paths: what is in them may be worked in, too."""
    examples: Path
    """Where the examples' own repositories are, each in a folder named after its run."""

    def may_name_any(self, caller: Caller) -> bool:
        """Whether it is the caller's own machine: they started the server, and nobody else can reach it."""
        return self.access.owner is not None and caller.user == self.access.owner

    def may_use(self, caller: Caller, folder: Path) -> bool:
        return self.may_name_any(caller) or any(folder.is_relative_to(one) for one in self.served)

    def may_use_of(self, caller: Caller, session: str, folder: Path) -> bool:
        """Whether the caller may still use the repository of a session of theirs."""
        return self.may_use(caller, folder) or folder == self.examples.resolve() / session

    def offered(self) -> tuple[Path, ...]:
        """The repositories that there are: folders that are served, or else those right below them."""
        found: list[Path] = []
        for folder in self.served:
            found += [folder] if _is_repository(folder) else _repositories_in(folder)
        return tuple(dict.fromkeys(found))[:_MOST_OFFERED]

    async def named(self, caller: Caller, named: str) -> Repository:
        """The repository that a caller names for a new session."""
        folder = await call_in_thread(_whole, named)
        self._require(caller, named, folder)
        try:
            opened = await open_repository(await call_in_thread(_readable, named, folder))
        except RepositoryError as error:
            allowed = error.allowed or "a git repository that can be worked in"
            raise InvalidValueError(
                "repository", named, allowed=f"{allowed} ({error.what})", to_do=error.to_do
            ) from None
        self._require(caller, named, opened.root)  # the folder may be served, and what it belongs to not
        return opened

    async def of_session(self, caller: Caller, session: str, folder: str) -> Repository:
        """The repository of a session of the caller's, as it is now."""
        if not folder:
            raise RepositoryError(
                f"The session {session} has not begun to work", to_do="Wait until it has, and ask again"
            )
        if not self.may_use_of(caller, session, Path(folder)):
            raise _forbidden("The repository of this session")
        return await open_repository(folder)

    def _require(self, caller: Caller, named: str, folder: Path) -> None:
        if not self.may_use(caller, folder):
            raise _forbidden(f"The repository {named!r}")


def _is_repository(folder: Path) -> bool:
    return os.path.lexists(folder / ".git")


def _repositories_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as inside:
            names = sorted(one.name for one in inside if one.is_dir(follow_symlinks=False))
    except OSError:  # taken away since
        return []
    return [folder / name for name in names if _is_repository(folder / name)]


def require_served(folder: Path) -> Path:
    """A folder that is to be served, by its whole path; a clear error if it is not there."""
    return _readable(str(folder), _whole(str(folder)))


def _whole(named: str) -> Path:
    """A path as it was meant, whether something is there or not."""
    try:
        return Path(named).expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise _unreadable(named, error) from None


def _readable(named: str, folder: Path) -> Path:
    try:
        with os.scandir(folder):
            return folder
    except (OSError, ValueError) as error:
        raise _unreadable(named, error) from None


def _unreadable(named: str, error: Exception) -> InvalidValueError:
    why = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
    return InvalidValueError("repository", named, allowed=f"a folder that is there and can be read{why}")


def _forbidden(what: str) -> ForbiddenError:
    return ForbiddenError(
        f"{what} is not one that this server works in for you",
        allowed="those it was started for: GET /api/coding/offer lists them",
        to_do="Ask whoever runs the server to start it with --repo PATH",
    )
