"""How a control plane answers while many clients poll and wait; prints one JSON line. ``python benchmarks/doors.py``

The server has one core and 1,000 jobs, the clients have the others. 2,000 clients wait for a job to fail, 500 ask for one job
each second, and one lists all jobs again and again; meanwhile jobs make progress.
"""

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2

from pitstop.kit.ids import new_job_id
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.registry import SqlRegistry

JOBS, WAITING, POLLING = 1000, 2000, 500
SECONDS, WARM_SECONDS = 30.0, 10.0
PROGRESSES = 50
"""So many jobs tell their progress in a second."""
TOKEN = "the-token-of-the-benchmark"
STAGES = {f"stage-{number}": {"rows_in": 1000, "rows_out": 900, "state_rows": 100, "state_bytes": 4096} for number in range(8)}
PLAN = {"stages": [{"name": name, "kind": "window", "description": "a window of a minute by car" * 3} for name in STAGES]}


def fill(folder):
    """A store with jobs that are suspended: nobody starts them, and they have all that a running one has."""
    database = open_database(sqlite_url(folder / "pitstop.db"))
    registry = SqlRegistry(database)
    source = JobSource("/srv/artifacts/" + "0" * 64 + "/job.py", "job:speeds", ("--folder", "/srv/cars"))
    ids = []
    for number in range(JOBS):
        version = Version(1, source, {"partitions": 2}, JobConfig.from_options({"partitions": 2}), PLAN, "0123456789abcdef")
        ids.append(new_job_id())
        registry.add_job(
            Job(ids[-1], f"job-{number}", float(number), version, JobState.SUSPENDED, suspension_cause="Requested by user")
        )
    return database, ids


def report(database, job_id, epoch):
    text = json.dumps({"epoch": epoch, "input_rows": epoch * 1000, "rows_per_second": 123.4, "stages": STAGES})
    with database.write_rows() as cursor:
        cursor.execute("INSERT OR REPLACE INTO job_progress (job_id, body) VALUES (?, ?)", (job_id, text))


SERVER = """
import os, sys
os.sched_setaffinity(0, {0})
from pitstop.main.app import main
sys.argv = ["pitstop", "serve", "--data", sys.argv[1], "--port", "0", "--spares", "0"]
main()
"""


def served(folder):
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PITSTOP_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"},
    )
    return server, server.stdout.readline().split(" serves at ")[1].split()[0].removeprefix("http://")


class Connection:
    """One client: requests one after another on one connection. Its cost must be small beside the server's."""

    def __init__(self, address):
        self._host, port = address.rsplit(":", 1)
        self._port = int(port)

    async def get(self, path):
        """Seconds until the whole answer was there."""
        if not hasattr(self, "_reader"):
            self._reader, self._writer = await asyncio.open_connection(self._host, self._port, limit=1 << 26)
        began = time.perf_counter()
        self._writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        self.body = await self._reader.readexactly(length)
        self.status = int(head.split(b" ", 2)[1])
        return time.perf_counter() - began


async def load(address, database, ids):
    until = time.monotonic() + WARM_SECONDS + SECONDS
    measured_from = until - SECONDS
    lists, polls, woken = [], [], []

    async def wait(number):
        await asyncio.sleep(random.random() * WARM_SECONDS / 2)
        connection = Connection(address)
        while time.monotonic() < until:
            await connection.get(f"/api/v1/jobs/{ids[number % JOBS]}?wait_for=FAILED&timeout=20")
            woken.append(connection.status)

    async def poll(number):
        connection = Connection(address)
        await asyncio.sleep(random.random())
        due = time.monotonic()
        while due < until:
            taken = await connection.get(f"/api/v1/jobs/{ids[number % JOBS]}")
            assert connection.status == 200
            if due > measured_from:
                polls.append(time.monotonic() - due if taken > 1 else taken)
            due += 1
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    async def list_all():
        connection = Connection(address)
        while time.monotonic() < until:
            taken = await connection.get("/api/v1/jobs")
            assert len(json.loads(connection.body)) == JOBS
            if time.monotonic() > measured_from:
                lists.append(taken)
            await asyncio.sleep(0.2)

    async def progress():
        epoch = 0
        while time.monotonic() < until:
            epoch += 1
            await asyncio.to_thread(report, database, random.choice(ids), epoch)
            await asyncio.sleep(1 / PROGRESSES)

    tasks = [*map(wait, range(WAITING)), *map(poll, range(POLLING)), list_all(), progress()]
    await asyncio.wait_for(asyncio.gather(*tasks), WARM_SECONDS + SECONDS + 60)
    return lists, polls


def percent(values, share):
    return statistics.quantiles(values, n=100)[share - 1]


def main():
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    os.sched_setaffinity(0, set(range(1, os.cpu_count() or 2)) or {0})
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        database, ids = fill(folder)
        server, address = served(folder)
        try:
            began = time.process_time()
            lists, polls = asyncio.run(load(address, database, ids))
            clients = time.process_time() - began
            with Path(f"/proc/{server.pid}/stat").open() as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
            used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            size = len(httpx2.get(f"http://{address}/api/v1/jobs", headers={"Authorization": f"Bearer {TOKEN}"}).content)
        finally:
            server.terminate()
            server.wait(30)
            database.close()
    found = {
        "list_p50": percent(lists, 50), "list_p99": percent(lists, 99), "list_bytes": size, "lists": len(lists),
        "poll_p50": percent(polls, 50), "poll_p99": percent(polls, 99), "polls_a_second": len(polls) / SECONDS,
        "server_cores": used / (WARM_SECONDS + SECONDS), "client_cores": clients / (WARM_SECONDS + SECONDS),
    }  # fmt: skip
    print(json.dumps(found))


if __name__ == "__main__":
    main()
