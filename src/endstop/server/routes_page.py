"""What a browser sees: the page, at every path that is neither the API's nor anybody else's."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Scope

from endstop.server.page_files import PageFile, PageFiles

_METHODS = ("GET", "HEAD")


class PageRoute(APIRoute):
    """Takes what browsers open. What is wrong elsewhere (a path of the API, another method) stays wrong."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        path: str = scope["path"]
        is_for_api = path == "/api" or path.startswith("/api/")
        if is_for_api or scope.get("method") not in _METHODS or not path.isprintable():
            return Match.NONE, {}
        return super().matches(scope)


router = APIRouter(route_class=PageRoute)
"""To be the last: it takes whatever the others leave."""


async def page_files() -> PageFiles:
    """The page of this installation. Tests put another in its place."""
    return PageFiles()


@router.api_route("/{path:path}", methods=list(_METHODS), include_in_schema=False)
async def page(request: Request, files: Annotated[PageFiles, Depends(page_files)]) -> Response:
    """A file of the page, or the page itself, which knows its own paths. Nothing of it is secret."""
    found = await asyncio.to_thread(files.find, request.scope["path"])
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, "The page has no such file")
    headers = {"cache-control": found.caching, "etag": found.tag}
    if _has_it(request, found):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    headers |= {"content-type": found.kind, "content-length": str(len(found.content))}
    return Response(b"" if request.method == "HEAD" else found.content, headers=headers)


def _has_it(request: Request, file: PageFile) -> bool:
    """Whether the browser says that it has this very content."""
    told = request.headers.get("if-none-match", "")
    return file.tag in (tag.strip().removeprefix("W/") for tag in told.split(","))
