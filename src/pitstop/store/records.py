"""Rows of the store as values, one at a time: a row that this release cannot read keeps no other from being read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, TypeVar

import structlog

from pitstop.errors import EngineError, Problem
from pitstop.kit.jsonable import from_json
from pitstop.model.job import Job, JobSource, KeptVersion, Progress, Version
from pitstop.model.job_event import JOB_EVENTS, JobEvent, StateChange
from pitstop.model.operation import REQUESTS, RESULTS, Operation, OperationState, Verb
from pitstop.model.run import FACTS, ORDERS, Command, Observation
from pitstop.model.sample import Sample

T = TypeVar("T")

log = structlog.get_logger("pitstop.store")


def job_of(row: Any) -> Job:
    """Return a job from its columns ``id`` and ``body``; raise EngineError if this release cannot read it."""
    return _read(f"The record of job {row.id}", lambda: from_json(Job, row.body))


def operation_of(row: Any) -> Operation:
    """Return an operation from its row; raise EngineError if this release cannot read it."""

    def read() -> Operation:
        verb = Verb(row.verb)
        return Operation(
            id=row.id,
            job_id=row.job_id,
            request=from_json(REQUESTS[verb], row.args),
            state=OperationState(row.state),
            error=from_json(Problem, row.error) if row.error else None,
            result=from_json(RESULTS[verb], row.result) if row.result else None,
            created=row.created,
            finished=row.finished,
        )

    return _read(f"Operation {row.id} ({row.verb}) of job {row.job_id}", read)


def observation_of(row: Any) -> Observation:
    """Return a run's observation from its row; raise EngineError if this release cannot read it."""
    return _read(
        f"What run {row.token} of job {row.job_id} told ({row.kind})",
        lambda: Observation(row.job_id, row.token, from_json(FACTS[row.kind], row.payload), row.id, row.at),
    )


def event_of(row: Any) -> JobEvent:
    """Return an event of a job from its row; raise EngineError if this release cannot read it."""

    def read() -> JobEvent:
        # Older releases wrote down changes of state only, and did not say that they are.
        return from_json(JOB_EVENTS[row.body.get("kind", StateChange.kind)], row.body)

    return _read(f"Event {row.sequence} of job {row.job_id}", read)


def version_of(row: Any) -> KeptVersion:
    """Return a version of a job from its row; raise EngineError if this release cannot read it."""
    return _read(f"Version {row.number} of job {row.job_id}", lambda: KeptVersion(from_json(Version, row.body), row.since))


def source_of(job_id: str, number: int, text: str | None) -> JobSource:
    """Return the code of a version of a job from its JSON; raise EngineError if this release cannot read it."""
    return _read(f"The code of version {number} of job {job_id}", lambda: from_json(JobSource, json.loads(text or "null")))


def sample_of(row: Any) -> Sample:
    """Return a sample of a job from its row; raise EngineError if this release cannot read it."""
    return _read(f"A sample of job {row.job_id}", lambda: from_json(Sample, row.body))


def command_of(row: Any) -> Command:
    """Return a command to a run from its row. Raise EngineError if this release cannot read it: a later one has written it.

    The run then ends and is started again, by the release of the control plane.
    """
    read = lambda: Command(row.id, row.job_id, row.token, from_json(ORDERS[row.kind], row.args))  # noqa: E731
    return _read(f"Command {row.id} ({row.kind}) of job {row.job_id}", read, restartable=True)


def progress_of(row: Any) -> Progress:
    """Return the progress of a run from its columns ``job_id`` and ``body``.

    If it cannot be read, return that of a run that has done nothing: it holds counters that people look at, and no state.
    """
    values = list(readable(lambda each: _read(f"Progress of {each.job_id}", lambda: from_json(Progress, each.body)), [row]))
    return values[0] if values else Progress()


def readable(read: Callable[[Any], T], rows: Iterable[Any]) -> list[T]:
    """Return the values of the rows that can be read. The others stay in the store, and the log names them."""
    values = []
    for row in rows:
        try:
            values.append(read(row))
        except EngineError as error:
            _say_once(error.message)
    return values


@cache
def _say_once(reason: str) -> None:
    log.error("a row of the store is left out", reason=reason)


def _read(what: str, read: Callable[[], T], **details: Any) -> T:
    try:
        return read()
    except (ValueError, KeyError) as error:
        lines = str(error).splitlines()
        reason = " ".join(line.strip() for line in lines[1:3]) or repr(error)
        sentence = (
            f"{what} cannot be read by this release of Pitstop ({reason}): start the release that wrote it, or a later one."
        )
        raise EngineError(sentence, **details) from error
