"""The events of a job, in plain words."""

from __future__ import annotations

from pitstop.control.actions import Finish, RegisterSnapshot
from pitstop.control.decision import Decision
from pitstop.control.life import Event
from pitstop.model.job import Asked, Job, JobState, Mode
from pitstop.model.job_event import JobEvent, SnapshotTaken, StateChange, VersionChange
from pitstop.model.operation import Operation, Updated, Verb, rescaling_snapshot
from pitstop.model.run import Completed, Died, ExportFailed, Failed, Observation, Stopped, UpdatePrepared

MOST_TRACE_LETTERS = 10_000
"""The most letters of a stack trace that are kept, from its end, where the cause stands."""
MOST_LETTERS = 1000
"""The most letters of a reason. A job that breaks off again and again has it in each line."""
_USUAL = {
    JobState.STARTING: "A run is started",
    JobState.RUNNING: "The run is up",
    JobState.COMPLETING: "All input is processed",
    JobState.COMPLETED: "The result is stored",
}


def events_of(before: Job, event: Event, decision: Decision, now: float) -> list[JobEvent]:
    """Return what an event means to a job, in the order in which people read it: the change of its state comes last."""
    after = decision.job
    events = [*_snapshots(before, event, decision, now), *_updates(before, decision, now)]
    return [*events, change_of(before, event, after, now)] if after.state is not before.state else events


def change_of(before: Job, event: Event, after: Job, now: float) -> StateChange:
    """Return the change of a job's state by an event, with its reason."""
    verb = _verb(before, event)
    if verb is None:
        reason, by_user = _by_itself(before, event, after), False
    else:
        trouble = _trouble(before, event)
        reason, by_user = f"{_words(verb)}: {trouble}" if trouble else _words(verb), verb is not Verb.RESCALE
    return StateChange(
        now,
        before.state,
        after.state,
        _short(reason),
        by_user,
        trace=_trace(event),
        display_previous=before.display_status,
        display_new=after.display_status,
    )


def _trace(event: Event) -> str | None:
    fact = event.fact if isinstance(event, Observation) else None
    trace = fact.details if isinstance(fact, Failed) else None
    return trace[-MOST_TRACE_LETTERS:] if trace is not None else None


def _snapshots(before: Job, event: Event, decision: Decision, now: float) -> list[JobEvent]:
    records = [action.record for action in decision.actions if isinstance(action, RegisterSnapshot)]
    events: list[JobEvent] = [
        SnapshotTaken(now, record.name, record.epoch, record.bytes)
        for record in records
        if record.name != rescaling_snapshot(before.id)
    ]
    fact = event.fact if isinstance(event, Observation) else None
    if isinstance(fact, ExportFailed) or (isinstance(fact, Stopped) and fact.snapshot is None and fact.error is not None):
        assert fact.error is not None
        events.append(SnapshotTaken(now, None, error=_short(fact.error.message)))
    return events


def _updates(before: Job, decision: Decision, now: float) -> list[JobEvent]:
    """Return the end of an update whose old version was told to stop. An earlier refusal is told to the asker alone."""
    update, after = before.update, decision.job
    if update is None or update.rescales:
        return []
    phase = update.phase
    if isinstance(phase, Asked):
        version, previous = phase.target.number, before.version.number
    else:
        version, previous = before.version.number, phase.previous.number
    for action in decision.actions:
        if isinstance(action, Finish) and action.operation == update.operation:
            if isinstance(action.result, Updated):
                return [VersionChange(now, version, previous, None, action.result.gap_seconds, action.result.report)]
            if action.error is not None:
                return [VersionChange(now, version, previous, _short(action.error.message), None, update.report)]
    if after.update is None and after.update_failure not in (None, before.update_failure):
        return [VersionChange(now, version, previous, _short(str(after.update_failure)), None, update.report)]
    return []


def _short(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def _verb(before: Job, event: Event) -> Verb | None:
    """Return the request that an event carries out or ends; None if the event happened by itself."""
    if isinstance(event, Operation):
        return event.verb
    if not isinstance(event, Observation) or isinstance(event.fact, Completed):
        return None
    if isinstance(event.fact, UpdatePrepared):
        return Verb.RESCALE if event.fact.rescales else Verb.UPDATE
    if before.termination is None or before.termination.because is not None:
        return None
    rescales = before.termination.mode is Mode.UPDATE and before.update is not None and before.update.rescales
    return Verb.RESCALE if rescales else Verb[before.termination.mode.name]


def _trouble(before: Job, event: Event) -> str | None:
    """Return the reason for which a request did not succeed; None if it did."""
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
    if after.state is JobState.FAILED:
        return after.failure or "It failed"
    if after.state is JobState.SUSPENDED:
        cause = after.suspension_cause or ""
        return cause.partition("\n")[2] or cause
    if before.termination is not None and before.termination.because is not None:
        return before.termination.because
    if isinstance(event, Observation) and isinstance(event.fact, Stopped):
        return "The server ended and stopped its runs"
    if after.update_failure not in (None, before.update_failure):
        return str(after.update_failure)
    return after.interruption or "The run ended"


def _words(verb: Verb) -> str:
    return verb.value.replace("_", " ").capitalize()
