"""Every kind of operator with state against every change around it: version 1 runs and leaves a snapshot, version 2 goes on
from it, and the rows of both are those that plain Python makes of the same events; or version 2 is refused in a sentence.

The kinds of a group run in one job. docs/support-matrix.md says what was found: ``make support-matrix`` writes it.
"""

import functools
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from pitstop.errors import IncompatibleError, PipelineError
from pitstop.spark.lowering.compile import compile_pipeline
from tests.spark.kinds import CUT, FILES, KINDS, REFUSED, STEP, FileHarness, Job, write_files

pytestmark = [pytest.mark.spark, pytest.mark.matrix]

PAGE = Path(__file__).parents[2] / "docs" / "support-matrix.md"
CHANGES = {
    "unchanged": "resumed unchanged",
    "moved": "moved behind a new stateful stage, in reverse order",
    "upstream": "a new stateful stage before it",
    "added": "a stateful stage added beside",
    "removed": "a stateful stage beside removed",
    "partitions": "2 partitions become 3",
}
found: dict[tuple[str, str], str] = {}


def built(folder, group, change):
    """A version of the job of a group. ``idle`` never has a row: its state is empty."""
    job = Job(folder)
    job.upstream = change == "upstream"
    if change == "moved":
        job.to(job.source("numbers").group_by("key", "v").distinct("new"), "new")
    kinds = [kind for kind in KINDS if kind.group == group]
    for kind in reversed(kinds) if change == "moved" else kinds:
        job.to(kind.add(job), kind.name)
    if change != "removed":
        job.to(job.source("numbers").filter("seq < 0").group_by("seq").distinct("idle"), "idle")
    if change == "added":
        job.to(job.source("numbers").group_by("key", "v").distinct("new"), "new")
    return job


@pytest.fixture(scope="module")
def runs(spark, tmp_path_factory):
    """Run version 1 of a group; then a change of it. Each once."""

    @functools.cache
    def first(group):
        folder = tmp_path_factory.mktemp("first")
        job = built(folder / "events", group, "first")
        write_files(folder / "events", 0, CUT // STEP)
        FileHarness(spark, folder).run(job.pipeline, until=CUT // STEP)
        write_files(folder / "events", CUT // STEP, FILES)
        # The snapshot must do without the checkpoint that it was made of.
        shutil.rmtree(folder / "checkpoint-0")
        return SimpleNamespace(folder=folder, job=job)

    @functools.cache
    def second(group, change):
        one = first(group)
        job = built(one.folder / "events", group, change)
        folder = tmp_path_factory.mktemp("second")
        shutil.copytree(one.folder / "snapshots", folder / "snapshots")
        harness = FileHarness(spark, folder)
        harness.runs = 1
        error = None
        try:
            harness.run(job.pipeline, until=FILES, partitions=3 if change == "partitions" else None)
        except Exception as failed:
            error = failed
        return SimpleNamespace(one=one.job, job=job, error=error, folder=folder)

    return second


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.group != "limit"], ids=lambda kind: kind.name)
def test_state_goes_on(runs, kind, change):
    run = runs(kind.group, change)
    if run.error is not None:
        raise run.error
    after = run.job.sinks[kind.name].rows
    assert after
    kind.check(run.one.sinks[kind.name].rows + after)
    found[(kind.name, change)] = "restored"


@pytest.mark.parametrize("change", CHANGES)
def test_a_limit_goes_on_in_an_unchanged_plan_and_is_refused_in_another(runs, change):
    kind = next(kind for kind in KINDS if kind.group == "limit")
    if change == "unchanged":
        return test_state_goes_on(runs, kind, change)
    run = runs("limit", change)
    assert isinstance(run.error, IncompatibleError)
    detail = (
        "has a limit, whose state Spark can go on with only while all stateful stages and partitions stay as they are: "
        "leave them, or give it another name to start it empty"
    )
    assert str(run.error) == f"Snapshot 'saved' does not fit the pipeline: stage 'limit' {detail} [C20]."
    assert not (run.folder / "checkpoint-1").exists()
    found[(kind.name, change)] = f"refused: {detail}"


@pytest.mark.parametrize("name", REFUSED)
def test_what_append_mode_cannot_run_is_refused_before_there_is_any_state(spark, tmp_path, name):
    job = Job(tmp_path)
    job.to(job.source().stateful("mine", REFUSED[name]), "out")
    with pytest.raises(PipelineError) as caught:
        compile_pipeline(spark, job.pipeline)
    said = str(caught.value)
    assert said.startswith("Stage 'mine' (")
    assert "\n" not in said
    reason = said.split("): ", 1)[1]
    found.update({(name, change): f"refused: {reason}" for change in CHANGES})


def page():
    kinds = [*(kind.name for kind in KINDS), *REFUSED]
    notes = list(dict.fromkeys(what for what in found.values() if what != "restored"))
    lines = [
        "# Spark's own stateful operators",
        "",
        "This page shows what becomes of their state in `Stage.stateful(name, function)` when a job goes on from a snapshot of",
        "its previous version. `make support-matrix` writes it from test results. Version 1 and version 2 run on Spark, and the",
        "rows of both are compared with the result of plain Python for the same events.",
        "",
        f"| operator | {' | '.join(CHANGES.values())} |",
        f"|---|{'---|' * len(CHANGES)}",
    ]
    for kind in kinds:
        cells = [found[(kind, change)] for change in CHANGES]
        shown = [cell if cell == "restored" else f"refused ({notes.index(cell) + 1})" for cell in cells]
        lines.append(f"| {kind} | {' | '.join(shown)} |")
    lines += ["", *(f"{number}. {note}" for number, note in enumerate(notes, 1)), ""]
    return "\n".join(lines)


def test_the_page_says_what_was_found():
    missing = [
        (kind, change) for kind in [*(k.name for k in KINDS), *REFUSED] for change in CHANGES if (kind, change) not in found
    ]
    assert not missing
    if os.environ.get("PITSTOP_WRITE_MATRIX"):
        PAGE.write_text(page())
    said = PAGE.read_text() if PAGE.exists() else ""
    assert said == page(), "docs/support-matrix.md is not what was found: run make support-matrix"
