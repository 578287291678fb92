"""A million keys under a keyed aggregate: its speed, a SIGKILL, a restart; and restores of a snapshot of it.

``python benchmarks/million.py run|restart plain|pitstop FOLDER``, ``... restore own|same|changed FOLDER`` and
``... served|grown FOLDER``, each in a process of its own, print one JSON line. ``run`` ends by SIGKILL in the middle of an epoch.
``$EVENTS`` is a folder for the events' files, written if it is not there; ``$STORE`` the state store, memory or rocksdb.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import million_job
from by_hand import plain_session, start_windows
from events import FILES, SCHEMA, write_files
from pitstop.kit.waiting import wait_until
from pitstop.launchers.processes import find
from pitstop.model.cluster import ClusterSettings
from pitstop.model.config import JobConfig, ProcessingGuarantee
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Progress
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import export_checkpoint
from pitstop.spark.base.environment import Environment
from pitstop.spark.base.session import build_session
from pitstop.spark.base.state_stores import store_of
from pitstop.spark.lowering.compiled_job import compile_job
from pitstop.spark.run import Run
from pitstop.spark.starting.start_point import start_point
from pitstop.spark.state.in_snapshot import SnapshotState
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.registry import SqlRegistry
from served import serving, spare_ready
from update_gap import START_SECONDS

KEYS, STEP, EPOCHS = int(os.environ.get("KEYS", "1_000_000")), 500_000, 12
FIRST = KEYS // STEP
"""The epoch by which all keys are in state."""
ROWS = STEP * max(40, FIRST + EPOCHS + 16)
STORE = os.environ.get("STORE", "memory")
EVENTS = os.environ.get("EVENTS", "")
"""Folder of the events' files, one an epoch."""


def start_plain(folder):
    """The query by hand; returns its checkpoint."""
    stream = plain_session(folder).readStream.format("parquet").schema(SCHEMA).options(**FILES).load(EVENTS)
    began = time.monotonic()
    return start_windows(stream, F.window("ts", "10 hours"), folder), began


def start_pitstop(folder, lineage=None, snapshot=None, more=False):
    """A run on a checkpoint, old or new: (run, checkpoint, when it was told to start, last epoch, seconds to restore)."""
    return started(million_job.pipeline(EVENTS, more), folder, STORE, lineage, snapshot)


def started(pipeline, folder, store, lineage=None, snapshot=None):
    """The same of any pipeline, started as a runner does it."""
    spark = build_session(ClusterSettings("local[2]"), folder / "work")
    environment = Environment("million", "million", "", ProcessingGuarantee.EXACTLY_ONCE, folder / "work", lambda *_: None)
    began = time.monotonic()
    config = JobConfig.from_options({"partitions": 2, "processing_guarantee": "exactly_once", "state_store": store})
    job = compile_job(spark, pipeline, config, environment.sources)
    begun = time.monotonic()
    point = start_point(job, environment, DataFolder(folder), lineage, lambda: snapshot)
    prepared = time.monotonic() - begun
    (folder / "lineage").write_text(point.lineage)
    checkpoint = Checkpoint(DataFolder(folder).job("million").checkpoint(point.lineage))
    before = checkpoint.committed()
    run = Run.start(job, environment, point, Progress(), lambda: None)
    return run, checkpoint, began, before, prepared


def speed(checkpoint):
    """Rows a second after the first epochs, which also start the workers and fill the state."""
    assert wait_until(lambda: checkpoint.committed() >= FIRST, 2000, step=0.002)
    began, first = time.monotonic(), checkpoint.committed()
    assert wait_until(lambda: checkpoint.committed() >= FIRST + EPOCHS, 2000, step=0.002)
    return {"rows_per_second": STEP * (checkpoint.committed() - first) / (time.monotonic() - began)}


def run(which, folder):
    checkpoint = start_plain(folder)[0] if which == "plain" else start_pitstop(folder)[1]
    found = speed(checkpoint)
    epoch = checkpoint.committed()
    assert wait_until(lambda: checkpoint.planned() > epoch, 60, step=0.001)
    print(json.dumps(found | {"epoch": epoch}), flush=True)
    os.killpg(os.getpgid(0), signal.SIGKILL)


def first_new_epoch(checkpoint, began, before):
    assert wait_until(lambda: checkpoint.committed() > before, 600, step=0.002)
    return time.monotonic() - began


def restart(which, folder):
    """Seconds from the start of the query, in a new process, to its first commit; and whether all rows are in its state."""
    if which == "plain":
        before = Checkpoint(folder / "ck").committed()
        checkpoint, began = start_plain(folder)
        seconds = first_new_epoch(checkpoint, began, before)
        return {"seconds": seconds, "committed_at": checkpoint.committed_at(before + 1)}
    lineage = (folder / "lineage").read_text()
    job, *began = start_pitstop(folder, lineage)
    seconds = first_new_epoch(*began[:3])
    checkpoint = job.running.checkpoint
    job.stop(60)
    export_checkpoint(checkpoint, DataFolder(folder).snapshot("million"), "million", job.stage_facts())
    return {"seconds": seconds, "lost": lost(SparkSession.active(), folder / "snapshots" / "million")}


def served(folder):
    """With a control plane and one warm spare: seconds to the first commit after SIGKILL of the job's run, and after a submit
    of a version with one more stage, from a snapshot of it."""
    folder.mkdir(parents=True, exist_ok=True)
    with serving(folder) as client:
        job, checkpoint = submitted(client, folder, "sums")
        assert wait_until(lambda: checkpoint.committed() >= EPOCHS, START_SECONDS, step=0.002)
        spare_ready(folder)
        assert wait_until(lambda: checkpoint.planned() > checkpoint.committed(), 60, step=0.001)
        registry = SqlRegistry(open_database(sqlite_url(DataFolder(folder / "data").store)))
        os.kill(find(registry.handle_of(job.id, job.details.token)).pid, signal.SIGKILL)
        killed, before = time.time(), checkpoint.committed()
        assert wait_until(lambda: checkpoint.committed() > before, START_SECONDS, step=0.002)
        found = {"restart": checkpoint.committed_at(before + 1) - killed}
        job.wait_started(START_SECONDS)
        epoch = job.cancel_and_export_snapshot("million").epoch
        spare_ready(folder)
        began = time.time()
        job, checkpoint = submitted(client, folder, "sums_and_more", initial_snapshot="million")
        assert wait_until(lambda: checkpoint.committed() > epoch, START_SECONDS, step=0.002)
        found["changed"] = checkpoint.committed_at(epoch + 1) - began
        job.cancel()
    return found


def grown(folder):
    """As a server's job, whose state moves to disk by itself: rows a second with all keys in state, and where that is then."""
    folder.mkdir(parents=True, exist_ok=True)
    with serving(folder) as client:
        job, _ = submitted(client, folder, "sums")
        assert wait_until(lambda: checkpoint_of(job, folder).committed() >= FIRST, 2000, step=0.5)
        checkpoint = checkpoint_of(job, folder)
        first = checkpoint.committed()
        last = first + EPOCHS
        assert wait_until(lambda: checkpoint.committed() >= last, 2000, step=0.1)
        seconds = checkpoint.committed_at(last) - checkpoint.committed_at(first)
        job.cancel()
    return {"rows_per_second": STEP * EPOCHS / seconds, "store": store_of(checkpoint.provider())}


def submitted(client, folder, entry, **more):
    """A job of million_job.py that has begun, and its checkpoint."""
    job = client.submit(million_job.__file__, f"million_job:{entry}", [EVENTS], entry, config={"state_store": STORE}, **more)
    job.wait_started(START_SECONDS)
    return job, checkpoint_of(job, folder)


def checkpoint_of(job, folder):
    """The one that a server's job has at this moment: another one after a move of its state."""
    return Checkpoint(DataFolder(folder / "data").job(job.id).checkpoint(job.details.lineage))


def lost(spark, path):
    """Rows read up to the snapshot's epoch less the rows counted in its state."""
    manifest = manifests.read(path)
    counted = SnapshotState.open(path, manifest, "sums").rows(spark).agg(F.sum("n")).collect()[0][0]
    files = json.loads(next(iter(manifest.offsets["events"].values())))["logOffset"] + 1
    return files * STEP - counted


def restore(which, folder):
    """Seconds from the call to the first new commit: of the same job on its checkpoint, or of a version from the snapshot."""
    if which == "own":
        lineage = (folder / "lineage").read_text()
        return {"seconds": first_new_epoch(*start_pitstop(folder, lineage)[1:4])}
    started = start_pitstop(folder / which, snapshot=folder / "snapshots" / "million", more=which == "changed")
    return {"seconds": first_new_epoch(*started[1:4]), "restored": started[4]}


def main():
    what, which, folder = sys.argv[1], sys.argv[2], Path(sys.argv[-1])
    write_files(Path(EVENTS), ROWS, STEP, KEYS)
    if what == "run":
        run(which, folder)
    if what in ("served", "grown"):
        print(json.dumps({"served": served, "grown": grown}[what](folder)), flush=True)
        return
    print(json.dumps({"restart": restart, "restore": restore}[what](which, folder)), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
