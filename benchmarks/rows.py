"""How fast a row is: ``python benchmarks/rows.py realtime|epochs stateless|rolling [ROWS_PER_SECOND] [SECONDS]`` prints JSON.

A job reads a topic of two partitions and writes a map, in epochs of 10 seconds if it runs in real time. The time of a row is from
the call that produces it to the end of the transaction with its entry (SQLite). The load of the machine is printed beside the
figures. The broker is that of the tests (tests/brokers), so it runs in a checkout.
"""

import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from confluent_kafka import Producer
from tests.brokers.broker import Broker

import pitstop as ps
from pitstop.machine.java import find_java
from pitstop.model.cluster import ClusterSettings
from pitstop.model.config import Execution, JobConfig, ProcessingGuarantee
from pitstop.model.job import Progress
from pitstop.runner.archiving import provide_jar
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.base.environment import Environment, SourceSettings
from pitstop.spark.base.session import build_session
from pitstop.spark.lowering.compiled_job import compile_job
from pitstop.spark.run import Run
from pitstop.spark.starting.start_point import StartPoint
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore

WARM_SECONDS, KEYS, EPOCH_MS, LAST_SECONDS = 25.0, 10, 10_000, 15.0
DEFAULTS = ("200", "20")
PARTS = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "longest": 1.0}


def pipeline(kind, servers):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.kafka(servers, "rows", schema="at double", with_metadata=("key",)), name="rows")
    if kind == "rolling":
        rows = rows.group_by("key").rolling_aggregate("counted", seen=ps.count())
    rows.write_to(ps.sinks.map("last", key="key", value="at"), name="last")
    return p


class TimedMaps(SqlMapStore):
    """A store that notes the time of each entry when its transaction has ended."""

    def __init__(self, database):
        super().__init__(database)
        self.times = []

    def write_epoch(self, name, changes, epoch, fence, orders=None):
        result = super().write_epoch(name, changes, epoch, fence, orders)
        now = time.time()
        self.times += [(now, float(value)) for _, value in changes]
        return result


def produce(servers, rows_per_second, over):
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0})
    sent, begun = 0, time.monotonic()
    while not over.is_set():
        while sent < (time.monotonic() - begun) * rows_per_second:
            producer.produce("rows", key=f"k{sent % KEYS}", value=json.dumps({"at": time.time()}), partition=sent % 2)
            sent += 1
        producer.poll(0)
        time.sleep(0.001)
    producer.flush()


def measure(execution, kind, rows_per_second, seconds, folder):
    provide_jar(find_java(folder / "java"))
    spark = build_session(ClusterSettings("local[2]"), folder / "spark", {"spark.sql.shuffle.partitions": "2"})
    broker = Broker(folder / "kafka")
    try:
        broker.make("rows")
        maps = TimedMaps(open_database(sqlite_url(folder / "store.db")))
        config = JobConfig(execution=Execution(execution), snapshot_interval_ms=EPOCH_MS)
        job = compile_job(spark, pipeline(kind, broker.servers), config, SourceSettings(agreements=str(folder / "agreements")))
        facts = {"lineage": "lineage", "plan": job.plan.to_dict()}
        Checkpoint(folder / "checkpoint").write_facts(
            facts | {"sources": [[slot.stage, slot.reader] for slot in job.plan.source_slots]}
        )
        settings = SourceSettings(agreements=str(folder / "agreements"))
        environment = Environment(
            "id",
            "job",
            "lineage",
            ProcessingGuarantee.EXACTLY_ONCE,
            folder,
            lambda *_: None,
            maps=maps,
            sources=settings,
        )
        run = Run.start(job, environment, StartPoint("lineage", folder / "checkpoint"), Progress(), lambda: None)
        over = threading.Event()
        producer = threading.Thread(target=produce, args=(broker.servers, rows_per_second, over))
        producer.start()
        time.sleep(WARM_SECONDS)
        begun = time.time()
        time.sleep(seconds)
        ended, load = time.time(), os.getloadavg()[0]
        time.sleep(LAST_SECONDS)
        over.set()
        producer.join()
        failure = run.failure()
        if failure is not None:
            raise failure
        run.abandon()
        return sorted(now - at for now, at in maps.times if begun <= at < ended), load
    finally:
        broker.kill()
        spark.stop()


def main():
    execution, kind = sys.argv[1:3]
    rows_per_second, seconds = (float(word) for word in (*sys.argv[3:], *DEFAULTS[len(sys.argv) - 3 :]))
    with tempfile.TemporaryDirectory() as folder:
        times, load = measure(execution, kind, rows_per_second, seconds, Path(folder))
    at = {name: round(times[min(int(part * len(times)), len(times) - 1)] * 1000, 1) for name, part in PARTS.items()}
    print(json.dumps({"execution": execution, "kind": kind, "rows": len(times), "load": load, "ms": at}))


if __name__ == "__main__":
    main()
