"""What a control plane costs while 50 jobs run and nobody asks anything, and with 200 streams of events that follow them.

``python benchmarks/steady.py`` prints one JSON line.

The runs are the real runners, with a runtime without Spark that commits an epoch a second, all in this process: so many Sparks
would need 30 GB. The control plane sees what it always sees: leases, reports, facts and a process that lives.
"""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx2

from doors import PLAN, STAGES
from pitstop.errors import ConflictError, SnapshotError
from pitstop.kit.ids import new_job_id, new_lineage
from pitstop.launchers.processes import find, handle_in, own_handle
from pitstop.launchers.wake import UnixSocketWake
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobSource, JobState, Progress, Version
from pitstop.runner.run import RENEW_SECONDS, Runner
from pitstop.runner.runtime import Opened
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.registry import SqlRegistry
from pitstop.store.runner_link import SqlRunnerLink
from served import serving

JOBS, SECONDS, WARM_SECONDS, STREAMS = 50, 60.0, 15.0, 200
OPTIONS = {"processing_guarantee": "exactly_once"}


class Epochs:
    """A query that commits an epoch a second (runner.runtime.Started), and the runtime that starts it."""

    active = up = first_epoch = True
    outgrown, holds_still = None, False

    def __init__(self):
        self._began = time.monotonic()

    def has_ended(self):
        return False

    def explain(self, error):
        return error

    def open(self, job, ties):
        config = JobConfig.from_options(OPTIONS)
        ties.when_compiled(config)
        return Opened(PLAN, config, job.version.lineage or new_lineage(), lambda before: self)

    def look(self):
        epoch = int(time.monotonic() - self._began)
        return Progress(epoch, epoch * 1000, epoch * 1000, 1000.0, 400, 0, STAGES)

    def working_on(self):
        return None

    def failure(self):
        return None

    def committed_at(self, epoch):
        return time.time()

    def execution(self, epochs):
        return {"stages": [], "plan": "", "peekable": []}

    def peek(self, stage, limit, seconds):
        raise ConflictError("There are no rows here.")

    def stop(self, seconds):
        return self.look().epoch

    def export(self, name, at_rest=False):
        raise SnapshotError("There is no state here.")


def run(job_id, database, data):
    wake = UnixSocketWake(data)
    runner = Runner(job_id, 1, own_handle(), SqlRunnerLink(database, wake), wake, Epochs(), log=lambda *_: None)

    def keep_lease():
        while runner.renew():
            time.sleep(RENEW_SECONDS)

    threading.Thread(target=runner.run, daemon=True).start()
    time.sleep(SECONDS / JOBS / 10)  # fifty jobs do not do the same in the same moment
    threading.Thread(target=keep_lease, daemon=True).start()


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        data = DataFolder(folder / "data")
        data.root.mkdir()
        database = open_database(sqlite_url(data.store))
        registry = SqlRegistry(database)
        for number in range(JOBS):
            version = Version(1, JobSource("/srv/job.py"), OPTIONS, JobConfig.from_options(OPTIONS), PLAN, new_lineage())
            job = Job(new_job_id(), f"job-{number}", time.time(), version, JobState.STARTING, token=1)
            registry.add_job(job)
            run(job.id, database, data)
        with serving(folder, stop_jobs=False) as client:  # its runs are this process
            time.sleep(WARM_SECONDS)
            states = {job.status for job in client.service.jobs()}
            assert states == {JobState.RUNNING}, states
            pid = find(handle_in(data.control_process)).pid
            cores = cores_of(pid)
            with following(client.service.url, data.token.read_text().strip()):
                time.sleep(WARM_SECONDS)
                with_streams = cores_of(pid)
            assert {job.status for job in client.service.jobs()} == {JobState.RUNNING}
    print(json.dumps({"server_cores": cores, "server_cores_with_streams": with_streams}), flush=True)
    os._exit(0)


def cores_of(pid):
    """How much of a core a process uses."""
    before = used(pid)
    time.sleep(SECONDS)
    return (used(pid) - before) / SECONDS


@contextlib.contextmanager
def following(url, token):
    """So many streams are read meanwhile, by a process of their own."""
    readers = subprocess.Popen([sys.executable, __file__, "follow", url], env=os.environ | {"PITSTOP_TOKEN": token})
    try:
        yield
        assert readers.poll() is None, "the readers have ended"
    finally:
        readers.send_signal(signal.SIGKILL)
        readers.wait()


async def follow(url):
    """Read so many streams for ever."""

    async def read(client):
        async with client.stream("GET", f"{url}/api/v1/events") as response:
            assert response.status_code == 200, response.status_code
            async for _ in response.aiter_bytes():
                pass

    headers = {"Authorization": f"Bearer {os.environ['PITSTOP_TOKEN']}"}
    async with httpx2.AsyncClient(headers=headers, timeout=None, limits=httpx2.Limits(max_connections=STREAMS)) as client:
        await asyncio.gather(*(read(client) for _ in range(STREAMS)))


def used(pid):
    """Seconds of a processor that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    asyncio.run(follow(sys.argv[2])) if sys.argv[1:] else main()
