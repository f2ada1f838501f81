"""What streams look like on the wire. Existing chunks never change: files may only be added (I1)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from chat_server import chat_server

from endstop.errors import ModelAccessError, ModelOverloadedError
from endstop.events.chunks import ChunkType
from endstop.ports import Source, ToolResult
from endstop.testing import FakeClock, ScriptedModel, calls, echo_tool, fails, reply
from endstop.testing.echo import PlainTool

GOLDEN = Path(__file__).parent.parent / "golden"


async def _found(arguments: str) -> ToolResult:
    source = Source(title="Login", location="src/login.py:12", passage="def login():")
    return ToolResult(text="1 place", sources=(source,))


def limited() -> ScriptedModel:
    """Thinks, looks, cites, and is stopped at its limit."""
    return ScriptedModel(
        reply(text="Let me look. ", thought="Login, then.", calls=[calls("search", query="login")]),
        reply(text="And once more. ", calls=[calls("echo", text="ü")]),
        reply(text="It is in login.py.", calls=[calls("echo", text="again")]),
    )


def failed() -> ScriptedModel:
    """Breaks off, is tried again, and then may not go on."""
    return ScriptedModel(
        fails(ModelOverloadedError("busy"), after="It is"),
        fails(ModelAccessError("the key was revoked"), after="It is in"),
    )


def completed() -> ScriptedModel:
    return ScriptedModel("It is in login.py.")


@pytest.mark.guarantee("I1")
@pytest.mark.parametrize("make_model", [limited, failed, completed], ids=lambda each: each.__name__)
async def test_a_stream_looks_the_same_for_ever(
    tmp_path: Path, make_model: Callable[[], ScriptedModel]
) -> None:
    assert without_later_types(await streamed(tmp_path, make_model)) == golden(make_model).read_text("utf-8")


LATER_TYPES = frozenset({"budget", "grant", "signal", "tree", "trace", "paused", "resumed"})
"""These came when the files of whole streams were kept already; they have a file of their own."""


def without_later_types(stream: str) -> str:
    """A stream as a client sees it that knows only the first types."""
    blocks = stream.split("\n\n")
    return "\n\n".join(block for block in blocks if _type_of(block) not in LATER_TYPES)


def _type_of(block: str) -> str | None:
    _, begins, data = block.partition("data: ")
    return json.loads(data)["type"] if begins else None


async def test_a_stream_begins_with_the_budget(tmp_path: Path) -> None:
    begun, first, *_ = (await streamed(tmp_path, completed)).split("\n\n")
    assert begun == ": begun"
    assert first.startswith('id: 0.0\ndata: {"type":"budget","limits":{"turns":3,')


def test_every_type_of_chunk_is_in_one_of_these_files() -> None:
    told = "".join(golden(make_model).read_text("utf-8") for make_model in (limited, failed, completed))
    later = (GOLDEN / "chunks-watched.sse").read_text("utf-8")
    for kind in ChunkType:
        assert f'{{"type":"{kind.value}"' in (later if kind.value in LATER_TYPES else told)
    assert '{"type":"retract"' in told
    assert '{"type":"running"' in later


async def streamed(home: Path, make_model: Callable[[], ScriptedModel]) -> str:
    """The stream of a run that has ended, as a client gets it that was not there."""
    tools = [PlainTool("search", _found), echo_tool()]
    async with chat_server(home, make_model, tools=tools, clock=FakeClock()) as server:
        asked = await server.asked(limits={"max_iterations": 3, "soft_warning_percent": 50})
        return (await server.me.get(f"/api/runs/{asked.run_id}/stream")).text


def golden(make_model: Callable[[], ScriptedModel]) -> Path:
    return GOLDEN / f"chunks-{make_model.__name__}.sse"
