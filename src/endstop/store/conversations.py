"""Conversations: opened, branched, read, deleted. Runs are entered by the appends that begin them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from endstop.errors import UnknownRunError
from endstop.ports import Conversation
from endstop.store import schema_names as names
from endstop.store.appending import unknown_conversation
from endstop.store.reading import VALUES_AT_ONCE, marks
from endstop.store.rows import CONVERSATION_COLUMNS, conversation_of, conversation_row
from endstop.store.session import Session
from endstop.store.texts import stored

_COLUMNS = ", ".join(CONVERSATION_COLUMNS)
_SELECT = f"SELECT {_COLUMNS} FROM {names.CONVERSATIONS}"


def read_conversation(session: Session, conversation_id: str) -> Conversation:
    rows = session.rows(f"{_SELECT} WHERE id = ?", (stored(conversation_id),))
    if not rows:
        raise unknown_conversation(conversation_id)
    return _with_runs(session, rows)[0]


def read_conversations(session: Session, *, user: str | None, most: int) -> list[Conversation]:
    where, values = ("", ()) if user is None else (" WHERE user_name = ?", (stored(user),))
    rows = session.rows(f"{_SELECT}{where} ORDER BY created_at DESC, id DESC LIMIT ?", (*values, most))
    return _with_runs(session, rows)


def write_conversation(session: Session, conversation: Conversation) -> Conversation:
    """Keep a new conversation, with the runs it shares with another."""
    row = conversation_row(conversation)
    is_new = session.changed(
        f"INSERT INTO {names.CONVERSATIONS} ({_COLUMNS}, run_count) VALUES ({marks(row)}, ?)"
        " ON CONFLICT (id) DO NOTHING",
        (*row, len(conversation.run_ids)),
    )
    for position, run_id in enumerate(conversation.run_ids if is_new else ()):
        session.run(
            f"INSERT INTO {names.CONVERSATION_RUNS} (conversation_id, position, run_id) VALUES (?, ?, ?)",
            (row[0], position, stored(run_id)),
        )
    return conversation


def write_branch(
    session: Session, origin_id: str, after_run: str, *, branch_id: str, created_at: float
) -> Conversation:
    origin = read_conversation(session, origin_id)
    if after_run not in origin.run_ids:
        raise UnknownRunError(
            f"There is no run {after_run!r} in the conversation {origin_id!r}",
            allowed=", ".join(origin.run_ids[-10:]) or "none: it has no runs yet",
            to_do="Branch after one of its runs",
        )
    shared = origin.run_ids[: origin.run_ids.index(after_run) + 1]
    branch = replace(origin, id=branch_id, created_at=created_at, run_ids=shared, branch_of=origin_id)
    return write_conversation(session, branch)


def delete_conversation(session: Session, conversation_id: str) -> None:
    read_conversation(session, conversation_id)
    key = (stored(conversation_id),)
    session.run(f"UPDATE {names.RUNS} SET conversation_id = NULL WHERE conversation_id = ?", key)
    session.run(f"UPDATE {names.CONVERSATIONS} SET branch_of = NULL WHERE branch_of = ?", key)
    session.run(f"DELETE FROM {names.CONVERSATION_RUNS} WHERE conversation_id = ?", key)
    session.run(f"DELETE FROM {names.CONVERSATIONS} WHERE id = ?", key)


def _with_runs(session: Session, rows: Sequence[Sequence[Any]]) -> list[Conversation]:
    run_ids: dict[str, list[str]] = {row[0]: [] for row in rows}
    keys = list(run_ids)
    for start in range(0, len(keys), VALUES_AT_ONCE):
        some = keys[start : start + VALUES_AT_ONCE]
        found = session.rows(
            f"SELECT conversation_id, run_id FROM {names.CONVERSATION_RUNS}"
            f" WHERE conversation_id IN ({marks(some)}) ORDER BY conversation_id, position",
            some,
        )
        for conversation_id, run_id in found:
            run_ids[conversation_id].append(run_id)
    return [conversation_of(row, run_ids[row[0]]) for row in rows]
