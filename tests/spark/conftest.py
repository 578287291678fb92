"""One Spark session for all Spark tests."""

import pytest

from pitstop.model.cluster import ClusterSettings
from pitstop.spark.base.session import build_session
from pitstop.spark.sources import register


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    session = build_session(ClusterSettings("local[2]"), tmp_path_factory.mktemp("spark"), {"spark.sql.shuffle.partitions": "2"})
    register(session)
    yield session
    session.stop()
