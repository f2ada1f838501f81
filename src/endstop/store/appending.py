"""Appends to records, many at once.

Fencing rests on the primary key of the facts: a number can be taken once, whoever comes second fails. What
is known of the runs at work is kept between appends, so that an append reads nothing; if another process
has written meanwhile, the key says so, and what was known is forgotten. All rows of all appends go in with
few statements, because between two of them a busy event loop may take the interpreter for 5 ms.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain

from endstop.errors import EndstopError, InvalidValueError, RecordTakenError, UnknownConversationError
from endstop.events.codec import encode
from endstop.events.facts import Fact
from endstop.events.index import GrantEntered, IndexEntry, ReviewClosed, ReviewOpened, RunIndex, index
from endstop.kernel.review import RunPhase
from endstop.store import schema_names as names
from endstop.store.rows import INDEX_COLUMNS, index_of, index_row, review_text
from endstop.store.session import Session
from endstop.store.texts import stored, stored_or_none

_ROWS_AT_ONCE = 64
_MOST_KNOWN = 10_000

_FACT_COLUMNS = ("run_id", "seq", "type", "time", "line")
_RUN_COLUMNS = (*INDEX_COLUMNS, "conversation_id", "owner", "beat_at")
_GROWING = (
    *("phase", "facts", "turns", "tokens", "cost_usd"),
    *("changed_at", "ended_at", "ending", "exit_code"),
)
"""The columns of a run that later appends change. Its owner changes when one is named, and is alive then."""


@dataclass(frozen=True, kw_only=True)
class Append:
    """Facts of one run that follow each other."""

    facts: Sequence[Fact]
    owner: str | None = None
    conversation_id: str | None = None

    @cached_property
    def lines(self) -> list[str]:
        """The facts as they are stored. Made by the one who writes, so that no event loop waits for it."""
        return [_line(fact) for fact in self.facts]


@dataclass(slots=True, kw_only=True)
class _Staged:
    """What the appends of this transaction make of one run."""

    run: RunIndex
    owner: str | None = None
    beat_at: float | None = None
    """When its owner appended: from the first moment on, nobody else takes the run for left."""
    conversation_id: str | None = None


class Appender:
    """Writes appends into transactions that somebody else begins and ends."""

    def __init__(self) -> None:
        self._known: dict[str, RunIndex] = {}
        self._staged: dict[str, _Staged] = {}

    def write(
        self, session: Session, appends: Iterable[Append], *, is_careful: bool = False
    ) -> list[EndstopError | None]:
        """Write them all; for each, None or why it was refused. A refused one has written nothing.

        Raises what the driver raises, such as a conflict with another process: then nothing of the
        transaction may stay. ``is_careful`` looks first, which says for sure who is to be refused.
        """
        refusals: list[EndstopError | None] = []
        rows: list[tuple[object, ...]] = []
        entries: list[tuple[str, IndexEntry]] = []
        touched: dict[str, None] = {}
        for append in appends:
            try:
                entries.extend(self._stage(session, append, is_careful=is_careful))
            except EndstopError as refusal:
                refusals.append(refusal)
                continue
            refusals.append(None)
            rows.extend(_fact_rows(append))
            touched[append.facts[0].run_id] = None
        rows.sort(key=_place)  # in one order everywhere: two processes never wait for each other in a circle
        _insert(session, names.FACTS, _FACT_COLUMNS, rows)
        runs = [_run_row(self._staged[run_id]) for run_id in sorted(touched)]
        _insert(session, names.RUNS, _RUN_COLUMNS, runs, or_else=_ELSE_UPDATE_RUN)
        for run_id, entry in entries:
            _enter(session, stored(run_id), entry)
        return refusals

    def committed(self) -> None:
        """What was written is true from now on."""
        for run_id, staged in self._staged.items():
            self._known.pop(run_id, None)
            if staged.run.phase is not RunPhase.ENDED:
                self._known[run_id] = staged.run
        self._staged.clear()
        while len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]

    def forget(self) -> None:
        """What was written was taken back, and what was known of those runs is not trusted any more."""
        for run_id in self._staged:
            self._known.pop(run_id, None)
        self._staged.clear()

    def _stage(
        self, session: Session, append: Append, *, is_careful: bool
    ) -> Iterable[tuple[str, IndexEntry]]:
        first = append.facts[0]
        run_id = first.run_id
        _ = append.lines  # what cannot be written down is refused before anything is
        staged = self._staged.get(run_id)
        before = self._before(session, first, is_careful=is_careful) if staged is None else staged.run
        if first.seq != (0 if before is None else before.facts):
            raise taken(first, 0 if before is None else before.facts)
        change = index(before, append.facts)
        if before is None and append.conversation_id is not None:
            _join(session, append.conversation_id, run_id)
        if staged is None:
            self._staged[run_id] = staged = _Staged(run=change.run, conversation_id=append.conversation_id)
        staged.run = change.run
        if append.owner:
            staged.owner, staged.beat_at = append.owner, append.facts[-1].time
        return [(run_id, entry) for entry in change.entries]

    def _before(self, session: Session, first: Fact, *, is_careful: bool) -> RunIndex | None:
        """What is known of a run, before its first append of this transaction."""
        known = None if is_careful else self._known.get(first.run_id)
        if known is not None and known.facts == first.seq:
            return known
        if known is None and first.seq == 0 and not is_careful:
            return None  # a new run, as good as always; if not, the key will say so
        rows = session.rows(_SELECT_RUN, (stored(first.run_id),))
        return index_of(rows[0]) if rows else None


def is_written(session: Session, append: Append) -> bool:
    """Whether these very facts are in the record: after a connection broke, nobody else knows."""
    first = append.facts[0]
    lines = session.lines(stored(first.run_id), after=first.seq - 1, most=len(append.lines))
    return lines == append.lines


def taken(first: Fact, following: int | None = None) -> RecordTakenError:
    """The error for facts that do not come right after the last one there is."""
    goes_on = "" if following is None else f": the record goes on with {following}"
    return RecordTakenError(
        f"Fact {first.seq} of run {first.run_id!r} cannot be added{goes_on}",
        allowed="the fact right after the last one there is",
        to_do="Another has written to this record: stop working on the run",
    )


def _fact_rows(append: Append) -> Iterable[tuple[object, ...]]:
    run_id = stored(append.facts[0].run_id)
    for fact, line in zip(append.facts, append.lines, strict=True):
        yield run_id, fact.seq, fact.type, fact.time, line


def _line(fact: Fact) -> str:
    try:
        return encode(fact)
    except ValueError:
        raise InvalidValueError(
            "fact", fact, allowed="finite numbers only", to_do="Give it a time that is one"
        ) from None


def _place(row: tuple[object, ...]) -> tuple[object, object]:
    return row[0], row[1]


def _run_row(staged: _Staged) -> tuple[object, ...]:
    conversation_id, owner = stored_or_none(staged.conversation_id), stored_or_none(staged.owner)
    return (*index_row(staged.run), conversation_id, owner, staged.beat_at)


_SELECT_RUN = f"SELECT {', '.join(INDEX_COLUMNS)} FROM {names.RUNS} WHERE run_id = ?"
_ELSE_UPDATE_RUN = (
    " ON CONFLICT (run_id) DO UPDATE SET "
    + ", ".join(f"{column} = excluded.{column}" for column in _GROWING)
    + f", owner = COALESCE(excluded.owner, {names.RUNS}.owner)"
    + f", beat_at = COALESCE(excluded.beat_at, {names.RUNS}.beat_at)"
)


@cache
def _insert_sql(table: str, columns: tuple[str, ...], rows: int, or_else: str) -> str:
    marks = f"({', '.join('?' * len(columns))})"
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([marks] * rows)}{or_else}"


def _insert(
    session: Session,
    table: str,
    columns: tuple[str, ...],
    rows: Sequence[tuple[object, ...]],
    *,
    or_else: str = "",
) -> None:
    """Insert rows, many with each statement."""
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[start : start + _ROWS_AT_ONCE]
        session.run(_insert_sql(table, columns, len(some), or_else), tuple(chain.from_iterable(some)))


def _join(session: Session, conversation_id: str, run_id: str) -> None:
    """Add a run to the end of a conversation. Counting it first makes others wait for their turn."""
    key = stored(conversation_id)
    if not session.changed(
        f"UPDATE {names.CONVERSATIONS} SET run_count = run_count + 1 WHERE id = ?", (key,)
    ):
        raise unknown_conversation(conversation_id)
    session.run(
        f"INSERT INTO {names.CONVERSATION_RUNS} (conversation_id, position, run_id)"
        f" SELECT id, run_count - 1, CAST(? AS TEXT) FROM {names.CONVERSATIONS} WHERE id = ?",
        (stored(run_id), key),
    )


def unknown_conversation(conversation_id: str) -> UnknownConversationError:
    return UnknownConversationError(
        f"There is no conversation {conversation_id!r}", to_do="Open one first, or list those there are"
    )


def _enter(session: Session, run_id: str, entry: IndexEntry) -> None:
    match entry:
        case ReviewOpened(review=review, at=at):
            session.run(
                f"INSERT INTO {names.REVIEWS} (run_id, review_id, review, requested_at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (run_id, review_id) DO UPDATE SET review = excluded.review,"
                " requested_at = excluded.requested_at,"
                " decision = NULL, decided_by = NULL, decided_at = NULL",
                (run_id, stored(review.id), review_text(review), at),
            )
        case ReviewClosed(review_id=review_id, decision=decision, by=by, at=at):
            session.run(
                f"UPDATE {names.REVIEWS} SET decision = ?, decided_by = ?, decided_at = ?"
                " WHERE run_id = ? AND review_id = ?",
                (decision, stored(by), at, run_id, stored(review_id)),
            )
        case GrantEntered(seq=seq, by=by, why=why, amounts=amounts, at=at):
            session.run(
                f"INSERT INTO {names.GRANTS} (run_id, seq, given_by, why, amounts, granted_at)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (run_id, seq, stored(by), stored(why), json.dumps(dict(amounts)), at),
            )
