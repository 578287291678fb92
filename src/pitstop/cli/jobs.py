"""Commands on jobs."""

from __future__ import annotations

import json
import re
import time
from typing import Annotated, Any

import typer

from pitstop.cli.context import Context, say
from pitstop.errors import ConflictError, EngineError, UsageError
from pitstop.kit.clock import iso
from pitstop.model.job import Job, JobState
from pitstop.service.api import JobView, SubmitRequest

START_SECONDS = 300.0
JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="Name or id")]
Artifact = Annotated[str, typer.Argument(help="A .py, .zip or .whl file, or its URL")]
Arguments = Annotated[list[str] | None, typer.Argument(help="Arguments of the job")]
Entry = Annotated[str | None, typer.Option("--class", "-c", help="module:function of the job in the artifact")]
_SETTLED = (JobState.RUNNING, JobState.SUSPENDED, JobState.COMPLETED, JobState.FAILED)
_ARGUMENTS = {"ignore_unknown_options": True}


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(context_settings=_ARGUMENTS)(submit)
    app.command(context_settings=_ARGUMENTS)(check)
    app.command("list-jobs")(list_jobs)
    for command in (status, metrics, logs, cancel, suspend, resume, restart):
        app.command()(command)


def submit(
    context: typer.Context,
    artifact: Artifact,
    arguments: Arguments = None,
    snapshot: Annotated[str | None, typer.Option("--snapshot", "-s", help="Start from this snapshot")] = None,
    name: Annotated[str | None, typer.Option("--name", "-n", help="Name of the job")] = None,
    entry: Entry = None,
    option: Annotated[list[str] | None, typer.Option("--option", "-O", help="Job option as key=value")] = None,
) -> None:
    """Submit a job and wait until it runs."""
    call: Context = context.obj
    request = SubmitRequest(artifact, None, entry, tuple(arguments or ()), name, snapshot, _options(option or []))
    say(f"Submitting artifact '{artifact}' with arguments [{', '.join(request.args)}]", call)
    if name is not None:
        say(f"Using job name '{name}'", call)
    if snapshot is not None:
        say(f"Will restore the job from the snapshot with name '{snapshot}'", call)
    service = call.service()
    job = service.submit(request)
    view = service.wait_for(job.id, _SETTLED, START_SECONDS)
    if view.job.state is JobState.FAILED:
        raise EngineError(view.job.failure or "The job failed.", trace=view.job.failure_details)
    say(f"Job {_describe(view.job)} is {view.job.state}.", call)
    if call.structured:
        call.show(job_facts(view))


def check(
    context: typer.Context,
    artifact: Artifact,
    arguments: Arguments = None,
    job: Annotated[str | None, typer.Option("--job", "-j", help="Compare with this job")] = None,
    snapshot: Annotated[str | None, typer.Option("--snapshot", "-s", help="Compare with this snapshot")] = None,
    entry: Entry = None,
) -> None:
    """Compile a job and tell, a line a stage, what would become of saved state. Touches nothing."""
    call: Context = context.obj
    request = SubmitRequest(artifact, None, entry, tuple(arguments or ()))
    result = call.service().check(request, job, snapshot)
    if call.structured:
        call.show(result)
    else:
        print(result["text"])
    if result["report"] and result["report"]["refused"]:
        raise typer.Exit(1)


def list_jobs(context: typer.Context, all: Annotated[bool, typer.Option("--all", "-a", help="Ended jobs, too")] = False) -> None:
    """List jobs."""
    call: Context = context.obj
    views = call.service().jobs(include_ended=all)
    if call.structured:
        call.show([job_facts(view) for view in views])
        return
    print(f"{'ID':<19} {'STATUS':<18} {'SUBMISSION TIME':<23} NAME")
    for view in views:
        job = view.job
        print(f"{job.id:<19} {job.state.value:<18} {iso(job.submission_time) or '':<23} {job.display_name}")


def status(context: typer.Context, job: JobArgument) -> None:
    """Show one job."""
    call: Context = context.obj
    view = call.service().job(job)
    if call.structured:
        call.show(job_facts(view))
        return
    facts = job_facts(view)
    for key in ("id", "name", "status", "submission_time", "start_time", "completion_time", "suspension_cause", "failure"):
        if facts[key] is not None:
            print(f"{key.replace('_', ' ').capitalize() + ':':<18} {facts[key]}")
    progress = view.progress
    print(
        f"{'Epoch:':<18} {progress.epoch}\n{'Rows read:':<18} {progress.input_rows:,} ({progress.rows_per_second:,.1f} a second)"
    )
    print(f"{'Unparsed rows:':<18} {progress.bad_rows:,}\n{'Watermark:':<18} {iso(_seconds(progress.watermark_ms)) or '-'}")


def metrics(context: typer.Context, job: JobArgument) -> None:
    """Show what a job's run says of itself."""
    call: Context = context.obj
    progress = call.service().job(job).progress
    if call.structured:
        call.show(progress.to_dict())
        return
    for key, value in progress.to_dict().items():
        if key != "stages":
            print(f"{key:<18} {value}")
    for stage, facts in progress.stages.items():
        shown = " ".join(f"{name}={value}" for name, value in facts.items() if name != "offset")
        print(f"{stage:<18} {shown}")


def logs(
    context: typer.Context,
    job: JobArgument,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new lines")] = False,
    grep: Annotated[str | None, typer.Option(help="Only lines that match this regular expression")] = None,
) -> None:
    """Show a job's log: JSON lines."""
    service = context.obj.service()
    try:
        pattern = re.compile(grep) if grep else None
    except re.error as error:
        raise UsageError(f"--grep {grep!r} is no regular expression: {error}.") from None
    after = 0
    while True:
        lines, after = service.logs(job, after)
        for line in lines:
            if pattern is None or pattern.search(line):
                print(line, flush=True)
        if not lines:
            if not follow:
                return
            time.sleep(0.3)


def cancel(context: typer.Context, job: JobArgument) -> None:
    """Cancel a job: it ends at once and its state is dropped."""
    found = _job(context, job)
    if found.state.terminal:
        raise ConflictError(f"Job '{job}' is not active. Current state: {found.state}")
    _verb(context, found, "Cancelling", "cancelled", "cancel")


def suspend(context: typer.Context, job: JobArgument) -> None:
    """Suspend a job after its present epoch."""
    found = _job(context, job)
    if found.state is not JobState.RUNNING:
        raise ConflictError(f"Job '{job}' is not running. Current state: {found.state}")
    _verb(context, found, "Suspending", "suspended", "suspend")


def resume(context: typer.Context, job: JobArgument) -> None:
    """Resume a suspended job where it stopped."""
    found = _job(context, job)
    if found.state is not JobState.SUSPENDED:
        raise ConflictError(f"Job '{job}' is not suspended. Current state: {found.state}")
    _verb(context, found, "Resuming", "resumed", "resume")


def restart(context: typer.Context, job: JobArgument) -> None:
    """Stop a job after its present epoch and start it again."""
    found = _job(context, job)
    if found.state is not JobState.RUNNING:
        raise ConflictError(f"Job '{job}' is not running. Current state: {found.state}")
    _verb(context, found, "Restarting", "restarted", "restart")


def job_facts(view: JobView) -> dict[str, Any]:
    """A job as structured output."""
    job = view.job
    return {
        "id": job.id,
        "name": job.display_name,
        "status": job.state.value,
        "submission_time": iso(job.submission_time),
        "start_time": iso(job.start_time),
        "completion_time": iso(job.completion_time),
        "user_cancelled": job.user_cancelled,
        "suspension_cause": job.suspension_cause,
        "failure": job.failure,
        "config": job.config.to_dict(),
        "progress": view.progress.to_dict(),
    }


def _job(context: typer.Context, name_or_id: str) -> Job:
    call: Context = context.obj
    return call.service().job(name_or_id).job


def _verb(context: typer.Context, job: Job, doing: str, done: str, verb: str) -> None:
    call: Context = context.obj
    service = call.service()
    say(f"{doing} job {_describe(job)}...", call)
    getattr(service, verb)(job.id)
    if verb in ("resume", "restart"):
        view = service.wait_for(job.id, _SETTLED, START_SECONDS)
        if view.job.state is JobState.FAILED:
            raise EngineError(view.job.failure or "The job failed.", trace=view.job.failure_details)
    say(f"Job {done}.", call)
    if call.structured:
        call.show(job_facts(service.job(job.id)))


def _describe(job: Job) -> str:
    return f"id={job.id}, name={job.display_name}, submissionTime={iso(job.submission_time)}"


def _options(pairs: list[str]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"-O takes key=value, not '{pair}'.")
        if key in options:
            raise UsageError(f"Option '{key}' specified more than once")
        options[key] = json.loads(value) if key == "spark" else value
    return options


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
