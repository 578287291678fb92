"""Checkpoints of every release of Spark from 3.5 on go on as stages of Pitstop: their state is converted, and the rows are exact.

The recorded queries, the files that come later and what plain Python makes of all of them are those of test_recorded.
"""

import shutil
from collections import Counter

import pytest

import pitstop as ps
from tests.spark.adopting.plain import adopt
from tests.spark.adopting.test_recorded import (
    ALL,
    NEW,
    RECORDED,
    SCHEMA,
    at,
    expected_counts,
    expected_sessions,
    expected_windows,
    new_once,
    unpacked,
    write,
)
from tests.spark.harness import Collected, FilesHarness
from tests.unit.doctor.recorded import names

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def timed(rows):
    return rows.with_timestamps("at", allowed_lag="10 seconds")


def windows(rows):
    grouped = timed(rows).group_by("name").window(ps.tumbling("10 seconds"))
    return grouped.aggregate("mine", events=ps.count(), total=ps.sum("amount"))


def counts(rows):
    return timed(rows).group_by("name").window(ps.tumbling("10 seconds")).aggregate("mine", events=ps.count())


def sessions(rows):
    return timed(rows).group_by("name").window(ps.session("5 seconds")).aggregate("mine", events=ps.count())


def rolling(rows):
    return rows.group_by("name").rolling_aggregate("mine", events=ps.count())


def distinct(*keys, within=None):
    def stage(rows):
        rows = timed(rows) if within or "at" in keys else rows
        return rows.group_by(*keys).distinct("mine", within=within)

    return stage


def by_window(rows):
    return sorted((at(row.window_start), row.name, *row[3:]) for row in rows)


def by_session(rows):
    return sorted((at(row.window_start), row.name, at(row.window_end), row.events) for row in rows)


def by_id(rows):
    return sorted((row.id, at(row["at"])) for row in rows)


def last_counts(rows):
    return sorted({row.name: row.events for row in rows}.items())


def expected_totals():
    return sorted(Counter(name for _, name, _, _ in ALL).items())


WINDOWS = (windows, by_window, expected_windows)
SESSIONS = (sessions, by_session, expected_sessions)
CASES = {
    "window-hdfs": WINDOWS,
    "window-rocksdb": WINDOWS,
    "window-changelog": WINDOWS,
    "window-format2": WINDOWS,
    "window-named": (counts, by_window, lambda: expected_counts(ALL)),
    "sessions-hdfs": SESSIONS,
    "sessions-rocksdb": SESSIONS,
    "rolling-update": (rolling, last_counts, expected_totals),
    "dedup-hdfs": (distinct("id", "at"), by_id, lambda: new_once(lambda event: (event[0], event[2]))),
    "dedup-changelog": (distinct("id"), by_id, lambda: new_once(lambda event: event[0])),
    "dedup-within": (distinct("id", within="10 seconds"), by_id, lambda: new_once(lambda event: event[0])),
}
ALWAYS = {("3.5", "window-hdfs")}


def cases():
    for release, scenario in names():
        if scenario in CASES:
            marks = [] if (release, scenario) in ALWAYS else [pytest.mark.long]
            yield pytest.param(release, scenario, id=f"{release}-{scenario}", marks=marks)


def job_of(stage, folder, sink, more=False):
    p = ps.Pipeline()
    source = ps.sources.files(str(folder), "json", schema=SCHEMA, streaming=True, maxFilesPerTrigger=1)
    rows = p.read_from(source, name="events")
    if more:
        rows.group_by("name").rolling_aggregate("seen", n=ps.count()).write_to(ps.sinks.noop(), name="to noop")
    stage(rows).write_to(ps.sinks.custom(sink), name="out")
    return p


@pytest.mark.parametrize(("release", "scenario"), list(cases()))
def test_a_stage_of_pitstop_goes_on_from_a_recorded_checkpoint(spark, tmp_path, release, scenario):
    (stage, rows_of, expected), inputs = CASES[scenario], tmp_path / "inputs"
    checkpoint = unpacked(release, scenario, tmp_path, inputs)
    for number, events in enumerate(RECORDED):
        write(inputs, number, events)
    first, second = Collected(), Collected()
    adoption = adopt(spark, job_of(stage, inputs, first), checkpoint, tmp_path)
    assert (adoption.begins_empty, adoption.begins_anew) == ([], [])
    assert [operator.converted for operator in adoption.operators] == [not scenario.startswith("dedup")]
    shutil.rmtree(checkpoint)
    harness = FilesHarness(spark, tmp_path)
    harness.runs = 1
    write(inputs, 3, NEW[0])
    harness.run(job_of(stage, inputs, first), until=4)
    write(inputs, 4, NEW[1])
    harness.run(job_of(stage, inputs, second, more=True), until=5)
    assert rows_of(first.rows + second.rows) == expected()
