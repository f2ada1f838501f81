"""What streams look like on the wire. Existing chunks never change: files may only be added (I1)."""

from __future__ import annotations

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
    assert await streamed(tmp_path, make_model) == golden(make_model).read_text("utf-8")


def test_every_type_of_chunk_is_in_one_of_these_files() -> None:
    told = "".join(golden(make_model).read_text("utf-8") for make_model in (limited, failed, completed))
    for kind in ChunkType:
        assert f'{{"type":"{kind.value}"' in told
    assert '{"type":"retract"' in told


async def streamed(home: Path, make_model: Callable[[], ScriptedModel]) -> str:
    """The stream of a run that has ended, as a client gets it that was not there."""
    tools = [PlainTool("search", _found), echo_tool()]
    async with chat_server(home, make_model, tools=tools, clock=FakeClock()) as server:
        asked = await server.asked(limits={"max_iterations": 3, "soft_warning_percent": 50})
        return (await server.me.get(f"/api/runs/{asked.run_id}/stream")).text


def golden(make_model: Callable[[], ScriptedModel]) -> Path:
    return GOLDEN / f"chunks-{make_model.__name__}.sse"
