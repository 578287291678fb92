"""Metrics for Prometheus, collected when asked for."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from pitstop.model.job import JobState
from pitstop.service.api import Service


class _JobsCollector(Collector):
    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterable[Metric]:
        views = self._service.jobs(include_ended=True)
        labels = ["job", "id"]
        status = GaugeMetricFamily("pitstop_job_status", "1 for the state the job is in", labels=[*labels, "status"])
        gauges = {
            "epoch": GaugeMetricFamily("pitstop_job_epoch", "Last committed epoch", labels=labels),
            "input_rows": GaugeMetricFamily("pitstop_job_input_rows", "Rows read since submission", labels=labels),
            "rows_per_second": GaugeMetricFamily("pitstop_job_rows_per_second", "Of the last epoch", labels=labels),
            "bad_rows": GaugeMetricFamily("pitstop_job_bad_rows", "Rows that could not be parsed", labels=labels),
            "epoch_ms": GaugeMetricFamily("pitstop_job_epoch_milliseconds", "Last epoch with data", labels=labels),
        }
        for view in views:
            identity = [view.job.display_name, view.job.id]
            for state in JobState:
                status.add_metric([*identity, state.value], float(view.job.state is state))
            for field, gauge in gauges.items():
                gauge.add_metric(identity, float(getattr(view.progress, field)))
        yield status
        yield from gauges.values()
        snapshots = GaugeMetricFamily("pitstop_snapshot_bytes", "Size of a named snapshot", labels=["snapshot", "job"])
        for record in self._service.snapshots():
            snapshots.add_metric([record.name, record.job_name or ""], float(record.bytes))
        yield snapshots
        sizes = GaugeMetricFamily("pitstop_map_entries", "Entries of a map", labels=["map"])
        for facts in self._service.maps():
            sizes.add_metric([facts["name"]], float(facts["size"]))
        yield sizes


def exposition(service: Service) -> str:
    """All metrics as text."""
    registry = CollectorRegistry()
    registry.register(_JobsCollector(service))
    return generate_latest(registry).decode()
