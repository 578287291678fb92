"""A job whose sources all end: it is spoken with while it runs."""

import pytest

from pitstop.errors import ConflictError
from pitstop.model.job import JobState

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

JOB = """
import time
import pitstop as ps

def slowly(rows):
    for batch in rows:
        time.sleep({seconds})
        yield batch

@ps.job(epoch_timeout="20 seconds")
def batch():
    p = ps.Pipeline()
    numbers = p.read_from(ps.sources.items([(n,) for n in range(100)], "n bigint"), name="numbers")
    slow = numbers.transform(lambda rows: rows.mapInPandas(slowly, "n bigint"), name="slow")
    slow.select("cast(n as string) key", "n").write_to(ps.sinks.map("numbers", key="key"), name="map")
    return p
"""


def test_a_batch_that_makes_no_progress_is_seen_and_refuses_what_needs_epochs(tmp_path):
    from stack import Stack, wait_until

    (tmp_path / "batch.py").write_text(JOB.format(seconds=0))
    (tmp_path / "hanging.py").write_text(JOB.format(seconds=10_000))
    with Stack(tmp_path / "stack", spares=0) as stack:
        client = stack.start_server()
        assert client.submit(tmp_path / "batch.py", name="ends").join(400) is JobState.COMPLETED
        assert client.map("numbers").size() == 100

        job = client.submit(tmp_path / "hanging.py", name="hangs")
        client.service.wait_for(job.id, (JobState.RUNNING,), 300)
        for verb in (job.suspend, job.restart, lambda: job.export_snapshot("s")):
            with pytest.raises(ConflictError, match="it runs once and keeps no state"):
                verb()
        wait_until(lambda: job.details.token > 1, 200, "another run begins anew")
        reasons = " ".join(getattr(event, "reason", "") for event in job.events())
        assert "the next task of the batch did not end within 20 seconds" in reasons
        job.cancel()
        assert job.status is JobState.FAILED
