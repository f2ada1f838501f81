"""The page: its files at their paths, itself at every other, and nothing from outside of its folder."""

from __future__ import annotations

import socket
from collections.abc import Generator
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.server.page_files import FOLDER, PageFiles
from endstop.server.routes_page import page_files
from served import Served, served

INDEX = b'<!doctype html><script type="module" src="/assets/index-B1x_9.js"></script>'
SCRIPT = b"console.log(1)"
POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page as Vite builds it, and a secret beside it."""
    home = tmp_path_factory.mktemp("home")
    folder = home / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_bytes(INDEX)
    (folder / "assets" / "index-B1x_9.js").write_bytes(SCRIPT)
    (folder / "assets" / "index-C2.css").write_bytes(b"body{}")
    (folder / "assets" / "odd.xyz").write_bytes(b"<script>")
    (folder / "favicon.svg").write_bytes(b"<svg/>")
    (folder / ".hidden").write_bytes(b"SECRET")
    (home / "secret.txt").write_bytes(b"SECRET")
    return folder


@pytest.fixture(scope="module")
def server(built: Path) -> Generator[Served]:
    with served(built.parent) as one:
        one.asgi.dependency_overrides[page_files] = lambda: PageFiles(built)
        yield one


@pytest.mark.parametrize("path", ["/", "/index.html", "/runs", "/runs/run_1?tab=audit", "/docs", "/apiary"])
def test_the_page_is_at_every_path_that_is_nobody_elses(server: Served, path: str) -> None:
    answer = httpx.get(server.url + path)
    assert (answer.status_code, answer.content) == (200, INDEX)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    ("path", "kind", "caching"),
    [
        ("/assets/index-B1x_9.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"),
        ("/assets/index-C2.css", "text/css; charset=utf-8", "public, max-age=31536000, immutable"),
        ("/assets/odd.xyz", "application/octet-stream", "public, max-age=31536000, immutable"),
        ("/favicon.svg", "image/svg+xml", "no-cache"),
    ],
)
def test_a_file_is_sent_as_what_it_is_and_kept_for_as_long_as_it_stays(
    server: Served, path: str, kind: str, caching: str
) -> None:
    answer = httpx.get(server.url + path)
    assert answer.status_code == 200
    assert (answer.headers["content-type"], answer.headers["cache-control"]) == (kind, caching)


def test_the_page_comes_with_the_headers_that_keep_it_from_harm(server: Served) -> None:
    for path in ("/", "/assets/index-B1x_9.js", "/assets/none.js"):
        headers = httpx.get(server.url + path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("path", ["/", "/assets/index-B1x_9.js"])
def test_what_a_browser_has_already_is_not_sent_again(server: Served, path: str) -> None:
    first = httpx.get(server.url + path)
    tag = first.headers["etag"]
    for told in (tag, f"W/{tag}", f'"other", {tag}'):
        again = httpx.get(server.url + path, headers={"If-None-Match": told})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert again.headers["cache-control"] == first.headers["cache-control"]
    assert httpx.get(server.url + path, headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/runs", "/assets/index-B1x_9.js"])
def test_head_says_the_same_without_the_content(server: Served, path: str) -> None:
    whole, head = httpx.get(server.url + path), httpx.head(server.url + path)
    assert (head.status_code, head.content) == (200, b"")
    for name in ("content-type", "content-length", "etag", "cache-control"):
        assert head.headers[name] == whole.headers[name]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/assets/none.js", 404),
        ("GET", "/assets/", 404),
        ("GET", "/api", 404),
        ("GET", "/api/nothing", 404),
        ("HEAD", "/api/nothing", 404),
        ("POST", "/api/nothing", 404),
        ("POST", "/runs", 404),
        ("DELETE", "/", 404),
        ("POST", "/healthz", 405),
        ("GET", "/%00", 404),
        ("GET", "/a%0ab", 404),
    ],
)
def test_what_is_not_there_is_told_as_everywhere(server: Served, method: str, path: str, status: int) -> None:
    answer = httpx.request(method, server.url + path)
    assert answer.status_code == status
    if method != "HEAD":
        assert answer.json()["error"]["code"] in ("not_found", "method_not_allowed")


def test_the_other_routes_are_not_hidden_by_the_page(server: Served) -> None:
    for path in ("/healthz", "/openapi.json"):
        assert httpx.get(server.url + path).headers["content-type"] == "application/json"
    assert httpx.get(f"{server.url}/api/runs").status_code == 401


@pytest.mark.guarantee("I6")
@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/assets/../../secret.txt",
        "/assets/..%2f..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "/..%5csecret.txt",
        "//secret.txt",
        "/./../secret.txt",
        "/assets/%252e%252e/secret.txt",
        "/.hidden",
        "/assets/../.hidden",
        "{home}/secret.txt",
        "/{home}/secret.txt",
    ],
)
def test_no_path_leads_out_of_the_folder(server: Served, built: Path, path: str) -> None:
    """Sent as it stands: a client would tidy it up first."""
    port = int(server.url.rpartition(":")[2])
    target = path.replace("{home}", str(built.parent))
    with socket.create_connection(("127.0.0.1", port), timeout=10) as raw:
        raw.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while piece := raw.recv(65_536):
            answer += piece
    assert answer.startswith((b"HTTP/1.1 200", b"HTTP/1.1 404"))
    assert b"SECRET" not in answer


@given(st.text(max_size=40), st.sampled_from(["", "/", "/assets/", "/assets/../", "/.."]))
def test_no_path_whatever_finds_more_than_the_files_there_are(built: Path, text: str, start: str) -> None:
    found = PageFiles(built).find(start + text)
    assert found is None or b"SECRET" not in found.content


def test_a_page_that_is_built_anew_is_there_at_once(tmp_path: Path) -> None:
    files = PageFiles(tmp_path)
    (tmp_path / "index.html").write_bytes(b"one")
    first = files.find("/")
    (tmp_path / "index.html").write_bytes(b"two")
    second = files.find("/")
    assert first is not None
    assert second is not None
    assert (first.content, second.content) == (b"one", b"two")
    assert first.tag != second.tag


def test_a_page_that_was_not_built_says_how_to_build_it(tmp_path: Path) -> None:
    files = PageFiles(tmp_path / "none")
    for path in ("/", "/runs/run_1"):
        plain = files.find(path)
        assert plain is not None
        assert b"make page" in plain.content
        assert (plain.kind, plain.caching) == ("text/html; charset=utf-8", "no-store")
    assert files.find("/assets/index.js") is None


async def test_the_page_of_an_installation_is_in_its_package() -> None:
    assert Path(__file__).parents[2] / "src" / "endstop" / "page" == FOLDER
    assert (await page_files()).find("/") is not None
