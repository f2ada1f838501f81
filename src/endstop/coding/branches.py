"""What git remembers of a session, and nothing else has to: its branch, its rounds, how it stands.

A session has the branch ``endstop/<run id>``. Beside it, under ``refs/endstop/<run id>/``:

    opened      a small text: where the session began, and where its worktree is
    base        the commit it began from
    snapshot    the content it may go back to, while it simplifies
    accepted    its last commit, once it was accepted
    discarded   its last commit, once it was discarded: nothing is lost
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from endstop.coding.git import Git
from endstop.errors import InvalidValueError, RepositoryError

ROUND_TRAILER = "Endstop-Round"
_BRANCHES = "refs/heads/endstop/"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9_-])){0,99}")


class Standing(StrEnum):
    """What has become of a session's work."""

    OPEN = "open"
    ACCEPTED = "accepted"
    DISCARDED = "discarded"
    GONE = "gone"
    """Git knows nothing of it: it never began, or its branch was deleted by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """Where a session began."""

    base: str
    branch: str | None
    """The user's branch that was checked out; None for a detached HEAD."""
    worktree: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundCommit:
    """The work of one round."""

    round: int
    commit: str
    subject: str


def branch_of(session: str) -> str:
    """The name of a session's branch."""
    if not _NAME.fullmatch(session) or session.endswith(".lock"):
        raise InvalidValueError(
            "session", session, allowed="the id of a run: letters, digits, '-', '_' and single dots"
        )
    return f"endstop/{session}"


def branch_ref(session: str) -> str:
    return f"refs/heads/{branch_of(session)}"


def note_ref(session: str, name: str) -> str:
    """One of the refs beside the branch."""
    branch_of(session)
    return f"refs/endstop/{session}/{name}"


async def standing_of(common: Git, session: str) -> Standing:
    """How a session stands, from git alone."""
    if await common.commit_of(note_ref(session, "accepted")):
        return Standing.ACCEPTED
    if await common.commit_of(note_ref(session, "discarded")):
        return Standing.DISCARDED
    if await common.commit_of(branch_ref(session)):
        return Standing.OPEN
    return Standing.GONE


async def opened_of(common: Git, session: str) -> Opened | None:
    """Where a session began, or None if nobody wrote it down."""
    found = await common.run("cat-file", "blob", note_ref(session, "opened"), accepts=(0, 128))
    if found.exit_code:
        return None
    try:
        read = json.loads(found.output)
        return Opened(base=str(read["base"]), branch=read["branch"], worktree=str(read["worktree"]))
    except (ValueError, KeyError, TypeError) as error:
        raise RepositoryError(
            f"{note_ref(session, 'opened')} is not what Endstop writes there",
            to_do=f"Delete it and the branch {branch_of(session)}, and start a new session",
        ) from error


async def write_opened(common: Git, session: str, opened: Opened) -> None:
    text = json.dumps(asdict(opened)).encode()
    blob = await common.line("hash-object", "-w", "--stdin", given=text)
    await common.run("update-ref", note_ref(session, "opened"), blob)


async def tip_of(common: Git, session: str) -> str | None:
    """The last commit of a session, whatever has become of it."""
    for ref in (
        branch_ref(session),
        *(note_ref(session, end) for end in (Standing.ACCEPTED, Standing.DISCARDED)),
    ):
        if tip := await common.commit_of(ref):
            return tip
    return None


async def open_sessions(common: Git) -> tuple[str, ...]:
    """The sessions whose work was neither accepted nor discarded."""
    listed = await common.line("for-each-ref", "--format=%(refname)", _BRANCHES)
    sessions = [ref.removeprefix(_BRANCHES) for ref in listed.splitlines()]
    return tuple([one for one in sessions if await _is_ours_and_open(common, one)])


async def rounds_of(common: Git, session: str) -> tuple[RoundCommit, ...]:
    """The rounds of a session with the last commit of each, in their order."""
    tip = await tip_of(common, session)
    base = await common.commit_of(note_ref(session, "base"))
    if tip is None or base is None:
        return ()
    log = await common.run("log", "-z", "--first-parent", "--reverse", "--format=%H%n%B", f"{base}..{tip}")
    rounds: dict[int, RoundCommit] = {}
    for entry in log.output.decode(errors="replace").split("\0"):
        commit, _, message = entry.partition("\n")
        number = _round_in(message, session)
        if number is not None:
            subject = message.strip().splitlines()[0]
            rounds[number] = RoundCommit(round=number, commit=commit, subject=subject)
    return tuple(rounds[number] for number in sorted(rounds))


def round_trailer(session: str, number: int) -> str:
    return f"{ROUND_TRAILER}: {session}/{number}"


def _round_in(message: str, session: str) -> int | None:
    """The round that the last line names. Only the last one is ours: the rest may be an agent's words."""
    last = message.strip().rpartition("\n")[2]
    prefix, _, number = last.rpartition("/")
    is_ours = prefix == f"{ROUND_TRAILER}: {session}" and re.fullmatch(r"[1-9][0-9]{0,5}", number)
    return int(number) if is_ours else None


async def _is_ours_and_open(common: Git, session: str) -> bool:
    if not _NAME.fullmatch(session):
        return False
    return (
        await opened_of(common, session) is not None and await standing_of(common, session) is Standing.OPEN
    )


def common_git(common_dir: Path) -> Git:
    """Git on a repository as a whole: commits and refs, no files."""
    return Git(git_dir=common_dir)
