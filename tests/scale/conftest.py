"""A database server that a test may restart."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from postgres import PostgresServer, running_server, stop_server


@pytest.fixture
def own_server() -> Iterator[list[PostgresServer]]:
    """A database server that a test may restart; the last in the list is the one that runs."""
    with running_server() as server:
        server.run("CREATE DATABASE own TEMPLATE template0")
        servers = [server]
        yield servers
        stop_server(servers[-1])
