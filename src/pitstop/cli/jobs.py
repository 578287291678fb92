"""Commands that act on jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import typer

from pitstop.cli.arguments import Arguments, Artifact, Entry, JobArgument, Timeout, Wait, seconds_of
from pitstop.cli.checking import exit_if_refused, show_check
from pitstop.cli.completing import complete_snapshots
from pitstop.cli.context import Call
from pitstop.cli.deeds import refuse_not_suspended
from pitstop.cli.job_options import (
    AllowDrop,
    Options,
    Renamed,
    Seek,
    Shared,
    complete_option,
    drop_option,
    job_options,
    renamed_option,
    seek_option,
    shared_option,
)
from pitstop.cli.register import register
from pitstop.cli.render import describe, job_facts
from pitstop.cli.verbs import START_SECONDS, started
from pitstop.errors import ConflictError, NotFoundError, UsageError
from pitstop.kit.ids import check_name
from pitstop.model.job import JobState
from pitstop.model.operation import Configure, Rollback, StateAtStart
from pitstop.service.api import SubmitRequest
from pitstop.service.job_results import JobStatus, UpdateResult

SUBMIT_SETTINGS: dict[str, Any] = {"allow_interspersed_args": False}
"""The words behind the artifact belong to the job, whatever they look like."""
_NAME = "Name of the job; without it the one in its CREATE JOB, or the file's name without suffix"


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    register(app, submit, **SUBMIT_SETTINGS)
    register(app, update, **SUBMIT_SETTINGS)
    register(app, configure)
    register(app, rollback)


def submit(
    call: Call,
    artifact: Artifact,
    arguments: Arguments = None,
    snapshot: Annotated[
        str | None,
        typer.Option("--snapshot", "-s", metavar="SNAPSHOT", help="Start from this snapshot", autocompletion=complete_snapshots),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", "-n", metavar="NAME", help=_NAME)] = None,
    entry: Entry = None,
    renamed: Renamed = None,
    allow_drop: AllowDrop = None,
    seek: Seek = None,
    shared: Shared = False,
    option: Options = None,
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Compile it, compare it with the snapshot, and start nothing: as check does")
    ] = False,
) -> None:
    """Submit a job and wait until it runs. Options stand before ARTIFACT: what follows it belongs to the job."""
    options = (
        job_options(option or []) | renamed_option(renamed) | drop_option(allow_drop) | shared_option(shared) | seek_option(seek)
    )
    if name is not None:
        check_name("job", name)
    seconds = seconds_of(timeout)
    request = SubmitRequest(artifact, None, entry, tuple(arguments or ()), name, snapshot, options)
    if dry_run:
        _try(call, replace(request, initial_snapshot=None), None, snapshot, f"Would submit artifact '{artifact}'")
        return
    call.say(f"Submitting artifact '{artifact}' with arguments [{', '.join(request.args)}]")
    if name is not None:
        call.say(f"Using job name '{name}'")
    if snapshot is not None:
        call.say(f"Will restore the job from the snapshot with name '{snapshot}'")
    job = call.service().submit(request)
    call.submitted = job.id
    if not wait:
        call.say(f"Job {describe(job)} is submitted. It starts by itself: 'pitstop wait --for running {job.id}' waits for it.")
        if call.structured:
            call.show(job_facts(job))
        return
    now = _finish(call, job, lambda now: f"Job {describe(now)} is {now.display_status}.", seconds or START_SECONDS)
    for concern in now.concerns:
        call.warn(f"Warning: {concern}")


def _try(call: Call, request: SubmitRequest, job: str | None, snapshot: str | None, promise: str) -> None:
    """Compile and compare, and say what would be done. ConflictError if the name is taken; exit code 1 if it would be refused."""
    if request.name is not None:
        try:
            other = call.service().job(request.name)
        except NotFoundError:
            pass
        else:
            if other.active:
                raise ConflictError(f"Another active job with equal name ({request.name}) exists: {other.id}")
    with call.waiting("Compiling"):
        result = call.service().check(replace(request, name=None), job, snapshot)
    show_check(call, result)
    exit_if_refused(result)
    call.say(f"{promise}. Nothing was done.")


def update(
    call: Call,
    job: JobArgument,
    artifact: Artifact,
    arguments: Arguments = None,
    snapshot: Annotated[
        str | None, typer.Option("--snapshot", "-s", metavar="SNAPSHOT", help="Name of the snapshot to take of the old version")
    ] = None,
    watch: Annotated[
        float, typer.Option("--watch", metavar="SECONDS", min=0, help="Go back if the new version fails within this time")
    ] = 0.0,
    renamed: Renamed = None,
    allow_drop: AllowDrop = None,
    seek: Seek = None,
    entry: Entry = None,
    shared: Shared = False,
    option: Options = None,
    timeout: Timeout = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Compile it, report on the saved state, and change nothing")] = False,
) -> None:
    """Put a new version in the place of a running or suspended job's. Options stand before JOB.

    A suspended job stays suspended, and starts with the new version when it is resumed; one that has failed is suspended with
    it. The old version goes on if the new one is refused, or fails before its first epoch. Arguments that are left out are those
    of the version before.
    """
    options = (
        job_options(option or []) | renamed_option(renamed) | drop_option(allow_drop) | shared_option(shared) | seek_option(seek)
    )
    call.patience = seconds_of(timeout)
    request = SubmitRequest(artifact, None, entry, tuple(arguments or ()), None, snapshot, options)
    status = call.service().job(job)
    if dry_run:
        promise = f"Would update job {describe(status)} to artifact '{artifact}'"
        _try(call, replace(request, initial_snapshot=None), status.id, None, promise)
        return
    call.say(f"Updating job {describe(status)} to artifact '{artifact}'...")
    with call.waiting("Checking the new version, then changing over", status.id):
        result = call.service().update(status.id, request, watch)
    _say_updated(call, result)


def _say_updated(call: Call, result: UpdateResult) -> None:
    call.say(result.text)
    if result.gap_seconds is None:
        call.say(f"Version {result.version} starts from snapshot '{result.snapshot}' when the job is resumed.")
    else:
        call.say(f"Version {result.version} runs, from snapshot '{result.snapshot}'. Gap: {result.gap_seconds:.1f} s.")
    if call.structured:
        facts = {"version": result.version, "snapshot": result.snapshot, "gap_seconds": result.gap_seconds}
        call.show(facts | {"report": result.report.to_dict()})


def configure(
    call: Call,
    job: JobArgument,
    options: Annotated[list[str], typer.Argument(metavar="KEY=VALUE", help="Options", autocompletion=complete_option)],
) -> None:
    """Change options of a suspended job: its next run has them. Options that saved state depends on need an update."""
    # What is wrong with it is told first, whatever the state of the job.
    request = Configure(job_options(options, "configure takes KEY=VALUE")).checked()
    status = call.service().job(job)
    refuse_not_suspended(job, status)
    call.service().do(status.id, request)
    _done(call, status, "configured")


def rollback(
    call: Call,
    job: JobArgument,
    to: Annotated[
        int | None, typer.Option("--to", metavar="VERSION", min=1, help="Update to this earlier version: see 'pitstop versions'")
    ] = None,
    watch: Annotated[
        float, typer.Option("--watch", metavar="SECONDS", min=0, help="With --to: go back if it fails within this time")
    ] = 0.0,
    renamed: Renamed = None,
    allow_drop: AllowDrop = None,
    shared: Shared = False,
    seek: Seek = None,
    state: Annotated[
        StateAtStart,
        typer.Option(
            "--state", help="With --to: start from the present state, from its own latest snapshot, or with missing state empty"
        ),
    ] = StateAtStart.PRESENT,
    write_again: Annotated[
        bool, typer.Option("--write-again", help="With --to: rows may be written into sinks that have them already")
    ] = False,
) -> None:
    """Go back to the version before an update that is being prepared, starts or is watched; with --to, to any earlier one.

    With --to, the job is updated to the code, arguments and options of that version. It goes on from the present state, if that
    has all that the version keeps and reads. With --state snapshot, it starts from the latest snapshot of that version, which
    the update away from it has taken, and reads newer input again. With --write-again, rows may come twice into
    sinks that have them already.
    """
    status = call.service().job(job)
    if to is not None:
        call.say(f"Updating job {describe(status)} to the code, arguments and options of version {to}...")
        options = renamed_option(renamed) | drop_option(allow_drop) | shared_option(shared) | seek_option(seek)
        with call.waiting("Checking that version, then changing over", status.id):
            result = call.service().go_back(status.id, to, options, watch, state, write_again)
        _say_updated(call, result)
        return
    if watch or renamed or allow_drop or shared or seek or write_again or state is not StateAtStart.PRESENT:
        raise UsageError(
            "--watch, --renamed, --allow-drop, --allow-shared, --seek, --state and --write-again belong to an update: give "
            "--to VERSION, too."
        )
    call.say(f"Rolling back job {describe(status)}...")
    call.service().do(status.id, Rollback())
    now = call.service().job(status.id)
    if now.status is JobState.SUSPENDED:
        _done(call, status, f"has version {now.version} again")
    else:
        _finish(call, status, lambda now: f"Job rolled back: version {now.version} runs.")


def _finish(call: Call, job: JobStatus, sentence: Callable[[JobStatus], str], seconds: float = START_SECONDS) -> JobStatus:
    """Wait until the job runs; say so, and return it, or raise its failure."""
    try:
        with call.waiting(f"Waiting for job {job.display_name} to run", job.id):
            now = started(call, job, seconds)
    except KeyboardInterrupt:
        call.say(f"Not waiting any more; job {job.id} goes on by itself.")
        raise
    call.say(sentence(now))
    if call.structured:
        call.show(job_facts(now))
    return now


def _done(call: Call, job: JobStatus, word: str) -> None:
    call.say(f"Job {word}.")
    if call.structured:
        call.show(job_facts(call.service().job(job.id)))
