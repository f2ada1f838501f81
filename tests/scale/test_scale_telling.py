"""What workers tell servers while a reply streams: whatever its letters, and whoever still talks of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import psycopg
import pytest

from endstop.loop.journal import Delta
from endstop.runner.scale.telling import CHANNEL, Teller
from endstop.server.remote import RemoteRun
from endstop.store.address import parse_address


def piece(text: str, *, lease: int = 1, after: int = 4, turn: int = 0, said: int = 0) -> dict[str, Any]:
    return {"r": "run_1", "f": lease, "a": after, "t": turn, "x": text, "o": said}


def heard(run: RemoteRun) -> str | None:
    reply = run.reply_now()
    return None if reply is None else "".join(text for _, text in reply.pieces)


@pytest.mark.parametrize("letter", ["a", "é", "界", "🐢", "\x00", "\ud800", '"'])
async def test_long_pieces_of_any_letters_are_told_whole(letter: str, postgres_url: str) -> None:
    address = parse_address(postgres_url)
    text = letter * 5_000
    teller = Teller(address)
    listening = await psycopg.AsyncConnection.connect(address.target, autocommit=True)
    async with listening:
        await listening.execute(f"LISTEN {CHANNEL}".encode())
        teller.start()
        teller.of("run_1")(Delta(run_id="run_1", scope="run", turn=0, text=text))
        told = ""
        async with asyncio.timeout(10):
            async for notification in listening.notifies():
                entries = json.loads(notification.payload)
                assert entries[0]["o"] == len(told)
                told += "".join(entry["x"] for entry in entries)
                if len(told) >= len(text):
                    break
        await teller.stop()
    assert told == text


def test_pieces_make_a_reply_and_its_end_ends_it() -> None:
    run = RemoteRun()
    run.hear(piece("Once "))
    run.hear(piece("upon", said=5))
    assert heard(run) == "Once upon"
    run.hear({"r": "run_1", "f": 1, "s": 5, "e": 1})
    assert heard(run) is None


def test_a_piece_that_is_missing_makes_the_reply_come_whole() -> None:
    run = RemoteRun()
    run.hear(piece("Once "))
    run.hear(piece("time", said=9))
    assert heard(run) is None
    run.hear(piece(" ago", said=13))
    assert heard(run) is None


def test_a_worker_that_has_lost_the_run_is_not_listened_to_any_more() -> None:
    run = RemoteRun()
    run.hear(piece("Old ", lease=1))
    run.hear({"r": "run_1", "f": 5, "s": 5})
    assert heard(run) is None, "another has taken the run"
    run.hear(piece("Old ", lease=1, after=6))
    assert heard(run) is None
    run.hear(piece("New ", lease=5, after=6))
    run.hear(piece("words", lease=1, after=6, said=4))
    run.hear({"r": "run_1", "f": 1, "s": 7, "e": 1})
    assert heard(run) == "New "
