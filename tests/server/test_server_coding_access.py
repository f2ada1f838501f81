"""Who may have code written where: on one's own machine anywhere, else in what is served (I6, G8)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx
import pytest
from coding_server import CodingServer, coding_server, git, made_repository

from endstop.errors import InvalidValueError
from endstop.server.coding_repositories import require_served
from endstop.tools import confinement
from endstop.tools.sandbox import Bubblewrap, installed_bubblewrap

needs_sandbox = pytest.mark.skipif(
    installed_bubblewrap().program is None, reason="others are let in only where bubblewrap works"
)


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """A folder with a repository in it."""
    made_repository(tmp_path / "served" / "shop")
    return tmp_path.resolve() / "served"


@pytest.fixture
async def server(
    tmp_path: Path, served: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[CodingServer]:
    monkeypatch.setenv("ENDSTOP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key")
    async with coding_server(tmp_path / "home", served) as made:
        yield made


async def proposal(client: httpx.AsyncClient, repository: object, **more: object) -> httpx.Response:
    given = {"intent": "Add sums.", "repository": str(repository), "model": "openai:gpt-4o", **more}
    return await client.post("/api/coding/proposal", json=given)


async def forbidden(client: httpx.AsyncClient, repository: object, **more: object) -> dict[str, Any]:
    answer = await proposal(client, repository, **more)
    assert answer.status_code == 403, answer.text
    return answer.json()["error"]


@pytest.mark.guarantee("I6")
async def test_nobody_gets_in_without_a_token(server: CodingServer) -> None:
    for path in ("/api/coding", "/api/coding/offer", "/api/coding/examples", "/api/coding/run_1"):
        assert (await server.nobody.get(path)).status_code == 401
    for path in ("", "/proposal", "/run_1/accept", "/run_1/discard", "/run_1/restore"):
        assert (await server.nobody.post(f"/api/coding{path}", json={})).status_code == 401


@pytest.mark.guarantee("I6")
async def test_on_their_own_machine_people_may_name_any_repository(
    server: CodingServer, tmp_path: Path
) -> None:
    elsewhere = made_repository(tmp_path / "elsewhere")
    assert (await proposal(server.me, elsewhere)).status_code == 200


@needs_sandbox
@pytest.mark.guarantee("I6")
async def test_others_may_name_what_is_served_and_nothing_else(
    server: CodingServer, served: Path, tmp_path: Path
) -> None:
    elsewhere = made_repository(tmp_path / "elsewhere")
    assert (await proposal(server.other, served / "shop")).status_code == 200
    for named in (elsewhere, served / ".." / "elsewhere", tmp_path / "not-there"):
        error = await forbidden(server.other, named)
        assert "--repo" in error["to_do"]
    begun = {"intent": "x", "repository": str(elsewhere), "model": "openai:gpt-4o"}
    assert (await server.other.post("/api/coding", json=begun)).status_code == 403


@needs_sandbox
async def test_a_folder_that_is_served_does_not_open_the_repository_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key")
    around = made_repository(tmp_path / "around")
    (around / "docs").mkdir()
    async with coding_server(tmp_path / "home", around / "docs") as server:
        await forbidden(server.other, around / "docs")


@needs_sandbox
async def test_a_link_in_a_folder_that_is_served_leads_nowhere_else(
    server: CodingServer, served: Path, tmp_path: Path
) -> None:
    (served / "link").symlink_to(made_repository(tmp_path / "elsewhere"))
    await forbidden(server.other, served / "link")


@needs_sandbox
async def test_a_server_that_others_can_reach_has_no_owner(
    tmp_path: Path, served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key")
    elsewhere = made_repository(tmp_path / "elsewhere")
    async with coding_server(tmp_path / "home", served, is_private=False) as server:
        assert (await proposal(server.me, served / "shop")).status_code == 200
        await forbidden(server.me, elsewhere)
        assert not (await server.me.get("/api/coding/offer")).json()["any_repository"]


async def test_an_offer_lists_the_repositories_there_are(
    tmp_path: Path, served: Path, server: CodingServer
) -> None:
    (served / "notes").mkdir()
    offer = (await server.other.get("/api/coding/offer")).json()
    assert (offer["repositories"], offer["any_repository"]) == ([str(served / "shop")], False)
    async with coding_server(tmp_path / "home", served / "shop", served / "gone") as named:
        offer = (await named.me.get("/api/coding/offer")).json()
        assert (offer["repositories"], offer["any_repository"]) == ([str(served / "shop")], True)


@needs_sandbox
@pytest.mark.guarantee("G8")
async def test_others_do_not_say_how_commands_are_confined(server: CodingServer, served: Path) -> None:
    shop = served / "shop"
    open_wide = {"commands": {"network": True, "readable": ["/home"]}}
    await forbidden(server.other, shop, policy=open_wide)
    assert (await proposal(server.me, shop, policy=open_wide)).status_code == 200
    (shop / "policy.yaml").write_text("commands:\n  network: true\nbuild:\n  rounds: 2\n")
    told = (await proposal(server.other, shop)).json()["policy"]
    assert (told["commands"]["network"], told["build"]["rounds"]) == (False, 2)
    server.home.mkdir(exist_ok=True)
    (server.home / "policy.yaml").write_text("commands:\n  memory_mb: 512\n")
    assert (await proposal(server.other, shop)).json()["policy"]["commands"]["memory_mb"] == 512


@needs_sandbox
@pytest.mark.guarantee("G8")
async def test_others_do_not_name_a_program_outside_of_the_repository(
    server: CodingServer, served: Path
) -> None:
    shop = served / "shop"
    (shop / "run.sh").write_text("#!/bin/sh\n")
    (shop / "run.sh").chmod(0o755)
    for command in ("/bin/true", "../../run.sh fast"):
        await forbidden(server.other, shop, test_command=command)
        await forbidden(server.other, shop, policy={"tests": {"command": command}})
    assert (await proposal(server.other, shop, test_command="./run.sh fast")).status_code == 200
    assert (await proposal(server.other, shop, test_command="'open")).status_code == 422
    assert (await proposal(server.me, shop, test_command="/bin/true")).status_code == 200


@pytest.mark.guarantee("G8")
async def test_others_are_not_let_in_where_nothing_keeps_commands_in(
    server: CodingServer, served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confinement, "installed_bubblewrap", lambda: Bubblewrap(why_not="it is not there"))
    error = await forbidden(server.other, served / "shop")
    assert "bubblewrap" in error["to_do"]
    told = (await proposal(server.me, served / "shop")).json()
    assert told["confinement"].startswith("path checks and resource limits only")


@pytest.mark.guarantee("I6")
async def test_users_see_and_change_only_their_own_sessions(server: CodingServer, served: Path) -> None:
    shop = served / "shop"
    await server.left(shop, [{"code.py": "a = 2\n"}])
    assert (await server.other.get("/api/coding")).json() == []
    for path in ("", "/diff"):
        assert (await server.other.get(f"/api/coding/run_1{path}")).status_code == 404
    for path in ("accept", "discard", "restore"):
        answer = await server.other.post(
            f"/api/coding/run_1/{path}", json={"round": 1} if "re" in path else {}
        )
        assert answer.status_code == 404
    assert git(shop, "branch", "--list", "endstop/*") != ""


@pytest.mark.guarantee("I6")
async def test_a_repository_that_is_served_no_more_is_not_told_of(
    server: CodingServer, tmp_path: Path
) -> None:
    elsewhere = made_repository(tmp_path / "elsewhere")
    await server.left(elsewhere, [{"code.py": "a = 2\n"}], user="other")
    row = (await server.other.get("/api/coding")).json()[0]
    assert (row["intent"], row["repository"], row["standing"]) == ("Better.", "", None)
    told = (await server.other.get("/api/coding/run_1")).json()
    assert (told["repository"], told["worktree"], told["standing"]) == ("", "", None)
    assert "works in for you" in told["repository_problem"]
    assert (await server.other.get("/api/coding/run_1/diff")).status_code == 403
    assert (await server.other.post("/api/coding/run_1/accept")).status_code == 403


async def test_an_example_is_open_to_everybody_with_its_own_repository(server: CodingServer) -> None:
    run_id = await server.began(server.other, example="vague")
    told = (await server.other.get(f"/api/coding/{run_id}")).json()
    assert told["repository"] == str(server.home.resolve() / "examples" / run_id)
    assert told["repository_problem"] is None
    assert (await server.me.get(f"/api/coding/{run_id}")).status_code == 404
    await server.other.post(f"/api/runs/{run_id}/cancel")


async def test_a_folder_to_serve_has_to_be_there(tmp_path: Path) -> None:
    assert require_served(tmp_path / "." / "x" / "..") == tmp_path.resolve()
    with pytest.raises(InvalidValueError, match="a folder that is there"):
        require_served(tmp_path / "not-there")
