"""Version 2 of the job ``updated`` of a recorded data folder: it also counts what has come since. Never changed."""

import pitstop as ps

COLUMNS = "seq bigint, key string, v bigint, ms bigint"


def largest(old, new):
    return new if old is None else max(old, new)


@ps.job(processing_guarantee="exactly_once", partitions=2)
def updated(folder, out):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail(folder, schema=COLUMNS), name="events")
    by_key = rows.with_columns(ts="timestamp_millis(ms)").with_timestamps("ts", allowed_lag="2 seconds").group_by("key")
    tumbling = by_key.window(ps.tumbling("5 seconds")).aggregate("tumbling", n=ps.count())
    windows = tumbling.select("key", "unix_millis(window_start) start", "unix_millis(window_end) end", "n")
    windows.write_to(ps.sinks.files(f"{out}/tumbling", format="json"), name="tumbling-out")
    since = by_key.rolling_aggregate("since", n=ps.count())
    since.write_to(ps.sinks.map("since", key="key", value="n", merge=largest), name="since-out")
    return p
