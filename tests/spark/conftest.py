"""What Spark tests share: a session for all of them, a broker for those of a module, servers for single ones."""

import pytest

from pitstop.machine.java import find_java
from pitstop.machine.named_secrets import FOLDER
from pitstop.model.cluster import ClusterSettings
from pitstop.runner.archiving import provide_jar
from pitstop.spark.base.session import build_session
from pitstop.spark.sources import register
from tests.brokers.broker import Broker
from tests.brokers.registry import Registry
from tests.spark.sources.http_feed import Feed
from tests.stores.object_store import ObjectStore


@pytest.fixture(scope="session")
def reader_secrets(tmp_path_factory):
    """The folder of secrets of the processes that read sources: Java starts them, with its own environment."""
    return tmp_path_factory.mktemp("secrets")


@pytest.fixture(scope="session")
def spark(tmp_path_factory, reader_secrets):
    assert provide_jar(find_java(tmp_path_factory.mktemp("java")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER, str(reader_secrets))
        work, settings = tmp_path_factory.mktemp("spark"), {"spark.sql.shuffle.partitions": "2"}
        session = build_session(ClusterSettings("local[2]"), work, settings)
    register(session)
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def settings_of_one_test(request):
    """Give the session that all tests share its settings back: a job sets the state store that it keeps its state in."""
    if "spark" not in request.fixturenames:
        yield
        return
    conf = request.getfixturevalue("spark").conf
    before = conf.getAll
    yield
    after = conf.getAll
    for name in after.keys() - before.keys():
        conf.unset(name)
    for name, value in before.items():
        if after.get(name) != value:
            conf.set(name, value)


@pytest.fixture
def feed():
    running = Feed()
    yield running
    running.close()


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    running = Broker(tmp_path_factory.mktemp("kafka"))
    yield running
    running.kill()


@pytest.fixture
def registry():
    running = Registry()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def object_store(tmp_path_factory):
    running = ObjectStore(tmp_path_factory.mktemp("s3"))
    yield running
    running.stop()
