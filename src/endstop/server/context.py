"""What every route works with: Endstop with its parts chosen, its streams, and who may do what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from endstop.app import App
from endstop.tree.files import TreeLibrary

if TYPE_CHECKING:
    from endstop.server.access import Access
    from endstop.server.hub import Hub


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One server's parts. In ``request.app.state.context``."""

    app: App
    access: Access
    hub: Hub
    trees: TreeLibrary


async def context_of(request: Request) -> Context:
    """Waits for nothing; but FastAPI sends what does not say so to a thread, and there are few of those."""
    return request.app.state.context


ContextHere = Annotated[Context, Depends(context_of)]
"""For a route's parameter: ``context: ContextHere``."""
