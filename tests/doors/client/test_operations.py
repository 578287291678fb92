"""Every request in every state that a job of a real server can be brought to: what the reference says, over HTTP."""

import dataclasses

import pytest

from pitstop.client.http import HttpService
from pitstop.errors import ConflictError
from pitstop.model.job import Asked, JobState, Mode, Termination, Update
from pitstop.model.operation import Cancel, CancelAndExport, Configure, Discard, Export, Restart, Resume, Rollback, Suspend, Verb
from tests.doors.conftest import TOKEN
from tests.doors.doors import brought_to, request
from tests.unit.control.operations import CELLS, SECOND

S = JobState
SECONDS = 20
NOT_OF_DOORS = (Verb.SUBMIT, Verb.RESCALE)
"""What no user asks of a job that is there."""
TOO_SHORT = ("new_version", "preparing")
"""What a job without Spark is for an instant only."""

ROWS = list(dict.fromkeys((cell.state, cell.mode, cell.special) for cell in CELLS if cell.special not in TOO_SHORT))
SETTLES = {
    (S.RUNNING, Verb.SUSPEND): S.SUSPENDED,
    (S.RUNNING, Verb.CANCEL_AND_EXPORT): S.FAILED,
    (S.SUSPENDED, Verb.RESUME): S.RUNNING,
    (S.SUSPENDED, Verb.EXPORT): S.SUSPENDED,
    (S.SUSPENDED, Verb.CANCEL_AND_EXPORT): S.FAILED,
    (S.FAILED, Verb.RESUME): S.RUNNING,
}
"""Where the job is in the end, where the request leads to another state first."""

CALLS = {
    Verb.SUSPEND: lambda service, job: service.do(job, Suspend()),
    Verb.RESUME: lambda service, job: service.do(job, Resume()),
    Verb.RESTART: lambda service, job: service.do(job, Restart()),
    Verb.CANCEL: lambda service, job: service.do(job, Cancel()),
    Verb.EXPORT: lambda service, job: service.do(job, Export(f"of-{job}")),
    Verb.CANCEL_AND_EXPORT: lambda service, job: service.do(job, CancelAndExport(f"of-{job}")),
    Verb.UPDATE: lambda service, job: service.update(job, request()),
    Verb.CONFIGURE: lambda service, job: service.do(job, Configure({"suspend_on_failure": True})),
    Verb.DISCARD: lambda service, job: service.do(job, Discard()),
    Verb.ROLLBACK: lambda service, job: service.do(job, Rollback()),
}


@pytest.fixture
def client(serve, state):
    service = HttpService(serve(state), TOKEN)
    yield service
    service.close()


def brought(service, state, mode, special, name):
    """A job as the row has it."""
    job = brought_to(service, state, name)
    if special == "state_dropped" and state is S.FAILED:
        service.do(job, Discard())
    if special == "bounded":
        service.put(job, version=dataclasses.replace(service.registry.get_job(job).version, bounded=True))
    if mode is not None:
        update = Update(0, 0.0, Asked(SECOND)) if mode is Mode.UPDATE else None
        service.put(job, termination=Termination(mode, operation=0), update=update)
    return job


def outcome(client, state, job, cell):
    """What came of the request, in words."""
    try:
        CALLS[cell.verb](client, job)
    except ConflictError as refused:
        return f"refused: {refused.message}"
    there = SETTLES.get((cell.state, cell.verb), cell.leads_to)
    return f"settles in {state.wait_for(job, (there,), SECONDS).status}"


def foretold(client, job, verb):
    """What the list of verbs says would come of the request: its refusal, and whether there is nothing to do."""
    return next((found.refused, found.nothing_to_do) for found in client.verbs(job) if found.verb is verb)


def expected(state, job, cell):
    if cell.refused:
        found = state.job(job)
        return f"refused: {cell.sentence(job, found.display_name, found.failure or found.status.value)}"
    return f"settles in {SETTLES.get((cell.state, cell.verb), cell.leads_to)}"


@pytest.mark.parametrize(("row"), ROWS, ids=lambda row: "-".join(filter(None, row)))
def test_what_is_asked_of_a_job(client, state, row):
    cells = [cell for cell in CELLS if (cell.state, cell.mode, cell.special) == row and cell.verb not in NOT_OF_DOORS]
    jobs = {cell.verb: brought(state, *row, name=cell.verb.value) for cell in cells}
    wanted = {cell.verb.value: expected(state, jobs[cell.verb], cell) for cell in cells}
    told = {cell.verb.value: foretold(client, jobs[cell.verb], cell.verb) for cell in cells}
    assert {cell.verb.value: outcome(client, state, jobs[cell.verb], cell) for cell in cells} == wanted
    refusals = {
        verb: words.removeprefix("refused: ") if words.startswith("refused: ") else None for verb, words in wanted.items()
    }
    assert told == {cell.verb.value: (refusals[cell.verb.value], cell.changes_nothing) for cell in cells}
