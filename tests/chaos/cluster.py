"""The product under test: a real server with two members and the three jobs, and every process of it by its handle."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import psutil

from pitstop.control.decision import REQUESTED
from pitstop.control.ports.launcher import RunHandle
from pitstop.errors import PitstopError
from pitstop.kit.waiting import wait_until
from pitstop.launchers.processes import find, handle_in, kill_all
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobState
from pitstop.model.process_folders import SpareFolder
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.registry import SqlRegistry
from tests.chaos.feeds import Feeds
from tests.chaos.outputs import Difference, Through, differences
from tests.chaos.reference import MAPS
from tests.folders import everything_below
from tests.soak.served.server import stepped_clock

ARTIFACT = Path(__file__).with_name("jobs.py")
JOBS = ("counts", "spans", "pairs")
MEMBERS = 2
START_SECONDS, LONGEST_SECONDS = 600.0, 600.0
ENDED = (JobState.SUSPENDED, JobState.FAILED, JobState.COMPLETED)


class ChaosFailedError(Exception):
    """A job did not go on, or what came differs from what must come."""


class Cluster:
    """The server, its members, and the jobs. ``small`` is the folder for all that they write."""

    jobs: tuple[str, ...] = JOBS
    members = MEMBERS

    def __init__(self, folder: Path, small: Path, spares: int) -> None:
        sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "fleet"))
        from stack import Stack

        self.small, self.out, self.spares = small, small / "out", spares
        self._clock, self._version = folder / "clock", 0
        self._stack = Stack(small / "served", spares=spares)
        self.data = DataFolder(self._stack.data)
        self.parts = [self.data]
        """Of each server, what it alone uses of the data folder."""
        self.feeds = self._make_feeds(folder / "feeds")
        self.through = self._make_through()
        self.client: Any = None
        self._kept = self._first = frozenset(f"member-{number}" for number in range(1, self.members + 1))
        """The members that the server starts again when they die: it has started them."""

    def start(self) -> None:
        """Return once all jobs have written something."""
        self.out.mkdir()
        self._stack.__enter__()
        self.start_server()
        self.feeds.start()
        for job in self.jobs:
            self.client.submit(ARTIFACT, entry=f"jobs:{job}", args=self._arguments(job), name=job)
        self.wait(lambda: all(through.has(0) for through in self.through.values()), "all jobs have begun", START_SECONDS)

    def close(self) -> None:
        """End whatever was started, in whatever state it is."""
        self.feeds.close()
        self.kill_everything()
        self._stack.end()

    def keep_logs(self, folder: Path) -> None:
        """What is needed to find out what went wrong, out of the small disk."""
        for path in [
            *(path for path in everything_below(self.data.root) if ".log" in path.suffixes),
            *self.data.root.glob(f"{self.data.store.name}*"),
        ]:
            target = folder / path.relative_to(self.data.root)
            target.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(path, target)
        shutil.copytree(self.out, folder / "out", dirs_exist_ok=True)

    # the server

    def start_server(self) -> None:
        with stepped_clock(self._clock):
            self.client = self._stack.start_server(members=self.members)
        self._kept = self._first

    def kill_server(self) -> None:
        self._stack.kill_server()

    def kill_everything(self) -> None:
        """The server first: it would start again what is killed."""
        for handle in filter(None, (handle_in(part.control_process) for part in self.parts)):
            kill_all(handle)
        for handle in self._handles():
            kill_all(handle)

    def server_process(self) -> list[int]:
        return self._pids(handle_in(self.data.control_process))

    def step_clock(self, seconds: int) -> None:
        """Set the wall clock of all Python processes of the product on, or back."""
        self._clock.write_text(str(seconds))

    # its processes

    def runner(self, job: str) -> list[int]:
        """The process of the job's present run; empty if it has none."""
        found = self.job(job)
        return self._pids(self._registry.handle_of(found.id, found.token))

    def engines(self) -> list[int]:
        """The processes of engines, each a JVM that jobs share, with all that they have started."""
        roots = [pid for file in self._engine_files() for pid in self._pids(handle_in(file))]
        return [*roots, *below(roots)]

    def spare_ready(self) -> bool:
        """True if the next run that starts gets a warm runner."""
        return any(spare.ready.exists() for spare in self._waiting_spares())

    def kill_spares(self) -> None:
        """The server starts others, which take their time to warm up."""
        for handle in filter(None, (handle_in(spare.process) for spare in self._waiting_spares())):
            kill_all(handle)

    def member_names(self) -> list[str]:
        """Those whose process lives."""
        return sorted(path.name for path in self.data.members.glob("*") if self._pids(handle_in(path / "process.json")))

    def add_member(self) -> None:
        self._kept |= {self.client.service.add_member()}

    def remove_member(self, name: str) -> None:
        self.client.service.remove_member(name)
        self._kept -= {name}

    def member(self, name: str) -> list[int]:
        return self._pids(handle_in(self.data.member(name).process))

    def worker(self, name: str) -> list[int]:
        """The Spark worker of a member."""
        return self._pids(handle_in(self.data.member(name).daemon))

    def executors(self, name: str) -> list[int]:
        return [child.pid for pid in self.worker(name) for child in psutil.Process(pid).children()]

    def machine(self, name: str) -> list[int]:
        """All that runs on a member: it, its worker, the executors, and their Python processes."""
        roots = [*self.member(name), *self.worker(name)]
        return list(dict.fromkeys([*roots, *below(roots)]))

    def master(self) -> list[int]:
        return [pid for part in self.parts for pid in self._pids(handle_in(part.spark_master.daemon))]

    # the jobs

    def job(self, name: str) -> Job:
        """As the store has it: no server is needed for that."""
        return self._registry.find_jobs(name)[0]

    def update(self, job: str) -> None:
        self._version += 1
        self.client.job(job).update(ARTIFACT, entry=f"jobs:{job}", args=self._arguments(job))

    def update_wrongly(self, job: str, version: str) -> None:
        """ChaosFailedError if an update to a version that cannot go on is not refused, or not taken back."""
        with contextlib.suppress(PitstopError):
            self.client.job(job).update(ARTIFACT, entry=f"jobs:{job}", args=self._arguments(job, version))
        self.wait(lambda: self.job(job).state is JobState.RUNNING, f"job '{job}' runs after an update to what {version}")
        if version in self.job(job).version.source.args:
            raise ChaosFailedError(f"Job '{job}' was updated to a version that {version}: {self.state()}")

    def resume(self, name: str) -> None:
        """Let a job go on that was to be suspended, once it is, or once nothing more will come of that."""

        def done() -> bool:
            with contextlib.suppress(PitstopError):
                job = self.job(name)
                if job.state is JobState.SUSPENDED:
                    self.client.job(job.id).resume()
                return not self._registry.open_operations(job.id)
            return False

        self.wait(done, f"job '{name}' is resumed")

    def checkpoint(self, job: str) -> Checkpoint:
        found = self.job(job)
        assert found.version.lineage is not None, f"job '{job}' has begun"
        return Checkpoint(self.data.job(found.id).checkpoint(found.version.lineage))

    def lines_read(self, job: str) -> bool:
        """True once the job has read all of the CSV file, and committed that: until then another run would read it again."""
        checkpoint, size = self.checkpoint(job), self.feeds.lines.file.stat().st_size
        read = checkpoint.offsets_by_source(checkpoint.committed())["lines"].values()
        return all(json.loads(offset)["files"].get(self.feeds.lines.file.name, [0])[0] == size for offset in read)

    def wait_settled(self) -> None:
        """All jobs run, all members are there, and what happens now comes through."""
        self.wait(self._complete, "all jobs run, and all members are there")
        seq = self.feeds.count
        self.wait(lambda: self.have(seq), "all jobs go on")

    def have(self, seq: int) -> bool:
        """True once all jobs have written something that came of events after this one."""
        return all(through.has(seq) for through in self.through.values())

    def wait(self, condition: Callable[[], bool], what: str, seconds: float = LONGEST_SECONDS, step: float = 0.1) -> None:
        """ChaosFailedError if it does not come true in time, or a job has ended by itself meanwhile."""
        look = Look(self)
        if not wait_until(lambda: condition() or look(), seconds, step):
            raise ChaosFailedError(f"It did not happen within {seconds:.0f} s that {what}: {self.state()}")

    def check(self) -> None:
        """ChaosFailedError if a job has failed or is suspended, though nobody has asked for it."""
        for job in map(self.job, self.jobs):
            if job.state in ENDED and job.suspension_cause != REQUESTED:
                raise ChaosFailedError(f"Job '{job.name}' is {job.state}: {job.failure or job.suspension_cause}")

    def state(self) -> str:
        """In a few words."""
        jobs = [f"{job.name} {job.state} (run {job.token}) {job.interruption or ''}".strip() for job in map(self.job, self.jobs)]
        return ", ".join([*jobs, *self.member_names()])

    def compare(self) -> list[Difference]:
        """Let all come to its end and stop the jobs; then look at all that they have written."""
        count = self.feeds.stop()
        # The watermark rises behind the epoch that reads what closes all windows.
        self.wait(lambda: self.have(count), "all events are read")
        self.feeds.close_more()
        wait_until(lambda: not any(found.lost for found in self._differences(count)), LONGEST_SECONDS / 2, step=2.0)
        for job in self.jobs:
            self.client.job(job).suspend()
        return self._differences(count)

    def _make_feeds(self, folder: Path) -> Any:
        return Feeds(folder)

    def _make_through(self) -> dict[str, Any]:
        return {job: Through(self.out, job) for job in self.jobs}

    def _differences(self, count: int) -> list[Difference]:
        maps = {name: self.client.map(name).entries() for name in MAPS}
        return differences(self.out, maps, count, self.feeds.count)

    def _complete(self) -> bool:
        """All jobs run, those that were suspended by request again, too, and all members are there that can be."""
        try:
            jobs = [self.client.job(job) for job in self.jobs]
            found = [job.details for job in jobs]
            for job, details in zip(jobs, found, strict=True):
                if details.status is JobState.SUSPENDED and details.suspension_cause == REQUESTED:
                    job.resume()
            members = {member.name for member in self.client.service.server_info().members}
        except PitstopError:
            return False
        all_run = all(job.status is JobState.RUNNING and not job.updating for job in found)
        # Without members the server's own machine is the only one.
        return all_run and (self.members == 0 or members == self._kept | set(self.member_names()))

    def _engine_files(self) -> list[Path]:
        return [part.engine(path.name).process for part in self.parts for path in part.engines.glob("*")]

    def _waiting_spares(self) -> list[SpareFolder]:
        return [spare for spare in self._spares() if not spare.assignment.exists()]

    def _spares(self) -> list[SpareFolder]:
        return [part.spare(path.name) for part in self.parts for path in part.spares.glob("*")]

    def _arguments(self, job: str, version: str = "") -> tuple[str, ...]:
        files, lines = str(self.feeds.files.folder), str(self.feeds.lines.folder)
        reads = {
            "counts": (files, str(self.feeds.mood)),
            "spans": (lines, str(self.feeds.table.folder)),
            "pairs": (lines, self.feeds.objects.url),
        }
        return (*reads[job], str(self.out), version or str(self._version))

    def _handles(self) -> Iterator[RunHandle]:
        """Of all that may run: master, members, spares; then runs, which only the store knows."""
        files = [path for part in self.parts for path in (part.spark_master.daemon, part.control_process)]
        for member in self.data.members.glob("*"):
            files += [member / "process.json", member / "daemon.json"]
        files += [spare.process for spare in self._spares()]
        files += self._engine_files()
        yield from filter(None, map(handle_in, files))
        for job in self._registry.jobs() if self.client is not None else []:
            yield from filter(None, [self._registry.handle_of(job.id, token) for token in range(1, job.token + 1)])

    @cached_property
    def _registry(self) -> SqlRegistry:
        return SqlRegistry(open_database(sqlite_url(self.data.store)))

    def _pids(self, handle: RunHandle | None) -> list[int]:
        process = find(handle) if handle is not None else None
        return [process.pid] if process is not None and process.runs else []


class Look:
    """Looks once in a while whether a job has ended by itself; a server that is away is asked again later."""

    def __init__(self, cluster: Cluster, seconds: float = 3.0) -> None:
        self._cluster, self._seconds, self._next = cluster, seconds, time.monotonic() + seconds

    def __call__(self) -> bool:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._seconds
            with contextlib.suppress(PitstopError):
                self._cluster.check()
        return False


def below(pids: list[int]) -> list[int]:
    """All that these processes have started, and that runs."""
    found = []
    for pid in pids:
        try:
            found += [child.pid for child in psutil.Process(pid).children(recursive=True)]
        except psutil.NoSuchProcess:
            continue
    return found
