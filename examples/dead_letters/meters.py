"""Readings of meters, of which none is lost: what cannot be read, is wrong, or comes too late goes to a folder of its own."""

from pathlib import Path

import pitstop as ps


def consumed(state, row):
    """Give what was consumed since the reading before. A meter that runs backwards is wrong."""
    before, state.value = state.value, row.value
    if before is not None and row.value < before:
        raise ValueError(f"the meter went back from {before} to {row.value}")
    return [(row.value - (before or 0), row.time)]


@ps.job
def meters(readings: Path, out: Path) -> ps.Pipeline:
    def letters(name):
        return ps.sinks.files(f"{out}/{name}", "json")

    p = ps.Pipeline()
    source = ps.sources.csv_tail(str(readings), schema="meter string, value bigint, time timestamp")
    rows = p.read_from(source, name="readings", dead_letters=letters("unreadable"))
    timed = rows.with_timestamps("time", allowed_lag="1 hour", dead_letters=letters("future"))
    use = timed.group_by("meter").map_stateful(
        "meters", consumed, "value bigint", "used bigint, time timestamp", dead_letters=letters("wrong")
    )
    days = use.with_timestamps("time").group_by("meter").window(ps.tumbling("1 day")).aggregate("days", used=ps.sum("used"))
    days.write_to(ps.sinks.files(f"{out}/days"), name="days-out")
    hours = timed.group_by("meter").window(ps.tumbling("1 hour"), late=letters("late")).aggregate("hours", readings=ps.count())
    hours.write_to(ps.sinks.files(f"{out}/hours"), name="hours-out")
    return p
