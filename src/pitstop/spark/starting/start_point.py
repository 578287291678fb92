"""The place where a run of a job starts: on its own checkpoint, on one made from a snapshot, or with empty state."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyspark

from pitstop.errors import SnapshotError
from pitstop.kit.ids import new_lineage
from pitstop.kit.version import __version__
from pitstop.model.config import ProcessingGuarantee
from pitstop.model.data_folder import DataFolder
from pitstop.plan.diff import Report
from pitstop.plan.forms import as_kept
from pitstop.plan.model import Plan
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.base.environment import Environment
from pitstop.spark.base.session import use_partitions
from pitstop.spark.lowering.compiled_job import CompiledJob
from pitstop.spark.restoring.restore import begin_empty, remove_unfinished, restore
from pitstop.spark.restoring.whole_state import go_back_to_whole_state
from pitstop.spark.starting.head_start import HeadStart


@dataclass(frozen=True)
class StartPoint:
    """The checkpoint that a run goes on with."""

    lineage: str
    """The name of the checkpoint, by which sinks know an epoch."""
    checkpoint: Path
    report: Report | None = None
    """The report on how a snapshot was taken over; None if the run resumes its own checkpoint or starts empty."""


def start_point(
    job: CompiledJob,
    environment: Environment,
    data: DataFolder,
    lineage: str | None,
    snapshot: Callable[[], Path | None],
    head_start: HeadStart | None = None,
) -> StartPoint:
    """Prepare the checkpoint to run on.

    It is the job's own, of that ``lineage``, if it has one and its guarantee keeps it. Otherwise it is a new one, made from the
    snapshot in the folder that ``snapshot`` finds, if it finds one; ``snapshot`` is asked only then. Raises SnapshotError (the
    snapshot or the job's own checkpoint is missing, or damaged) or IncompatibleError (does not fit).
    """
    own = _own_checkpoint(job, environment, data, lineage)
    point = own or _new_checkpoint(job, environment, data, snapshot(), head_start or HeadStart())
    checkpoint = Checkpoint(point.checkpoint)
    before = checkpoint.facts()
    plan = as_kept(job.plan, Plan.from_dict(before["plan"])) if "plan" in before else job.plan
    checkpoint.write_facts(before | _facts(plan, environment, point))
    return point


def _own_checkpoint(job: CompiledJob, environment: Environment, data: DataFolder, lineage: str | None) -> StartPoint | None:
    if lineage is None or job.config.processing_guarantee is ProcessingGuarantee.NONE:
        return None
    checkpoint = Checkpoint(data.job(environment.job_id).checkpoint(lineage))
    if job.bounded:  # it plans nothing that another attempt could go on with, but sinks know by the lineage what they have
        return StartPoint(lineage, checkpoint.path)
    if not checkpoint.files.names(checkpoint.path):
        # It was made before its name was recorded. To start with less than the job had would miss events, or double them.
        raise SnapshotError(
            f"The saved state of job '{environment.job_name}' is gone: {checkpoint.path} does not exist. Restore it and resume "
            "the job, or submit the job anew, from a snapshot if there is one."
        )
    # An epoch that was planned may have reached the sinks: they know it again by the lineage.
    if checkpoint.planned() < 0:
        return None
    taken_back = go_back_to_whole_state(checkpoint)
    if taken_back is not None:
        environment.log("WARN", "pitstop.engine", taken_back)
    use_partitions(job.spark, job.config.partitions or checkpoint.partitions())
    job.use_store_of(checkpoint.provider())
    return StartPoint(lineage, checkpoint.path)


def _new_checkpoint(
    job: CompiledJob, environment: Environment, data: DataFolder, snapshot: Path | None, head_start: HeadStart
) -> StartPoint:
    remove_unfinished(data.job(environment.job_id).root)
    lineage = head_start.gated.lineage if head_start.gated is not None else new_lineage()
    target = data.job(environment.job_id).checkpoint(lineage)
    if snapshot is None:
        job.use_store_for(None)
    if job.bounded or (snapshot is None and not job.config.require_snapshot_before_processing):
        return StartPoint(lineage, target)
    if snapshot is None:
        begin_empty(job, target, environment.sources)
        return StartPoint(lineage, target)
    laid_down, store = head_start.laid_down, head_start.store
    report = restore(job, snapshot, target, environment.job_name, environment.sources, laid_down, store=store)
    return StartPoint(lineage, target, report)


def _facts(plan: Plan, environment: Environment, point: StartPoint) -> dict[str, object]:
    """Return the facts that are noted beside the state: its owner, and what wrote it."""
    return {
        "job_id": environment.job_id,
        "job_name": environment.job_name,
        "lineage": point.lineage,
        "plan": plan.to_dict(),
        "sources": [[slot.stage, slot.reader] for slot in plan.source_slots],
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Return the versions of Pitstop, Spark and Python, which are recorded beside the state they write."""
    return {"pitstop": __version__, "spark": pyspark.__version__, "python": platform.python_version()}
