"""The session of the Spark tests, and the package that docs/extending.md describes."""

import sys

import pytest

from tests.extensions.documented import build_wheel
from tests.spark.conftest import spark  # noqa: F401


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    return build_wheel(tmp_path_factory.mktemp("tally"))


@pytest.fixture(scope="session")
def installed(spark, wheel):  # noqa: F811
    """The wheel as a job's artifact brings it: where the driver and Spark's workers find it."""
    sys.path.insert(0, str(wheel))
    spark.sparkContext.addPyFile(str(wheel))
    yield wheel
    sys.path.remove(str(wheel))
