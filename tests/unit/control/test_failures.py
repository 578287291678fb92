"""What the end of a run that nobody asked for leads to, in every state, with and without suspend_on_failure."""

import dataclasses

import pytest

from pitstop.control.life import MODES, decide
from pitstop.control.seeing import MOST_ATTEMPTS
from pitstop.errors import Problem
from pitstop.model.config import JobConfig
from pitstop.model.job import JobState, Mode
from pitstop.model.operation import Verb
from pitstop.model.run import Died, Failed, Observation
from tests.unit.control.operations import NOW, Cell, job_in

S = JobState

TABLE = """
                           error     error_suspends restartable last_attempt last_attempt_suspends died        away
STARTING                   FAILED    SUSPENDED      NOT_RUNNING FAILED       SUSPENDED             NOT_RUNNING NOT_RUNNING
RUNNING                    FAILED    SUSPENDED      NOT_RUNNING FAILED       SUSPENDED             NOT_RUNNING NOT_RUNNING
RUNNING SUSPEND            SUSPENDED SUSPENDED      SUSPENDED   SUSPENDED    SUSPENDED             SUSPENDED   SUSPENDED
RUNNING RESTART            NOT_RUNNING NOT_RUNNING  NOT_RUNNING NOT_RUNNING  NOT_RUNNING           NOT_RUNNING NOT_RUNNING
RUNNING CANCEL_AND_EXPORT  SUSPENDED SUSPENDED      SUSPENDED   SUSPENDED    SUSPENDED             SUSPENDED   SUSPENDED
RUNNING UPDATE             NOT_RUNNING NOT_RUNNING  NOT_RUNNING NOT_RUNNING  NOT_RUNNING           NOT_RUNNING NOT_RUNNING
"""
"""In all other states there is no run that could end: nothing changes."""

ERROR = Failed(Problem("ENGINE", "no column 'x'"), "trace")
RESTARTABLE = Failed(Problem("ENGINE", "no column 'x'"), "trace", restartable=True)
FACTS = {
    "error": ERROR,
    "error_suspends": ERROR,
    "restartable": RESTARTABLE,
    "last_attempt": RESTARTABLE,
    "last_attempt_suspends": RESTARTABLE,
    "died": Died("gone"),
    "away": Failed(Problem("STORE", "The store is busy."), away=True),
}


def cells():
    head, *rows = TABLE.strip().splitlines()
    told = {}
    for row in rows:
        words = row.split()
        known, said = words[: -len(FACTS)], words[-len(FACTS) :]
        key = S(known[0]), Mode(known[1]) if len(known) > 1 else None
        told |= {(*key, kind): S(word) for kind, word in zip(head.split(), said, strict=True)}
    every = [(state, mode, kind) for state in JobState for mode in MODES[state] for kind in FACTS]
    return [(*cell, told.get(cell, cell[0])) for cell in every]


def configured(state, mode, kind):
    job = job_in(Cell(state, mode, None, Verb.SUBMIT, "ok"))
    config = JobConfig(suspend_on_failure=kind.endswith("suspends"))
    attempts = MOST_ATTEMPTS - 1 if kind.startswith("last_attempt") else 0
    return dataclasses.replace(job, version=dataclasses.replace(job.version, config=config), attempts=attempts)


@pytest.mark.parametrize(("state", "mode", "kind", "leads_to"), cells(), ids=lambda word: str(word))
def test_the_end_of_a_run(state, mode, kind, leads_to):
    before = configured(state, mode, kind)
    after = decide(before, Observation("id", before.token, FACTS[kind]), NOW).job
    assert after.state is leads_to
    if state not in (S.STARTING, S.RUNNING):
        assert after == before


@pytest.mark.parametrize("state", [S.STARTING, S.RUNNING])
@pytest.mark.parametrize("kind", ["error_suspends", "last_attempt_suspends"])
def test_a_job_that_its_failure_suspends_says_why_and_keeps_its_state(state, kind):
    after = decide(configured(state, None, kind), Observation("id", 3, FACTS[kind]), NOW).job
    why = "no column 'x'" if kind == "error_suspends" else f"no column 'x', {MOST_ATTEMPTS} times in a row without progress"
    assert (after.suspension_cause, after.failure_details) == (f"Execution failure:\n{why}", "trace")
    assert (after.failure, after.completion_time, after.state_dropped) == (None, None, False)


@pytest.mark.parametrize("mode", [Mode.SUSPEND, Mode.CANCEL_AND_EXPORT])
def test_a_run_that_fails_while_it_is_to_stop_suspends_the_job_as_requested(mode):
    after = decide(configured(S.RUNNING, mode, "error_suspends"), Observation("id", 3, ERROR), NOW).job
    assert (after.suspension_cause, after.user_cancelled) == ("Requested by user", False)
