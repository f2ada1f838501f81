"""Who comes in: the link, the cookie, tokens; and who does not, whatever they try (I6)."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from gated_server import ME, PAGE, PORT, THINGS, Gated, asked, code_of

from endstop.errors import AccessError, TooManyError
from endstop.server.access import LINK_S, SESSION_S, Access, Caller
from endstop.server.hosts import Hosts
from endstop.server.rate import QueryLimits
from endstop.server.tokens import hashed, new_secret
from endstop.testing import MemoryStore


@pytest.fixture
def gated(tmp_path: Path) -> Gated:
    return Gated(tmp_path)


# ── the link and the cookie ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.guarantee("I6")
async def test_the_link_turns_into_a_cookie_and_leaves_no_token_in_the_address(gated: Gated) -> None:
    link = gated.access.one_time_link(PORT)
    assert link.startswith("http://127.0.0.1:8765/?token=es_")
    async with gated.client() as browser:
        opened = await browser.get(link)
        assert (opened.status_code, opened.headers["location"]) == (303, "/")
        set_cookie = opened.headers["set-cookie"]
        assert set_cookie.startswith("endstop_8765=es_")
        for trait in ("HttpOnly", "SameSite=Strict", "Path=/", f"Max-Age={int(SESSION_S)}"):
            assert trait in set_cookie.split("; ")
        assert "Secure" not in set_cookie
        assert opened.headers["referrer-policy"] == "no-referrer"
        assert opened.headers["cache-control"] == "no-store"
        assert (await browser.get(ME)).json() == {"user": "me", "via": "cookie"}


@pytest.mark.guarantee("I6")
async def test_the_link_works_once(gated: Gated) -> None:
    link = gated.access.one_time_link(PORT)
    async with gated.client() as first, gated.client() as second:
        assert (await first.get(link)).status_code == 303
        refused = await second.get(link)
        assert (refused.status_code, "set-cookie" in refused.headers) == (401, False)
        assert "This link works once" in refused.text
        again = await first.get(link)  # browsers do that by themselves
        assert (again.status_code, again.headers["location"]) == (303, "/")
        assert "set-cookie" not in again.headers


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
    cookie = await gated.cookie()
    assert (await asked(gated, cookie=cookie)).status_code == 200
    gone = await asked(gated, "DELETE", cookie=cookie, origin=PAGE)
    assert (gone.status_code, "Max-Age=0" in gone.headers["set-cookie"]) == (204, True)
    assert (await asked(gated, cookie=cookie)).status_code == 401
    other = await gated.cookie()
    gated.clock.advance(SESSION_S)
    assert (await asked(gated, cookie=other)).status_code == 401


async def test_a_cookie_outlives_the_server_but_not_its_opening_to_others(tmp_path: Path) -> None:
    store = MemoryStore()
    cookie = await Gated(tmp_path, store=store).cookie()
    assert (await asked(Gated(tmp_path, store=store), cookie=cookie)).status_code == 200
    somebody_elses = Gated(tmp_path, store=store, owner="bob")
    assert (await asked(somebody_elses, cookie=cookie)).status_code == 401
    open_to_others = Gated(tmp_path, store=store, owner=None)
    assert (await asked(open_to_others, cookie=cookie)).status_code == 401


async def test_what_is_kept_of_a_cookie_is_its_hash(gated: Gated) -> None:
    cookie = await gated.cookie()
    assert await gated.store.session_of(cookie) is None
    assert await gated.store.session_of(hashed(cookie)) is not None


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
    answer = await asked(gated, "POST", THINGS, cookie=await gated.cookie(), **headers)
    assert answer.status_code == status
    if status == 403:
        assert answer.json()["error"]["code"] == "access_forbidden"


@pytest.mark.guarantee("I6")
@pytest.mark.parametrize("host", ["evil.example.org:8765", "127.0.0.1:9999", "192.168.0.7:8765"])
async def test_a_name_that_was_made_to_point_here_gets_nothing(gated: Gated, host: str) -> None:
    for how in ({"cookie": await gated.cookie()}, {"authorization": f"Bearer {await gated.token()}"}, {}):
        for path in ("/", ME, "/nowhere", gated.access.one_time_link(PORT).removeprefix(PAGE)):
            answer = await asked(gated, path=path, host=host, **how)
            assert code_of(answer) == (403, "access_forbidden")
            assert "set-cookie" not in answer.headers


async def test_no_page_elsewhere_is_ever_told_that_it_may_read(gated: Gated) -> None:
    cookie = await gated.cookie()
    for method in ("GET", "OPTIONS", "POST"):
        how = {"origin": "http://evil.example.org", "access_control_request_method": "POST"}
        answer = await asked(gated, method, THINGS, cookie=cookie, **how)
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
    sent = header.format(good=await gated.cookie(), other=new_secret())
    async with gated.client() as client:
        answer = await client.get(ME, headers={"cookie": sent})
    assert code_of(answer) == (401, "access_denied")


async def test_the_cookie_is_found_among_others(gated: Gated) -> None:
    cookie = await gated.cookie()
    async with gated.client() as client:
        sent = f"a=1; endstop_8765={cookie};b = 2; endstop_8765={cookie}"
        assert (await client.get(ME, headers={"cookie": sent})).status_code == 200


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
    async with gated.client(cookie=await gated.cookie()) as client:
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
    cookie = await gated.access.sign_in(secret)
    assert (await asked(gated, authorization=f"Bearer {secret}")).status_code == 200
    assert (await asked(gated, cookie=cookie)).status_code == 200
    (token,) = await gated.store.tokens()
    await gated.store.revoke_token(token.id, at=gated.clock.unix_s())
    gated.clock.advance(1.0)
    assert (await asked(gated, authorization=f"Bearer {secret}")).status_code == 401
    assert (await asked(gated, cookie=cookie)).status_code == 401


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
    cookie = await gated.cookie()
    monkeypatch.setattr("endstop.server.tokens.compare_digest", _differ)
    assert (await asked(gated, authorization=bearer)).status_code == 401
    assert (await asked(gated, cookie=cookie)).status_code == 401


# ── signing in, where others can reach the server ─────────────────────────────────────────────────────────


@pytest.fixture
def office(tmp_path: Path) -> Gated:
    hosts = Hosts.beyond("0.0.0.0", ["endstop.example.org"], is_https=True)
    return Gated(tmp_path, hosts=hosts, owner=None)


async def test_a_token_signs_a_browser_in_for_as_long_as_it_is_good(office: Gated) -> None:
    token = await office.token("ana", days=1)
    async with office.client(host="endstop.example.org", origin="https://endstop.example.org") as browser:
        answer = await browser.post(ME, json={"token": token})
        assert answer.status_code == 204
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-endstop=es_")
        assert "Secure" in cookie.split("; ")
        assert token not in cookie
    value = cookie.partition("=")[2].partition(";")[0]
    how = {"cookie": value, "host": "endstop.example.org"}
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
    token, cookie = await gated.token(), await gated.cookie()
    link = gated.access.one_time_link(PORT)
    await asked(gated, path=link)
    await asked(gated, path=link)
    await asked(gated, path=f"{ME}?token={token}")
    await asked(gated, authorization=f"Bearer {token}")
    await asked(gated, "POST", THINGS, cookie=cookie, origin=PAGE)
    async with gated.client() as client:
        await client.post(ME, json={"token": token})
        await client.post(ME, json={"token": token, "too": "much"})
    requests = [record for record in caplog.records if record.name == "endstop.server.requests"]
    assert len(requests) == 7
    everything = "".join(repr(vars(record)) for record in caplog.records if record.name.startswith("endstop"))
    for secret in (token, cookie, link.partition("token=")[2]):
        assert secret not in everything
        assert secret[3:20] not in everything
    assert [vars(each)["fields"]["user"] for each in requests][3:5] == ["ana", "me"]
