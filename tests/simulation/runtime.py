"""A runtime without Spark: it reads a source of numbered events, and its sink notes them with each epoch.

Its checkpoints are real ones, kept in memory: an epoch is planned, its sink is written, then it is committed. What a run writes
again after a crash is known by (lineage, epoch), as in the sinks of the product.
"""

import json

from pitstop.errors import EngineError, PipelineError
from pitstop.model.cluster import Placement
from pitstop.model.config import JobConfig, ProcessingGuarantee
from pitstop.model.job import Progress
from pitstop.plan.model import Plan
from pitstop.runner.runtime import Opened
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint, OffsetLog
from pitstop.snapshots.export import export_checkpoint
from tests.simulation.fragile import fragile_files

EVENTS_AN_EPOCH = 3
PLAN = Plan(()).to_dict()
SOURCE = "events"


class Sink:
    """What epochs have written: (lineage, epoch) -> numbers of events. Can withdraw it (control.ports.outputs.Outputs)."""

    def __init__(self):
        self._epochs, self._withdrawable = {}, {}

    def write(self, lineage, epoch, events, update):
        self._epochs[lineage, epoch] = events
        if update is not None:
            self._withdrawable.setdefault(update, set()).add((lineage, epoch))

    def withdraw(self, job_id, operation):
        gone = self._withdrawable.pop(operation, set())
        for written in gone:
            del self._epochs[written]
        return 0, len(gone)

    def forget(self, find):
        needed = find("id").withdrawable
        self._withdrawable = {update: written for update, written in self._withdrawable.items() if update == needed}

    @property
    def events(self):
        return [event for events in self._epochs.values() for event in events]


class SimulatedRuntime:
    """Opens versions (runner.runtime.Runtime). What a version does is in its artifact's name."""

    def __init__(self, world, moments):
        self._world, self._moments = world, moments

    def open(self, job, ties):
        name = job.version.source.artifact
        if "broken" in name:
            raise PipelineError(f"{name} cannot be compiled.")
        config = JobConfig.from_options(job.version.options)
        ties.when_compiled(config)
        lineage, checkpoint = self._checkpoint(job, config, ties.snapshot)

        def start(before):
            return SimulatedRun(self._world, self._moments, name, lineage, checkpoint, ties.ownership)

        placement = Placement(tuple(self._world.there), len(self._world.there))
        return Opened(PLAN, config, lineage, start, Batch(self._moments) if "bounded" in name else None, placement)

    def has_ended(self):
        return False

    def explain(self, error):
        return error

    def _checkpoint(self, job, config, snapshot):
        """The job's own checkpoint if it has begun one, else a new one, from the snapshot if there is one."""
        files, folder = fragile_files(self._world.files, self._moments), self._world.data.job(job.id)
        begun = job.version.lineage
        if begun is not None and config.processing_guarantee is not ProcessingGuarantee.NONE:
            own = Checkpoint(folder.checkpoint(begun), files)
            if own.planned() >= 0:
                return begun, own
        lineage = self._world.new_lineage()
        new = Checkpoint(folder.checkpoint(lineage), files)
        self._moments.one()
        new.write_facts({"job_id": job.id, "job_name": job.name, "lineage": lineage, "plan": PLAN, "sources": [[SOURCE, ""]]})
        files.write(new.path / "metadata", b"{}")
        start = snapshot()
        if start is not None:
            saved = manifests.read(start, files)
            new.write_offsets(saved.epoch, _log(int(saved.offsets[SOURCE][""])))
            self._moments.one()
            new.write_commit(saved.epoch, 0)
        return lineage, new


class Batch:
    """What is run once (runner.runtime.Whole)."""

    def __init__(self, moments):
        self._moments, self.progress = moments, Progress()

    def run(self):
        self._moments.one()

    def done(self):
        return 0

    def end(self):
        pass


class SimulatedRun:
    """One run (runner.runtime.Started). It commits an epoch each time it is told to."""

    def __init__(self, world, moments, artifact, lineage, checkpoint, ownership):
        self._world, self._moments, self._artifact = world, moments, artifact
        self.lineage, self.checkpoint, self._ownership = lineage, checkpoint, ownership
        self.active, self.up, self.first_epoch = True, False, False
        self._failure, self._parts = None, None
        self._rests = sum(lineage.encode()) % 2 == 1
        """True if the run finds no rows at first, and is up without an epoch."""

    outgrown, holds_still = None, False

    def working_on(self):
        return None

    def epoch(self):
        """Plan, write and commit one epoch, a part each time; a planned one that was cut off is done again."""
        if self._parts is None:
            self._parts = self._epoch()
        try:
            next(self._parts)
        except StopIteration:
            self._parts = None

    def _epoch(self):
        if not self.active:
            return
        if self._rests:
            self._rests, self.up = False, True
            return
        if "fails" in self._artifact:
            self.active, self._failure = False, EngineError(f"{self._artifact} failed.")
            return
        committed, planned = self.checkpoint.committed(), self.checkpoint.planned()
        epoch = committed + 1
        begin = _offset(self.checkpoint, committed) if committed >= 0 else 0
        if planned <= committed:
            self._moments.one()
            self.checkpoint.write_offsets(epoch, _log(begin + EVENTS_AN_EPOCH))
        events = range(begin, _offset(self.checkpoint, epoch))
        yield
        self._moments.one()
        with self._ownership.held() as update:
            self._world.sink.write(self.lineage, epoch, events, update)
        self._moments.one()
        yield
        self.checkpoint.write_commit(epoch, 0)
        self._world.committed.add(self.lineage)
        self._moments.one()
        self.up = self.first_epoch = True

    def look(self):
        return Progress(epoch=self.checkpoint.committed())

    def failure(self):
        return self._failure

    def committed_at(self, epoch):
        return self._world.clock.now() if epoch >= 0 else None

    def stop(self, seconds):
        while self._parts is not None:  # the epoch that is being written comes to its end
            self.epoch()
        self.active = False
        return self.checkpoint.committed()

    def export(self, name, at_rest=False):
        self._moments.one()
        return export_checkpoint(self.checkpoint, self._world.data.new_snapshot(name), name, at_rest=at_rest)


def _log(offset):
    return OffsetLog(
        {"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {"spark.sql.shuffle.partitions": "1"}}, (json.dumps(offset),)
    )


def _offset(checkpoint, epoch):
    return int(checkpoint.offsets(epoch).offsets[0])
