"""Every kind of operator with state: a query of plain Spark reads half of the events, is adopted, and a job goes on.

The job then gets a new stage with state, which Spark would refuse. The rows of all three are those that plain Python makes of the
same events.
"""

import pytest

from tests.spark.adopting.plain import MEMORY, ROCKSDB, STATE, Plain, adopt, content_of, run, session_of
from tests.spark.kinds import FILES, KINDS, SCHEMA, FileHarness, Job, write_files

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

OWN = [kind for kind in KINDS if kind.name != "limit"]
ONLY_ON_DISK = ("transformWithState",)
ALWAYS = {("transformWithState (value, list, map, timers)", "rocksdb")}
"""Kinds and stores that are in every run of the tests."""
STORES = {
    "memory": MEMORY,
    "rocksdb": ROCKSDB,
    "changelog": ROCKSDB | {f"{STATE}.rocksdb.changelogCheckpointing.enabled": "true"},
}


class PlainJob:
    """The queries of tests/spark/kinds.py as plain Spark: Job for DataFrames."""

    def __init__(self, session, folder):
        self.session, self.folder = session, folder

    def source(self, name="numbers"):
        reader = self.session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return Plain(reader.parquet(str(self.folder)).withWatermark("ts", "2 seconds"))


def job_of(kind, folder, with_more=False):
    job = Job(folder)
    if with_more:
        first = "left" if "join" in kind.name else "numbers"
        job.to(job.source(first).group_by("key", "v").distinct("new"), "new")
    job.to(kind.add(job), kind.name)
    return job


def cases():
    for kind in OWN:
        for store in STORES:
            if store == "memory" and kind.name.startswith(ONLY_ON_DISK):
                continue
            always = (kind.name, store) in ALWAYS
            yield pytest.param(kind, store, id=f"{kind.name}-{store}", marks=[] if always else [pytest.mark.long])


@pytest.mark.long
@pytest.mark.parametrize(("kind", "store"), list(cases()))
def test_a_job_goes_on_where_the_query_ended_and_is_changed(spark, tmp_path, kind, store):
    events, checkpoint = tmp_path / "events", tmp_path / "checkpoint"
    write_files(events, 0, FILES // 2)
    busy = FILES // 2 if "TTL" in kind.name else None
    old = run(kind.add(PlainJob(session_of(spark, STORES[store]), events)).frame, checkpoint, files=busy)
    before = content_of(checkpoint)

    first = job_of(kind, events)
    adoption = adopt(spark, first.pipeline, checkpoint, tmp_path)

    assert content_of(checkpoint) == before
    assert not adoption.begins_empty
    assert not adoption.warnings or busy
    assert sum(operator.rows for operator in adoption.operators) > 0
    harness = FileHarness(spark, tmp_path)
    harness.runs = 1
    write_files(events, FILES // 2, FILES - 1)
    report = harness.run(first.pipeline, until=FILES - 1)
    assert str(report.way) == "resume"
    write_files(events, FILES - 1, FILES)
    second = job_of(kind, events, with_more=True)
    harness.run(second.pipeline, until=FILES)
    rows = [job.sinks[kind.name].rows for job in (first, second)]
    kind.check(old + rows[0] + rows[1])
