"""A process that joins a JVM has a session of its own there, and nothing of it remains once it is gone."""

import os
import subprocess
import sys

import psutil
import pytest

from pitstop.kit.waiting import wait_until
from pitstop.launchers.processes import kill_with
from pitstop.spark.internals.joining import CLIENT_VARIABLE, Clients

pytestmark = pytest.mark.spark

PROGRAM = """
import os, sys
from pathlib import Path
from pyspark.sql import functions as F
from pitstop.spark.base.engines import Door, join_session
from pitstop.spark.sources import register

port, secret, client, folder = sys.argv[1:]
spark = join_session(Door(int(port), secret), client, Path(folder), {"SOME": client}, Path(folder, "nobody.sock"))
register(spark)
spark.conf.set("spark.sql.shuffle.partitions", "1")
spark.range(3).createOrReplaceTempView("numbers")
numbers = spark.readStream.format("pitstop_rate").option("rowsPerSecond", 100).load()

@F.udf("string")
def some(_):
    return os.environ["SOME"]

def write(rows, epoch):
    print("epoch", epoch, rows.select(some("sequence")).distinct().collect()[0][0], flush=True)

query = numbers.writeStream.option("checkpointLocation", folder + "/checkpoint").foreachBatch(write).start()
query.awaitTermination()
"""


def start(session, tmp_path, client):
    door = session.door
    arguments = [str(door.port), door.secret, client, str(tmp_path / client)]
    return subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], stdout=subprocess.PIPE, text=True)


def workers_of(client):
    """The Python workers of this machine that work for a process."""
    found = []
    for process in psutil.Process(os.getpid()).children(recursive=True):
        try:
            if process.environ().get(CLIENT_VARIABLE) == client and process.name() != "java":
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def ended(session, client):
    """End what a process has left as an engine does, and return True once no worker is left."""
    assert session.end() == []
    return kill_with(CLIENT_VARIABLE, client) == 0 and session.tasks == 0


def monitors(spark):
    """The number of threads that Spark keeps for each kind of worker."""
    threads = spark._jvm.java.lang.Thread.getAllStackTraces().keySet()
    return sum(thread.getName().startswith("Idle Worker Monitor") for thread in threads)


def test_processes_run_side_by_side_with_their_own_workers_and_nothing_of_one_that_is_killed_remains(spark, tmp_path):
    clients, view = Clients(spark), "numbers"
    sessions = {name: clients.add(name) for name in ("first", "second")}
    processes = {name: start(session, tmp_path, name) for name, session in sessions.items()}
    try:
        for name, process in processes.items():
            assert process.stdout.readline() == f"epoch 0 {name}\n", "its functions run in workers with its own variables"
        assert {session.queries for session in sessions.values()} == {1}
        assert wait_until(lambda: sessions["first"].tasks > 0, 60, step=0.01), "its tasks are seen while they run"
        assert not spark.catalog.tableExists(view), "its views are its own"
        assert workers_of("first")
        assert workers_of("second")
        processes["first"].kill()
        assert wait_until(lambda: ended(sessions["first"], "first"), 30, step=0.1)
        assert sessions["first"].queries == 0
        pools = spark.sparkContext._jsc.sc().getAllPools().size()
        sessions["first"].forget()
        assert spark.sparkContext._jsc.sc().getAllPools().size() < pools
        assert wait_until(lambda: not workers_of("first"), 30, step=0.05)
        assert sessions["second"].queries == 1
        epoch = processes["second"].stdout.readline()
        assert epoch.startswith("epoch "), "the other goes on"
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    assert wait_until(lambda: ended(sessions["second"], "second"), 30, step=0.1)


def test_tables_that_others_have_made_stay_when_a_process_leaves(spark, tmp_path):
    spark.sql(f"CREATE DATABASE others LOCATION '{tmp_path / 'others'}'")
    spark.range(3).write.saveAsTable("others.numbers")
    kept = spark.range(5).persist()
    kept.count()
    try:
        assert Clients(spark).add("passing-by").end() == []
        assert spark.table("others.numbers").count() == 3
        assert kept.storageLevel.useMemory
        assert spark.sparkContext._jsc.sc().getPersistentRDDs().size() > 0
    finally:
        kept.unpersist()
        spark.sql("DROP DATABASE others CASCADE")


def test_cached_rows_of_a_process_that_has_gone_take_no_memory(spark):
    persisted = spark.sparkContext._jsc.sc().getPersistentRDDs
    before = persisted().size()
    client = Clients(spark).add("caching")
    table = client._session.range(1_000).persist()
    table.count()
    assert persisted().size() == before + 1
    assert client.end() == []
    assert wait_until(lambda: persisted().size() == before, 30, step=0.05)


@pytest.mark.long
def test_processes_that_come_and_go_leave_no_thread_behind(spark, tmp_path):
    clients, counts = Clients(spark), []
    for number in range(6):
        client = f"client-{number}"
        session = clients.add(client)
        process = start(session, tmp_path, client)
        assert process.stdout.readline().startswith("epoch 0 ")
        process.kill()
        process.wait()
        assert wait_until(lambda session=session, client=client: ended(session, client), 30, step=0.1)
        counts.append(monitors(spark))
    assert wait_until(lambda: monitors(spark) <= counts[0], 30, step=0.1), counts
