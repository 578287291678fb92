"""What an idle job costs: ``python benchmarks/idle.py plain|pitstop`` prints one JSON line.

A job with windows by key reads a folder of CSV. Once it has read the one file that is there, nothing comes for a minute: the
processor time of all its processes meanwhile. ``plain``: the same by hand, with Spark's own source of CSV. Both look for new
rows as often as Spark does by itself.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import psutil
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import pitstop as ps
from by_hand import plain_session, start_windows
from million import started
from one import cpu_seconds
from pitstop.kit.waiting import wait_until

ROWS, KEYS, SECONDS, QUIET_SECONDS, READ_SECONDS = 10_000, 100, 60.0, 20.0, 300.0
SCHEMA = "key bigint, v bigint, ms bigint"


def plain(source, folder):
    spark = plain_session(folder)
    rows = spark.readStream.schema(SCHEMA).csv(str(source)).withColumn("ts", F.timestamp_millis("ms"))
    return start_windows(rows, F.window("ts", "1 minute"), folder)


def pitstop(source, folder):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail(source, SCHEMA), name="rows").with_columns(ts="timestamp_millis(ms)")
    windows = rows.with_timestamps("ts", allowed_lag="2 seconds").group_by("key").window(ps.tumbling("1 minute"))
    sums = windows.aggregate("sums", n=ps.count(), total=ps.sum("v"), high=ps.max("v"))
    sums.write_to(ps.sinks.noop(), name="out")
    return started(p, folder, "auto")[1]


def until_idle(checkpoint):
    """Wait until no epoch has been planned for a while: after that of the rows comes one for the watermark."""
    last = [(-1, time.monotonic())]

    def idle():
        epoch = checkpoint.planned()
        if epoch != last[-1][0]:
            last.append((epoch, time.monotonic()))
        return epoch >= 1 and checkpoint.committed() == epoch and time.monotonic() - last[-1][1] > QUIET_SECONDS

    assert wait_until(idle, READ_SECONDS, step=0.1)


def measure(start):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        source = Path(temporary) / "in"
        source.mkdir()
        (source / "rows.csv").write_text("".join(f"{n % KEYS},{n},{1_700_000_000_000 + n}\n" for n in range(ROWS)))
        checkpoint = start(source, Path(temporary))
        until_idle(checkpoint)
        epoch, began, used = checkpoint.planned(), time.monotonic(), cpu_seconds()
        by_process = processes()
        time.sleep(SECONDS)
        cores = (cpu_seconds() - used) / (time.monotonic() - began)
        found = {name: seconds - by_process.get(name, 0.0) for name, seconds in processes().items()}
        epochs = checkpoint.planned() - epoch
        print(json.dumps({"cores": cores, "epochs": epochs, "seconds_by_process": found}), flush=True)
        for query in SparkSession.active().streams.active:
            query.stop()
        SparkSession.active().stop()


def processes():
    """Seconds of the processor by process: where the cost is."""
    found = {}
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        try:
            times = process.cpu_times()
            found[f"{process.name()} {process.pid}"] = times.user + times.system
        except psutil.NoSuchProcess:
            continue
    return found


if __name__ == "__main__":
    measure({"plain": plain, "pitstop": pitstop}[sys.argv[1]])
