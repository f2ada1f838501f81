"""Queries: records, runs, reviews, grants, cancel requests, settings."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import cast

from endstop.errors import UnknownRunError
from endstop.events.codec import decode
from endstop.events.facts import Fact
from endstop.kernel.review import RunPhase
from endstop.ports import CancelAsked, StoredGrant, StoredReview, StoredRun
from endstop.store import schema_names as names
from endstop.store.rows import (
    GRANT_COLUMNS,
    REVIEW_COLUMNS,
    RUN_COLUMNS,
    cancel_of,
    grant_of,
    review_of,
    run_of,
)
from endstop.store.session import Session
from endstop.store.texts import stored

NO_LIMIT = 2**62
VALUES_AT_ONCE = 500
"""The most values in one list of a statement: databases allow only so many."""

_WILD = re.compile("[!%_]")
_RUNS = f"SELECT {', '.join(RUN_COLUMNS)} FROM {names.RUNS}"
_REVIEWS = f"SELECT {', '.join(REVIEW_COLUMNS)} FROM {names.REVIEWS}"
_GRANTS = f"SELECT {', '.join(GRANT_COLUMNS)} FROM {names.GRANTS} WHERE run_id = ? ORDER BY seq"


def unknown_run(run_id: str) -> UnknownRunError:
    return UnknownRunError(f"There is no run {run_id!r}", to_do="List the runs there are with endstop runs")


def require_run(session: Session, run_id: str) -> None:
    if not session.rows(f"SELECT 1 FROM {names.RUNS} WHERE run_id = ?", (stored(run_id),)):
        raise unknown_run(run_id)


def read_facts(session: Session, run_id: str, *, after: int, most: int | None) -> list[Fact]:
    lines = session.lines(stored(run_id), after=after, most=NO_LIMIT if most is None else most)
    if not lines:
        require_run(session, run_id)
    facts = [decode(line) for line in lines]
    facts.sort(key=lambda fact: fact.seq)  # they are in order already; no database promises it
    return facts


def read_run(session: Session, run_id: str) -> StoredRun:
    rows = session.rows(f"{_RUNS} WHERE run_id = ?", (stored(run_id),))
    if not rows:
        raise unknown_run(run_id)
    return run_of(rows[0])


def read_runs(
    session: Session,
    *,
    user: str | None,
    project: str | None,
    phases: Collection[RunPhase],
    agent: str | None,
    text: str | None,
    ending: str | None,
    most: int,
    before: float | None,
    before_run: str | None,
) -> list[StoredRun]:
    conditions: list[str] = []
    values: list[object] = []
    for column, sought in (("user_name", user), ("project", project), ("agent", agent)):
        if sought is not None:
            conditions.append(f"{column} = ?")
            values.append(stored(sought))
    if text is not None:
        conditions.append("LOWER(question) LIKE LOWER(CAST(? AS TEXT)) ESCAPE '!'")
        values.append("%" + _WILD.sub(r"!\g<0>", stored(text)) + "%")
    if ending is not None:
        conditions.append("SUBSTR(ending, 1, ?) = ?")
        values.extend((len(stored(ending)), stored(ending)))
    if phases:
        conditions.append(f"phase IN ({marks(phases)})")
        values.extend(phase.value for phase in phases)
    if before is not None and before_run is not None:
        conditions.append("(started_at < ? OR (started_at = ? AND run_id < ?))")
        values.extend((before, before, stored(before_run)))
    elif before is not None:
        conditions.append("started_at < ?")
        values.append(before)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    rows = session.rows(f"{_RUNS}{where} ORDER BY started_at DESC, run_id DESC LIMIT ?", (*values, most))
    return [run_of(row) for row in rows]


def read_reviews(
    session: Session, *, run_id: str | None, user: str | None, is_open: bool | None
) -> list[StoredReview]:
    conditions: list[str] = []
    values: list[object] = []
    if run_id is not None:
        conditions.append("run_id = ?")
        values.append(stored(run_id))
    if user is not None:
        conditions.append(f"run_id IN (SELECT run_id FROM {names.RUNS} WHERE user_name = ?)")
        values.append(stored(user))
    if is_open is not None:
        conditions.append(f"decision IS {'' if is_open else 'NOT '}NULL")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    rows = session.rows(f"{_REVIEWS}{where} ORDER BY requested_at DESC, run_id DESC, review_id DESC", values)
    return [review_of(row) for row in rows]


def read_notices(
    session: Session, user: str, *, types: Collection[str], since: float, most: int
) -> list[Fact]:
    rows = session.rows(
        f"SELECT f.line FROM {names.FACTS} f JOIN {names.RUNS} r ON r.run_id = f.run_id"
        f" WHERE r.user_name = ? AND r.changed_at >= ? AND f.time >= ? AND f.type IN ({marks(types)})"
        " ORDER BY f.time, f.run_id, f.seq LIMIT ?",
        (stored(user), since, since, *types, most),
    )
    return [decode(row[0]) for row in rows]


def read_grants(session: Session, run_id: str) -> list[StoredGrant]:
    rows = session.rows(_GRANTS, (stored(run_id),))
    if not rows:
        require_run(session, run_id)
    return [grant_of(row) for row in rows]


def read_cancels(session: Session, run_ids: Collection[str]) -> list[CancelAsked]:
    keys = [stored(run_id) for run_id in run_ids]
    found: list[CancelAsked] = []
    for start in range(0, len(keys), VALUES_AT_ONCE):
        some = keys[start : start + VALUES_AT_ONCE]
        rows = session.rows(
            f"SELECT run_id, asked_by, after_turn FROM {names.CANCELS} WHERE run_id IN ({marks(some)})", some
        )
        found.extend(cancel_of(row) for row in rows)
    return found


def read_settings(session: Session, user: str) -> Mapping[str, object]:
    rows = session.rows(f"SELECT chosen FROM {names.SETTINGS} WHERE user_name = ?", (stored(user),))
    return cast("dict[str, object]", json.loads(rows[0][0])) if rows else {}


def marks(values: Collection[object]) -> str:
    """As many question marks as there are values."""
    return ", ".join("?" * len(values))
