"""The session of the Spark tests, and the package that docs/extending.md describes."""

import shutil
import sys

import pytest

from tests.extensions.documented import build_wheel
from tests.spark.conftest import spark  # noqa: F401


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    return build_wheel(tmp_path_factory.mktemp("tally"))


@pytest.fixture(scope="session")
def installed(spark, wheel):  # noqa: F811
    """The package where the driver and Spark's workers find it; these take a zip, and no wheel."""
    archive = shutil.copy(wheel, wheel.with_suffix(".zip"))
    before = list(sys.path)
    spark.sparkContext.addPyFile(str(archive))
    yield archive
    sys.path[:] = before
