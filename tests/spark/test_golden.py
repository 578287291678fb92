"""Snapshots that were written once are read for ever: a stage of every kind, of each format that there has been."""

import json
import pkgutil
import tarfile

import pytest

import pitstop as ps
from pitstop.model.snapshot import MANIFEST_VERSION
from pitstop.plan import kinds
from pitstop.plan.diff import Way
from pitstop.plan.model import Plan
from pitstop.snapshots import manifest as manifests
from tests.spark.golden import CHECKS, golden_file, pipeline, plain_rows
from tests.spark.harness import Harness

pytestmark = [pytest.mark.spark, pytest.mark.rules]


@pytest.fixture(params=range(1, MANIFEST_VERSION + 1))
def golden(request, spark, tmp_path):
    """(harness whose last snapshot is the golden one, rows that its job had written)."""
    with tarfile.open(golden_file(request.param)) as archive:
        archive.extractall(tmp_path / "golden", filter="data")
    (tmp_path / "snapshots").mkdir()
    (tmp_path / "golden" / "saved").rename(tmp_path / "snapshots" / "saved")
    harness = Harness(spark, tmp_path)
    harness.runs = 1
    return harness, json.loads((tmp_path / "golden" / "outputs.json").read_text())


def fresh(numbers):
    return numbers.group_by("key").window(ps.tumbling(1)).aggregate("fresh", n=ps.count())


def test_it_holds_a_stage_of_every_kind_and_every_file_is_whole(golden):
    folder = golden[0].folder / "snapshots" / "saved"
    manifest = manifests.read(folder)
    manifests.verify(folder, manifest, "job")
    assert {layout.kind for layout in Plan.from_dict(manifest.plan).stateful.values()} == {
        module.name for module in pkgutil.iter_modules(kinds.__path__)
    }


@pytest.mark.parametrize(
    ("more", "partitions", "way"), [(None, None, Way.REBUILD), (fresh, 3, Way.REBUILD)], ids=["same", "changed"]
)
def test_a_job_goes_on_from_it(golden, more, partitions, way):
    harness, before = golden
    sinks = {}
    assert harness.run(pipeline(sinks, more), partitions=partitions).way is way
    for name, check in CHECKS.items():
        got, expected = check(before[name] + plain_rows(sinks[name]))
        assert got == expected, name
        assert plain_rows(sinks[name]) or name in ("distinct", "within", "own")
