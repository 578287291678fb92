"""The fleet ingest with real processes: whatever is stopped, changed or killed, each ping arrives once."""

import os
import random
import signal

import pytest

from pitstop.launchers.processes import find
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import JobState
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.registry import SqlRegistry

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

KILLS = int(os.environ.get("PITSTOP_TEST_KILLS", "10"))
"""More of them: ``make chaos``."""


def emitted_until_now(stack):
    from verify import emitted_alpha, emitted_beta

    return emitted_alpha(stack.alpha_dir) + _through_faults(lambda: emitted_beta(stack.beta_url))


def _through_faults(read):
    """Beta fails on purpose now and then: ask again."""
    from stack import wait_until

    def tried():
        try:
            return read()
        except (OSError, ValueError):
            return None

    return wait_until(tried, 60, "a whole answer from beta")


def wait_written(stack, count):
    from stack import wait_until
    from verify import ingested

    wait_until(lambda: ingested(stack.archive).total() >= count, 120, f"{count} pings in the archive", step=0.3)


def verdict_at_end(stack, job):
    """Freeze the world, let the job read the rest, stop it between two epochs, compare."""
    from verify import compare, ingested

    stack.pause_alpha()
    stack.freeze_beta()
    emitted = emitted_until_now(stack)
    wait_written(stack, emitted.total())
    job.suspend()
    return compare(emitted, ingested(stack.archive)), emitted


@pytest.mark.long
@pytest.mark.chaos
@pytest.mark.timeout(300 + 120 * KILLS)
def test_kills_at_random_moments_lose_and_double_nothing(stack):
    from stack import HERE, wait_until

    seed = random.randrange(1 << 30)
    print(f"seed of the kills: {seed}")
    moments = random.Random(seed)
    client = stack.start_server()
    stack.start_simulators()
    job = client.submit(HERE / "ingest.py", args=stack.job_arguments, name="ingest")
    job.wait_started()
    registry = SqlRegistry(open_database(sqlite_url(DataFolder(stack.data).store)))
    killed = []
    for number in range(KILLS):
        # Every second time already in the first epoch of a run, which repeats what the killed one had planned.
        token, checkpoint = wait_until(lambda: next_run(job, stack.data, killed, registry), 120, "the next run")
        if number % 2:
            wait_epoch(job, checkpoint.committed() + 1)
        wait_planned(checkpoint)
        wait_until(Countdown(moments.random()), 5, "the moment", step=0.005)
        kill(find(registry.handle_of(job.id, token)).pid)
        killed.append(token)
    wait_until(lambda: job.details.token not in killed and job.status is JobState.RUNNING, 120, "the last run")
    verdict, _ = verdict_at_end(stack, job)
    assert (verdict.missed, verdict.doubled) == (0, 0)


def test_jobs_outlive_a_killed_control_plane_and_are_found_again(stack):
    from stack import HERE, wait_until

    client = stack.start_server()
    stack.start_simulators()
    job = client.submit(HERE / "ingest.py", args=stack.job_arguments, name="ingest")
    job.wait_started()
    stack.kill_server()
    before = emitted_until_now(stack).total()
    wait_written(stack, before)
    client = stack.start_server()
    found = client.job("ingest")
    assert (found.id, found.status, found.details.token) == (job.id, JobState.RUNNING, 1)
    found.restart()
    wait_until(lambda: found.status is JobState.RUNNING and found.details.token == 2, 120, "the restarted run")
    verdict, _ = verdict_at_end(stack, found)
    assert (verdict.missed, verdict.doubled) == (0, 0)


class Countdown:
    """True once so many seconds have passed since it was first asked."""

    def __init__(self, seconds):
        import time

        self._clock, self._end = time.monotonic, time.monotonic() + seconds

    def __call__(self):
        return self._clock() >= self._end


def wait_epoch(job, epoch):
    from stack import wait_until

    wait_until(lambda: job.metrics().epoch >= epoch, 120, f"epoch {epoch}", step=0.01)


def wait_planned(checkpoint):
    from stack import wait_until

    wait_until(lambda: checkpoint.planned() > checkpoint.committed(), 120, "a planned epoch", step=0.002)


def next_run(job, data, killed, registry):
    """(token, checkpoint) of a run after those that were killed, once it has a process and a checkpoint."""
    details = job.details
    if details.token in killed or details.lineage is None or registry.handle_of(job.id, details.token) is None:
        return None
    return details.token, Checkpoint(DataFolder(data).job(job.id).checkpoint(details.lineage))


def kill(pid):
    os.kill(pid, signal.SIGKILL)
