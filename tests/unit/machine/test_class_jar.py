"""The jar of our Java classes: where it is, and how Spark comes to find it."""

import os

import pytest

from pitstop.machine import class_jar as jars
from pitstop.machine.cache_folder import FOLDER_VARIABLE
from pitstop.machine.class_jar import CLASS_PATH, class_jar, put_on_class_path


@pytest.fixture
def spark_home(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    return tmp_path / "spark"


def test_it_is_of_one_spark_and_one_text_of_its_classes(spark_home, tmp_path, monkeypatch):
    first = class_jar(spark_home)
    assert first.parent == tmp_path / "cache"
    assert class_jar(spark_home) == first
    sources = tmp_path / "java"
    sources.mkdir()
    for path in jars._SOURCES.glob("*.java"):
        (sources / path.name).write_text(path.read_text())
    monkeypatch.setattr(jars, "_SOURCES", sources)
    assert class_jar(spark_home) == first
    (sources / "LocalFiles.java").write_text("another one")
    assert class_jar(spark_home) != first
    monkeypatch.undo()
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    os.utime(spark_home / "jars", (1.0, 1.0))
    assert class_jar(spark_home) != first


def test_there_is_none_where_none_can_be(spark_home, tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    assert class_jar(spark_home) is None
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "a:b"))
    assert class_jar(spark_home) is None, "a class path would be taken apart there"


def test_it_is_at_the_end_of_the_class_path_once_if_it_has_been_made(spark_home):
    jar, environment = class_jar(spark_home), {}
    put_on_class_path(None, environment)
    put_on_class_path(jar, environment)
    assert environment == {}
    jar.write_bytes(b"")
    put_on_class_path(jar, environment)
    assert environment == {CLASS_PATH: str(jar)}
    put_on_class_path(jar, environment)
    assert environment == {CLASS_PATH: str(jar)}
    environment = {CLASS_PATH: "/theirs/*"}
    put_on_class_path(jar, environment)
    assert environment == {CLASS_PATH: f"/theirs/*:{jar}"}
