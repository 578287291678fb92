"""Packages of a folder in Spark's Python workers: where the folder is seen, and where it is sent."""

import pytest
from pyspark.sql import functions as F

from pitstop.spark.internals.packages import add_packages


@pytest.fixture
def included(spark):
    """What workers import from is afterwards as it was."""
    before = list(spark.sparkContext._python_includes)
    yield
    spark.sparkContext._python_includes[:] = before


def package(folder, name):
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text("WORD = 'found'\n")
    return folder


def imported(spark, name):
    @F.udf("string")
    def word(_):
        import importlib

        return importlib.import_module(name).WORD

    return [row[0] for row in spark.range(2).select(word("id")).collect()]


def test_workers_of_this_machine_import_from_the_folder_itself(spark, included, tmp_path):
    add_packages(spark, package(tmp_path / "abc1", "only_in_folder"), None)
    assert imported(spark, "only_in_folder") == ["found", "found"]


def test_workers_elsewhere_import_what_is_sent_to_them(spark, included, tmp_path):
    folder = package(tmp_path / "abc2", "only_in_archive")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    add_packages(spark, folder, scratch)
    folder.rename(tmp_path / "not seen there")
    assert imported(spark, "only_in_archive") == ["found", "found"]
