"""What belongs to whoever calls. What is not theirs looks like what is not there (I6)."""

from __future__ import annotations

from endstop.coding import CODING
from endstop.errors import UnknownConversationError, UnknownRunError
from endstop.ports import Conversation, Store, StoredRun
from endstop.server.access import Caller


async def own_run(store: Store, caller: Caller, run_id: str) -> StoredRun:
    """A run of the caller's, or ``UnknownRunError``, the same whether it is another's or nobody's."""
    try:
        found = await store.run(run_id)
    except UnknownRunError:
        found = None
    if found is None or found.user != caller.user:
        raise UnknownRunError(f"There is no run {run_id!r}", to_do="List yours: GET /api/runs")
    return found


async def own_session(store: Store, caller: Caller, run_id: str) -> StoredRun:
    """A coding session of the caller's, or ``UnknownRunError``."""
    found = await own_run(store, caller, run_id)
    if found.agent != CODING:
        raise UnknownRunError(f"The run {run_id!r} is no coding session", to_do="List yours: GET /api/coding")
    return found


async def own_conversation(store: Store, caller: Caller, conversation_id: str) -> Conversation:
    """A conversation of the caller's, or ``UnknownConversationError``."""
    try:
        found = await store.conversation(conversation_id)
    except UnknownConversationError:
        found = None
    if found is None or found.user != caller.user:
        raise UnknownConversationError(
            f"There is no conversation {conversation_id!r}", to_do="List yours: GET /api/conversations"
        )
    return found
