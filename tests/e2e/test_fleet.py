"""The fleet ingest with real processes: whatever is stopped, changed or killed, each ping arrives once."""

import json

import pytest

from pitstop.model.job import JobState

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


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


def log_texts(job, stage):
    start = f"[{job.name}/{stage}#"
    lines = (json.loads(line)["msg"] for line in job.logs() if line.startswith("{"))
    return [text.split("] ", 1)[1] for text in lines if text.startswith(start)]


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
@pytest.mark.always
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
