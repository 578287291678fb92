"""``make demo``: everything at once, with progress, until Ctrl-C or for so many seconds."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from stack import HERE, Stack, wait_until
from verify import compare, emitted_alpha, emitted_beta, ingested

from pitstop.client import Client, HttpService, JobHandle
from pitstop.errors import PitstopError


def say(text: str, end: str = "\n") -> None:
    print(text, end=end, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, help="end by itself after so many seconds of running")
    parser.add_argument("--port", type=int, default=8701)
    parser.add_argument("--speedup", type=float, default=30.0, help="simulated seconds a second")
    options = parser.parse_args()
    # A shell without job control starts background processes with SIGINT ignored; both signals end the demo in order.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="pitstop-demo-"))
    try:
        with Stack(folder, speedup=options.speedup, port=options.port) as stack:
            return run(stack, options.seconds)
    except (PitstopError, RuntimeError, TimeoutError) as error:
        say(f"\nERROR: {error}")
        return 1
    except KeyboardInterrupt:
        say("\nended before there was anything to count.")
        return 130
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(stack: Stack, seconds: float | None) -> int:
    """Start, watch, end, judge; the exit code."""
    say("starting the control plane ...", end=" ")
    client = stack.start_server()
    say(stack.url)
    say("starting both fleet simulators ...", end=" ")
    stack.start_simulators()
    say(f"alpha writes to {stack.alpha_dir}, beta answers at {stack.beta_url}")
    say("starting the ingest job (a Spark session takes some seconds) ...", end=" ")
    job = client.submit(HERE / "ingest.py", args=stack.job_arguments, name="fleet-ingest")
    job.wait_started()
    say("running\n")
    say(f"  the page, with the vehicles on a map (the link works once): {HttpService(stack.url).sign_in_link()}")
    say(f"  pitstop --url {stack.url} ui | list-jobs | status fleet-ingest | logs -f fleet-ingest | map entries vehicles")
    say(f"  REST {stack.url}/api/v1/jobs  OpenAPI {stack.url}/openapi.json  metrics {stack.url}/metrics\n")
    try:
        watch(client, job, seconds)
    except KeyboardInterrupt:
        say("\nending ...")
    return summary(stack, client, job)


def watch(client: Client, job: JobHandle, seconds: float | None) -> None:
    """One line of progress a second."""
    vehicles, began, before, last = client.map("vehicles"), time.monotonic(), 0, time.monotonic()
    while seconds is None or time.monotonic() - began < seconds:
        time.sleep(1.0)
        progress, now = job.metrics(), time.monotonic()
        rate = (progress.input_rows - before) / (now - last)
        before, last = progress.input_rows, now
        line = f"pings {progress.input_rows:>8,}  {rate:>6.0f}/s  vehicles {vehicles.size():>3}"
        line += f"  epoch {progress.epoch:>5}  {job.status}"
        say(("\r" + line) if sys.stdout.isatty() else line, end="" if sys.stdout.isatty() else "\n")


def summary(stack: Stack, client: Client, job: JobHandle) -> int:
    """Let the job read what is left, then count: 0 only if nothing is missed and nothing doubled."""
    alpha_count = stack.pause_alpha()
    stack.freeze_beta()
    beta = emitted_beta(stack.beta_url)
    emitted = emitted_alpha(stack.alpha_dir) + beta
    try:
        wait_until(lambda: job.metrics().input_rows >= emitted.total() or not job.details.active, 60, "reading the last pings")
    except TimeoutError as error:
        say(f"\n{error}")
    vehicles = client.map("vehicles").size()
    if job.details.active:
        job.suspend()
    verdict = compare(emitted, ingested(stack.archive))
    say(
        f"\n\nemitted by alpha  {alpha_count:>8,}\nemitted by beta   {beta.total():>8,}\ningested          {verdict.ingested:>8,}"
    )
    say(f"vehicles          {vehicles:>8,}\nmissed            {verdict.missed:>8,}\ndoubled           {verdict.doubled:>8,}")
    return 0 if verdict.clean else 1


if __name__ == "__main__":
    sys.exit(main())
