"""Who may come in: users, tokens, sessions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "endstop_users",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("added_at", sa.Float(53), nullable=False),
    )
    op.create_table(
        "endstop_tokens",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("user_name", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("hashed", sa.Text, nullable=False),
        sa.Column("created_at", sa.Float(53), nullable=False),
        sa.Column("expires_at", sa.Float(53), nullable=False),
        sa.Column("revoked_at", sa.Float(53)),
        sa.Column("used_at", sa.Float(53)),
    )
    op.create_index("endstop_tokens_by_hash", "endstop_tokens", ["hashed"], unique=True)
    op.create_index("endstop_tokens_by_user", "endstop_tokens", ["user_name", "created_at"])
    op.create_table(
        "endstop_sessions",
        sa.Column("hashed", sa.Text, primary_key=True),
        sa.Column("user_name", sa.Text, nullable=False),
        sa.Column("token_id", sa.Text),
        sa.Column("expires_at", sa.Float(53), nullable=False),
    )
