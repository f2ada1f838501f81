"""``endstop policy``: begun, shown, changed and checked; nothing is saved that has problems (G6)."""

from __future__ import annotations

import stat
import sys
import tempfile
from pathlib import Path

import pytest
from cli_program import Endstop, on_terminal

from endstop.coding.policy import DEFAULT_POLICY
from endstop.coding.policy_file import read_policy
from endstop.coding.policy_keys import POLICY_KEYS
from endstop.coding.policy_template import policy_template


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, in a folder of which the program is run."""
    folder = tmp_path / "repository"
    (folder / ".git").mkdir(parents=True)
    (folder / "src").mkdir()
    monkeypatch.chdir(folder / "src")
    return folder


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is in no repository."""
    folder = tmp_path / "outside"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(autouse=True)
def copies_kept_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the copies for editors go, also those that are kept."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def editor(folder: Path, *edits: tuple[str, str]) -> str:
    """An editor that makes the first edit the first time, the second the second time, and so on."""
    script = folder / "editor.py"
    script.write_text(
        "import pathlib, sys\n"
        f"edits = {list(edits)!r}\n"
        f"count = pathlib.Path({str(folder / 'count')!r})\n"
        "number = int(count.read_text()) if count.exists() else 0\n"
        "count.write_text(str(number + 1))\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "text = path.read_text()\n"
        "assert edits[number][0] in text\n"
        "path.write_text(text.replace(*edits[number]))\n"
    )
    return f"{sys.executable} {script}"


@pytest.mark.guarantee("G6", "J1")
def test_init_writes_every_rule_into_the_repository_and_keeps_what_is_there(
    endstop: Endstop, repository: Path
) -> None:
    done = endstop("policy", "init")
    path = repository / "policy.yaml"
    assert (done.code, done.out.splitlines()[0]) == (0, f"Wrote {path}")
    assert read_policy(path) == DEFAULT_POLICY
    path.write_text("build: {rounds: 2}\n")
    again = endstop("policy", "init")
    assert (again.code, path.read_text()) == (2, "build: {rounds: 2}\n")
    assert "--force" in again.err
    assert endstop("policy", "init", "--force", "--json").json == {"file": str(path)}
    assert path.read_text() == policy_template()
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_init_outside_of_a_repository_writes_into_the_home_folder(
    endstop: Endstop, home: Path, outside: Path
) -> None:
    assert endstop("policy", "init", "--json").json == {"file": str(home / "policy.yaml")}
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert endstop("policy", "init", "--file", "other.yaml").code == 0
    assert (outside / "other.yaml").read_text() == (home / "policy.yaml").read_text()


def test_a_file_that_cannot_be_written_is_said_to_be_so(endstop: Endstop, outside: Path) -> None:
    (outside / "file").write_text("x")
    (outside / "folder").mkdir()
    for path in ("file/policy.yaml", "folder"):
        done = endstop("policy", "init", "--force", "--file", path)
        assert (done.code, done.out) == (2, "")
        assert "a folder that can be written to" in done.err
    assert sorted(each.name for each in outside.iterdir()) == ["file", "folder"]


@pytest.mark.guarantee("G6")
def test_show_says_what_holds_and_where_it_comes_from(endstop: Endstop, repository: Path, home: Path) -> None:
    assert endstop("policy", "show", "--json").json["file"] is None
    assert "Make one: endstop policy init" in endstop("policy", "show").out
    path = repository / "policy.yaml"
    path.write_text("session:\n  cost_usd: 2.5\n")
    told = endstop("policy", "show", "--json").json
    assert (told["file"], len(told["values"])) == (str(path), len(POLICY_KEYS))
    values = {one.pop("key"): one for one in told["values"]}
    assert values["session.cost_usd"] == {
        "value": "2.5",
        "default": "10",
        "from": "file",
        "line": 2,
        "allowed": "dollars from 0.01 to 1,000",
        "meaning": "US dollars for all model calls.",
    }
    assert (values["session.tokens"]["from"], values["session.tokens"]["line"]) == ("default", None)
    lines = [
        line.split()[:4] for line in endstop("policy", "show", "session", "build.rounds").out.splitlines()
    ]
    assert ["session.cost_usd", "2.50", "10.00", "line"] in lines
    assert ["build.rounds", "3", "default", "a"] in lines
    assert [line[0] for line in lines] == [
        "key",
        "session.minutes",
        "session.model_calls",
        "session.cost_usd",
        "session.tokens",
        "session.unknown_price",
        "build.rounds",
        "From",
    ]


def test_show_of_what_there_is_not_names_what_was_meant(endstop: Endstop, outside: Path) -> None:
    done = endstop("policy", "show", "sesion")
    assert (done.code, done.out) == (2, "")
    assert "Did you mean session?" in done.err
    assert endstop("policy", "show", "--file", "nowhere.yaml").code == 2


@pytest.mark.guarantee("G6", "J1")
def test_check_tells_all_problems_with_their_lines_and_exit_code_2(
    endstop: Endstop, repository: Path
) -> None:
    assert endstop("policy", "check").code == 0
    assert endstop("policy", "check", "--json").json == {"file": None, "problems": []}
    path = repository / "policy.yaml"
    path.write_text("sesion: {}\nbuild:\n  rounds: 0\n")
    done = endstop("policy", "check")
    assert (done.code, done.err) == (2, "")
    assert done.out.splitlines() == [
        f"{path}: 2 problems",
        "  line 1: There is no key sesion. Did you mean session?",
        "  line 3: build.rounds is 0. Allowed: a whole number from 1 to 10.",
    ]
    told = endstop("policy", "check", "--json")
    assert told.code == 2
    assert told.json["problems"][1] == {
        "line": 3,
        "key": "build.rounds",
        "what": "build.rounds is 0",
        "allowed": "a whole number from 1 to 10",
        "to_do": "",
    }
    shown = endstop("policy", "show")
    assert (shown.code, shown.out) == (2, "")
    assert "line 3: build.rounds is 0." in shown.err
    path.write_text("build:\n  rounds: 1\n")
    assert endstop("policy", "check").out == f"{path}: no problems\n"
    assert endstop("policy", "check", "--file", str(path)).code == 0
    assert endstop("policy", "check", "--file", "nowhere.yaml").code == 2


@pytest.mark.guarantee("G6")
def test_one_value_is_changed_and_comments_are_kept(endstop: Endstop, repository: Path) -> None:
    path = repository / "policy.yaml"
    path.write_text("# mine\nsession:\n  cost_usd: 4 # enough\n")
    path.chmod(0o600)
    done = endstop("policy", "edit", "session.cost_usd", "2.50")
    assert done.out.splitlines() == ["session.cost_usd: 4.00 → 2.50", f"Saved {path}"]
    assert path.read_text() == "# mine\nsession:\n  cost_usd: 2.50 # enough\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    told = endstop("policy", "edit", "commands.allow", "[pytest, make]", "--json").json
    assert told == {
        "file": str(path),
        "changed": [{"key": "commands.allow", "before": None, "after": ["pytest", "make"]}],
    }
    assert endstop("policy", "edit", "session.cost_usd", "2.5").out == f"No value is changed: {path}\n"


def test_changing_one_value_where_there_is_no_file_begins_one(endstop: Endstop, repository: Path) -> None:
    assert endstop("policy", "edit", "build.rounds", "5").code == 0
    expected = policy_template().replace(
        "  rounds: 3\n  # Turns of the builder", "  rounds: 5\n  # Turns of the builder"
    )
    assert (repository / "policy.yaml").read_text() == expected


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("session.minutes", "900"), "a number from 1 to 480"),
        (("session.cost_usd", "0.5"), "Nothing was changed"),
        (("sesion.minutes", "9"), "Did you mean session.minutes?"),
        (("session.minutes",), "KEY and VALUE, or neither of them"),
    ],
)
def test_a_change_that_cannot_be_changes_nothing(
    endstop: Endstop, repository: Path, words: tuple[str, ...], said: str
) -> None:
    path = repository / "policy.yaml"
    path.write_text("build: {rounds: 2}\n")
    done = endstop("policy", "edit", *words)
    assert (done.code, done.out, path.read_text()) == (2, "", "build: {rounds: 2}\n")
    assert said in done.err
    assert endstop("policy", "edit", *words, "--json").error["to_do"]


@pytest.mark.guarantee("G6")
def test_an_editor_changes_a_copy_that_replaces_the_file(
    endstop: Endstop, repository: Path, tmp_path: Path
) -> None:
    path = repository / "policy.yaml"
    path.write_text("# mine\nbuild:\n  rounds: 2\n")
    done = endstop("policy", "edit", VISUAL="", EDITOR=editor(tmp_path, ("rounds: 2", "rounds: 4")))
    assert (done.code, done.out.splitlines()) == (0, ["build.rounds: 2 → 4", f"Saved {path}"])
    assert path.read_text() == "# mine\nbuild:\n  rounds: 4\n"


def test_a_policy_with_problems_is_mended_in_an_editor_or_by_one_value(
    endstop: Endstop, repository: Path, tmp_path: Path
) -> None:
    path = repository / "policy.yaml"
    path.write_text("build: {rounds: 0}\n")
    done = endstop("policy", "edit", VISUAL=editor(tmp_path, ("rounds: 0", "rounds: 4")))
    assert (done.code, done.out.splitlines()[0]) == (0, "build.rounds: 3 → 4")
    path.write_text("build: {rounds: 0}\n")
    assert endstop("policy", "edit", "build.rounds", "4").code == 0
    assert path.read_text() == "build: {rounds: 4}\n"


def test_an_editor_that_changes_nothing_saves_nothing(endstop: Endstop, repository: Path) -> None:
    path = repository / "policy.yaml"
    path.write_text("build: {rounds: 2}\n")
    before = path.stat().st_mtime_ns
    assert endstop("policy", "edit", VISUAL="true").out == f"No value is changed: {path}\n"
    assert path.stat().st_mtime_ns == before


def test_problems_from_an_editor_are_an_error_where_nobody_can_be_asked_and_the_text_is_kept(
    endstop: Endstop, repository: Path, tmp_path: Path
) -> None:
    path = repository / "policy.yaml"
    path.write_text("build: {rounds: 2}\n")
    done = endstop("policy", "edit", VISUAL=editor(tmp_path, ("rounds: 2", "rounds: 99")))
    assert (done.code, path.read_text()) == (2, "build: {rounds: 2}\n")
    assert "line 1: build.rounds is 99." in done.err
    kept = done.err.partition("kept in ")[2].partition(", has")[0]
    assert Path(kept).read_text() == "build: {rounds: 99}\n"


@pytest.mark.guarantee("G6", "J1")
def test_on_a_terminal_problems_are_shown_and_the_same_text_is_edited_again(
    home: Path, repository: Path, tmp_path: Path
) -> None:
    path = repository / "policy.yaml"
    path.write_text("build: {rounds: 2}\n")
    twice = editor(tmp_path, ("rounds: 2", "rounds: 99"), ("rounds: 99", "rounds: 9"))
    done = on_terminal(home, "policy", "edit", typed="y\n", env={"VISUAL": twice})
    assert "line 1: build.rounds is 99. Allowed: a whole number from 1 to 10." in " ".join(done.plain.split())
    assert (done.code, path.read_text()) == (0, "build: {rounds: 9}\n")


def test_on_a_terminal_one_can_give_up_and_the_file_stays(
    home: Path, repository: Path, tmp_path: Path
) -> None:
    path = repository / "policy.yaml"
    path.write_text("build: {rounds: 2}\n")
    once = editor(tmp_path, ("rounds: 2", "rounds: 99"))
    done = on_terminal(home, "policy", "edit", typed="n\n", env={"VISUAL": once})
    assert (done.code, path.read_text()) == (2, "build: {rounds: 2}\n")
    assert "kept in" in done.plain


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("false", "ended with exit code 1"),
        ("no-such-editor", "There is no editor"),
        ("'", "There is no editor"),
    ],
)
def test_an_editor_that_fails_changes_nothing(
    endstop: Endstop, repository: Path, command: str, said: str
) -> None:
    path = repository / "policy.yaml"
    path.write_text("build: {rounds: 2}\n")
    done = endstop("policy", "edit", VISUAL=command, PATH="/bin:/usr/bin" if command != "'" else "")
    assert (done.code, path.read_text()) == (1, "build: {rounds: 2}\n")
    assert said in done.err


def test_a_file_that_somebody_else_changed_meanwhile_is_left_alone(
    endstop: Endstop, repository: Path, tmp_path: Path
) -> None:
    path = repository / "policy.yaml"
    path.write_text("build: {rounds: 2}\n")
    script = tmp_path / "slow.py"
    script.write_text(f"import pathlib; pathlib.Path({str(path)!r}).write_text('critic: {{turns: 2}}\\n')")
    done = endstop("policy", "edit", VISUAL=f"{sys.executable} {script}")
    assert (done.code, path.read_text()) == (1, "critic: {turns: 2}\n")
    assert "changed by somebody else" in done.err


def test_a_link_stays_a_link(endstop: Endstop, repository: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared.yaml"
    shared.write_text("build: {rounds: 2}\n")
    (repository / "policy.yaml").symlink_to(shared)
    assert endstop("policy", "edit", "build.rounds", "4").code == 0
    assert (repository / "policy.yaml").is_symlink()
    assert shared.read_text() == "build: {rounds: 4}\n"


@pytest.mark.guarantee("J1")
@pytest.mark.parametrize("command", [(), ("init",), ("show",), ("edit",), ("check",)])
def test_the_help_teaches_with_examples(endstop: Endstop, command: tuple[str, ...]) -> None:
    done = endstop("policy", *command, "--help")
    assert done.code == 0
    assert "Examples:\n    endstop policy" in done.out


@pytest.mark.guarantee("J1")
@pytest.mark.parametrize("columns", [40, 80, 160])
def test_show_fits_a_terminal(home: Path, repository: Path, columns: int) -> None:
    done = on_terminal(home, "policy", "show", columns=columns)
    assert done.code == 0
    assert max(len(line) for line in done.plain.splitlines()) <= columns
    assert "session.minutes" in done.plain
