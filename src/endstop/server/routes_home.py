"""What a browser sees at the address of the server."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

router = APIRouter()

_HOME = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Endstop</title>
<h1>Endstop runs here</h1>
<p>The page with chat, runs, reviews, trees and settings comes with a later version. Until then this server is
for programs and for the terminal:</p>
<ul>
<li><a href="/openapi.json">what it can do</a>, as OpenAPI</li>
<li><a href="/api/runs">your runs</a>, <a href="/api/reviews">reviews</a>,
<a href="/api/trees">trees</a>, <a href="/api/settings/agent-config">settings</a>, as JSON</li>
<li><code>endstop ask "…"</code>, <code>endstop runs</code> and <code>endstop review</code> in a terminal</li>
</ul>
</html>
"""


@router.get("/", include_in_schema=False)
async def home() -> HTMLResponse:
    return HTMLResponse(_HOME)
