"""Names within a type that SQL reads only in quotes, as JSON of others has them: state with them goes on like any other."""

import json
import os

import pytest

import pitstop as ps
from pitstop.kit.waiting import wait_until
from pitstop.model.config import JobConfig, ProcessingGuarantee
from pitstop.model.data_folder import DataFolder
from pitstop.snapshots import manifest as manifests
from pitstop.spark.base.environment import Environment
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.lowering.compiled_job import CompiledJob
from pitstop.spark.lowering.source import TEXT, good_rows, with_parsed
from pitstop.spark.starting.rehearsal import rehearse
from pitstop.spark.state.in_snapshot import SnapshotState, export, put
from tests.spark.harness import Collected, FilesHarness

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

WHO = "struct<`user-id`:bigint,`its name`:string>"
SCHEMA = f"key bigint, seq bigint, ts timestamp, who {WHO}"
EVENTS = [(n % 3, n, n, n * 7 % 10) for n in range(8)] + [(n % 3, n, 500 + n, 0) for n in range(8, 12)]
"""(key, seq, second, user): half of the first window, whose largest users come first, in file 0; all else in file 1."""
FIRST = 6


def write_file(folder, number, events):
    folder.mkdir(exist_ok=True)
    rows = [
        {"key": key, "seq": seq, "ts": f"1970-01-01T00:{at // 60:02}:{at % 60:02}Z", "who": {"user-id": user, "its name": "x"}}
        for key, seq, at, user in events
    ]
    path = folder / f".{number}.json"
    path.write_text("\n".join(map(json.dumps, rows)))
    os.utime(path, (1_700_000_000 + number,) * 2)
    path.rename(folder / f"{number}.json")


def remember(state, row):
    if state.who is None or row.who["user-id"] > state.who["user-id"]:
        state.who = row.who
    return (row.seq, state.who["user-id"])


def pipeline(sinks, folder, more=False):
    """The job; ``more``: each stage keeps something more, so that its state is converted."""
    p = ps.Pipeline()
    source = ps.sources.files(folder, "json", schema=SCHEMA, streaming=True, maxFilesPerTrigger=1)
    rows = p.read_from(source, name="numbers").with_timestamps("ts", allowed_lag="0 seconds")
    by_key, added = rows.group_by("key"), {"n": ps.count()} if more else {}
    state = f"who {WHO}" + (", n bigint" if more else "")
    stages = {
        "window": by_key.window(ps.tumbling(10)).aggregate("window", most=ps.max("who"), **added),
        "session": rows.group_by("who").window(ps.session(10)).aggregate("session", last=ps.max("seq"), **added),
        "rolling": by_key.rolling_aggregate("rolling", most=ps.max("who"), **added),
        "mapped": by_key.map_stateful("mapped", remember, state, "seq bigint, most bigint"),
    }
    for name, stage in stages.items():
        sinks[name] = Collected()
        stage.write_to(ps.sinks.custom(sinks[name]), name=f"{name}-out")
    return p


@pytest.fixture
def ran(spark, tmp_path):
    """A harness whose first version has read file 0."""
    harness = FilesHarness(spark, tmp_path)
    write_file(tmp_path / "events", 0, EVENTS[:FIRST])
    harness.run(pipeline({}, tmp_path / "events"), until=1)
    write_file(tmp_path / "events", 1, EVENTS[FIRST:])
    return harness


@pytest.mark.long
def test_state_of_every_form_is_converted(ran):
    sinks = {}
    report = ran.run(pipeline(sinks, ran.folder / "events", more=True), until=2)
    assert {line.stage for line in report.lines if line.verdict == "converted"} == set(sinks)
    so_far, most = {}, {}
    for key, seq, _, user in EVENTS:
        so_far[key] = most[seq] = max(so_far.get(key, -1), user)
    later = {seq: user for seq, user in most.items() if seq >= FIRST}
    assert {row.seq: row.most["user-id"] for row in sinks["rolling"].rows} == later
    assert {row.seq: row.most for row in sinks["mapped"].rows} == later
    early = [event for event in EVENTS if event[2] < 10]
    assert {row.key: row.most["user-id"] for row in sinks["window"].rows} == {
        key: max(user for other, _, _, user in early if other == key) for key in range(3)
    }
    assert {row.who["user-id"]: row.last for row in sinks["session"].rows} == {user: seq for _, seq, _, user in early}


@pytest.mark.long
def test_rows_taken_out_can_be_put_back(spark, ran, tmp_path):
    folder = tmp_path / "snapshots" / "saved"
    for stage in ("window", "session", "rolling", "mapped"):
        state = SnapshotState.open(folder, manifests.read(folder), stage)
        held = len({user if stage == "session" else key for key, _, _, user in EVENTS[:FIRST]})
        assert export(spark, state, tmp_path / f"{stage}.parquet") == held
        put(spark, state, tmp_path / f"{stage}.parquet", DataFolder(tmp_path), f"with-{stage}")


@pytest.mark.long
def test_a_start_from_it_is_rehearsed(spark, ran, tmp_path):
    built = pipeline({}, tmp_path / "events", more=True)
    job = CompiledJob(spark, built, JobConfig(), compile_pipeline(spark, built))
    guarantee = ProcessingGuarantee.EXACTLY_ONCE
    environment = Environment("id", "job", "run", guarantee, tmp_path, ran.log, sources=ran.settings)
    snapshot, scratch = tmp_path / "snapshots" / "saved", tmp_path / "scratch"
    scratch.mkdir()
    rehearsed = rehearse(job, environment, snapshot, scratch, scratch / "laid-down")
    assert rehearsed is not None
    assert wait_until((rehearsed / "commits").exists, 1)


def test_a_column_of_csv_may_have_any_name(spark):
    lines = spark.createDataFrame([("1,x",)], [TEXT])
    source = ps.sources.csv_tail("events", "`a``b` bigint, `c d` string")
    rows = good_rows(with_parsed(lines, source), source)
    assert rows.first().asDict() == {"a`b": 1, "c d": "x"}
