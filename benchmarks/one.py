"""One measurement in a process of its own; prints one JSON line. ``python benchmarks/one.py NAME``"""

import itertools
import json
import statistics
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

import psutil
import pyspark.cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import events
import pitstop as ps
from by_hand import plain_session, start_windows
from events import SCHEMA, Events
from million import started
from pitstop.kit.waiting import wait_until
from pitstop.model.cluster import ClusterSettings
from pitstop.spark.base.session import build_session
from pitstop.sql import connectors
from pitstop.sql.compiling import compile_job
from pitstop.sql.mappings import Column, Mapping
from pitstop.sql.parsing import parse
from pitstop.sql.statements import CreateJob

pyspark.cloudpickle.register_pickle_by_value(events)
ROWS, STEP, KEYS = 10_000_000, 500_000, 10_000
SQL_TURNS = 4


class PeakMemory(threading.Thread):
    """The highest resident size of this process and all it has started, in bytes, sampled every 100 ms."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peak = 0
        self.start()

    def run(self):
        me = psutil.Process()
        while True:
            total = 0
            for process in [me, *me.children(recursive=True)]:
                try:
                    total += process.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            self.peak = max(self.peak, total)
            time.sleep(0.1)


def cpu_seconds():
    """What this process and all it has started have used of the processor: unlike time, it hardly hangs on what else runs."""
    total = 0.0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        try:
            times = process.cpu_times()
            total += times.user + times.system
        except psutil.NoSuchProcess:
            continue
    return total


def until_read(checkpoint, rows):
    done = f'{{"n": {rows}}}'
    assert wait_until(lambda: (n := checkpoint.committed()) >= 0 and done in checkpoint.offsets(n).offsets, 600)


def pipeline(rows, step, keys, finish, size="1 minute"):
    p = ps.Pipeline()
    source = p.read_from(ps.sources.custom(Events, schema=SCHEMA, rows=rows, step=step, keys=keys), name="events")
    finish(source, size)
    return p


def aggregate(source, size):
    windows = source.with_timestamps("ts", allowed_lag="2 seconds").group_by("key").window(ps.tumbling(size))
    windows.aggregate("sums", n=ps.count(), total=ps.sum("v"), high=ps.max("v")).write_to(ps.sinks.noop(), name="out")


def in_sql():
    """The job of ``aggregate``, written in SQL."""
    events = ps.sources.custom(Events, schema=SCHEMA, rows=ROWS, step=STEP, keys=KEYS)
    columns = tuple(Column(*part.split()) for part in SCHEMA.split(", "))
    connectors._BY_NAME["benchmark"] = connectors.Connector("Benchmark", lambda mapping: events, columns=columns)
    (job,) = parse(
        "CREATE JOB sums AS INSERT INTO out SELECT key, window_start, window_end, COUNT(*) AS n, SUM(v) AS total, MAX(v) AS high "
        "FROM TABLE(TUMBLE(TABLE(IMPOSE_ORDER(TABLE events, DESCRIPTOR(ts), INTERVAL '2' SECONDS)), DESCRIPTOR(ts), "
        "INTERVAL '1' MINUTE)) GROUP BY key, window_start, window_end"
    )
    assert isinstance(job, CreateJob)
    return compile_job("sums", job.body, {"events": Mapping("events", "Benchmark"), "out": Mapping("out", "Noop")})


def measure_plain(folder):
    """The job of ``aggregate`` by hand."""
    spark = plain_session(folder)
    spark.dataSource.register(Events)
    memory = PeakMemory()
    stream = spark.readStream.format("benchmark_events").options(rows=ROWS, step=STEP, keys=KEYS).load()
    return speed(start_windows(stream, F.window("ts", "1 minute"), folder), ROWS, STEP) | {"peak_bytes": memory.peak}


def measure_pitstop(folder, store):
    """The same as a server's job, with this state_store."""
    memory = PeakMemory()
    checkpoint = started(pipeline(ROWS, STEP, KEYS, aggregate), folder, store)[1]
    return speed(checkpoint, ROWS, STEP) | {"peak_bytes": memory.peak}


def measure_sql(folder, spark):
    """The same job in SQL and by the Python API, in turns in one session; the first two warm it up."""
    found: dict[str, list[dict[str, float]]] = {"sql": [], "python": []}
    for turn in range(SQL_TURNS + 1):
        for name in sorted(found, reverse=turn % 2 == 1):
            built = in_sql() if name == "sql" else pipeline(ROWS, STEP, KEYS, aggregate)
            found[name].append(steady(built, spark, folder / f"{name}-{turn}", ROWS, STEP))
    return {name: each[1:] for name, each in found.items()}


def measure_map_sink(folder, spark):
    """Seconds of the epochs after the first, which also starts the workers."""

    def finish(source, size):
        source.select("cast(key as string) k", "v", "ts").write_to(ps.sinks.map("m", key="k"), name="map")

    rows, step = 1_000_000, 100_000
    job = ps.run(pipeline(rows, step, KEYS, finish), spark, data_dir=folder, processing_guarantee="exactly_once", partitions=2)
    checkpoint = job._run.running.checkpoint
    assert wait_until(lambda: checkpoint.committed() >= 0, 300, step=0.001)
    began, first = time.monotonic(), checkpoint.committed()
    until_read(checkpoint, rows)
    seconds, epochs = time.monotonic() - began, checkpoint.committed() - first
    bounds = job.maps.bounds("m")
    job.stop()
    assert bounds.newest == rows
    return {"upserts_per_second": step * epochs / seconds}


def steady(built, spark, folder, rows, step):
    """``speed`` of a pipeline."""
    job = ps.run(built, spark, data_dir=folder, processing_guarantee="exactly_once", partitions=2)
    found = speed(job._run.running.checkpoint, rows, step)
    job.stop()
    return found


def speed(checkpoint, rows, step):
    """Rows a second, and a second of the processor, of the epochs after the first, which also starts the workers."""
    assert wait_until(lambda: checkpoint.committed() >= 0, 300, step=0.001)
    began, used, first = time.monotonic(), cpu_seconds(), checkpoint.committed()
    until_read(checkpoint, rows)
    seconds, used, epochs = time.monotonic() - began, cpu_seconds() - used, checkpoint.committed() - first
    return {"rows_per_second": step * epochs / seconds, "rows_per_cpu_second": step * epochs / used}


def count_so_far(state, row):
    state.n = (state.n or 0) + 1
    return (row.v, state.n)


def measure_keyed(which, keys, folder, spark):
    """Stages with a row of state a key, of so many keys."""

    def finish(source, size):
        by_key = source.group_by("key")
        if which == "rolling":
            stage = by_key.rolling_aggregate("so-far", n=ps.count())
        else:
            stage = by_key.map_stateful("so-far", count_so_far, "n bigint", "v bigint, n bigint")
        stage.write_to(ps.sinks.noop(), name="out")

    rows, step = 5_000_000, 500_000
    return steady(pipeline(rows, step, keys, finish), spark, folder, rows, step)


def measure_export(folder, spark):
    """Epoch durations with a million keys in state, before and while a snapshot is exported."""
    keys, step = 1_000_000, 100_000
    built = pipeline(40 * step, step, keys, aggregate, size="10 hours")
    job = ps.run(built, spark, data_dir=folder, processing_guarantee="exactly_once", partitions=2)
    checkpoint = job._run.running.checkpoint
    exported, commits = [], []

    def export():
        began = time.monotonic()
        record = job.export_snapshot("million")
        exported.append((began, time.monotonic(), record.bytes))

    exporting = threading.Thread(target=export)
    for epoch in range(15, 35):
        assert wait_until(partial(lambda wanted: checkpoint.committed() >= wanted, epoch), 300, step=0.002)
        commits.append(time.monotonic())
        if epoch == 26:
            exporting.start()
    exporting.join()
    job.stop()
    began, ended, size = exported[0]
    gaps = list(itertools.pairwise(commits))
    usual = statistics.median(b - a for a, b in gaps if b < began)
    during = max((b - a for a, b in gaps if b > began and a < ended), default=usual)
    return {"usual_epoch_seconds": usual, "epoch_during_export_seconds": during, "export_seconds": ended - began, "bytes": size}


MEASURES = {"map-sink": measure_map_sink, "export": measure_export, "sql": measure_sql}


def main():
    name = sys.argv[1]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if name == "plain":
            result = measure_plain(folder)
        elif name == "pitstop":
            result = measure_pitstop(folder, sys.argv[2])
        else:
            spark = build_session(ClusterSettings("local[2]"), folder / "work")
            keyed = name in ("rolling", "state")
            result = measure_keyed(name, int(sys.argv[2]), folder, spark) if keyed else MEASURES[name](folder, spark)
        print(json.dumps(result), flush=True)
        for query in SparkSession.active().streams.active:
            query.stop()
        SparkSession.active().stop()


if __name__ == "__main__":
    main()
