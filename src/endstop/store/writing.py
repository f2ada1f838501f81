"""What is written beside records: heartbeats, requests to cancel, settings. Twice does no harm."""

from __future__ import annotations

from collections.abc import Collection

from endstop.ports import CancelAsked
from endstop.store import schema_names as names
from endstop.store.reading import VALUES_AT_ONCE, marks, require_run
from endstop.store.session import Session
from endstop.store.texts import stored


def write_beat(session: Session, owner: str, run_ids: Collection[str], *, at: float) -> None:
    """Only for runs that nobody else has taken on: one that woke up late does not get a run back by this."""
    keys = sorted(stored(run_id) for run_id in run_ids)
    for start in range(0, len(keys), VALUES_AT_ONCE):
        some = keys[start : start + VALUES_AT_ONCE]
        session.run(
            f"UPDATE {names.RUNS} SET owner = ?, beat_at = ?"
            f" WHERE run_id IN ({marks(some)}) AND (owner IS NULL OR owner = ?)",
            (stored(owner), at, *some, stored(owner)),
        )


def write_cancel(session: Session, asked: CancelAsked) -> None:
    """A request to end at once stands above one to end after the turn, whichever came first."""
    require_run(session, asked.run_id)
    session.run(
        f"INSERT INTO {names.CANCELS} (run_id, asked_by, after_turn) VALUES (?, ?, ?)"
        " ON CONFLICT (run_id) DO UPDATE SET asked_by = excluded.asked_by, after_turn = excluded.after_turn"
        f" WHERE excluded.after_turn <= {names.CANCELS}.after_turn",
        (stored(asked.run_id), stored(asked.by), int(asked.after_turn)),
    )


def write_settings(session: Session, user: str, chosen: str) -> None:
    session.run(
        f"INSERT INTO {names.SETTINGS} (user_name, chosen) VALUES (?, ?)"
        " ON CONFLICT (user_name) DO UPDATE SET chosen = excluded.chosen",
        (stored(user), chosen),
    )
