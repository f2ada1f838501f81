"""Which conversation a question belongs to: a new one, one that goes on, or a branch of it (E10)."""

from __future__ import annotations

from endstop.errors import RunStateError
from endstop.ports import Conversation, Store, StoredRun

_TITLE_CHARS = 80


async def conversation_for(
    store: Store,
    question: str,
    *,
    follows: StoredRun | None = None,
    user: str | None = None,
    project: str | None = None,
) -> Conversation:
    """The conversation of a question. One that ``follows`` a run sees what was said up to it: if others have
    followed that run before, the conversation branches, and theirs stays as it is."""
    if follows is None:
        return await store.open_conversation(user=user, project=project, title=question[:_TITLE_CHARS])
    if follows.conversation_id is None:
        raise RunStateError(
            f"The run {follows.run_id} belongs to no conversation",
            allowed="runs of `endstop ask`",
            to_do="Ask anew, without continuing",
        )
    found = await store.conversation(follows.conversation_id)
    if found.run_ids and found.run_ids[-1] == follows.run_id:
        return found
    return await store.branch_conversation(found.id, after_run=follows.run_id)
