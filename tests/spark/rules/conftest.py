"""Version 1 is run once, with a stage of every kind; each rule changes what it is about."""

from types import SimpleNamespace

import pytest

import pitstop as ps
from pitstop.snapshots.checkpoint import Checkpoint
from tests.spark.harness import Harness
from tests.spark.rules.versions import CUT, SLIDING, Job, mapped, session, tell, window


@pytest.fixture(scope="session")
def one(spark, tmp_path_factory):
    """Version 1, its sinks, and the folder of its snapshot."""
    folder = tmp_path_factory.mktemp("one")
    job = Job()
    window(job, "speed")
    window(job, "trend", SLIDING)
    window(job, "best", low=ps.min_by("seq", "v"), n=ps.count())
    session(job)
    mapped(job)
    mapped(job, "visitors", ttl=3, evict=tell)
    job.to(job.numbers.group_by("key").rolling_aggregate("rolling", n=ps.count()).filter("seq % 100 = 0"), "rolling")
    job.to(job.source("more").filter("seq % 1000 = 0"), "more")
    harness = Harness(spark, folder)
    harness.run(job.pipeline, until=CUT)
    checkpoint = Checkpoint(folder / "checkpoint-0")
    watermark = checkpoint.offsets(checkpoint.committed()).metadata["batchWatermarkMs"]
    return SimpleNamespace(job=job, folder=folder, watermark=watermark)


@pytest.fixture
def harness(spark, tmp_path, one):
    return Harness.following(spark, tmp_path, one.folder)
