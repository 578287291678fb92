"""Which state moves and which is fed is decided before anything is done."""

import pytest

from pitstop.errors import IncompatibleError
from pitstop.model.layout import StageKind, StateLayout
from pitstop.model.report import Report, StageVerdict, Verdict, Way
from pitstop.model.snapshot import SnapshotManifest
from pitstop.plan.model import OperatorSlot, Plan, PlanStage
from pitstop.spark.internals.settings import IN_MEMORY, ROCKSDB
from pitstop.spark.restoring.rebuild import plan_rebuild


def plan(*operators, **kinds):
    """A plan with these operators, (stage, role, copy) each, and the kinds of the stages with state."""
    stages = tuple(
        PlanStage(name, kind, "op", (), "", layout=None if kind is StageKind.SOURCE else StateLayout(kind))
        for name, kind in kinds.items()
    )
    return Plan(stages, tuple(OperatorSlot(*slot) for slot in operators))


def manifest(saved, provider=ROCKSDB, partitions=4):
    return SnapshotManifest(
        name="saved",
        job_id="id",
        job_name="job",
        lineage="l",
        epoch=7,
        created=0.0,
        watermark_ms=None,
        plan=saved.to_dict(),
        partitions=partitions,
        provider=provider,
        offsets={},
        stages={},
        versions={},
    )


def report(renamed=None, **verdicts):
    lines = tuple(StageVerdict(stage, verdict, "") for stage, verdict in verdicts.items())
    return Report(lines, Way.REBUILD, renamed=renamed or {})


SAVED = plan(("total", "frames"), ("seen", "seen"), total=StageKind.WINDOW, seen=StageKind.DISTINCT)
NEW = plan(
    ("seen", "seen", 0),
    ("seen", "seen", 1),
    ("totals", "frames", 0),
    ("fresh", "frames", 0),
    src=StageKind.SOURCE,
    seen=StageKind.DISTINCT,
    totals=StageKind.WINDOW,
    fresh=StageKind.WINDOW,
)
KEPT = report({"totals": "total"}, src=Verdict.RESTORED, seen=Verdict.RESTORED, totals=Verdict.RESTORED, fresh=Verdict.NEW)


def test_unchanged_state_moves_to_each_new_operator_of_its_stage_and_role_also_under_another_name():
    found = plan_rebuild(KEPT, manifest(SAVED), NEW, ROCKSDB, 4)
    assert (found.moved, found.fed, found.by_files) == ({0: 1, 1: 1, 2: 0}, (), True)


def test_into_another_number_of_partitions_it_moves_by_rows():
    found = plan_rebuild(KEPT, manifest(SAVED), NEW, ROCKSDB, 8)
    assert (found.moved, found.by_files) == ({0: 1, 1: 1, 2: 0}, False)


def test_state_in_another_form_is_fed_and_does_not_move():
    changed = report(seen=Verdict.RESTORED, totals=Verdict.CONVERTED, renamed={"totals": "total"})
    found = plan_rebuild(changed, manifest(SAVED), NEW, ROCKSDB, 4)
    assert (found.moved, found.fed) == ({0: 1, 1: 1}, ("totals",))


@pytest.mark.parametrize(
    ("saved_in", "kept_in", "partitions", "fed"),
    [
        (IN_MEMORY, IN_MEMORY, 4, ()),
        (IN_MEMORY, IN_MEMORY, 8, ("w",)),
        (IN_MEMORY, ROCKSDB, 4, ("w",)),
        (ROCKSDB, IN_MEMORY, 4, ("w",)),
        (ROCKSDB, ROCKSDB, 8, ()),
    ],
)
def test_what_no_store_can_move_is_fed(saved_in, kept_in, partitions, fed):
    one = plan(("w", "frames"), w=StageKind.WINDOW)
    found = plan_rebuild(report(w=Verdict.RESTORED), manifest(one, saved_in), one, kept_in, partitions)
    assert (found.fed, found.moved) == (fed, {} if fed else {0: 0})


def test_state_that_can_neither_move_nor_be_fed_is_refused_by_its_stage():
    one = plan(("seen", "seen"), seen=StageKind.DISTINCT)
    with pytest.raises(IncompatibleError, match="stage 'seen' was kept in RocksDB"):
        plan_rebuild(report(seen=Verdict.RESTORED), manifest(one), one, IN_MEMORY, 4)


def test_all_state_is_fed_when_it_is_asked_for():
    one = plan(("w", "frames"), w=StageKind.WINDOW)
    found = plan_rebuild(report(w=Verdict.RESTORED), manifest(one), one, ROCKSDB, 4, feed_all=True)
    assert (found.moved, found.fed) == ({}, ("w",))
