"""Every stage with state behind every other, in one run and across changes of the job, against plain Python.

docs/stage-chains.md says what was found: ``make stage-chains`` writes it.
"""

import functools
import os
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pitstop as ps
from pitstop.errors import PipelineError
from pitstop.snapshots.checkpoint import Checkpoint
from tests.spark.chains import (
    EVERY,
    FIRST,
    KEYS,
    KINDS,
    OTHERS_STEP,
    ROWS,
    STARTS,
    STEP,
    Chain,
    all_rows,
    check,
    follow,
    other_rows,
)
from tests.spark.harness import Collected, FilesHarness, Harness, numbers
from tests.spark.sequence import START_MS, events, expected_windows, millis

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

PAGE = Path(__file__).parents[2] / "docs" / "stage-chains.md"


@dataclass(frozen=True)
class Leg:
    """One run of a job with chains, from the snapshot of the leg before it."""

    shows: tuple[str, ...]
    """What it shows of the stages if all rows so far are what they must be."""
    way: str | None = None
    """How the snapshot is restored."""
    read: int = ROWS
    """How many events have been read at its end."""
    changed: bool = False
    """True if the job has changed around the stages."""
    partitions: int | None = None


SCHEMA, FILES = "key bigint, v bigint, ts timestamp", ROWS // STEP
RUN = Leg(("in one run",), read=2 * STEP)
LEGS = (
    RUN,
    Leg(("resumed unchanged",), "resume", 3 * STEP),
    Leg(("a stage with state comes before both", "in reverse order, another stage beside"), "rebuild", 4 * STEP, changed=True),
    Leg(("2 partitions become 3",), "rebuild", partitions=3),
)
LONGER = [
    ("window", "rolling aggregate", "window"),
    ("rolling aggregate", "state of one's own", "session"),
    ("session", "rolling aggregate", "session", "session"),
    ("join", "window", "state with time to live", "distinct within"),
    ("state with time to live", "join", "rolling aggregate", "sliding window"),
]
"""Chains of more than two."""
found: dict[tuple[str, str], tuple[str, ...]] = {}
"""(first, second) -> what was shown of them, or that they are refused."""
REFUSED = ("refused",)


class FiledChain(Chain):
    """Reads the same events from files, an epoch a file: a source in Python would need a process of its own in each branch."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def _source(self, name, every, **options):
        if name not in self.sources:
            source = ps.sources.files(self.folder / name, "parquet", SCHEMA, streaming=True, maxFilesPerTrigger=1)
            self.sources[name] = self.pipeline.read_from(source, name=name).with_timestamps("ts", allowed_lag="2 seconds")
        return self.sources[name]


def write_files(folder, upto):
    """Epochs of both sources up to that one, as files in the order of their times; those that are there stay."""
    numbers = [(place * EVERY // STEP, row) for place, row in enumerate(all_rows())]
    others = [((ms - START_MS) // OTHERS_STEP, (key, v, ms)) for key, v, ms in other_rows(START_MS + FILES * OTHERS_STEP - 1)]
    for name, found in (("numbers", numbers), ("others", others)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for epoch in range(len(list((folder / name).iterdir())), upto):
            keys, values, times = zip(*[row for number, row in found if number == epoch], strict=True)
            stamps = pa.array(times, pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC"))
            path = folder / name / f".{epoch}.parquet"
            pq.write_table(pa.table({"key": keys, "v": values, "ts": stamps}), path)
            os.utime(path, (1_700_000_000 + epoch,) * 2)
            path.rename(path.with_name(path.name[1:]))


class LegsHarness(FilesHarness):
    """Runs the versions of :class:`Runs`: dozens of stages in one query."""

    read_seconds = 600
    settle_seconds = 300

    def settles(self, until):
        return until in (RUN.read // STEP, FILES)


def built(chains, changed=False, chain=None):
    """A job with these chains, each to a sink of its own; a change keeps the names of their stages."""
    chain, sinks = chain or Chain(), {kinds: Collected() for kinds in chains}
    for kinds in reversed(chains) if changed else chains:
        chain.name, chain.count = f"{chains.index(kinds)} ", 100
        stage = follow(chain, chain.source(), [KINDS["distinct"]]) if changed else chain.source()
        chain.count = 0
        last = follow(chain, stage, [FIRST[name] for name in kinds])
        last.write_to(ps.sinks.custom(sinks[kinds]), name=f"{chain.name}out")
    if changed:
        chain.source().group_by("key", "v").distinct("new").write_to(ps.sinks.noop(), name="new out")
    return chain.pipeline, sinks


def watermark(harness):
    """That of the last committed epoch, in ms."""
    checkpoint = Checkpoint(harness.folder / f"checkpoint-{harness.runs - 1}")
    return checkpoint.offsets(checkpoint.committed()).metadata["batchWatermarkMs"]


def check_all(rows, until):
    for kinds, own in rows.items():
        check(own, [KINDS[name] for name in kinds], until)


@pytest.mark.long
@pytest.mark.deep
def test_chains_of_several_stages_give_what_plain_python_gives(spark, tmp_path):
    harness = Harness(spark, tmp_path)
    pipeline, sinks = built(LONGER)
    harness.run(pipeline)
    check_all({kinds: sink.rows for kinds, sink in sinks.items()}, watermark(harness))


@pytest.mark.long
@pytest.mark.deep
def test_chains_of_several_stages_go_on_in_a_changed_job(spark, tmp_path):
    harness = Harness(spark, tmp_path)
    pipeline, before = built(LONGER)
    harness.run(pipeline, until=2 * STEP)
    pipeline, after = built(LONGER, changed=True)
    assert harness.run(pipeline, partitions=3).way == "rebuild"
    check_all({kinds: before[kinds].rows + after[kinds].rows for kinds in LONGER}, watermark(harness))


@pytest.mark.long
def test_windows_of_windows_by_their_start_are_windows_of_the_events(spark, tmp_path):
    sink, p, harness = Collected(), ps.Pipeline(), Harness(spark, tmp_path)
    rows = numbers(p, rows=ROWS, step=STEP, keys=KEYS)
    seconds = rows.group_by("key").window(ps.tumbling("1 second")).aggregate("seconds", n=ps.count(), total=ps.sum("v"))
    again = seconds.with_timestamps("window_start").group_by("key").window(ps.sliding("4 seconds", "2 seconds"))
    again.aggregate("again", n=ps.sum("n"), total=ps.sum("total")).write_to(ps.sinks.custom(sink), name="out")
    harness.run(p)
    until = max(millis(row.window_end) for row in sink.rows)
    assert until > watermark(harness) - 2000
    got = {(row.key, millis(row.window_start), millis(row.window_end)): (row.n, row.total) for row in sink.rows}
    assert len(got) == len(sink.rows)
    assert got == expected_windows(ROWS, KEYS, 4000, 2000, until)


@pytest.mark.long
def test_stages_behind_a_window_with_early_results_get_each_window_once_when_it_has_ended(spark, tmp_path):
    told, ended, p, harness = Collected(), Collected(), ps.Pipeline(), Harness(spark, tmp_path)
    rows = numbers(p, rows=ROWS, step=STEP, keys=KEYS)
    seconds = rows.group_by("key").window(ps.tumbling("1 second")).early_results(0.001)
    counted = seconds.aggregate("seconds", n=ps.count(), total=ps.sum("v"))
    counted.write_to(ps.sinks.custom(told), name="told")
    timed = counted.with_timestamps("window_end").group_by("key")
    again = timed.window(ps.tumbling("4 seconds")).aggregate("again", m=ps.count(), n=ps.sum("n"), early=ps.max("is_early"))
    again.write_to(ps.sinks.custom(ended), name="ended")
    harness.run(p)
    assert {row.is_early for row in told.rows} == {True, False}
    assert {row.early for row in ended.rows} == {False}
    whole = {(row.key, millis(row.window_end)): (row.m, row.n) for row in ended.rows}
    assert len(whole) == len(ended.rows) > KEYS
    # An end is the first moment of the next four seconds.
    every = expected_windows(ROWS, KEYS, 1000, 1000, max(end for _, end in whole))
    ends = [(key, end, n) for (key, _, end), (n, _) in every.items()]
    for (key, end), got in whole.items():
        found = [n for other, at, n in ends if other == key and end - 4000 <= at < end]
        assert got == (len(found), sum(found))


@pytest.mark.long
def test_windows_by_their_start_reach_what_follows_though_they_come_behind_the_watermark(spark, tmp_path):
    """Events come without a pause, so that windows stand open at the end of every epoch."""
    p, harness = ps.Pipeline(), Harness(spark, tmp_path)
    rows = numbers(p, rows=ROWS, step=STEP, keys=KEYS)
    windows = rows.group_by("key").window(ps.sliding("2 seconds", "1 second")).aggregate("windows", n=ps.count())
    timed = windows.with_timestamps("window_start").select("key", "window_start as ts", "n")
    twins = timed.select("key", "ts", "n", "explode(array(1, 2)) as twin")
    by_key = timed.group_by("key")
    behind = {
        "distinct": twins.group_by("key", "ts").distinct("distinct"),
        "rolling": by_key.rolling_aggregate("rolling", m=ps.count()),
        "own": by_key.map_stateful("own", lambda state, row: (row.ts, row.n), "last bigint", "ts timestamp, n bigint"),
    }
    sinks = {name: Collected() for name in behind}
    for name, stage in behind.items():
        stage.write_to(ps.sinks.custom(sinks[name]), name=f"{name}-out")
    harness.run(p)
    until = max(millis(row.ts) for row in sinks["own"].rows) + 2000
    assert until > watermark(harness) - 1000
    wanted = {(key, start): n for (key, start, _), (n, _) in expected_windows(ROWS, KEYS, 2000, 1000, until).items()}
    for name, sink in sinks.items():
        got = {(row.key, millis(row.ts)): row.n for row in sink.rows}
        assert len(got) == len(sink.rows), name
        assert got == wanted, name


@pytest.mark.long
def test_a_join_holds_the_watermark_back_for_what_follows_behind_functions_with_state(spark, tmp_path):
    """Pairs are found up to three seconds late, and the watermark is two seconds behind."""
    rows, within, size = 7_200, 3_000, 500
    sink, p, harness = Collected(), ps.Pipeline(), Harness(spark, tmp_path)
    numbered = numbers(p, rows=rows, step=450, keys=KEYS)
    left = numbered.filter("seq % 35 = 0").select("key", "ts")
    right = numbered.filter("seq % 203 = 7").select("key", "ts as at")
    pairs = left.join("pairs", right, on="key", within=within / 1000)
    so_far = pairs.group_by("key").rolling_aggregate("so-far", m=ps.count())
    counted = so_far.group_by("key").window(ps.tumbling(size / 1000)).aggregate("windows", n=ps.count())
    counted.write_to(ps.sinks.custom(sink), name="out")
    harness.run(p)
    happened = list(events(rows, KEYS))
    others = [(key, ms) for seq, key, _, ms in happened if seq % 203 == 7]
    found = [
        (key, ms) for seq, key, _, ms in happened if seq % 35 == 0 for k, at in others if k == key and abs(at - ms) <= within
    ]
    wanted = Counter((key, ms - ms % size + size) for key, ms in found)
    until = watermark(harness) - within
    assert len({end for _, end in wanted if end <= until}) > 3
    got = {(row.key, millis(row.window_end)): row.n for row in sink.rows}
    assert got == {at: n for at, n in wanted.items() if at[1] <= until}


@pytest.mark.long
def test_rows_that_have_lost_their_event_time_go_on_to_stages_that_need_none(spark, tmp_path):
    sink, p, harness = Collected(), ps.Pipeline(), Harness(spark, tmp_path)
    so_far = numbers(p, rows=ROWS, step=STEP, keys=KEYS).group_by("key").rolling_aggregate("so-far", n=ps.count())
    seen = so_far.select("key", "n % 10 as n").group_by("key", "n").distinct("seen")
    seen.write_to(ps.sinks.custom(sink), name="out")
    harness.run(p)
    assert sorted((row.key, row.n) for row in sink.rows) == [(key, n) for key in range(KEYS) for n in range(10)]


def refusal(first, second):
    """Why the second stage cannot stand behind the first, said where it is defined; None if it can."""
    chain = Chain()
    stage, began = chain.source(), time.perf_counter()
    try:
        follow(chain, stage, [FIRST[first], FIRST[second]])
    except PipelineError as error:
        assert time.perf_counter() - began < 0.1
        return str(error)
    return None


class Runs:
    """All chains that begin with one kind, through all legs: what they gave by the end of each, and its watermark."""

    def __init__(self, harness, chains):
        self._harness, self._chains = harness, chains
        self._rows = {kinds: [] for kinds in chains}
        self._legs, self._error = [], None

    def legs(self):
        """The legs that were run; the error of one that failed follows them."""
        if not self._legs and self._error is None:
            try:
                for leg in LEGS:
                    self._legs.append(self._run(leg))
            except Exception as error:
                self._error = error
        yield from self._legs
        if self._error is not None:
            raise self._error

    def _run(self, leg):
        # There is no more to read for a leg, so that none goes further than it is to.
        folder, until = self._harness.folder / "events", leg.read // STEP
        write_files(folder, until)
        pipeline, sinks = built(self._chains, leg.changed, FiledChain(folder))
        report = self._harness.run(pipeline, until=until, partitions=leg.partitions)
        assert (report.way if report else None) == leg.way
        self._rows = {kinds: [*own, *sinks[kinds].rows] for kinds, own in self._rows.items()}
        return leg, self._rows, watermark(self._harness)


INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""For queries of dozens of stages over a few hundred rows: to compile them would take longer than all else."""


@pytest.fixture(scope="module")
def runs(spark, tmp_path_factory, request):
    """The chains of the pairs that are to be tried: all, or those that ``-k`` has selected."""
    chosen = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    pairs = {(each["first"], each["second"]) for each in chosen if "first" in each}
    for name, value in INTERPRETED.items():
        spark.conf.set(name, value)

    @functools.cache
    def of(first):
        chains = [(first, second) for second in KINDS if (first, second) in pairs and refusal(first, second) is None]
        return Runs(LegsHarness(spark, tmp_path_factory.mktemp("runs")), chains)

    yield of
    for name in INTERPRETED:
        spark.conf.unset(name)


@pytest.mark.matrix
@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", FIRST)
def test_every_stage_follows_every_other(runs, first, second):
    said = refusal(first, second)
    if said is not None:
        assert first in STARTS
        assert "window_end" in said
        found[(first, second)] = REFUSED
        return
    for leg, rows, until in runs(first).legs():
        check(rows[(first, second)], [FIRST[first], FIRST[second]], until, leg.read)
        found[(first, second)] = (*found.get((first, second), ()), *leg.shows)


ALL = tuple(shown for leg in LEGS for shown in leg.shows)


def page(before):
    """The page after this run; ``before`` has the cells of pairs that it has not tried."""
    lines = [
        "# Stages with state behind one another",
        "",
        "A stage of the first kind is followed by one of the second. `make stage-chains` writes this page from test results:",
        "every pair runs on Spark, is stopped and goes on from its snapshot. It does so unchanged, and in jobs that have",
        "changed around it. The rows of all runs are compared with the result of plain Python for the same events. *all* means:",
        f"{'; '.join(ALL)}.",
        "",
        "*Refused* pairs would lose rows. Pitstop refuses them within a tenth of a second, where the second stage is defined.",
        "The sentence names both stages and the remedy: use the end of the window as the event time.",
        "",
        f"| first, then | {' | '.join(KINDS)} |",
        f"|---|{'---|' * len(KINDS)}",
    ]
    for first in FIRST:
        pairs = [(first, second) for second in KINDS]
        cells = [_cell(found[pair]) if pair in found else before.get(pair, "not tried") for pair in pairs]
        lines.append(f"| {first} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _told(text):
    """(first, second) -> its cell on the page."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    seconds = rows[0][1:] if rows else []
    return {(first, second): cell for first, *cells in rows[1:] for second, cell in zip(seconds, cells, strict=True)}


def _cell(shown):
    return "all" if shown == ALL else ", ".join(shown) or "not tried"


@pytest.fixture(autouse=True)
def page_so_far():
    """The page is written after each pair: a run that is cut off has shown something, too."""
    yield
    if found and os.environ.get("PITSTOP_WRITE_MATRIX"):
        PAGE.write_text(page(_told(PAGE.read_text())))


@pytest.mark.matrix
def test_every_pair_was_tried_and_every_change_shown():
    assert {pair: shown for pair, shown in found.items() if shown not in (ALL, REFUSED)} == {}
    assert len(found) == len(FIRST) * len(KINDS)
