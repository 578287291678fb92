"""Speeds of cars by the minute, the latest one of each car, and cars that have fallen silent."""

from pathlib import Path

import pitstop as ps


def seen(state, row):
    state.rows = (state.rows or 0) + 1
    return []


def fell_silent(state, key, at):
    return [{"rows": state.rows}]


@ps.job
def speeds(folder: Path, silence: str = "5 minutes") -> ps.Pipeline:
    p = ps.Pipeline()
    rows = p.read_from(
        ps.sources.csv_tail(str(folder), schema="vin string, speed double, time timestamp"),
        name="cars",
        dead_letters=ps.sinks.files("unreadable", format="json"),
    )
    timed = rows.with_timestamps("time", allowed_lag="20 seconds")
    timed.write_to(ps.sinks.map("latest", key="vin", value="speed"), name="latest")
    cars = timed.group_by("vin")
    minutes = cars.window(ps.tumbling("1 minute")).aggregate("speed", n=ps.count(), top=ps.max("speed"))
    minutes.write_to(ps.sinks.files("minutes"), name="minutes")
    silent = cars.map_stateful("silence", seen, "rows bigint", "rows bigint", ttl=silence, on_evict=fell_silent)
    silent.write_to(ps.sinks.logger("{vin} is silent"), name="silent")
    return p
