"""Looks into the run of a job, which answers itself (machine.questions)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pitstop.control.ports.wake import Wake
from pitstop.errors import ConflictError, NotFoundError, UsageError, WaitTimeoutError, from_dict
from pitstop.kit.asker import ended_when_nobody_waits
from pitstop.machine.questions import ask
from pitstop.model.data_folder import DataFolder
from pitstop.model.execution import EPOCHS, MOST_EPOCHS, ExecutionFacts, StateOperator, epochs_of
from pitstop.model.job import Job, JobState
from pitstop.model.task import StateRows
from pitstop.plan.model import Plan

ANSWER_SECONDS = 20.0
"""The longest wait for the run's answer to a question that no epoch has to come for."""
PEEKED_ROWS, MOST_PEEKED_ROWS = 20, 200
PEEK_SECONDS, MOST_PEEK_SECONDS = 30.0, 60.0
MORE_SECONDS = 5.0
"""The time that a run may take beyond the wait for rows to say that none have come."""


class RunVerbs:
    """The part of the service that asks runs. A run answers between its epochs, or in one; nothing is stored."""

    def __init__(self, data: DataFolder, find: Callable[[str], Job], wake: Wake) -> None:
        self._jobs, self._find_running, self._waking = data, find, wake

    def execution(self, name_or_id: str, epochs: int = EPOCHS) -> ExecutionFacts:
        if not 1 <= epochs <= MOST_EPOCHS:
            raise UsageError(f"Ask for 1 to {MOST_EPOCHS} epochs, not for {epochs}.")
        job = self._running(name_or_id)
        answer = self._ask(job, "execution", {"epochs": epochs}, ANSWER_SECONDS)
        operators = Plan.from_dict(job.version.plan).operators if job.version.plan is not None else ()
        state_operators = [StateOperator(number, slot.stage, slot.role) for number, slot in enumerate(operators)]
        epoch_tasks, peekable = epochs_of(answer["stages"]), list(answer["peekable"])
        return ExecutionFacts(job.version.number, epoch_tasks, str(answer["plan"]), state_operators, peekable)

    def peek(self, name_or_id: str, stage: str, limit: int = PEEKED_ROWS, wait_seconds: float = PEEK_SECONDS) -> StateRows:
        if not 1 <= limit <= MOST_PEEKED_ROWS:
            raise UsageError(f"Ask for 1 to {MOST_PEEKED_ROWS} rows, not for {limit}.")
        if not 0 < wait_seconds <= MOST_PEEK_SECONDS:
            raise UsageError(f"Wait for {MOST_PEEK_SECONDS:.0f} seconds at most.")
        job = self._running(name_or_id)
        plan = Plan.from_dict(job.version.plan or {"stages": []})
        if job.version.plan is not None and plan.stage(stage) is None:
            names = ", ".join(each.name for each in plan.stages)
            raise NotFoundError(f"Job '{job.display_name}' has no stage '{stage}'. There are: {names}.")
        answer = self._ask(job, "peek", {"stage": stage, "limit": limit, "seconds": wait_seconds}, wait_seconds + MORE_SECONDS)
        columns = [(str(name), str(kind)) for name, kind in answer["columns"]]
        return StateRows(columns, list(answer["rows"]), bool(answer["more"]))

    def _running(self, name_or_id: str) -> Job:
        job = self._find_running(name_or_id)
        if job.state is not JobState.RUNNING:
            raise ConflictError(f"Job '{job.display_name}' is {job.display_status}: only a RUNNING job can be looked into.")
        return job

    def _ask(self, job: Job, kind: str, facts: dict[str, Any], seconds: float) -> dict[str, Any]:
        departures: list[bool] = []
        with ended_when_nobody_waits(lambda: departures.append(True)):
            folder = self._jobs.job(job.id).questions
            answer = ask(folder, kind, facts, seconds, lambda: self._waking.wake(job.id), lambda: bool(departures))
        if answer is None:
            raise WaitTimeoutError(f"The run of job '{job.display_name}' has not answered in {seconds:.0f} seconds.")
        if "error" in answer:
            raise from_dict(answer["error"])
        return dict(answer["answer"])
