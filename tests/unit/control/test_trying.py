"""What would become of a request is what becomes of it."""

import dataclasses

import pytest

from pitstop.control import life
from pitstop.control.actions import Finish
from pitstop.control.life import decide
from pitstop.control.trying import requests_of, tried
from pitstop.model.job import JobState
from pitstop.model.operation import REQUESTS, Operation, Resume, Verb
from tests.doubles.registry import MemoryRegistry
from tests.unit.control.operations import CELLS, NOW, job_in, request_of

OF_USERS = [cell for cell in CELLS if cell.verb not in (Verb.SUBMIT, Verb.RESCALE)]
NUMBER = 7


def foretold(job, verb):
    registry = MemoryRegistry()
    registry.add_job(job)
    (request,) = [request for request in requests_of(job) if request.verb is verb]
    trial = tried(registry, job, request)
    assert registry.get_job(job.id) == job
    assert registry.pending_operations() == []
    return trial.refusal.message if trial.refusal else None, trial.nothing_to_do


@pytest.mark.parametrize("cell", OF_USERS, ids=lambda cell: cell.id)
def test_it_is_what_the_request_then_does(cell):
    job = job_in(cell)
    decision = decide(job, Operation(NUMBER, "id", request_of(cell.verb)), NOW)
    answers = [action for action in decision.actions if isinstance(action, Finish) and action.operation == NUMBER]
    refused = next((answer.error.message for answer in answers if answer.error is not None), None)
    nothing = bool(answers) and refused is None and decision.job == job
    assert foretold(job, cell.verb) == (refused, nothing)


@pytest.mark.parametrize("cell", OF_USERS, ids=lambda cell: cell.id)
def test_it_is_what_the_reference_says(cell):
    result = "boom" if cell.state is JobState.FAILED else cell.state.value
    sentence = cell.sentence("id", "job", result) if cell.refused else None
    assert foretold(job_in(cell), cell.verb) == (sentence, cell.changes_nothing)


def test_every_request_is_tried_but_those_that_nobody_makes_of_a_job_that_is_there():
    verbs = [request.verb for request in requests_of(job_in(CELLS[0]))]
    assert sorted(verbs) == sorted(set(REQUESTS) - {Verb.SUBMIT, Verb.RESCALE})


@pytest.mark.parametrize("verb", [Verb.RESUME, Verb.UPDATE])
def test_what_would_bring_back_a_job_whose_name_another_one_has_by_now_is_refused(verb):
    cell = next(cell for cell in CELLS if (cell.state, cell.mode, cell.special) == (JobState.FAILED, None, None))
    ended = job_in(cell)
    registry = MemoryRegistry()
    registry.add_job(ended)
    registry.add_job(dataclasses.replace(ended, id="other", state=JobState.NOT_RUNNING, completion_time=None, failure=None))
    (request,) = [request for request in requests_of(ended) if request.verb is verb]
    assert tried(registry, ended, request).refusal.message == "Another active job with equal name (job) exists: other"


def test_a_defect_is_told_as_whoever_asks_would_be_told(monkeypatch):
    job = job_in(CELLS[0])
    key = (job.state, None, Resume)
    broken = dataclasses.replace(life.LIFE[key], to=frozenset())
    monkeypatch.setitem(life.LIFE, key, broken)
    refusal = tried(MemoryRegistry(), job, Resume()).refusal
    assert refusal.message.startswith("A defect of Pitstop keeps resume from being carried out; the job stays as it was: ")
