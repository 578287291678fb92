"""Jars of Maven: fetched once, checked, and told when they cannot be had."""

import hashlib

import pytest

from pitstop.errors import PitstopError
from pitstop.machine.maven import Jar, fetch_jars, has_jar, jar_folder
from tests.maven import maven_repository

CONTENT = b"classes"
JAR = Jar("org.example", "thing", "1.0", hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.setenv("PITSTOP_CACHE", str(tmp_path / "cache"))
    with maven_repository(tmp_path / "repository", {JAR: CONTENT}) as url:
        monkeypatch.setenv("PITSTOP_MAVEN", url)
        yield tmp_path / "repository" / JAR.path


def test_a_jar_is_fetched_once(repository):
    assert not has_jar(JAR, jar_folder())
    (file,) = fetch_jars([JAR])
    assert file.read_bytes() == CONTENT
    assert has_jar(JAR, jar_folder())
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
    assert not has_jar(JAR, jar_folder())
    with pytest.raises(PitstopError, match=f"The file {file} is not the jar .* remove it"):
        fetch_jars([JAR])


def test_a_jar_that_cannot_be_had_is_told_with_the_ways_out(repository):
    repository.unlink()
    with pytest.raises(PitstopError, match=r"cannot be fetched from .* put the file into .*jars, or name a mirror"):
        fetch_jars([JAR])
