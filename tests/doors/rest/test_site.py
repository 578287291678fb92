"""The documentation below /docs: for everybody, and nothing runs in it that it did not bring."""

import base64
import functools
import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import httpx2
import pytest

from pitstop.rest import site
from pitstop.rest.access import Access
from pitstop.rest.app import create_app
from tests.doors.conftest import TOKEN
from tests.doubles.http import listening

ROOT = Path(__file__).parents[3]
get, post, head = (functools.partial(each, timeout=60) for each in (httpx2.get, httpx2.post, httpx2.head))
SCRIPT = 'var place = "<here>";\nshow(place)'
PAGE = f"""<!doctype html><script id="data" type="application/json">{{"a": 1}}</script>
<script>{SCRIPT}</script><script src="assets/bundle.js"></script><h1>Documentation</h1>{"words " * 1000}"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of the package, in which no site is built yet."""
    monkeypatch.setattr(site.resources, "files", lambda _: tmp_path / "package")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "token").write_text("a secret of the machine")
    return tmp_path / "package"


@pytest.fixture
def url(folder, state):
    with listening(create_app(state, Access(TOKEN))) as address:
        yield address


@pytest.fixture
def built(folder):
    (folder / "site" / "assets").mkdir(parents=True)
    (folder / "site" / "index.html").write_text(PAGE)
    (folder / "site" / "metrics.html").write_text("<h1>Metrics</h1>")
    (folder / "site" / "404.html").write_text("<h1>Not found</h1>")
    (folder / "site" / "assets" / "bundle.js").write_text("show(1)")
    (folder / "site" / "search.json").write_text('{"items": []}')
    return folder / "site"


def policy_of(answer):
    parts = (part.split(" ") for part in answer.headers["content-security-policy"].split("; "))
    return {name: words for name, *words in parts}


def test_everybody_gets_the_documentation(url, built):
    first = get(f"{url}/docs")
    assert (first.status_code, first.headers["location"]) == (307, "/docs/")
    answer = get(f"{url}/docs/")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.text == PAGE
    assert answer.headers["content-encoding"] == "gzip"
    for path, kind in (("metrics.html", "text/html"), ("assets/bundle.js", "javascript"), ("search.json", "application/json")):
        found = get(f"{url}/docs/{path}")
        assert found.status_code == 200
        assert kind in found.headers["content-type"]
        assert (found.headers["x-content-type-options"], found.headers["referrer-policy"]) == ("nosniff", "no-referrer")


def test_a_page_runs_its_own_scripts_and_no_others(url, built):
    policy = policy_of(get(f"{url}/docs/"))
    own = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    assert policy["script-src"] == ["'self'", f"'sha256-{own}'"]
    assert policy_of(get(f"{url}/docs/metrics.html"))["script-src"] == ["'self'"]
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == ["'none'"]
    assert not {word for words in policy.values() for word in words if ":/" in word or word == "*" or "eval" in word}


def test_a_page_that_is_built_anew_is_the_new_one(url, built):
    before = get(f"{url}/docs/")
    same = get(f"{url}/docs/", headers={"If-None-Match": before.headers["etag"]})
    assert (same.status_code, before.headers["cache-control"]) == (304, "no-cache")
    (built / "index.html").write_text("<script>other()</script>")
    after = get(f"{url}/docs/", headers={"If-None-Match": before.headers["etag"]})
    assert after.text == "<script>other()</script>"
    assert policy_of(after)["script-src"] != policy_of(before)["script-src"]


def test_without_a_site_one_sentence_says_how_to_build_it(url):
    for path in ("/docs/", "/docs/metrics.html"):
        answer = get(url + path)
        assert answer.status_code == 404
        assert answer.json()["message"] == (
            "This installation has no documentation: 'make docs' in a checkout of Pitstop builds it."
        )


@pytest.mark.parametrize("path", ["../token", "..%2ftoken", "%2e%2e/token", "assets/..%2f..%2ftoken", "%2e%2e%2ftoken", "%00"])
def test_no_other_file_is_part_of_it(url, built, path):
    answer = get(f"{url}/docs/{path}", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code in (400, 401, 404)
    assert "a secret" not in answer.text


def test_a_link_leads_to_no_other_file(url, built):
    (built / "link.html").symlink_to(built.parent / "token")
    assert "a secret" not in get(f"{url}/docs/link.html").text


def test_only_looking_is_free_and_only_under_a_name_of_the_server(url, built):
    assert post(f"{url}/docs/").status_code == 401
    assert post(f"{url}/docs/", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 405
    assert get(f"{url}/docs/", headers={"Host": "evil.example"}).status_code == 403
    assert get(f"{url}/docsx").status_code == 401
    assert head(f"{url}/docs/").status_code == 200


def test_an_unknown_page_is_told_by_the_site(url, built):
    answer = get(f"{url}/docs/nothing.html")
    assert (answer.status_code, answer.text) == (404, "<h1>Not found</h1>")


def test_a_wheel_has_the_site_that_is_built(tmp_path):
    """Although git ignores it. The wheel is that of this project's settings, with a small package."""
    project, package = tmp_path / "project", tmp_path / "project" / "src" / "pitstop"
    (package / "site" / "assets").mkdir(parents=True)
    for name in ("pyproject.toml", "hatch_build.py", ".gitignore", "README.md"):
        shutil.copy(ROOT / name, project)
    (package / "__init__.py").write_text("")
    (package / "site" / "index.html").write_text(PAGE)
    (package / "site" / "assets" / "bundle.js").write_text("")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=project, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"pitstop/site/index.html", "pitstop/site/assets/bundle.js"} <= set(names)
