"""The rules of access that need no server: names and pages, tokens, how much one user may start."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.errors import ForbiddenError, InvalidValueError, TooManyError
from endstop.server.hosts import Hosts, is_loopback, require_not_from_elsewhere
from endstop.server.rate import QueryLimits, QueryRate
from endstop.server.tokens import hashed, is_good, is_same, is_secret, new_token, user_name

HOME = Hosts.loopback(8765)
OFFICE = Hosts.beyond("0.0.0.0", ["Endstop.Example.org"])
SECURE = Hosts.beyond("0.0.0.0", ["endstop.example.org"], is_https=True)


def allows_host(hosts: Hosts, header: str) -> bool:
    try:
        hosts.require_host(header)
    except ForbiddenError:
        return False
    return True


def allows_page(hosts: Hosts, host: str, *, origin: str | None = None, referer: str | None = None) -> bool:
    try:
        hosts.require_own_page(host, origin=origin, referer=referer)
    except ForbiddenError:
        return False
    return True


@pytest.mark.guarantee("I6")
@pytest.mark.parametrize(
    ("header", "is_allowed"),
    [
        ("127.0.0.1:8765", True),
        ("localhost:8765", True),
        ("LOCALHOST:8765", True),
        ("localhost.:8765", True),
        ("[::1]:8765", True),
        ("127.0.0.1", False),
        ("127.0.0.1:8766", False),
        ("localhost:80", False),
        ("evil.example.org:8765", False),
        ("localhost.evil.example.org:8765", False),
        ("127.0.0.1.nip.io:8765", False),
        ("192.168.1.5:8765", False),
        ("0.0.0.0:8765", False),
        ("2130706433:8765", False),
        ("user@127.0.0.1:8765", False),
        ("127.0.0.1:8765@evil.example.org", False),
        ("127.0.0.1:8765/", False),
        ("127.0.0.1:8765, evil.example.org", False),
        ("127.0.0.1:8765\x00", False),
        ("127.0.0.1:8765\n", False),
        ("127.0.0.1:", False),
        ("127.0.0.1:99999", False),
        ("127.0.0.1:٨٧٦٥", False),
        ("[::1:8765", False),
        ("::1:8765", False),
        (" 127.0.0.1:8765", False),
        ("", False),
    ],
)
def test_on_loopback_only_our_names_at_our_port_are_ours(header: str, is_allowed: bool) -> None:
    assert allows_host(HOME, header) is is_allowed


@pytest.mark.parametrize(
    ("header", "is_allowed"),
    [
        ("endstop.example.org", True),
        ("endstop.example.org:8443", True),
        ("ENDSTOP.example.org", True),
        ("192.168.1.5:8765", True),
        ("[fe80::1]:8765", True),
        ("localhost:8765", True),
        ("rebound.example.net:8765", False),
        ("example.org", False),
        ("", False),
    ],
)
def test_beyond_loopback_addresses_and_the_names_that_were_given_are_ours(
    header: str, is_allowed: bool
) -> None:
    assert allows_host(OFFICE, header) is is_allowed


@pytest.mark.guarantee("I6")
@pytest.mark.parametrize(
    ("hosts", "host", "origin", "is_allowed"),
    [
        (HOME, "127.0.0.1:8765", "http://127.0.0.1:8765", True),
        (HOME, "localhost:8765", "http://localhost:8765", True),
        (HOME, "[::1]:8765", "http://[::1]:8765", True),
        (HOME, "127.0.0.1:8765", "http://localhost:8765", False),
        (HOME, "127.0.0.1:8765", "http://127.0.0.1:3000", False),
        (HOME, "127.0.0.1:8765", "http://127.0.0.1", False),
        (HOME, "127.0.0.1:8765", "https://127.0.0.1:8765", False),
        (HOME, "127.0.0.1:8765", "http://evil.example.org", False),
        (HOME, "127.0.0.1:8765", "http://127.0.0.1:8765.evil.example.org", False),
        (HOME, "127.0.0.1:8765", "http://evil.example.org#http://127.0.0.1:8765", False),
        (HOME, "127.0.0.1:8765", "http://127.0.0.1:8765/", False),
        (HOME, "127.0.0.1:8765", "null", False),
        (HOME, "127.0.0.1:8765", "file://", False),
        (HOME, "127.0.0.1:8765", "", False),
        (HOME, "not a host", "http://127.0.0.1:8765", False),
        (OFFICE, "endstop.example.org", "http://endstop.example.org", True),
        (OFFICE, "endstop.example.org:80", "http://endstop.example.org", True),
        (OFFICE, "endstop.example.org", "https://endstop.example.org", False),
        (SECURE, "endstop.example.org", "https://endstop.example.org", True),
        (SECURE, "endstop.example.org", "https://endstop.example.org:443", True),
        (SECURE, "endstop.example.org", "http://endstop.example.org", False),
    ],
)
def test_only_the_page_that_was_called_counts_as_ours(
    hosts: Hosts, host: str, origin: str, is_allowed: bool
) -> None:
    assert allows_page(hosts, host, origin=origin) is is_allowed


def test_without_an_origin_the_referer_is_looked_at() -> None:
    host = "127.0.0.1:8765"
    assert allows_page(HOME, host, referer="http://127.0.0.1:8765/runs/3?x=1")
    assert not allows_page(HOME, host, referer="http://evil.example.org/http://127.0.0.1:8765/")
    assert not allows_page(HOME, host, origin="null", referer="http://127.0.0.1:8765/")
    with pytest.raises(ForbiddenError, match="Programs use a token"):
        HOME.require_own_page(host, origin=None, referer=None)


@pytest.mark.parametrize("host", ["evil.example.org:8765", "127.0.0.1:9"])
def test_a_wrong_name_is_told_which_are_right(host: str) -> None:
    with pytest.raises(ForbiddenError, match=r"127\.0\.0\.1:8765, \[::1\]:8765, localhost:8765") as told:
        HOME.require_host(host)
    assert "--allowed-host" in told.value.to_do


@pytest.mark.parametrize(
    ("site", "mode", "method", "path", "is_allowed"),
    [
        (None, None, "POST", "/api/runs", True),
        ("same-origin", "cors", "POST", "/api/runs", True),
        ("none", "navigate", "GET", "/", True),
        ("cross-site", "navigate", "GET", "/", True),
        ("same-site", "navigate", "GET", "/runs/7", True),
        ("cross-site", "navigate", "GET", "/api/runs", False),
        ("cross-site", "navigate", "POST", "/", False),
        ("cross-site", "no-cors", "GET", "/", False),
        ("cross-site", None, "GET", "/", False),
        ("same-site", "cors", "GET", "/api/runs", False),
        ("cross-site", "cors", "DELETE", "/api/session", False),
        ("something new", "cors", "GET", "/api/runs", False),
    ],
)
def test_other_pages_may_link_here_and_nothing_else(
    site: str | None, mode: str | None, method: str, path: str, is_allowed: bool
) -> None:
    def look() -> None:
        require_not_from_elsewhere(site=site, mode=mode, method=method, path=path)

    if is_allowed:
        look()
    else:
        with pytest.raises(ForbiddenError, match="another page"):
            look()


@given(st.text(max_size=60))
def test_no_header_breaks_the_rules(text: str) -> None:
    for hosts in (HOME, OFFICE):
        allows_host(hosts, text)
        allows_page(hosts, text, origin=text)
        allows_page(hosts, "127.0.0.1:8765", referer=text)


@pytest.mark.parametrize(
    ("host", "is_one"),
    [
        ("127.0.0.1", True),
        ("127.0.0.2", True),
        ("::1", True),
        ("[::1]", True),
        ("Localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.5", False),
        ("localhost.example.org", False),
        ("", False),
    ],
)
def test_loopback_is_known(host: str, is_one: bool) -> None:
    assert is_loopback(host) is is_one


# ── tokens ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_token_is_random_long_enough_and_kept_only_as_its_hash() -> None:
    one, other = (new_token("ana", name="laptop", now=1_000.0) for _ in range(2))
    assert one.secret != other.secret
    assert is_secret(one.secret)
    assert len(one.secret) == 3 + 43
    assert one.secret not in repr(one.stored)
    assert is_same(one.stored.hashed, hashed(one.secret))
    assert not is_same(one.stored.hashed, hashed(other.secret))


@pytest.mark.parametrize(
    "text",
    ["", "es_", "x" * 46, "es_" + "a" * 42, "es_" + "a" * 44, "es_" + "ä" * 43, "es_" + "a" * 42 + "\n"],
)
def test_what_does_not_look_like_a_token_is_none(text: str) -> None:
    assert not is_secret(text)
    hashed(text + "\ud800")  # and no text whatever breaks the hash


def test_a_token_is_good_until_it_expires_or_is_revoked() -> None:
    token = new_token("ana", days=1, now=1_000.0).stored
    assert is_good(token, now=1_000.0 + 86_399)
    assert not is_good(token, now=1_000.0 + 86_400)
    assert not is_good(replace(token, revoked_at=1_001.0), now=1_002.0)


@pytest.mark.parametrize("days", [0, -1, 3_651, True, 1.5])
def test_days_out_of_bounds_are_refused(days: Any) -> None:
    with pytest.raises(InvalidValueError, match="days"):
        new_token("ana", days=days, now=0.0)


def test_names_with_spaces_and_the_like_are_refused() -> None:
    assert user_name("ana.B+c@example-1.org") == "ana.B+c@example-1.org"
    for bad in ("", "a b", "ana\n", "x" * 65, "../etc", "ana\x00"):
        with pytest.raises(InvalidValueError, match="user"):
            user_name(bad)
    for bad in ("x" * 101, "two\nlines"):
        with pytest.raises(InvalidValueError, match="name"):
            new_token("ana", name=bad, now=0.0)


# ── how much ──────────────────────────────────────────────────────────────────────────────────────────────


def started(rate: QueryRate, user: str, *, now_s: float, running: int = 0) -> None:
    rate.begun(user, rate.admit(user, running=running, now_s=now_s))


def test_a_user_may_start_so_many_a_minute_and_is_told_when_to_come_again() -> None:
    rate = QueryRate(QueryLimits(per_minute=30))
    for _ in range(30):
        started(rate, "ana", now_s=100.0)
    with pytest.raises(TooManyError, match=r"30 runs within a minute.*30 a minute") as refused:
        started(rate, "ana", now_s=100.0)
    assert refused.value.retry_after_s == pytest.approx(2.0)
    started(rate, "bob", now_s=100.0)
    started(rate, "ana", now_s=102.0)
    with pytest.raises(TooManyError):
        started(rate, "ana", now_s=102.5)


def test_a_user_may_have_so_many_under_way_those_that_just_begin_included() -> None:
    rate = QueryRate(QueryLimits(at_once=3))
    with pytest.raises(TooManyError, match="3 of your runs are under way"):
        rate.admit("ana", running=3, now_s=0.0)
    first = rate.admit("ana", running=1, now_s=0.0)
    rate.admit("ana", running=1, now_s=0.1)
    with pytest.raises(TooManyError):
        rate.admit("ana", running=1, now_s=0.2)
    rate.begun("ana", first)
    rate.admit("ana", running=1, now_s=0.3)


def test_a_start_that_nobody_told_the_end_of_is_forgotten() -> None:
    rate = QueryRate(QueryLimits(at_once=1))
    forgotten = rate.admit("ana", running=0, now_s=0.0)
    with pytest.raises(TooManyError):
        rate.admit("ana", running=0, now_s=9.9)
    rate.begun("ana", rate.admit("ana", running=0, now_s=10.0))
    rate.begun("ana", forgotten)
    rate.begun("nobody", 3.0)


def test_a_clock_that_goes_back_gives_nothing_and_takes_nothing() -> None:
    rate = QueryRate(QueryLimits(per_minute=1))
    started(rate, "ana", now_s=100.0)
    with pytest.raises(TooManyError):
        started(rate, "ana", now_s=50.0)


def test_users_who_have_not_come_for_a_minute_take_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("endstop.server.rate._MOST_USERS", 10)
    rate = QueryRate(QueryLimits(per_minute=1))
    for number in range(10):
        started(rate, f"user-{number}", now_s=0.0)
    started(rate, "late", now_s=61.0)
    assert len(rate._buckets) == 1  # pyright: ignore[reportPrivateUsage]


@given(st.lists(st.floats(min_value=0, max_value=30), max_size=80), st.integers(1, 10))
def test_no_minute_ever_has_more_than_twice_the_limit(gaps: list[float], per_minute: int) -> None:
    """A full bucket and what flows in meanwhile: never more, however the starts are spread."""
    rate = QueryRate(QueryLimits(per_minute=per_minute))
    now, admitted, waits = 0.0, list[float](), list[float]()
    for gap in gaps:
        now += gap
        try:
            started(rate, "ana", now_s=now)
        except TooManyError as refused:
            waits.append(refused.retry_after_s)
        else:
            admitted.append(now)
    assert all(0 < wait <= 60 / per_minute + 1e-6 for wait in waits)
    for at in admitted:
        assert sum(at <= each < at + 60 for each in admitted) <= 2 * per_minute


@pytest.mark.parametrize("limits", [{"per_minute": 0}, {"at_once": 0}, {"at_once": True}])
def test_limits_that_would_let_nobody_in_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueError):
        QueryLimits(**limits)
