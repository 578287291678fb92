"""Connections to the servers of clusters. Their streams of events tell of jobs and members."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import structlog

from pitstop.client.away import Absence
from pitstop.client.http import HttpService
from pitstop.errors import PitstopError, UnreachableError, WaitTimeoutError
from pitstop.model.job import Progress
from pitstop.model.snapshot import SnapshotRecord
from pitstop.service.cluster_results import ClusterInfo
from pitstop.service.job_results import JobStatus
from pitstop.service.map_results import MapFacts

log = structlog.get_logger("pitstop.operator")

T = TypeVar("T")

_NO_PROGRESS = Progress()
YOUNG_SECONDS = 15.0
"""The time after a connection is made in which a silent server is not yet reported as away."""
READ_SECONDS = 15.0
"""The time within which a server answers a question. What it is asked to do may take longer."""


@dataclass(frozen=True)
class Address:
    """The URL of a server, and the token that it asks for."""

    url: str
    token: str


class Connection:
    """A connection that follows one server, in a separate thread, until it is closed.

    ``job_changed`` is called with the id of each job that has changed, or with None if any job may have. ``cluster_changed`` is
    called when members come or go, and when the server begins or ceases to answer.
    """

    def __init__(self, address: Address, job_changed: Callable[[str | None], None], cluster_changed: Callable[[], None]) -> None:
        self.address = address
        self.service = HttpService(address.url, address.token, program="kubernetes")
        self._reads = HttpService(address.url, address.token, program="kubernetes", patience=READ_SECONDS)
        self._job_changed, self._cluster_changed = job_changed, cluster_changed
        self._lock = threading.Lock()
        self._jobs: dict[str, JobStatus] = {}
        self._info: ClusterInfo | None = None
        self._is_complete, self._created = False, time.monotonic()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="following-a-server", daemon=True)
        self._thread.start()

    @property
    def is_young(self) -> bool:
        """True if the server has not answered yet, and may do so at any moment."""
        with self._lock:
            return not self._is_complete and time.monotonic() - self._created < YOUNG_SECONDS

    @property
    def info(self) -> ClusterInfo | None:
        """The cluster as last reported; None while its server does not answer."""
        with self._lock:
            return self._info

    def job(self, job_id: str) -> JobStatus | None:
        """Return the job of that id; None if there is none. Ask only while ``info`` is known."""
        with self._lock:
            return self._jobs.get(job_id)

    def ask_again(self, job_id: str) -> None:
        """Read a job now, so that the effect of a verb is seen at once."""
        status = dataclasses.replace(self._read(lambda: self._reads.job(job_id)), progress=_NO_PROGRESS)
        with self._lock:
            self._jobs[job_id] = status

    def maps(self) -> list[MapFacts]:
        """Return all maps of the cluster."""
        return self._read(self._reads.maps)

    def snapshots(self) -> list[SnapshotRecord]:
        """Return all saved states of the cluster."""
        return self._read(self._reads.snapshots)

    def _read(self, question: Callable[[], T]) -> T:
        try:
            return question()
        except WaitTimeoutError:
            raise UnreachableError(f"The server at {self.address.url} has not answered within {READ_SECONDS:g} s.") from None

    def close(self) -> None:
        """Stop following the server. A request that is under way still gets its answer."""
        self._stopped.set()

    def _follow(self) -> None:
        absence = Absence(self._away, self._stopped)
        while not self._stopped.is_set():
            try:
                for kind, change in self.service.changes(("job", "cluster")):
                    if self._stopped.is_set():
                        return
                    absence.over()
                    self._take(kind, change)
                absence.wait(UnreachableError(f"The server at {self.address.url} has ended."))
            except PitstopError as error:
                if not self._stopped.is_set():
                    absence.wait(error)
            except Exception:
                # A follower that died would leave its cluster as it last was, for ever.
                log.exception("a server could not be followed; trying again", url=self.address.url)
                self._stopped.wait(5.0)

    def _take(self, kind: str, change: JobStatus | ClusterInfo | None) -> None:
        if isinstance(change, JobStatus):
            with self._lock:
                self._jobs[change.id] = change
            self._job_changed(change.id)
        elif isinstance(change, ClusterInfo):
            with self._lock:
                before, self._info = self._info, change
            # No status shows the heart-beats of members, or the jobs on them.
            if before is None or len(before.members) != len(change.members):
                self._cluster_changed()
        elif kind in ("ready", "resync"):
            self._read_all()

    def _read_all(self) -> None:
        statuses = self._read(lambda: self._reads.jobs(include_ended=True))
        jobs = {each.id: dataclasses.replace(each, progress=_NO_PROGRESS) for each in statuses}
        info = self._read(self._reads.server_info)
        with self._lock:
            self._jobs, self._info, self._is_complete = jobs, info, True
        self._cluster_changed()
        self._job_changed(None)

    def _away(self, error: PitstopError, seconds: float) -> None:
        with self._lock:
            last_info, self._info = self._info, None
        if last_info is not None:
            log.warning("a server is away; trying again", url=self.address.url, reason=error.message)
            self._cluster_changed()
