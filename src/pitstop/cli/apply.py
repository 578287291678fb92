"""The command that brings the jobs of a server to what a file says."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePath
from typing import Annotated

import typer

from pitstop.cli.apply_file import DesiredJob, read_jobs
from pitstop.cli.apply_plan import JobPlan, PresentJob, Step, plan_job, plan_pruned
from pitstop.cli.arguments import Yes
from pitstop.cli.context import Call
from pitstop.cli.exits import Exit, exit_of
from pitstop.cli.register import register
from pitstop.cli.verbs import START_SECONDS, ask, started
from pitstop.errors import PitstopError, UsageError
from pitstop.model.operation import Cancel, Discard, Resume, Suspend
from pitstop.model.option_values import stages_to_drop
from pitstop.model.report import Report
from pitstop.service.api import SubmitRequest
from pitstop.service.job_results import JobStatus

_SIGNS = {Step.CREATE: "+", Step.UPDATE: "~", Step.RESUME: ">", Step.SUSPEND: ">", Step.DELETE: "-"}
_DOING = {
    Step.CREATE: "Creating",
    Step.UPDATE: "Updating",
    Step.RESUME: "Resuming",
    Step.SUSPEND: "Suspending",
    Step.DELETE: "Deleting",
}


@dataclass(frozen=True)
class _Checked:
    """A plan, and what compiling the job has shown."""

    plan: JobPlan
    desired: DesiredJob | None = None
    report: Report | None = None
    text: str = ""
    error: PitstopError | None = None
    warnings: tuple[str, ...] = ()
    """A sentence for each thing that is amiss now and keeps nobody from doing it."""

    @property
    def is_wrong(self) -> bool:
        return self.error is not None or (self.report is not None and self.report.refused)

    @property
    def drops(self) -> str | None:
        """The state that the plan drops without leave in the file, in words."""
        if Step.DELETE in self.plan.steps:
            return f"job '{self.plan.name}' is deleted with its saved state"
        if self.report is not None and self.report.needs_allow_drop:
            return f"job '{self.plan.name}' drops {self.report.drops}"
        return None


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    register(app, apply)


def apply(
    call: Call,
    file: Annotated[Path, typer.Option("--file", "-f", metavar="FILE", help="The jobs, in YAML (docs/apply.md)")],
    environment: Annotated[
        str | None,
        typer.Option("--environment", "-e", metavar="NAME", help="The environment of the file whose arguments and options hold"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan, and do nothing")] = False,
    yes: Yes = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete the active jobs of the server that the file leaves out, with their state")
    ] = False,
) -> None:
    """Bring the jobs of a server to what a file says: show the plan, ask before state is dropped, carry it out.

    A job of the file is created, updated, suspended or resumed, or is as it should be already. Each new version is compiled and
    checked before anything is done; if one is wrong, nothing is done. The same file once more changes nothing (docs/apply.md).
    """
    desired = read_jobs(file, environment)
    present = _present_jobs(call)
    plans = [_checked(call, job, plan_job(job, _digest(job), _named(job.name, present))) for job in desired]
    if prune:
        plans += [_Checked(plan) for plan in plan_pruned(desired, present)]
    _show(call, plans)
    wrong = next((each for each in plans if each.is_wrong), None)
    if wrong is not None:
        call.warn("Nothing was done.")
        raise typer.Exit(exit_of(wrong.error) if wrong.error is not None else Exit.REFUSED)
    if dry_run or not any(each.plan.steps for each in plans):
        return
    drops = [words for each in plans if (words := each.drops) is not None]
    if drops:
        ask(call, f"Saved state is dropped: {'; '.join(drops)}.", yes)
    _carry_out(call, plans)


def _present_jobs(call: Call) -> list[PresentJob]:
    """Return the jobs of the server, the newest first."""
    service = call.service()
    digests = {use.job: artifact.sha256 for artifact in service.artifacts() for use in artifact.used_by if use.current}
    return [
        PresentJob(
            id=job.id,
            name=job.name,
            status=job.display_status,
            state=job.status,
            has_state=job.has_state,
            artifact=PurePath(job.source.artifact).name,
            sha256=digests.get(job.id),
            entry=job.source.entry,
            args=tuple(job.source.args),
            options=job.options,
        )
        for job in service.jobs(include_ended=True)
    ]


def _named(name: str, jobs: Iterable[PresentJob]) -> list[PresentJob]:
    return [job for job in jobs if job.name == name]


def _digest(job: DesiredJob) -> str | None:
    if job.is_remote:
        return None
    try:
        return hashlib.sha256(Path(job.artifact).read_bytes()).hexdigest()
    except FileNotFoundError:
        raise UsageError(f"Job '{job.name}': the file {job.artifact} could not be found.") from None
    except OSError as error:
        raise UsageError(f"Job '{job.name}': the file {job.artifact} cannot be read: {error.strerror}.") from None


def _request(job: DesiredJob, creates: bool) -> SubmitRequest:
    snapshot = job.initial_snapshot if creates else None
    return SubmitRequest(job.artifact, None, job.entry, job.args, job.name if creates else None, snapshot, dict(job.options))


def _checked(call: Call, job: DesiredJob, plan: JobPlan) -> _Checked:
    """Return the plan with the report on its new version, if it has one."""
    if Step.CREATE not in plan.steps and Step.UPDATE not in plan.steps:
        return _Checked(plan, job)
    creates = Step.CREATE in plan.steps
    request = replace(_request(job, creates), name=None, initial_snapshot=None)
    try:
        with call.waiting(f"Checking {job.name}"):
            result = call.service().check(request, None if creates else plan.job_id, job.initial_snapshot if creates else None)
    except PitstopError as error:
        return _Checked(plan, job, error=error)
    return _Checked(plan, job, result.report, result.text, warnings=tuple(result.warnings))


def _show(call: Call, plans: list[_Checked]) -> None:
    if call.structured:
        call.show([_facts(each) for each in plans])
        return
    width = max((len(each.plan.name) for each in plans), default=0)
    for each in plans:
        steps = each.plan.steps
        words = ", then ".join(step.value for step in steps) or "unchanged"
        print(f"{_SIGNS[steps[0]] if steps else '='} {each.plan.name:<{width}}  {words}")
        details = [f"{change.what}: {change.before} -> {change.after}" for change in each.plan.changes]
        details += each.plan.notes
        details += each.text.splitlines() if each.report is not None or each.error is not None else []
        details += [f"Warning: {warning}" for warning in each.warnings] if each.report is None else []
        details += [f"ERROR: {each.error.message}"] if each.error is not None else []
        for detail in details:
            print(f"    {detail}")
    count = Counter(each.plan.steps[0].value if each.plan.steps else "leave unchanged" for each in plans)
    print(f"Plan: {', '.join(f'{number} to {what}' for what, number in count.items()) or 'there are no jobs'}.", flush=True)


def _facts(each: _Checked) -> dict[str, object]:
    return {
        "name": each.plan.name,
        "id": each.plan.job_id,
        "steps": [step.value for step in each.plan.steps],
        "changes": [asdict(change) for change in each.plan.changes],
        "notes": list(each.plan.notes),
        "warnings": list(each.warnings),
        "report": each.report.to_dict() if each.report is not None else None,
        "error": each.error.to_dict() if each.error is not None else None,
    }


def _carry_out(call: Call, plans: list[_Checked]) -> None:
    """Do the steps, job by job. An error ends the steps of its job alone; the first one gives the exit code.

    Jobs that the file leaves out come last, and are deleted only if all others have become what the file says: one of these may
    be what takes the place of a job that is to go.
    """
    code = Exit.DONE
    for each in plans:
        job_id = each.plan.job_id
        for step in each.plan.steps:
            if step is Step.DELETE and code:
                call.warn(f"Job '{each.plan.name}' is not deleted, because not everything before was done.")
                break
            call.say(f"{_DOING[step]} job '{each.plan.name}'...")
            try:
                with call.waiting(_DOING[step]):
                    job_id = _do(call, each, step, job_id)
            except PitstopError as error:
                call.warn(f"ERROR: Job '{each.plan.name}' ({step.value}): {error.message}")
                code = code or exit_of(error)
                break
    if code:
        raise typer.Exit(code)
    call.say("Done.")


def _do(call: Call, each: _Checked, step: Step, job_id: str | None) -> str:
    """Do a step, and return the id of the job."""
    service = call.service()
    if step is Step.CREATE:
        assert each.desired is not None
        job = service.submit(_request(each.desired, creates=True))
        return _run(call, job)
    assert job_id is not None
    if step is Step.UPDATE:
        assert each.desired is not None
        request = _request(each.desired, creates=False)
        dropped = each.report.needs_allow_drop if each.report is not None else ()
        if dropped:  # the user has said yes
            request = replace(request, options=request.options | {"allow_drop": [*_allowed(request), *dropped]})
        service.update(job_id, request)
    elif step is Step.RESUME:
        service.do(job_id, Resume())
        return _run(call, service.job(job_id))
    elif step is Step.SUSPEND:
        service.do(job_id, Suspend())
    else:
        service.do(job_id, Cancel())
        service.do(job_id, Discard())
    return job_id


def _allowed(request: SubmitRequest) -> Iterable[str]:
    """Return the drops that the file itself allows."""
    allowed = request.options.get("allow_drop")
    return stages_to_drop(allowed) if allowed else ()


def _run(call: Call, job: JobStatus) -> str:
    return started(call, job, START_SECONDS).id
