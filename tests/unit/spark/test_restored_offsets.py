"""A restored checkpoint goes on from the saved offsets and watermark."""

import dataclasses
import json

import pytest

from pitstop.model.layout import StageKind
from pitstop.model.snapshot import SnapshotManifest
from pitstop.plan.model import Plan, PlanStage, SourceSlot
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint, EpochOfBefore, OffsetLog
from pitstop.spark.restoring.offsets import pretend_to_have_run, take_over_file_logs, take_over_offsets, take_over_unfinished
from pitstop.spark.restoring.saved_snapshot import SavedSnapshot

EPOCH = 7
SLOTS = (SourceSlot("orders", "sums", 0), SourceSlot("stock", "", 1))


@pytest.fixture
def saved(tmp_path):
    """A snapshot of epoch 7, whose two sources are ``orders``, read for the stage sums, and ``stock``."""
    folder = tmp_path / "snapshot"
    metadata = {"batchWatermarkMs": 5000, "batchTimestampMs": 9000, "conf": {"saved": "1"}}
    Checkpoint(folder / manifests.FILES).write_offsets(EPOCH, OffsetLog(metadata, ('{"o":7}', '{"s":7}')))
    manifest = SnapshotManifest(
        name="saved",
        job_id="id",
        job_name="job",
        lineage="l",
        epoch=EPOCH,
        created=0.0,
        watermark_ms=6000,
        plan=Plan((), source_slots=SLOTS).to_dict(),
        partitions=4,
        provider="",
        offsets={"orders": {"sums": '{"o":7}'}, "stock": {"": '{"s":7}'}},
        stages={},
        versions={},
    )
    return SavedSnapshot(folder, manifest)


@pytest.fixture
def laid_down(tmp_path):
    """A checkpoint that has done epoch 0 without a row."""
    checkpoint = Checkpoint(tmp_path / "new")
    metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": {"new": "1"}}
    checkpoint.write_offsets(0, OffsetLog(metadata, ("empty", "empty", "empty")))
    checkpoint.write_commit(0, 0)
    return checkpoint


def epochs(checkpoint, folder):
    return sorted(int(path.name) for path in (checkpoint.path / folder).iterdir())


def test_it_has_done_the_last_two_epochs_and_knows_the_next_ones_watermark(laid_down):
    pretend_to_have_run(laid_down, EPOCH, 6000)
    assert epochs(laid_down, "offsets") == epochs(laid_down, "commits") == [EPOCH - 1, EPOCH]
    assert laid_down.next_watermark(EPOCH) == 6000


def test_of_epoch_0_there_is_none_before(laid_down):
    pretend_to_have_run(laid_down, 0, 6000)
    assert epochs(laid_down, "offsets") == [0]


def test_sources_go_on_where_they_were_in_the_new_order_and_the_epoch_keeps_its_watermark(saved, laid_down):
    pretend_to_have_run(laid_down, EPOCH, 6000)
    slots = (SourceSlot("stock", "", 0), SourceSlot("bills", "sums", 1), SourceSlot("new", "", 2))
    take_over_offsets(saved, slots, laid_down, EPOCH, {"bills": "orders"})
    for number in (EPOCH - 1, EPOCH):
        log = laid_down.offsets(number)
        assert log.offsets == ('{"s":7}', '{"o":7}', None)
        assert log.metadata == {"batchWatermarkMs": 5000, "batchTimestampMs": 9000, "conf": {"new": "1"}}


def test_a_new_reader_of_a_known_source_goes_on_where_another_one_was(saved, laid_down):
    take_over_offsets(saved, (SourceSlot("orders", "other", 0),), laid_down, 0, {})
    assert laid_down.offsets(0).offsets == ('{"o":7}',)


def test_what_is_planned_beyond_the_saved_epoch_is_forgotten(saved, laid_down):
    laid_down.write_offsets(1, laid_down.offsets(0))
    take_over_offsets(saved, SLOTS, laid_down, 0, {})
    assert laid_down.planned() == 0


def test_logs_of_file_sources_go_to_their_new_numbers(saved, laid_down):
    for number, name in ((0, "orders"), (1, "stock")):
        folder = saved.checkpoint.path / "sources" / str(number)
        folder.mkdir(parents=True)
        (folder / "0").write_text(name)
    plan = Plan((), source_slots=(SourceSlot("stock", "", 0), SourceSlot("bills", "", 1), SourceSlot("new", "", 2)))
    take_over_file_logs(saved, plan, laid_down.path, {"bills": "orders"})
    logs = {path.parent.name: path.read_text() for path in (laid_down.path / "sources").glob("*/0")}
    assert logs == {"0": "stock", "1": "orders"}


@pytest.mark.parametrize(
    ("before", "after", "read", "known"),
    [
        ("/data/in/", "/mount/in/", "/data/in/a.csv", "/mount/in/a.csv"),
        ("/data/2024/", "/data/", "/data/2024/a.csv", "/data/2024/a.csv"),
        ("/data/", "/data/day=1/", "/data/day=1/a.csv", "/data/day=1/a.csv"),
        ("/data/day%3D1/", "/data/day=1/", "/data/day=1/a.csv", "/data/day=1/a.csv"),
        ("/Stra%C3%9Fe%2C%20day%3D1/", "/mount/day=1/", "/Straße,%20day=1/a%20+%20b.csv", "/mount/day=1/a%20+%20b.csv"),
    ],
    ids=["moved", "widened", "narrowed", "quoted otherwise", "moved, as quoted otherwise"],
)
def test_what_was_read_of_a_folder_is_known_below_another_one_if_it_was_moved_there(saved, laid_down, before, after, read, known):
    def plan(folder):
        stage = PlanStage("orders", StageKind.SOURCE, "source", (), "files", folder=f"file://{folder}")
        return Plan((stage,), source_slots=(SourceSlot("orders", "", 0),))

    log = saved.checkpoint.path / "sources" / "0"
    log.mkdir(parents=True)
    (log / "0").write_text("v1\n" + json.dumps({"path": f"file://{read}", "timestamp": 1, "batchId": 0}))
    was = dataclasses.replace(saved, manifest=dataclasses.replace(saved.manifest, plan=plan(before).to_dict()))
    take_over_file_logs(was, plan(after), laid_down.path, {})
    _, entry = (laid_down.path / "sources" / "0" / "0").read_text().splitlines()
    assert json.loads(entry)["path"] == f"file://{known}"


@pytest.mark.parametrize(("unfinished", "kept"), [(None, 3), (4, 4)], ids=["planned anew", "planned as it was"])
def test_a_log_names_no_files_of_an_epoch_that_is_planned_anew(saved, laid_down, unfinished, kept):
    def entry(number):
        return json.dumps({"path": f"file:///in/{number}", "timestamp": 1, "batchId": number})

    log = saved.checkpoint.path / "sources" / "0"
    log.mkdir(parents=True)
    (log / "2").write_text("\n".join(["v1", entry(2)]))
    (log / "4.compact").write_text("\n".join(["v1", *map(entry, range(5))]))
    (log / "5").write_text("\n".join(["v1", entry(5)]))
    offsets = {"orders": {"a": '{"logOffset":2}', "b": '{"logOffset":3}'}}
    later = None if unfinished is None else {"offsets": {"orders": {"a": json.dumps({"logOffset": unfinished})}}}
    manifest = dataclasses.replace(saved.manifest, offsets=offsets, unfinished=later)
    take_over_file_logs(dataclasses.replace(saved, manifest=manifest), Plan((), source_slots=SLOTS), laid_down.path, {})
    copy = laid_down.path / "sources" / "0"
    assert sorted(path.name for path in copy.iterdir()) == ["2", "4.compact"]
    _, *entries = (copy / "4.compact").read_text().splitlines()
    assert [json.loads(each)["batchId"] for each in entries] == list(range(kept + 1))


def test_a_source_that_is_put_elsewhere_goes_on_there_and_has_no_part_in_the_epoch_that_was_cut_off(saved, laid_down):
    unfinished = {
        "known_as": [["l", EPOCH + 1]],
        "offsets": {"orders": {"sums": '{"o":9}'}, "stock": {"": '{"s":9}'}},
        "metadata": {"batchWatermarkMs": 6000, "batchTimestampMs": 9900},
        "digest": "d",
    }
    saved = SavedSnapshot(saved.folder, dataclasses.replace(saved.manifest, unfinished=unfinished))
    pretend_to_have_run(laid_down, EPOCH, 6000)
    sought = {"orders": '{"o":3}'}
    take_over_offsets(saved, SLOTS, laid_down, EPOCH, {}, sought)
    take_over_unfinished(saved, SLOTS, laid_down, EPOCH, {}, sought)
    places = {number: laid_down.offsets(number).offsets for number in (EPOCH - 1, EPOCH, EPOCH + 1)}
    assert places == {
        EPOCH - 1: ('{"o":3}', '{"s":7}'),
        EPOCH: ('{"o":3}', '{"s":7}'),
        EPOCH + 1: ('{"o":3}', '{"s":9}'),
    }
    assert laid_down.epoch_of_before() == EpochOfBefore(EPOCH + 1, (("l", EPOCH + 1),), "d")
