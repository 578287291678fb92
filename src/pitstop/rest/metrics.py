"""Metrics for Prometheus, collected when asked for: docs/metrics.md describes each."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from pitstop.kit.version import __version__
from pitstop.model.cluster import EngineInfo
from pitstop.model.job import DisplayStatus, JobState
from pitstop.model.left_out import LeftOut
from pitstop.model.tally import RestartCause
from pitstop.service.api import Service
from pitstop.service.job_results import JobStatus

CONTENT_TYPE = CONTENT_TYPE_LATEST
_LABELS = ["job", "id"]
_READ = "read"
_SUSPENDED = (JobState.SUSPENDED, JobState.SUSPENDED_EXPORTING_SNAPSHOT)


class _ServiceCollector(Collector):
    def __init__(self, service: Service, now: Callable[[], float]) -> None:
        self._service, self._now = service, now

    def collect(self) -> Iterable[Metric]:
        yield _build()
        jobs = newest_of_names(self._service.jobs(include_ended=True))
        yield _status(jobs)
        active = [job for job in jobs if job.active]
        yield from _changes(active)
        counted = [job for job in active if job.config.metrics_enabled]
        yield from _progress(counted)
        yield from _times(counted, self._now())
        yield _fates(counted)
        yield from _stages(counted)
        yield from _sources(counted)
        snapshots = GaugeMetricFamily("pitstop_snapshot_bytes", "Size of a named snapshot", labels=["snapshot", "job"])
        for record in self._service.snapshots():
            snapshots.add_metric([record.name, record.job_name or ""], float(record.bytes))
        yield snapshots
        sizes = GaugeMetricFamily("pitstop_map_entries", "Entries of a map", labels=["map"])
        for facts in self._service.maps():
            sizes.add_metric([facts.name], float(facts.size))
        yield sizes
        yield from _engines(self._service.server_info().engines, self._now())


def newest_of_names(jobs: Iterable[JobStatus]) -> list[JobStatus]:
    """Return the jobs, newest first as they come, without those that have ended and whose name a newer job has.

    A failure that somebody has seen to, by a job of that name that runs, is no failure to be told of any more.
    """
    newest: list[JobStatus] = []
    names: set[str] = set()
    for job in jobs:
        if job.active or job.name is None or job.name not in names:
            newest.append(job)
        if job.name is not None:
            names.add(job.name)
    return newest


def _build() -> Metric:
    build = GaugeMetricFamily("pitstop_build_info", "1, with the versions of the server", labels=["version", "python"])
    build.add_metric([__version__, platform.python_version()], 1.0)
    return build


def _status(jobs: list[JobStatus]) -> Metric:
    status = GaugeMetricFamily(
        "pitstop_job_status", "1 for the state the job is in; CANCELLED if a user cancelled it", labels=[*_LABELS, "status"]
    )
    for job in jobs:
        # An ended job changes no more: one series is enough to alert on its failure.
        for state in DisplayStatus if job.active else (job.display_status,):
            status.add_metric([*_identity(job), state.value], float(job.display_status is state))
    return status


def _changes(jobs: list[JobStatus]) -> Iterable[Metric]:
    """Yield what befalls jobs. All causes have a series from the beginning: Prometheus sees no first step from nothing."""
    restarts = CounterMetricFamily(
        "pitstop_job_restarts", "Runs that were followed by another one, by cause", labels=[*_LABELS, "cause"]
    )
    attempts = GaugeMetricFamily("pitstop_job_attempts", "Runs that have failed since the last committed epoch", labels=_LABELS)
    updates = CounterMetricFamily(
        "pitstop_job_updates", "Updates since the job was submitted, by outcome", labels=[*_LABELS, "outcome"]
    )
    gap = GaugeMetricFamily("pitstop_job_update_gap_seconds", "The gap of the last update that succeeded", labels=_LABELS)
    broken = GaugeMetricFamily(
        "pitstop_job_suspended_by_failure", "1 if the job is suspended because of an error", labels=_LABELS
    )
    away = GaugeMetricFamily(
        "pitstop_job_tables_away", "Tables of hash joins that cannot be read: their last rows stand in", labels=_LABELS
    )
    for job in jobs:
        identity = _identity(job)
        for cause in RestartCause:
            restarts.add_metric([*identity, cause.value], job.restarts.get(cause, 0))
        attempts.add_metric(identity, job.attempts)
        updates.add_metric([*identity, "done"], job.updates)
        updates.add_metric([*identity, "failed"], job.failed_updates)
        if job.update_gap_seconds is not None:
            gap.add_metric(identity, job.update_gap_seconds)
        broken.add_metric(identity, float((job.suspension_cause or "").startswith("Execution failure")))
        away.add_metric(identity, len(job.progress.tables_away) if job.status is JobState.RUNNING else 0)
    return restarts, attempts, updates, gap, broken, away


def _progress(jobs: list[JobStatus]) -> Iterable[Metric]:
    epoch = GaugeMetricFamily("pitstop_job_epoch", "Last committed epoch; -1 before the first", labels=_LABELS)
    rate = GaugeMetricFamily("pitstop_job_rows_per_second", "Input rate of the last epoch", labels=_LABELS)
    duration = GaugeMetricFamily("pitstop_job_epoch_seconds", "How long the last epoch with data took", labels=_LABELS)
    busy = GaugeMetricFamily(
        "pitstop_job_epoch_busy_seconds", "How long the epoch under way has taken, once that is long; else 0", labels=_LABELS
    )
    rows = CounterMetricFamily("pitstop_job_input_rows", "Rows read since the job was submitted", labels=_LABELS)
    bad = CounterMetricFamily(
        "pitstop_job_bad_rows",
        "Rows that did not parse, were too far ahead of the clock, or no function could take, since then",
        labels=_LABELS,
    )
    for job in jobs:
        identity, progress = _identity(job), job.progress
        epoch.add_metric(identity, progress.epoch)
        rate.add_metric(identity, progress.rows_per_second)
        duration.add_metric(identity, progress.epoch_ms / 1000)
        busy.add_metric(identity, progress.busy_seconds if job.status is JobState.RUNNING else 0)
        rows.add_metric(identity, progress.input_rows)
        bad.add_metric(identity, progress.bad_rows)
    return epoch, rate, duration, busy, rows, bad


def _times(jobs: list[JobStatus], now: float) -> Iterable[Metric]:
    """Yield how far jobs are behind the clock. One that is suspended is so because somebody wants it."""
    lag = GaugeMetricFamily("pitstop_job_watermark_lag_seconds", "By how much the watermark is behind the clock", labels=_LABELS)
    since = GaugeMetricFamily(
        "pitstop_job_seconds_since_epoch",
        "Seconds since the last epoch was committed; it grows while nothing comes",
        labels=_LABELS,
    )
    for job in jobs:
        progress = job.progress
        if job.status in _SUSPENDED:
            continue
        if progress.watermark_ms is not None:
            lag.add_metric(_identity(job), now - progress.watermark_ms / 1000)
        if progress.epoch_at is not None:
            since.add_metric(_identity(job), max(0.0, now - progress.epoch_at))
    return lag, since


def _fates(jobs: list[JobStatus]) -> Metric:
    rows = CounterMetricFamily(
        "pitstop_job_rows",
        "Rows since the job was submitted, by fate: read, or the reason for which a row went no further",
        labels=[*_LABELS, "fate"],
    )
    for job in jobs:
        totals = job.progress.left_out_in_all
        rows.add_metric([*_identity(job), _READ], job.progress.input_rows)
        for reason in LeftOut:
            rows.add_metric([*_identity(job), reason.label], totals.get(reason, 0))
    return rows


def _stages(jobs: list[JobStatus]) -> Iterable[Metric]:
    labels = [*_LABELS, "stage"]
    late = CounterMetricFamily(
        "pitstop_stage_late_rows", "Rows a stage dropped as late since the job was submitted", labels=labels
    )
    state = GaugeMetricFamily("pitstop_stage_state_rows", "Rows of a stage's state", labels=labels)
    size = GaugeMetricFamily("pitstop_stage_state_bytes", "Memory that a stage's state takes", labels=labels)
    rows_in = CounterMetricFamily("pitstop_stage_rows_in", "Rows a stage took since the job was submitted", labels=labels)
    rows_out = CounterMetricFamily("pitstop_stage_rows_out", "Rows a stage gave since the job was submitted", labels=labels)
    families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {
        "late_rows": late,
        "state_rows": state,
        "state_bytes": size,
        "rows_in": rows_in,
        "rows_out": rows_out,
    }
    left_out = CounterMetricFamily(
        "pitstop_stage_left_out_rows",
        "Rows that went no further than to a source or stage, by reason, since the job was submitted",
        labels=[*labels, "reason"],
    )
    for job in jobs:
        for stage, facts in job.progress.stages.items():
            for key, family in families.items():
                if facts.get(key) is not None:
                    family.add_metric([*_identity(job), stage], float(facts[key]))
            for reason in LeftOut:
                if facts.get(reason) is not None:
                    left_out.add_metric([*_identity(job), stage, reason.label], float(facts[reason]))
    return *families.values(), left_out


def _sources(jobs: list[JobStatus]) -> Iterable[Metric]:
    lag = GaugeMetricFamily(
        "pitstop_source_lag",
        "What was there to read when the end of a source's last epoch was decided, and is not in that, in bytes, events, "
        "messages or rows",
        labels=[*_LABELS, "stage", "unit"],
    )
    by_part = GaugeMetricFamily(
        "pitstop_source_part_lag",
        "The same of each part of a source, such as a partition of a topic, if it has a hundred at most",
        labels=[*_LABELS, "stage", "part", "unit"],
    )
    for job in jobs:
        for stage, facts in job.progress.stages.items():
            if facts.get("behind") is None:
                continue
            unit, parts = str(facts.get("behind_in")), facts.get("behind_by_part") or {}
            lag.add_metric([*_identity(job), stage, unit], float(facts["behind"]))
            # Of more parts only those furthest behind are known, which are others each time.
            if facts.get("parts") == len(parts):
                for part, amount in sorted(parts.items()):
                    by_part.add_metric([*_identity(job), stage, part, unit], float(amount))
    return lag, by_part


def _engines(engines: list[EngineInfo], now: float) -> Iterable[Metric]:
    labels = ["engine", "id"]
    jobs = GaugeMetricFamily("pitstop_engine_jobs", "Jobs that run in an engine which jobs share", labels=labels)
    heap = GaugeMetricFamily("pitstop_engine_heap_bytes", "Memory of its JVM that is in use", labels=labels)
    most = GaugeMetricFamily("pitstop_engine_heap_max_bytes", "The most memory that its JVM takes", labels=labels)
    up = GaugeMetricFamily("pitstop_engine_uptime_seconds", "The time since it was up", labels=labels)
    for engine in engines:
        identity = [engine.name, engine.id]
        jobs.add_metric(identity, len(engine.jobs))
        heap.add_metric(identity, engine.heap_bytes)
        most.add_metric(identity, engine.most_heap_bytes)
        up.add_metric(identity, max(0.0, now - engine.started))
    return jobs, heap, most, up


def _identity(job: JobStatus) -> list[str]:
    return [job.display_name, job.id]


def exposition(service: Service, now: Callable[[], float] = time.time) -> bytes:
    """All metrics as text."""
    registry = CollectorRegistry()
    registry.register(_ServiceCollector(service, now))
    return generate_latest(registry)
