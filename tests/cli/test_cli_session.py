"""``endstop session``: sessions and what becomes of their work."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from build_models import INTENT, PROGRAM, QUICK, model_of, sample
from cli_program import Endstop, on_terminal, started
from cli_runs import run_of, with_sources

from endstop.app import coding
from endstop.loop.agent import Agent
from endstop.testing import ScriptedModel, says


@pytest.fixture(autouse=True)
def models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coding, "make_model", model_of)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return sample(tmp_path / "repository")


@pytest.fixture
def run(endstop: Endstop, repository: Path) -> str:
    """A session that has ended, with one round of work."""
    return session(endstop, repository)


def session(endstop: Endstop, repository: Path, *options: str, model: str = "test:works") -> str:
    words = ("build", INTENT, "--repo", str(repository), "--model", model, *QUICK, "--json", *options)
    return endstop(*words).json_lines[-1]["run"]


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.thorough
def test_the_list_says_how_each_stands_and_what_became_of_its_work(
    endstop: Endstop, repository: Path, run: str
) -> None:
    other = session(endstop, repository, "--yes-under", "0.01", model="example:dear")
    listed = endstop("session", "list", "--json").json
    assert [(one["run"], one["work"], one["rounds"]) for one in listed] == [
        (other, "open", 0),
        (run, "open", 1),
    ]
    assert listed[1]["branch"] == f"endstop/{run}"
    told = endstop("session", "list").out.splitlines()
    assert told[0].split()[:2] == ["run", "started"]
    assert "completed" in told[2]
    assert told[-1] == f"Look at one: endstop session show {other}"


def test_without_sessions_the_list_says_how_to_watch_one(endstop: Endstop) -> None:
    assert endstop("session", "list").out == (
        "No coding session yet. Watch one: endstop build --example accepted\n"
    )
    assert endstop("session", "list", "--json").json == []
    last = endstop("session", "show", "last")
    assert (last.code, "There is no coding session yet" in last.err) == (2, True)


def test_last_is_the_last_session_whatever_else_ran_since(endstop: Endstop, home: Path, run: str) -> None:
    with_sources(home)
    assert endstop("session", "show", "last").out.startswith(f"{run}  {INTENT}\n")


def test_a_run_that_is_no_session_is_refused(endstop: Endstop, home: Path) -> None:
    other = with_sources(home)
    done = endstop("session", "accept", other)
    assert (done.code, f"The run {other} is no coding session" in done.err) == (2, True)


def test_show_tells_what_happened_the_evidence_the_rounds_and_what_to_do(endstop: Endstop, run: str) -> None:
    told = endstop("session", "show", run).out
    in_order = (
        "✓ specify   ✓ price   ✓ build   ✓ done",
        "Done: every success criterion is met",
        f"branch      endstop/{run}",
        "work        open, commit ",
        "Specification, cycle 1, attempt 1: complete",
        "Round 1 ended: 0 open issues",
        "met, the tester's word: I read it.",
        "round  lines  failing tests",
        f"endstop session accept {run}",
    )
    places = [told.find(words) for words in in_order]
    assert -1 not in places
    assert places == sorted(places)
    document = endstop("session", "show", run, "--json").json
    assert (document["work"], document["session"]["kind"]) == ("open", "succeeded")


def test_show_of_a_session_that_waits_says_what_for_and_how_to_go_on(
    endstop: Endstop, repository: Path
) -> None:
    waiting = session(endstop, repository, model="example:accepted")
    told = endstop("session", "show", waiting).out
    assert "waits for   At most $1.58" in told
    assert told.endswith(f'Go on: endstop resume {waiting} --answer "…"\n')


@pytest.mark.thorough
@pytest.mark.guarantee("G8")
def test_diff_shows_all_of_the_work_or_one_round(endstop: Endstop, repository: Path, run: str) -> None:
    whole = endstop("session", "diff", run)
    assert whole.code == 0
    assert '+print("Salut")' in whole.out
    assert endstop("session", "diff", run, "1").out == whole.out
    document = endstop("session", "diff", run, "1", "--json").json
    assert (document["round"], document["files"], document["added"]) == (1, 1, 1)
    assert document["since"] == git(repository, "rev-parse", "HEAD")
    wrong = endstop("session", "diff", run, "2")
    assert (wrong.code, "ROUND is 2" in wrong.err) == (2, True)
    assert "Allowed: 1." in wrong.err


@pytest.mark.thorough
@pytest.mark.guarantee("G8")
def test_accept_merges_the_work_and_leaves_nothing_behind(
    endstop: Endstop, repository: Path, run: str
) -> None:
    done = endstop("session", "accept", run)
    assert done.code == 0
    assert f"Accepted: the work of {run} is in your branch main, moved on to " in done.out
    assert (repository / "hello.py").read_text() == 'print("Salut")\n'
    assert git(repository, "branch", "--list", "endstop/*") == ""
    again = endstop("session", "accept", run)
    assert (again.code, "was accepted already" in again.err) == (2, True)
    assert '+print("Salut")' in endstop("session", "diff", run).out
    assert endstop("session", "list", "--json").json[0]["work"] == "accepted"
    shown = endstop("session", "show", run).out
    assert "work        accepted" in shown
    assert "What to do" not in shown


def test_accept_is_refused_where_changes_of_the_users_are_in_the_way(
    endstop: Endstop, repository: Path, run: str
) -> None:
    (repository / "hello.py").write_text("Mine.\n")
    done = endstop("session", "accept", run)
    assert (done.code, "hello.py; nothing was changed" in done.err) == (2, True)
    assert (repository / "hello.py").read_text() == "Mine.\n"


@pytest.mark.thorough
def test_accept_into_another_branch_merges_there(endstop: Endstop, repository: Path, run: str) -> None:
    git(repository, "switch", "-qc", "other")
    refused = endstop("session", "accept", run)
    assert (refused.code, "Your tree is on the branch other" in refused.err) == (2, True)
    done = endstop("session", "accept", run, "--into", "other", "--json").json
    assert (done["how"], done["branch"], done["is_fast_forward"]) == ("merge", "other", True)
    assert done["commit"] == git(repository, "rev-parse", "other")


@pytest.mark.thorough
def test_a_patch_is_printed_or_written_and_nothing_is_changed(
    endstop: Endstop, repository: Path, run: str, tmp_path: Path
) -> None:
    printed = endstop("session", "accept", run, "--patch", "-")
    assert printed.out.startswith("diff --git a/hello.py b/hello.py\n")
    file = tmp_path / "work.patch"
    written = endstop("session", "accept", run, "--patch", str(file))
    assert written.code == 0
    assert file.read_text() == printed.out
    git(repository, "apply", "--check", str(file))
    assert not (repository / "hello.py").exists()
    assert endstop("session", "accept", run, "--patch", "-", "--json").json["patch"] == printed.out
    other = tmp_path / "other.patch"
    assert endstop("session", "accept", run, "--patch", str(other), "--json").json["file"] == str(other)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--patch", "mine.txt"), "a file that is not there yet"),
        (("--patch", "no/such/folder/work.patch"), "a file that can be written"),
        (("--patch", "-", "--into", "main"), "Both --patch and --into"),
    ],
)
def test_a_patch_that_cannot_be_written_is_refused(
    endstop: Endstop,
    run: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    words: str,
) -> None:
    (tmp_path / "mine.txt").write_text("Mine.")
    monkeypatch.chdir(tmp_path)
    done = endstop("session", "accept", run, *options)
    assert (done.code, words in done.err) == (2, True)
    assert (tmp_path / "mine.txt").read_text() == "Mine."


@pytest.mark.thorough
@pytest.mark.guarantee("G8")
def test_discard_removes_the_work_and_its_last_commit_stays_reachable(
    endstop: Endstop, repository: Path, run: str
) -> None:
    done = endstop("session", "discard", run)
    assert done.code == 0
    assert f"git branch NAME refs/endstop/{run}/discarded" in done.out
    assert git(repository, "branch", "--list", "endstop/*") == ""
    assert git(repository, "show", f"refs/endstop/{run}/discarded:hello.py") == 'print("Salut")'
    accepted = endstop("session", "accept", run)
    assert (accepted.code, "was discarded" in accepted.err) == (2, True)
    again = endstop("session", "discard", run, "--json").json
    assert again["ref"] == f"refs/endstop/{run}/discarded"


@pytest.mark.thorough
def test_on_a_terminal_discard_asks_first_unless_it_is_sure(
    home: Path, endstop: Endstop, repository: Path, run: str
) -> None:
    kept = on_terminal(home, "session", "discard", run, typed="\n", program=PROGRAM)
    assert (kept.code, "Nothing was thrown away." in kept.plain) == (0, True)
    assert f"{run}, 1 round of work: {INTENT}" in kept.plain
    assert git(repository, "branch", "--list", "endstop/*") != ""
    gone = on_terminal(home, "session", "discard", run, typed="yes\n", program=PROGRAM)
    assert (gone.code, "Discarded:" in gone.plain) == (0, True)
    other = session(endstop, repository)
    sure = on_terminal(home, "session", "discard", other, "--yes", program=PROGRAM)
    assert (sure.code, "Throw" in sure.plain) == (0, False)


@pytest.mark.thorough
def test_on_a_terminal_a_diff_is_coloured_and_counted(home: Path, run: str) -> None:
    done = on_terminal(home, "session", "diff", run, program=PROGRAM)
    assert '\x1b[32m+print("Salut")' in done.out
    assert "1 file, +1 -0 lines in all" in done.plain
    assert "in round 1" in on_terminal(home, "session", "diff", run, "1", program=PROGRAM).plain


@pytest.mark.thorough
@pytest.mark.parametrize("columns", [40, 90])
def test_on_a_terminal_lists_and_sessions_fit(home: Path, run: str, columns: int) -> None:
    for command in (("list",), ("show", run)):
        done = on_terminal(home, "session", *command, columns=columns, program=PROGRAM)
        assert done.code == 0
        assert max(len(line.rstrip()) for line in done.plain.splitlines()) <= columns


@pytest.mark.thorough
@pytest.mark.guarantee("G8")
def test_restore_brings_back_a_round_as_a_new_commit(endstop: Endstop, repository: Path, run: str) -> None:
    worktree = Path(endstop("session", "show", run, "--json").json["session"]["worktree"])
    (worktree / "hello.py").write_text("spoilt\n")
    done = endstop("session", "restore", run, "1")
    assert (done.code, "is as it was after round 1" in done.out) == (0, True)
    assert (worktree / "hello.py").read_text() == 'print("Salut")\n'
    assert git(repository, "log", "-1", "--format=%s", f"endstop/{run}") == "Restore round 1"
    assert endstop("session", "restore", run, "1", "--json").json["round"] == 1
    wrong = endstop("session", "restore", run, "7")
    assert (wrong.code, "has no round 7" in wrong.err) == (2, True)


@pytest.mark.thorough
@pytest.mark.parametrize("command", [("accept",), ("discard",), ("restore", "1")])
def test_work_of_a_session_that_waits_is_left_alone(
    endstop: Endstop, repository: Path, command: tuple[str, ...]
) -> None:
    waiting = session(endstop, repository, model="example:accepted")
    done = endstop("session", command[0], waiting, *command[1:])
    assert done.code == 2
    assert f"The session {waiting} has not ended: it waits for an answer" in done.err
    assert f"endstop cancel {waiting}" in done.err


@pytest.mark.thorough
def test_a_repository_that_was_moved_away_is_said(endstop: Endstop, repository: Path, run: str) -> None:
    repository.rename(repository.with_name("elsewhere"))
    done = endstop("session", "accept", run)
    assert done.code == 2
    assert f"The repository of session {run} cannot be used" in done.err
    assert "If it was moved, move it back" in done.err
    listed = endstop("session", "list")
    assert "repository not there" in listed.out
    assert endstop("session", "list", "--json").json[0]["work"] is None
    shown = endstop("session", "show", run)
    assert (shown.code, "cannot be used" in shown.out) == (0, True)


@pytest.mark.thorough
def test_a_branch_that_was_deleted_by_hand_is_said(endstop: Endstop, repository: Path, run: str) -> None:
    git(repository, "worktree", "remove", "--force", _worktree(repository))
    git(repository, "branch", "-qD", f"endstop/{run}")
    done = endstop("session", "diff", run)
    assert (done.code, f"its branch endstop/{run} was deleted" in done.err) == (2, True)
    accepted = endstop("session", "accept", run)
    assert (accepted.code, f"knows no session {run}" in accepted.err) == (2, True)


@pytest.mark.thorough
def test_the_work_can_be_looked_at_when_the_worktree_is_gone(
    endstop: Endstop, repository: Path, run: str
) -> None:
    git(repository, "worktree", "remove", "--force", _worktree(repository))
    assert '+print("Salut")' in endstop("session", "diff", run).out
    assert endstop("session", "accept", run).code == 0


def test_a_session_that_never_had_a_place_to_work_in_has_no_work(endstop: Endstop, home: Path) -> None:
    run = run_of(home, Agent(name="coding", model=ScriptedModel(says("Hm."))))
    done = endstop("session", "diff", run)
    assert (done.code, "has no work: it never had a place to work in" in done.err) == (2, True)
    assert "has no work" in endstop("session", "show", run).out
    assert "repository not there" in endstop("session", "list").out


@pytest.mark.thorough
def test_a_reader_of_a_patch_that_goes_away_does_no_harm(home: Path, run: str) -> None:
    process = started(home, "session", "accept", run, "--patch", "-", program=PROGRAM)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.wait(timeout=30) == 141
    assert process.stderr.read() == ""
    process.stderr.close()


def _worktree(repository: Path) -> str:
    """The folder of the only worktree beside the user's own."""
    listed = git(repository, "worktree", "list", "--porcelain").splitlines()
    (found,) = [line.split(" ", 1)[1] for line in listed if line.startswith("worktree ")][1:]
    return found
