"""Commands that change the state of one or several jobs."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Annotated, Any, cast

import typer

from pitstop.cli.arguments import DryRun, JobArguments, Timeout, Wait, Yes, seconds_of
from pitstop.cli.context import Call
from pitstop.cli.deeds import DEEDS, Deed
from pitstop.cli.exits import Exit, exit_of
from pitstop.cli.register import register
from pitstop.cli.render import describe, job_facts
from pitstop.cli.together import together
from pitstop.errors import ConflictError, PitstopError, UsageError
from pitstop.kit.counts import counted
from pitstop.model.job import JobState
from pitstop.model.operation import Cancel, Discard
from pitstop.service.job_results import JobStatus

START_SECONDS = 300.0
SETTLED = (JobState.RUNNING, JobState.SUSPENDED, JobState.COMPLETED, JobState.FAILED)


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    for deed in DEEDS:
        register(app, command_of(deed), deed.name)
    for command in (delete, discard):
        register(app, command)


def command_of(deed: Deed) -> Callable[..., None]:
    """Return the command that does a deed to the jobs that it names, or to all of them."""

    def command(call: Call, jobs: list[str] | None, all: bool, dry_run: bool, timeout: str | None, wait: bool = True) -> None:
        _carry_out(call, deed, jobs, all, dry_run, timeout, wait)

    options: dict[str, tuple[Any, Any]] = {
        "call": (Call, inspect.Parameter.empty),
        "jobs": (JobArguments, None),
        "all": (Annotated[bool, typer.Option("--all", help=deed.all_help)], False),
        "dry_run": (DryRun, False),
        **({"wait": (Wait, True)} if deed.starts else {}),
        "timeout": (Timeout, None),
    }
    command.__doc__ = deed.help
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind)
            for name, (kind, default) in options.items()
        ]
    )
    return command


def delete(
    call: Call,
    jobs: JobArguments = None,
    all: Annotated[bool, typer.Option("--all", help="All jobs that have not ended, or keep state")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    timeout: Timeout = None,
) -> None:
    """Cancel jobs that have not ended, and remove their state: they cannot be brought back. Asks before it does so.

    Snapshots stay, and so do the outputs. For a while, list-jobs -a goes on to show that the job was there.
    """
    call.patience = seconds_of(timeout)
    chosen = chosen_jobs(call, jobs, all, lambda job: job.active or job.has_state)
    if dry_run:
        for job in chosen:
            call.say(f"Would {'cancel and ' if job.active else ''}delete job {describe(job)}")
        return
    if not chosen:
        call.say("There is no such job: nothing to do.")
        return
    names = ", ".join(f"'{name_of(job)}'" for job in chosen)
    ask(call, f"This removes {counted(len(chosen), 'job')} with the saved state: {names}.", yes)

    def one(job: JobStatus) -> JobStatus:
        if job.active:
            call.service().do(job.id, Cancel())
        call.service().do(job.id, Discard())
        return call.service().job(job.id)

    with call.waiting("Deleting"):
        outcomes = list(together(one, chosen))
    tell(call, outcomes, "deleted")


def ask(call: Call, warning: str, yes: bool) -> None:
    """Ask at a terminal whether to go on, and end the call if not. UsageError elsewhere, unless ``yes``."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{warning} Nobody is here to be asked: if that is meant, give --yes.")
    call.warn(warning)
    if not typer.confirm("Go on?", err=True):
        call.warn("Nothing was done.")
        raise typer.Exit(Exit.FAILED)


def discard(
    call: Call,
    jobs: JobArguments = None,
    all: Annotated[bool, typer.Option("--all", "-a", help="All ended jobs that keep state")] = False,
) -> None:
    """Remove the state that ended jobs keep: they cannot be brought back after that."""
    if bool(jobs) == all:
        raise UsageError("Name the jobs whose state is to be removed, or give --all.")
    sizes = {state.id: state.bytes for state in call.service().kept_states()}
    job_ids = [call.service().job(job).id for job in jobs] if jobs else list(sizes)
    for job_id in job_ids:
        call.service().do(job_id, Discard())
    size = sum(sizes.get(job_id, 0) for job_id in job_ids)
    call.say(f"Removed the state of {counted(len(job_ids), 'job')}: {counted(size, 'byte')}.")


def chosen_jobs(
    call: Call, names: list[str] | None, all: bool, part: Callable[[JobStatus], bool] | None = None
) -> list[JobStatus]:
    """Return the jobs that the user means, each once: those named, or those that ``part`` says are meant by all."""
    if names and all:
        raise UsageError("Name jobs, or give --all, not both at once.")
    if not names and not all:
        assert call.context is not None
        call.context.fail("Missing argument 'JOB'." + (" Name jobs, or give --all." if part else ""))
    service = call.service()
    if names:
        return list({job.id: job for job in map(service.job, names or ())}.values())
    return [job for job in service.jobs(include_ended=True) if part is None or part(job)]


def _carry_out(
    call: Call, deed: Deed, names: list[str] | None, all: bool, dry_run: bool, timeout: str | None, wait: bool = True
) -> None:
    """Do a deed to jobs, and tell of it. The error of a single job ends the call, those of several are told one by one."""
    call.patience = seconds_of(timeout)
    chosen = chosen_jobs(call, names, all, lambda job: job.status in deed.states)
    if not chosen:
        call.say(f"No job can be {deed.past}: nothing to do.")
    if dry_run:
        _say_whether(call, deed, chosen)
        return
    words = {} if all else {job.id: name for name in names or () for job in chosen if name in (job.id, job.name)}
    outcomes: list[tuple[JobStatus, JobStatus | Exception]] = []
    allowed = []
    for job in chosen:
        try:
            deed.refuse(words.get(job.id, name_of(job)), job)
        except ConflictError as error:
            outcomes.append((job, error))
        else:
            allowed.append(job)
    if len(chosen) == 1 and outcomes:
        raise cast(Exception, outcomes[0][1])
    for job in allowed:
        call.say(f"{deed.doing} job {describe(job)}...")

    def one(job: JobStatus) -> JobStatus:
        call.service().do(job.id, deed.request)
        if deed.starts and wait:
            return started(call, job, call.patience or START_SECONDS)
        return call.service().job(job.id)

    try:
        with call.waiting(deed.doing, allowed[0].id if len(allowed) == 1 else None):
            outcomes += together(one, allowed)
    except KeyboardInterrupt:
        which = f"job {allowed[0].id} goes" if len(allowed) == 1 else "the jobs go"
        call.say(f"Not waiting any more; {which} on by {'itself' if len(allowed) == 1 else 'themselves'}.")
        raise
    tell(call, outcomes, deed.past)


def _say_whether(call: Call, deed: Deed, jobs: list[JobStatus]) -> None:
    """Say of each job whether the server would do the deed now. Exit code 4 if it would refuse one."""
    refused = False
    facts = []
    for job in jobs:
        answer = next(each for each in call.service().verbs(job.id) if each.verb is deed.request.verb)
        reason = answer.refused
        if reason is None:
            try:
                deed.refuse(name_of(job), job)
            except ConflictError as error:
                reason = error.message
        refused = refused or reason is not None
        facts.append({"id": job.id, "name": job.name, "verb": deed.request.verb.value, "refused": reason})
        call.say(f"Would {deed.request.verb.value} job {describe(job)}" if reason is None else f"Would be refused: {reason}")
    if call.structured:
        call.show(facts)
    if refused:
        raise typer.Exit(Exit.REFUSED)


def started(call: Call, job: JobStatus, seconds: float) -> JobStatus:
    """Return the job once it runs. Raise its failure if it fails."""
    from pitstop.client.job_handle import raise_failure
    from pitstop.client.watching import job_in

    now = job_in(call.server(), job.id, SETTLED, seconds)
    raise_failure(now)
    return now


def tell(call: Call, outcomes: list[tuple[JobStatus, JobStatus | Exception]], past: str | None) -> None:
    """Tell of each job what came of it. ``past`` None: only errors and data."""
    several = len(outcomes) > 1
    code = Exit.DONE
    for job, outcome in outcomes:
        if isinstance(outcome, Exception):
            if not several:
                raise outcome
            message = outcome.message if isinstance(outcome, PitstopError) else f"{type(outcome).__name__}: {outcome}"
            call.warn(f"ERROR: {message}")
            code = code or exit_of(outcome)
        elif past is not None:
            call.say(f"Job '{name_of(job)}' {past}." if several else f"Job {past}.")
    if call.structured:
        facts = [job_facts(now) for _, now in outcomes if isinstance(now, JobStatus)]
        call.show(facts if several else facts[0] if facts else [])
    if code:
        raise typer.Exit(code)


def name_of(job: JobStatus) -> str:
    return job.name or job.id
