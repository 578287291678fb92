"""Samples of jobs over time: a row for each second of the last minutes, and one for each minute of the last hours or days."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, delete, or_, select

from pitstop.kit.jsonable import to_json
from pitstop.model.job import Progress
from pitstop.model.retention import Retention
from pitstop.model.sample import LONGEST, STEPS, Sample
from pitstop.store import schema
from pitstop.store.database import Database
from pitstop.store.dialects.ports import Dialect
from pitstop.store.records import readable, sample_of

_TABLE = schema.samples


class SampleWriter:
    """A writer of the samples of one run, within the transactions that record its progress."""

    def __init__(self, dialect: Dialect, job_id: str, token: int) -> None:
        self._dialect, self._job_id, self._token = dialect, job_id, token
        self._last: dict[int, Sample] = {}

    def write(self, connection: Connection, progress: Progress, now: float, retention: Retention) -> None:
        """Record this progress for the present second and minute; once a minute, forget what is too old."""
        for step in STEPS:
            sample = Sample.of(progress, self._token, now, step)
            before = self._last.get(step)
            if step == LONGEST and (before is None or before.at != sample.at):
                before = self._earlier(connection, sample.at)
                connection.execute(delete(_TABLE).where(_TABLE.c.job_id == self._job_id, _old(now, retention)))
            self._last[step] = sample = sample if before is None else sample.after(before)
            values = {"job_id": self._job_id, "step": step, "at": sample.at, "body": to_json(sample)}
            connection.execute(self._dialect.upsert(_TABLE, ("job_id", "step", "at"), values))

    def _earlier(self, connection: Connection, at: int) -> Sample | None:
        """Return the sample that an earlier run of the job has written for the same minute."""
        where = (_TABLE.c.job_id == self._job_id) & (_TABLE.c.step == LONGEST) & (_TABLE.c.at == at)
        # One that this release cannot read must not end the run: it is overwritten.
        samples = readable(sample_of, connection.execute(select(_TABLE).where(where)).all())
        return samples[0] if samples else None


def samples_of(database: Database, job_id: str, step: int, after: float) -> list[Sample]:
    """Return the samples of a job that are ``step`` seconds apart and later than ``after``, oldest first.

    ``after`` is in seconds since the epoch.
    """
    where = (_TABLE.c.job_id == job_id) & (_TABLE.c.step == step) & (_TABLE.c.at > after)
    with database.read() as connection:
        rows = connection.execute(select(_TABLE).where(where).order_by(_TABLE.c.at)).all()
    return readable(sample_of, rows)


def forget_old(connection: Connection, now: float, retention: Retention) -> None:
    """Remove samples that are too old, including those of jobs that do not run."""
    connection.execute(delete(_TABLE).where(_old(now, retention)))


def _old(now: float, retention: Retention) -> ColumnElement[bool]:
    return or_(*[(_TABLE.c.step == step) & (_TABLE.c.at <= now - seconds) for step, seconds in retention.history.items()])
