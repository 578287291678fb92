"""Jars of Maven: fetched once, checked, and told when they cannot be had."""

import functools
import hashlib
import http.server
import threading

import pytest

from pitstop.errors import PitstopError
from pitstop.kit.maven import Jar, fetch_jars, jar_folder

CONTENT = b"classes"
JAR = Jar("org.example", "thing", "1.0", hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture
def repository(tmp_path, monkeypatch):
    file = tmp_path / "repository" / "org" / "example" / "thing" / "1.0" / "thing-1.0.jar"
    file.parent.mkdir(parents=True)
    file.write_bytes(CONTENT)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "repository"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("PITSTOP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PITSTOP_MAVEN", f"http://127.0.0.1:{server.server_port}/")
    yield file
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_jar_is_fetched_once(repository):
    (file,) = fetch_jars([JAR])
    assert file.read_bytes() == CONTENT
    repository.unlink()
    assert fetch_jars([JAR]) == [file]


def test_another_file_than_the_one_that_was_tried_is_refused(repository):
    repository.write_bytes(b"others")
    with pytest.raises(PitstopError, match="is not the jar that Pitstop was tried with"):
        fetch_jars([JAR])
    assert list(jar_folder().iterdir()) == []


def test_a_file_that_was_changed_in_the_folder_is_refused(repository):
    (file,) = fetch_jars([JAR])
    file.write_bytes(b"others")
    with pytest.raises(PitstopError, match=f"The file {file} is not the jar .* remove it"):
        fetch_jars([JAR])


def test_a_jar_that_cannot_be_had_is_told_with_the_ways_out(repository):
    repository.unlink()
    with pytest.raises(PitstopError, match=r"cannot be fetched from .* put the file into .*jars, or name a mirror"):
        fetch_jars([JAR])
