"""``make story``: a running job is updated, then moves about a cluster, step by step, each with its check."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from string import Template

from stack import HERE, Stack, wait_until
from story_checks import Kept, check, in_a_row, members_ended, members_there, reads_of_beta, step
from verify import Key, compare, emitted_alpha, emitted_beta, ingested

from pitstop.client import Client, JobHandle
from pitstop.launchers.processes import handle_in, kill_all
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import JobState

DOWNTIME_SECONDS = 20.0
FAST = ("--scale-up-delay", "2")
"""So that nobody has to wait for long until the job uses a new member."""
DRIVERS_TOO = (*FAST, "--runners-on-members", "--spares", "0")
"""And so that sources are read on members: a warm process would be beside the server."""
BETA = "pitstop.source.http_poll"
"""Who tells what is read of Beta."""


def logged(lines: list[str], stage: str) -> list[str]:
    """The texts that a logger stage has written."""
    found = (json.loads(line)["msg"] for line in lines if line.startswith("{"))
    return [text for text in found if f"/{stage}#" in text]


class InPython:
    """The ingest job as Python files."""

    saving = "saving"

    @staticmethod
    def first(client: Client, stack: Stack) -> JobHandle:
        return client.submit(HERE / "ingest.py", args=stack.job_arguments, name="ingest-v1")

    @staticmethod
    def second(client: Client, stack: Stack, snapshot: str) -> JobHandle:
        return client.submit(HERE / "ingest_v2.py", args=stack.job_arguments, name="ingest-v2", initial_snapshot=snapshot)


class InSql:
    """The ingest job as statements."""

    saving = "into-saving"
    _INTO = "SINK INTO vehicles SELECT vin, * FROM pings; INSERT INTO archive SELECT * FROM pings;"

    @classmethod
    def first(cls, client: Client, stack: Stack) -> JobHandle:
        where: dict[str, str] = dict(zip(("alpha_dir", "beta_url", "archive"), stack.job_arguments, strict=True))
        client.sql(Template((HERE / "ingest.sql").read_text()).substitute(where))
        client.sql(f'CREATE JOB "ingest-v1" AS BEGIN {cls._INTO} END')
        return client.job("ingest-v1")

    @classmethod
    def second(cls, client: Client, stack: Stack, snapshot: str) -> JobHandle:
        options = f"OPTIONS ('initialSnapshotName' = '{snapshot}')"
        client.sql(f'CREATE JOB "ingest-v2" {options} AS BEGIN {cls._INTO} INSERT INTO saving SELECT * FROM pings; END')
        return client.job("ingest-v2")


def main() -> None:
    for tell in (tell_update, tell_update_in_sql, tell_members):
        folder = Path(tempfile.mkdtemp(prefix="pitstop-story-"))
        try:
            with Stack(folder, speedup=60.0, spares=1) as stack:
                tell(stack)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def tell_update_in_sql(stack: Stack) -> None:
    """The same by statements."""
    tell_update(stack, InSql)


def tell_update(stack: Stack, ingest: type[InPython | InSql] = InPython) -> None:
    """Parts 2 and 4 of Jet's lab: a job is stopped with a snapshot, changed, and started from it."""
    step("Start the control plane and both simulators")
    client = stack.start_server()
    stack.start_simulators()
    check(client.service.server_info().state == "ACTIVE", f"the control plane answers at {stack.url}")

    step("Submit version 1 of the ingest job")
    first = ingest.first(client, stack)
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

    step("Let Beta's source tell what it reads: pitstop log-level pitstop.source.http_poll debug")
    client.set_log_level(BETA, "debug")

    step("Start version 2, which logs each ping, from the snapshot: pitstop submit -s my-snapshot ingest_v2.py ...")
    second = ingest.second(client, stack, "my-snapshot")
    second.wait_started()
    wait_until(lambda: ingested(stack.archive).total() > at_snapshot.total() + 200, 120, "the pings of the downtime")
    check(True, f"the pings of the downtime arrive: {wait_until(lambda: first_read(second), 60, 'a read that is told of')}")

    emitted = count_all(stack, second)
    saved = logged(second.logs(), ingest.saving)
    expected = emitted.total() - at_snapshot.total()
    check(len(saved) == expected, f"version 2 logged the {expected:,} pings from after the snapshot, and only those")
    print("\nThe job was changed while the fleet drove on, and nothing was missed or doubled.")


def tell_members(stack: Stack) -> None:
    """Parts 3 and 5 of Jet's lab: members join and die, all is shut down, shared code is changed, all is started again."""
    step("Start the control plane with two members, and both simulators")
    write_ping(stack, ("vin", "latitude", "longitude", "time", "provider"))
    client = stack.start_server(members=2, options=DRIVERS_TOO)
    client.set_log_level(BETA, "debug")
    stack.start_simulators()
    members = client.service.server_info().members
    check(len(members) == 2, f"{len(members)} members with a core each are there")

    step("Submit the ingest job, which also counts the pings of each vehicle")
    job = client.submit(HERE / "ingest_shared.py", args=stack.job_arguments, name="ingest")
    job.wait_started(400)
    wait_until(lambda: client.map("vehicles").size() == 60, 400, "all vehicles in the map")
    check(members_of(job) == 2, "60 vehicles are in the map; the job runs on 2 members")

    step("Add a third member: pitstop cluster add-member")
    client.service.add_member()
    wait_until(lambda: members_of(job) == 3, 400, "the job on three members")
    check(job.details.version == 1, "the job uses it, with its state in one more partition")

    step("Look in the log of the job which member reads Beta, and kill it with all that runs on it")
    run = job.details.token
    before = wait_until(lambda: reads_of_beta(job, run), 400, "a read that is told of")
    check(before[-1].member in members_there(client), f"{before[-1].member} reads Beta, up to sequence {before[-1].last}")
    kill_member(stack, before[-1].member)
    before = reads_of_beta(job, run)
    after = wait_until(lambda: reads_of_beta(job, run, later=True), 400, "a read after that")
    check(after[0].run > run, f"{after[0].member} reads Beta from sequence {after[0].first} on, as far as {after[-1].last}")
    check(in_a_row(before), f"up to {before[-1].last} the reads had followed one another")
    check(after[0].first <= before[-1].last + 1 and in_a_row(after), "what was not committed is read again, and nothing left out")
    beta = emitted_beta(stack.beta_url)
    wait_until(lambda: not beta - ingested(stack.archive), 400, "the pings of Beta")
    verdict = compare(beta, Counter({ping: times for ping, times in ingested(stack.archive).items() if ping in beta}))
    check(verdict.clean, f"and each of Beta's {verdict.emitted:,} pings so far is written once")

    step("Shut all of it down: pitstop cluster shutdown")
    client.map("depots").put("Des Moines", {"vehicles": 60})
    job.export_snapshot("before-the-change")
    kept = Kept.of(client)
    client.service.shut_down()
    check(stack.ended_by_itself("server", 120) == 0, "the server has ended in order")
    ended = members_ended(stack)
    check(len(ended) == 3 and set(ended.values()) == {0}, f"so have the job and {', '.join(ended)}")
    at_shutdown = ingested(stack.archive)

    step("Let the module that says what a ping holds hold its trouble codes, too, and start all again")
    write_ping(stack, ("vin", "latitude", "longitude", "time", "provider", "obd_codes"))
    client = stack.start_server(members=2, options=DRIVERS_TOO)
    kept.check_again(Kept.of(client))
    job = client.job("ingest")
    job.wait_started(400)
    wait_until(lambda: ingested(stack.archive).total() > at_shutdown.total() + 200, 400, "the pings of the downtime")
    check(True, "the job has gone on by itself")
    vehicles = client.map("vehicles")
    wait_until(lambda: any(ping.get("obd_codes") for ping in vehicles.entries().values()), 400, "trouble codes in the map")
    check(True, "new entries of the map hold trouble codes")

    emitted = count_all(stack, job)
    pings_of: Counter[str] = Counter()
    for (vin, _), times in emitted.items():
        pings_of[vin] += times
    check(client.map("counts").entries() == dict(pings_of), f"and the counts of {len(pings_of)} vehicles are exact")
    print("\nMembers came and went, code was changed, and nothing was missed or doubled.")


def count_all(stack: Stack, job: JobHandle) -> Counter[Key]:
    """Stop the simulators, let the job read the rest, suspend it, and compare; all pings that there have been."""
    step("Stop the simulators, let the job read the rest, and count")
    stack.pause_alpha()
    stack.freeze_beta()
    emitted = emitted_alpha(stack.alpha_dir) + emitted_beta(stack.beta_url)
    wait_until(lambda: ingested(stack.archive).total() >= emitted.total(), 400, "reading the last pings")
    job.suspend()
    verdict = compare(emitted, ingested(stack.archive))
    check(
        verdict.clean,
        f"{verdict.emitted:,} emitted, {verdict.ingested:,} ingested, {verdict.missed} missed, {verdict.doubled} doubled",
    )
    return emitted


def first_read(job: JobHandle) -> str | None:
    """What Beta's source has told first of what it reads."""
    told = (json.loads(line)["msg"] for line in job.logs() if "Highest sequence number is" in line)
    return next(told, None)


def write_ping(stack: Stack, fields: tuple[str, ...]) -> None:
    """The module that jobs share."""
    stack.shared.mkdir(exist_ok=True)
    (stack.shared / "fleet_ping.py").write_text(f"FIELDS = {fields!r}\n")


def members_of(job: JobHandle) -> int:
    """How many members the job is planned for."""
    placement = job.details.placement
    return len(placement.members) if placement is not None else 0


def kill_member(stack: Stack, name: str) -> None:
    """With its drivers, its Spark worker and all executors, as when its machine is lost."""
    folder = DataFolder(stack.data).member(name)
    for handle in (handle_in(folder.process), handle_in(folder.daemon)):
        if handle is not None:
            kill_all(handle)


if __name__ == "__main__":
    main()
