"""An epoch's digest says what it reads: it stays when the epoch is run again, and another epoch has another one."""

import json

import pytest

from pitstop.snapshots.checkpoint import Checkpoint, EpochOfBefore, OffsetLog
from pitstop.snapshots.epoch_digest import EpochDigests, digest_of


def plan(*slots):
    return {"source_slots": [list(slot) for slot in slots]}


@pytest.fixture
def checkpoint(tmp_path):
    made = Checkpoint(tmp_path)
    made.write_facts({"lineage": "l", "plan": plan(("in", "", 0)), "sources": [["in", ""]]})
    return made


def planned(checkpoint, epoch, *offsets, watermark=0, at=1):
    metadata = {"batchWatermarkMs": watermark, "batchTimestampMs": at, "conf": {}}
    checkpoint.write_offsets(epoch, OffsetLog(metadata, offsets))
    return digest_of(checkpoint, epoch)


def test_it_depends_on_where_the_epoch_begins_and_ends_and_on_its_watermark(checkpoint):
    planned(checkpoint, 1, '{"n":10}')
    first = planned(checkpoint, 2, '{"n":20}')
    assert planned(checkpoint, 2, '{"n":20}', at=99) == first, "planned again, at another time"
    others = [planned(checkpoint, 2, '{"n":21}'), planned(checkpoint, 2, '{"n":20}', watermark=5)]
    planned(checkpoint, 1, '{"n":11}')
    others.append(planned(checkpoint, 2, '{"n":20}'))
    assert len({first, *others}) == 4


def test_the_first_epoch_has_one(checkpoint):
    assert planned(checkpoint, 0, None) != planned(checkpoint, 0, '{"n":1}')


def entry(part, path):
    return json.dumps({"path": path, "timestamp": 1, "batchId": part}, separators=(",", ":"))


def log(checkpoint, relation, name, *entries):
    path = checkpoint.path / "sources" / str(relation) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["v1", *entries]))


def test_of_a_source_of_files_it_depends_on_the_files(checkpoint):
    """Its offset is a mere number, which other files get where the folder was put back."""
    log(checkpoint, 0, "3", entry(3, "a"))
    log(checkpoint, 0, "4", entry(4, "b"))
    planned(checkpoint, 1, '{"logOffset":2}')
    first = planned(checkpoint, 2, '{"logOffset":4}')
    log(checkpoint, 0, "5", entry(5, "z"))
    assert digest_of(checkpoint, 2) == first, "what comes later is none of it"
    log(checkpoint, 0, "4", entry(4, "c"))
    assert digest_of(checkpoint, 2) != first


def test_it_stays_when_spark_puts_several_parts_of_a_log_into_one_file(checkpoint):
    for part in range(6, 10):
        log(checkpoint, 0, str(part), entry(part, f"f{part}"), entry(part, f"g{part}"))
    planned(checkpoint, 1, '{"logOffset":6}')
    first = planned(checkpoint, 2, '{"logOffset":8}')
    log(checkpoint, 0, "9.compact", *(entry(part, f"{name}{part}") for part in range(10) for name in "fg"))
    for part in range(6, 10):
        (checkpoint.path / "sources/0" / str(part)).unlink()
    assert digest_of(checkpoint, 2) == first


def test_each_reader_has_the_log_of_its_own_relation(checkpoint):
    checkpoint.write_facts({"lineage": "l", "plan": plan(("a", "", 1), ("b", "", 0))})
    log(checkpoint, 0, "0", entry(0, "of b"))
    log(checkpoint, 1, "0", entry(0, "of a"))
    first = planned(checkpoint, 0, '{"logOffset":0}', None)
    log(checkpoint, 0, "0", entry(0, "another of b"))
    assert digest_of(checkpoint, 0) == first
    log(checkpoint, 1, "0", entry(0, "another of a"))
    assert digest_of(checkpoint, 0) != first


def test_an_epoch_that_a_version_before_has_begun_keeps_its_digest(checkpoint):
    planned(checkpoint, 5, '{"n":10}')
    checkpoint.begin_with(EpochOfBefore(5, (("L1", 7),), "as it was"))
    assert digest_of(checkpoint, 5) == "as it was"
    checkpoint.begin_with(EpochOfBefore(5, (("L1", 7),)))
    assert checkpoint.epoch_of_before() == EpochOfBefore(5, (("L1", 7),), None), "of a release that knew none"
    assert digest_of(checkpoint, 5) is None
    assert planned(checkpoint, 6, '{"n":11}')


def test_it_is_handed_on_with_an_epoch_that_a_run_ended_within(checkpoint):
    planned(checkpoint, 0, '{"n":1}')
    checkpoint.write_commit(0, 0)
    digest = planned(checkpoint, 1, '{"n":2}')
    checkpoint.begin_writing(1)
    assert checkpoint.unfinished()["digest"] == digest
    checkpoint.begin_with(EpochOfBefore(1, (("L1", 7),), "as it was"))
    assert checkpoint.unfinished()["digest"] == "as it was"


def test_it_is_computed_once_an_epoch(checkpoint):
    digests = EpochDigests(checkpoint)
    first = planned(checkpoint, 0, '{"n":1}')
    assert digests.of(0) == first
    planned(checkpoint, 1, '{"n":2}')
    assert digests.of(1) != first
    (checkpoint.path / "offsets" / "1").unlink()
    assert digests.of(1) != first
