"""Tools of MCP servers: real servers in real processes, also such as crash and hang."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from tools_words import CONTEXT, comes_true, is_alive, open_files

from endstop.errors import InvalidValueError, ToolArgumentsError, ToolError
from endstop.loop.toolbox import Toolbox
from endstop.ports import Tool
from endstop.tools import mcp, mcp_tools

SERVER = [sys.executable, str(Path(__file__).parent / "mcp_server.py")]


async def call(tools: tuple[Tool, ...], name: str, arguments: str = "{}") -> str:
    return (await Toolbox(tools).get(f"little_{name}").call(arguments, CONTEXT)).text


async def test_the_tools_of_a_server_are_told_and_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "hush")
    async with mcp_tools(SERVER, env={"GREETING": "hi"}, timeout_s=7) as tools:
        box = Toolbox(tools)
        add = box.get("little_server_add")
        assert add.spec.description == "Add two numbers."
        assert add.spec.parameters["required"] == ["a", "b"]
        assert (await add.call('{"a": 1, "b": 2}', CONTEXT)).text == "3"
        assert (add.traits.changes_something, add.traits.is_idempotent, add.traits.timeout_s) == (
            False,
            True,
            7,
        )
        note = box.get("little_server_write_note")
        assert (note.traits.changes_something, note.traits.is_idempotent) == (True, True)
        assert (await note.call('{"text": "x"}', CONTEXT)).text == "wrote x"
        unknown = box.get("little_server_fail")
        assert (unknown.traits.changes_something, unknown.traits.is_idempotent) == (True, False)
        assert repr(unknown) == "<tool little_server_fail>"
        seen = (await box.get("little_server_environment").call("", CONTEXT)).text
        assert "GREETING" in seen
        assert "MY_API_KEY" not in seen


@pytest.mark.guarantee("B2")
async def test_what_fails_is_a_failed_tool_and_the_server_serves_on() -> None:
    async with mcp_tools(SERVER, name="little") as tools:
        with pytest.raises(ToolError, match="little_fail failed"):
            await call(tools, "fail")
        with pytest.raises(ToolError, match=r"(?s)little_add failed.*valid integer"):
            await call(tools, "add", '{"a": "x", "b": 1}')
        with pytest.raises(ToolArgumentsError, match="not JSON"):
            await call(tools, "add", "{")
        assert len(await call(tools, "long_text")) == 50_000
        assert await call(tools, "add", '{"a": 1, "b": 1}') == "2"


@pytest.mark.guarantee("A11")
async def test_a_call_that_hangs_is_cut_off_at_once_and_the_server_serves_on() -> None:
    async with mcp_tools(SERVER, name="little") as tools:
        before = time.perf_counter()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(call(tools, "hang"), 0.2)
        assert time.perf_counter() - before < 0.5
        assert await call(tools, "add", '{"a": 1, "b": 1}') == "2"


async def test_a_server_that_crashes_fails_the_call_and_all_later_ones_and_nothing_else() -> None:
    async with mcp_tools(SERVER, name="little") as tools:
        with pytest.raises(ToolError, match=r"(?s)has ended.*out of cheese"):
            await call(tools, "crash")
        for _ in range(2):
            with pytest.raises(ToolError, match="has ended"):
                await call(tools, "add", '{"a": 1, "b": 1}')


async def test_closing_kills_the_server_and_all_it_started(tmp_path: Path) -> None:
    files = open_files()
    async with mcp_tools([*SERVER, str(tmp_path / "pid")], name="little") as tools:
        hanging = asyncio.create_task(call(tools, "hang"))
        child = int(await call(tools, "child"))
        server = int((tmp_path / "pid").read_text())
        assert is_alive(server)
        assert is_alive(child)
        before = time.perf_counter()
    assert time.perf_counter() - before < 2
    assert comes_true(lambda: not is_alive(server) and not is_alive(child))
    with pytest.raises(ToolError, match="has ended"):
        await hanging
    with pytest.raises(ToolError, match="has ended"):
        await call(tools, "add", '{"a": 1, "b": 1}')
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert open_files() <= files + 1  # the pool of asyncio.to_thread may keep one


async def test_an_error_inside_the_block_comes_out_as_it_is_and_the_server_dies(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with mcp_tools([*SERVER, str(tmp_path / "pid")]):
            raise ZeroDivisionError
    assert comes_true(lambda: not is_alive(int((tmp_path / "pid").read_text())))


async def test_being_cancelled_while_connecting_leaves_no_server(tmp_path: Path) -> None:
    async def connect() -> None:
        async with mcp_tools(["sh", "-c", "echo $$ > pid; exec sleep 600"], cwd=tmp_path):
            pass

    task = asyncio.create_task(connect())
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert comes_true(lambda: not is_alive(int((tmp_path / "pid").read_text())))


def test_when_our_process_is_killed_the_server_dies_too(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from endstop.tools import mcp_tools\n"
        "async def main():\n"
        "    async with mcp_tools(['sh', '-c', 'echo $$ > pid; exec sleep 600']): pass\n"
        "asyncio.run(main())\n"
    )
    ours = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)
    assert comes_true(
        lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text()), within_s=20
    )
    ours.kill()
    ours.wait()
    assert comes_true(lambda: not is_alive(int((tmp_path / "pid").read_text())))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ([sys.executable, "-c", "print('{}', flush=True)"], "has ended"),
        (["no-such-server"], "'no-such-server' cannot be started: No such file"),
        (["sh", "-c", "echo cannot open the vault >&2; exit 3"], "It last said: cannot open the vault"),
        (["true"], "has ended, or cannot be reached"),
    ],
)
async def test_a_server_that_is_none_is_told_in_words(command: list[str], words: str) -> None:
    with pytest.raises(ToolError, match=words):
        async with mcp_tools(command):
            pytest.fail("there is no server")
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("command", [["sleep", "600"], ["yes"]])
async def test_a_server_that_does_not_answer_is_not_waited_for(command: list[str]) -> None:
    with pytest.raises(ToolError, match=r"did not answer within 0\.3 s"):
        async with mcp_tools(command, connect_timeout_s=0.3):
            pytest.fail("there is no server")
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_url_where_nobody_answers_is_told_in_words() -> None:
    with pytest.raises(ToolError, match="cannot be reached"):
        async with mcp_tools(url="http://127.0.0.1:9/mcp"):
            pytest.fail("there is no server")


async def test_a_server_behind_a_url_works_too() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([*SERVER, "--port", str(port)], stderr=subprocess.DEVNULL)
    try:
        assert await asyncio.to_thread(comes_true, lambda: _answers(port), within_s=20)
        async with mcp_tools(url=f"http://127.0.0.1:{port}/mcp", name="little") as tools:
            assert await call(tools, "add", '{"a": 1, "b": 2}') == "3"
    finally:
        server.kill()
        server.wait()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize(
    "options",
    [{}, {"command": ["x"], "url": "http://x"}, {"command": "npx server"}, {"command": []}],
)
async def test_a_server_that_is_not_named_properly_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueError, match="command"):
        async with mcp_tools(**options):
            pytest.fail("there is no server")


async def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(_: str) -> None:
        return None

    monkeypatch.setattr(mcp, "find_spec", nowhere)
    with pytest.raises(ToolError, match=r"pip install 'endstop\[mcp\]'"):
        async with mcp_tools(["x"]):
            pytest.fail("there is no server")


def test_names_are_made_safe_and_unique() -> None:
    taken: set[str] = set()
    names = [mcp._safe_name("my server", name, taken) for name in ("a.b", "a b", "a/b", "x" * 100, "x" * 99)]  # pyright: ignore[reportPrivateUsage]
    assert names[:3] == ["my_server_a_b", "my_server_a_b_2", "my_server_a_b_3"]
    assert [len(name) for name in names[3:]] == [64, 64]
    assert len(set(names)) == 5


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {"type": "string"},
        {"properties": []},
        {"type": "object", "x": float("nan")},
        {"x": "y" * 200_000},
        {"x": object()},
    ],
)
def test_a_schema_that_providers_would_refuse_becomes_any_object(schema: object) -> None:
    assert mcp._checked_schema(schema) == {"type": "object"}  # pyright: ignore[reportPrivateUsage]


def test_results_of_every_kind_become_text() -> None:
    text = mcp._text  # pyright: ignore[reportPrivateUsage]
    blocks = [
        TextContent(type="text", text="words"),
        ImageContent(type="image", data="AAAA", mime_type="image/png"),
        AudioContent(type="audio", data="AAAA", mime_type="audio/wav"),
        ResourceLink(type="resource_link", name="r", uri="file:///r"),
        EmbeddedResource(type="resource", resource=TextResourceContents(uri="file:///t", text="inside")),
        EmbeddedResource(type="resource", resource=BlobResourceContents(uri="file:///b", blob="AAAA")),
    ]
    assert text(CallToolResult(content=list(blocks))).split("\n") == [
        "words",
        "[image, image/png, 3 bytes]",
        "[audio, audio/wav, 3 bytes]",
        "[resource file:///r]",
        "inside",
        "[resource file:///b]",
    ]
    assert json.loads(text(CallToolResult(content=[], structured_content={"a": 1}))) == {"a": 1}
    assert text(CallToolResult(content=[])) == "Done."


def test_errors_of_the_protocol_are_told_as_what_they_are() -> None:
    from mcp.shared.exceptions import MCPError

    translated = mcp._translated  # pyright: ignore[reportPrivateUsage]
    assert isinstance(translated(MCPError(-32602, "no a")), ToolArgumentsError)
    inside = translated(ExceptionGroup("many", [ExceptionGroup("more", [OSError("gone")])]))
    assert str(inside) == "The MCP server failed: OSError: gone."
