"""A run ends before, within and after each step of its sinks' commits, by an error or because its process dies: what is written
again gives the same rows, each once, no state is lost, and the job goes on by itself. Every kind of stage with state, every kind
of sink, alone, beside all others, and beside a second stage with state."""

import functools
import json
import sys
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Transaction
from pyspark.sql import functions as F

import pitstop as ps
from pitstop.kit.waiting import wait_until
from pitstop.outputs import file_epochs
from pitstop.outputs.file_epochs import FileEpochs
from pitstop.snapshots.state_files import StateFiles
from pitstop.spark.sinks import delta, iceberg
from pitstop.store.database import sqlite_url
from pitstop.store.map_rows import MapWriter
from pitstop.store.maps import SqlMapStore, open_map_store
from tests.spark.bursts import Bursts, bursts
from tests.spark.golden import count_rows
from tests.spark.harness import Collected
from tests.spark.kinds import apply_in_pandas, processed
from tests.spark.own_code import Counting
from tests.unit.outputs.test_crashes import Disk

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

EPOCHS, FAILS_IN = 4, 2
"""The epoch that fails is one in which each of the stages gives rows."""


def rows_of(p, folder):
    """The rows that all stages of a pipeline begin with: its source is opened once."""
    if not hasattr(p, "rows"):
        p.rows = bursts(p, folder)
    return p.rows


def joined(how):
    def add(p, folder):
        few = bursts(p, folder, "other").filter("seq % 20 = 0").select("key", "ts as at", "seq as second")
        return rows_of(p, folder).filter("seq % 10 = 0").join("join", few, on="key", within=0.02, how=how)

    return add


def by_key(p, folder):
    return rows_of(p, folder).group_by("key")


def windows(window, **aggregates):
    return lambda p, folder: by_key(p, folder).window(window).aggregate("window", **aggregates)


def early(p, folder):
    made = by_key(p, folder).window(ps.tumbling(1)).early_results("1 hour").aggregate("early", n=ps.count())
    return made.filter("not is_early")


def late(p, folder):
    letters = ps.sinks.custom(Collected())
    return by_key(p, folder).window(ps.tumbling(1), late=letters).aggregate("late", n=ps.count())


def behind_another(p, folder):
    first = by_key(p, folder).rolling_aggregate("first", n=ps.count())
    return first.group_by("n").rolling_aggregate("second", keys=ps.count()).select("n", "keys")


def own(function):
    return lambda p, folder: rows_of(p, folder).stateful("own", function)


STAGES = {
    "tumbling": windows(ps.tumbling(1), seen=ps.collect_set("v")),
    "sliding": windows(ps.sliding(1, slide=0.5), n=ps.count()),
    "session": windows(ps.session(0.5), total=ps.sum("seq")),
    "early results": early,
    "late letters": late,
    "rolling": lambda p, folder: by_key(p, folder).rolling_aggregate("rolling", n=ps.count()),
    "distinct": lambda p, folder: (
        rows_of(p, folder).with_columns(third="seq div 3").group_by("third").distinct("distinct").select("third")
    ),
    "join": joined("inner"),
    "left join": joined("left"),
    "map_stateful": lambda p, folder: by_key(p, folder).map_stateful(
        "mapped", count_rows, "n bigint", "seq bigint, n bigint", ttl="1 hour"
    ),
    "behind another": behind_another,
    "own aggregation": own(lambda rows: rows.groupBy("key", "ts").agg(F.count("*").alias("n"))),
    "own function": own(apply_in_pandas),
    "own processor": own(processed(Counting, "EventTime")),
}
HALF = "pitstop.tests.half"
"""A property of the JVM: while it is ``yes``, rows of the second partition cannot be made into text."""
IN_HALF = f"spark_partition_id() = 1 AND reflect('java.lang.System', 'getProperty', '{HALF}') = 'yes'"


class Ended(Exception):
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


class Lazy(Own):
    """A sink of one's own that reads of an epoch its first row at most."""

    def write(self, rows, info):
        self.begins()
        if info.epoch % 2 == 0:
            rows.head(1)
        self.reads()


class Logged(Bursts):
    """A job whose log's lines can fail."""

    def log(self, level, logger, message):
        if logger == "pitstop.sink.logger":
            self.line(message)
        else:
            super().log(level, logger, message)

    def line(self, message):
        self.lines[message.split(" ", 1)[1]] += 1


class Outputs:
    """The sinks of a job, and what they have got."""

    def __init__(self, folder):
        self.folder, self.own, self.lazy, self.lines = folder, Own(), Lazy(), Counter()
        self.maps = open_map_store(sqlite_url(folder.with_name("maps.db")))
        uri = f"sqlite:///{folder.with_name('catalog.db')}"
        self.catalog = {"type": "sql", "uri": uri, "warehouse": f"file://{folder / 'iceberg'}"}

    def of(self, name):
        return {
            "files": ps.sinks.files(self.folder / "files", format="json"),
            "folders": ps.sinks.files(self.folder / "folders", format="json", partition_by=["part"]),
            "map": ps.sinks.map("counts", key="text", value="1", merge=lambda old, new: (old or 0) + new),
            "entries": ps.sinks.map("entries", key="text", value="part"),
            "custom": ps.sinks.custom(self.own),
            "lazy": ps.sinks.custom(self.lazy),
            "logger": ps.sinks.logger("{text}"),
            "noop": ps.sinks.noop(),
            "delta": ps.sinks.delta(self.folder / "delta", partition_by="part"),
            "iceberg": ps.sinks.iceberg("shop.texts", catalog=self.catalog, partition_by="part"),
        }[name]

    def check(self, name, expected):
        """Fail unless the sink has these rows; those that keep none of them have nothing to tell."""
        if name in ("files", "folders"):
            lines = (
                line for file in (self.folder / name).rglob("*.json") if "_pitstop" not in file.parts for line in file.open()
            )
            assert Counter(json.loads(line)["text"] for line in lines) == expected, name
        elif name == "map":
            assert {entry.key: json.loads(entry.value) for entry in self.maps.entries("counts")} == expected, name
        elif name == "entries":
            assert {entry.key for entry in self.maps.entries("entries")} == expected.keys(), name
        elif name == "delta":
            table = DeltaTable(self.folder / name).to_pyarrow_table()
            assert Counter(table["text"].to_pylist()) == expected, name
        elif name == "iceberg":
            table = load_catalog("default", **self.catalog).load_table("shop.texts").scan().to_arrow()
            assert Counter(table["text"].to_pylist()) == expected, name
        elif name == "custom":
            assert self.own.rows == expected, name
        elif name == "logger":
            assert self.lines.keys() == expected.keys(), name
            assert self.lines >= expected, name


BEFORE, AFTER = "before", "after"


@dataclass(frozen=True)
class Step:
    """A step in the writing of an epoch, which is a call: a run ends before or after it."""

    owner: Any
    call: str
    when: str


IN_FILES = (
    Step(FileEpochs, "is_committed", BEFORE),
    Step(FileEpochs, "commit", BEFORE),
    Step(file_epochs, "_write", BEFORE),
    Step(file_epochs, "_write", AFTER),
    Step(Path, "rename", BEFORE),
    Step(FileEpochs, "put_in_place", BEFORE),
    Step(Path, "rename", AFTER),
    Step(FileEpochs, "put_in_place", AFTER),
)
STEPS = {
    "files": IN_FILES,
    "folders": IN_FILES,
    "map": (
        Step(SqlMapStore, "update_epoch", BEFORE),
        Step(MapWriter, "finish", AFTER),
        Step(SqlMapStore, "update_epoch", AFTER),
    ),
    "entries": (
        Step(SqlMapStore, "write_epoch", BEFORE),
        Step(MapWriter, "change", AFTER),
        Step(SqlMapStore, "write_epoch", AFTER),
    ),
    "custom": (Step(Own, "begins", BEFORE), Step(Own, "reads", BEFORE), Step(Own, "store", BEFORE), Step(Own, "store", AFTER)),
    "lazy": (Step(Lazy, "begins", BEFORE), Step(Lazy, "reads", AFTER)),
    "logger": (Step(Logged, "line", BEFORE), Step(Logged, "line", AFTER)),
    "noop": (),
    "delta": (
        Step(delta, "_has_epoch", BEFORE),
        Step(delta, "_has_epoch", AFTER),
        Step(delta, "_write_files", BEFORE),
        Step(delta, "_write_files", AFTER),
        Step(DeltaTable, "create_write_transaction", BEFORE),
        Step(DeltaTable, "create_write_transaction", AFTER),
    ),
    "iceberg": (
        Step(iceberg, "_has_epoch", BEFORE),
        Step(iceberg, "_has_epoch", AFTER),
        Step(iceberg, "_write_files", BEFORE),
        Step(iceberg, "_write_files", AFTER),
        Step(Transaction, "commit_transaction", BEFORE),
        Step(Transaction, "commit_transaction", AFTER),
    ),
}
"""In an order in which each step is reached: an epoch that a sink has is not written again."""


class DeadProcess(Disk):
    """The process of a run that is dead: it changes no more file below its folder."""

    def one(self):
        raise Ended("the process is dead")


DEAD = DeadProcess()
sys.addaudithook(DEAD.hear)  # it stays as long as the process: it hears nothing without a folder


@contextmanager
def ending(step, dies, folder):
    """While this lasts, the first such call ends the run; gives a list that is filled then.

    ``dies``: the process does nothing more. Otherwise the call raises, and those who clean up do so.
    """
    steps, ended = {step, *(each for name in STEPS for each in STEPS[name])}, []
    originals = {(each.owner, each.call): getattr(each.owner, each.call) for each in steps}

    def end():
        ended.append(step)
        DEAD.folder = folder if dies else None
        raise ConnectionResetError(f"{step.when} {step.call}")

    def replace(owner, name, original):
        @functools.wraps(original)
        def call(*arguments, **options):
            if ended and dies:
                raise Ended("the process is dead")
            at = (owner, name) == (step.owner, step.call) and not ended
            if owner is Path:  # the engine renames files, too, which is no step of a sink
                at = at and sys._getframe(1).f_globals["__name__"] == file_epochs.__name__
            if at and step.when == BEFORE:
                end()
            result = original(*arguments, **options)
            if at and not ended:
                end()
            return result

        setattr(owner, name, call)

    for (owner, name), original in originals.items():
        replace(owner, name, original)
    try:
        yield ended
    finally:
        DEAD.folder = None
        for (owner, name), original in originals.items():
            setattr(owner, name, original)


class Story:
    """A job whose runs end in one epoch, again and again."""

    def __init__(self, spark, folder, stages):
        """``stages``: stage -> the sinks of its rows."""
        self.spark, self.stages, self.outputs = spark, stages, Outputs(folder / "out")
        self.harness = Logged(spark, folder, EPOCHS, self.outputs.maps)
        self.harness.lines = self.outputs.lines

    def pipeline(self, sink_of):
        p = ps.Pipeline()
        for stage, sinks in self.stages.items():
            texts = STAGES[stage](p, self.harness.events).select("to_json(struct(*)) AS text")
            rows = texts.select(f"if({IN_HALF}, raise_error('half'), text) AS text").with_columns(
                part="CAST(length(text) % 3 AS string)"
            )
            for name in sinks:
                rows.write_to(sink_of(name), name=name)
        return p

    def fails(self, step=None, dies=False, half=False):
        """Run on into an epoch that fails: at this step, with half of its rows, and in any case not past its end."""
        running = self.harness.begin(self.pipeline(self.outputs.of))
        ended = []
        with ExitStack() as stack:

            def enter():
                if running.checkpoint.committed() != FAILS_IN - 1:
                    return
                if half:
                    stack.callback(self.spark._jvm.java.lang.System.clearProperty, HALF)
                    self.spark._jvm.java.lang.System.setProperty(HALF, "yes")
                if step is not None:
                    ended.append(stack.enter_context(ending(step, dies, self.outputs.folder)))

            def end(epoch):
                if epoch == FAILS_IN:
                    raise Ended("before Spark's commit")

            running.writer.before_epoch(enter)
            running.writer.after_epoch(end)
            assert wait_until(lambda: not running.active, 300)
        error = running.failure()
        assert error is not None
        assert (running.checkpoint.planned(), running.checkpoint.committed()) == (FAILS_IN, FAILS_IN - 1)
        if ended and ended[0] and not dies:
            assert error.details.get("restartable") or error.details.get("away"), f"the job is not tried again after {error}"
        return bool(ended and ended[0]) or (half and "half" in str(error))

    def loses_state(self):
        """Let the state of one partition go, as a disk does that had not written it yet."""
        lost = [path for path in self.checkpoint.rglob(f"state/*/1/**/{FAILS_IN + 1}*.*") if path.is_file()]
        assert lost
        for path in lost:
            path.unlink()

    @property
    def checkpoint(self):
        return self.harness.folder / "checkpoint"

    def check(self, references):
        """Run to the end; then a version whose sinks only collect has the rows of one more file: all state is there."""
        checkpoint = self.harness.finish(self.pipeline(self.outputs.of))
        for stage, sinks in self.stages.items():
            for name in sinks:
                self.outputs.check(name, references(stage).rows)
        assert StateFiles(checkpoint, len(checkpoint.facts()["plan"]["operators"])).missing(checkpoint.committed()) == ()
        self.harness.come(EPOCHS + 1)
        more = {name: Collected() for sinks in self.stages.values() for name in sinks}
        self.harness.finish(self.pipeline(lambda name: ps.sinks.custom(more[name])))
        for stage, sinks in self.stages.items():
            for name in sinks:
                assert Counter(row.text for row in more[name].rows) == references(stage).more, name


@dataclass(frozen=True)
class Reference:
    """The rows of a stage in runs in which nothing happens, of a sink that only collects."""

    rows: Counter
    more: Counter
    """Those of the file after all others."""


@pytest.fixture(scope="module")
def references(spark, tmp_path_factory):
    @functools.cache
    def of(stage):
        harness, found = Bursts(spark, tmp_path_factory.mktemp("reference"), EPOCHS), []
        for epochs in (EPOCHS, EPOCHS + 1):
            harness.come(epochs)
            rows, p = Collected(), ps.Pipeline()
            STAGES[stage](p, harness.events).select("to_json(struct(*)) AS text").write_to(ps.sinks.custom(rows), name="rows")
            harness.finish(p)
            found.append(rows)
        assert found[0].epochs[FAILS_IN], "the epoch that fails has rows"
        return Reference(*(Counter(row.text for row in rows.rows) for rows in found))

    return of


@pytest.fixture(autouse=True)
def rows_that_are_not_written_again(monkeypatch):
    """What a sink has already, or does not read, it does not count."""
    monkeypatch.setenv("PITSTOP_CHECK_ROWS", "0")


@pytest.mark.long
def test_a_run_that_ends_within_the_commit_of_its_files_and_of_its_map_goes_on(spark, tmp_path, references):
    told = Story(spark, tmp_path, {"rolling": ("files", "map")})
    assert told.fails(Step(SqlMapStore, "update_epoch", AFTER), dies=True)
    assert told.fails(Step(FileEpochs, "put_in_place", BEFORE))
    told.check(references)


@pytest.mark.long
@pytest.mark.deep
@pytest.mark.parametrize("sink", STEPS)
@pytest.mark.parametrize("stage", STAGES)
def test_each_sink_alone_at_each_step(spark, tmp_path, references, stage, sink):
    told = Story(spark, tmp_path, {stage: (sink,)})
    assert told.fails(half=True) or sink == "lazy", "which has read one row"
    for step in STEPS[sink]:
        ends = [told.fails(step, dies) for dies in (False, True)]
        assert ends[0], step
    told.fails()
    told.loses_state()
    told.check(references)


@pytest.mark.long
@pytest.mark.deep
@pytest.mark.parametrize("stage", STAGES)
def test_all_sinks_beside_one_another_at_each_step(spark, tmp_path, references, stage):
    told = Story(spark, tmp_path, {stage: tuple(STEPS)})
    at_each_step_of_all(told, stage)
    told.check(references)


@pytest.mark.long
@pytest.mark.deep
@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage != "rolling"])
def test_sinks_of_two_stages_with_state_at_each_step(spark, tmp_path, references, stage):
    told = Story(spark, tmp_path, {stage: tuple(STEPS)[::2], "rolling": tuple(STEPS)[1::2]})
    at_each_step_of_all(told, stage)
    told.check(references)


def at_each_step_of_all(told, stage):
    """Each step once, every other one by a crash: by which of them, that changes with the stage."""
    assert told.fails(half=True)
    steps = dict.fromkeys(
        step for name in ("custom", "lazy", "logger", "map", "entries", "files", "delta", "iceberg") for step in STEPS[name]
    )
    for number, step in enumerate(steps):
        assert told.fails(step, dies=(number + len(stage)) % 2 == 0), step
    told.fails()
    told.loses_state()
