"""How many runs of a user are under way: found without a look at all that they ever had."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_index("endstop_runs_by_user_and_phase", "endstop_runs", ["user_name", "phase", "started_at"])
