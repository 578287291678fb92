"""The pytest plugin that comes with Pitstop: the fixtures ``job_test`` and ``pitstop_spark``. See docs/testing.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pitstop.testing.job_test import JobTest


@pytest.fixture(scope="session")
def pitstop_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Give the Spark session that all tests with ``job_test`` share. Define a fixture of this name to give another one."""
    from pitstop.spark.base.state_stores import stop_with_stores
    from pitstop.testing.session import build_test_session

    session = build_test_session(tmp_path_factory.mktemp("spark"))
    yield session
    stop_with_stores(session)


@pytest.fixture
def job_test(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., JobTest]]:
    """Start a job under test: ``job_test(job, *args, **options)`` returns a JobTest, which ends with the test."""
    from pitstop.testing.job_test import JobTest

    started: list[JobTest] = []

    def start(job: Any, *args: Any, **options: Any) -> JobTest:
        spark = options.pop("spark", None) or request.getfixturevalue("pitstop_spark")
        folder = options.pop("folder", None) or tmp_path / f"job-{len(started) + 1}"
        test = JobTest(job, *args, spark=spark, folder=folder, **options)
        started.append(test)
        return test

    yield start
    for test in started:
        test.close()
