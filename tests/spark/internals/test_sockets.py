"""No port of the machine leads into a session but those that know their own: a stranger would be taken for PySpark."""

import os
import stat
from pathlib import Path

import psutil
import pytest
from pyspark import java_gateway

from pitstop.machine import temporary
from pitstop.spark.base.session import temporary_of

pytestmark = pytest.mark.spark


def listening():
    """The TCP ports of this process, its Java and all Python workers."""
    own = psutil.Process()
    found = set()
    for process in (own, *own.children(recursive=True)):
        try:
            found |= {each.laddr.port for each in process.net_connections("tcp") if each.status == psutil.CONN_LISTEN}
        except psutil.NoSuchProcess:
            continue
    return found


def guarded(spark):
    """Those that ask who comes: by a token (py4j), by the kernel (its callbacks), by a secret (Spark's RPC and blocks)."""
    gateway = spark.sparkContext._gateway
    java_gateway.ensure_callback_server_started(gateway)
    blocks = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().keySet().mkString(" ")
    return {
        gateway.gateway_parameters.port,
        gateway._callback_server.server_socket.getsockname()[1],
        int(spark.sparkContext.getConf().get("spark.driver.port")),
        int(blocks.rpartition(":")[2]),
    }


def numbers():
    """A source in Python; its class comes with the pipeline, as a user's own does."""
    from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

    class Reader(SimpleDataSourceStreamReader):
        def initialOffset(self):
            return {"next": 0}

        def read(self, start):
            return iter([(start["next"],)]), {"next": start["next"] + 1}

        def readBetweenOffsets(self, start, end):
            return iter([(number,) for number in range(start["next"], end["next"])])

    class Numbers(DataSource):
        @classmethod
        def name(cls):
            return "numbers_of_a_test"

        def schema(self):
            return "number bigint"

        def simpleStreamReader(self, schema):
            return Reader()

    return Numbers


@pytest.mark.long
@pytest.mark.always  # the one cheap test of another user's way into a job, for test_machine.py of tests/security is drawn
def test_whatever_python_and_java_exchange_no_port_is_there_for_others(spark, tmp_path):
    expected, seen, epochs = guarded(spark), set(), []
    doubled = spark.range(2000, numPartitions=2).mapInPandas(lambda frames: frames, "id bigint")

    def write(rows, number):
        epochs.append(rows.toArrow().num_rows)
        seen.update(listening())

    spark.dataSource.register(numbers())
    query = spark.readStream.format("numbers_of_a_test").load().writeStream.foreachBatch(write)
    query = query.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        while not epochs:
            assert query.isActive, query.exception()
            query.awaitTermination(0.1)
    finally:
        query.stop()
    for row in doubled.toLocalIterator():  # its server is there until the last row is taken
        if row.id % 1000 == 0:
            seen |= listening()
    assert doubled.toPandas()["id"].sum() == 1999 * 1000
    assert len(spark.sparkContext.parallelize(range(10)).map(str).collect()) == 10
    assert epochs[0] == 1
    assert seen - expected == set()


def test_sockets_and_unpacked_libraries_are_in_a_folder_of_the_user_alone(spark):
    assert spark.range(10).mapInPandas(lambda frames: frames, "id bigint").count() == 10
    folder = temporary_of(spark)
    assert spark._jvm.java.lang.System.getProperty("java.io.tmpdir") == str(folder)
    facts = folder.stat()
    assert (facts.st_uid, stat.S_IMODE(facts.st_mode)) == (os.geteuid(), 0o700)
    assert any(stat.S_ISSOCK(each.stat().st_mode) for each in folder.iterdir())
    libraries = {Path(each.path) for each in psutil.Process(spark.sparkContext._gateway.proc.pid).memory_maps()}
    assert {each for each in libraries if each.parent == Path("/tmp")} == set()


def test_a_socket_fits_wherever_the_data_folder_and_the_usual_folder_are(monkeypatch, tmp_path):
    long = tmp_path / ("l" * 60)
    blank = tmp_path / "a b"
    for folder in (long, blank):
        folder.mkdir()
        monkeypatch.setattr(temporary.tempfile, "tempdir", str(folder))
        found = temporary.temporary_folder()
        assert found.parent in (Path("/tmp"), Path("/var/tmp"))
        assert len(os.fsencode(found / f".{'u' * 36}.sock")) <= 107
        found.rmdir()
