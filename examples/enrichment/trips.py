"""Trips with the car's make and depot, from tables that change while the job runs: a CSV file and a map."""

from pathlib import Path

import pitstop as ps


@ps.job
def trips(folder: Path, cars: Path, out: Path) -> ps.Pipeline:
    p = ps.Pipeline()
    trips = p.read_from(ps.sources.csv_tail(str(folder), schema="vin string, km double, time timestamp"), name="trips")
    # Another program writes the file anew every night. It is read again every ten minutes.
    makes = p.read_from(ps.sources.files(str(cars), "csv", schema="vin string, make string", header=True), name="cars")
    with_make = trips.hash_join(makes, on="vin", how="left", refresh="10 minutes")
    # Anybody may put an entry into the map: pitstop map put depots car1 '{"depot": "north"}'
    with_depot = with_make.with_map("depots", on="vin", schema="depot string", refresh="1 minute")
    known, unknown = with_depot.split("make IS NOT NULL")
    known.write_to(ps.sinks.files(f"{out}/trips", partition_by=["make"]), name="known")
    unknown.write_to(ps.sinks.files(f"{out}/unknown-cars", "json"), name="unknown")
    return p
