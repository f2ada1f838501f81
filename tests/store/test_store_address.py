"""Addresses of databases: two kinds, and never a password shown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.errors import InvalidValueError
from endstop.store import open_store, parse_address
from endstop.store.texts import restored, restored_or_none, stored, stored_or_none


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("sqlite:///runs.db", "runs.db"),
        ("sqlite:////var/lib/runs.db", "/var/lib/runs.db"),
        ("sqlite:///C:/runs.db", "C:/runs.db"),
        ("sqlite:///my runs 50%.db", "my runs 50%.db"),
    ],
)
def test_three_slashes_and_a_path_are_a_file(url: str, target: str) -> None:
    address = parse_address(url)
    assert (address.kind, address.target, address.shown) == ("sqlite", target, url)
    assert not address.is_memory


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_a_database_in_memory_has_no_path(url: str) -> None:
    assert parse_address(url).is_memory


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://localhost/runs", "postgresql://localhost/runs"),
        ("postgres://ana@db:5433/runs", "postgresql://ana@db:5433/runs"),
        ("postgresql+psycopg://ana:geheim@db/runs", "postgresql://ana:***@db/runs"),
        ("postgresql:///runs?host=/run/pg", "postgresql:///runs?host=/run/pg"),
        ("postgresql://a:geheim@h1:1,h2:2/runs", "postgresql://a:***@h1:1,h2:2/runs"),
        ("postgresql://ana:@[::1]:5432/runs", "postgresql://ana@[::1]:5432/runs"),
        (
            "postgresql://db/runs?user=a&password=ge%20heim&sslpassword=x",
            "postgresql://db/runs?user=a&password=***&sslpassword=***",
        ),
    ],
)
def test_a_server_is_shown_without_its_password(url: str, shown: str) -> None:
    address = parse_address(url)
    assert (address.kind, address.shown) == ("postgresql", shown)
    assert address.target.startswith("postgresql://")
    assert "geheim" not in repr(address)


def test_secrets_are_taken_out_of_the_words_of_others() -> None:
    address = parse_address("postgresql://ana:ge%20heim@db/runs?sslpassword=other")
    assert address.masked("no ge%20heim, no ge heim, no other") == "no ***, no ***, no ***"


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("", "Name a database"),
        ("runs.db", "sqlite:///runs.db"),
        ("sqlite:///", "one of the two kinds"),
        ("sqlite://runs.db", "one of the two kinds"),
        ("sqlite:///runs.db?mode=ro", "no options"),
        ("mysql://ana:geheim@db/runs", "one of the two kinds"),
        ("postgresql://ana:ge:heim@db/runs", "%3A"),
        ("postgresql://ana:ge@heim@db/runs", "%40"),
        ("postgresql://ana:ge/heim@db/runs", "%2F"),
        ("postgresql://ana:geheim@db/runs#x", "%23"),
        ("sqlite:///a\x00b", "cannot be typed"),
        ("postgresql://ana:geheim\n@db/runs", "cannot be typed"),
    ],
)
async def test_anything_else_is_refused_with_advice_and_without_secrets(url: str, advice: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        await open_store(url)
    assert advice in caught.value.to_do
    assert "sqlite:///path/to/file.db" in caught.value.allowed
    assert "heim" not in str(caught.value)


async def test_what_is_no_text_is_no_address() -> None:
    wrong: Any = 7
    with pytest.raises(InvalidValueError, match="database is 7"):
        await open_store(wrong)


@given(st.text(st.characters(codec=None) | st.sampled_from("\x00\x1a0f\ud800")))
def test_every_text_can_be_stored_and_comes_back(text: str) -> None:
    kept = stored(text)
    kept.encode("utf-8")
    assert "\x00" not in kept
    assert restored(kept) == text
    assert restored_or_none(stored_or_none(text)) == text


def test_usual_texts_are_stored_as_they_are_and_none_is_none() -> None:
    assert stored("Wo ist „login“? 🔑\n") == "Wo ist „login“? 🔑\n"
    assert stored_or_none(None) is None
    assert restored_or_none(None) is None


@given(st.text(), st.text())
def test_different_texts_stay_different(first: str, second: str) -> None:
    assert (stored(first) == stored(second)) == (first == second)
