"""Devices that have sent nothing for a while, told by the clock: also when no device sends."""

from pathlib import Path

import pitstop as ps

STATE = "reports bigint, temperature double"


def remember(state, row):
    returned = state.reports is None
    state.reports, state.temperature = (state.reports or 0) + 1, row.temperature
    return [("here", state.temperature)] if returned else []


def fell_silent(state, key, at):
    return [("silent", state.temperature)]


@ps.job
def silence(reports: Path, after: str = "5 minutes") -> ps.Pipeline:
    p = ps.Pipeline()
    source = ps.sources.csv_tail(str(reports), schema="device string, temperature double")
    devices = p.read_from(source, name="reports").with_ingestion_timestamps().group_by("device")
    changes = devices.map_stateful(
        "devices", remember, STATE, "status string, temperature double", ttl=after, on_evict=fell_silent
    )
    changes.write_to(ps.sinks.map("devices", key="device"), name="status")
    silent, _ = changes.split("status = 'silent'")
    silent.write_to(ps.sinks.logger("{device} is silent, its last temperature was {temperature}"), name="alerts")
    return p
