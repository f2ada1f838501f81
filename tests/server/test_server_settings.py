"""Settings over the API: partial, strict, all or nothing, each user's own (I3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from statistics import quantiles
from time import perf_counter
from typing import Any

import pytest
from small_server import SmallServer, small_server

from endstop.kernel.settings import DEFAULT_SETTINGS, SETTING_BOUNDS
from endstop.store import open_store
from endstop.testing import MemoryStore

URL = "/api/settings/agent-config"
DEFAULTS = DEFAULT_SETTINGS.to_values()
COUNTS = [name for name in SETTING_BOUNDS if name != "cost_limit_usd"]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[SmallServer]:
    async with small_server(tmp_path) as made:
        yield made


async def test_somebody_who_has_set_nothing_has_the_defaults(server: SmallServer) -> None:
    answer = await server.me.get(URL)
    assert (answer.status_code, answer.json()) == (200, DEFAULTS)


@pytest.mark.guarantee("I3")
async def test_a_partial_change_leaves_the_rest_and_is_kept(server: SmallServer) -> None:
    changed = await server.me.put(URL, json={"max_iterations": 10})
    assert changed.json() == {**DEFAULTS, "max_iterations": 10}
    await server.me.put(URL, json={"cost_limit_usd": "0.50"})
    assert (await server.me.get(URL)).json() == {**DEFAULTS, "max_iterations": 10, "cost_limit_usd": "0.5"}


async def test_what_was_given_by_get_can_be_put_back(server: SmallServer) -> None:
    assert (await server.me.put(URL, json=DEFAULTS)).status_code == 200


async def test_nothing_at_all_changes_nothing(server: SmallServer) -> None:
    assert (await server.me.put(URL, json={})).json() == DEFAULTS


async def test_a_setting_that_was_never_set_follows_the_default(server: SmallServer) -> None:
    await server.me.put(URL, json={"max_iterations": 10})
    assert dict(await server.store.settings("me")) == {"max_iterations": 10}


@pytest.mark.guarantee("I3")
@pytest.mark.parametrize("name", COUNTS)
async def test_both_bounds_are_allowed_and_one_further_is_not(server: SmallServer, name: str) -> None:
    bounds = SETTING_BOUNDS[name]
    smallest, largest = int(bounds.smallest), int(bounds.largest)
    for value, status in ((smallest, 200), (largest, 200), (smallest - 1, 422), (largest + 1, 422)):
        answer = await server.me.put(URL, json={name: value})
        assert answer.status_code == status
    assert (await server.me.get(URL)).json()[name] == largest


@pytest.mark.guarantee("I3", "I7")
async def test_a_refusal_names_field_value_and_bounds(server: SmallServer) -> None:
    answer = await server.me.put(URL, json={"max_iterations": 101})
    assert answer.status_code == 422
    assert answer.json()["error"] == {
        "code": "invalid_value",
        "what": "max_iterations is 101",
        "allowed": "a whole number from 1 to 100",
        "to_do": "Use a value that is allowed",
        "field": "max_iterations",
        "value": 101,
        "bounds": {"smallest": 1, "largest": 100},
    }


@pytest.mark.guarantee("I3")
@pytest.mark.parametrize("wrong", [True, False, "10", 10.0, 10.5, None, [10], {}, 1e400, -1, 10**30])
async def test_only_a_whole_number_is_one_and_nothing_is_saved_beside_it(
    server: SmallServer, wrong: object
) -> None:
    body = _json({"token_budget": 5_000, "max_iterations": wrong})
    answer = await server.me.put(URL, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == "max_iterations"
    assert (await server.me.get(URL)).json() == DEFAULTS


@pytest.mark.parametrize(
    ("given", "kept"),
    [("0.01", "0.01"), ("1000", "1000"), (0.5, "0.5"), (3, "3"), (None, None)],
)
async def test_money_may_be_text_or_a_number_or_nothing(
    server: SmallServer, given: object, kept: str | None
) -> None:
    assert (await server.me.put(URL, json={"cost_limit_usd": given})).json()["cost_limit_usd"] == kept


@pytest.mark.parametrize("wrong", [True, "0.009", "1000.01", "much", "NaN", "Infinity", -1, 0, [], "9" * 999])
async def test_other_money_is_refused_with_its_bounds(server: SmallServer, wrong: object) -> None:
    error = (await server.me.put(URL, json={"cost_limit_usd": wrong})).json()["error"]
    assert (error["field"], error["bounds"]) == ("cost_limit_usd", {"smallest": "0.01", "largest": "1000"})


async def test_an_unknown_setting_is_refused_with_the_one_that_was_meant(server: SmallServer) -> None:
    answer = await server.me.put(URL, json={"max_iteration": 3})
    assert answer.status_code == 422
    assert answer.json()["error"]["to_do"] == "Did you mean max_iterations?"


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"null", b"7", b"{", b'"max_iterations"', b"\xff\xfe", b"[" * 9_999]
)
async def test_a_body_that_is_no_object_is_refused(server: SmallServer, body: bytes) -> None:
    answer = await server.me.put(URL, content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert set(answer.json()["error"]) >= {"code", "what", "allowed", "to_do"}


async def test_resetting_forgets_all_that_was_set(server: SmallServer) -> None:
    await server.me.put(URL, json={"max_iterations": 10, "timeout_seconds": 60})
    assert (await server.me.post(f"{URL}/reset")).json() == DEFAULTS
    assert dict(await server.store.settings("me")) == {}


@pytest.mark.guarantee("I6")
async def test_each_user_has_settings_of_their_own(server: SmallServer) -> None:
    await server.me.put(URL, json={"max_iterations": 10})
    await server.other.put(URL, json={"max_iterations": 20})
    await server.other.post(f"{URL}/reset")
    assert (await server.me.get(URL)).json()["max_iterations"] == 10
    assert (await server.other.get(URL)).json()["max_iterations"] == 30


@pytest.mark.guarantee("I6")
@pytest.mark.parametrize(
    ("method", "path"), [("GET", ""), ("PUT", ""), ("POST", "/reset"), ("GET", "/bounds")]
)
async def test_nobody_gets_nothing(server: SmallServer, method: str, path: str) -> None:
    answer = await server.nobody.request(method, f"{URL}{path}", json={})
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "access_denied")


async def test_the_bounds_are_told_with_the_defaults(server: SmallServer) -> None:
    told = (await server.me.get(f"{URL}/bounds")).json()
    assert list(told) == list(SETTING_BOUNDS)
    assert told["max_iterations"] == {"default": 30, "smallest": 1, "largest": 100}
    assert told["cost_limit_usd"] == {"default": None, "smallest": "0.01", "largest": "1000"}


class SlowStore(MemoryStore):
    """Reads settings slowly, so that changes made at once get in each other's way if they can."""

    async def settings(self, user: str) -> Any:
        read = await super().settings(user)
        await asyncio.sleep(0.001)
        return read


async def test_partial_changes_at_once_do_not_undo_each_other(tmp_path: Path) -> None:
    values = {name: int(SETTING_BOUNDS[name].smallest) for name in COUNTS}
    async with small_server(tmp_path, store=SlowStore()) as server:
        await asyncio.gather(*(server.me.put(URL, json={name: value}) for name, value in values.items()))
        assert (await server.me.get(URL)).json() == {**DEFAULTS, **values}


@pytest.mark.guarantee("I3")
async def test_a_save_takes_under_100_ms_on_a_real_database(tmp_path: Path) -> None:
    store: Any = await open_store(f"sqlite:///{tmp_path / 'endstop.db'}")
    try:
        async with small_server(tmp_path, store=store) as server:
            took: list[float] = []
            for turn in range(100):
                began = perf_counter()
                answer = await server.me.put(URL, json={"max_iterations": turn + 1})
                took.append(perf_counter() - began)
                assert answer.status_code == 200
    finally:
        await store.close()
    assert quantiles(took, n=100)[94] < 0.1


def _json(document: dict[str, object]) -> str:
    """As Python writes it, infinity and all."""
    import json

    return json.dumps(document)
