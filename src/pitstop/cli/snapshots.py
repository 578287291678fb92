"""Commands on snapshots."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from pitstop.cli.context import Context, say
from pitstop.errors import ConflictError
from pitstop.kit.clock import iso

NAME_WIDTH = 24


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command("save-snapshot")(save_snapshot)
    app.command("list-snapshots")(list_snapshots)
    app.command("delete-snapshot")(delete_snapshot)


def save_snapshot(
    context: typer.Context,
    job: Annotated[str, typer.Argument(metavar="JOB", help="Name or id")],
    snapshot: Annotated[str, typer.Argument(help="Name of the snapshot; one of that name is replaced")],
    cancel: Annotated[bool, typer.Option("--cancel", "-C", help="Cancel the job exactly where the snapshot ends")] = False,
) -> None:
    """Export a named snapshot of a job."""
    call: Context = context.obj
    service = call.service()
    found = service.job(job).job
    if found.state.terminal:
        raise ConflictError(f"Job '{job}' is not active. Current state: {found.state}")
    also = " and cancelling the job" if cancel else ""
    say(f"Saving snapshot with name '{snapshot}' from job '{found.display_name}'{also}...", call)
    record = service.export_snapshot(found.id, snapshot, cancel)
    say(f"Exported snapshot '{snapshot}'.", call)
    if call.structured:
        call.show(asdict(record))


def list_snapshots(
    context: typer.Context,
    full_job_name: Annotated[bool, typer.Option("--full-job-name", "-F", help="Do not cut job names")] = False,
) -> None:
    """List exported snapshots."""
    call: Context = context.obj
    records = call.service().snapshots()
    if call.structured:
        call.show([asdict(record) | {"time": iso(record.created)} for record in records])
        return
    print(f"{'TIME':<23} {'SIZE (bytes)':<15} {'JOB NAME':<24} SNAPSHOT NAME")
    for record in records:
        name = record.job_name or record.job_id
        if len(name) > NAME_WIDTH and not full_job_name:
            name = name[: NAME_WIDTH - 1] + "*"
        print(f"{iso(record.created) or '':<23} {f'{record.bytes:,}':<15} {name:<24} {record.name}")


def delete_snapshot(context: typer.Context, snapshot: str) -> None:
    """Delete a snapshot."""
    call: Context = context.obj
    call.service().delete_snapshot(snapshot)
    say(f"Deleted snapshot '{snapshot}'.", call)
