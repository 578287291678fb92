"""Many small jobs on one machine: ``python benchmarks/many.py own|shared|plain JOBS [SECONDS]`` prints one JSON line.

Each job reads 100 rows a second of 10 keys, counts them by key and writes a map. ``own``: each has a JVM of its own; ``shared``:
all share an engine; ``plain``: the same by hand, one application of Spark for each, with a SQLite file instead of the map. For
each: seconds from the submission of a job to its first result; then, while all run, memory (PSS) and cores of all processes but
the server's, epochs a second, and the age of the newest result, which is looked at over and over: the time from a row to its
result, and the time until there is a newer one.
"""

import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

import psutil

from served import serving, spare_ready, wait

RATE, KEYS, SETTLE_SECONDS = 100, 10, 20.0
JOB = f"""
import pitstop as ps

@ps.job(partitions=1)
def numbers(name):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.rate({RATE}), name="in").with_columns(key="sequence % {KEYS}")
    counted = rows.group_by("key").rolling_aggregate("counted", n=ps.count(), at=ps.max("unix_millis(time)"))
    counted.select("key", "n", "at").write_to(ps.sinks.map(name, key="key"), name="out")
    return p
"""
PLAIN = f"""
import sqlite3, sys
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "1")
         .config("spark.driver.memory", "2g").getOrCreate())
rows = spark.readStream.format("rate").option("rowsPerSecond", {RATE}).load()
keyed = rows.groupBy((F.col("value") % {KEYS}).alias("key"))
counts = keyed.agg(F.count("*").alias("n"), F.max(F.unix_millis("timestamp")).alias("at"))

def write(frame, epoch):
    found = [tuple(row) for row in frame.collect()]
    with sqlite3.connect(sys.argv[1]) as database:
        database.execute("create table if not exists counts (key integer primary key, n integer, at integer)")
        database.executemany("insert or replace into counts values (?, ?, ?)", found)

query = counts.writeStream.outputMode("update").foreachBatch(write).option("checkpointLocation", sys.argv[2]).start()
query.awaitTermination()
"""


def pss_bytes(process):
    try:
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def cpu_seconds(processes):
    total = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def family(process):
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def measured(roots, newest, jobs, seconds):
    """Memory, cores and ages while all jobs run; ``newest(number)``: the time in ms of the newest row in a job's results."""
    time.sleep(SETTLE_SECONDS)
    processes = [each for root in roots for each in family(root)]
    before, began, ages = cpu_seconds(processes), time.monotonic(), []
    looked_at = range(0, jobs, max(1, jobs // 5))
    while time.monotonic() - began < seconds:
        for number in looked_at:
            ages.append(time.time() - newest(number) / 1000)
        time.sleep(0.05)
    cores = (cpu_seconds(processes) - before) / (time.monotonic() - began)
    memory = sum(pss_bytes(each) for root in roots for each in family(root))
    by_hundred = quantiles(ages, n=100)
    return {
        "jobs": jobs,
        "megabytes_a_job": memory / jobs / 2**20,
        "cores_a_job": cores / jobs,
        "age_p50_seconds": median(ages),
        "age_p99_seconds": by_hundred[98],
    }


def pitstop(engine, jobs, seconds, folder):
    (folder / "numbers.py").write_text(JOB)
    with serving(folder, "--engine", engine) as client:
        spare_ready(folder)
        server = psutil.Process(int(json.loads((folder / "data" / "control.pid").read_text())["handle"].split("/")[1]))
        firsts = []
        for number in range(jobs):
            began = time.monotonic()
            client.submit(folder / "numbers.py", args=[f"out-{number}"], name=f"job-{number}")
            wait(lambda number=number: client.map(f"out-{number}").entries(), f"job {number} has a result")
            firsts.append(time.monotonic() - began)
        handles = [client.job(f"job-{number}") for number in range(jobs)]

        def newest(number):
            return max(entry["at"] for entry in client.map(f"out-{number}").entries().values())

        epochs, began = sum(handle.metrics().epoch for handle in handles), time.monotonic()
        found = measured(server.children(), newest, jobs, seconds)
        epochs = sum(handle.metrics().epoch for handle in handles) - epochs
        restarts = sum(handle.details.token - 1 for handle in handles)
        told = {"epochs_a_second": epochs / jobs / (time.monotonic() - began), "restarts": restarts}
        return found | told | {"submit_to_result_p50_seconds": median(firsts), "submit_to_result_max_seconds": max(firsts)}


def plain(jobs, seconds, folder):
    program = folder / "plain.py"
    program.write_text(PLAIN)
    processes, firsts = [], []

    def newest(number):
        with sqlite3.connect(folder / f"{number}.db", timeout=60) as database:
            return database.execute("select max(at) from counts").fetchone()[0]

    def has_result(number):
        try:
            return newest(number) is not None
        except sqlite3.OperationalError:
            return False

    try:
        for number in range(jobs):
            began = time.monotonic()
            command = [sys.executable, str(program), str(folder / f"{number}.db"), str(folder / f"checkpoint-{number}")]
            processes.append(psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            wait(lambda number=number: has_result(number), f"job {number} has a result")
            firsts.append(time.monotonic() - began)
        found = measured(processes, newest, jobs, seconds)
        return found | {"submit_to_result_p50_seconds": median(firsts), "submit_to_result_max_seconds": max(firsts)}
    finally:
        for process in processes:
            for each in family(process):
                each.kill()


def main(way, jobs, seconds):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        found = plain(jobs, seconds, folder) if way == "plain" else pitstop(way, jobs, seconds, folder)
    print(json.dumps({"way": way} | found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 30.0)
