"""``endstop users`` and ``endstop tokens``: added, listed, revoked; the secret is shown once."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from cli_program import Endstop


def test_a_user_is_added_listed_and_removed_with_their_tokens(endstop: Endstop) -> None:
    assert "No users yet" in endstop("users", "list").out
    added = endstop("users", "add", "ana")
    assert (added.code, "endstop tokens create --user ana" in added.out) == (0, True)
    assert "ana is a user already" in endstop("users", "add", "ana").out
    assert endstop("users", "add", "bob", "--json").json == {"user": "bob", "is_new": True}
    endstop("tokens", "create", "--user", "ana")
    listed = endstop("users", "list").out.splitlines()
    assert [line.split()[0] for line in listed] == ["user", "ana", "bob"]
    assert listed[1].endswith("1  never")
    told = endstop("users", "list", "--json").json
    assert [(each["user"], each["good_tokens"], each["used_at"]) for each in told] == [
        ("ana", 1, None),
        ("bob", 0, None),
    ]
    assert "Removed ana, with 1 token." in endstop("users", "remove", "ana").out
    assert endstop("users", "remove", "bob", "--json").json == {"user": "bob", "tokens": 0}
    assert endstop("tokens", "list", "--json").json == []


def test_a_token_is_shown_once_and_kept_only_as_a_hash(endstop: Endstop, home: Path) -> None:
    made = endstop("tokens", "create", "--name", "laptop", "--json").json
    assert made["token"].startswith("es_")
    assert (made["user"], made["name"]) == ("me", "laptop")
    shown = endstop("tokens", "create", "--user", "me", "--days", "7")
    assert shown.out.splitlines()[1].startswith("es_")
    assert "shown this once" in shown.out
    listed = endstop("tokens", "list")
    assert [line.count(" good ") for line in listed.out.splitlines()[1:]] == [1, 1]
    assert made["token"] not in listed.out + endstop("tokens", "list", "--json").out
    stored = b"".join(file.read_bytes() for file in home.iterdir() if file.is_file())
    assert made["token"].encode() not in stored
    assert made["id"].encode() in stored


def test_tokens_are_listed_by_user_with_their_state(endstop: Endstop, home: Path) -> None:
    endstop("users", "add", "ana")
    made = [endstop("tokens", "create", "--user", "ana", "--json").json["id"] for _ in range(3)]
    first, second, third = made
    endstop("tokens", "create")
    revoked = endstop("tokens", "revoke", first)
    assert (revoked.code, f"Revoked {first} of ana" in revoked.out) == (0, True)
    with sqlite3.connect(home / "endstop.db") as database:
        database.execute(f"UPDATE endstop_tokens SET expires_at = 1.0, used_at = 1.0 WHERE id = '{second}'")
    database.close()
    states = {each["id"]: each["state"] for each in endstop("tokens", "list", "--user", "ana", "--json").json}
    assert states == {first: "revoked", second: "expired", third: "good"}
    assert endstop("tokens", "revoke", third, "--json").json["state"] == "revoked"
    assert len(endstop("tokens", "list").out.splitlines()) == 5
    assert "No tokens" in endstop("tokens", "list", "--user", "nobody").out
    used = [each["used_at"] for each in endstop("users", "list", "--json").json if each["user"] == "ana"]
    assert used == ["1970-01-01T00:00:01.000+00:00"]
    assert "1970" in endstop("users", "list").out


@pytest.mark.guarantee("I7")
@pytest.mark.parametrize(
    ("arguments", "code", "to_do"),
    [
        (("users", "add", "two words"), "invalid_value", "without spaces"),
        (("users", "remove", "eve"), "unknown_user", "endstop users add eve"),
        (("tokens", "create", "--user", "eve"), "unknown_user", "endstop users add eve"),
        (("tokens", "create", "--days", "0"), "invalid_value", ""),
        (("tokens", "revoke", "token_1"), "unknown_token", "endstop tokens list"),
    ],
)
def test_what_cannot_be_done_is_refused_with_what_to_do(
    endstop: Endstop, arguments: tuple[str, ...], code: str, to_do: str
) -> None:
    done = endstop(*arguments, "--json")
    assert (done.code, done.error["code"]) == (2, code)
    assert to_do in done.error["to_do"]


@pytest.mark.parametrize("command", ["users", "tokens", "serve"])
def test_the_help_teaches_with_examples(endstop: Endstop, command: str) -> None:
    told = endstop(command, "--help")
    assert told.code == 0
    assert "Examples:" in told.out
