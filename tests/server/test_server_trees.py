"""Trees over the API: listed, shown as data, checked, bounded; and no name leads outside (E5, E6)."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from small_server import SmallServer, small_server

from endstop.errors import TreeError
from endstop.server.tree_shapes import TreeProblem
from endstop.tree.draw import expanded

URL = "/api/trees"
HELLO = """return BT.tree("hello", {
  doc = "Says it.",
  blackboard = { greeting = { type = "string", default = "hello", doc = "What to say" } },
  root = BT.sequence("all", { BT.condition{ expression = "greeting == 'hello'" } }),
})"""
BROKEN = 'return BT.tree("hello", {\n  root = BT.sequense("all", {}) })'


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[SmallServer]:
    async with small_server(tmp_path) as made:
        yield made


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The user's own tree, ``hello``."""
    folder = tmp_path / "trees"
    folder.mkdir()
    file = folder / "hello.lua"
    file.write_text(HELLO, encoding="utf-8")
    return file


async def listed(server: SmallServer) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in (await server.me.get(URL)).json()}


async def test_the_list_has_ours_and_the_users_own(server: SmallServer, own: Path) -> None:
    trees = await listed(server)
    assert trees["oracle-agent"]["origin"] == "built in"
    assert trees["oracle-agent"]["nodes"] > 10
    assert trees["hello"] == {"name": "hello", "origin": "own", "doc": "Says it.", "nodes": 2, "problems": []}


async def test_a_broken_tree_is_listed_with_what_is_wrong_and_where(server: SmallServer, own: Path) -> None:
    own.write_text(BROKEN, encoding="utf-8")
    tree = (await listed(server))["hello"]
    assert tree["nodes"] is None
    assert (tree["problems"][0]["file"], tree["problems"][0]["line"]) == ("hello.lua", 2)
    assert "sequense" in tree["problems"][0]["what"]


@pytest.mark.guarantee("E5")
async def test_a_tree_that_became_broken_is_shown_as_it_was_with_what_is_wrong(
    server: SmallServer, own: Path
) -> None:
    good = (await server.me.get(f"{URL}/hello")).json()
    own.write_text(BROKEN, encoding="utf-8")
    now = (await server.me.get(f"{URL}/hello")).json()
    assert now["source"] == BROKEN
    assert now["problems"]
    assert (now["hash"], now["nodes"]) == (good["hash"], good["nodes"])


async def test_a_tree_that_was_never_good_is_shown_as_its_text(server: SmallServer, own: Path) -> None:
    own.write_text(BROKEN, encoding="utf-8")
    shown = (await server.me.get(f"{URL}/hello")).json()
    assert (shown["source"], shown["hash"], shown["nodes"], shown["bound"]) == (BROKEN, None, [], None)
    answer = await server.me.get(f"{URL}/hello/bound")
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "tree_refused")


def test_a_problem_without_a_place_is_told_as_it_is() -> None:
    (placed, whole) = TreeProblem.all_of(TreeError("No", problems=("a.lua:7: Not so.", "Nothing: at all.")))
    assert (placed.file, placed.line, placed.what) == ("a.lua", 7, "Not so.")
    assert (whole.file, whole.line, whole.what) == (None, None, "Nothing: at all.")
    assert TreeProblem.all_of(TreeError("The folder cannot be read"))[0].what == "The folder cannot be read."


async def test_a_file_that_is_no_text_is_shown_without_one(server: SmallServer, own: Path) -> None:
    own.write_bytes(b"\xff\xfe")
    shown = (await server.me.get(f"{URL}/hello")).json()
    assert shown["source"] == ""
    assert "UTF-8" in shown["problems"][0]["what"]


@pytest.mark.guarantee("E6")
async def test_a_tree_is_drawn_as_data_with_every_node_in_its_place(server: SmallServer) -> None:
    shown = (await server.me.get(f"{URL}/oracle-agent")).json()
    nodes = shown["nodes"]
    trees = server.asgi.state.context.trees
    assert [(one["index"], one["depth"], one["path"]) for one in nodes] == [
        (place.index, place.depth, place.path) for place in expanded(trees.get("oracle-agent"))
    ]
    for node in nodes:
        assert all(nodes[child]["parent"] == node["index"] for child in node["children"])
        if node["parent"] is not None:
            assert node["index"] in nodes[node["parent"]]["children"]
            assert node["depth"] == nodes[node["parent"]]["depth"] + 1
    assert shown["source"].strip()
    assert shown["hash"] == trees.get("oracle-agent").hash
    assert nodes[0]["parent"] is None
    assert {one["group"] for one in nodes} == {"composite", "decorator", "leaf"}


async def test_the_keys_of_a_tree_are_told_with_what_they_are_for(server: SmallServer, own: Path) -> None:
    assert (await server.me.get(f"{URL}/hello")).json()["keys"] == [
        {"name": "greeting", "type": "string", "default": "hello", "doc": "What to say"}
    ]


async def test_the_bound_of_a_tree_follows_the_callers_settings(server: SmallServer) -> None:
    await server.me.put("/api/settings/agent-config", json={"max_iterations": 7})
    mine = (await server.me.get(f"{URL}/oracle-agent/bound")).json()
    theirs = (await server.other.get(f"{URL}/oracle-agent/bound")).json()
    assert (mine["per_run"]["turns"], theirs["per_run"]["turns"]) == (7, 30)
    assert mine["leaf_runs_per_pass"] > 0
    assert (await server.me.get(f"{URL}/oracle-agent")).json()["bound"] == mine


@pytest.mark.parametrize(
    "name",
    [
        "nothing",
        "..",
        "%2e%2e",
        "..%2f..%2fetc%2fpasswd",
        "../../../etc/passwd",
        "%2fetc%2fpasswd",
        "..%5c..%5cwin.ini",
        "oracle-agent.lua",
        "oracle-agent%00",
        ".%2foracle-agent",
        "ORACLE-AGENT%20",
        "~root",
        "C:oracle-agent",
        "x" * 5_000,
        "%F0%9F%A6%8A",
        "%ff%fe",
        "*",
    ],
)
@pytest.mark.parametrize("end", ["", "/bound"])
async def test_a_name_that_is_no_tree_is_not_there_whatever_tricks_it_plays(
    server: SmallServer, tmp_path: Path, name: str, end: str
) -> None:
    (tmp_path / "passwd.lua").write_text(HELLO, encoding="utf-8")
    answer = await server.me.get(f"{URL}/{name}{end}")
    if answer.status_code == 200:  # the client made another path of it, which is the page's
        assert not answer.url.path.startswith("/api")
        assert answer.content == (await server.me.get("/")).content
        return
    assert answer.status_code in (404, 405)  # the latter where the path became one of another route
    assert answer.json()["error"]["code"] in ("unknown_tree", "not_found", "method_not_allowed")


# ── checking a text ───────────────────────────────────────────────────────────────────────────────────────


async def check(server: SmallServer, text: str, **more: str) -> dict[str, Any]:
    answer = await server.me.post(f"{URL}/check", json={"text": text, **more})
    assert answer.status_code == 200
    return answer.json()


async def test_a_good_text_is_told_as_a_tree_and_not_saved(server: SmallServer) -> None:
    found = await check(server, HELLO)
    assert (found["name"], found["problems"], len(found["nodes"])) == ("hello", [], 2)
    assert found["bound"]["per_run"]["turns"] == 30
    assert (await server.me.get(f"{URL}/hello")).status_code == 404


async def test_a_broken_text_is_told_all_its_problems_with_lines(server: SmallServer) -> None:
    found = await check(server, BROKEN, name="hello")
    assert [(one["file"], one["line"]) for one in found["problems"]] == [("hello.lua", 2)]
    assert (found["hash"], found["nodes"], found["bound"]) == (None, [], None)


async def test_a_text_may_refer_to_trees_that_are_there_and_not_to_others(
    server: SmallServer, own: Path
) -> None:
    refers = 'return BT.tree("outer", {{ root = BT.subtree_ref("{}") }})'
    assert (await check(server, refers.format("hello")))["problems"] == []
    assert "helo" in (await check(server, refers.format("helo")))["problems"][0]["what"]


async def test_a_text_that_refers_to_a_broken_tree_says_so(server: SmallServer, own: Path) -> None:
    own.write_text(BROKEN, encoding="utf-8")
    found = await check(server, 'return BT.tree("outer", { root = BT.subtree_ref("hello") })')
    assert found["problems"]


async def test_a_text_must_have_the_name_of_its_file(server: SmallServer) -> None:
    found = await check(server, HELLO, name="goodbye")
    assert "goodbye" in found["problems"][0]["what"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "while true do end",
        "return 7",
        "os.exit(1)",
        'io.open("/etc/passwd")',
        "local t = {} for i = 1, 1e9 do t[i] = i end",
        "\x00",
        'return BT.tree("a", { root = ' + "BT.inverter(" * 500 + ")" * 500 + " })",
    ],
)
async def test_a_hostile_text_has_problems_and_does_no_harm(server: SmallServer, text: str) -> None:
    found = await check(server, text)
    assert found["problems"]
    assert (await server.me.get("/healthz")).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": 7},
        {"text": None},
        {"text": "x", "more": 1},
        {"text": "x", "name": ""},
        {"text": "x" * 200_000},
        {"text": "\ud800"},
        {"text": "x", "name": "\ud800"},
    ],
)
async def test_what_is_no_text_of_a_tree_is_refused(server: SmallServer, body: dict[str, object]) -> None:
    answer = await server.me.post(
        f"{URL}/check", content=json.dumps(body), headers={"content-type": "application/json"}
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_value")


@pytest.mark.guarantee("I6")
@pytest.mark.parametrize("path", ["", "/oracle-agent", "/oracle-agent/bound"])
async def test_nobody_sees_a_tree(server: SmallServer, path: str) -> None:
    assert (await server.nobody.get(f"{URL}{path}")).status_code == 401
    assert (await server.nobody.post(f"{URL}/check", json={"text": HELLO})).status_code == 401
