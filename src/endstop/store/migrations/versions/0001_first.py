"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "endstop_facts",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("time", sa.Float(53), nullable=False),
        sa.Column("line", sa.Text, nullable=False),
    )
    op.create_table(
        "endstop_runs",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("phase", sa.Text, nullable=False),
        sa.Column("user_name", sa.Text),
        sa.Column("project", sa.Text),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("conversation_id", sa.Text),
        sa.Column("facts", sa.BigInteger, nullable=False),
        sa.Column("turns", sa.BigInteger, nullable=False),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("cost_usd", sa.Text),
        sa.Column("started_at", sa.Float(53), nullable=False),
        sa.Column("changed_at", sa.Float(53), nullable=False),
        sa.Column("ended_at", sa.Float(53)),
        sa.Column("ending", sa.Text),
        sa.Column("exit_code", sa.Integer),
        sa.Column("owner", sa.Text),
        sa.Column("beat_at", sa.Float(53)),
    )
    op.create_index("endstop_runs_by_start", "endstop_runs", ["started_at"])
    op.create_index("endstop_runs_by_user", "endstop_runs", ["user_name", "started_at"])
    op.create_index("endstop_runs_by_phase", "endstop_runs", ["phase", "started_at"])
    op.create_table(
        "endstop_reviews",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("review_id", sa.Text, primary_key=True),
        sa.Column("review", sa.Text, nullable=False),
        sa.Column("requested_at", sa.Float(53), nullable=False),
        sa.Column("decision", sa.Text),
        sa.Column("decided_by", sa.Text),
        sa.Column("decided_at", sa.Float(53)),
    )
    op.create_index("endstop_reviews_by_request", "endstop_reviews", ["requested_at"])
    op.create_table(
        "endstop_grants",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("given_by", sa.Text, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("amounts", sa.Text, nullable=False),
        sa.Column("granted_at", sa.Float(53), nullable=False),
    )
    op.create_table(
        "endstop_cancels",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("asked_by", sa.Text, nullable=False),
        sa.Column("after_turn", sa.Integer, nullable=False),
    )
    op.create_table(
        "endstop_settings",
        sa.Column("user_name", sa.Text, primary_key=True),
        sa.Column("chosen", sa.Text, nullable=False),
    )
    op.create_table(
        "endstop_conversations",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("user_name", sa.Text),
        sa.Column("project", sa.Text),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("created_at", sa.Float(53), nullable=False),
        sa.Column("branch_of", sa.Text),
        sa.Column("run_count", sa.Integer, nullable=False),
    )
    op.create_index("endstop_conversations_by_user", "endstop_conversations", ["user_name", "created_at"])
    op.create_table(
        "endstop_conversation_runs",
        sa.Column("conversation_id", sa.Text, primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("run_id", sa.Text, nullable=False),
    )
