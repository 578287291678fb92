"""Saved state is put back from an older copy, and its outputs are not: other rows are never taken for those that are there."""

import json
import shutil
from collections import Counter

import pytest

import pitstop as ps
from pitstop.errors import OtherEpochError
from pitstop.kit.waiting import wait_until
from tests.maps import map_store
from tests.spark.harness import Harness, numbers

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

COPIED, ALL, KEYS = 1_000, 2_000, 10


class Told:
    """A sink that reads all rows, and notes the digests of its epochs."""

    def __init__(self):
        self.digests = {}

    def write(self, rows, info):
        rows.count()
        self.digests.setdefault(info.epoch, set()).add(info.digest)


def pipeline(folder, told, rows, step, sinks):
    p = ps.Pipeline()
    read = numbers(p, rows=rows, step=step, keys=KEYS)
    if "files" in sinks:
        read.select("seq").write_to(ps.sinks.files(folder / "out", format="json"), name="files")
    if "map" in sinks:
        counted = read.group_by("key").rolling_aggregate("counted", n=ps.count())
        counted.write_to(ps.sinks.map("counts", key="key", value="n", merge=lambda old, new: (old or 0) + 1), name="map")
    read.write_to(ps.sinks.custom(told), name="told")
    return p


def go_on(harness, checkpoint, rows, step, told, sinks):
    """Run until all rows are read, or the query fails; why it did."""
    running = harness.start(pipeline(harness.folder, told, rows, step, sinks), checkpoint, 2)

    def ended():
        epoch = running.checkpoint.committed()
        read = epoch >= 0 and f'"seq":{rows}' in (running.checkpoint.offsets(epoch).offsets[0] or "").replace(" ", "")
        return read or not running.active

    assert wait_until(ended, 120)
    failure = running.failure()
    if failure is None:
        running.stop(60)
    elif failure.details.get("away"):  # the machine is too busy: a run of a job is started again, too
        return go_on(harness, checkpoint, rows, step, told, sinks)
    return failure


def written(folder):
    return Counter(json.loads(line)["seq"] for file in (folder / "out").glob("*.json") for line in file.open())


@pytest.mark.long
@pytest.mark.parametrize("sinks", ["files", pytest.param("map", marks=pytest.mark.long)])
def test_other_epochs_under_the_same_numbers_stop_the_job_and_the_same_ones_are_left_alone(spark, tmp_path, sinks):
    """Rows under those numbers were once "written already": they never came."""
    harness, told = Harness(spark, tmp_path, maps=map_store(tmp_path)), Told()
    state = tmp_path / "checkpoint"
    assert go_on(harness, state, COPIED, 500, told, sinks) is None
    for copy in ("other", "same"):
        shutil.copytree(state, tmp_path / copy)
    assert go_on(harness, state, ALL, 500, told, sinks) is None

    failure = go_on(harness, tmp_path / "other", ALL, 250, Told(), sinks)
    assert isinstance(failure, OtherEpochError), failure
    assert "does not belong to this job's saved state" in failure.message

    if sinks == "files":
        assert go_on(harness, tmp_path / "same", ALL, 500, told, sinks) is None
        assert written(tmp_path) == Counter(range(ALL))
    else:  # of its epochs a map knows the last one alone
        merged = {entry.key: json.loads(entry.value) for entry in harness.maps.entries("counts")}
        assert merged == {str(key): count for key, count in Counter(seq * 7919 % KEYS for seq in range(ALL)).items()}
    assert [len(digests) for digests in told.digests.values()] == [1] * len(told.digests), "an epoch has one digest"
    assert len(set.union(*told.digests.values())) == len(told.digests), "and each its own"
