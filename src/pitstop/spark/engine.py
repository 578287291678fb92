"""Run one job: prepare its checkpoint, start its query, watch it, end it between two epochs."""

from __future__ import annotations

import dataclasses
import os
import platform
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from pitstop.errors import EngineError, PitstopError
from pitstop.kit.ids import new_lineage
from pitstop.kit.version import __version__
from pitstop.model.config import JobConfig, ProcessingGuarantee
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Progress
from pitstop.pipeline.specs import HashJoinSpec, SinkSpec
from pitstop.pipeline.stages import Pipeline
from pitstop.plan.diff import Report
from pitstop.plan.model import Plan
from pitstop.plan.rules import check_state_store
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.base.admission import Admission
from pitstop.spark.base.columns import first_line
from pitstop.spark.base.environment import Environment
from pitstop.spark.base.session import STATE_STORES, apply_settings
from pitstop.spark.lowering.compile import bounded, compile_pipeline
from pitstop.spark.lowering.lowering import Lowering
from pitstop.spark.restoring.restore import Restore, judge, restore
from pitstop.spark.running.progress import ProgressTracker
from pitstop.spark.running.query import RunningQuery
from pitstop.spark.sinks import write_sink
from pitstop.spark.starting.gated_query import Poised, can_be_poised, poised

REFRESH_WAIT_SECONDS = 0.5
REFRESH_STOP_SECONDS = 120.0
"""How long an epoch may go on before the tables of hash joins are read anew."""


@dataclass(frozen=True)
class StartPoint:
    """What a run starts from."""

    lineage: str
    checkpoint: Path
    report: Report | None = None
    """How a snapshot was taken over; None if the run resumes its own checkpoint or starts empty."""


class Engine:
    """One run of one job in this process' Spark session."""

    def __init__(self, spark: SparkSession, pipeline: Pipeline, config: JobConfig, environment: Environment) -> None:
        self.spark = spark
        self.pipeline = pipeline
        self.config = config
        self.environment = environment
        self.bounded = bounded(pipeline)
        apply_settings(spark, config.partitions or default_partitions(spark), STATE_STORES[config.state_store] | config.spark)
        self.plan: Plan = compile_pipeline(spark, pipeline, environment.sources, config.partitions)
        check_state_store(self.plan, config.state_store)
        self.tracker: ProgressTracker | None = None
        self._running: RunningQuery | None = None
        self._switch = threading.RLock()
        """Held while one query takes the place of another."""
        self._ended = self._refreshing = False
        self._refresh_failure: PitstopError | None = None
        self._poised: Poised | None = None
        self._aside: Path | None = None

    def take_over(self, config: JobConfig, environment: Environment) -> None:
        """Belong to a run from now on: it was compiled before there was one."""
        self.config = config
        self.environment = dataclasses.replace(environment, guarantee=config.processing_guarantee)

    def get_ready(self, data: DataFolder, rehearsed: Path, aside: Path, claim: Callable[[Path], None]) -> None:
        """Start the query as far as it goes without its checkpoint, if its sources allow it.

        ``rehearsed`` is the checkpoint that a rehearsal has left; ``aside`` is a folder of this process; ``claim`` is told the
        folder of the query's own checkpoint before it is made.
        """
        if not can_be_poised(self.pipeline, self.plan):
            return
        lineage = new_lineage()
        target = data.job(self.environment.job_id).checkpoint(lineage)
        claim(target)
        # Spark looks once, before it makes the sources, whether there are logs and of which version they are.
        Checkpoint(rehearsed).copy_logs(target)
        environment = dataclasses.replace(self.environment, lineage=lineage)
        self._poised = poised(self.spark, self.pipeline, self.plan, environment, target, aside / "gate")

    def keep_aside(self, folder: Path) -> None:
        """Keep in this folder what a further restore under this plan need not do again."""
        self._aside = folder

    def prepare(self, data: DataFolder, lineage: str | None, snapshot: Path | None) -> StartPoint:
        """Make ready the checkpoint to run on.

        The job's own, if it has one and its guarantee keeps it; else a new one, from the snapshot in the folder
        ``snapshot`` if given. Raises SnapshotError (missing, damaged) or IncompatibleError (does not fit).
        """
        folder = data.job(self.environment.job_id)
        if lineage is not None and self.config.processing_guarantee is not ProcessingGuarantee.NONE:
            own = folder.checkpoint(lineage)
            # An epoch that was planned may have reached the sinks: they know it again by the lineage.
            if Checkpoint(own).planned() >= 0:
                self._use_partitions(self.config.partitions or Checkpoint(own).partitions())
                return self._started(StartPoint(lineage, own))
        fresh = self._poised.lineage if self._poised is not None else new_lineage()
        target = folder.checkpoint(fresh)
        report = self.restore(snapshot, target) if snapshot is not None and not self.bounded else None
        return self._started(StartPoint(fresh, target, report))

    def start(self, point: StartPoint, before: Progress, wake: Callable[[], None]) -> None:
        """Start the query; returns once Spark has accepted it."""
        self.environment = dataclasses.replace(self.environment, lineage=point.lineage)
        path = self.environment.sources.admission
        admission = Admission(Path(path), self.config.snapshot_interval_ms) if path is not None else None
        self.tracker = ProgressTracker(self.plan, before, self.environment.log, admission)
        self._wake = wake
        self._begin(point.checkpoint)
        self.environment.log("INFO", "pitstop.engine", "the query is started")

    def _begin(self, checkpoint: Path) -> None:
        before, waiting, self._poised = self._running, self._poised, None
        if waiting is not None and waiting.running.active and waiting.running.checkpoint.path == checkpoint:
            self._running = waiting.go(self.environment)
        else:
            self._running = RunningQuery(self.spark, self.pipeline, self.environment, checkpoint, {}, before)
        self._running.writer.before_epoch(self._epoch_begins)
        threading.Thread(target=self._await_end, args=(self._running, self._wake), daemon=True).start()
        every = refresh_seconds(self.pipeline)
        if every is not None:
            self._refresh_in(every)

    def _refresh_in(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self._refresh)
        timer.daemon = True
        timer.start()

    def _refresh(self) -> None:
        """Read the tables of hash joins anew: end the query between two epochs, and start it again where it was."""
        with self._switch:
            if self._ended or not self.active:
                return
            if self.running.writer.last_written < 0:
                # However short the interval is, each reading of the tables serves an epoch.
                self._refresh_in(REFRESH_WAIT_SECONDS)
                return
            self.environment.log("INFO", "pitstop.engine", "reading the tables of hash joins again")
            self._refreshing = True
            try:
                before = self.running
                before.stop(REFRESH_STOP_SECONDS)
                self.look()
                before.drop_tables()
                self._begin(before.checkpoint.path)
            except Exception as error:
                # This thread has nobody to tell: failure() does.
                known = EngineError(f"The tables of hash joins could not be read again: {first_line(error)}")
                self._refresh_failure = error if isinstance(error, PitstopError) else known
            finally:
                self._refreshing = False
            self._wake()

    def run_bounded(self, lineage: str) -> None:
        """Run a pipeline whose sources all end, as one epoch."""
        environment = dataclasses.replace(self.environment, lineage=lineage)
        lowering = Lowering(self.spark, environment.sources, streaming=False)
        for node in self.pipeline.nodes:
            if isinstance(node.spec, SinkSpec):
                environment.check_fence()
                write_sink(node, lowering.frame(node), 0, environment)

    @property
    def running(self) -> RunningQuery:
        assert self._running is not None, "the engine has not been started"
        return self._running

    @property
    def active(self) -> bool:
        # No lock: Spark's own threads ask, and a query that is being stopped waits for them.
        return self._refreshing or (self._running is not None and self._running.active)

    def failure(self) -> PitstopError | None:
        """Why the query ended by itself; None if it runs or was stopped."""
        own = self._running.failure() if self._running is not None else None
        return own or self._refresh_failure

    def look(self) -> Progress:
        """What the job has reached by now."""
        if self.tracker is None or self._running is None:
            return Progress()
        self.tracker.look(self._running.query)
        return self.tracker.progress

    def _epoch_begins(self) -> None:
        if self.tracker is not None and self._running is not None and self.tracker.look(self._running.query):
            self._wake()

    def stop(self, timeout: float) -> int:
        """End between two epochs; the last committed epoch."""
        with self._switch:
            self._ended = True
            epoch = self.running.stop(timeout)
            self.running.drop_tables()
        self.note_stages()
        return epoch

    def note_stages(self) -> dict[str, dict[str, Any]]:
        """Write rows and bytes of each stage's state into the checkpoint's facts, for snapshots."""
        checkpoint = self.running.checkpoint
        stages = self.stage_facts()
        checkpoint.write_facts(checkpoint.facts() | {"stages": stages})
        return stages

    def stage_facts(self) -> dict[str, dict[str, Any]]:
        """Stage -> {operators, rows, bytes} of its state, as last seen."""
        seen = self.look().stages
        facts: dict[str, dict[str, Any]] = {}
        for number, slot in enumerate(self.plan.operators):
            entry = facts.setdefault(slot.stage, {"operators": []})
            entry["operators"].append(number)
            entry["rows"] = seen.get(slot.stage, {}).get("state_rows")
            entry["bytes"] = seen.get(slot.stage, {}).get("state_bytes")
        return facts

    def _await_end(self, running: RunningQuery, wake: Callable[[], None]) -> None:
        try:
            running.query.awaitTermination()
        except Exception as error:  # told by failure(); this thread only has to wake the loop
            self.environment.log("DEBUG", "pitstop.engine", f"the query ended: {type(error).__name__}")
        wake()

    def restore(self, snapshot: Path, target: Path) -> Report:
        """Lay down at ``target`` a checkpoint that goes on where the snapshot ended, and say how."""
        manifest = manifests.read(snapshot)
        report = judge(manifest, self.plan, self.config.renamed)
        manifests.verify(snapshot, manifest, self.environment.job_name)
        partitions = self.config.partitions or manifest.partitions
        self._use_partitions(partitions)
        job = Restore(
            self.spark,
            snapshot,
            manifest,
            self.pipeline,
            self.plan,
            target,
            partitions,
            self.environment.sources,
            laid_down=self._aside / "laid-down" if self._aside is not None else None,
        )
        restore(job, report)
        return report

    def _use_partitions(self, partitions: int) -> None:
        self.spark.conf.set("spark.sql.shuffle.partitions", str(partitions))

    def _started(self, point: StartPoint) -> StartPoint:
        checkpoint = Checkpoint(point.checkpoint)
        facts = {
            "job_id": self.environment.job_id,
            "job_name": self.environment.job_name,
            "lineage": point.lineage,
            "plan": self.plan.to_dict(),
            "sources": [[slot.stage, slot.reader] for slot in self.plan.source_slots],
            "versions": versions(),
        }
        checkpoint.write_facts(checkpoint.facts() | facts)
        return point


def refresh_seconds(pipeline: Pipeline) -> float | None:
    """How often the tables of hash joins are read anew; None if never."""
    joins = [node.spec for node in pipeline.nodes if isinstance(node.spec, HashJoinSpec)]
    wanted = [spec.refresh_ms for spec in joins if spec.refresh_ms]
    return min(wanted) / 1000 if wanted else None


def versions() -> dict[str, str]:
    """Of what writes state."""
    return {"pitstop": __version__, "spark": pyspark.__version__, "python": platform.python_version()}


def default_partitions(spark: SparkSession) -> int:
    """One partition a core: state is kept by partition, and a core works on one at a time."""
    return max(1, spark.sparkContext.defaultParallelism or os.cpu_count() or 1)
