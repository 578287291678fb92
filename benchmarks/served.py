"""How long a job takes to start, and an epoch that has hardly anything to do: ``python benchmarks/served.py`` prints a JSON line.

Imports the client alone and starts the command, as a user does, so that an older version's Python can run this file, too: that is
how ``make bench-beside`` measures both checkouts. :mod:`start` and :mod:`epoch` look closer, at one version.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from pitstop.client import connect

STARTS, WARM_EPOCHS, EPOCHS, AT_ONCE, SECONDS = 3, 40, 60, 100, 400.0
LOOK_SECONDS = 0.01

JOB = """
import pitstop as ps

@ps.job(processing_guarantee="exactly_once", partitions=2)
def numbers():
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.map_journal("{kind}-in"), name="in").select("key", "cast(new_value as bigint) v")
    rows{way}.write_to(ps.sinks.map("{kind}-out", key="key"), name="out")
    return p
"""
WAYS = {
    "stateless": "",
    "rolling": '.group_by("key").rolling_aggregate("so-far", n=ps.count(), high=ps.max("v")).select("key", "high as v")',
}


def wait(holds, what):
    end = time.monotonic() + SECONDS
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(f"{what} within {SECONDS:.0f} s: no")
        time.sleep(LOOK_SECONDS)


@contextmanager
def serving(folder, *options, stop_jobs=True):
    """A client of a server on ``folder``/data, with one warm runner if the options do not say otherwise.

    Each job has an engine of its own, so that nothing but it is measured.
    """
    command = [sys.executable, "-m", "pitstop.main", "serve", "--data", str(folder / "data"), "--port", "0"]
    with (folder / "server.log").open("a") as errors:
        server = subprocess.Popen(
            [*command, "--spares", "1", *(["--stop-jobs-on-exit"] if stop_jobs else []), *options],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={"PITSTOP_ENGINE": "own"} | os.environ | {"PYTHONUNBUFFERED": "1"},
        )
    try:
        yield connect(server.stdout.readline().split(" serves at ")[1].split()[0])
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)


def spare_ready(folder):
    """Wait for a spare that is warm and has no job yet; those that have one keep their folders."""

    def warm():
        spares = (folder / "data" / "spares").glob("*/ready")
        return any(not ready.with_name("assignment.json").exists() for ready in spares)

    wait(warm, "a warm runner")


def submit(client, folder, kind):
    file = folder / f"{kind}.py"
    file.write_text(JOB.format(kind=kind, way=WAYS[kind]))
    return client.submit(file, name=kind)


def starts(folder, spares):
    """Seconds from submit to RUNNING, the median of STARTS; the server's first job is not counted."""
    folder.mkdir()
    seconds = []
    with serving(folder, "--spares", str(spares)) as client:
        client.map("rolling-in").configure(journal_capacity=100_000)
        for _ in range(STARTS + 1):
            if spares:
                spare_ready(folder)
            began = time.monotonic()
            job = submit(client, folder, "rolling")
            job.wait_started(SECONDS)
            seconds.append(time.monotonic() - began)
            job.cancel()
    return median(seconds[1:])


def idle_epoch(client, folder, kind):
    """Seconds from a put of AT_ONCE entries to their results, the next ones once these are there: the median of EPOCHS."""
    given, results, number, waves = client.map(f"{kind}-in"), client.map(f"{kind}-out"), 1_000_000, []
    given.configure(journal_capacity=100_000)
    job = submit(client, folder, kind)
    job.wait_started(SECONDS)
    for _ in range(WARM_EPOCHS + EPOCHS):
        began = time.monotonic()
        given.put_all({str(each % 1000): each for each in range(number, number + AT_ONCE)})
        wait(lambda first=number: (results.get(str(first % 1000)) or {"v": 0})["v"] == first, "a result")
        waves.append(time.monotonic() - began)
        number += AT_ONCE
    job.cancel()
    return median(waves[WARM_EPOCHS:])


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        found = {"start_cold_seconds": starts(folder / "cold", 0), "start_with_spare_seconds": starts(folder / "warm", 1)}
        with serving(folder, "--spares", "0") as client:
            found |= {f"idle_epoch_{kind}_seconds": idle_epoch(client, folder, kind) for kind in WAYS}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
