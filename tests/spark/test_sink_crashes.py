"""A run ends before, within and after each step of its sinks' commits: what is written again gives the same rows, each once, and
the job goes on by itself. Every kind of stage with state, every kind of sink, alone and beside another one."""

import functools
import json
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import pitstop as ps
from pitstop.kit.waiting import wait_until
from pitstop.outputs import file_epochs
from pitstop.outputs.file_epochs import FileEpochs
from pitstop.testing.map_store import MemoryMapStore
from tests.spark.bursts import Bursts, bursts
from tests.spark.golden import count_rows
from tests.spark.harness import Collected

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

EPOCHS, CRASHES_IN = 3, 1


def joined(p, folder):
    few = bursts(p, folder, "other").filter("seq % 10 = 0").select("key", "ts as at", "seq as second")
    return bursts(p, folder).filter("seq % 10 = 0").join("join", few, on="key", within=0.02)


def by_key(p, folder):
    return bursts(p, folder).group_by("key")


STAGES = {
    "window": lambda p, folder: by_key(p, folder).window(ps.sliding(1, slide=0.5)).aggregate("window", n=ps.count()),
    "session": lambda p, folder: by_key(p, folder).window(ps.session(0.5)).aggregate("session", total=ps.sum("seq")),
    "rolling": lambda p, folder: by_key(p, folder).rolling_aggregate("rolling", n=ps.count()),
    "distinct": lambda p, folder: bursts(p, folder).group_by("v", "key").distinct("distinct").select("v", "key"),
    "join": joined,
    "map_stateful": lambda p, folder: by_key(p, folder).map_stateful(
        "mapped", count_rows, "n bigint", "seq bigint, n bigint", ttl="1 hour"
    ),
    "own code": lambda p, folder: bursts(p, folder).stateful("own", lambda rows: rows.groupBy("key", "ts").count()),
}


class Crash(Exception):
    """The end of a run."""


class Own:
    """A sink of one's own that is exactly-once, as docs/extending.md says: it stores the name of an epoch with its rows."""

    def __init__(self):
        self.written = {}

    def write(self, rows, info):
        self.begins()
        if (info.lineage, info.epoch) in self.written:
            return
        rows.head(1)
        self.reads()
        self.store(info, [row.text for row in rows.collect()])

    def begins(self):
        pass

    def reads(self):
        pass

    def store(self, info, texts):
        self.written[info.lineage, info.epoch] = texts

    @property
    def rows(self):
        return Counter(text for texts in self.written.values() for text in texts)


class Outputs:
    """The sinks of a run, and what they have got."""

    def __init__(self, folder):
        self.folder, self.own, self.maps = folder, Own(), MemoryMapStore()

    def of(self, name):
        return {
            "files": ps.sinks.files(self.folder, format="json"),
            "map": ps.sinks.map("texts", key="text", value="1", merge=lambda old, new: (old or 0) + new),
            "custom": ps.sinks.custom(self.own),
        }[name]

    def rows(self, name):
        if name == "files":
            return Counter(json.loads(line)["text"] for file in self.folder.glob("*.json") for line in file.open())
        if name == "map":
            return Counter({entry.key: json.loads(entry.value) for entry in self.maps.entries("texts")})
        return self.own.rows


BEFORE, AFTER = "before", "after"
STEPS = {
    "files": [
        (FileEpochs, "commit", BEFORE),
        (file_epochs, "_write", BEFORE),
        (file_epochs, "_write", AFTER),
        (Path, "rename", BEFORE),
        (FileEpochs, "put_in_place", BEFORE),
        (Path, "rename", AFTER),
        (FileEpochs, "put_in_place", AFTER),
    ],
    "map": [(MemoryMapStore, "update_epoch", BEFORE), (MemoryMapStore, "update_epoch", AFTER)],
    "custom": [(Own, "begins", BEFORE), (Own, "reads", BEFORE), (Own, "store", BEFORE), (Own, "store", AFTER)],
}


@contextmanager
def crashing(owner, name, when):
    """While this lasts, the first call ends the run, before or after it is done."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def call(*arguments, **options):
        if when == BEFORE:
            raise Crash(f"before {name}")
        original(*arguments, **options)
        raise Crash(f"after {name}")

    setattr(owner, name, call)
    try:
        yield
    finally:
        setattr(owner, name, original)


def pipeline(stage, folder, outputs, sinks):
    p = ps.Pipeline()
    texts = STAGES[stage](p, folder).select("to_json(struct(*)) AS text")
    for name in sinks:
        texts.write_to(outputs.of(name), name=name)
    return p


def runs_until_it_crashes(harness, built, *step):
    """Run on, into that step of the epoch in which it crashes, and in any case not past the end of that epoch."""
    running = harness.begin(built)
    with ExitStack() as stack:

        def enter():
            if step and running.checkpoint.committed() == CRASHES_IN - 1:
                stack.enter_context(crashing(*step))

        def end(epoch):
            if epoch == CRASHES_IN:
                raise Crash("before Spark's commit")

        running.writer.before_epoch(enter)
        running.writer.after_epoch(end)
        assert wait_until(lambda: not running.active, 300)
    assert "Crash" in running.failure().details["trace"]
    assert running.checkpoint.committed() == CRASHES_IN - 1


def without_crashes(harness, stage):
    """The rows of a run in which nothing happens, of a sink that only collects."""
    rows, p = Collected(), ps.Pipeline()
    STAGES[stage](p, harness.events).select("to_json(struct(*)) AS text").write_to(ps.sinks.custom(rows), name="rows")
    harness.finish(p, "reference")
    return Counter(row.text for row in rows.rows)


def story(spark, tmp_path, stage, sinks, steps):
    outputs = Outputs(tmp_path / "out")
    harness = Bursts(spark, tmp_path, EPOCHS, outputs.maps)
    built = pipeline(stage, harness.events, outputs, sinks)
    for step in steps:
        runs_until_it_crashes(harness, built, *step)
    runs_until_it_crashes(harness, built)
    harness.finish(built)
    expected = without_crashes(harness, stage)
    assert expected
    for name in sinks:
        assert outputs.rows(name) == expected, name


@pytest.mark.long
def test_a_run_that_ends_within_the_commit_of_its_files_and_of_its_map_goes_on(spark, tmp_path):
    steps = [(MemoryMapStore, "update_epoch", AFTER), (FileEpochs, "put_in_place", BEFORE)]
    story(spark, tmp_path, "rolling", ("files", "map"), steps)


@pytest.mark.long
@pytest.mark.deep
@pytest.mark.parametrize("sinks", [("files",), ("map",), ("custom",), ("files", "map"), ("custom", "files")], ids=" and ".join)
@pytest.mark.parametrize("stage", STAGES)
def test_a_run_that_ends_at_any_step_goes_on(spark, tmp_path, stage, sinks):
    story(spark, tmp_path, stage, sinks, [step for name in sinks for step in STEPS[name]])
