"""How long a start takes, of a job and of plain Spark, and what a runner and a spare hold; prints one JSON line.

``python benchmarks/start.py``; ``... --plain FOLDER`` is the program by hand that it is compared with.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import psutil

from pitstop.kit.waiting import wait_until
from pitstop.launchers.processes import find
from pitstop.model.data_folder import DataFolder
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.registry import SqlRegistry
from served import serving, spare_ready
from update_gap import RATE, START_SECONDS, write_version

ROUNDS = 3
REST_SECONDS = 30
"""How long a job has run when its memory is measured."""


def held(process):
    """Bytes of a process and of all that it has started; what several of them share counts once."""
    found = [process, *process.children(recursive=True)]
    return sum(each.memory_full_info().pss for each in found if each.is_running())


def medians(rounds):
    """Of pairs of seconds."""
    return dict(zip(("running", "committed"), map(median, zip(*rounds, strict=True)), strict=True))


def runners(folder):
    """The processes of the runners of one server, warm ones among them."""
    for process in psutil.process_iter(["cmdline"]):  # None of one that has just ended
        command = " ".join(process.info["cmdline"] or ()).split()
        if "pitstop.runner" in command and str(folder / "data") in command:
            yield process


def started(client, folder, version):
    """Seconds from the submit to RUNNING, and to the first commit."""
    began = time.time()
    job = client.submit(version, name="counts")
    job.wait_started(START_SECONDS)
    running = time.time() - began
    checkpoint = Checkpoint(DataFolder(folder / "data").job(job.id).checkpoint(job.details.lineage))
    assert wait_until(lambda: checkpoint.committed() >= 0, START_SECONDS, step=0.005), "no epoch"
    return job, running, checkpoint.committed_at(0) - began


def pitstop(folder, spare):
    """A job of two stages, submitted ROUNDS times to one server; the first submit there is not counted."""
    folder.mkdir()
    version, rounds = write_version(folder, "first"), []
    with serving(folder, "--spares", str(int(spare))) as client:
        for number in range(ROUNDS + 1):
            if spare:
                spare_ready(folder)
            job, *seconds = started(client, folder, version)
            if number:
                rounds.append(seconds)
            job.cancel()
    return medians(rounds)


def plain(folder):
    """The same windows in plain PySpark, with Spark's defaults but for the number of partitions; ends after its first epoch."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    from update_gap import KEYS, PARTITIONS

    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", str(PARTITIONS)).getOrCreate()
    numbers = spark.readStream.format("rate").option("rowsPerSecond", RATE).load()
    keyed = numbers.withColumn("key", F.col("value") % KEYS).withWatermark("timestamp", "1 second")
    windows = keyed.groupBy("key", F.window("timestamp", "5 seconds")).agg(F.count("*").alias("n"), F.max("value").alias("high"))
    writer = windows.writeStream.outputMode("append").foreachBatch(lambda rows, epoch: rows.toArrow() and None)
    query = writer.option("checkpointLocation", folder).start()
    print(time.time(), flush=True)
    assert wait_until(lambda: Checkpoint(Path(folder)).committed() >= 0, START_SECONDS, step=0.005)
    print(Checkpoint(Path(folder)).committed_at(0), flush=True)
    query.stop()


def by_hand(folder):
    """Seconds from the start of that program to its query's start, and to the first commit."""
    rounds = []
    for number in range(ROUNDS):
        began = time.time()
        command = [sys.executable, __file__, "--plain", folder / str(number)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rounds.append([float(line) - began for line in done.stdout.split()])
    return medians(rounds)


def memory(folder):
    """Bytes of a runner whose job has run for a while, and of a spare beside it."""
    folder.mkdir()
    with serving(folder) as client:
        job, *_ = started(client, folder, write_version(folder, "first"))
        spare_ready(folder)
        time.sleep(REST_SECONDS)
        registry = SqlRegistry(open_database(sqlite_url(DataFolder(folder / "data").store)))
        pid = find(registry.handle_of(job.id, job.details.token)).pid
        found = {process.pid: held(process) for process in runners(folder)}
        job.cancel()
    assert len(found) == 2, f"{len(found)} runners beside each other"
    return {"runner": found.pop(pid), "spare": found.popitem()[1]}


def main():
    if sys.argv[1:2] == ["--plain"]:
        plain(sys.argv[2])
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        found = {"plain": by_hand(folder / "plain"), "cold": pitstop(folder / "cold", spare=False)}
        found |= {"spare": pitstop(folder / "spare", spare=True), "bytes": memory(folder / "memory")}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
