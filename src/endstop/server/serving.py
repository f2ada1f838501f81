"""Listening: a port that is free, and an end that waits for the turns under way (D10)."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import uvicorn

from endstop.app import App, SystemClock
from endstop.errors import AccessError, EndstopError, InvalidValueError
from endstop.ports import WholeStore
from endstop.server.access import Access
from endstop.server.connections import BriskProtocol
from endstop.server.hosts import Hosts, is_loopback
from endstop.server.pace import set_process
from endstop.server.rate import QueryLimits
from endstop.server.tokens import is_good

DEFAULT_PORT = 8_765
FINISH_S = 60.0
"""How long turns under way may take to finish when the server is told to end. A second Ctrl-C cuts them."""

_LAST_WORDS_S = 5
"""How long streams then have to send what is left."""

_BACKLOG = 1_024
_PORTS_TRIED = 20


class ListenError(EndstopError):
    """The server cannot listen where it was told to."""

    code = "cannot_listen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Where a server listens, and under which names."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    allowed_hosts: tuple[str, ...] = ()
    is_https: bool = False
    """A proxy in front of it speaks HTTPS."""

    @property
    def is_private(self) -> bool:
        """Nobody but people at this machine can reach it: neither directly nor through a proxy."""
        return is_loopback(self.host) and not self.allowed_hosts and not self.is_https

    def hosts(self, port: int) -> Hosts:
        """The names it goes by, once it is known at which port it listens."""
        if self.is_private:
            return Hosts.loopback(port, self.host)
        return Hosts.beyond(self.host, self.allowed_hosts, is_https=self.is_https)


def listen(door: Door) -> socket.socket:
    """A socket that listens at the port, or at a free one near it if that is taken."""
    ports = [door.port, *range(door.port + 1, min(door.port + _PORTS_TRIED, 65_536)), 0]
    for port in ports:
        try:
            return _bound(door.host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise _cannot(door, error) from None
    raise AssertionError("port 0 is never taken")  # pragma: no cover


def _bound(host: str, port: int) -> socket.socket:
    is_six = ":" in host
    listening = socket.socket(socket.AF_INET6 if is_six else socket.AF_INET)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host.strip("[]"), port))
        listening.listen(_BACKLOG)
    except BaseException:
        listening.close()
        raise
    return listening


def _cannot(door: Door, error: OSError) -> ListenError:
    return ListenError(
        f"The server cannot listen at {door.host} port {door.port}: {error.strerror or error}",
        allowed="an address of this machine, and a port that you may use",
        to_do="Choose others with --host and --port",
    )


async def access_for(app: App, door: Door, port: int, *, limits: QueryLimits | None = None) -> Access:
    """Who may come in there. Refused if others could reach it and nobody has a token (I6)."""
    await require_tokens(app.store, door)
    owner = app.config.user if door.is_private else None
    return Access(app.store, hosts=door.hosts(port), owner=owner, limits=limits)


async def require_tokens(store: WholeStore, door: Door) -> None:
    """Raise if others could come to a door, and nobody could come in."""
    if door.is_private:
        return
    now = SystemClock().unix_s()
    if not any(is_good(token, now=now) for token in await store.tokens()):
        raise AccessError(
            f"Others could reach a server at {door.host}, and nobody has a token that is good",
            allowed="one user with a token at least",
            to_do="Make one first: endstop users add NAME, then endstop tokens create --user NAME",
        )


def require_door(door: Door) -> None:
    """Raise if it makes no sense."""
    if not 0 <= door.port < 65_536:
        raise InvalidValueError("port", door.port, allowed="0 (any that is free) to 65,535")
    if door.host.lower() == "localhost":
        return
    try:
        ip_address(door.host.strip("[]"))
    except ValueError:
        raise InvalidValueError(
            "host", door.host, allowed="an IP address, such as 127.0.0.1 or 0.0.0.0, or localhost"
        ) from None


class _Server(uvicorn.Server):
    """uvicorn, with signals left to us."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except SystemExit:  # uvicorn's way to say so; it has logged why
            raise ListenError(
                "The server could not get ready", to_do="Its log says why; endstop doctor may know more"
            ) from None
        set_process()  # everything is loaded by now
        self._on_ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


async def serve(
    asgi: Any,
    listening: socket.socket,
    *,
    on_stop: Callable[[float], Awaitable[None]],
    on_ready: Callable[[], None] = lambda: None,
    on_stopping: Callable[[], None] = lambda: None,
) -> bool:
    """Serve until a signal says to end. True if it ended in peace, False if a second signal cut it.

    ``on_stop(seconds)`` lets the turns under way finish within so many seconds, and ends the streams;
    it is called again with 0 if somebody is impatient.
    """
    config = uvicorn.Config(
        asgi,
        http=BriskProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=_LAST_WORDS_S,
        backlog=_BACKLOG,
    )
    server = _Server(config, on_ready)
    stopping = _Stopping(server, on_stop, on_stopping)
    with stopping.on_signals():
        await server.serve(sockets=[listening])
        await stopping.done()
        if server.force_exit:  # uvicorn leaves this out then; by now, it takes no time
            await server.lifespan.shutdown()
    return not server.force_exit


class _Stopping:
    """What signals do: the first has the turns finish, the second ends it at once."""

    def __init__(
        self,
        server: uvicorn.Server,
        on_stop: Callable[[float], Awaitable[None]],
        on_stopping: Callable[[], None],
    ) -> None:
        self._server = server
        self._on_stop = on_stop
        self._on_stopping = on_stopping
        self._tasks: list[asyncio.Task[None]] = []

    @contextlib.contextmanager
    def on_signals(self) -> Generator[None]:
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.getsignal(number) for number in numbers}
        with contextlib.suppress(NotImplementedError):  # not on every system; there the process just ends
            for number in numbers:
                loop.add_signal_handler(number, self.stop)
        try:
            yield
        finally:
            for number in numbers:
                with contextlib.suppress(NotImplementedError):
                    loop.remove_signal_handler(number)
                signal.signal(number, before[number])

    def stop(self) -> None:
        if self._tasks:
            self._server.should_exit = self._server.force_exit = True
            self._tasks.append(asyncio.ensure_future(self._finish(0.0)))
            return
        self._tasks.append(asyncio.ensure_future(self._finish(FINISH_S)))
        self._on_stopping()

    async def _finish(self, seconds: float) -> None:
        """Whoever watches a turn sees it end: streams and reading go on until then."""
        try:
            await self._on_stop(seconds)
        finally:
            self._server.should_exit = True

    async def done(self) -> None:
        await asyncio.gather(*self._tasks)
