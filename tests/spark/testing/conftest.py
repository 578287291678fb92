"""The tests share the session of all Spark tests."""

import pytest


@pytest.fixture(scope="session")
def pitstop_spark(spark):
    return spark
