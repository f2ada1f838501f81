"""Places: how many runs of a user, and of a model, may be under way at once, over all workers (fairness).

A run for which there is no place is no job while it waits, so however many wait, they cost nothing. Whoever
leaves a place keeps it for the one that has waited longest, and has that handed out: nobody who comes later
gets in between. Places of workers that died are noticed by looking now and then.
"""

from __future__ import annotations

from typing import Any, LiteralString

from endstop.runner.scale.engine import Engine, Handed, handed_of

KEPT_S = 5.0
"""A place is kept so long for the run that is to have it."""

STIR_S = 3.0
"""A run that has waited so long since it last asked for a place asks again."""

_STIRRED_AT_ONCE = 20

_BY_USER = 0x656E6475
_BY_MODEL = 0x656E646D
"""The keys under which workers wait for each other, for one user or one model: "endu" and "endm" in ASCII."""

_LOCK: LiteralString = "SELECT pg_advisory_xact_lock(%(kind)s, hashtext(%(name)s))"
_TAKE: LiteralString = """
WITH taken AS (
         SELECT h.user_name, h.model FROM endstop_handed h
           LEFT JOIN procrastinate_workers w ON w.id = h.worker
          WHERE h.run_id <> %(run_id)s
            AND (h.user_name = %(user)s OR h.model = %(model)s)
            AND (h.worker IS NOT NULL OR h.kept_until IS NOT NULL)
            AND (h.kept_until > now() OR w.last_heartbeat > now() - make_interval(secs => %(silent_s)s))),
     room AS (
         SELECT (%(per_user)s::int IS NULL OR %(user)s::text IS NULL
                 OR %(per_user)s > (SELECT count(*) FROM taken WHERE user_name = %(user)s))
            AND (%(per_model)s::int IS NULL
                 OR %(per_model)s > (SELECT count(*) FROM taken WHERE model = %(model)s)) AS is_left)
UPDATE endstop_handed h
   SET worker = CASE WHEN room.is_left THEN %(worker)s::bigint END,
       taken_at = CASE WHEN room.is_left THEN now() END,
       waits_since = CASE WHEN room.is_left THEN NULL ELSE now() END,
       kept_until = NULL
  FROM room WHERE h.run_id = %(run_id)s
RETURNING room.is_left
"""
_LEAVE: LiteralString = (
    "UPDATE endstop_handed SET worker = NULL WHERE run_id = %(run_id)s AND worker = %(worker)s"
)
_NEXT: LiteralString = """
UPDATE endstop_handed h SET waits_since = NULL, kept_until = now() + make_interval(secs => %(kept_s)s)
 WHERE h.waits_since IS NOT NULL
   AND (h.run_id = (SELECT run_id FROM endstop_handed
                     WHERE %(by_user)s AND waits_since IS NOT NULL AND user_name = %(user)s
                     ORDER BY priority DESC, handed_at LIMIT 1)
     OR h.run_id = (SELECT run_id FROM endstop_handed
                     WHERE %(by_model)s AND waits_since IS NOT NULL AND model = %(model)s
                     ORDER BY priority DESC, handed_at LIMIT 1))
RETURNING h.run_id, h.queue, h.priority, h.user_name, h.model
"""
_STIR: LiteralString = """
UPDATE endstop_handed h SET waits_since = NULL
 WHERE h.run_id IN (SELECT run_id FROM endstop_handed
                     WHERE waits_since < now() - make_interval(secs => %(stir_s)s)
                     ORDER BY waits_since LIMIT %(most)s FOR UPDATE SKIP LOCKED)
RETURNING h.run_id, h.queue, h.priority, h.user_name, h.model
"""


class Places:
    """The places that one worker takes. Where none are limited there is one for each run, at no cost."""

    def __init__(
        self,
        engine: Engine,
        *,
        per_user: int | None = None,
        per_model: int | None = None,
        silent_s: float,
    ) -> None:
        """``silent_s``: a worker that was silent for so long has no place any more."""
        self._engine = engine
        self._per_user = per_user
        self._per_model = per_model
        self._silent_s = silent_s

    async def take(self, handed: Handed, worker: int) -> bool:
        """Take a place for a run. False if there is none: then it waits, and is handed out when there is."""
        rows = await self._engine.together(
            *self._locks(handed),
            (
                _TAKE,
                {
                    **_words(handed),
                    "worker": worker,
                    "per_user": self._per_user,
                    "per_model": self._per_model,
                    "silent_s": self._silent_s,
                },
            ),
        )
        return bool(rows) and bool(rows[0]["is_left"])

    async def leave(self, handed: Handed, worker: int) -> None:
        """Leave the place of a run to the one that has waited longest for one like it."""
        left = (_LEAVE, {"run_id": handed.run_id, "worker": worker})
        if self._per_user is None and self._per_model is None:
            await self._engine.together(left)
            return
        wanted = {
            **_words(handed),
            "by_user": self._per_user is not None,
            "by_model": self._per_model is not None,
            "kept_s": KEPT_S,
        }
        for row in await self._engine.together(*self._locks(handed), left, (_NEXT, wanted)):
            await self._engine.enqueue(handed_of(row))

    async def stir(self) -> None:
        """Have those ask again that have waited for a while: the holder of a place may have died."""
        for row in await self._engine.together((_STIR, {"stir_s": STIR_S, "most": _STIRRED_AT_ONCE})):
            await self._engine.enqueue(handed_of(row))

    def _locks(self, handed: Handed) -> list[tuple[LiteralString, dict[str, Any]]]:
        """In statements of their own: what comes after them sees what the last holder did. Always in this
        order: so nobody waits in a circle."""
        locks: list[tuple[LiteralString, dict[str, Any]]] = []
        if self._per_user is not None and handed.user is not None:
            locks.append((_LOCK, {"kind": _BY_USER, "name": handed.user}))
        if self._per_model is not None:
            locks.append((_LOCK, {"kind": _BY_MODEL, "name": handed.model}))
        return locks


def _words(handed: Handed) -> dict[str, Any]:
    return {"run_id": handed.run_id, "user": handed.user, "model": handed.model}
