"""A sink of one's own whose target is away for a while: the job is tried again, and each row is there once."""

import dataclasses
import json
from collections import Counter

import pytest

import pitstop as ps
from pitstop.control.life import Due, decide
from pitstop.kit.waiting import wait_until
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.model.run import Failed, Observation
from tests.spark.bursts import STEP, Bursts, bursts

pytestmark = pytest.mark.spark
EPOCHS, AWAY_IN = 3, 1


class Target:
    """Files, one for each epoch by its name, so that an epoch is there once; away in an epoch for its first two attempts."""

    def __init__(self, folder):
        self.folder, self.attempts = folder, 0

    def write(self, rows, info):
        path = self.folder / f"{info.lineage}-{info.epoch}.json"
        if path.exists():
            return
        taken = [row.seq for row in rows.collect()]
        if info.epoch == AWAY_IN:
            self.attempts += 1
            if self.attempts <= 2:
                raise ConnectionError("the target is down")
        path.write_text(json.dumps(taken))


@pytest.mark.long
def test_a_job_whose_sink_is_away_is_tried_again_and_each_row_is_there_once(spark, tmp_path):
    target = Target(tmp_path / "target")
    target.folder.mkdir()
    harness = Bursts(spark, tmp_path, EPOCHS)
    p = ps.Pipeline()
    counted = bursts(p, harness.events).group_by("key").rolling_aggregate("counted", n=ps.count())
    counted.write_to(ps.sinks.custom(target), name="out")
    version = Version(1, JobSource("a.py"), {}, JobConfig(), lineage="one")
    job, now, waits = Job("id", "job", 0.0, version, JobState.RUNNING, start_time=0.0, token=1), 1000.0, []
    while True:
        running = harness.begin(p)
        last = EPOCHS - 1
        assert wait_until(lambda: not running.active or running.checkpoint.committed() >= last, 120)  # noqa: B023
        if running.active:
            break
        failure = running.failure()
        assert "Sink 'out' (test_away.py:" in failure.message
        assert "ConnectionError: the target is down" in failure.message
        judged = {name: failure.details[name] for name in ("restartable", "passing")}
        job = decide(job, Observation(job.id, job.token, Failed(failure.problem, "", **judged)), now).job
        assert (job.state, job.attempts) == (JobState.NOT_RUNNING, len(waits) + 1)
        waits.append(job.due - now)
        now = job.due
        job = decide(job, Due(), now).job
        assert job.state is JobState.STARTING
        job = dataclasses.replace(job, state=JobState.RUNNING)
    running.stop(60)
    assert (target.attempts, len(waits)) == (3, 2)
    assert 0 < waits[0] < waits[1]
    rows = Counter(seq for path in target.folder.iterdir() for seq in json.loads(path.read_text()))
    assert rows == Counter(range(EPOCHS * STEP))
