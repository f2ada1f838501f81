"""``endstop build`` in a pipe: refused, bounded, paused, gone on with, and to its ending."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from build_models import INTENT, QUICK, model_of, sample
from cli_program import Done, Endstop

from endstop.app import coding


@pytest.fixture(autouse=True)
def models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coding, "make_model", model_of)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return sample(tmp_path / "repository")


def built(endstop: Endstop, repository: Path, *options: str, model: str = "test:works") -> Done:
    return endstop("build", INTENT, "--repo", str(repository), "--model", model, *QUICK, *options)


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.thorough
@pytest.mark.guarantee("J1", "G4", "G9")
def test_a_session_is_told_line_by_line_to_its_ending_with_evidence_and_next_steps(
    endstop: Endstop, repository: Path
) -> None:
    done = built(endstop, repository)
    assert (done.code, done.err) == (0, "")
    told = done.out
    in_order = (
        "What this session can use at most:",
        "test:works on repository, run_",
        "  Session opened on endstop/run_",
        "  Specification, cycle 1, attempt 1: complete",
        "  Price: at most $",
        "  Plan: 1 task",
        "turn 1 of builder 1: called write_file",
        "  Round 1: tests passed after building",
        "  Round 1: 1 of 1 criteria met",
        "  Round 1: 0 issues found, 0 critical",
        "  Round 1 ended: 0 open issues",
        "+1 -0 lines in 1 file",
        "✓ specify   ✓ price   ✓ build   ✓ done",
        "Done: every success criterion is met",
        "What was built",
        "✓ It says hello",
        "met, the tester's word: I read it.",
        "✓ Tests passed: true: exit code 0.",
        "round  lines  failing tests",
        "audit  holds",
        "endstop session diff run_",
        "endstop session accept run_",
    )
    places = [told.find(words) for words in in_order]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.thorough
@pytest.mark.guarantee("G8")
def test_the_users_files_and_branch_are_as_they_were(endstop: Endstop, repository: Path) -> None:
    before = git(repository, "rev-parse", "HEAD")
    assert built(endstop, repository).code == 0
    assert git(repository, "rev-parse", "HEAD") == before
    assert git(repository, "status", "--porcelain") == ""
    assert not (repository / "hello.py").exists()


@pytest.mark.thorough
def test_json_has_a_line_for_each_fact_and_a_last_one_with_the_session(
    endstop: Endstop, repository: Path
) -> None:
    done = built(endstop, repository, "--json")
    lines = done.json_lines
    assert done.code == 0
    assert [line["event"] for line in lines[:2]] == ["bound", "started"]
    assert lines[0]["whole"]["model_calls"] == 50
    facts = [line for line in lines if line["event"] == "coding"]
    assert [line["type"] for line in facts][:3] == ["coding.opened", "coding.specified", "coding.priced"]
    assert facts[1]["fact"]["specification"]["title"] == "A greeting"
    ended = lines[-1]
    assert (ended["event"], ended["outcome"], ended["exit_code"]) == ("ended", "completed", 0)
    session = ended["session"]
    assert session["kind"] == "succeeded"
    assert session["branch"] == f"endstop/{ended['run']}"
    assert session["commit"] == session["rounds"][-1]["commit"]
    assert session["criteria"] == [
        {"text": "It says hello", "is_met": True, "evidence": "I read it.", "is_verified": False}
    ]
    assert any(f"endstop session accept {ended['run']}" in step for step in session["next_steps"])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Nothing says what is to be built"),
        (("  ",), "The intent is empty"),
        (("x" * 60_000,), "too long"),
        (("half \udcff text",), "no text"),
        ((INTENT, "--model", "extractive"), "a language model"),
        ((INTENT, "--model", "nobody:knows"), "nobody"),
        ((INTENT, "--yes-under", "much"), "--yes-under is 'much'"),
        ((INTENT, "--yes-under", "-1"), "--yes-under is '-1'"),
        ((INTENT, "--yes-under", "nan"), "--yes-under is 'nan'"),
        ((INTENT, "--test-command", "there-is-no-such-program"), "there-is-no-such-program"),
        ((INTENT, "--policy", "no-such-file.yaml"), "no-such-file.yaml"),
        ((INTENT, "--repo", "no-such-folder"), "does not exist"),
        ((INTENT, "--model", "test:unpriced"), "test:unpriced"),
        (("--example", "acepted"), "Did you mean accepted?"),
        ((INTENT, "--example", "accepted"), "INTENT"),
        (("--example", "accepted", "--model", "a:b", "--policy", "x"), "--model, --policy"),
    ],
)
def test_what_cannot_be_built_is_refused_in_words_and_nothing_is_begun(
    endstop: Endstop,
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.chdir(repository)
    before = git(repository, "for-each-ref")
    done = endstop("build", *arguments, **({} if "--model" in arguments else {"ENDSTOP_MODEL": "test:works"}))
    assert done.code == 2, done
    assert words in done.err
    assert "Traceback" not in done.err
    assert endstop("runs", "--json").json == []
    assert git(repository, "for-each-ref") == before


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (("init", "--bare"), "is a bare repository"),
        (("init",), "has no commit yet"),
        (("--version",), "is not in a git repository"),
    ],
)
def test_a_folder_that_no_session_can_work_in_is_refused(
    endstop: Endstop, tmp_path: Path, make: tuple[str, ...], words: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    git(folder, *make)
    done = built(endstop, folder)
    assert (done.code, words in done.err) == (2, True)


def test_all_problems_of_a_policy_are_told_with_their_lines(
    endstop: Endstop, repository: Path, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("build:\n  round: 3\nprice:\n  auto_proceed_under_usd: 9\n")
    done = built(endstop, repository, "--policy", str(policy))
    assert done.code == 2
    assert "build.rounds" in done.err
    assert "line 2" in done.err
    assert "price.auto_proceed_under_usd" in done.err


@pytest.mark.thorough
def test_a_tree_with_changes_is_refused_where_nobody_can_be_asked_unless_it_is_meant(
    endstop: Endstop, repository: Path
) -> None:
    (repository / "notes.txt").write_text("Mine.\n")
    refused = built(endstop, repository)
    assert refused.code == 2
    assert "1 file has a change that no commit holds" in refused.err
    assert "--anyway" in refused.err
    assert endstop("runs", "--json").json == []
    accepted = built(endstop, repository, "--anyway")
    assert accepted.code == 0
    assert "Mind: 1 file has a change that no commit holds" in accepted.out
    assert (repository / "notes.txt").read_text() == "Mine.\n"


@pytest.mark.thorough
def test_sessions_that_are_left_over_are_only_told(endstop: Endstop, repository: Path) -> None:
    assert built(endstop, repository).code == 0
    again = built(endstop, repository)
    assert again.code == 0
    assert "Mind: 1 earlier session is still open here (run_" in again.out


@pytest.mark.guarantee("A13")
def test_the_bound_of_every_phase_is_told_without_running_anything(
    endstop: Endstop, repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(repository)
    told = endstop("build", "--bound")
    assert told.code == 0
    rows = [line.split()[0] for line in told.out.splitlines()[2:10]]
    assert rows == ["specify", "price", "plan", "round", "round", "round", "simplify", "together"]
    assert "Never more than 50 model calls, 500,000 tokens, $10.00 and 1,800 s" in told.out
    policy = tmp_path / "policy.yaml"
    policy.write_text("build:\n  rounds: 1\nsession:\n  model_calls: 20\n")
    other = endstop("build", INTENT, "--bound", "--policy", str(policy), "--json").json
    assert [phase["phase"] for phase in other["phases"]].count("round 1") == 1
    assert other["whole"]["model_calls"] == 20
    assert endstop("runs", "--json").json == []


@pytest.mark.guarantee("A13")
def test_bound_knows_coding_sessions_and_the_policy_that_holds_here(
    endstop: Endstop, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "policy.yaml").write_text("session:\n  model_calls: 33\n")
    monkeypatch.chdir(repository)
    assert endstop("bound", "coding", "--json").json["whole"]["model_calls"] == 33
    told = endstop("bound", "coding")
    assert (told.code, "interview" in told.out, "Never more than 33 model calls" in told.out) == (
        0,
        True,
        True,
    )
    assert endstop("bound", "coding", "--turns", "3").code == 2


@pytest.mark.guarantee("J1", "G2")
def test_a_price_that_needs_a_yes_pauses_and_says_how_to_go_on(endstop: Endstop, repository: Path) -> None:
    paused = built(endstop, repository, "--non-interactive", model="example:accepted")
    assert paused.code == 6
    assert 'Answer "yes" to approve it' in paused.out
    run = paused.out.rpartition("Go on with: endstop resume ")[2].split()[0]
    assert paused.out.endswith(f"Go on with: endstop resume {run} --answer yes\n")
    silent = endstop("resume", run)
    assert (silent.code, "waits for an answer to: At most $" in silent.err) == (2, True)
    ended = endstop("resume", run, "--answer", "no")
    assert ended.code == 4
    assert "  Price: rejected by me" in ended.out
    assert "Abandoned." in ended.out
    assert "What was tried" in ended.out
    assert f"Clear its empty branch away: `endstop session discard {run}`." in ended.out


@pytest.mark.thorough
@pytest.mark.guarantee("G2")
def test_a_price_up_to_what_was_said_is_approved_without_asking(endstop: Endstop, repository: Path) -> None:
    done = built(endstop, repository, "--yes-under", "2.00", model="example:accepted")
    assert done.code in (0, 3)
    assert "Price: at most $1.58, approved by the policy" in done.out
    assert "Price: approved by" not in done.out  # once is enough


@pytest.mark.guarantee("G2")
def test_a_price_over_what_the_policy_allows_is_rejected_where_nobody_can_be_asked(
    endstop: Endstop, repository: Path
) -> None:
    done = built(endstop, repository, model="example:dear")
    assert done.code == 4
    assert "over what the policy allows" in done.out
    assert "Smaller scope (at most $" in done.out


@pytest.mark.thorough
@pytest.mark.guarantee("G4")
def test_after_the_last_round_it_ends_with_warnings_that_say_what_is_open(
    endstop: Endstop, repository: Path, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("build:\n  rounds: 2\n")
    done = built(endstop, repository, "--policy", str(policy), model="test:critical")
    assert done.code == 3
    assert "Done, with warnings." in done.out
    assert "  Accepted as best effort after 2 rounds, with 1 open issue." in done.out
    assert "  Critical: It is slow." in done.out
    assert "✗ No critical issues: " in done.out


def test_a_model_that_fails_ends_a_session_with_words(endstop: Endstop, repository: Path) -> None:
    done = built(endstop, repository, model="test:failing")
    assert done.code == 4
    assert "The specifier failed" in done.out
    assert "The key is wrong" in done.out


@pytest.mark.guarantee("D4")
def test_a_builder_at_its_limit_waits_for_a_review_that_can_be_decided_later(
    endstop: Endstop, repository: Path, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("build:\n  turns: 2\n")
    paused = built(endstop, repository, "--policy", str(policy), model="test:restless")
    assert paused.code == 6
    run = paused.out.rpartition("Decide it: endstop review ")[2].split()[0]
    assert f"{run} waits for a review: Maximum coding iterations (2) reached" in paused.out
    wrong = endstop("resume", run, "--answer", "yes")
    assert (wrong.code, "waits for a review, not for an answer" in wrong.err) == (2, True)
    done = endstop("review", run, "approve", "--turns", "6", "--resume")
    assert done.code == 0
    assert "Done: every success criterion is met" in done.out


@pytest.mark.thorough
def test_a_grant_and_a_rejection_go_on_with_a_session_too(
    endstop: Endstop, repository: Path, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("build:\n  turns: 2\n")
    options = ("--policy", str(policy), "--json")
    first = built(endstop, repository, *options, model="test:restless").json_lines[-1]
    assert (first["exit_code"], first["session"]["phase"]) == (6, "build")
    granted = endstop("resume", first["run"], "--grant-turns", "6", "--json")
    assert granted.json_lines[-1]["session"]["kind"] == "succeeded"
    second = built(endstop, repository, *options, model="test:restless").json_lines[-1]
    assert endstop("review", second["run"], "reject", "--why", "enough").code == 0
    ended = endstop("resume", second["run"])
    assert (ended.code, "Abandoned." in ended.out) == (4, True)
