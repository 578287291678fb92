"""Every request in every state does what the reference says, sentence by sentence."""

import pytest

from pitstop.control.actions import Finish
from pitstop.control.invariants import violations
from pitstop.control.life import LIFE, MODES, decide
from pitstop.model.job import JobState
from pitstop.model.operation import REQUESTS, Operation
from tests.unit.control.operations import CELLS, NOW, job_in, request_of

ASKED = 7


def outcome(job, decision):
    """What came of it, in words."""
    answer = next((action for action in decision.actions if isinstance(action, Finish) and action.operation == ASKED), None)
    if answer is not None and answer.error is not None:
        return f"refused: {answer.error.message}" + ("" if decision.job == job else ", and yet the job has changed")
    return f"{decision.job.state}, {'answered' if answer is not None else 'answered later'}"


def expected(cell):
    if cell.refused:
        result = "boom" if cell.state is JobState.FAILED else cell.state.value
        return f"refused: {cell.sentence('id', 'job', result)}"
    return f"{cell.leads_to}, {'answered' if cell.answered else 'answered later'}"


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.id)
def test_a_request_in_a_state(cell):
    job = job_in(cell)
    assert not violations(job), "there is no such job"
    assert outcome(job, decide(job, Operation(ASKED, "id", request_of(cell.verb)), NOW)) == expected(cell)


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.says == "ok"], ids=lambda cell: cell.id)
def test_a_request_that_changes_nothing(cell):
    """But for what configure and discard are asked for."""
    job = job_in(cell)
    after = decide(job, Operation(ASKED, "id", request_of(cell.verb)), NOW).job
    assert (after == job) == cell.changes_nothing


def test_the_reference_has_every_state_with_every_mode_and_every_request():
    assert {(cell.state, cell.mode) for cell in CELLS} == {(state, mode) for state in JobState for mode in MODES[state]}
    assert {cell.verb for cell in CELLS} == set(REQUESTS)


EDGES = sorted({(cell.state, cell.mode, cell.verb) for cell in CELLS}, key=str)


@pytest.mark.parametrize(("state", "mode", "verb"), EDGES, ids=lambda word: str(word))
def test_the_table_of_a_jobs_life_says_just_that(state, mode, verb):
    """So docs/job-life.md, which is drawn from it, shows what may happen and nothing else."""
    edge = LIFE[state, mode, REQUESTS[verb]]
    cells = [cell for cell in CELLS if (cell.state, cell.mode, cell.verb) == (state, mode, verb)]
    assert edge.to == {cell.leads_to for cell in cells}
    assert edge.refuses == all(cell.refused for cell in cells)
