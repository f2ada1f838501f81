"""The names of our tables, for statements, and the version of them that this code works with.

They begin with ``endstop_``, because a PostgreSQL database is often shared.
"""

from __future__ import annotations

FACTS = "endstop_facts"
RUNS = "endstop_runs"
REVIEWS = "endstop_reviews"
GRANTS = "endstop_grants"
CANCELS = "endstop_cancels"
SETTINGS = "endstop_settings"
CONVERSATIONS = "endstop_conversations"
CONVERSATION_RUNS = "endstop_conversation_runs"
USERS = "endstop_users"
TOKENS = "endstop_tokens"
SESSIONS = "endstop_sessions"
VERSION = "endstop_version"

NEWEST_VERSION = "0003"
"""The last of our migrations. They are numbered, so that an older Endstop can tell a newer database."""
