"""The Python client: a connection to a server, which submits jobs and finds jobs and maps again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from pitstop.client.address import DEFAULT_URL
from pitstop.client.http import HttpService
from pitstop.client.job_handle import JobHandle, plain_options
from pitstop.client.map_handle import MapHandle
from pitstop.client.rows import SqlRows, rows_of_last
from pitstop.model.snapshot import SnapshotRecord
from pitstop.model.typed_options import JobOptions
from pitstop.service.api import Service, SubmitRequest
from pitstop.service.kept_artifacts import Artifact
from pitstop.service.log_results import LoggerLevel


def connect(url: str | None = None, token: str | None = None) -> Client:
    """Return a client of the server at ``url`` (default: ``$PITSTOP_URL``, then http://127.0.0.1:8701).

    ``token`` defaults to ``$PITSTOP_TOKEN``. It can be left out for the user's own server on this machine if that server has made
    its token.
    """
    address = url or os.environ.get("PITSTOP_URL") or DEFAULT_URL
    return Client(HttpService(address, token or os.environ.get("PITSTOP_TOKEN"), names_folders=True))


class Client:
    """Submits jobs and finds them again. Use it in a ``with`` statement, or keep it as long as the process lives."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        if isinstance(self.service, HttpService):
            self.service.close()

    def submit(
        self,
        artifact: str | Path,
        entry: str | None = None,
        args: tuple[str, ...] | list[str] = (),
        name: str | None = None,
        initial_snapshot: str | None = None,
        config: JobOptions | Mapping[str, Any] | None = None,
        id: str | None = None,
    ) -> JobHandle:
        """Submit an artifact and return at once: the job starts by itself (:meth:`JobHandle.wait_started`).

        ``artifact`` is a .py, .zip, .whl or .sql file of this machine, or a URL that the server reads. ``entry`` is
        ``module:function``; it can be left out if the artifact holds exactly one job. ``config`` overrides the options in the
        code; a value of None leaves what the code says. With an ``id`` of your own (16 hex digits in four groups, the first below
        8) you can submit again after a broken connection: a job that already has the id is returned. Raises ArtifactError,
        UsageError (unknown option), NotFoundError (snapshot) and ConflictError (an active job has that name).
        """
        request = SubmitRequest(str(artifact), None, entry, tuple(args), name, initial_snapshot, plain_options(config), id)
        return JobHandle(self.service, self.service.submit(request).id)

    def jobs(self, include_ended: bool = False) -> list[JobHandle]:
        """Return the jobs that have not ended, or all that are remembered."""
        return [JobHandle(self.service, status.id) for status in self.service.jobs(include_ended)]

    def job(self, name_or_id: str) -> JobHandle:
        """Return the job of that name or id. NotFoundError if there is none."""
        return JobHandle(self.service, self.service.job(name_or_id).id)

    def snapshots(self) -> list[SnapshotRecord]:
        """Return the named snapshots, by name."""
        return self.service.snapshots()

    def artifacts(self) -> list[Artifact]:
        """Return the files of jobs that the server keeps, by name, each with the versions of jobs that use it."""
        return self.service.artifacts()

    def sql(self, statements: str) -> SqlRows:
        """Run SQL statements, separated by ``;``, and return the rows of the last one, as dicts by column.

        UsageError, with the place of the mistake, if the text cannot be read: no statement is run then. The first statement that
        fails ends the rest, with the error of the verb that it stands for.
        """
        return rows_of_last(self.service, statements)

    def query_state(self, snapshot: str, stage: str, sql: str = "SELECT * FROM state", limit: int = 1000) -> list[dict[str, Any]]:
        """Run Spark SQL on a stage's state in a snapshot (table ``state``), and return rows. UsageError if the SQL is wrong."""
        result = self.service.query_state(snapshot, stage, sql, limit)
        return [dict(zip([name for name, _ in result.columns], row, strict=True)) for row in result.rows]

    def export_state(self, snapshot: str, stage: str, file: str | Path) -> None:
        """Write the state of a stage in a snapshot to a parquet file."""
        Path(file).write_bytes(self.service.export_state(snapshot, stage))

    def import_state(self, snapshot: str, stage: str, file: str | Path, name: str | None = None) -> SnapshotRecord:
        """Replace a stage's state by the rows of a parquet file, in the same snapshot or in a new one called ``name``."""
        return self.service.import_state(snapshot, stage, Path(file).read_bytes(), name)

    def delete_snapshot(self, name: str) -> None:
        """Delete a snapshot. NotFoundError if there is none of that name."""
        self.service.delete_snapshot(name)

    def log_levels(self) -> list[LoggerLevel]:
        """Return the levels of loggers for servers and all runs."""
        return self.service.log_levels()

    def set_log_level(self, logger: str, level: str | None) -> None:
        """Set the level from which a logger writes, in servers and all runs. None restores the default. Nothing is restarted."""
        self.service.set_log_level(logger, level)

    def map(self, name: str) -> MapHandle:
        """Return a map. The map is made with its first entry."""
        return MapHandle(self.service, name)
