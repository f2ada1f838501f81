"""The work of a coding session: looked at, taken, thrown away, brought back (G8)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from endstop.cli.errors import UsageError
from endstop.cli.output import Output, ReaderGone
from endstop.cli.prompting import agreed, may_ask
from endstop.cli.session_found import Session, Work, find_session, require_ended, work_of
from endstop.cli.texts import count
from endstop.coding import keeping
from endstop.coding.branches import Standing, note_ref, tip_of
from endstop.coding.repository import rounds_of
from endstop.errors import InvalidValueError, RepositoryError
from endstop.events.coding_view import short_commit

if TYPE_CHECKING:
    from endstop.app import App

STDOUT = "-"
_MOST_DIFF_CHARS = 10_000_000
_STYLES = {"+": "green", "-": "red", "@": "cyan", "d": "bold"}


async def tell_diff(app: App, output: Output, given: str, round_: int | None) -> int:
    """Print what a session, or one of its rounds, changed."""
    session = await find_session(app, given)
    work = await work_of(session)
    since, until = await _span(session, work, round_)
    text = await work.worktree.diff(since, until, most_chars=_MOST_DIFF_CHARS)
    stat = await work.worktree.stat(since, until)
    if output.is_json:
        told = {"run": session.id, "round": round_, "since": since, "until": until, "diff": text}
        output.document({**told, "files": stat.files, "added": stat.added, "removed": stat.removed})
        return 0
    for line in text.splitlines():
        output.say(line, style=_STYLES.get(line[:1], "") if output.is_terminal else "")
    if output.is_terminal:
        changed = f"{count(stat.files, 'file')}, +{stat.added:,} -{stat.removed:,} lines"
        output.say(f"{changed} in {f'round {round_}' if round_ else 'all'}", style="dim")
    return 0


async def accepted(app: App, output: Output, given: str, *, patch: str | None, into: str | None) -> int:
    """Take the work of a session, by a merge or as a patch."""
    if patch is not None and into is not None:
        raise UsageError(
            "Both --patch and --into were given",
            allowed="a patch, or a merge into a branch",
            to_do="Leave out one of the two",
        )
    session = await find_session(app, given)
    require_ended(session)
    work = await work_of(session)
    if patch is not None:
        return await _patched(output, session, work, patch)
    taken = await keeping.accept(work.repository, session.id, into=into)
    if output.is_json:
        output.document(
            {
                "run": session.id,
                "how": taken.how.value,
                "branch": taken.branch,
                "commit": taken.commit,
                "is_fast_forward": taken.is_fast_forward,
                "file": None,
                "patch": None,
            }
        )
        return 0
    commit = short_commit(taken.commit or "")
    how = "moved on to" if taken.is_fast_forward else "merged as"
    output.say(f"Accepted: the work of {session.id} is in your branch {taken.branch}, {how} {commit}.")
    output.say("Its own branch and worktree are gone; its rounds can still be looked at:")
    output.say(f"  endstop session diff {session.id} 1")
    return 0


async def discarded(app: App, output: Output, given: str, *, is_sure: bool) -> int:
    """Throw the work of a session away, once that is sure."""
    session = await find_session(app, given)
    require_ended(session)
    work = await work_of(session)
    if may_ask(output) and not is_sure and work.standing is Standing.OPEN:
        rounds = count(len(await rounds_of(work.repository, session.id)), "round")
        output.say(f"{session.id}, {rounds} of work: {session.view.intent}")
        if not await agreed("Throw its work away?"):
            output.say("Nothing was thrown away.")
            return 0
    commit = await keeping.discard(work.repository, session.id)
    ref = note_ref(session.id, Standing.DISCARDED)
    if output.is_json:
        output.document({"run": session.id, "commit": commit, "ref": ref})
        return 0
    output.say(f"Discarded: the branch and the worktree of {session.id} are gone.")
    output.say(f"Its last commit is still there, should you want it: git branch NAME {ref}")
    return 0


async def restored(app: App, output: Output, given: str, round_: int) -> int:
    """Bring back the work as it was after a round."""
    session = await find_session(app, given)
    require_ended(session)
    work = await work_of(session)
    commit = await keeping.restore_round(work.repository, session.id, round_)
    if output.is_json:
        output.document({"run": session.id, "round": round_, "commit": commit})
        return 0
    output.say(f"Restored: the work of {session.id} is as it was after round {round_}.")
    output.say(
        f"That is commit {short_commit(commit)} on {session.view.branch}; what came later is below it."
    )
    output.say(f"Take it: endstop session accept {session.id}")
    return 0


async def _span(session: Session, work: Work, round_: int | None) -> tuple[str, str | None]:
    """From which commit to which; to the present content where no commit is named."""
    base = session.view.base
    if round_ is None:
        if work.standing is Standing.OPEN and work.worktree.is_there:
            return base, None
        tip = await tip_of(work.repository.common, session.id)
        if tip is None:
            raise RepositoryError(
                f"The work of session {session.id} is gone: its branch {session.view.branch} was deleted",
                to_do="git reflog may still know its last commit",
            )
        return base, tip
    rounds = {one.round: one.commit for one in await rounds_of(work.repository, session.id)}
    if round_ not in rounds:
        raise InvalidValueError(
            "ROUND", round_, allowed=", ".join(map(str, rounds)) or "none: it has no round yet"
        )
    before = [commit for number, commit in rounds.items() if number < round_]
    return before[-1] if before else base, rounds[round_]


async def _patched(output: Output, session: Session, work: Work, file: str) -> int:
    taken = await keeping.accept(work.repository, session.id, how=keeping.How.PATCH)
    if output.is_json:
        text = taken.patch.decode(errors="replace") if file == STDOUT else None
        named = None if file == STDOUT else str(_written(Path(file), taken.patch))
        told = {"run": session.id, "how": taken.how.value, "branch": None, "commit": None}
        output.document({**told, "is_fast_forward": False, "file": named, "patch": text})
        return 0
    if file == STDOUT:
        try:
            sys.stdout.flush()
            sys.stdout.buffer.write(taken.patch)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise ReaderGone from None
        return 0
    path = _written(Path(file), taken.patch)
    output.say(f"Wrote {path}. Nothing else was changed; the session is still open.")
    output.say(f"Apply it with: git apply {path}")
    output.say(f"Then the session's branch can go: endstop session discard {session.id}")
    return 0


def _written(path: Path, patch: bytes) -> Path:
    """Write a file that is not there yet."""
    try:
        with path.open("xb") as file:
            file.write(patch)
    except FileExistsError:
        raise InvalidValueError(
            "--patch", str(path), allowed="a file that is not there yet", to_do="Name another"
        ) from None
    except OSError as error:
        raise InvalidValueError(
            "--patch",
            str(path),
            allowed=f"a file that can be written ({error.strerror})",
            to_do="Name another",
        ) from None
    return path
