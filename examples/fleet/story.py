"""``make story``: the update of a running job, step by step, each with its check."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

from stack import HERE, Stack, wait_until
from verify import compare, emitted_alpha, emitted_beta, ingested

from pitstop.model.job import JobState

DOWNTIME_SECONDS = 20.0
_steps = 0


def step(text: str) -> None:
    global _steps
    _steps += 1
    print(f"\n{_steps}. {text}", flush=True)


def check(holds: bool, text: str) -> None:
    print(f"   {'ok  ' if holds else 'FAIL'} {text}", flush=True)
    if not holds:
        raise SystemExit(1)


def logged(lines: list[str], stage: str) -> list[str]:
    """The texts that a logger stage has written."""
    found = (json.loads(line)["msg"] for line in lines if line.startswith("{"))
    return [text for text in found if f"/{stage}#" in text]


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="pitstop-story-"))
    try:
        with Stack(folder, speedup=60.0) as stack:
            tell(stack)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def tell(stack: Stack) -> None:
    step("Start the control plane and both simulators")
    client = stack.start_server()
    stack.start_simulators()
    check(client.service.server_info().state == "ACTIVE", f"the control plane answers at {stack.url}")

    step("Submit version 1 of the ingest job")
    first = client.submit(HERE / "ingest.py", args=stack.job_arguments, name="ingest-v1")
    first.wait_started()
    vehicles = client.map("vehicles")
    wait_until(lambda: vehicles.size() == 60, 120, "all vehicles in the map")
    check(True, f"60 vehicles are in the map, epoch {first.metrics().epoch}")
    before = vehicles.entries()
    wait_until(lambda: vehicles.entries() != before, 30, "a movement")
    check(True, "and they move")

    step("Export a snapshot and cancel the job: pitstop save-snapshot -C ingest-v1 my-snapshot")
    record = first.cancel_and_export_snapshot("my-snapshot")
    check(first.details.user_cancelled and first.status is JobState.FAILED, "version 1 has ended, cancelled by a user")
    check(record.bytes > 0, f"the snapshot holds epoch {record.epoch}, {record.bytes:,} bytes")
    at_snapshot = ingested(stack.archive)

    step(f"Wait {DOWNTIME_SECONDS:.0f} s: both simulators go on, nobody reads")
    time.sleep(DOWNTIME_SECONDS)
    check(ingested(stack.archive) == at_snapshot, "nothing was written after the snapshot")

    step("Start version 2, which logs each ping, from the snapshot: pitstop submit -s my-snapshot ingest_v2.py ...")
    second = client.submit(HERE / "ingest_v2.py", args=stack.job_arguments, name="ingest-v2", initial_snapshot="my-snapshot")
    second.wait_started()
    wait_until(lambda: ingested(stack.archive).total() > at_snapshot.total() + 200, 120, "the pings of the downtime")
    arrived = [line for line in second.logs() if "Added" in line and "Highest sequence number is" in line]
    check(bool(arrived), f"the pings of the downtime arrive: {json.loads(arrived[0])['msg']}")

    step("Stop the simulators, let version 2 read the rest, and count")
    stack.pause_alpha()
    stack.freeze_beta()
    emitted = emitted_alpha(stack.alpha_dir) + emitted_beta(stack.beta_url)
    wait_until(lambda: ingested(stack.archive).total() >= emitted.total(), 120, "reading the last pings")
    second.suspend()
    verdict = compare(emitted, ingested(stack.archive))
    check(
        verdict.clean,
        f"{verdict.emitted:,} emitted, {verdict.ingested:,} ingested, {verdict.missed} missed, {verdict.doubled} doubled",
    )
    saved = logged(second.logs(), "saving")
    expected = emitted.total() - at_snapshot.total()
    check(len(saved) == expected, f"version 2 logged the {expected:,} pings from after the snapshot, and only those")
    print("\nThe job was changed while the fleet drove on, and nothing was missed or doubled.")


if __name__ == "__main__":
    sys.exit(main())
