"""Bringing a database up to date. Its version is looked at first; Alembic is loaded only to change it."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from endstop.errors import NewerStoreError, StoreError
from endstop.store.schema_names import NEWEST_VERSION, VERSION
from endstop.store.session import Database, Session

if TYPE_CHECKING:
    from sqlalchemy import Connection

MIGRATIONS = Path(__file__).with_name("migrations")

_ONE_AT_A_TIME = Lock()
"""Alembic keeps what it works on in the module, where threads would find each other's."""


def version_of(session: Session) -> str | None:
    """The version of a database's tables; None while it has none of ours."""
    if not session.has_table(VERSION):
        return None
    rows = session.rows(f"SELECT version_num FROM {VERSION}")
    return str(rows[0][0]) if rows else None


def require_readable(version: str | None, shown: str) -> None:
    """Raise if a database is not one that this code may touch."""
    if version is None or version <= NEWEST_VERSION:
        return
    if version.isdecimal():
        raise NewerStoreError(
            f"The database {shown} is of version {version}",
            allowed=f"versions up to {NEWEST_VERSION}",
            to_do="It was made by a newer Endstop: update this one, or name another database",
        )
    raise StoreError(
        f"The database {shown} is of a version {version!r} that no Endstop has made",
        allowed=f"versions up to {NEWEST_VERSION}",
        to_do="Name another database",
    )


def bring_up_to_date(database: Database, session: Session) -> None:
    """Make or change the tables if need be, all or none. Others who come at once wait, and find it done."""
    version = version_of(session)
    require_readable(version, database.address.shown)
    if version != NEWEST_VERSION:
        with _ONE_AT_A_TIME:
            _migrate(database, session)


def _migrate(database: Database, session: Session) -> None:
    from sqlalchemy import create_engine
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.pool import StaticPool

    dialect = "sqlite://" if database.address.kind == "sqlite" else "postgresql+psycopg://"
    engine = create_engine(dialect, creator=lambda: session.connection, poolclass=StaticPool)
    try:
        with engine.connect() as connection:  # looks around and rolls back: so we begin after it
            database.begin_upgrade(session)
            version = version_of(session)
            require_readable(version, database.address.shown)
            if version != NEWEST_VERSION:
                _run_migrations(connection)
            session.commit()
    except DBAPIError as error:
        session.rollback()
        raise (error.orig or error) from None  # the driver's own error says what is wrong
    except BaseException:
        session.rollback()
        raise


def _run_migrations(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
