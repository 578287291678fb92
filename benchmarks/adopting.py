"""The adoption of a query by hand with a million keys of state, beside a plain restart of that query.

``python benchmarks/adopting.py fill|adopt|go_on|restart FOLDER``, each in a process of its own and in this order, prints one JSON
line. ``$EVENTS`` is a folder for the events' files, written if it is not there.
"""

import json
import os
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import million
import pitstop as ps
from events import SCHEMA, write_files
from pitstop.kit.waiting import wait_until
from pitstop.model.cluster import ClusterSettings
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.adopting.adopting import Adopting, Request
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.base.session import build_session
from pitstop.spark.lowering.compiled_job import compile_job

EPOCHS = 8
"""Files of events: all keys are in state after the first two, and each process that runs a query reads one or two more."""


def by_key(events):
    """The code of the query by hand."""
    windows = events.withWatermark("ts", "2 seconds").groupBy("key", F.window("ts", "10 hours"))
    return windows.agg(F.count("*").alias("n"), F.sum("v").alias("total"), F.max("v").alias("high"))


def pipeline():
    p = ps.Pipeline()
    source = ps.sources.files(million.EVENTS, "parquet", schema=SCHEMA, streaming=True, maxFilesPerTrigger=1)
    p.read_from(source, name="events").stateful("sums", by_key).write_to(ps.sinks.noop(), name="out")
    return p


def fill(folder):
    """Run the query by hand until all keys are in state, and stop it between two epochs."""
    checkpoint, _ = million.start_plain(folder)
    assert wait_until(lambda: checkpoint.committed() >= million.FIRST, 2000, step=0.05)
    for query in SparkSession.active().streams.active:
        query.stop()
    return {"bytes": sum(path.stat().st_size for path in (folder / "ck" / "state").rglob("*") if path.is_file())}


def adopt(folder):
    """Seconds from the compiling of the job to the snapshot, in a session that is there; and the rows that were moved."""
    spark = build_session(ClusterSettings("local[2]"), folder / "work")
    began = time.monotonic()
    job = compile_job(spark, pipeline(), JobConfig(), SourceSettings())
    under_way = Adopting(job, str(folder / "ck"), Request(), SourceSettings(), folder / "scratch")
    judged = time.monotonic()
    adoption = under_way.export(DataFolder(folder).snapshot("adopted"), "adopted")
    ended = time.monotonic()
    return {"seconds": ended - began, "judged": judged - began, "rows": adoption.operators[0].rows}


def go_on(folder):
    """Seconds from the compiling of the job to the first commit of its run from the snapshot."""
    snapshot = DataFolder(folder).snapshot("adopted")
    started = million.started(pipeline(), folder / "job", "rocksdb", snapshot=snapshot)
    return {"seconds": million.first_new_epoch(*started[1:4])}


def restart(folder):
    """Seconds from the start of the query by hand on its own checkpoint to its first new commit."""
    before = Checkpoint(folder / "ck").committed()
    checkpoint, began = million.start_plain(folder)
    return {"seconds": million.first_new_epoch(checkpoint, began, before)}


def main():
    what, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    write_files(Path(million.EVENTS), million.STEP * EPOCHS, million.STEP, million.KEYS)
    found = {"fill": fill, "adopt": adopt, "go_on": go_on, "restart": restart}[what](folder)
    print(json.dumps(found), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
