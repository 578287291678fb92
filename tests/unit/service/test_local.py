"""What the service writes down of a job when it is submitted."""

import pytest

from pitstop.service.api import SubmitRequest
from tests.doubles.service import ScriptedService


@pytest.fixture
def service(tmp_path):
    made = ScriptedService(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize(("members", "quorum"), [(1, 1), (2, 2), (3, 2), (4, 3)])
def test_the_quorum_of_a_job_is_of_the_members_at_its_submission(service, members, quorum):
    while service.server_info().size < members:
        service.add_member()
    submitted = service.submit(SubmitRequest("job.py", b"{}", options={"split_brain_protection": True}))
    assert service.registry.get_job(submitted.id).quorum == quorum
