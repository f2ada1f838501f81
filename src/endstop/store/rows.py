"""Rows of the tables, made from what the port speaks of, and read back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from endstop.events.index import RunIndex
from endstop.events.plain import read, written
from endstop.kernel.review import Review, RunPhase
from endstop.ports import CancelAsked, Conversation, StoredGrant, StoredReview, StoredRun
from endstop.store.texts import restored, restored_or_none, stored, stored_or_none

_MOST_COUNTED = 2**63 - 1
"""The largest number a column holds. Nobody uses that many tokens; somebody may report them."""

INDEX_COLUMNS = (
    *("run_id", "phase", "user_name", "project", "agent", "model", "question", "facts", "turns", "tokens"),
    *("cost_usd", "started_at", "changed_at", "ended_at", "ending", "exit_code"),
)
"""What is worked out from the facts of a run."""

RUN_COLUMNS = (*INDEX_COLUMNS, "conversation_id", "owner", "beat_at")
REVIEW_COLUMNS = ("run_id", "review", "requested_at", "decision", "decided_by", "decided_at")
GRANT_COLUMNS = ("run_id", "seq", "given_by", "why", "amounts", "granted_at")
CONVERSATION_COLUMNS = ("id", "user_name", "project", "title", "created_at", "branch_of")


def index_row(run: RunIndex) -> tuple[object, ...]:
    """What is known of a run, as ``INDEX_COLUMNS``."""
    return (
        stored(run.run_id),
        run.phase.value,
        stored_or_none(run.user),
        stored_or_none(run.project),
        stored(run.agent),
        stored(run.model),
        stored(run.question),
        run.facts,
        run.turns,
        min(run.tokens, _MOST_COUNTED),
        None if run.cost_usd is None else str(run.cost_usd),
        run.started_at,
        run.changed_at,
        run.ended_at,
        stored_or_none(run.ending),
        run.exit_code,
    )


def index_of(row: Sequence[Any]) -> RunIndex:
    return RunIndex(**_index_fields(row))


def run_of(row: Sequence[Any]) -> StoredRun:
    """A run from ``RUN_COLUMNS``."""
    conversation_id, owner, beat_at = row[len(INDEX_COLUMNS) :]
    return StoredRun(
        **_index_fields(row),
        conversation_id=restored_or_none(conversation_id),
        owner=restored_or_none(owner),
        beat_at=beat_at,
    )


def _index_fields(row: Sequence[Any]) -> dict[str, Any]:
    cost = row[10]
    return {
        "run_id": restored(row[0]),
        "phase": RunPhase(row[1]),
        "user": restored_or_none(row[2]),
        "project": restored_or_none(row[3]),
        "agent": restored(row[4]),
        "model": restored(row[5]),
        "question": restored(row[6]),
        "facts": row[7],
        "turns": row[8],
        "tokens": row[9],
        "cost_usd": None if cost is None else Decimal(cost),
        "started_at": row[11],
        "changed_at": row[12],
        "ended_at": row[13],
        "ending": restored_or_none(row[14]),
        "exit_code": row[15],
    }


def review_text(review: Review) -> str:
    return json.dumps(written(review), separators=(",", ":"))


def review_of(row: Sequence[Any]) -> StoredReview:
    """A review from ``REVIEW_COLUMNS``."""
    run_id, text, requested_at, decision, by, decided_at = row
    return StoredReview(
        run_id=restored(run_id),
        review=read(Review, json.loads(text), "review"),
        requested_at=requested_at,
        decision=decision,
        by=restored_or_none(by),
        decided_at=decided_at,
    )


def grant_of(row: Sequence[Any]) -> StoredGrant:
    """A grant from ``GRANT_COLUMNS``."""
    run_id, seq, by, why, amounts, granted_at = row
    return StoredGrant(
        run_id=restored(run_id),
        seq=seq,
        by=restored(by),
        why=restored(why),
        amounts=MappingProxyType(json.loads(amounts)),
        granted_at=granted_at,
    )


def cancel_of(row: Sequence[Any]) -> CancelAsked:
    run_id, by, after_turn = row
    return CancelAsked(run_id=restored(run_id), by=restored(by), after_turn=bool(after_turn))


def conversation_row(conversation: Conversation) -> tuple[object, ...]:
    """A conversation as ``CONVERSATION_COLUMNS``."""
    return (
        stored(conversation.id),
        stored_or_none(conversation.user),
        stored_or_none(conversation.project),
        stored(conversation.title),
        conversation.created_at,
        stored_or_none(conversation.branch_of),
    )


def conversation_of(row: Sequence[Any], run_ids: Sequence[str]) -> Conversation:
    conversation_id, user, project, title, created_at, branch_of = row
    return Conversation(
        id=restored(conversation_id),
        user=restored_or_none(user),
        project=restored_or_none(project),
        title=restored(title),
        created_at=created_at,
        run_ids=tuple(restored(run_id) for run_id in run_ids),
        branch_of=restored_or_none(branch_of),
    )
