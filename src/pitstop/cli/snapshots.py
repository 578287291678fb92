"""Commands on snapshots."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from pitstop.cli.arguments import DryRun, JobArgument
from pitstop.cli.completing import complete_snapshots
from pitstop.cli.context import Call
from pitstop.cli.deeds import refuse_ended
from pitstop.cli.outputs import Form
from pitstop.cli.register import register
from pitstop.cli.tables import print_table
from pitstop.errors import NotFoundError
from pitstop.kit.clock import iso
from pitstop.model.operation import CancelAndExport, Export
from pitstop.model.snapshot import SnapshotRecord

NAME_WIDTH = 24


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    register(app, save_snapshot, "save-snapshot")
    register(app, list_snapshots, "list-snapshots")
    register(app, delete_snapshot, "delete-snapshot")


def save_snapshot(
    call: Call,
    job: JobArgument,
    snapshot: Annotated[str, typer.Argument(metavar="SNAPSHOT", help="Name of the snapshot; it replaces one of that name")],
    cancel: Annotated[bool, typer.Option("--cancel", "-C", help="Cancel the job exactly where the snapshot ends")] = False,
) -> None:
    """Export a named snapshot of a job."""
    service = call.service()
    status = service.job(job)
    if not (status.has_state and not cancel):
        refuse_ended(job, status)
    also = " and cancelling the job" if cancel else ""
    call.say(f"Saving snapshot with name '{snapshot}' from job '{status.display_name}'{also}...")
    with call.waiting("Saving", status.id):
        record = service.do(status.id, CancelAndExport(snapshot) if cancel else Export(snapshot))
    call.say(f"Exported snapshot '{snapshot}'.")
    if call.structured:
        call.show(record_facts(record))


def list_snapshots(
    call: Call,
    full_job_name: Annotated[bool, typer.Option("--full-job-name", "-F", help="Do not cut job names")] = False,
) -> None:
    """List exported snapshots."""
    records = sorted(call.service().snapshots(), key=lambda record: record.name)
    if call.structured:
        call.show([record_facts(record) for record in records])
        return
    if call.output.form is Form.WIDE:
        heads = ("TIME", "SIZE (bytes)", "JOB ID", "JOB NAME", "SNAPSHOT NAME")
        print_table(heads, [(iso(each.created), each.bytes, each.job_id, each.job_name, each.name) for each in records])
        return
    print(f"{'TIME':<23} {'SIZE (bytes)':<15} {'JOB NAME':<24} SNAPSHOT NAME")
    for record in records:
        name = record.job_name or record.job_id
        if len(name) > NAME_WIDTH and not full_job_name:
            name = name[: NAME_WIDTH - 1] + "*"
        print(f"{iso(record.created) or '':<23} {f'{record.bytes:,}':<15} {name:<24} {record.name}")


def delete_snapshot(
    call: Call,
    snapshots: Annotated[list[str], typer.Argument(metavar="SNAPSHOT", help="Their names", autocompletion=complete_snapshots)],
    dry_run: DryRun = False,
) -> None:
    """Delete snapshots. If there is none of one of these names, none is deleted."""
    there = {record.name for record in call.service().snapshots()}
    for name in snapshots:
        if name not in there:
            raise NotFoundError(f"Didn't find a snapshot named '{name}'")
    for name in dict.fromkeys(snapshots):
        if not dry_run:
            call.service().delete_snapshot(name)
        call.say(f"Would delete snapshot '{name}'." if dry_run else f"Deleted snapshot '{name}'.")


def record_facts(record: SnapshotRecord) -> dict[str, Any]:
    """A snapshot's record as structured output."""
    return asdict(record) | {"created": iso(record.created)}
