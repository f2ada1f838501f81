"""Who comes in: the link, the cookie, tokens; and who does not, whatever they try (I6)."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from gated_server import ME, PAGE, PORT, THINGS, Gated, asked, code_of

from endstop.errors import AccessError, TooManyError
from endstop.server.access import SESSION_S, Access, Caller
from endstop.server.hosts import Hosts
from endstop.server.links import AGAIN_S, LINK_S
from endstop.server.rate import QueryLimits
from endstop.server.tokens import hashed, hashed_together, new_secret
from endstop.testing import MemoryStore


@pytest.fixture
def gated(tmp_path: Path) -> Gated:
    return Gated(tmp_path)


# ── the link and the cookie ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.guarantee("I6")
async def test_the_link_turns_into_a_cookie_and_a_key_and_leaves_no_token_in_the_address(
    gated: Gated,
) -> None:
    link = gated.access.one_time_link(PORT)
    assert link.startswith("http://127.0.0.1:8765/?token=es_")
    async with gated.client() as browser:
        opened = await browser.get(link)
        path, _, key = opened.headers["location"].partition("#key=")
        assert (opened.status_code, path, len(key)) == (303, "/", 46)
        set_cookie = opened.headers["set-cookie"]
        assert set_cookie.startswith("endstop_8765=es_")
        for trait in ("HttpOnly", "SameSite=Strict", "Path=/", f"Max-Age={int(SESSION_S)}"):
            assert trait in set_cookie.split("; ")
        assert "Secure" not in set_cookie
        assert opened.headers["referrer-policy"] == "no-referrer"
        assert opened.headers["cache-control"] == "no-store"
        assert key not in set_cookie
        found = await browser.get(ME, headers={"X-Endstop-Key": key})
        assert found.json() == {"user": "me", "via": "cookie"}


@pytest.mark.guarantee("I6")
async def test_the_link_works_once(gated: Gated) -> None:
    link = gated.access.one_time_link(PORT)
    async with gated.client() as first, gated.client() as second:
        assert (await first.get(link)).status_code == 303
        refused = await second.get(link)
        assert (refused.status_code, "set-cookie" in refused.headers) == (401, False)
        assert "This link works once" in refused.text


async def test_the_browser_that_used_the_link_may_open_it_again_for_a_moment(gated: Gated) -> None:
    """Browsers do that by themselves, and may have thrown away what the first answer said."""
    link = gated.access.one_time_link(PORT)
    async with gated.client() as browser:
        first = await browser.get(link)
        again = await browser.get(link)
        for name in ("location", "set-cookie"):
            assert again.headers[name] == first.headers[name]
        gated.clock.advance(AGAIN_S)
        late = await browser.get(link)
        assert (late.status_code, late.headers["location"]) == (303, "/")
        assert "set-cookie" not in late.headers
    async with gated.client(cookie=f"endstop_8765={new_secret()}") as another:
        other = gated.access.one_time_link(PORT)
        async with gated.client() as browser:
            await browser.get(other)
        told = await another.get(other)
        assert (told.headers["location"], "set-cookie" in told.headers) == ("/", False)


async def test_a_link_that_is_too_old_never_was_or_is_there_twice_lets_nobody_in(gated: Gated) -> None:
    link = gated.access.one_time_link(PORT)
    token = link.partition("token=")[2]
    for path in ("/?token=", "/?token=x", f"/?token={new_secret()}", f"/?token={token}&token={token}"):
        assert (await asked(gated, path=path)).status_code == 401
    gated.clock.advance(LINK_S)
    assert (await asked(gated, path=link)).status_code == 401


@pytest.mark.parametrize("method", ["HEAD", "POST", "OPTIONS"])
async def test_only_opening_the_link_uses_it_up(gated: Gated, method: str) -> None:
    link = gated.access.one_time_link(PORT)
    assert "set-cookie" not in (await asked(gated, method, link)).headers
    assert (await asked(gated, path=link)).status_code == 303


async def test_the_token_of_the_link_is_no_token_for_programs(gated: Gated) -> None:
    token = gated.access.one_time_link(PORT).partition("token=")[2]
    assert code_of(await asked(gated, authorization=f"Bearer {token}")) == (401, "access_denied")


async def test_a_token_in_the_address_is_never_taken(gated: Gated) -> None:
    token = await gated.token()
    assert (await asked(gated, path=f"{ME}?token={token}")).status_code == 401
    assert (await asked(gated, path=f"/?token={token}")).status_code == 401


async def test_a_cookie_ends_after_its_time_and_when_somebody_signs_out(gated: Gated) -> None:
    page = await gated.page()
    assert (await asked(gated, page=page)).status_code == 200
    gone = await asked(gated, "DELETE", page=page, origin=PAGE)
    assert (gone.status_code, "Max-Age=0" in gone.headers["set-cookie"]) == (204, True)
    assert (await asked(gated, page=page)).status_code == 401
    other = await gated.page()
    gated.clock.advance(SESSION_S)
    assert (await asked(gated, page=other)).status_code == 401


async def test_a_cookie_outlives_the_server_but_not_its_opening_to_others(tmp_path: Path) -> None:
    store = MemoryStore()
    page = await Gated(tmp_path, store=store).page()
    assert (await asked(Gated(tmp_path, store=store), page=page)).status_code == 200
    somebody_elses = Gated(tmp_path, store=store, owner="bob")
    assert (await asked(somebody_elses, page=page)).status_code == 401
    open_to_others = Gated(tmp_path, store=store, owner=None)
    assert (await asked(open_to_others, page=page)).status_code == 401


async def test_what_is_kept_of_a_session_is_the_hash_of_both_its_halves(gated: Gated) -> None:
    page = await gated.page()
    for half in (page.cookie, page.key):
        assert await gated.store.session_of(half) is None
        assert await gated.store.session_of(hashed(half)) is None
        assert half not in repr(page)
    assert await gated.store.session_of(hashed_together(page.cookie, page.key)) is not None


@pytest.mark.guarantee("I6")
@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_half_of_a_session_lets_nobody_in(gated: Gated, method: str) -> None:
    """Whatever listens at another port of this machine gets to see the cookie, and never the key."""
    page, other = await gated.page(), await gated.page()
    cookie = f"{gated.access.cookie_name}={page.cookie}"
    halves = [
        {"cookie": cookie},
        {"x_endstop_key": page.key},
        *({"cookie": cookie, "x_endstop_key": key} for key in ("", "x", new_secret(), other.key)),
        {"cookie": cookie, "x_endstop_key": page.cookie},
        {"cookie": cookie, "x_endstop_key": f"{page.key}x"},
        {"cookie": f"{gated.access.cookie_name}={page.key}", "x_endstop_key": page.cookie},
    ]
    for sent in halves:
        assert code_of(await asked(gated, method, origin=PAGE, **sent)) == (401, "access_denied")
    assert (await asked(gated, page=page)).status_code == 200
    assert (await asked(gated, page=page)).status_code == 200  # and the second time it is known by heart
    assert code_of(await asked(gated, cookie=cookie)) == (401, "access_denied")


async def test_the_key_alone_or_beside_a_token_says_nothing(gated: Gated) -> None:
    bearer = f"Bearer {await gated.token()}"
    assert (await asked(gated, authorization=bearer, x_endstop_key=new_secret())).status_code == 200
    page = await gated.page()
    assert (await asked(gated, authorization=f"Bearer {page.key}")).status_code == 401
    assert (await asked(gated, authorization=f"Bearer {page.cookie}")).status_code == 401


# ── what a cookie may do ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.guarantee("I6")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": PAGE}, 200),
        ({"referer": f"{PAGE}/runs/7"}, 200),
        ({"origin": PAGE, "sec_fetch_site": "same-origin"}, 200),
        ({}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:8765"}, 403),
        ({"origin": "http://127.0.0.1:3000"}, 403),
        ({"origin": "http://evil.example.org"}, 403),
        ({"origin": "http://evil.example.org", "referer": f"{PAGE}/"}, 403),
        ({"origin": PAGE, "sec_fetch_site": "cross-site"}, 403),
        ({"origin": PAGE, "sec_fetch_site": "same-site"}, 403),
        ({"referer": "http://evil.example.org/"}, 403),
    ],
)
async def test_a_change_with_a_cookie_must_come_from_our_page(
    gated: Gated, headers: dict[str, str], status: int
) -> None:
    answer = await asked(gated, "POST", THINGS, page=await gated.page(), **headers)
    assert answer.status_code == status
    if status == 403:
        assert answer.json()["error"]["code"] == "access_forbidden"


@pytest.mark.guarantee("I6")
@pytest.mark.parametrize("host", ["evil.example.org:8765", "127.0.0.1:9999", "192.168.0.7:8765"])
async def test_a_name_that_was_made_to_point_here_gets_nothing(gated: Gated, host: str) -> None:
    hows: list[dict[str, Any]] = [
        {"page": await gated.page()},
        {"authorization": f"Bearer {await gated.token()}"},
        {},
    ]
    for how in hows:
        for path in ("/", ME, "/nowhere", gated.access.one_time_link(PORT).removeprefix(PAGE)):
            answer = await asked(gated, path=path, host=host, **how)
            assert code_of(answer) == (403, "access_forbidden")
            assert "set-cookie" not in answer.headers


async def test_no_page_elsewhere_is_ever_told_that_it_may_read(gated: Gated) -> None:
    page = await gated.page()
    for method in ("GET", "OPTIONS", "POST"):
        how = {"origin": "http://evil.example.org", "access_control_request_method": "POST"}
        answer = await asked(gated, method, THINGS, page=page, **how)
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "header",
    [
        "endstop_8765=",
        "endstop_8765=es_x",
        "endstop_8765={other}",
        "endstop_8766={good}",
        "endstop={good}",
        "ENDSTOP_8765={good}",
        "endstop_8765={good}x",
        'endstop_8765="{good}"',
        "endstop_8765={good}; endstop_8765={other}",
        "endstop_8765={other}; endstop_8765={good}",
        "endstop_8765=%65s_",
        ";;;=;endstop_8765",
        "=" * 5_000,
    ],
)
async def test_cookie_tricks_let_nobody_in(gated: Gated, header: str) -> None:
    page = await gated.page()
    sent = header.format(good=page.cookie, other=new_secret())
    answer = await asked(gated, page=page, cookie=sent)
    assert code_of(answer) == (401, "access_denied")


async def test_the_cookie_is_found_among_others(gated: Gated) -> None:
    page = await gated.page()
    sent = f"a=1; endstop_8765={page.cookie};b = 2; endstop_8765={page.cookie}"
    assert (await asked(gated, page=page, cookie=sent)).status_code == 200


# ── tokens ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.guarantee("I6")
async def test_a_program_with_a_token_needs_no_cookie_and_no_origin(gated: Gated) -> None:
    bearer = f"Bearer {await gated.token('ana')}"
    assert (await asked(gated, authorization=bearer)).json() == {"user": "ana", "via": "token"}
    changed = await asked(gated, "POST", THINGS, authorization=bearer.replace("Bearer", "bearer"))
    assert changed.json() == {"user": "ana", "bytes": 0}


async def test_each_token_is_its_own_users(gated: Gated) -> None:
    for user in ("ana", "bob"):
        answer = await asked(gated, authorization=f"Bearer {await gated.token(user)}")
        assert answer.json()["user"] == user


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer es_",
        "Bearer {unknown}",
        "Bearer {good}x",
        "Bearer {good} {good}",
        "Bearer {good},Bearer {good}",
        "Basic {good}",
        "{good}",
        "Bearer es_" + "x" * 10_000,
        "Bearer es_" + "ä" * 43,
    ],
)
async def test_tokens_that_are_unknown_or_garbled_let_nobody_in(gated: Gated, header: str) -> None:
    sent = header.format(good=await gated.token(), unknown=new_secret())
    async with gated.client(page=await gated.page()) as client:
        answer = await client.get(ME, headers={b"authorization": sent.encode("latin-1")})
    assert code_of(answer) == (401, "access_denied")  # and the good cookie beside it changes nothing


async def test_a_token_ends_when_it_expires(gated: Gated) -> None:
    bearer = f"Bearer {await gated.token(days=1)}"
    gated.clock.advance(86_390)
    assert (await asked(gated, authorization=bearer)).status_code == 200
    gated.clock.advance(10)
    answer = await asked(gated, authorization=bearer)
    assert code_of(answer) == (401, "access_denied")
    assert "endstop tokens create" in answer.json()["error"]["to_do"]


async def test_a_token_that_is_revoked_ends_within_a_second_with_all_who_signed_in_by_it(
    gated: Gated,
) -> None:
    secret = await gated.token()
    page = await gated.access.sign_in(secret)
    assert (await asked(gated, authorization=f"Bearer {secret}")).status_code == 200
    assert (await asked(gated, page=page)).status_code == 200
    (token,) = await gated.store.tokens()
    await gated.store.revoke_token(token.id, at=gated.clock.unix_s())
    gated.clock.advance(1.0)
    assert (await asked(gated, authorization=f"Bearer {secret}")).status_code == 401
    assert (await asked(gated, page=page)).status_code == 401


async def test_a_user_who_is_removed_is_out(gated: Gated) -> None:
    bearer = f"Bearer {await gated.token()}"
    assert (await asked(gated, authorization=bearer)).status_code == 200
    await gated.store.remove_user("ana")
    gated.clock.advance(1.0)
    assert (await asked(gated, authorization=bearer)).status_code == 401


async def test_the_last_use_of_a_token_is_kept_but_not_every_one(gated: Gated) -> None:
    bearer = f"Bearer {await gated.token()}"
    first = gated.clock.unix_s()
    for seconds in (0.0, 300.0, 299.0):
        gated.clock.advance(seconds)
        await asked(gated, authorization=bearer)
    assert (await gated.store.tokens())[0].used_at == first
    gated.clock.advance(2.0)
    await asked(gated, authorization=bearer)
    assert (await gated.store.tokens())[0].used_at == first + 601.0


async def test_many_callers_take_no_more_memory_than_some(
    gated: Gated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("endstop.server.access._MOST_KNOWN", 2)
    for user in ("ana", "bob", "eve", "zoe"):
        assert (await asked(gated, authorization=f"Bearer {await gated.token(user)}")).status_code == 200
    assert len(gated.access._known) <= 2  # pyright: ignore[reportPrivateUsage]


async def test_a_token_for_programs_is_good_while_the_server_runs(gated: Gated, tmp_path: Path) -> None:
    secret = gated.access.program_token()
    assert (await asked(gated, authorization=f"Bearer {secret}")).json()["user"] == "me"
    started_again = Gated(tmp_path, store=gated.store)
    assert (await asked(started_again, authorization=f"Bearer {secret}")).status_code == 401


def _differ(one: bytes, other: bytes) -> bool:
    return False


async def test_hashes_are_compared_in_a_time_that_tells_nothing(
    gated: Gated, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a store hands back, it counts only if a comparison that takes no shortcut says so."""
    bearer = f"Bearer {await gated.token()}"
    page = await gated.page()
    monkeypatch.setattr("endstop.server.tokens.compare_digest", _differ)
    assert (await asked(gated, authorization=bearer)).status_code == 401
    assert (await asked(gated, page=page)).status_code == 401


# ── signing in, where others can reach the server ─────────────────────────────────────────────────────────


@pytest.fixture
def office(tmp_path: Path) -> Gated:
    hosts = Hosts.beyond("0.0.0.0", ["endstop.example.org"], is_https=True)
    return Gated(tmp_path, hosts=hosts, owner=None)


async def test_a_token_signs_a_browser_in_for_as_long_as_it_is_good(office: Gated) -> None:
    token = await office.token("ana", days=1)
    async with office.client(host="endstop.example.org", origin="https://endstop.example.org") as browser:
        answer = await browser.post(ME, json={"token": token})
        assert (answer.status_code, answer.json()["user"]) == (200, "ana")
        assert answer.headers["cache-control"] == "no-store"
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-endstop=es_")
        assert "Secure" in cookie.split("; ")
        assert token not in cookie
    key: str = answer.json()["key"]
    assert key not in (token, cookie)
    how = {"cookie": cookie.partition(";")[0], "x_endstop_key": key, "host": "endstop.example.org"}
    assert (await asked(office, **how)).json() == {"user": "ana", "via": "cookie"}
    office.clock.advance(86_400)
    assert (await asked(office, **how)).status_code == 401


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"token": "es_wrong"}, 401),
        ({"token": "es_" + "x" * 43}, 401),
        ({"token": ""}, 401),
        ({"token": 7}, 422),
        ({"token": ["es_"]}, 422),
        ({"token": "x" * 201}, 422),
        ({}, 422),
        ({"token": "es_wrong", "user": "ana"}, 422),
    ],
)
async def test_signing_in_with_anything_else_is_refused(
    office: Gated, body: dict[str, object], status: int
) -> None:
    await office.token("ana")
    async with office.client(host="endstop.example.org") as client:
        answer = await client.post(ME, json=body)
    assert (answer.status_code, "set-cookie" in answer.headers) == (status, False)


async def test_another_page_cannot_sign_a_browser_in(office: Gated) -> None:
    token = await office.token("eve")
    async with office.client(host="endstop.example.org", origin="https://evil.example.org") as client:
        answer = await client.post(ME, json={"token": token})
    assert code_of(answer) == (403, "access_forbidden")


async def test_signing_out_with_a_token_leaves_the_token_alone(office: Gated) -> None:
    how = {"host": "endstop.example.org", "authorization": f"Bearer {await office.token()}"}
    assert (await asked(office, "DELETE", **how)).status_code == 204
    assert (await asked(office, **how)).status_code == 200


async def test_where_others_can_reach_it_there_is_no_link_and_no_owner(office: Gated) -> None:
    with pytest.raises(AccessError, match="Sign in with a token"):
        office.access.one_time_link(PORT)
    with pytest.raises(AccessError, match="Name a user"):
        office.access.program_token()
    assert await office.access.redeem_link(new_secret()) is None


def test_the_cookie_of_a_server_without_https_or_a_port_of_its_own(tmp_path: Path) -> None:
    open_one = Gated(tmp_path, hosts=Hosts.beyond("0.0.0.0"), owner=None)
    assert open_one.access.set_cookie("x").startswith("endstop=x; ")


# ── how much ──────────────────────────────────────────────────────────────────────────────────────────────


async def test_one_user_may_start_only_so_many_and_others_do_not_notice(tmp_path: Path) -> None:
    access = Gated(tmp_path, limits=QueryLimits(per_minute=3, at_once=2)).access
    ana, bob = Caller(user="ana", via="token"), Caller(user="bob", via="cookie")
    with await access.admit_query(ana), await access.admit_query(ana):
        with pytest.raises(TooManyError, match="2 of your runs are under way"):
            await access.admit_query(ana)
        with await access.admit_query(bob):
            pass
    with await access.admit_query(ana):
        pass
    with pytest.raises(TooManyError, match="3 runs within a minute"):
        await access.admit_query(ana)


async def test_a_server_that_is_ending_begins_nothing_new(gated: Gated) -> None:
    gated.access.is_closing = True
    with pytest.raises(TooManyError, match="The server is ending"):
        await gated.access.admit_query(Caller(user="ana", via="token"))


def test_the_default_limits_hold_for_a_server_on_loopback() -> None:
    access = Access.on_loopback(MemoryStore(), user="me", port=PORT)
    assert (access.owner, access.hosts) == ("me", Hosts.loopback(PORT))


# ── nothing secret in the log ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.guarantee("I6")
async def test_no_secret_is_ever_logged(gated: Gated, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    token, page = await gated.token(), await gated.page()
    link = gated.access.one_time_link(PORT)
    opened = await asked(gated, path=link)
    await asked(gated, path=link)
    await asked(gated, path=f"{ME}?token={token}")
    await asked(gated, authorization=f"Bearer {token}")
    await asked(gated, "POST", THINGS, page=page, origin=PAGE)
    async with gated.client() as client:
        signed_in = await client.post(ME, json={"token": token})
        await client.post(ME, json={"token": token, "too": "much"})
    requests = [record for record in caplog.records if record.name == "endstop.server.requests"]
    assert len(requests) == 7
    everything = "".join(repr(vars(record)) for record in caplog.records if record.name.startswith("endstop"))
    keys = (page.key, opened.headers["location"].partition("#key=")[2], signed_in.json()["key"])
    for secret in (token, page.cookie, *keys, link.partition("token=")[2]):
        assert secret not in everything
        assert secret[3:20] not in everything
    assert [vars(each)["fields"]["user"] for each in requests][3:5] == ["ana", "me"]
