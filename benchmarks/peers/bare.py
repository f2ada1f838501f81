"""The floor: a loop written by hand, without a framework. With ``sqlite:FILE`` it commits every turn."""

from __future__ import annotations

import json
import sqlite3
import sys
from typing import Any

from peer import ANSWER, QUESTION, Script, serve


class BareLoop:
    def __init__(self, address: str) -> None:
        self._path = address.removeprefix("sqlite:") if address else None
        self._connection: sqlite3.Connection | None = None

    async def open(self) -> None:
        if self._path is not None:
            self._connection = sqlite3.connect(self._path, isolation_level=None)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute("CREATE TABLE IF NOT EXISTS turns (id INTEGER PRIMARY KEY, line TEXT)")

    async def run(self, script: Script) -> str:
        messages: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]
        while True:
            reply = await _model(script, messages)
            messages.append(reply)
            if "call" not in reply:
                return reply["content"]
            arguments = json.loads(reply["call"]["arguments"])
            result = await _look(script, **arguments)
            messages.append({"role": "tool", "content": result})
            if self._connection is not None:
                self._connection.execute("INSERT INTO turns (line) VALUES (?)", (json.dumps(messages[-2:]),))

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


async def _model(script: Script, messages: list[dict[str, Any]]) -> dict[str, Any]:
    number = await script.next((len(messages) - 1) // 2)
    if number is None:
        return {"role": "assistant", "content": ANSWER}
    call = {"id": f"call_{number}", "tool": "look", "arguments": f'{{"number": {number}}}'}
    return {"role": "assistant", "content": "", "call": call}


async def _look(script: Script, number: int) -> str:
    return script.look(number)


if __name__ == "__main__":
    serve(BareLoop(sys.argv[1] if len(sys.argv) > 1 else ""))
