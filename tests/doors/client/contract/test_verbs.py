"""What may be asked of a job, over every service."""

import pytest

from pitstop.client import Client
from pitstop.errors import ConflictError, NotFoundError
from pitstop.model.operation import Cancel, Resume, Verb
from tests.doors.doors import request, running

ALL = "suspend resume restart cancel export cancel_and_export update configure rollback discard"


def test_each_verb_comes_with_its_refusal_and_whether_there_is_anything_to_do(pair):
    service, state = pair
    job = running(state)
    found = Client(service).job("hello-world").verbs()
    assert [each.verb for each in found] == [Verb(word) for word in ALL.split()]
    assert [each.verb.value for each in found if each.refused is None and not each.nothing_to_do] == [
        "suspend",
        "restart",
        "cancel",
        "export",
        "cancel_and_export",
        "update",
    ]
    assert [each.verb.value for each in found if each.nothing_to_do] == ["resume"]
    refused = {each.verb.value: each.refused for each in found if each.refused is not None}
    assert refused == {
        "configure": "Cannot CONFIGURE, job status is RUNNING, should be SUSPENDED",
        "rollback": "Cannot ROLLBACK job 'hello-world': it has no update to go back from.",
        "discard": "Cannot DISCARD, job status is RUNNING: cancel the job first",
    }
    assert state.registry.open_operations(job) == []


def test_of_no_job_nothing_can_be_asked(pair):
    with pytest.raises(NotFoundError, match="No job with name or id 'nosuch' was found"):
        pair[0].verbs("nosuch")


def test_a_job_whose_name_is_taken_is_not_brought_back_and_the_list_says_so(pair):
    service, state = pair
    job = running(state)
    state.do(job, Cancel())
    running(state)
    told = {each.verb: each.refused for each in service.verbs(job)}
    with pytest.raises(ConflictError) as refused:
        service.do(job, Resume())
    assert told[Verb.RESUME] == told[Verb.UPDATE] == refused.value.message
    with pytest.raises(ConflictError, match="Another active job with equal name"):
        service.update(job, request())
