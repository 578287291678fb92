"""``make demo``: everything at once, with progress, until Ctrl-C, a shutdown of the cluster, or for so many seconds."""

from __future__ import annotations

import argparse
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from stack import HERE, Stack
from verify import Key, compare, emitted_alpha, emitted_beta, left_behind

from pitstop.client import Client, HttpService
from pitstop.errors import PitstopError, UnreachableError
from pitstop.model.job import JobState

SILENT_SECONDS = 60


def say(text: str, end: str = "\n") -> None:
    print(text, end=end, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, help="end by itself after so many seconds of running")
    parser.add_argument("--port", type=int, default=8701)
    parser.add_argument("--speedup", type=float, default=30.0, help="simulated seconds a second")
    parser.add_argument("--members", type=int, default=0, help="members of the cluster; 0: jobs run on the server's own machine")
    parser.add_argument("--kafka", action="store_true", help="pings pass through a topic of Apache Kafka")
    options = parser.parse_args()
    # A shell without job control starts background processes with SIGINT ignored; both signals end the demo in order.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="pitstop-demo-"))
    try:
        with stack_of(options, folder) as stack:
            return run(stack, options.seconds, options.members)
    except (PitstopError, RuntimeError, TimeoutError) as error:
        say(f"\nERROR: {error}")
        return 1
    except KeyboardInterrupt:
        say("\nended before the job ran, so there is nothing to count.")
        return 130
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def stack_of(options: argparse.Namespace, folder: Path) -> Stack:
    if not options.kafka:
        return Stack(folder, speedup=options.speedup, port=options.port)
    from kafka_stack import Broker  # here, for a demo without Kafka needs no client of it

    broker = Broker(folder / "kafka")
    return Stack(folder / "fleet", speedup=options.speedup, port=options.port, broker=broker)


def run(stack: Stack, seconds: float | None, members: int) -> int:
    """Start, watch, end, judge; the exit code."""
    start_broker(stack)
    say("starting the control plane ...", end=" ")
    client = stack.start_server(members=members)
    say(stack.url)
    say("starting both fleet simulators ...", end=" ")
    stack.start_simulators()
    say(f"alpha writes to {stack.alpha_dir}, beta answers at {stack.beta_url}")
    if stack.broker:
        say("  both send each ping to the topic pings, too: that is what the job reads; it also writes the topic ingested")
    say("starting the ingest job (Spark takes ten seconds, on a busy machine a minute) ...", end=" ")
    client.submit(stack.job_file, args=stack.job_arguments, name="fleet-ingest").wait_started()
    say("running\n")
    invite(stack, members)
    try:
        watch(client, seconds)
    except KeyboardInterrupt:
        say("\nending ...")
    except UnreachableError:
        return after_shutdown(stack)
    return summary(stack, client)


def start_broker(stack: Stack) -> None:
    """Start the broker of a stack that has one."""
    if stack.broker:
        say("starting an Apache Kafka of one node (the first time, its 43 MB come from Maven Central) ...", end=" ")
        stack.broker.start(progress)
        say(stack.broker.servers)


def progress(text: str) -> None:
    """One line that is written over where somebody watches."""
    say(f"\r\033[K{text} " if sys.stdout.isatty() else f"\n{text}", end="")


def invite(stack: Stack, members: int) -> None:
    """What can be done while it runs."""
    say(f"  the page, with the vehicles on a map (the link works once): {HttpService(stack.url).sign_in_link()}")
    say(f"  pitstop --url {stack.url} ui | list-jobs | status fleet-ingest | logs -f fleet-ingest | map entries vehicles")
    say(f"  REST {stack.url}/api/v1/jobs  OpenAPI {stack.url}/openapi.json  metrics {stack.url}/metrics\n")
    say("  To submit the job by hand, on the page or here (first cancel fleet-ingest, so that no ping is written twice;")
    say("  with a snapshot of it, the new one goes on from there); its file and its arguments, one a line on the page:")
    logs = f"   (or, with a log of each ping: {HERE / 'ingest_v2.py'})" if stack.job_file.name == "ingest.py" else ""
    say(f"    {stack.job_file}{logs}")
    say(f"    {shlex.join(stack.job_arguments)}\n")
    if members == 0:
        say("  Jobs run on the server's own machine, which starts them fastest; `make demo MEMBERS=2` starts a cluster")
        say("  whose members can be added and removed on the page.\n")


def watch(client: Client, seconds: float | None) -> None:
    """One line of progress a second, of all jobs together. UnreachableError once somebody has shut the cluster down."""
    vehicles, began, before, last = client.map("vehicles"), time.monotonic(), 0, time.monotonic()
    while seconds is None or time.monotonic() - began < seconds:
        time.sleep(1.0)
        jobs, now = client.service.jobs(include_ended=True), time.monotonic()
        rows = sum(job.progress.input_rows for job in jobs)
        rate, before, last = (rows - before) / (now - last), rows, now
        line = f"pings {rows:>8,}  {rate:>6.0f}/s  vehicles {vehicles.size():>3}"
        line += "".join(f"  {job.name} {job.status}" for job in jobs if not job.status.terminal)
        say(("\r\033[K" + line) if sys.stdout.isatty() else line, end="" if sys.stdout.isatty() else "\n")


def stop_fleet(stack: Stack) -> tuple[int, Counter[Key], Counter[Key]]:
    """No more pings; how many Alpha says it has written, and what each provider has emitted."""
    count = stack.pause_alpha()
    stack.freeze_beta()
    return count, emitted_alpha(stack.alpha_dir), emitted_beta(stack.beta_url)


def summary(stack: Stack, client: Client) -> int:
    """Let the jobs read what is left, then count: 0 only if nothing is missed and nothing doubled."""
    alpha_count, alpha, beta = stop_fleet(stack)
    emitted = alpha + beta
    read_the_last(stack, client, emitted)
    vehicles = client.map("vehicles").size()
    for job in client.jobs():
        if job.status is not JobState.SUSPENDED:
            job.suspend()
    for ended in client.service.jobs(include_ended=True):
        if ended.status is JobState.FAILED:
            say(f"\njob {ended.name} has failed: {ended.failure}")
    outputs = stack.outputs()
    verdicts = [compare(emitted, pings) for pings in outputs.values()]
    tell(alpha_count, beta, {name: pings.total() for name, pings in outputs.items()} | {"vehicles": vehicles})
    tell_verdict(sum(verdict.missed for verdict in verdicts), sum(verdict.doubled for verdict in verdicts))
    return 0 if all(verdict.clean for verdict in verdicts) else 1


def read_the_last(stack: Stack, client: Client, emitted: Counter[Key]) -> None:
    """Return once all pings are in each output, or the jobs have stopped; says so if no further ping comes for a minute."""
    count, since = -1, time.monotonic()
    while not all_stopped(client):
        counts = [pings.total() for pings in stack.outputs().values()]
        if min(counts) >= emitted.total():
            return
        if sum(counts) > count:
            count, since = sum(counts), time.monotonic()
        elif time.monotonic() - since > SILENT_SECONDS:
            say(f"\nno further ping was read for {SILENT_SECONDS} seconds")
            return
        time.sleep(0.5)


def all_stopped(client: Client) -> bool:
    """Nobody would read what is left."""
    return all(job.status is JobState.SUSPENDED for job in client.jobs())


def after_shutdown(stack: Stack) -> int:
    """Somebody has shut the cluster down: count what its jobs had read by then, and what waits for their next start."""
    code = stack.ended_by_itself("server", 60)
    if code != 0:
        raise RuntimeError(f"The server has ended with exit code {code}: {(stack.folder / 'server.log').read_text()[-600:]}")
    say("\n\nthe cluster was shut down in order.")
    alpha_count, alpha, beta = stop_fleet(stack)
    missed = doubled = to_be_read = 0
    counts: dict[str, Any] = {}
    for name, written in stack.outputs().items():
        skipped = left_behind(alpha, written) + left_behind(beta, written)
        verdict = compare(alpha + beta, written)
        counts |= {name: verdict.ingested}
        missed, doubled, to_be_read = missed + skipped, doubled + verdict.doubled, verdict.missed - skipped
    tell(alpha_count, beta, counts | {"to be read": to_be_read})
    tell_verdict(missed, doubled)
    return 0 if missed == doubled == 0 else 1


def tell(alpha: int, beta: Counter[Key], counts: dict[str, int]) -> None:
    for name, count in ({"emitted by alpha": alpha, "emitted by beta": beta.total()} | counts).items():
        say(f"{name:<16}  {count:>8,}")


def tell_verdict(missed: int, doubled: int) -> None:
    say(f"{'missed':<16}  {missed:>8,}\n{'doubled':<16}  {doubled:>8,}")


if __name__ == "__main__":
    sys.exit(main())
