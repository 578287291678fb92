"""Where the archive of Spark's classes is, and when there is none."""

import os
import stat

import pytest

from pitstop.machine.cache_folder import FOLDER_VARIABLE, UNUSED_SECONDS, forget_unused
from pitstop.machine.class_archive import class_archive, to_use


@pytest.fixture
def homes(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    java, spark = tmp_path / "java", tmp_path / "spark"
    (spark / "jars").mkdir(parents=True)
    java.mkdir()
    (java / "release").write_text('JAVA_VERSION="17.0.1"')
    return java, spark


def test_it_is_the_user_s_alone_and_of_one_java_and_one_spark(homes, tmp_path):
    java, spark = homes
    first = class_archive(java, spark)
    assert first.parent == tmp_path / "cache"
    assert stat.S_IMODE(first.parent.stat().st_mode) == 0o700
    assert class_archive(java, spark) == first
    (java / "release").write_text('JAVA_VERSION="17.0.2"')
    assert class_archive(java, spark) != first


def test_the_launcher_of_a_carried_java_counts_by_what_it_starts_not_by_where_it_is(homes, tmp_path):
    _, spark = homes
    for name in ("one", "two"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "java").write_text('exec "/opt/java"')
    assert class_archive(tmp_path / "one", spark) == class_archive(tmp_path / "two", spark)


@pytest.mark.parametrize("variable", ["SPARK_CONF_DIR", None])
def test_there_is_none_beside_spark_settings_which_java_cannot_archive(homes, monkeypatch, variable):
    java, spark = homes
    if variable:
        monkeypatch.setenv(variable, str(spark / "elsewhere"))
    settings = spark / ("elsewhere" if variable else "conf")
    settings.mkdir()
    assert class_archive(java, spark) is not None
    (settings / "spark-defaults.conf").write_text("")
    assert class_archive(java, spark) is None


def test_there_is_none_where_it_is_not_wished_for_or_cannot_be(homes, monkeypatch, tmp_path):
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    assert class_archive(*homes) is None
    for name in ("my cache", "it's", 'a"b', "a\\b"):
        monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / name))
        assert class_archive(*homes) is None, "Spark would split the option, and no Java would start"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "file" / "below"))
    assert class_archive(*homes) is None


def test_one_that_is_there_is_used_and_so_not_forgotten(homes):
    archive = class_archive(*homes)
    assert to_use(archive) == to_use(None) == []
    archive.write_text("")
    unused = archive.with_name("classes-of-an-old-java.jsa")
    unused.write_text("")
    for path in (archive, unused):
        os.utime(path, (1_000.0, 1_000.0))
    assert f"-XX:SharedArchiveFile={archive}" in to_use(archive)
    forget_unused(archive.parent, now=archive.stat().st_mtime + UNUSED_SECONDS / 2)
    assert [path.name for path in archive.parent.iterdir()] == [archive.name]
