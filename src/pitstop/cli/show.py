"""Commands that look at jobs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pitstop.cli.arguments import JobArgument
from pitstop.cli.away import patience
from pitstop.cli.context import Call
from pitstop.cli.outputs import Form
from pitstop.cli.register import register
from pitstop.cli.render import WIDE_HEADS, as_dot, job_facts, job_lines, metric_lines, progress_facts, wide_row
from pitstop.cli.tables import print_table
from pitstop.errors import UsageError
from pitstop.kit.clock import iso
from pitstop.kit.plain_text import in_one_line
from pitstop.machine.log_levels import LogLevel
from pitstop.model.job import DisplayStatus
from pitstop.model.job_event import JobEvent, StateChange
from pitstop.model.options import as_written
from pitstop.service.history import Step

if TYPE_CHECKING:
    from pitstop.service.job_results import JobStatus

USUAL_LEVEL = "usual"
"""Written in the place of a level to take back what was set."""


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    register(app, list_jobs, "list-jobs")
    register(app, list_kept_states, "list-kept-states")
    for command in (status, events, history, metrics, graph, versions, options, audit):
        register(app, command)
    register(app, log_level, "log-level")


def list_jobs(
    call: Call,
    all: Annotated[bool, typer.Option("--all", "-a", help="Ended jobs, too")] = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Follow changes of jobs until Ctrl-C")] = False,
    status: Annotated[
        list[str] | None,
        typer.Option(
            "--status",
            metavar="STATUS",
            help="Only jobs of this status, such as running, failed or cancelled; repeatable",
            autocompletion=lambda: [each.value.lower() for each in DisplayStatus],
        ),
    ] = None,
) -> None:
    """List jobs; with -o wide also their epochs, rows and restarts."""
    statuses = set(map(_status_named, status or ()))
    ended = all or bool(statuses & _ENDED)
    if watch:
        _watch_jobs(call, ended, statuses)
        return
    jobs = [job for job in call.service().jobs(include_ended=ended) if not statuses or job.display_status in statuses]
    if call.structured:
        call.show([job_facts(job) for job in jobs])
        return
    if call.output.form is Form.WIDE:
        print_table(WIDE_HEADS, list(map(wide_row, jobs)))
        return
    print(_JOB_HEAD)
    for job in jobs:
        print(_job_line(job))


_ENDED = {DisplayStatus.COMPLETED, DisplayStatus.FAILED, DisplayStatus.CANCELLED}


def _status_named(word: str) -> DisplayStatus:
    try:
        return DisplayStatus(word.upper())
    except ValueError:
        choices = ", ".join(each.value.lower() for each in DisplayStatus)
        raise typer.BadParameter(f"'{word}' is not one of {choices}.", param_hint="'--status'") from None


def _watch_jobs(call: Call, all: bool, statuses: set[DisplayStatus]) -> None:
    from pitstop.client.watching import watched_jobs

    lines: dict[str, str] = {}
    if not call.structured:
        print(_JOB_HEAD, flush=True)
    for job in watched_jobs(call.server(), patience(call), all):
        if statuses and job.display_status not in statuses:
            lines.pop(job.id, None)  # it is told again when it comes back
            continue
        # Its progress changes with each epoch, and is not watched.
        facts = {name: value for name, value in job_facts(job).items() if name != "progress"}
        line = call.output.line(facts) if call.structured else _job_line(job)
        if lines.get(job.id) != line:  # most of what changes in a job has no column
            lines[job.id] = line
            print(line, flush=True)


_JOB_HEAD = f"{'ID':<19} {'STATUS':<18} {'SUBMISSION TIME':<23} NAME"


def _job_line(job: JobStatus) -> str:
    return f"{job.id:<19} {job.display_status.value:<18} {iso(job.submission_time) or '':<23} {job.display_name}"


def list_kept_states(call: Call) -> None:
    """List the state that ended jobs keep on disk, the largest first: resume brings such a job back, discard removes it."""
    states = call.service().kept_states()
    if call.structured:
        call.show([asdict(state) | {"until": iso(state.until)} for state in states])
        return
    rows = [
        (state.id, "cancelled" if state.user_cancelled else "failed", iso(state.until), state.bytes, state.name)
        for state in states
    ]
    print_table(("ID", "ENDED", "KEPT UNTIL", "BYTES", "NAME"), rows)


def status(call: Call, job: JobArgument) -> None:
    """Show one job; with -v also the lag of each part of its sources, such as partitions of topics."""
    job_status = call.service().job(job)
    if call.structured:
        call.show(job_facts(job_status))
        return
    print("\n".join(job_lines(job_status, by_part=call.verbose)))
    if call.verbose and job_status.failure_details:
        print(f"\n{job_status.failure_details}")


def metrics(call: Call, job: JobArgument) -> None:
    """Show the progress of a job's run: rows, epochs and state, stage by stage."""
    job_status = call.service().job(job)
    if call.structured:
        call.show(progress_facts(job_status.progress))
    else:
        print("\n".join(metric_lines(job_status)))


def graph(
    call: Call,
    job: JobArgument,
    dot: Annotated[bool, typer.Option("--dot", help="In the language of Graphviz")] = False,
) -> None:
    """Show a job's pipeline: its stages, what they read, and which of them keep state."""
    job_graph = call.service().graph(job)
    if dot:
        print(as_dot(job_graph))
        return
    if call.structured:
        call.show(asdict(job_graph) | {"nodes": [asdict(node) | {"kind": node.kind.value} for node in job_graph.nodes]})
        return
    reads = {node.name: [edge.source for edge in job_graph.edges if edge.target == node.name] for node in job_graph.nodes}
    rows = []
    for node in job_graph.nodes:
        state = "yes" if node.keeps_state else ""
        rows.append((node.name, node.kind.value, ", ".join(reads[node.name]), state, node.description, node.location))
    print_table(("STAGE", "KIND", "READS", "STATE", "DOES", "DEFINED IN"), rows)


def versions(call: Call, job: JobArgument) -> None:
    """List the versions that a job has and had, the newest first: 'pitstop rollback --to' goes back to one."""
    job_versions = call.service().versions(job)
    if call.structured:
        call.show([asdict(version) | {"since": iso(version.since)} for version in job_versions])
        return
    rows = []
    for version in job_versions:
        option_texts = " ".join(f"{name}={_value_text(value)}" for name, value in version.options.items())
        code = " ".join(filter(None, (version.artifact, version.entry, *version.args)))
        rows.append((f"{version.number}{' *' if version.current else ''}", iso(version.since), code, option_texts))
    print_table(("VERSION", "SINCE", "CODE", "OPTIONS"), rows)


def options(call: Call, job: JobArgument) -> None:
    """Show a job's options: the values in force, and whether they were asked for, stand in the job's code, or are the default."""
    job_options = call.service().options(job)
    if call.structured:
        call.show([asdict(option) | {"origin": option.origin.value} for option in job_options])
        return
    print_table(
        ("OPTION", "VALUE", "FROM"), [(option.name, _value_text(option.value), option.origin.value) for option in job_options]
    )


def history(
    call: Call,
    job: JobArgument,
    step: Annotated[Step, typer.Option("--step", help="second: by default the last 15 minutes; minute: 24 hours")] = Step.SECOND,
) -> None:
    """Show how a job did over time: a line for each second, or minute, in which an epoch ended."""
    job_history = call.service().history(job, step)
    if call.structured:
        call.show(asdict(job_history) | {"step": job_history.step.value, "times": [iso(at) for at in job_history.times]})
        return
    columns = (job_history.job[name] for name in ("input_rows", "rows_per_second", "epoch_ms", "watermark_lag_ms", "state_rows"))
    heads = ("TIME", "ROWS READ", "A SECOND", "EPOCH MS", "LAG MS", "STATE ROWS")
    print_table(heads, list(zip((iso(at) for at in job_history.times), *columns, strict=True)))


def events(
    call: Call,
    job: JobArgument,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow new events until the job ends")] = False,
) -> None:
    """Show what happened to a job, oldest first: its states with their reasons, updates, snapshots; with -v stack traces, too."""
    from pitstop.client.listener import kept_events

    service = call.service()
    job_id = service.job(job).id
    happened = _followed(call, job_id) if follow else kept_events(service, job_id)
    if call.structured and not follow:
        call.show([_event_facts(event) for event in happened])
        return
    for event in happened:
        line = f"{iso(event.at)} {in_one_line(event.text)}"
        print(call.output.line(_event_facts(event)) if call.structured else line, flush=follow)
        if call.verbose and isinstance(event, StateChange) and event.trace:
            print(event.trace)


def audit(
    call: Call,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="Number of the newest entries to show")] = 50,
) -> None:
    """Show who changed what, the newest first: each request to the server that was no mere look."""
    audit_entries = call.service().audit(limit=limit)
    if call.structured:
        call.show([asdict(entry) | {"at": iso(entry.at), "door": entry.door.value} for entry in audit_entries])
        return
    for entry in audit_entries:
        print(f"{iso(entry.at)} {in_one_line(entry.text)}")


def log_level(
    call: Call,
    logger: Annotated[str | None, typer.Argument(metavar="LOGGER", help="Such as pitstop.source.http_poll; root: all")] = None,
    level: Annotated[
        str | None,
        typer.Argument(
            metavar="LEVEL",
            help=f"{', '.join(word.lower() for word in LogLevel)}; usual: the default",
            autocompletion=lambda: [*(word.lower() for word in LogLevel), USUAL_LEVEL],
        ),
    ] = None,
    job: Annotated[str | None, typer.Option("--job", "-j", metavar="JOB", help="Only the runs of this job")] = None,
) -> None:
    """Show how much loggers tell, or change it for one and those below it, while servers and jobs run (docs/logging.md)."""
    service = call.service()
    if logger is None:
        levels = service.log_levels(job)
    elif level is None:
        raise UsageError(f"Give a level for {logger}, or no logger to see all levels.")
    else:
        levels = service.set_log_level(logger, None if level.lower() == USUAL_LEVEL else level, job)
        call.say(f"Logger {logger} is set to {level.lower()}{f' for job {job}' if job is not None else ''}.")
    if call.structured:
        call.show([{"logger": at.logger, "level": at.level.value, "scope": at.scope.value} for at in levels])
    elif logger is None:
        print_table(("LOGGER", "LEVEL", "SET FOR"), [(at.logger, at.level.lower(), at.scope.value) for at in levels])


def _value_text(value: Any) -> str | int | None:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False) if value else None
    return value if value is None or type(value) is int else as_written(value)


def _event_facts(event: JobEvent) -> dict[str, Any]:
    from pitstop.kit.jsonable import to_json

    return {**to_json(event), "at": iso(event.at)}


def _followed(call: Call, job_id: str) -> Iterator[JobEvent]:
    from pitstop.client.listener import events_of

    return events_of(call.service(), job_id, 0, patience(call), threading.Event())
