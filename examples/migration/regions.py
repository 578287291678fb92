"""Kilometres of each car by the day. Version 2 wants them by region (regions_v2.py)."""

from pathlib import Path

import pitstop as ps


@ps.job
def regions(folder: Path) -> ps.Pipeline:
    p = ps.Pipeline()
    source = ps.sources.csv_tail(str(folder), schema="vin string, km double, time timestamp")
    trips = p.read_from(source, name="trips").with_timestamps("time", allowed_lag="1 hour")
    days = trips.group_by("vin").window(ps.tumbling("1 day")).aggregate("days", trips=ps.count(), km=ps.sum("km"))
    days.write_to(ps.sinks.map("days", key="vin"), name="out")
    return p
