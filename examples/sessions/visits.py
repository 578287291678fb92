"""Visits to a site, of clicks in JSON files: a visit ends when its user has clicked nothing for a while."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pitstop as ps


@dataclass
class Click:
    user: str
    page: str
    time: datetime


@ps.job
def visits(clicks: Path, out: Path, pause: str = "30 minutes") -> ps.Pipeline:
    p = ps.Pipeline()
    rows = p.read_from(
        ps.sources.files(str(clicks), "json", schema=Click, streaming=True),
        name="clicks",
        dead_letters=ps.sinks.files(f"{out}/unreadable", "json"),
    )
    visits = (
        rows.with_timestamps("time", allowed_lag="5 minutes")
        .group_by("lower(user) AS user")
        .window(ps.session(pause))
        .aggregate("visits", clicks=ps.count(), first=ps.first("page"), last=ps.last("page"), end=ps.max("time"))
    )
    visits.select(
        "user", "clicks", "first", "last", "window_start AS begin", "timestampdiff(SECOND, window_start, end) AS seconds"
    ).write_to(ps.sinks.files(f"{out}/visits"), name="out")
    return p
