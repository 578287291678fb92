"""Why a job has changed its state, in plain words."""

from __future__ import annotations

from pitstop.control.life import Event
from pitstop.model.history import StateChange
from pitstop.model.job import Job, JobState, Mode
from pitstop.model.operation import Operation, Verb
from pitstop.model.run import Completed, Died, ExportFailed, Failed, Observation, Stopped, UpdatePrepared

MOST_LETTERS = 1000
"""A longer reason is cut: a job that breaks off again and again has it in each line."""
_USUAL = {
    JobState.STARTING: "A run is started",
    JobState.RUNNING: "The run is up",
    JobState.COMPLETING: "All input is processed",
    JobState.COMPLETED: "The result is stored",
}


def change_of(before: Job, event: Event, after: Job, now: float) -> StateChange:
    """What the history of a job says when an event has led it from one state to another."""
    asked = _asked(before, event)
    if asked is None:
        reason, by_user = _by_itself(before, event, after), False
    else:
        trouble = _trouble(before, event)
        reason, by_user = f"{_words(asked)}: {trouble}" if trouble else _words(asked), asked is not Verb.RESCALE
    short = reason if len(reason) <= MOST_LETTERS else f"{reason[: MOST_LETTERS - 1]}…"
    return StateChange(now, before.state, after.state, short, by_user)


def _asked(before: Job, event: Event) -> Verb | None:
    """The request that this is the doing or the end of; None if it happened by itself."""
    if isinstance(event, Operation):
        return event.verb
    if not isinstance(event, Observation) or isinstance(event.fact, Completed):
        return None
    if isinstance(event.fact, UpdatePrepared):
        return Verb.RESCALE if event.fact.rescales else Verb.UPDATE
    if before.termination is None:
        return None
    rescales = before.termination.mode is Mode.UPDATE and before.update is not None and before.update.rescales
    return Verb.RESCALE if rescales else Verb[before.termination.mode.name]


def _trouble(before: Job, event: Event) -> str | None:
    """Why a request did not come to the end that was wished."""
    fact = event.fact if isinstance(event, Observation) else None
    if isinstance(fact, Failed | ExportFailed):
        return fact.error.message
    if isinstance(fact, Died):
        return fact.reason
    saves = before.termination is not None and before.termination.mode in (Mode.CANCEL_AND_EXPORT, Mode.UPDATE)
    if isinstance(fact, Stopped) and saves and fact.snapshot is None:
        return fact.error.message if fact.error is not None else "the snapshot was not taken"
    return None


def _by_itself(before: Job, event: Event, after: Job) -> str:
    if after.state in _USUAL:
        return _USUAL[after.state]
    if isinstance(event, Observation) and isinstance(event.fact, Stopped):
        return "The server ended, and took its runs with it"
    if after.state is JobState.FAILED:
        return after.failure or "It failed"
    if after.state is JobState.SUSPENDED:
        cause = after.suspension_cause or ""
        return cause.partition("\n")[2] or cause
    if after.update_failure not in (None, before.update_failure):
        return str(after.update_failure)
    return after.interruption or "The run ended"


def _words(verb: Verb) -> str:
    return verb.value.replace("_", " ").capitalize()
