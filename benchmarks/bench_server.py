"""What the server costs beside a bare FastAPI endpoint that only yields the same events.

Both run in a process of their own and are called by the same caller, in turns. The model is scripted and
instant, so what is measured is all the rest: access, the run with its governor, the record in SQLite, the
stream. At 1, 50 and 500 streams at once: requests per second, and the time to the first chunk. Then the
memory of an open stream, the time of a settings save under that load, and a thousand runs at once, of which
every one must end with an audit that holds.

    python benchmarks/bench_server.py [requests per level, default 500]
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

from server_contenders import AT_REAL_PACE, REAL_S

LEVELS = (1, 50, 500)
REQUESTS = int(sys.argv[1]) if len(sys.argv) > 1 else 500
MOST_SAVES = 500
"""So many saves of settings are timed, or as many as 20 seconds are enough for."""
RUNS_AT_ONCE = 1_000
CONTENDERS = Path(__file__).parent / "server_contenders.py"
ASK = json.dumps({"query": "Where are the limits checked?"}).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One server, in a process of its own."""

    name: str
    pid: int
    port: int
    tokens: Sequence[str]
    """One for each user."""

    def request(self, method: str, path: str, body: bytes = b"", *, user: int = 0) -> bytes:
        token = self.tokens[user % len(self.tokens)]
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + body

    @property
    def memory_kb(self) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        return int(status.partition("VmRSS:")[2].split()[0])


@contextmanager
def started(name: str, given: Path) -> Generator[Contender]:
    command = [sys.executable, str(CONTENDERS), name, str(given)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port, *tokens = process.stdout.readline().split()
        try:
            yield Contender(name=name, pid=process.pid, port=int(port), tokens=tokens)
        finally:
            process.terminate()


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """One request: when its first chunk came, when it was over, and what it said."""

    first_s: float
    whole_s: float
    body: bytes
    user: int

    @property
    def run_id(self) -> str:
        return self.body.lower().partition(b"x-run-id: ")[2].split()[0].decode()


async def called(server: Contender, method: str, path: str, body: bytes = b"", *, user: int = 0) -> Called:
    began = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(server.request(method, path, body, user=user))
    got, first_s = b"", 0.0
    while piece := await reader.read(65_536):
        got += piece
        if not first_s and b"data:" in got:
            first_s = time.perf_counter() - began
    writer.close()
    assert got.startswith(b"HTTP/1.1 200"), got[:300]
    return Called(first_s=first_s, whole_s=time.perf_counter() - began, body=got, user=user)


async def asked(server: Contender, *, at_once: int, requests: int) -> tuple[float, list[Called]]:
    """So many questions, so many of them at once: requests per second, and each of them."""
    left = requests
    done: list[Called] = []

    async def ask(user: int) -> None:
        nonlocal left
        while left > 0:
            left -= 1
            done.append(await called(server, "POST", "/api/oracle/query", ASK, user=user))

    began = time.perf_counter()
    await asyncio.gather(*(ask(user) for user in range(at_once)))
    for one in done:
        assert b'"type":"done"' in one.body, one.body[-300:]
    return requests / (time.perf_counter() - began), done


def shown(times: list[float]) -> str:
    cuts = quantiles(times, n=100)
    return f"{cuts[49] * 1_000:9.1f} {cuts[98] * 1_000:9.1f}"


async def levels(servers: list[Contender]) -> None:
    print(f"{'at once':>8}  {'server':<8} {'requests/s':>11}   first chunk p50, p99 in ms")
    for at_once in LEVELS:
        for server in servers:
            rate, done = await asked(server, at_once=at_once, requests=max(REQUESTS, at_once))
            print(f"{at_once:>8}  {server.name:<8} {rate:>11.1f}   {shown([one.first_s for one in done])}")


async def memory(server: Contender, *, streams: int = 500) -> None:
    """What a stream costs that is open and silent."""
    await asked(server, at_once=5, requests=20)  # what comes with the first requests is not counted
    before = server.memory_kb
    opened = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(streams)]
    for reader, writer in opened:
        writer.write(server.request("GET", "/api/notifications/stream"))
        await reader.readuntil(b"begun")
    after = server.memory_kb
    for _, writer in opened:
        writer.close()
    print(f"{server.name:<8} {(after - before) / streams:6.1f} kB for each of {streams} open streams")


async def saves(server: Contender, *, at_once: int, is_paced: bool = False) -> None:
    """Settings saved one after the other while so many streams are open, each asking anew when it is over.

    With an instant model that is as much as the server can do, and more: what a save waits for is its turn.
    Paced, the streams are as many, and the models as slow as real ones.
    """
    load = asyncio.create_task(paced(server, at_once) if is_paced else endless(server, at_once))
    await asyncio.sleep(2 * REAL_S if is_paced else 1)
    took: list[float] = []
    until = time.perf_counter() + 20
    while len(took) < MOST_SAVES and time.perf_counter() < until:
        body = json.dumps({"max_iterations": 1 + len(took) % 100}).encode()
        took.append((await called(server, "PUT", "/api/settings/agent-config", body)).whole_s)
    load.cancel()
    await asyncio.gather(load, return_exceptions=True)
    pace = "at a real pace" if is_paced else "as fast as it goes"
    print(f"a settings save, {at_once:>3} streams {pace:<18} p50, p99 {shown(took)} ms ({len(took)} saves)")


async def endless(server: Contender, at_once: int) -> None:
    await asked(server, at_once=at_once, requests=10**9)


async def paced(server: Contender, at_once: int) -> None:
    """So many streams, begun one after the other, so that they do not all end together."""
    slowly = json.dumps({"query": AT_REAL_PACE}).encode()

    async def ask(number: int) -> None:
        await asyncio.sleep(2 * REAL_S * number / at_once)
        while True:
            await called(server, "POST", "/api/oracle/query", slowly, user=number)

    await asyncio.gather(*(ask(number) for number in range(at_once)))


async def thousand(server: Contender) -> None:
    """Many runs at once: all complete, and every audit holds."""
    began = time.perf_counter()
    _, done = await asked(server, at_once=RUNS_AT_ONCE, requests=RUNS_AT_ONCE)
    took = time.perf_counter() - began
    held = 0
    for one in done:
        path = f"/api/runs/{one.run_id}/audit"
        held += b'"holds":true,"checks"' in (await called(server, "GET", path, user=one.user)).body
    print(f"{len(done):,} runs at once: all done in {took:.1f} s, {held:,} audits hold")


async def main() -> None:
    with tempfile.TemporaryDirectory() as home, started("endstop", Path(home)) as ours:
        recorded = (await called(ours, "POST", "/api/oracle/query", ASK)).body.partition(b"\r\n\r\n")[2]
        events = Path(home) / "events"
        events.write_bytes(b"".join(part + b"\n\n" for part in plain(recorded).split(b"\n\n") if part))
        with started("bare", events) as bare:
            for server in (bare, ours):  # first: later there is memory left over from what went before
                await memory(server)
            await levels([bare, ours])
        await saves(ours, at_once=0)
        for at_once in LEVELS[1:]:
            await saves(ours, at_once=at_once, is_paced=True)
            await saves(ours, at_once=at_once)
        await thousand(ours)


def plain(chunked: bytes) -> bytes:
    """A body without the sizes that HTTP writes between its pieces."""
    whole = b""
    while chunked:
        size, _, rest = chunked.partition(b"\r\n")
        whole += rest[: int(size, 16)]
        chunked = rest[int(size, 16) + 2 :]
    return whole


if __name__ == "__main__":
    asyncio.run(main())
