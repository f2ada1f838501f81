"""Listening and ending: ports, doors, signals, and connections that send nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from gated_server import Gated

from endstop.app import App, Config, SystemClock
from endstop.errors import AccessError, InvalidValueError
from endstop.ports import StoredUser
from endstop.runner import Runner
from endstop.server.connections import BriskProtocol, Silent
from endstop.server.hosts import Hosts
from endstop.server.serving import Door, ListenError, access_for, listen, require_door, serve
from endstop.server.tokens import new_token
from endstop.testing import MemoryStore

ME = "/api/session"


def port_of(listening: socket.socket) -> int:
    return listening.getsockname()[1]


# ── where ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_port_that_is_taken_gives_way_to_a_free_one() -> None:
    with listen(Door(port=0)) as first:
        taken = port_of(first)
        with listen(Door(port=taken)) as second, listen(Door(port=taken)) as third:
            assert len({taken, port_of(second), port_of(third)}) == 3


def has_six() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as tried:
            tried.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", *(["::1"] if has_six() else [])])
def test_it_listens_only_where_it_was_told_to(host: str) -> None:
    with listen(Door(host=host, port=0)) as listening:
        assert listening.getsockname()[0] in ("127.0.0.1", "::1")


def test_an_address_that_is_not_of_this_machine_is_told() -> None:
    with pytest.raises(ListenError, match=r"cannot listen at 192\.0\.2\.1 port 8765.*--host"):
        listen(Door(host="192.0.2.1"))


@pytest.mark.parametrize(
    ("door", "field_name"),
    [
        (Door(port=-1), "port"),
        (Door(port=65_536), "port"),
        (Door(host="example.org"), "host"),
        (Door(host=""), "host"),
        (Door(host="127.0.0.1:80"), "host"),
    ],
)
def test_a_door_that_makes_no_sense_is_refused(door: Door, field_name: str) -> None:
    with pytest.raises(InvalidValueError) as refused:
        require_door(door)
    assert refused.value.field == field_name


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "[::1]", "localhost", "0.0.0.0", "::"])
def test_a_door_at_an_address_is_fine(host: str) -> None:
    require_door(Door(host=host))


@pytest.mark.parametrize(
    ("door", "is_private"),
    [
        (Door(), True),
        (Door(host="::1"), True),
        (Door(host="localhost"), True),
        (Door(host="0.0.0.0"), False),
        (Door(allowed_hosts=("endstop.example.org",)), False),
        (Door(is_https=True), False),
    ],
)
def test_a_door_is_private_only_if_no_proxy_can_be_in_front_of_it(door: Door, is_private: bool) -> None:
    assert door.is_private is is_private
    assert (door.hosts(8765).port == 8765) is is_private


@pytest.fixture
def app(tmp_path: Path) -> App:
    store = MemoryStore()
    runner = Runner(store, clock=SystemClock())
    return App(config=Config(home=tmp_path, database_url="sqlite://"), store=store, runner=runner)


@pytest.mark.guarantee("I6")
@pytest.mark.parametrize("door", [Door(host="0.0.0.0"), Door(is_https=True)])
async def test_where_others_can_reach_it_it_does_not_start_without_a_token_that_is_good(
    app: App, door: Door
) -> None:
    now = time.time()
    await app.store.add_user(StoredUser(name="ana", added_at=now))
    with pytest.raises(AccessError, match="endstop users add NAME"):
        await access_for(app, door, 8765)
    revoked = new_token("ana", now=now).stored
    await app.store.add_token(revoked)
    await app.store.revoke_token(revoked.id, at=now)
    await app.store.add_token(new_token("ana", days=1, now=now - 90_000).stored)
    with pytest.raises(AccessError, match="nobody has a token that is good"):
        await access_for(app, door, 8765)
    await app.store.add_token(new_token("ana", now=now).stored)
    assert (await access_for(app, door, 8765)).owner is None


async def test_on_loopback_it_starts_at_once_for_the_user_of_the_configuration(app: App) -> None:
    access = await access_for(app, Door(), 4711)
    assert (access.owner, access.hosts) == ("me", Hosts.loopback(4711))


# ── until it is told to end ───────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True, kw_only=True)
class Running:
    """A server at a real port, in this process."""

    port: int
    task: asyncio.Task[bool]
    seconds_given: list[float] = field(default_factory=list[float])
    is_finished: asyncio.Event = field(default_factory=asyncio.Event)
    """Set it, and the turns under way are over."""
    is_told: bool = False

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def running(make: Callable[[int], Any]) -> AsyncGenerator[Running]:
    listening = listen(Door(port=0))
    ready = asyncio.Event()
    port = port_of(listening)

    async def stop(seconds: float) -> None:
        made.seconds_given.append(seconds)
        if seconds:
            await made.is_finished.wait()

    def told() -> None:
        made.is_told = True

    task = asyncio.create_task(
        serve(make(port), listening, on_stop=stop, on_ready=ready.set, on_stopping=told)
    )
    made = Running(port=port, task=task)
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    try:
        yield made
    finally:
        made.is_finished.set()
        if not task.done():
            os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.gather(task, return_exceptions=True)
        listening.close()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Running]:
    async with running(lambda port: Gated(tmp_path, hosts=Hosts.loopback(port)).asgi) as made:
        yield made


async def status(server: Running, path: str = ME, **options: Any) -> int:
    async with httpx.AsyncClient(timeout=10) as client:
        return (await client.get(server.address + path, **options)).status_code


@pytest.mark.guarantee("D10")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_the_first_signal_lets_turns_finish_while_people_still_read(
    server: Running, number: signal.Signals
) -> None:
    os.kill(os.getpid(), number)
    await asyncio.sleep(0.2)
    assert (server.is_told, server.seconds_given, server.task.done()) == (True, [60.0], False)
    assert await status(server, "/") == 200
    server.is_finished.set()
    assert await server.task is True
    with pytest.raises(httpx.ConnectError):
        await status(server)


async def test_the_second_signal_ends_it_at_once(server: Running) -> None:
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.sleep(0.1)
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.sleep(0.1)
    assert server.seconds_given == [60.0, 0.0]
    server.is_finished.set()  # as cutting the turns does
    assert await server.task is False


async def test_signals_are_as_before_when_it_has_ended(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    async with running(lambda port: Gated(tmp_path, hosts=Hosts.loopback(port)).asgi) as server:
        assert signal.getsignal(signal.SIGINT) != before
        server.is_finished.set()
        os.kill(os.getpid(), signal.SIGINT)
        await server.task
    assert signal.getsignal(signal.SIGINT) == before


async def test_a_server_that_cannot_get_ready_says_so() -> None:
    @asynccontextmanager
    async def failing(_: FastAPI) -> AsyncGenerator[None]:
        raise RuntimeError("no")
        yield

    async with running(lambda _: FastAPI(lifespan=failing)) as server:
        with pytest.raises(ListenError, match="could not get ready"):
            await server.task


# ── connections that send nothing, or too much ────────────────────────────────────────────────────────────


def connected(server: Running, sent: bytes = b"") -> socket.socket:
    client = socket.create_connection(("127.0.0.1", server.port))
    client.settimeout(5)
    client.sendall(sent)
    return client


async def closed(client: socket.socket) -> bytes:
    """All that comes until the other side closes."""

    def read() -> bytes:
        got = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := client.recv(65_536):
                got += piece
        return got

    with client:
        return await asyncio.to_thread(read)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: "])
async def test_one_who_does_not_send_a_whole_head_is_not_waited_for(
    server: Running, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BriskProtocol, "head_s", 0.2)
    assert await asyncio.wait_for(closed(connected(server, sent)), 3) == b""


async def test_letters_one_by_one_do_not_buy_time(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BriskProtocol, "head_s", 0.3)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)

    async def trickle() -> None:
        while True:
            writer.write(b"G")
            await asyncio.sleep(0.05)

    trickling = asyncio.create_task(trickle())
    with contextlib.suppress(ConnectionResetError):
        assert await asyncio.wait_for(reader.read(), 3) == b""
    trickling.cancel()
    writer.close()


async def test_a_second_request_on_a_connection_must_come_whole_too(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BriskProtocol, "head_s", 0.3)
    request = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()
    got = await asyncio.wait_for(closed(connected(server, request + request + b"GET /")), 3)
    assert got.count(b"HTTP/1.1 200 OK") == 2


async def test_a_connection_is_kept_between_requests(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BriskProtocol, "head_s", 0.2)
    async with httpx.AsyncClient() as client:
        for _ in range(3):
            assert (await client.get(f"{server.address}/")).status_code == 200
            await asyncio.sleep(0.3)


async def test_the_oldest_of_too_many_silent_connections_goes(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = Silent(most=3)
    monkeypatch.setattr(BriskProtocol, "silent", silent)
    clients = [connected(server) for _ in range(3)]
    await asyncio.sleep(0.1)
    assert await status(server, "/") == 200
    assert await asyncio.wait_for(closed(clients[0]), 3) == b""
    await asyncio.sleep(0.1)
    assert len(silent) == 2
    for client in clients[1:]:
        client.close()
    await asyncio.sleep(0.1)
    assert len(silent) == 0


async def test_a_head_that_is_too_large_is_refused(server: Running) -> None:
    sent = b"GET / HTTP/1.1\r\nHost: x\r\nX-A: " + b"a" * 200_000
    try:
        got = await closed(connected(server, sent))
    except OSError:  # it closes while we are still sending
        got = b""
    assert got == b"" or got.startswith(b"HTTP/1.1 400")
    assert await status(server, "/") == 200


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX-A : b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX-A: b\x00c\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET http://evil.example.org/ HTTP/1.1\r\nHost: evil.example.org\r\nConnection: close\r\n\r\n",
    ],
)
async def test_a_head_that_is_none_is_refused_and_nobody_is_harmed(server: Running, head: bytes) -> None:
    got = await asyncio.wait_for(closed(connected(server, head)), 5)
    assert got.startswith((b"HTTP/1.1 400", b"HTTP/1.1 403"))
    assert await status(server, "/") == 200
