"""Our own tables beside the engine's, and whether the engine's are those that this Procrastinate works with.

Procrastinate writes no version into the database, and changes nothing there by itself. It names its functions
anew when it changes them. So the functions that are there tell how old the tables are, and from which of its
migrations on they have to be brought up to date.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from typing import LiteralString

from procrastinate.schema import SchemaManager, migrations_path

from endstop.errors import StoreError

FUNCTIONS: LiteralString = (
    "SELECT DISTINCT proname::text AS name FROM pg_proc"
    " WHERE proname LIKE 'procrastinate%%' AND pg_function_is_visible(oid)"
)
"""The names of the engine's functions that are there."""

OURS: LiteralString = """
CREATE TABLE IF NOT EXISTS endstop_handed (
    run_id text PRIMARY KEY,
    queue text NOT NULL,
    priority integer NOT NULL DEFAULT 0,
    user_name text,
    model text NOT NULL DEFAULT '',
    handed_at timestamptz NOT NULL DEFAULT now(),
    worker bigint,
    taken_at timestamptz,
    waits_since timestamptz,
    kept_until timestamptz
);
CREATE INDEX IF NOT EXISTS endstop_handed_by_user ON endstop_handed (user_name);
CREATE INDEX IF NOT EXISTS endstop_handed_in_place_by_user ON endstop_handed (user_name)
 WHERE worker IS NOT NULL OR kept_until IS NOT NULL;
CREATE INDEX IF NOT EXISTS endstop_handed_in_place_by_model ON endstop_handed (model)
 WHERE worker IS NOT NULL OR kept_until IS NOT NULL;
CREATE INDEX IF NOT EXISTS endstop_waits_by_user ON endstop_handed (user_name, priority DESC, handed_at)
 WHERE waits_since IS NOT NULL;
CREATE INDEX IF NOT EXISTS endstop_waits_by_model ON endstop_handed (model, priority DESC, handed_at)
 WHERE waits_since IS NOT NULL;
CREATE INDEX IF NOT EXISTS endstop_handed_waits ON endstop_handed (waits_since) WHERE waits_since IS NOT NULL;
CREATE TABLE IF NOT EXISTS endstop_counts (
    name text PRIMARY KEY,
    value bigint NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS endstop_rates (
    model text PRIMARY KEY,
    next_at timestamptz NOT NULL DEFAULT now()
);
"""
"""Makes our own tables, where they are missing."""

_MADE = re.compile(
    r"(?:CREATE (?:OR REPLACE )?FUNCTION|ALTER FUNCTION \S+\s+RENAME TO) (?:public\.)?(procrastinate\w+)",
    re.IGNORECASE,
)
_NAME = re.compile(r"procrastinate_\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """Tables of another Procrastinate than ours."""

    is_newer: bool
    """They are ahead of us; else behind."""
    first_migration: str = ""
    """The first migration that they lack."""

    def to_error(self, shown: str) -> StoreError:
        """What is wrong with the database that is ``shown`` so, and what to do."""
        ours = installed_version()
        if self.is_newer:
            return StoreError(
                f"The queue of runs in {shown} was made by a newer Procrastinate than the {ours} here",
                to_do="Update this machine: pip install -U 'endstop[scale]'",
            )
        return StoreError(
            f"The queue of runs in {shown} was made by an older Procrastinate than the {ours} here",
            to_do="Bring its tables up to date: with psql, apply the files of "
            f"{SchemaManager.get_migrations_path()} from {self.first_migration} on, in their order; those "
            "with _post_ in their names when no older worker runs any more",
        )


def installed_version() -> str:
    return version("procrastinate")


def misfit(there: Collection[str]) -> Misfit | None:
    """What is wrong with tables that have these functions; None if they are as we need them."""
    return misfit_of(there, needed=needed(), migrations=migrations())


def misfit_of(
    there: Collection[str], *, needed: Collection[str], migrations: Mapping[str, str]
) -> Misfit | None:
    """The same for any functions ``needed``, and ``migrations`` by their names."""
    missing = set(needed) - set(there)
    if not missing:
        return None
    made_by = {name: functions_in(migrations[name]) for name in sorted(migrations)}
    if set(there) - set(needed) - {made for names in made_by.values() for made in names}:
        return Misfit(is_newer=True)  # there is what no migration of ours has ever made
    first = next((name for name, made in made_by.items() if made & missing), "the first")
    return Misfit(is_newer=False, first_migration=first)


def functions_in(sql: str) -> frozenset[str]:
    """The functions that are made, or get their names, somewhere in it."""
    return frozenset(_MADE.findall(sql))


def needed() -> frozenset[str]:
    """The functions that the installed Procrastinate calls. There are others, which its tables call: those
    may come later, with the migrations that wait until no older worker runs."""
    queries = (files("procrastinate.sql") / "queries.sql").read_text(encoding="utf-8")
    return functions_in(SchemaManager.get_schema()).intersection(_NAME.findall(queries))


def migrations() -> dict[str, str]:
    """Its migrations, by their names."""
    return {file.name: file.read_text(encoding="utf-8") for file in migrations_path.glob("*.sql")}
