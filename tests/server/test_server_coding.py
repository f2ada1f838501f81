"""Coding sessions over the interface: looked at before they begin, begun, answered, shown, listed (G, I)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from coding_server import CodingServer, coding_server, git, made_repository

from endstop.coding import CODING
from endstop.coding.examples import EXAMPLES
from endstop.errors import StoreError
from endstop.events.coding import PriceGiven, PriceVerdict, SessionOpened
from endstop.loop.agent import Agent
from endstop.runner.opening import new_recorder
from endstop.server.coding_shapes import PriceShape
from endstop.testing import MemoryStore, ScriptedModel

REAL = "openai:gpt-4o"


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[CodingServer]:
    home = tmp_path / "home"
    monkeypatch.setenv("ENDSTOP_HOME", str(home))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key")
    async with coding_server(home) as made:
        yield made


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return made_repository(tmp_path / "shop")


async def refused(server: CodingServer, path: str, **given: object) -> dict[str, Any]:
    """What is said to a request that is not taken; nothing has begun then."""
    answer = await server.me.post(path, json=given)
    assert answer.status_code == 422, answer.text
    assert await server.store.runs() == []
    return answer.json()["error"]


async def proposed(server: CodingServer, repository: Path, **more: object) -> dict[str, Any]:
    given = {"intent": "Add sums.", "repository": str(repository), "model": REAL, **more}
    answer = await server.me.post("/api/coding/proposal", json=given)
    assert answer.status_code == 200, answer.text
    return answer.json()


# ── before it begins ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.thorough
@pytest.mark.guarantee("A13")
async def test_a_proposal_tells_the_bound_of_every_phase_and_of_the_whole(
    server: CodingServer, repository: Path
) -> None:
    told = await proposed(server, repository)
    names = [phase["name"] for phase in told["phases"]]
    assert names == [
        "interview",
        "specify",
        "price",
        "plan",
        "round 1",
        "round 2",
        "round 3",
        "simplify",
    ]
    assert told["phases"][1]["how"] == "2 cycles of 3 attempts of 4 turns"
    assert (told["whole"]["model_calls"], told["whole"]["tokens"]) == (50, 500_000)
    assert (told["whole"]["cost_usd"], told["whole"]["seconds"]) == ("10", 1800.0)
    assert told["text"] == "at most 50 turns · 500k tokens · $10.00 · 1,800 s"


async def test_a_proposal_tells_what_it_would_work_with(server: CodingServer, repository: Path) -> None:
    told = await proposed(server, repository / ".", test_command="pytest -x")
    assert told["repository"] == str(repository)
    assert (told["branch"], told["head"]) == ("main", git(repository, "rev-parse", "HEAD"))
    assert (told["model"], told["test_command"]) == (REAL, "pytest -x")
    assert "memory" in told["confinement"]
    assert told["policy"]["build"]["rounds"] == 3


@pytest.mark.guarantee("G8")
async def test_a_proposal_starts_nothing_and_touches_nothing(server: CodingServer, repository: Path) -> None:
    (repository / "code.py").write_text("a = 2\n")
    before = git(repository, "for-each-ref"), git(repository, "status", "--porcelain")
    told = await proposed(server, repository)
    assert len(told["concerns"]) == 1
    assert "1 file has a change that no commit holds" in told["concerns"][0]
    assert (git(repository, "for-each-ref"), git(repository, "status", "--porcelain")) == before
    assert await server.store.runs() == []


async def test_values_of_the_policy_can_be_changed_for_one_session(
    server: CodingServer, repository: Path
) -> None:
    (repository / "policy.yaml").write_text("build:\n  rounds: 2\n  turns: 5\n")
    told = await proposed(server, repository, policy={"build": {"turns": 6}, "interview": {"is_on": False}})
    assert told["policy"]["build"] == {"rounds": 2, "turns": 6, "tester_turns": 4}
    names = [phase["name"] for phase in told["phases"]]
    assert (names[0], names.count("round 3")) == ("specify", 0)
    assert (await proposed(server, repository, policy={"build": None}))["policy"]["build"]["turns"] == 5
    assert (await proposed(server, repository, asks_user=False))["phases"][0]["name"] == "specify"


async def test_all_that_is_wrong_with_a_policy_is_told_at_once(
    server: CodingServer, repository: Path
) -> None:
    wrong = {"build": {"rounds": 99}, "buld": {}, "price": 7, "nothing": None}
    error = await refused(
        server, "/api/coding/proposal", intent="x", repository=str(repository), model=REAL, policy=wrong
    )
    assert (error["code"], error["field"]) == ("policy_refused", "policy")
    assert len(error["problems"]) == 4
    assert any("Did you mean build?" in problem for problem in error["problems"])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"intent": " \n"}, "intent", ""),
        ({"model": None}, "model", "a language model"),
        ({"model": "nobody:none"}, "model", ""),
        ({"model": "example:none"}, "example", "accepted, vague"),
        ({"repository": "no-such-folder"}, "repository", "No such file"),
        ({"repository": "~nobody-of-that-name"}, "repository", "a folder that is there"),
        ({"repository": "a\0b"}, "repository", "a folder that is there"),
        ({"repository": "/"}, "repository", "is not in a git repository"),
        ({"test_command": "no-such-program"}, "test_command", "installed"),
        ({"yes_under_usd": "much"}, "yes_under_usd", "dollars"),
        ({"yes_under_usd": -1.0}, "yes_under_usd", "dollars"),
        ({"yes_under_usd": "NaN"}, "yes_under_usd", "dollars"),
        ({"rounds": 3}, "rounds", ""),
    ],
    ids=str,
)
async def test_what_is_wrong_is_said_with_its_field(
    server: CodingServer, repository: Path, changed: dict[str, object], field: str, words: str
) -> None:
    given = {"intent": "Add sums.", "repository": str(repository), "model": REAL, **changed}
    for path in ("/api/coding/proposal", "/api/coding"):
        error = await refused(server, path, **given)
        assert error["field"] == field
        assert words in f"{error['what']} {error['allowed']}"
        assert error["to_do"]


async def test_a_repository_without_tests_is_asked_how_they_are_run(
    server: CodingServer, tmp_path: Path
) -> None:
    bare = made_repository(tmp_path / "notes", {"notes.txt": "milk\n"})
    error = await refused(server, "/api/coding/proposal", intent="x", repository=str(bare), model=REAL)
    assert error["field"] == "test_command"
    assert "Send test_command" in error["to_do"]


@pytest.mark.guarantee("A10")
async def test_a_model_of_unknown_price_is_refused_before_it_begins(
    server: CodingServer, repository: Path
) -> None:
    given = {"intent": "x", "repository": str(repository), "model": "openai:gpt-of-tomorrow"}
    answer = await server.me.post("/api/coding/proposal", json=given)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "price_unknown")


async def test_what_is_unusual_has_to_be_accepted(server: CodingServer, repository: Path) -> None:
    (repository / "new.txt").write_text("mine\n")
    given: dict[str, Any] = {
        "intent": "Make it better.",
        "repository": str(repository),
        "model": "example:vague",
    }
    error = await refused(server, "/api/coding", **given)
    assert error["field"] == "accepts_concerns"
    assert "no commit holds" in error["allowed"]
    run_id = await server.began(**given, accepts_concerns=True)
    session = await server.until_it_waits(run_id)
    assert "no commit holds" in session["concerns"][0]
    assert (repository / "new.txt").read_text() == "mine\n"


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"intent": "x"},
        {"repository": "."},
        {"example": "accepted", "intent": "x"},
        {"example": "accepted", "policy": {}},
        {"example": "acepted"},
    ],
    ids=str,
)
async def test_a_session_needs_an_intent_and_a_repository_or_an_example(
    server: CodingServer, given: dict[str, object]
) -> None:
    assert await refused(server, "/api/coding", **given)
    assert not (server.home / "examples").exists()


async def test_an_offer_tells_what_can_be_begun(server: CodingServer) -> None:
    assert (await server.me.get("/api/coding/offer")).json() == {
        "model": "extractive",
        "can_code": False,
        "repositories": [],
        "any_repository": True,
    }


async def test_the_examples_are_listed_with_what_will_be_seen(server: CodingServer) -> None:
    listed = (await server.me.get("/api/coding/examples")).json()
    assert [one["name"] for one in listed] == list(EXAMPLES)
    assert all(one["title"] and one["about"] and one["intent"] and one["ends"] for one in listed)


# ── while it runs, and at its end ─────────────────────────────────────────────────────────────────────────


@pytest.mark.thorough
@pytest.mark.guarantee("D7", "G1")
async def test_an_example_asks_is_answered_and_ends_as_it_says(server: CodingServer) -> None:
    run_id = await server.began(example="vague")
    asked = await server.until_it_waits(run_id)
    assert (asked["run_phase"], asked["phase"]) == ("AWAIT_USER", "interview")
    assert asked["asked"]["kind"] == "interview"
    row = (await server.me.get("/api/coding")).json()[0]
    assert (row["phase"], row["standing"]) == ("interview", "open")
    assert row["asked"] == asked["asked"]
    await server.me.post(f"/api/runs/{run_id}/answer", json={"answer": "Just nicer."})
    ended = await server.until_it_waits(run_id)
    assert (ended["phase"], ended["outcome"]) == ("concluded", "abandoned")
    assert ended["conclusion"]["kind"] == "abandoned"
    assert "Intent too ambiguous" in ended["why"]
    assert len(ended["attempts"]) == 3
    assert ended["tried"]
    assert [step["standing"] for step in ended["steps"]] == ["done", "failed", "waiting", "waiting"]
    row = (await server.me.get("/api/coding")).json()[0]
    assert (row["phase"], row["asked"], row["run_phase"]) == ("concluded", None, "ENDED")
    assert row["ending"].startswith("abandoned")
    assert (await server.me.get(f"/api/runs/{run_id}/audit")).json()["holds"]


@pytest.mark.guarantee("G2")
async def test_a_price_is_decided_by_an_answer(server: CodingServer) -> None:
    ended = await server.played("dear")
    assert ended["prices"][0]["price"]["verdict"] == "rejected"
    assert "phases" in [one["kind"] for one in ended["prices"][0]["price"]["alternatives"]]
    assert ended["prices"][-1]["decision"]["choice"] == "rejected"
    assert (ended["outcome"], ended["rounds"], ended["open_price"]) == ("abandoned", [], None)


async def _answered(server: CodingServer, run_id: str, answer: str) -> dict[str, Any]:
    said = await server.me.post(f"/api/runs/{run_id}/answer", json={"answer": answer})
    assert said.status_code == 202, said.text
    return await server.until_it_waits(run_id)


@pytest.mark.guarantee("G2")
async def test_what_the_policy_says_to_a_price_and_which_answer_was_not_understood_are_told(
    server: CodingServer,
) -> None:
    run_id = await server.began(example="dear")
    asked = await server.until_it_waits(run_id)
    while asked["open_price"] is None:
        asked = await _answered(server, run_id, "Whatever you think.")
    assert asked["price_rules"] == {"auto_proceed_under_usd": "1", "reject_over_usd": "5"}
    assert asked["asked"]["not_understood"] is None
    again = await _answered(server, run_id, "maybe")
    assert again["asked"] == {
        "question": f"That was not understood: 'maybe'\n\n{asked['asked']['question']}",
        "kind": "price",
        "not_understood": "'maybe'",
    }
    ended = await _answered(server, run_id, "no")
    assert ended["other_steps"] == ended["conclusion"]["next_steps"] != []


@pytest.mark.thorough
@pytest.mark.guarantee("G4", "G8", "G9")
@pytest.mark.timeout(120)
async def test_an_example_is_built_round_by_round_and_accepted(server: CodingServer) -> None:
    ended = await server.played("accepted")
    run_id = ended["run_id"]
    folder = server.home.resolve() / "examples" / run_id
    assert (ended["outcome"], ended["conclusion"]["kind"]) == ("completed", "succeeded")
    assert ended["repository"] == str(folder)
    assert any(f"session accept {run_id}" in step for step in ended["conclusion"]["next_steps"])
    assert ended["other_steps"] == []  # for the rest there are requests
    assert all(one["is_met"] for one in ended["conclusion"]["criteria"])
    first, second = ended["rounds"]
    assert first["issues"][0]["gravity"] == "critical"
    assert first["tests"][0]["are_green"]
    assert second["open_issues"] == []
    commits = [one["commit"] for one in ended["commits"]]
    assert commits == [first["commit"], second["commit"]]
    diff = (await server.me.get(f"/api/coding/{run_id}/diff", params={"round": 2})).json()
    assert diff["text"] == git(folder, "diff-tree", "-r", "-p", "-M", *commits) + "\n"
    before = git(folder, "rev-parse", "main")
    accepted = (await server.me.post(f"/api/coding/{run_id}/accept")).json()
    assert (accepted["branch"], accepted["is_fast_forward"]) == ("main", True)
    assert git(folder, "rev-parse", "main") == accepted["commit"] != before
    assert (await server.session(run_id))["standing"] == "accepted"


@pytest.mark.guarantee("G2")
async def test_up_to_which_price_nobody_is_asked_is_on_record(server: CodingServer, repository: Path) -> None:
    assert await proposed(server, repository, yes_under_usd=2.5)
    given = {"intent": "Make it better.", "repository": str(repository), "model": "example:vague"}
    run_id = await server.began(None, **given, yes_under_usd="2.50")
    await server.until_it_waits(run_id)
    facts = [fact.payload for fact in await server.store.record(run_id)]
    opened = next(one for one in facts if isinstance(one, SessionOpened))
    assert opened.yes_under_usd == Decimal("2.50")


async def test_an_example_that_cannot_begin_leaves_nothing_behind(tmp_path: Path) -> None:
    class Full(MemoryStore):
        async def append(self, *facts: Any, **more: Any) -> Any:
            raise StoreError("The disk is full")

    async with coding_server(tmp_path / "home", store=Full()) as server:
        answer = await server.me.post("/api/coding", json={"example": "vague"})
        assert answer.status_code == 503
    assert list((tmp_path / "home" / "examples").iterdir()) == []


async def test_a_session_that_has_not_begun_to_work_has_no_work(server: CodingServer) -> None:
    agent = Agent(name=CODING, model=ScriptedModel("Done."))
    recorder = new_recorder(agent, "Better.", time=1.0, user="me", run_id="run_1")
    await server.store.append(recorder.facts)
    told = await server.session("run_1")
    assert (told["phase"], told["repository"], told["standing"]) == ("specify", "", None)
    assert "has not begun to work" in told["repository_problem"]
    answer = await server.me.get("/api/coding/run_1/diff")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "repository")


async def test_a_session_is_followed_and_cancelled_as_every_run(server: CodingServer) -> None:
    run_id = await server.began(example="vague")
    await server.until_it_waits(run_id)
    assert (await server.me.post(f"/api/runs/{run_id}/cancel")).json()["is_done"]
    ended = await server.until_it_waits(run_id)
    assert (ended["outcome"], ended["conclusion"]["kind"]) == ("cancelled", "cancelled")
    stream = (await server.me.get(f"/api/runs/{run_id}/stream")).text
    assert '"type":"done"' in stream.replace(" ", "")


async def test_a_price_that_nobody_knows_is_null_and_a_small_one_is_written_out() -> None:
    price = PriceGiven(
        cycle=1,
        price_usd=Decimal("1E-7"),
        tokens=1,
        model_calls=1,
        minutes=1.0,
        why="",
        verdict=PriceVerdict.ASK,
    )
    assert PriceShape.model_validate(price).price_usd == "0.0000001"


async def test_other_runs_are_no_sessions(server: CodingServer) -> None:
    asked = await server.me.post("/api/oracle/query", json={"query": "Why?", "project": "."})
    run_id = asked.headers["x-run-id"]
    assert (await server.me.get("/api/coding")).json() == []
    answer = await server.me.get(f"/api/coding/{run_id}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_run")
    assert "no coding session" in answer.json()["error"]["what"]


async def test_sessions_are_listed_newest_first_and_no_more_than_wanted(
    server: CodingServer, repository: Path
) -> None:
    for number in (1, 2):
        await server.left(repository, [], run_id=f"run_{number}")
    listed = (await server.me.get("/api/coding")).json()
    assert [one["run_id"] for one in listed] == ["run_2", "run_1"]
    assert len((await server.me.get("/api/coding", params={"limit": 1})).json()) == 1
