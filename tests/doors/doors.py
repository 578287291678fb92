"""What the tests of the doors share: a service in memory at the moment of the manual's example, and artifacts for it."""

from pitstop.service.api import SubmitRequest
from pitstop.testing.service import InMemoryService

MOMENT = 1584283021.011
"""2020-03-15T14:37:01.011 UTC, the time in the manual's table of snapshots (S002)."""
ID = "0401-9f77-b9c0-{:04x}"


def service():
    """Job ids count from 0401-9f77-b9c0-0001, the manual's example; the clock stands still."""
    numbers = iter(range(1, 1000))
    return InMemoryService(now=lambda: MOMENT, new_id=lambda: ID.format(next(numbers)))


def request(name=None, text="", **more):
    return SubmitRequest("job.py", text.encode(), name=name, **more)


def running(service, name="hello-world", text="", **more):
    """A running job; its id."""
    from pitstop.model.job import JobState

    job = service.submit(request(name, text, **more))
    return service.wait_for(job.id, (JobState.RUNNING, JobState.FAILED, JobState.COMPLETED), 5).job.id
