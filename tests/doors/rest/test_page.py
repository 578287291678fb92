"""The page: what a browser gets before anybody has signed in, and what it is told never to load."""

import gzip
import re
import shutil
from importlib import resources

import httpx2
import pytest

from pitstop.rest import page
from pitstop.rest.access import KEY_HEADER
from pitstop.rest.page import PLACES, is_page
from tests.doors.conftest import TOKEN


@pytest.fixture
def url(serve, state):
    return serve(state)


def policy_of(answer):
    parts = (part.split(" ") for part in answer.headers["content-security-policy"].split("; "))
    return {name: words for name, *words in parts}


@pytest.mark.parametrize("path", ["/", *PLACES, "/jobs/any-name", "/jobs/a/update", "/maps/%2e%2e%2fapi?tab=journal"])
def test_every_address_of_the_page_gives_the_same_document_to_everybody(url, path):
    answer = httpx2.get(url + path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert '<div id="root">' in answer.text


def test_nothing_is_run_or_styled_that_the_page_did_not_bring_and_nothing_comes_from_elsewhere(url):
    answer = httpx2.get(url)
    policy = policy_of(answer)
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == ["'self'"]
    assert policy["frame-ancestors"] == policy["base-uri"] == ["'none'"]
    allowed = {word for words in policy.values() for word in words}
    assert not {word for word in allowed if "unsafe" in word or ":/" in word or word == "*"}
    nonce = policy["style-src"][1].removeprefix("'nonce-").removesuffix("'")
    assert f'content="{nonce}"' in answer.text
    assert len(nonce) >= 20
    assert not re.search(r"<script(?![^>]*src=)|<style|javascript:|\son\w+=", answer.text)
    assert not re.search(r"(?:src|href)=\"(?!/)", answer.text)


def test_the_number_of_styles_is_another_one_each_time(url):
    assert policy_of(httpx2.get(url))["style-src"] != policy_of(httpx2.get(url))["style-src"]


def test_the_files_that_the_document_names_are_there_and_stay_in_caches(url):
    named = re.findall(r"(?:src|href)=\"(/assets/[^\"]+)\"", httpx2.get(url).text)
    assert len(named) >= 3
    for path in named:
        answer = httpx2.get(url + path)
        assert answer.status_code == 200, path
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert ("immutable" in answer.headers["cache-control"]) == ("-" in path)


def test_files_travel_compressed_to_who_can_read_that_and_are_the_same(url):
    assets = resources.files("pitstop") / "page" / "assets"
    file = max(assets.iterdir(), key=lambda each: len(each.read_bytes()))
    plain = httpx2.get(f"{url}/assets/{file.name}", headers={"Accept-Encoding": "identity"})
    assert plain.content == file.read_bytes()
    with httpx2.stream("GET", f"{url}/assets/{file.name}", headers={"Accept-Encoding": "gzip"}) as answer:
        packed = b"".join(answer.iter_raw())
    assert answer.headers["content-encoding"] == "gzip"
    assert len(packed) < len(plain.content)
    assert gzip.decompress(packed) == plain.content


@pytest.mark.parametrize(
    "name", ["nothing.js", "..%2findex.html", "%2e%2e%2f%2e%2e%2frest%2fpage.py", "..", "%00", "index.html", "a/b.js", "C:%5cx"]
)
def test_no_other_file_of_the_machine_is_a_file_of_the_page(url, name):
    answer = httpx2.get(f"{url}/assets/{name}", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code in (200, 400, 404)
    assert "from __future__" not in answer.text
    assert answer.status_code != 200 or answer.headers["content-type"].startswith("text/html"), "'..' leads to the page itself"


def test_a_link_on_another_site_may_lead_to_the_page_but_that_site_may_ask_for_nothing(url):
    elsewhere = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert httpx2.get(f"{url}/jobs/speeds", headers=elsewhere).status_code == 200
    refused = httpx2.get(f"{url}/api/v1/jobs", headers=elsewhere | {"Authorization": f"Bearer {TOKEN}"})
    assert (refused.status_code, refused.json()["code"]) == (403, "FOREIGN")


def test_a_name_that_was_made_to_lead_here_does_not_get_even_the_page(url):
    assert httpx2.get(url, headers={"Host": "evil.example"}).status_code == 403


@pytest.mark.parametrize("path", ["/api/v1/jobs", "/metrics", "/jobsx", "/assetsx", "/openapi.json", "/sign-in", "//"])
def test_what_is_no_page_is_guarded_as_before(path):
    assert not is_page(path)


def test_only_looking_at_the_page_is_free(url):
    assert httpx2.post(f"{url}/jobs/speeds").status_code == 401


def test_who_has_followed_a_link_is_somebody_on_the_page(url):
    path = httpx2.post(f"{url}/api/v1/sign-in-links", headers={"Authorization": f"Bearer {TOKEN}"}).json()["path"]
    with httpx2.Client(base_url=url, follow_redirects=True) as browser:
        page = browser.get(path)
        assert '<div id="root">' in page.text
        key = page.url.fragment.removeprefix("session-key=")
        assert browser.get("/api/v1/me", headers={"Sec-Fetch-Site": "same-origin", KEY_HEADER: key}).json()["role"] == "operator"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A copy of the page, in a place where it may be changed."""

    def forget():
        for cached in (page._names, page._file):
            cached.cache_clear()

    shutil.copytree(resources.files("pitstop") / "page", tmp_path / "page")
    monkeypatch.setattr("pitstop.rest.page.resources.files", lambda _: tmp_path)
    forget()
    yield tmp_path / "page"
    forget()


def test_a_page_that_is_replaced_while_its_server_runs_is_the_new_one_from_then_on(url, installed):
    """As by an upgrade of the package: the document names files that are not there any more."""
    assets = installed / "assets"
    old, other, *_ = sorted(path.name for path in assets.iterdir() if path.suffix == ".js")
    assert httpx2.get(f"{url}/assets/{other}").status_code == 200
    (assets / old).rename(assets / f"new-{old}")
    (installed / "index.html").write_text("the new document")
    answer = httpx2.get(f"{url}/assets/{old}")
    assert (answer.status_code, answer.json()["message"]) == (404, "The page no longer has a file of this name: reload it.")
    assert httpx2.get(url).text == "the new document"
    assert httpx2.get(f"{url}/assets/new-{old}").status_code == 200
