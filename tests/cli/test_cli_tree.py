"""``endstop tree``: trees listed, read, checked, drawn, bounded, traced and copied; ``bound`` of a tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cli_program import Endstop, in_process_of_its_own

from endstop.cli.output import Output
from endstop.cli.tree_trace import tell_trace
from endstop.events.facts import Fact
from endstop.events.steered import TreeChosen, TreeTraced
from endstop.tree.lua import read_tree
from endstop.tree.spec import to_json

SUBCOMMANDS = ("list", "show", "check", "draw", "bound", "trace", "copy")
SMALL = """return BT.tree("%s", {
  doc = "Small.",
  root = BT.sequence("all", { %s }),
})
"""
TAKES_A_TURN = 'BT.action("turn.take_turn")'
NO_SUCH_ACTION = 'BT.action("turn.take_trun")'


@pytest.fixture
def own(home: Path) -> Path:
    folder = home / "trees"
    folder.mkdir(parents=True)
    return folder


def _write(folder: Path, name: str, *nodes: str) -> str:
    path = folder / f"{name}.lua"
    path.write_text(SMALL % (name, ", ".join(nodes)))
    return str(path)


@pytest.mark.guarantee("J1")
@pytest.mark.parametrize("command", SUBCOMMANDS)
def test_every_command_teaches_with_examples_and_prints_json(home: Path, command: str) -> None:
    told = in_process_of_its_own(home, "tree", command, "--help")
    assert told.code == 0
    assert f"Examples:\n    endstop tree {command}" in told.out
    assert "--json" in told.out
    assert "With --json:" in told.out


def test_without_a_command_the_help_is_shown_and_it_is_a_usage_error(endstop: Endstop) -> None:
    done = endstop("tree")
    assert (done.code, done.out) == (2, "")
    for command in SUBCOMMANDS:
        assert f"\n  {command} " in done.err
    assert "Name one of the commands above: endstop tree COMMAND." in done.err


def test_the_list_has_the_built_in_trees_with_their_size_and_purpose(endstop: Endstop) -> None:
    trees = {one["name"]: one for one in endstop("tree", "list", "--json").json}
    oracle = trees["oracle-agent"]
    assert (oracle["from"], oracle["problems"]) == ("built in", [])
    assert oracle["nodes"] > trees["agent-turn"]["nodes"] > 10  # what it refers to counts, too
    line = next(line for line in endstop("tree", "list").out.splitlines() if line.startswith("oracle-agent"))
    assert "Answers questions about a project" in line


def test_own_trees_are_listed_with_their_problems(endstop: Endstop, own: Path) -> None:
    _write(own, "mine", TAKES_A_TURN)
    _write(own, "broken", NO_SUCH_ACTION)
    trees = {one["name"]: one for one in endstop("tree", "list", "--json").json}
    assert (trees["mine"]["from"], trees["mine"]["nodes"], trees["mine"]["doc"]) == ("own", 2, "Small.")
    assert trees["broken"]["nodes"] is None
    assert "broken.lua:3: " in trees["broken"]["problems"][0]
    assert "What is wrong with broken: endstop tree check broken" in endstop("tree", "list").out


def test_show_prints_the_lua(endstop: Endstop) -> None:
    done = endstop("tree", "show", "oracle-agent")
    assert (done.code, 'return BT.tree("oracle-agent", {' in done.out) == (0, True)
    told = endstop("tree", "show", "oracle-agent", "--json").json
    assert (told["name"], told["from"], told["source"].strip()) == (
        *("oracle-agent", "built in"),
        done.out.strip(),
    )


@pytest.mark.parametrize("command", ["show", "draw", "bound", "copy"])
def test_a_tree_that_is_not_there_is_refused_with_the_one_that_was_probably_meant(
    endstop: Endstop, command: str
) -> None:
    done = endstop("tree", command, "oracel-agent")
    assert (done.code, done.out) == (2, "")
    assert "Perhaps 'oracle-agent' was meant." in done.err
    assert endstop("tree", command, "oracel-agent", "--json").error["code"] == "unknown_tree"


@pytest.mark.guarantee("A13")
def test_check_says_that_nothing_is_wrong_with_size_and_bound(endstop: Endstop) -> None:
    endstop("settings", "set", "max_iterations=7")
    done = endstop("tree", "check", "oracle-agent", "execute-tools")
    assert done.code == 0
    first, second = done.out.splitlines()
    assert first.startswith("oracle-agent: no problems: ")
    assert "nodes, bound of a run: turns ≤ 7, model calls ≤ 28, tool calls ≤ 70" in first
    assert second.startswith("execute-tools: no problems: 4 nodes")


@pytest.mark.guarantee("E3")
def test_check_tells_all_problems_with_file_and_line(endstop: Endstop, tmp_path: Path) -> None:
    good = _write(tmp_path, "good", TAKES_A_TURN)
    bad = _write(tmp_path, "bad", NO_SUCH_ACTION, 'BT.subtree_ref("agent-trun")', 'BT.condition("x >")')
    done = endstop("tree", "check", good, bad)
    assert done.code == 2
    assert f"{good}: no problems: 2 nodes" in done.out
    assert f"{bad}: 3 problems" in done.out
    assert done.out.count("  bad.lua:3: ") == 3
    assert "'agent-turn' was meant" in done.out
    told = endstop("tree", "check", good, bad, "--json")
    assert told.code == 2
    first, second = told.json
    assert (first["tree"], first["nodes"], first["problems"]) == ("good", 2, [])
    assert first["per_run"]["turns"] == 30
    assert (second["tree"], second["per_run"], len(second["problems"])) == (None, None, 3)


def test_a_file_refers_to_what_stands_beside_it_before_what_is_in_the_library(
    endstop: Endstop, tmp_path: Path
) -> None:
    _write(tmp_path, "execute-tools", TAKES_A_TURN, TAKES_A_TURN)
    mine = _write(tmp_path, "mine", 'BT.subtree_ref("execute-tools")')
    assert endstop("tree", "check", mine, "--json").json[0]["nodes"] == 5  # of the library's, there are 4
    away = tmp_path / "away"
    away.mkdir()
    alone = _write(away, "mine", 'BT.subtree_ref("execute-tools")')
    assert endstop("tree", "check", alone, "--json").json[0]["nodes"] == 6


def test_a_broken_file_beside_is_told_as_a_problem(endstop: Endstop, tmp_path: Path) -> None:
    (tmp_path / "other.lua").write_text("return 3 +")
    mine = _write(tmp_path, "mine", 'BT.subtree_ref("other")')
    done = endstop("tree", "check", mine)
    assert (done.code, "other.lua:" in done.out) == (2, True)


@pytest.mark.guarantee("I7")
@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("missing.lua", None, "There is no such file"),
        ("folder.lua", "folder", "It is a folder"),
        ("pipe.lua", "pipe", "It is no ordinary file"),
        ("binary.lua", b"\x7fELF\x00\xff\xfe", "It is no text in UTF-8"),
        ("huge.lua", b"-" * 100_001, "It has 100,001 bytes; 100,000 are allowed"),
        ("empty.lua", b"", ""),
        ("nonsense.lua", b"this is no Lua", "nonsense.lua:1: "),
        ("number.lua", b"return 3", ""),
        ("escape.lua", b"os.exit(1)", "escape.lua:1: "),
        ("spin.lua", b"while true do end", ""),
        ("x" * 300 + ".lua", None, "It cannot be read (File name too long)"),
    ],
)
def test_a_file_that_is_no_tree_is_refused_in_words(
    endstop: Endstop, tmp_path: Path, name: str, content: bytes | str | None, words: str
) -> None:
    path = tmp_path / name
    if content == "folder":
        path.mkdir()
    elif content == "pipe":
        os.mkfifo(path)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    done = endstop("tree", "check", str(path))
    assert (done.code, done.err) == (2, "")
    assert f"{path}: 1 problem\n" in done.out
    assert words in done.out
    assert endstop("tree", "draw", str(path)).code == 2


@pytest.mark.guarantee("E6")
def test_a_tree_is_drawn_as_text_for_graphviz_and_as_json(endstop: Endstop, tmp_path: Path) -> None:
    small = _write(tmp_path, "small", TAKES_A_TURN, 'BT.subtree_ref("execute-tools")')
    text = endstop("tree", "draw", small).out.splitlines()
    assert text[0] == "small"
    assert text[2].startswith("   ├─ ! action turn.take_turn")
    dot = endstop("tree", "draw", small, "--dot").out
    assert dot.startswith('digraph "small" {')
    assert dot.count("->") == 6
    told = endstop("tree", "draw", small, "--json").json
    assert (told["tree"], len(told["nodes"])) == ("small", 7)
    assert told["nodes"][1] == {
        "index": 1,
        "depth": 1,
        "kind": "action",
        "name": "turn.take_turn",
        "path": "all/turn.take_turn",
        "file": "small.lua",
        "line": 3,
    }
    assert told["nodes"][3]["file"] == "execute-tools.lua"


@pytest.mark.guarantee("A13")
@pytest.mark.parametrize("command", [("tree", "bound"), ("bound",)])
def test_the_bound_of_a_tree_is_told_per_pass_and_per_run_under_the_settings(
    endstop: Endstop, tmp_path: Path, command: tuple[str, ...]
) -> None:
    endstop("settings", "set", "max_iterations=20", "cost_limit_usd=0.5")
    three = _write(tmp_path, "three", TAKES_A_TURN, TAKES_A_TURN, TAKES_A_TURN)
    told = endstop(*command, three, "--json").json
    assert (told["tree"], told["per_pass"]["turns"], told["per_run"]["turns"]) == ("three", 3, 20)
    assert told["per_run"]["cost_usd"] == "0.5"
    assert told["per_pass"]["leaf_runs"] == 3
    rows = [line.split() for line in endstop(*command, three).out.splitlines()]
    assert ["turns", "3", "20"] in rows
    assert ["model", "calls", "12", "80"] in rows


def test_bound_finds_trees_by_name_and_tells_a_slip_of_the_pen_for_what_it_is(endstop: Endstop) -> None:
    assert "A run of the tree oracle-agent under the settings of me" in endstop("bound", "oracle-agent").out
    assert "Perhaps 'oracle-agent' was meant." in endstop("bound", "oracle-agnt").err
    assert "Did you mean runaway?" in endstop("bound", "runawy").err
    assert "the agent demo:runaway" in endstop("bound", "demo:runaway").out
    assert endstop("bound", "oracle-agent", "--turns", "3").code == 2


@pytest.mark.guarantee("E6")
def test_trace_shows_the_tree_of_a_run_as_it_stood_and_what_its_leaves_did_in_each_turn(
    endstop: Endstop, tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_text("# Limits\n\nThere are limits.\n")
    assert endstop("ask", "Where are limits?", "--project", str(tmp_path)).code == 0
    done = endstop("tree", "trace", "last")
    assert done.out.startswith("oracle-agent\n")
    drawn = done.out.partition("\n\n")[0].splitlines()
    assert drawn[-1].split()[-1] == "[success]"
    assert "run.emit_done" in drawn[-1]
    first, last = done.out.partition("\nTurn 1\n")[2], done.out.rpartition("\nTurn ")[2]
    assert "  turn.take_turn: running → success\n" in first
    assert "  run.emit_done: " in last
    assert "  get ready: success" not in done.out
    assert "  get ready: " in endstop("tree", "trace", "last", "--all").out
    told = endstop("tree", "trace", "last", "--json").json
    assert [one["turn"] for one in told["turns"]] == list(range(1, len(told["turns"]) + 1))
    names = {one["index"]: one["name"] for one in told["nodes"]}
    assert "turn.take_turn" in {names[step["index"]] for step in told["turns"][0]["steps"]}


@pytest.mark.guarantee("E5")
def test_trace_shows_the_tree_that_the_run_had_whatever_has_become_of_its_file(
    endstop: Endstop, tmp_path: Path
) -> None:
    source = endstop("tree", "show", "oracle-agent").out.replace("oracle-agent", "mine")
    (tmp_path / "mine.lua").write_text(source)
    endstop("ask", "Hello.", "--project", str(tmp_path), "--tree", str(tmp_path / "mine.lua"))
    (tmp_path / "mine.lua").unlink()
    assert endstop("tree", "trace", "last").out.startswith("mine\n")


def test_a_run_without_a_tree_has_no_trace(in_gallery: Endstop) -> None:
    done = in_gallery("tree", "trace", "last")
    assert (done.code, done.out) == (2, "")
    assert "was not steered by a tree." in done.err


def test_a_trace_says_what_was_dropped_halted_and_done_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    tree = read_tree(SMALL % ("small", f"{TAKES_A_TURN}, {TAKES_A_TURN}"), file="small.lua")
    steps = (*["1 running", "1 success"] * 6, "2 running", "2 halted", "0 running", "9 success", "odd")
    notes = (
        TreeChosen(tree="small", hash=tree.hash, spec=to_json(tree)),
        TreeTraced(turn=0, steps=steps, dropped=2),
        TreeTraced(scope="run/helper-1", turn=0, steps=("1 failure",)),
    )
    facts = [
        Fact(run_id="run_1", seq=seq, time=0.0, source="test", payload=note) for seq, note in enumerate(notes)
    ]
    tell_trace(Output(is_json=False), "run_1", facts, shows_all=False)
    out = capsys.readouterr().out
    drawn = out.partition("\n\n")[0].splitlines()
    assert [line.split()[-1] for line in drawn[1:]] == ["[running]", "[success]", "turn.take_turn"]
    assert f"  turn.take_turn: {'running → success → ' * 4}…\n" in out
    assert "  turn.take_turn: running → halted\n  … 2 steps more, too many to keep\n" in out
    assert "Turn 1 of run/helper-1\n  turn.take_turn: failure\n" in out


def test_a_built_in_tree_is_copied_once_used_in_place_of_the_built_in_one_and_never_overwritten(
    endstop: Endstop, home: Path
) -> None:
    done = endstop("tree", "copy", "oracle-agent")
    copy = home / "trees" / "oracle-agent.lua"
    assert (done.code, f"Copied to {copy}" in done.out) == (0, True)
    copy.write_text(copy.read_text().replace("Answers questions", "My own. Answers questions"))
    trees = {one["name"]: one for one in endstop("tree", "list", "--json").json}
    assert (trees["oracle-agent"]["from"], trees["oracle-agent"]["file"]) == ("own", str(copy))
    again = endstop("tree", "copy", "oracle-agent")
    assert (again.code, f"yours is {copy}" in again.err) == (2, True)
    assert "My own." in copy.read_text()
    assert endstop("tree", "copy", "agent-turn", "--json").json["file"] == str(
        home / "trees" / "agent-turn.lua"
    )


@pytest.mark.parametrize("trees", ["/proc/nowhere", "/proc"])
def test_a_home_folder_that_cannot_be_written_to_is_said(endstop: Endstop, home: Path, trees: str) -> None:
    home.mkdir()
    (home / "trees").symlink_to(trees)
    done = endstop("tree", "copy", "oracle-agent")
    assert done.code == 2
    assert f"ENDSTOP_HOME is '{home}'.\n  Allowed: a folder that can be written to (" in done.err
