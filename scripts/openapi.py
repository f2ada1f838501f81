"""Writes schemas/openapi.json: the interface of the server, as it describes itself.

python scripts/openapi.py            write the file
python scripts/openapi.py --check    fail if the file is not as it would be written
"""

from __future__ import annotations

import json
from pathlib import Path

from generated_page import ROOT, write_or_check

from endstop.app import App, Config, SystemClock
from endstop.runner import Runner
from endstop.server.access import Access
from endstop.server.server import make_server
from endstop.testing import MemoryStore

FILE = ROOT / "schemas" / "openapi.json"


def openapi() -> str:
    """The description, as text. The server is put together, and nothing of it is started."""
    store = MemoryStore()
    config = Config(home=Path("nowhere"), database_url="sqlite:///:memory:")
    app = App(config=config, store=store, runner=Runner(store, clock=SystemClock()))
    server = make_server(app, Access.on_loopback(store, user=config.user, port=8765))
    return json.dumps(server.openapi(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> None:
    FILE.parent.mkdir(exist_ok=True)
    write_or_check(FILE, openapi())


if __name__ == "__main__":
    main()
