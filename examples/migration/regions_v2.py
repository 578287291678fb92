"""Kilometres of each region by the day. A region is the beginning of a car's number."""

from pathlib import Path

from pyspark.sql import functions as F

import pitstop as ps


@ps.migrate("days")
def by_region(cars):
    """Make the state of regions, of that of the cars in them, so that the day that has begun is whole."""
    region = F.substring("vin", 1, 2).alias("region")
    return cars.groupBy(region, "window_start", "window_end").agg(F.sum("trips").alias("trips"), F.sum("km").alias("km"))


@ps.job
def regions(folder: Path) -> ps.Pipeline:
    p = ps.Pipeline()
    source = ps.sources.csv_tail(str(folder), schema="vin string, km double, time timestamp")
    trips = p.read_from(source, name="trips").with_timestamps("time", allowed_lag="1 hour")
    keyed = trips.group_by("substring(vin, 1, 2) AS region")
    days = keyed.window(ps.tumbling("1 day")).aggregate("days", trips=ps.count(), km=ps.sum("km"))
    days.write_to(ps.sinks.map("days", key="region"), name="out")
    return p
