"""The second version: minutes have a mean, too."""

from pathlib import Path

import pitstop as ps
from speeds import fell_silent, seen


@ps.job
def speeds(folder: Path, silence: str = "5 minutes") -> ps.Pipeline:
    p = ps.Pipeline()
    source = ps.sources.csv_tail(str(folder), schema="vin string, speed double, time timestamp")
    timed = p.read_from(source, name="cars").with_timestamps("time", allowed_lag="20 seconds")
    timed.write_to(ps.sinks.map("latest", key="vin", value="speed"), name="latest")
    cars = timed.group_by("vin")
    minutes = cars.window(ps.tumbling("1 minute")).aggregate("speed", n=ps.count(), top=ps.max("speed"), mean=ps.avg("speed"))
    minutes.write_to(ps.sinks.files("minutes"), name="minutes")
    silent = cars.map_stateful("silence", seen, "rows bigint", "rows bigint", ttl=silence, on_evict=fell_silent)
    silent.write_to(ps.sinks.logger("{vin} is silent"), name="silent")
    return p
