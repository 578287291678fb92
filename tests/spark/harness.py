"""Run versions of a job one after the other in one Spark session, each from the snapshot of the one before."""

import json
import shutil
import time
from pathlib import Path

import pyspark.cloudpickle

import pitstop as ps
from pitstop.kit.waiting import wait_until
from pitstop.model.config import JobConfig, ProcessingGuarantee, StateStore
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Progress
from pitstop.model.option_values import ALL_STAGES
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import export_checkpoint
from pitstop.spark.base.environment import Environment, SourceSettings
from pitstop.spark.base.state_stores import use_state_store
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.lowering.compiled_job import CompiledJob
from pitstop.spark.restoring.restore import restore
from pitstop.spark.running.progress import ProgressTracker, waits_for_data
from pitstop.spark.running.query import RunningQuery
from tests.spark import sequence
from tests.spark.sequence import SCHEMA, Sequence

pyspark.cloudpickle.register_pickle_by_value(sequence)


class Collected:
    """A sink that keeps what it gets, by epoch, so that an epoch written again replaces itself."""

    def __init__(self):
        self.epochs = {}

    def write(self, rows, info):
        self.epochs[info.epoch] = rows.collect()

    @property
    def rows(self):
        return [row for _, rows in sorted(self.epochs.items()) for row in rows]


def numbers(p, name="numbers", rows=80_000, step=20_000, keys=50, **options):
    """The sequence of tests/spark/sequence.py as a stage, with its event time."""
    source = ps.sources.custom(Sequence, schema=SCHEMA, rows=rows, step=step, keys=keys, **options)
    return p.read_from(source, name=name).with_timestamps("ts", allowed_lag="2 seconds")


class Harness:
    """A job in versions. ``run`` starts a version from the last snapshot and ends it at an epoch, with a new one."""

    read_seconds = 300
    """How long a source may take to be read: an epoch of a long plan takes a while on a machine that has other work."""
    settle_seconds = 60

    def __init__(self, spark, folder: Path, maps=None):
        self.spark, self.folder, self.maps, self.runs = spark, folder, maps, 0
        self.report = None
        self.messages = []
        self.kept_in = StateStore.ROCKSDB
        self.allow_drop = (ALL_STAGES,)
        self.seek = {}
        self.settings = SourceSettings(agreements=str(folder / "agreements"))

    @classmethod
    def following(cls, spark, folder: Path, first: Path):
        """One whose first version has been run in another folder, with a copy of its snapshot."""
        shutil.copytree(first / "snapshots", folder / "snapshots")
        made = cls(spark, folder)
        made.runs = 1
        return made

    def run(self, built, until=None, partitions=None, renamed=None, rewrite=True, fresh=False):
        """Run a version until it has read ``until`` events (None: until its source has no more); returns its report."""
        checkpoint = self.folder / f"checkpoint-{self.runs}"
        chosen = partitions or 2
        if self.runs and not fresh:
            chosen = self.restore(built, checkpoint, partitions, renamed, rewrite)
        running = self.start(built, checkpoint, chosen)
        self.wait_for(running, until)
        running.stop(60)
        export_checkpoint(running.checkpoint, DataFolder(self.folder).snapshot("saved"), "saved")
        self.runs += 1
        return self.report

    def store(self, name):
        """Keep state of the next versions in that store."""
        self.kept_in = StateStore(name)
        use_state_store(self.spark, JobConfig(), self.kept_in)

    def restore(self, built, checkpoint, partitions, renamed, rewrite):
        folder = self.folder / "snapshots" / "saved"
        plan = compile_pipeline(self.spark, built, partitions=partitions)
        config = JobConfig(
            partitions=partitions,
            renamed=renamed or {},
            state_store=self.kept_in,
            allow_drop=self.allow_drop,
            seek=self.seek,
        )
        job = CompiledJob(self.spark, built, config, plan)
        self.report = restore(job, folder, checkpoint, "job", self.settings, feed_all=not rewrite)
        return partitions or manifests.read(folder).partitions

    def start(self, built, checkpoint, partitions):
        self.spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
        plan = compile_pipeline(self.spark, built)
        facts = {"job_id": "id", "job_name": "job", "lineage": f"run{self.runs}", "plan": plan.to_dict()}
        facts["sources"] = [[slot.stage, slot.reader] for slot in plan.source_slots]
        Checkpoint(checkpoint).write_facts(Checkpoint(checkpoint).facts() | facts)
        environment = Environment(
            "id",
            "job",
            f"run{self.runs}",
            ProcessingGuarantee.EXACTLY_ONCE,
            self.folder,
            self.log,
            maps=self.maps,
            sources=self.settings,
        )
        tracker = ProgressTracker(plan, Progress(), lambda *_: None)
        running = RunningQuery.start(self.spark, built, environment, checkpoint, counted=tracker.wrote)
        running.writer.before_epoch(lambda: check_rows(tracker, running))
        return running

    def log(self, level, logger, message):
        self.messages.append(message)

    def wait_for(self, running, until):
        def read():
            epoch = running.checkpoint.committed()
            if not running.active or epoch < 0:
                return not running.active
            found = [offset for offset in running.checkpoint.offsets(epoch).offsets if offset and '"seq"' in offset]
            return bool(found) and all(sequence.position(offset) >= (until or sequence.end(offset)) for offset in found)

        assert wait_until(read, self.read_seconds, step=0.05)
        check(running)
        if until is None:
            self.settle(running)

    def settle(self, running):
        """Wait until Spark finds nothing more to do: the epoch without data that closes windows is done too."""
        settled = Settled(running)
        assert wait_until(lambda: not running.active or settled(), self.settle_seconds, step=0.05)
        check(running)


class FilesHarness(Harness):
    """Runs versions of a job whose sources are folders of files, an epoch a file: until so many have been read."""

    def wait_for(self, running, until):
        def read():
            epoch = running.checkpoint.committed()
            offsets = running.checkpoint.offsets(epoch).offsets if epoch >= 0 else [None]
            return not running.active or all(offset and json.loads(offset)["logOffset"] + 1 >= until for offset in offsets)

        assert wait_until(read, self.read_seconds, step=0.05)
        check(running)
        if self.settles(until):
            self.settle(running)

    def settles(self, until):
        """True if the epoch without data is waited for, too."""
        return True


class Settled:
    """True when a query finds nothing to do and has begun no epoch for so long: between two epochs it says so for a moment."""

    def __init__(self, running, seconds=0.3):
        self.running, self.seconds = running, seconds
        self.epochs, self.since = None, time.monotonic()

    def __call__(self):
        checkpoint = self.running.checkpoint
        epochs = (checkpoint.planned(), checkpoint.committed())
        if epochs != self.epochs:
            self.epochs, self.since = epochs, time.monotonic()
        return epochs[0] == epochs[1] and idle(self.running) and time.monotonic() - self.since >= self.seconds


def check_rows(tracker, running):
    """Fail if the rows of the last epoch are not accounted for."""
    tracker.look(running.query)
    if tracker.unaccounted is not None:
        raise tracker.unaccounted


def check(running):
    failure = running.failure()
    if failure is not None:
        raise failure


def idle(running):
    return waits_for_data(running.query)
