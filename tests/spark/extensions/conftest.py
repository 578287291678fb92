"""The package that docs/extending.md describes."""

import sys

import pytest

from tests.spark.extensions.documented import build_wheel


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    return build_wheel(tmp_path_factory.mktemp("tally"))


@pytest.fixture(scope="session")
def installed(spark, wheel):
    """The package where the driver and Spark's Python workers find it, as it is when it is installed beside Pitstop."""
    sys.path.insert(0, str(wheel))
    spark.sparkContext.environment["PYTHONPATH"] = str(wheel)
    yield wheel
    del spark.sparkContext.environment["PYTHONPATH"]
    sys.path.remove(str(wheel))
