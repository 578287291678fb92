"""Metrics for Prometheus, collected when asked for."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from pitstop.model.job import JobState
from pitstop.model.left_out import LeftOut
from pitstop.service.api import Service
from pitstop.service.results import JobStatus

CONTENT_TYPE = CONTENT_TYPE_LATEST
_LABELS = ["job", "id"]


class _ServiceCollector(Collector):
    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterable[Metric]:
        jobs = self._service.jobs(include_ended=True)
        yield _status(jobs)
        active = [job for job in jobs if job.active and job.config.metrics_enabled]
        yield from _progress(active)
        yield from _stages(active)
        snapshots = GaugeMetricFamily("pitstop_snapshot_bytes", "Size of a named snapshot", labels=["snapshot", "job"])
        for record in self._service.snapshots():
            snapshots.add_metric([record.name, record.job_name or ""], float(record.bytes))
        yield snapshots
        sizes = GaugeMetricFamily("pitstop_map_entries", "Entries of a map", labels=["map"])
        for facts in self._service.maps():
            sizes.add_metric([facts.name], float(facts.size))
        yield sizes


def _status(jobs: list[JobStatus]) -> Metric:
    status = GaugeMetricFamily("pitstop_job_status", "1 for the state the job is in", labels=[*_LABELS, "status"])
    for job in jobs:
        # An ended job changes no more: one series is enough to alert on its failure.
        for state in JobState if job.active else (job.status,):
            status.add_metric([*_identity(job), state.value], float(job.status is state))
    return status


def _progress(jobs: list[JobStatus]) -> Iterable[Metric]:
    epoch = GaugeMetricFamily("pitstop_job_epoch", "Last committed epoch; -1 before the first", labels=_LABELS)
    rate = GaugeMetricFamily("pitstop_job_rows_per_second", "Input rate of the last epoch", labels=_LABELS)
    duration = GaugeMetricFamily("pitstop_job_epoch_seconds", "How long the last epoch with data took", labels=_LABELS)
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
        rows.add_metric(identity, progress.input_rows)
        bad.add_metric(identity, progress.bad_rows)
    return epoch, rate, duration, rows, bad


def _stages(jobs: list[JobStatus]) -> Iterable[Metric]:
    labels = [*_LABELS, "stage"]
    late = CounterMetricFamily(
        "pitstop_stage_late_rows", "Rows a stage dropped as late since the job was submitted", labels=labels
    )
    state = GaugeMetricFamily("pitstop_stage_state_rows", "Rows of a stage's state", labels=labels)
    size = GaugeMetricFamily("pitstop_stage_state_bytes", "Memory that a stage's state takes", labels=labels)
    taken = CounterMetricFamily("pitstop_stage_rows_in", "Rows a stage took since the job was submitted", labels=labels)
    given = CounterMetricFamily("pitstop_stage_rows_out", "Rows a stage gave since the job was submitted", labels=labels)
    families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {
        "late_rows": late,
        "state_rows": state,
        "state_bytes": size,
        "rows_in": taken,
        "rows_out": given,
    }
    gone = CounterMetricFamily(
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
                    gone.add_metric([*_identity(job), stage, reason.label], float(facts[reason]))
    return *families.values(), gone


def _identity(job: JobStatus) -> list[str]:
    return [job.display_name, job.id]


def exposition(service: Service) -> bytes:
    """All metrics as text."""
    registry = CollectorRegistry()
    registry.register(_ServiceCollector(service))
    return generate_latest(registry)
