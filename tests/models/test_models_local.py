"""Local models: a child process that is started when needed, shared, left at once, and never left behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from talking import SEARCH, asking, calls_of, end_of, pieces_of, streaming, text_of

from endstop.errors import (
    InvalidValueError,
    ModelBrokeOffError,
    ModelError,
    ModelOverloadedError,
    ModelRefusedError,
    ModelUnreachableError,
    UnknownModelError,
)
from endstop.models import make_model
from endstop.models.llama import LlamaServer, LlamaSettings
from endstop.models.local import LocalModel
from endstop.ports import Model, ModelUsage, ReplyEnded, TextPiece, ThoughtPiece, ToolRequest

STAND_IN = Path(__file__).parent / "stand_in_llama"


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(STAND_IN))  # pyright: ignore[reportUnknownMemberType] - untyped in pytest
    before = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(STAND_IN), *([before] if before else [])]))


def weights(folder: Path, content: str = "") -> Path:
    path = folder / "model.gguf"
    path.write_bytes(b"GGUF" + content.encode())
    return path


@pytest.fixture
def model(tmp_path: Path) -> Iterator[LocalModel]:
    made = LocalModel(str(weights(tmp_path)), threads=1)
    yield made
    made.close()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def failure(model: Model, wish: str) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await pieces_of(model, asking(wish))
    return caught.value


def server_of(model: LocalModel) -> LlamaServer:
    return model._server  # pyright: ignore[reportPrivateUsage] - to see what becomes of the process


async def test_text_is_streamed(model: LocalModel) -> None:
    assert await pieces_of(model, asking("say:Hello")) == [
        TextPiece(text="Hel"),
        TextPiece(text="lo"),
        ReplyEnded(usage=ModelUsage(input_tokens=7, output_tokens=3)),
    ]


async def test_thoughts_are_told_apart(model: LocalModel) -> None:
    assert (await pieces_of(model, asking("think:so")))[:2] == [ThoughtPiece(text="hm"), TextPiece(text="so")]


async def test_a_reply_that_met_its_cap_is_truncated(model: LocalModel) -> None:
    assert end_of(await pieces_of(model, asking("length:And so"))).is_truncated


async def test_with_tools_a_reply_is_an_action(model: LocalModel) -> None:
    wish = 'say:{"tool": "search_code", "arguments": {"query": "x"}}'
    pieces = await pieces_of(model, asking(wish, tools=[SEARCH]))

    assert text_of(pieces) == ""
    assert calls_of(pieces) == [ToolRequest(id="call_1", tool="search_code", arguments='{"query": "x"}')]


async def test_with_tools_an_answer_is_streamed_as_text(model: LocalModel) -> None:
    pieces = await pieces_of(model, asking('say:{"answer": "It is so."}', tools=[SEARCH]))

    assert text_of(pieces) == "It is so."
    assert calls_of(pieces) == []


async def test_with_tools_words_that_are_no_action_are_kept(model: LocalModel) -> None:
    assert text_of(await pieces_of(model, asking("say:Well", tools=[SEARCH]))) == "Well"


async def test_the_cap_and_the_schema_are_sent(model: LocalModel) -> None:
    plain = json.loads(text_of(await pieces_of(model, asking("echo:", max_output_tokens=33))))
    assert plain["max_tokens"] == 33
    assert "response_format" not in plain

    held = json.loads(text_of(await pieces_of(model, asking("echo:", tools=[SEARCH]))))
    assert held["response_format"]["json_schema"]["schema"]["anyOf"]


@pytest.mark.parametrize(
    ("wish", "kind"),
    [
        ("refuse:400", ModelRefusedError),
        ("refuse:503", ModelOverloadedError),
        ("odd:", ModelOverloadedError),
        ("cut:Hel", ModelBrokeOffError),
        ("drop:Hel", ModelBrokeOffError),
        ("nonsense:Hel", ModelBrokeOffError),
        ("mute:", ModelUnreachableError),
        ("die:", ModelUnreachableError),
    ],
)
async def test_each_failure_is_an_error_of_ours(model: LocalModel, wish: str, kind: type[ModelError]) -> None:
    assert type(await failure(model, wish)) is kind


async def test_a_server_that_died_is_started_again(model: LocalModel) -> None:
    await pieces_of(model, asking("say:Hello"))
    server = server_of(model)
    before = server.pid
    assert before is not None
    os.kill(before, signal.SIGKILL)
    os.waitid(os.P_PID, before, os.WEXITED | os.WNOWAIT)

    assert text_of(await pieces_of(model, asking("say:Hello"))) == "Hello"
    assert server.pid != before


@pytest.mark.guarantee("A11", "D10")
async def test_closing_early_is_noticed_by_the_server(model: LocalModel, tmp_path: Path) -> None:
    reply = streaming(model, asking("forever:"))
    assert await anext(reply) == TextPiece(text="on ")
    async with asyncio.timeout(1):
        await reply.aclose()
        while not (tmp_path / "model.left").exists():
            await asyncio.sleep(0.01)


@pytest.mark.guarantee("A11")
async def test_a_model_that_takes_long_to_load_blocks_nothing_and_can_be_left(tmp_path: Path) -> None:
    model = LocalModel(str(weights(tmp_path, "slow")))
    waiting = asyncio.ensure_future(anext(streaming(model)))
    await asyncio.sleep(0.1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    pid = server_of(model).pid
    assert pid is not None

    started_s = time.monotonic()
    model.close()

    assert time.monotonic() - started_s < 3
    assert not is_alive(pid)


async def test_many_can_ask_at_once_and_one_process_serves_them(tmp_path: Path) -> None:
    path = str(weights(tmp_path))
    first, second = LocalModel(path), make_model(f"local:{path}")
    assert isinstance(second, LocalModel)
    replies = await asyncio.gather(*(pieces_of(one, asking("say:Hello")) for one in (first, second) * 5))

    assert {text_of(reply) for reply in replies} == {"Hello"}
    assert server_of(first) is server_of(second)

    pid = server_of(first).pid
    assert pid is not None
    first.close()
    first.close()
    assert is_alive(pid)
    assert text_of(await pieces_of(second, asking("say:Hello"))) == "Hello"
    second.close()
    assert not is_alive(pid)


async def test_a_model_that_was_closed_says_so(model: LocalModel) -> None:
    model.close()

    assert "has been closed" in str(await failure(model, "say:Hello"))


def test_a_model_that_was_never_asked_starts_nothing(model: LocalModel) -> None:
    assert server_of(model).pid is None
    assert model.cost_usd(ModelUsage(input_tokens=10**9)) == 0
    assert model.name.startswith("local:/")


@pytest.mark.parametrize("content", ["broken", "crash"])
async def test_a_file_that_cannot_be_loaded_is_told(tmp_path: Path, content: str) -> None:
    model = LocalModel(str(weights(tmp_path, content)))
    for _ in range(2):
        error = await failure(model, "say:Hello")
        assert type(error) is (UnknownModelError if content == "broken" else ModelUnreachableError)
    model.close()


def test_a_file_that_is_no_gguf_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_text("not a model")
    for wrong in (path, tmp_path, tmp_path / "nothing", "\0"):
        with pytest.raises(UnknownModelError, match="GGUF"):
            LocalModel(str(wrong))


def test_a_context_must_have_some_size(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="context_tokens"):
        LocalModel(str(weights(tmp_path)), context_tokens=0)


def test_without_the_package_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("endstop.models.local.find_spec", lambda name: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with pytest.raises(UnknownModelError, match=r"pip install 'endstop\[local\]'"):
        make_model(f"local:{weights(tmp_path)}")


@pytest.mark.parametrize("signal_", [None, signal.SIGKILL])
def test_no_server_outlives_the_process_that_started_it(
    tmp_path: Path, signal_: signal.Signals | None
) -> None:
    code = (
        "import asyncio, sys\n"
        "from endstop.models.llama import LlamaSettings, shared_server\n"
        f"settings = LlamaSettings(path={str(weights(tmp_path))!r}, context_tokens=128, threads=None)\n"
        "server = shared_server(settings)\n"
        "asyncio.run(server.address())\n"
        "print(server.pid, flush=True)\n"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert is_alive(pid)
        if signal_ is not None:
            owner.send_signal(signal_)
    deadline = time.monotonic() + 5
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)

    assert not is_alive(pid)


def test_a_server_that_does_not_end_by_itself_is_killed(tmp_path: Path) -> None:
    server = LlamaServer(LlamaSettings(path=str(weights(tmp_path)), context_tokens=128, threads=None))
    asyncio.run(server.address())
    assert server.pid is not None
    os.kill(server.pid, signal.SIGSTOP)
    pid = server.pid
    server.stop()
    server.stop()

    assert not is_alive(pid)
