"""Classes of our own that executors need, too."""

import pytest

from pitstop.spark.internals import java_code

pytestmark = pytest.mark.spark
CLASS = "OwnPeers"


def test_two_processes_that_need_a_class_at_the_same_moment_both_give_it_to_executors(spark, tmp_path, monkeypatch):
    # Each has looked before the other one's jar was there; each has a folder of its own for it.
    monkeypatch.setattr(java_code, "_has_jar", lambda spark, name: False)
    for process in ("one", "other"):
        folder = tmp_path / process
        folder.mkdir()
        monkeypatch.setattr(spark.sparkContext, "_temp_dir", str(folder))
        assert java_code.provider(spark, CLASS, []) == CLASS
    jars = str(spark.sparkContext._jsc.sc().listJars())
    assert jars.count(f"/{CLASS}-") == 2
