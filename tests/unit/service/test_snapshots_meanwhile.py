"""What is asked for takes minutes, and others ask for other things meanwhile: snapshots are looked for again in the end."""

import dataclasses
from pathlib import Path

import pytest

from pitstop.errors import ConflictError, NotFoundError
from pitstop.kit.waiting import wait_until
from pitstop.model.job import JobState
from pitstop.model.operation import Cancel, Discard, Export
from pitstop.service.api import SubmitRequest
from tests.doubles.service import ScriptedService
from tests.doubles.workers import ScriptedWorkers


@pytest.fixture
def service(tmp_path):
    """It has a snapshot named ``saved`` of a job that goes on."""
    made = ScriptedService(tmp_path)
    job = made.submit(SubmitRequest("job.py", b"# stage: speed bigint", name="first")).id
    made.wait_for(job, (JobState.RUNNING,), 20)
    made.do(job, Export("saved"))
    yield made
    made.close()


def test_a_job_is_not_submitted_whose_snapshot_was_deleted_while_its_packages_were_installed(service, monkeypatch):
    class SlowPackages:
        def folder_for(self, artifact, requirements):
            service.delete_snapshot("saved")

    monkeypatch.setattr(service, "_dependencies", SlowPackages())
    with pytest.raises(NotFoundError, match="saved"):
        service.submit(SubmitRequest("job.py", b"# stage: speed bigint", name="second", initial_snapshot="saved"))
    assert [job.name for job in service.jobs()] == ["first"]


def test_a_snapshot_stays_while_an_ended_job_may_need_it_and_the_refusal_says_what_to_do(service):
    job = service.submit(SubmitRequest("job.py", b"# hangs", name="second", initial_snapshot="saved")).id

    def without_an_epoch():
        # A scripted run has its first epoch as soon as it is compiled.
        assert wait_until(lambda: service.registry.get_job(job).version.lineage is not None, 20)
        service.put(job, version=dataclasses.replace(service.registry.get_job(job).version, lineage=None))

    without_an_epoch()
    with pytest.raises(ConflictError, match="wait for that, or cancel and discard the job"):
        service.delete_snapshot("saved")
    service.put(job, version=dataclasses.replace(service.registry.get_job(job).version, lineage="one"))
    service.do(job, Cancel())
    without_an_epoch()
    with pytest.raises(ConflictError, match=r"Job 'second' needs snapshot 'saved' .*: discard the job"):
        service.delete_snapshot("saved")
    service.do(job, Discard())
    service.delete_snapshot("saved")


@pytest.mark.parametrize("meanwhile", ["deleted", "replaced"])
def test_rows_are_not_put_into_a_snapshot_that_was_deleted_or_replaced_meanwhile(service, tmp_path, monkeypatch, meanwhile):
    put = ScriptedWorkers.import_state

    def put_slowly(self, task):
        record = put(self, task)
        if meanwhile == "deleted":
            service.delete_snapshot("saved")
        else:
            service.do("first", Export("saved"))
        return record

    monkeypatch.setattr(ScriptedWorkers, "import_state", put_slowly)
    with pytest.raises(NotFoundError if meanwhile == "deleted" else ConflictError, match="saved"):
        service.import_state("saved", "speed", b"rows")
    kept = [record.path for record in service.registry.snapshots()]
    assert len(kept) == (0 if meanwhile == "deleted" else 1)
    wanted = sorted(Path(path) for path in kept)
    assert wait_until(lambda: sorted((tmp_path / "snapshots").iterdir()) == wanted, 20), "what was put together is gone"
