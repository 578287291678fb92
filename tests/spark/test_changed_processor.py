"""A processor of the user's whose variables change: none that is said to go on begins empty, and the other way round."""

import json
from collections import defaultdict

import pytest
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

import pitstop as ps
from pitstop.errors import IncompatibleError
from pitstop.plan.diff import Verdict
from pitstop.snapshots import manifest as manifests
from tests.spark.harness import Collected, FilesHarness
from tests.spark.sequence import events

pytestmark = pytest.mark.spark
STEP, KEYS, FILES = 30, 3, 3
ROWS = FILES * STEP


def counter(names, kind="n bigint"):
    """A processor that counts its rows in each of these variables, and tells all counts after each row."""

    class Counter(StatefulProcessor):
        def init(self, handle):
            self.counts = {name: handle.getValueState(name, kind) for name in names}

        def handleInputRows(self, key, rows, timers):
            for row in sorted(rows, key=lambda row: row.seq):
                for value in self.counts.values():
                    value.update((1 + (value.get()[0] if value.exists() else 0),))
                told = {name: value.get()[0] for name, value in self.counts.items()}
                yield Row(seq=row.seq, n=told.get("n"), k=told.get("k"))

        def close(self):
            pass

    return Counter()


def version(folder, sink, processor):
    p = ps.Pipeline()
    rows = ps.sources.files(folder, "json", schema="seq bigint, key bigint", streaming=True, maxFilesPerTrigger=1)

    def counted(frame):
        return frame.groupBy("key").transformWithState(processor, "seq bigint, n bigint, k bigint", "append", "none")

    counts = p.read_from(rows, name="numbers").stateful("T", counted)
    counts.write_to(ps.sinks.custom(sink), name="out")
    return p


def counts(first, last, begun):
    """seq -> how many rows of its key there are from event ``begun`` up to it."""
    seen, found = defaultdict(int), {}
    for seq, key, _, _ in events(ROWS, KEYS):
        if begun <= seq < last:
            seen[key] += 1
        if first <= seq < last:
            found[seq] = seen[key]
    return found


def told(sink, name):
    return {row.seq: row[name] for row in sink.rows}


def lines(report):
    return [(line.verdict, line.rule) for line in report.lines if line.stage == "T"]


def forget_variables(folder):
    """Make of a snapshot one of a release that did not note variables."""
    path = folder / "snapshots" / "saved"
    raw = json.loads((path / manifests.MANIFEST).read_text())
    for stage in raw["plan"]["stages"]:
        if stage["layout"]:
            stage["layout"]["parameters"].pop("variables", None)
    return path, raw


@pytest.fixture
def harness(spark, tmp_path):
    """Version by version another file of the folder is read."""
    made = FilesHarness(spark, tmp_path)
    made.store("rocksdb")  # a processor takes no other
    made.data = tmp_path / "data"
    made.data.mkdir()
    return made


def run(harness, number, sink, processor):
    """Run version ``number``, which finds one file more."""
    rows = [(seq, key) for seq, key, _, _ in events(ROWS, KEYS) if seq // STEP == number]
    whole = "".join(json.dumps({"seq": seq, "key": key}) + "\n" for seq, key in rows)
    (harness.data / f".{number}.json").write_text(whole)
    (harness.data / f".{number}.json").rename(harness.data / f"{number}.json")
    return harness.run(version(harness.data, sink, processor), until=number + 1)


@pytest.mark.long
def test_a_variable_goes_another_stays_and_one_of_the_name_of_the_first_begins_empty(harness):
    sinks = [Collected(), Collected(), Collected()]
    run(harness, 0, sinks[0], counter(["n", "k"]))
    assert lines(run(harness, 1, sinks[1], counter(["n"]))) == [(Verdict.RESTORED, "C03"), (Verdict.DROPPED, "C31")]
    assert lines(run(harness, 2, sinks[2], counter(["n", "k"]))) == [(Verdict.RESTORED, "C03"), (Verdict.NEW, "C31")]
    for number, sink in enumerate(sinks):
        assert told(sink, "n") == counts(number * STEP, (number + 1) * STEP, 0), f"version {number}"
    assert told(sinks[0], "k") == counts(0, STEP, 0)
    assert told(sinks[2], "k") == counts(2 * STEP, ROWS, 2 * STEP)


@pytest.mark.long
def test_what_a_release_before_has_saved_is_compared_by_its_state(harness):
    sink = Collected()
    run(harness, 0, Collected(), counter(["n"]))
    path, raw = forget_variables(harness.folder)
    manifests.write(path, manifests.SnapshotManifest.from_dict(raw))
    with pytest.raises(IncompatibleError, match="variable 'n' was a value of n bigint and is now a value of n int"):
        harness.restore(version(harness.data, sink, counter(["n"], "n int")), harness.folder / "unused", None, None, True)
    assert lines(run(harness, 1, sink, counter(["k"]))) == [(Verdict.NEW, "C31"), (Verdict.DROPPED, "C31")]
    assert told(sink, "k") == counts(STEP, 2 * STEP, STEP)
