"""The jobs of a recorded data folder (record_data_folder.py). Never changed once a folder is recorded: they are in it."""

import pitstop as ps

COLUMNS = "seq bigint, key string, v bigint, ms bigint"


def largest(old, new):
    return new if old is None else max(old, new)


def count_rows(state, row):
    state.n = (state.n or 0) + 1
    return row.seq, state.n


def events(p, folder):
    """The events of all csv files in the folder, with their event time."""
    rows = p.read_from(ps.sources.csv_tail(folder, schema=COLUMNS), name="events")
    return rows.with_columns(ts="timestamp_millis(ms)").with_timestamps("ts", allowed_lag="2 seconds")


def per_window(stage, *columns):
    return stage.select("key", "unix_millis(window_start) start", "unix_millis(window_end) end", *columns)


@ps.job(processing_guarantee="exactly_once", partitions=2)
def windows(folder, out, totals):
    """Both kinds of windows into files, and totals of each key into the map ``totals``."""
    p = ps.Pipeline()
    by_key = events(p, folder).group_by("key")
    tumbling = by_key.window(ps.tumbling("5 seconds")).aggregate("tumbling", n=ps.count(), total=ps.sum("v"))
    per_window(tumbling, "n", "total").write_to(ps.sinks.files(f"{out}/tumbling", format="json"), name="tumbling-out")
    sliding = by_key.window(ps.sliding("10 seconds", slide="2500 milliseconds")).aggregate("sliding", n=ps.count())
    per_window(sliding, "n").write_to(ps.sinks.files(f"{out}/sliding", format="json"), name="sliding-out")
    rolling = by_key.rolling_aggregate("rolling", n=ps.count())
    rolling.write_to(ps.sinks.map(totals, key="key", value="n", merge=largest), name="totals")
    return p


@ps.job(processing_guarantee="exactly_once", partitions=2)
def counting(folder, out):
    """State of one's own: the how manieth of its key each event is."""
    p = ps.Pipeline()
    counted = events(p, folder).group_by("key").map_stateful("counts", count_rows, "n bigint", "seq bigint, n bigint")
    counted.write_to(ps.sinks.files(f"{out}/counts", format="json"), name="counts-out")
    return p


@ps.job(processing_guarantee="exactly_once", partitions=2)
def updated(folder, out):
    """Version 1; version 2 is in recorded_jobs_2.py."""
    p = ps.Pipeline()
    tumbling = events(p, folder).group_by("key").window(ps.tumbling("5 seconds")).aggregate("tumbling", n=ps.count())
    per_window(tumbling, "n").write_to(ps.sinks.files(f"{out}/tumbling", format="json"), name="tumbling-out")
    return p


@ps.job
def completed():
    """Ends by itself."""
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([["a", 1], ["b", 2], ["c", 3]], "k string, v bigint"), name="three")
    rows.write_to(ps.sinks.map("three", key="k", value="v"), name="map")
    return p


class Broken:
    def write(self, rows, info):
        raise RuntimeError("no such table")


@ps.job
def failing():
    """Fails in its own code."""
    p = ps.Pipeline()
    p.read_from(ps.sources.rate(10), name="numbers").write_to(ps.sinks.custom(Broken()), name="broken")
    return p


@ps.job(processing_guarantee="exactly_once", partitions=2)
def cancelled():
    """Goes on until it is cancelled."""
    p = ps.Pipeline()
    p.read_from(ps.sources.rate(10), name="numbers").write_to(ps.sinks.noop(), name="nothing")
    return p
