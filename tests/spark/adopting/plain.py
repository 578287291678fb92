"""Queries of plain Spark, as a team has them before Pitstop, and their adoption."""

import json

from pitstop.kit.waiting import wait_until
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.adopting.adopting import Adopting, Request
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.lowering.compiled_job import compile_job

STATE = "spark.sql.streaming.stateStore"
_STATE = "org.apache.spark.sql.execution.streaming.state"
MEMORY = {f"{STATE}.providerClass": f"{_STATE}.HDFSBackedStateStoreProvider"}
ROCKSDB = {f"{STATE}.providerClass": f"{_STATE}.RocksDBStateStoreProvider"}
SPARKS_OWN = {
    "spark.sql.streaming.join.stateFormatVersion": "2",
    "spark.sql.exchange.reuse": "true",
    "spark.sql.optimizer.excludedRules": "",
    "spark.sql.streaming.unsupportedOperationCheck": "true",
    f"{STATE}.rocksdb.changelogCheckpointing.enabled": "false",
    f"{STATE}.checkpointFormatVersion": "1",
}
"""The defaults of Spark, where sessions of Pitstop have others."""


class Plain:
    """A DataFrame that takes the calls of a stage."""

    def __init__(self, frame):
        self.frame = frame

    def filter(self, condition):
        return Plain(self.frame.filter(condition))

    def select(self, *columns):
        return Plain(self.frame.select(*columns))

    def stateful(self, name, function, *others):
        return Plain(function(self.frame, *(other.frame for other in others)))


def session_of(spark, settings, partitions=2):
    """Return a session of its own with Spark's defaults, and these settings."""
    session = spark.newSession()
    for key, value in (SPARKS_OWN | settings).items():
        session.conf.set(key, value)
    session.conf.set("spark.sql.shuffle.partitions", str(partitions))
    session.conf.set("spark.sql.session.timeZone", "UTC")
    return session


def run(frame, checkpoint, mode="append", fails_at=None, files=None, until=None):
    """Run a query until it has read what there is; return the rows of its committed epochs.

    ``files``: stop it as soon as it has read so many of them. State in processing time keeps a query busy for ever. ``until``:
    stop it when this is true of the offsets of all its sources.
    """
    epochs = {}

    def write(rows, epoch):
        epochs[epoch] = rows.collect()
        if epoch == fails_at:
            raise RuntimeError("the sink fails here, as it is meant to")

    writer = frame.writeStream.outputMode(mode).option("checkpointLocation", str(checkpoint))
    writer = writer.foreachBatch(write)
    if files is not None:
        until = lambda offset: json.loads(offset)["logOffset"] + 1 >= files  # noqa: E731
    query = (writer.trigger(availableNow=True) if until is None else writer).start()
    try:
        if until is not None:
            assert wait_until(lambda: _has_read(checkpoint, until) or not query.isActive, 120, step=0.05)
            query.stop()
        query.awaitTermination()
    except Exception:
        if fails_at is None:
            raise
    committed = Checkpoint(checkpoint).committed()
    return [row for epoch, rows in sorted(epochs.items()) for row in rows if epoch <= committed]


def _has_read(checkpoint, until):
    old = Checkpoint(checkpoint)
    offsets = old.offsets(old.committed()).offsets if old.committed() >= 0 else (None,)
    return all(offset and until(offset) for offset in offsets)


def adopting(spark, pipeline, checkpoint, scratch, request=None, partitions=None):
    """Return the adoption of a checkpoint by a pipeline, judged."""
    job = compile_job(spark, pipeline, JobConfig(partitions=partitions), SourceSettings())
    return Adopting(job, str(checkpoint), request or Request(), SourceSettings(), scratch)


def adopt(spark, pipeline, checkpoint, folder, request=None, partitions=None):
    """Adopt a checkpoint as snapshot 'saved' of the data folder ``folder``."""
    under_way = adopting(spark, pipeline, checkpoint, folder / "scratch", request, partitions)
    return under_way.export(DataFolder(folder).snapshot("saved"), "saved")


def content_of(folder):
    """Return path -> (content, time, links) of all files below a folder."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_nlink)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
