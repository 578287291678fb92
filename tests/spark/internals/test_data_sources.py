"""Spark starts no process to look for Python data sources where there are none, and finds those that there are."""

import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

PACKAGE = """
from pyspark.sql.datasource import DataSource, DataSourceReader

class DefaultSource(DataSource):
    @classmethod
    def name(cls):
        return "sevens"

    def schema(self):
        return "n int"

    def reader(self, schema):
        return Sevens()

class Sevens(DataSourceReader):
    def read(self, partition):
        yield (7,)
"""
READS = """
import sys
from pyspark.sql import SparkSession
from pitstop.spark.internals.data_sources import skip_search_for_packages

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
skip_search_for_packages(spark)
print([row.n for row in spark.read.format("sevens").load().collect()])
"""


def test_a_session_of_ours_has_been_told_that_there_are_none(spark):
    package = spark._jvm.org.apache.spark.sql.execution.datasources
    manager = package.__getattr__("DataSourceManager$").__getattr__("MODULE$")
    assert manager.dataSourceBuilders().get().isEmpty()


@pytest.mark.long
def test_a_package_on_the_path_is_found_by_spark(tmp_path):
    (tmp_path / "pyspark_sevens.py").write_text(PACKAGE)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable}
    program = subprocess.run([sys.executable, "-c", READS], capture_output=True, text=True, env=environment, timeout=250)
    assert program.stdout.strip() == "[7]", program.stderr
