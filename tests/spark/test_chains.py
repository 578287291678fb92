"""Every stage with state behind every other, in one run and across a change of the job, against plain Python.

docs/stage-chains.md says what was found: ``make stage-chains`` writes it.
"""

import functools
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

import pitstop as ps
from pitstop.snapshots.checkpoint import Checkpoint
from tests.spark.chains import KEYS, KINDS, ROWS, STEP, Chain, check, follow
from tests.spark.harness import Collected, Harness, numbers
from tests.spark.sequence import expected_windows, millis

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

PAGE = Path(__file__).parents[2] / "docs" / "stage-chains.md"
CHANGES = {
    "run": "in one run",
    "resumed": "resumed unchanged",
    "before": "a stage with state comes before both",
    "reversed": "in reverse order, another stage beside",
    "partitions": "2 partitions become 3",
}
LONGER = [
    ("window", "rolling aggregate", "window"),
    ("rolling aggregate", "state of one's own", "session"),
    ("session", "rolling aggregate", "session", "session"),
    ("join", "window", "state with time to live", "distinct within"),
    ("state with time to live", "join", "rolling aggregate", "sliding window"),
]
"""Chains of more than two."""
found: dict[tuple[str, str, str], str] = {}


def built(chains, change="run"):
    """A job with these chains, each to a sink of its own; a change keeps the names of their stages."""
    chain, sinks = Chain(), {kinds: Collected() for kinds in chains}
    for kinds in reversed(chains) if change == "reversed" else chains:
        chain.name, chain.count = f"{chains.index(kinds)} ", 100
        stage = follow(chain, chain.source(), [KINDS["distinct"]]) if change == "before" else chain.source()
        chain.count = 0
        last = follow(chain, stage, [KINDS[name] for name in kinds])
        last.write_to(ps.sinks.custom(sinks[kinds]), name=f"{chain.name}out")
    if change == "reversed":
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
def test_chains_of_several_stages_give_what_plain_python_gives(spark, tmp_path):
    harness = Harness(spark, tmp_path)
    pipeline, sinks = built(LONGER)
    harness.run(pipeline)
    check_all({kinds: sink.rows for kinds, sink in sinks.items()}, watermark(harness))


@pytest.mark.long
def test_chains_of_several_stages_go_on_in_a_changed_job(spark, tmp_path):
    harness = Harness(spark, tmp_path)
    pipeline, before = built(LONGER)
    harness.run(pipeline, until=2 * STEP)
    pipeline, after = built(LONGER, "reversed")
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
def test_rows_that_have_lost_their_event_time_go_on_to_stages_that_need_none(spark, tmp_path):
    sink, p, harness = Collected(), ps.Pipeline(), Harness(spark, tmp_path)
    so_far = numbers(p, rows=ROWS, step=STEP, keys=KEYS).group_by("key").rolling_aggregate("so-far", n=ps.count())
    seen = so_far.select("key", "n % 10 as n").group_by("key", "n").distinct("seen")
    seen.write_to(ps.sinks.custom(sink), name="out")
    harness.run(p)
    assert sorted((row.key, row.n) for row in sink.rows) == [(key, n) for key in range(KEYS) for n in range(10)]


@pytest.fixture(scope="module")
def runs(spark, tmp_path_factory):
    """All chains that begin with one kind, and what became of them in a change."""

    @functools.cache
    def first(kind):
        folder = tmp_path_factory.mktemp("first")
        pipeline, sinks = built([(kind, second) for second in KINDS])
        Harness(spark, folder).run(pipeline, until=2 * STEP)
        return SimpleNamespace(folder=folder, sinks=sinks)

    @functools.cache
    def changed(kind, change):
        folder, chains = tmp_path_factory.mktemp(change), [(kind, second) for second in KINDS]
        one = first(kind) if change != "run" else None
        harness = Harness.following(spark, folder, one.folder) if one else Harness(spark, folder)
        pipeline, sinks = built(chains, change)
        harness.run(pipeline, partitions=3 if change == "partitions" else None)
        rows = {kinds: [*(one.sinks[kinds].rows if one else ()), *sink.rows] for kinds, sink in sinks.items()}
        return SimpleNamespace(rows=rows, watermark=watermark(harness))

    return changed


@pytest.mark.matrix
@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("first", KINDS)
def test_every_stage_follows_every_other(runs, first, change, second):
    run = runs(first, change)
    check(run.rows[(first, second)], [KINDS[first], KINDS[second]], run.watermark)
    found[(first, second, change)] = "yes"


def page():
    lines = [
        "# Stages with state behind one another",
        "",
        "A stage of the first kind, and behind it one of the second. `make stage-chains` writes this page from what it finds:",
        "every pair runs on Spark in one run; and it is stopped in the middle and goes on from its snapshot in a job that has",
        "changed. The rows of all runs are compared with what plain Python makes of the same events. *all* means:",
        f"{'; '.join(CHANGES.values())}.",
        "",
        f"| first, then | {' | '.join(KINDS)} |",
        f"|---|{'---|' * len(KINDS)}",
    ]
    for first in KINDS:
        lines.append(f"| {first} | {' | '.join(_cell(first, second) for second in KINDS)} |")
    return "\n".join([*lines, ""])


def _cell(first, second):
    held = [shown for change, shown in CHANGES.items() if (first, second, change) in found]
    return "all" if len(held) == len(CHANGES) else ", ".join(held) or "not tried"


@pytest.mark.matrix
def test_the_page_says_what_was_found():
    if os.environ.get("PITSTOP_WRITE_MATRIX"):
        PAGE.write_text(page())
    assert len(found) == len(KINDS) ** 2 * len(CHANGES)
