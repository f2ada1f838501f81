"""What can be asked of a server: method, path and body of each call. Nothing is sent here.

Both clients, the one that waits and the one that does not, send what stands here; so they cannot differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict
from urllib.parse import quote

Method = Literal["GET", "POST", "PUT", "DELETE"]
Decision = Literal["approved", "needs_changes", "rejected"]
Document = dict[str, Any]
"""What the server answers with, as it is written in its OpenAPI description."""


class Grant(TypedDict, total=False):
    """More budget: how much of what."""

    turns: int
    model_calls: int
    tokens: int
    cost_usd: str
    seconds: float


class Settings(TypedDict):
    """The eight settings of a user. Money is text, or None for no limit."""

    max_iterations: int
    soft_warning_percent: int
    token_budget: int
    token_warning_percent: int
    timeout_seconds: int
    max_tool_calls_per_turn: int
    max_parallel_tools: int
    cost_limit_usd: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request."""

    method: Method = "GET"
    path: str
    query: Mapping[str, Any] = field(default_factory=dict[str, Any])
    body: Mapping[str, Any] | None = None


_SETTINGS = "/api/settings/agent-config"


def ask(query: str, options: Mapping[str, Any]) -> Call:
    return Call(method="POST", path="/api/oracle/query", body=_given(query=query, **options))


def stream(run_id: str) -> Call:
    return Call(path=f"{_run(run_id)}/stream")


def runs(filters: Mapping[str, Any]) -> Call:
    return Call(path="/api/runs", query=_given(**filters))


def run(run_id: str, part: str = "") -> Call:
    return Call(path=_run(run_id) + (f"/{part}" if part else ""))


def cancel(run_id: str, *, after_turn: bool) -> Call:
    return Call(method="POST", path=f"{_run(run_id)}/cancel", body={"after_turn": after_turn})


def resume(run_id: str, *, grant: Grant | None, answer: str | None) -> Call:
    return Call(method="POST", path=f"{_run(run_id)}/resume", body=_given(grant=grant, answer=answer))


def answer(run_id: str, text: str) -> Call:
    return Call(method="POST", path=f"{_run(run_id)}/answer", body={"answer": text})


def reviews() -> Call:
    return Call(path="/api/reviews")


def review(run_id: str, review_id: str) -> Call:
    return Call(path=_review(run_id, review_id))


def decide(run_id: str, review_id: str, decision: Decision, options: Mapping[str, Any]) -> Call:
    path = f"{_review(run_id, review_id)}/decide"
    return Call(method="POST", path=path, body=_given(decision=decision, **options))


def conversations() -> Call:
    return Call(path="/api/conversations")


def conversation(conversation_id: str) -> Call:
    return Call(path=_conversation(conversation_id))


def delete_conversation(conversation_id: str) -> Call:
    return Call(method="DELETE", path=_conversation(conversation_id))


def settings() -> Call:
    return Call(path=_SETTINGS)


def change_settings(values: Mapping[str, Any]) -> Call:
    return Call(method="PUT", path=_SETTINGS, body=values)


def reset_settings() -> Call:
    return Call(method="POST", path=f"{_SETTINGS}/reset")


def models() -> Call:
    return Call(path="/api/models")


def trees() -> Call:
    return Call(path="/api/trees")


def tree(name: str) -> Call:
    return Call(path=f"/api/trees/{quote(name, safe='')}")


def check_tree(text: str, *, name: str | None) -> Call:
    return Call(method="POST", path="/api/trees/check", body=_given(text=text, name=name))


def bound(options: Mapping[str, Any]) -> Call:
    return Call(method="POST", path="/api/bound", body=_given(**options))


def _run(run_id: str) -> str:
    return f"/api/runs/{quote(run_id, safe='')}"


def _review(run_id: str, review_id: str) -> str:
    return f"/api/reviews/{quote(run_id, safe='')}/{quote(review_id, safe='')}"


def _conversation(conversation_id: str) -> str:
    return f"/api/conversations/{quote(conversation_id, safe='')}"


def _given(**values: Any) -> dict[str, Any]:
    """Without what was left out."""
    return {name: value for name, value in values.items() if value is not None}
