"""Rows into files and into a Delta table, an epoch each: ``python benchmarks/lake.py plain|files|delta FOLDER``.

FOLDER holds the events, written if it is not there. Prints a JSON line: rows a second from the end of the warm-up, in which the
JVM compiles, to the end. ``plain`` is Spark's own sink of parquet files. There is no Delta by hand: Delta's own jars do not run
on Spark 4.3.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import pyarrow.dataset as dataset
from deltalake import DeltaTable

import pitstop as ps
from by_hand import plain_session
from events import SCHEMA, write_files
from million import started
from pitstop.kit.waiting import wait_until
from pitstop.snapshots.checkpoint import Checkpoint
from sliding import rate

STEP, WARM_UP, EPOCHS, KEYS = 500_000, 4, 12, 10_000
"""Rows an epoch; epochs before those that are measured, and these; keys."""
ROWS = (WARM_UP + EPOCHS) * STEP


def start_plain(events, folder):
    rows = plain_session(folder).readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(events))
    writer = rows.where("v >= 0").writeStream.format("parquet").option("checkpointLocation", str(folder / "ck"))
    writer.start(str(folder / "out"))
    return Checkpoint(folder / "ck"), None


def start_pitstop(sink, events, folder):
    p = ps.Pipeline()
    source = ps.sources.files(str(events), "parquet", schema=SCHEMA, streaming=True, maxFilesPerTrigger=1)
    p.read_from(source, name="events").filter("v >= 0").write_to(sink, name="out")
    run, checkpoint, *_ = started(p, folder, "auto")
    return checkpoint, run


def main():
    which, events = sys.argv[1], Path(sys.argv[2])
    write_files(events, ROWS, STEP, KEYS)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        out = str(folder / "out")
        if which == "plain":
            checkpoint, job = start_plain(events, folder)
        else:
            checkpoint, job = start_pitstop(ps.sinks.delta(out) if which == "delta" else ps.sinks.files(out), events, folder)
        last = WARM_UP + EPOCHS - 1
        assert wait_until(lambda: checkpoint.committed() >= last or (job is not None and job.failure()), 1200, step=0.1)
        if job is not None and (failure := job.failure()):
            raise failure
        rows_per_second = rate(checkpoint, WARM_UP - 1, last, STEP)
        table = DeltaTable(out).to_pyarrow_dataset() if which == "delta" else dataset.dataset(out, format="parquet")
        assert table.count_rows() == ROWS, table.count_rows()
        print(json.dumps({"rows_per_second": rows_per_second}), flush=True)
        os._exit(0)


if __name__ == "__main__":
    main()
