"""The tables, as they are now. Migrations make them; a test holds the two against each other.

Statements do not go through SQLAlchemy: loading it takes longer than most commands of the terminal, and its
layers longer than an append. It is used, with Alembic, to make and change tables on both databases.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Index, Integer, MetaData, Table, Text

from endstop.store import schema_names as names

metadata = MetaData()

facts = Table(
    names.FACTS,
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("type", Text, nullable=False),
    Column("time", Float(53), nullable=False),
    Column("line", Text, nullable=False),
)
"""The records: the one truth. All other tables are worked out from it, save what people have set."""

runs = Table(
    names.RUNS,
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("phase", Text, nullable=False),
    Column("user_name", Text),
    Column("project", Text),
    Column("agent", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("conversation_id", Text),
    Column("facts", BigInteger, nullable=False),
    Column("turns", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("cost_usd", Text),
    Column("started_at", Float(53), nullable=False),
    Column("changed_at", Float(53), nullable=False),
    Column("ended_at", Float(53)),
    Column("ending", Text),
    Column("exit_code", Integer),
    Column("owner", Text),
    Column("beat_at", Float(53)),
    Index("endstop_runs_by_start", "started_at"),
    Index("endstop_runs_by_user", "user_name", "started_at"),
    Index("endstop_runs_by_user_and_phase", "user_name", "phase", "started_at"),
    Index("endstop_runs_by_phase", "phase", "started_at"),
)

reviews = Table(
    names.REVIEWS,
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("review_id", Text, primary_key=True),
    Column("review", Text, nullable=False),
    Column("requested_at", Float(53), nullable=False),
    Column("decision", Text),
    Column("decided_by", Text),
    Column("decided_at", Float(53)),
    Index("endstop_reviews_by_request", "requested_at"),
)

grants = Table(
    names.GRANTS,
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("given_by", Text, nullable=False),
    Column("why", Text, nullable=False),
    Column("amounts", Text, nullable=False),
    Column("granted_at", Float(53), nullable=False),
)

cancels = Table(
    names.CANCELS,
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("asked_by", Text, nullable=False),
    Column("after_turn", Integer, nullable=False),
)

settings = Table(
    names.SETTINGS,
    metadata,
    Column("user_name", Text, primary_key=True),
    Column("chosen", Text, nullable=False),
)

conversations = Table(
    names.CONVERSATIONS,
    metadata,
    Column("id", Text, primary_key=True),
    Column("user_name", Text),
    Column("project", Text),
    Column("title", Text, nullable=False),
    Column("created_at", Float(53), nullable=False),
    Column("branch_of", Text),
    Column("run_count", Integer, nullable=False),
    Index("endstop_conversations_by_user", "user_name", "created_at"),
)

conversation_runs = Table(
    names.CONVERSATION_RUNS,
    metadata,
    Column("conversation_id", Text, primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("run_id", Text, nullable=False),
)

users = Table(
    names.USERS,
    metadata,
    Column("name", Text, primary_key=True),
    Column("added_at", Float(53), nullable=False),
)

tokens = Table(
    names.TOKENS,
    metadata,
    Column("id", Text, primary_key=True),
    Column("user_name", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("hashed", Text, nullable=False),
    Column("created_at", Float(53), nullable=False),
    Column("expires_at", Float(53), nullable=False),
    Column("revoked_at", Float(53)),
    Column("used_at", Float(53)),
    Index("endstop_tokens_by_hash", "hashed", unique=True),
    Index("endstop_tokens_by_user", "user_name", "created_at"),
)

sessions = Table(
    names.SESSIONS,
    metadata,
    Column("hashed", Text, primary_key=True),
    Column("user_name", Text, nullable=False),
    Column("token_id", Text),
    Column("expires_at", Float(53), nullable=False),
)
