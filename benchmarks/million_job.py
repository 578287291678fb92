"""The job of million.py, which runs it itself and submits this file."""

import pitstop as ps


def pipeline(folder, more=False):
    p = ps.Pipeline()
    source = ps.sources.files(
        folder, "parquet", schema="key bigint, v bigint, ts timestamp", streaming=True, maxFilesPerTrigger=1
    )
    timed = p.read_from(source, name="events").with_timestamps("ts", allowed_lag="2 seconds")
    if more:
        minutes = timed.group_by().window(ps.tumbling("1 minute")).aggregate("added", n=ps.count())
        minutes.write_to(ps.sinks.noop(), name="added-out")
    windows = timed.group_by("key").window(ps.tumbling("10 hours"))
    windows.aggregate("sums", n=ps.count(), total=ps.sum("v"), high=ps.max("v")).write_to(ps.sinks.noop(), name="out")
    return p


@ps.job(processing_guarantee="exactly_once", partitions=2)
def sums(folder: str):
    return pipeline(folder)


@ps.job(processing_guarantee="exactly_once")
def following(folder: str):
    """With as many partitions as there are cores."""
    return pipeline(folder)


@ps.job(processing_guarantee="exactly_once", partitions=2)
def sums_and_more(folder: str):
    return pipeline(folder, more=True)
