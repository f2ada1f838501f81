"""Run by Alembic. The connection is handed in, with a transaction under way; there is no other way in."""

from __future__ import annotations

from alembic import context

from endstop.store.schema import metadata
from endstop.store.schema_names import VERSION

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
