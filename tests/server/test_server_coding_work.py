"""What becomes of a session's work over the interface: looked at, accepted, discarded, restored (G8)."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from coding_server import CodingServer, coding_server, git, made_repository

from endstop.server import coding_work, routes_coding_work

ROUNDS = ({"code.py": "a = 2\n"}, {"code.py": "a = 2\nb = 3\n", "new.py": "c = 4\n"})
SESSION = "/api/coding/run_1"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[CodingServer]:
    async with coding_server(tmp_path / "home") as made:
        yield made


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return made_repository(tmp_path / "shop")


async def done(server: CodingServer, what: str, **given: object) -> dict[str, Any]:
    answer = await server.me.post(f"{SESSION}/{what}", json=given)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def refused(server: CodingServer, what: str, *, status: int = 409, **given: object) -> str:
    answer = await server.me.post(f"{SESSION}/{what}", json=given)
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    return f"{error['what']} {error['allowed']} {error['to_do']}"


async def diff(server: CodingServer, **query: int) -> dict[str, Any]:
    answer = await server.me.get(f"{SESSION}/diff", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def standing(server: CodingServer) -> str:
    listed = (await server.me.get("/api/coding")).json()[0]["standing"]
    assert (await server.session("run_1"))["standing"] == listed
    return listed


# ── looked at ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_round_is_shown_against_the_one_before_it(server: CodingServer, repository: Path) -> None:
    await server.left(repository, ROUNDS)
    first, second = await diff(server, round=1), await diff(server, round=2)
    assert ("-a = 1\n+a = 2\n" in first["text"], "new.py" in first["text"]) == (True, False)
    assert ("-a = 1" in second["text"], "+b = 3\n" in second["text"]) == (False, True)
    assert (first["is_cut"], second["is_cut"]) == (False, False)


async def test_without_a_round_all_of_the_work_is_shown(server: CodingServer, repository: Path) -> None:
    await server.left(repository, ROUNDS)
    whole = await diff(server)
    assert "-a = 1\n+a = 2\n+b = 3\n" in whole["text"]
    assert await diff(server, round=0) == whole


async def test_a_diff_that_is_very_long_is_cut(
    server: CodingServer, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await server.left(repository, [{"long.txt": "line\n" * 100}])
    monkeypatch.setattr(coding_work, "MOST_DIFF_CHARS", 200)
    told = await diff(server)
    assert (len(told["text"]), told["is_cut"]) == (200, True)


async def test_a_round_that_is_not_there_is_refused_with_those_that_are(
    server: CodingServer, repository: Path
) -> None:
    await server.left(repository, ROUNDS)
    answer = await server.me.get(f"{SESSION}/diff", params={"round": 3})
    assert (answer.status_code, answer.json()["error"]["allowed"]) == (422, "1, 2")
    assert "1, 2" in await refused(server, "restore", status=422, round=3)


async def test_the_rounds_of_a_session_are_told_with_their_commits(
    server: CodingServer, repository: Path
) -> None:
    worktree = await server.left(repository, ROUNDS)
    told = (await server.session("run_1"))["commits"]
    assert [(one["round"], one["subject"]) for one in told] == [(1, "Round 1"), (2, "Round 2")]
    assert told[-1]["commit"] == await worktree.tip()


async def test_a_session_whose_branch_is_gone_is_still_told_of(
    server: CodingServer, repository: Path
) -> None:
    await server.left(repository, ROUNDS)
    shutil.rmtree(server.home / "worktrees")
    git(repository, "worktree", "prune")
    git(repository, "branch", "-q", "-D", "endstop/run_1")
    assert await standing(server) == "gone"
    answer = await server.me.get(f"{SESSION}/diff")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "repository")
    assert "knows no session" in await refused(server, "accept")


async def test_a_repository_that_was_moved_away_is_said_to_be(server: CodingServer, repository: Path) -> None:
    await server.left(repository, ROUNDS)
    repository.rename(repository.with_name("elsewhere"))
    told = await server.session("run_1")
    assert (told["standing"], told["commits"]) == (None, [])
    assert "does not exist" in told["repository_problem"]
    assert (await server.me.get("/api/coding")).json()[0]["standing"] is None
    assert "does not exist" in await refused(server, "discard")


# ── accepted ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.guarantee("G8")
async def test_accepted_work_is_merged_into_the_branch_that_is_checked_out(
    server: CodingServer, repository: Path
) -> None:
    worktree = await server.left(repository, ROUNDS)
    tip = await worktree.tip()
    told = await done(server, "accept")
    assert told == {"how": "merge", "branch": "main", "commit": tip, "is_fast_forward": True, "patch": None}
    assert (repository / "new.py").read_text() == "c = 4\n"
    assert git(repository, "branch", "--list", "endstop/*") == ""
    assert await standing(server) == "accepted"
    assert len((await server.session("run_1"))["commits"]) == 2
    assert "+b = 3" in (await diff(server, round=2))["text"]
    assert "accepted already" in await refused(server, "accept")


async def test_work_can_be_had_as_a_patch_which_changes_nothing(
    server: CodingServer, repository: Path
) -> None:
    await server.left(repository, ROUNDS)
    told = await done(server, "accept", how="patch")
    assert (told["how"], told["branch"], told["commit"]) == ("patch", None, None)
    assert await standing(server) == "open"
    assert git(repository, "status", "--porcelain") == ""
    (repository / "it.patch").write_text(told["patch"])
    git(repository, "apply", "it.patch")
    assert (repository / "new.py").read_text() == "c = 4\n"


@pytest.mark.guarantee("G8")
async def test_a_change_of_the_users_that_is_in_the_way_is_named_and_nothing_happens(
    server: CodingServer, repository: Path
) -> None:
    await server.left(repository, ROUNDS)
    (repository / "code.py").write_text("mine = 1\n")
    said = await refused(server, "accept")
    assert "code.py" in said
    assert "nothing was changed" in said
    assert (repository / "code.py").read_text() == "mine = 1\n"
    assert await standing(server) == "open"


async def test_work_goes_into_another_branch_only_if_it_is_named(
    server: CodingServer, repository: Path
) -> None:
    await server.left(repository, ROUNDS)
    git(repository, "switch", "-q", "-c", "other")
    assert "the work is to go into main" in await refused(server, "accept")
    assert (await done(server, "accept", into="other"))["branch"] == "other"


@pytest.mark.thorough
@pytest.mark.parametrize(("text", "most"), [("ä\n", None), ("plain\n", 10)], ids=["not UTF-8", "too large"])
async def test_a_patch_that_is_no_text_is_left_to_the_terminal(
    server: CodingServer, repository: Path, monkeypatch: pytest.MonkeyPatch, text: str, most: int | None
) -> None:
    if most is not None:
        monkeypatch.setattr(routes_coding_work, "MOST_PATCH_BYTES", most)
    await server.left(repository, [{"code.py": text}])
    assert "endstop session accept run_1 --patch FILE" in await refused(server, "accept", how="patch")


# ── discarded, restored ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.thorough
@pytest.mark.guarantee("G8")
async def test_discarded_work_can_still_be_found(server: CodingServer, repository: Path) -> None:
    worktree = await server.left(repository, ROUNDS)
    tip = await worktree.tip()
    told = await done(server, "discard")
    assert told == {"commit": tip, "ref": "refs/endstop/run_1/discarded"}
    assert git(repository, "rev-parse", told["ref"]) == tip
    assert not worktree.path.exists()
    assert await standing(server) == "discarded"
    assert "was discarded" in await refused(server, "accept")


@pytest.mark.thorough
@pytest.mark.guarantee("G8")
async def test_a_restored_round_is_what_is_accepted(server: CodingServer, repository: Path) -> None:
    worktree = await server.left(repository, ROUNDS)
    told = await done(server, "restore", round=1)
    assert told == {"round": 1, "commit": await worktree.tip()}
    assert await standing(server) == "open"
    await done(server, "accept")
    assert (repository / "code.py").read_text() == "a = 2\n"
    assert not (repository / "new.py").exists()


@pytest.mark.thorough
async def test_two_who_decide_at_once_do_not_meet_half_way(server: CodingServer, repository: Path) -> None:
    await server.left(repository, ROUNDS)
    answers = await asyncio.gather(server.me.post(f"{SESSION}/accept"), server.me.post(f"{SESSION}/discard"))
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    is_merged = (repository / "new.py").exists()
    assert await standing(server) == ("accepted" if is_merged else "discarded")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("what", "given"),
    [("accept", {}), ("accept", {"how": "patch"}), ("discard", {}), ("restore", {"round": 1})],
)
async def test_the_work_of_a_session_that_has_not_ended_is_left_alone(
    server: CodingServer, repository: Path, what: str, given: dict[str, Any]
) -> None:
    await server.left(repository, ROUNDS, has_ended=False)
    assert "has not ended" in await refused(server, what, **given)
    assert await standing(server) == "open"
