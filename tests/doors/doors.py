"""What the tests of the doors share: a service at the moment of the manual's example, and artifacts for it."""

import functools
import threading
import time

from pitstop.model.job import JobState, Mode, Termination
from pitstop.model.operation import Cancel, Suspend
from pitstop.model.retention import USUAL
from pitstop.rest.access import Access
from pitstop.rest.app import create_app
from pitstop.service.api import SubmitRequest
from tests.doubles.http import listening
from tests.doubles.service import ScriptedService

MOMENT = 1584283021.011
"""2020-03-15T14:37:01.011 UTC, the time in the manual's table of snapshots (S002)."""
ID = "0401-9f77-b9c0-{:04x}"


class Behind:
    """Stands before the service of the present test."""

    service = None

    def __getattr__(self, name):
        if name == "changes":
            return self.service.changes
        # Late: the server takes some methods when it is made.
        return lambda *args, **named: getattr(self.service, name)(*args, **named)


@functools.cache
def _application(access):
    behind = Behind()
    return behind, create_app(behind, access)


def application(service, access):
    """Return the REST application over a service. It is made once for each access, for that takes most of a second."""
    behind, app = _application(access)
    behind.service = service
    return app


@functools.cache
def _access(token):
    return Access(token)


def serving(service, token, port=0):
    """Serve as tests.doubles.http does, by the one application for that token: one service at a time."""
    return listening(application(service, _access(token)), port)


def service(folder, retention=USUAL):
    """Job ids count from 0401-9f77-b9c0-0001, the manual's example; the clock stands still."""
    numbers = iter(range(1, 1000))
    folder.mkdir()
    return ScriptedService(folder, now=lambda: MOMENT, new_id=lambda: ID.format(next(numbers)), retention=retention)


def request(name=None, text="", **more):
    return SubmitRequest("job.py", text.encode(), name=name, **more)


def running(service, name="hello-world", text="", **more):
    """A job that runs, or has come as far as its script lets it; its id."""
    job = service.submit(request(name, text, **more)).id
    return service.wait_for(job, (JobState.RUNNING, JobState.FAILED, JobState.COMPLETED), 20).id


def brought_to(service, state, name="hello-world"):
    """A job in that state, by what brings jobs there; its id."""
    if state is JobState.SUSPENDED_EXPORTING_SNAPSHOT:
        # It passes in an instant, as does the next.
        job = brought_to(service, JobState.SUSPENDED, name)
        service.put(job, state=state, termination=Termination(Mode.EXPORT, operation=0))
        return job
    if state is JobState.COMPLETING:
        job = running(service, name)
        service.put(job, state=state)
        return job
    scripts = {JobState.NOT_RUNNING: "# breaks", JobState.STARTING: "# hangs", JobState.COMPLETED: "# completes"}
    job = service.submit(request(name, scripts.get(state, ""))).id
    if state is JobState.NOT_RUNNING:
        until(
            lambda: MOMENT + 0.9 <= (service.job(job).due or 0) <= MOMENT + 1.1,
            "it broke off twice and waits until the clock goes on",
        )
    if state in (JobState.SUSPENDED, JobState.FAILED):
        service.wait_for(job, (JobState.RUNNING,), 20)
        service.do(job, Suspend() if state is JobState.SUSPENDED else Cancel())
    return service.wait_for(job, (state,), 20).id


def until(condition, what):
    """What the condition gives as soon as it is true."""
    deadline = time.monotonic() + 20
    while not (found := condition()):
        assert time.monotonic() < deadline, what
        threading.Event().wait(0.01)
    return found
