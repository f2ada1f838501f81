"""The server does what its own description says: no 500, no answer that is not described (I7).

schemathesis makes up requests from the description, sound ones and broken ones. ``ENDSTOP_API_EXAMPLES`` says
how many for each operation and kind.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, checks

from endstop.app import make_agent
from endstop.kernel.budget import Budget
from endstop.loop.agent import OnLimit
from endstop.server.description import describe
from endstop.server.questions import Wanted
from endstop.testing import ScriptedModel, calls, echo_tool
from served import Served, served

ROOT = Path(__file__).parents[2]
EXAMPLES = int(os.environ.get("ENDSTOP_API_EXAMPLES", "12"))
DESCRIPTION: dict[str, Any] = json.loads((ROOT / "schemas" / "openapi.json").read_text(encoding="utf-8"))
WHO: list[dict[str, list[str]]] = [{"token": []}, {"cookie": [], "key": []}]
ENDLESS = "GET /api/notifications/stream"
"""It never ends by itself: it has tests of its own."""
THEIRS: Any = checks
CHECKS = [
    THEIRS.not_a_server_error,
    THEIRS.status_code_conformance,
    THEIRS.content_type_conformance,
    THEIRS.response_headers_conformance,
    THEIRS.response_schema_conformance,
]
NO_HEALTH_CHECKS: Any = list(HealthCheck)
LOADED: Any = schemathesis.openapi.from_dict(DESCRIPTION)
OPERATIONS: dict[str, Any] = {
    operation.label: operation for operation in (found.ok() for found in LOADED.get_all_operations())
}


def scripted(wanted: Wanted) -> Any:
    """An agent that answers at once; under review if that was asked for."""
    model = ScriptedModel(calls("echo", text="x"), calls("echo", text="y"), "Here it is.")
    budget = Budget(turns=1 if wanted.on_limit == "review" else 5, tool_calls_per_turn=5)
    return make_agent(
        model=model, tools=[echo_tool()], budget=budget, on_limit=OnLimit(wanted.on_limit), name="scripted"
    )


class Caller:
    """Calls the server, and knows names of things that are there."""

    def __init__(self, server: Served) -> None:
        self.server = server
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.headers["Authorization"] = f"Bearer {server.token()}"
        self.known = self._things()

    def call(self, case: Any) -> None:
        """Send a request that was made up, and hold the answer against the description."""
        case.call_and_validate(
            base_url=self.server.url, session=self.session, checks=CHECKS, timeout=20, allow_redirects=False
        )

    def _things(self) -> dict[str, list[str]]:
        """A run that has ended, one under review, and their conversations."""
        found: dict[str, list[str]] = {"name": ["oracle-agent"], "run_id": [], "conversation_id": []}
        found["token_id"] = []  # a token, which is what calls here, has nothing to do with tokens
        for on_limit in ("finish", "review"):
            answer = self.session.post(
                f"{self.server.url}/api/oracle/query",
                json={"query": "why?", "on_limit": on_limit},
                timeout=20,
            )
            assert answer.status_code == 200, answer.text
            found["run_id"].append(answer.headers["x-run-id"])
            found["conversation_id"].append(answer.headers["x-conversation-id"])
        reviews = self.session.get(f"{self.server.url}/api/reviews", timeout=20).json()
        found["review_id"] = [one["review_id"] for one in reviews]
        assert found["review_id"]
        return found


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Generator[Caller]:
    with served(tmp_path_factory.mktemp("home"), make_agent=scripted) as server:
        made = Caller(server)
        yield made
        made.session.close()


def _can_be_broken(label: str) -> bool:
    """Whether it takes anything that can be wrong."""
    method, path = label.split()
    described = DESCRIPTION["paths"][path][method.lower()]
    return "requestBody" in described or any(one["in"] != "path" for one in described.get("parameters", ()))


SOUND = [(label, GenerationMode.POSITIVE) for label in OPERATIONS if label != ENDLESS]
BROKEN = [(label, GenerationMode.NEGATIVE) for label, _ in SOUND if _can_be_broken(label)]


@pytest.mark.guarantee("I7")
@pytest.mark.timeout(30 + EXAMPLES * 3)
@pytest.mark.parametrize(
    ("label", "mode"), [*SOUND, *BROKEN], ids=[f"{label} {mode.value}" for label, mode in [*SOUND, *BROKEN]]
)
def test_an_operation_answers_as_it_is_described(label: str, mode: GenerationMode, caller: Caller) -> None:
    operation = OPERATIONS[label]

    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=NO_HEALTH_CHECKS)
    @given(case=operation.as_strategy(generation_mode=mode), which=st.integers(0, 2))
    def answers(case: Any, which: int) -> None:
        named: dict[str, Any] = case.path_parameters or {}
        for name in named:
            there = caller.known[name]
            if which < len(there):  # a name of something that is there, most of the time
                named[name] = there[which]
        caller.call(case)

    answers()


def test_the_server_gives_the_description_that_is_kept(caller: Caller) -> None:
    assert caller.session.get(f"{caller.server.url}/openapi.json", timeout=20).json() == DESCRIPTION


def test_the_description_is_complete_however_often_it_is_asked_for(caller: Caller) -> None:
    server = describe(describe(caller.server.asgi))
    assert server.openapi() == server.openapi() == DESCRIPTION


def test_the_description_that_is_kept_is_the_one_the_server_gives() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "openapi.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


DESCRIBED = [
    (path, method, described)
    for path, methods in DESCRIPTION["paths"].items()
    for method, described in methods.items()
]


@pytest.mark.parametrize(
    ("path", "method", "described"), DESCRIBED, ids=[f"{m} {p}" for p, m, _ in DESCRIBED]
)
def test_an_operation_is_described_in_words_with_its_errors(
    path: str, method: str, described: dict[str, Any]
) -> None:
    assert described["summary"]
    assert described["description"]
    for status, answer in described["responses"].items():
        assert answer["description"]
        if status >= "400":
            assert answer["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Problem"}
    assert {"400", "403", "408", "413"} <= set(described["responses"])
    if path.startswith("/api"):
        assert "401" in described["responses"]
        assert described.get("security") == (None if path == "/api/session" and method == "post" else WHO)
    if "requestBody" in described:
        assert "422" in described["responses"]


def test_bodies_have_examples() -> None:
    without = [
        name
        for name, schema in DESCRIPTION["components"]["schemas"].items()
        if name in ("Query", "Decide", "SettingsChange", "PlannedQuery", "TreeText", "Problem")
        and not (schema.get("examples") or schema.get("example"))
    ]
    assert without == []
