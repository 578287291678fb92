"""The forms in which a job is printed: one line, lines of facts, structured output."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any

from pitstop.kit.clock import days_ahead, iso
from pitstop.kit.counts import counted
from pitstop.model.job import JobState, Progress
from pitstop.model.left_out import WANTED
from pitstop.service.job_results import JobStatus

if TYPE_CHECKING:
    from pitstop.service.job_views import JobGraph


def describe(job: JobStatus) -> str:
    """Return the job in one line."""
    return f"id={job.id}, name={job.display_name}, submissionTime={iso(job.submission_time)}"


def job_facts(job: JobStatus) -> dict[str, Any]:
    """Return a job as structured output."""
    return {
        "id": job.id,
        "name": job.name,
        "status": job.status.value,
        "display_status": job.display_status.value,
        "submission_time": iso(job.submission_time),
        "start_time": iso(job.start_time),
        "completion_time": iso(job.completion_time),
        "user_cancelled": job.user_cancelled,
        "suspension_cause": job.suspension_cause,
        "failure": job.failure,
        "interruption": job.interruption,
        "attempts": job.attempts,
        "restarts": {cause.value: runs for cause, runs in job.restarts.items()},
        "updates": job.updates,
        "failed_updates": job.failed_updates,
        "update_gap_seconds": job.update_gap_seconds,
        "next_try": iso(_next_try(job)),
        "has_state": job.has_state,
        "state_kept_until": iso(job.state_kept_until),
        "config": job.config.to_dict(),
        "source": job.source.to_dict(),
        "progress": progress_facts(job.progress),
    }


WIDE_HEADS = (
    "ID",
    "STATUS",
    "VERSION",
    "EPOCH",
    "LAST EPOCH",
    "ROWS READ",
    "A SECOND",
    "RESTARTS",
    "GUARANTEE",
    "SUBMITTED",
    "NAME",
)


def wide_row(job: JobStatus) -> tuple[str | int | None, ...]:
    """Return the cells of a job in a wide list."""
    progress = job.progress
    return (
        job.id,
        job.display_status.value,
        job.version,
        progress.epoch if progress.epoch >= 0 else None,
        iso(progress.epoch_at),
        progress.input_rows,
        round(progress.rows_per_second),
        sum(job.restarts.values()),
        job.config.processing_guarantee.value,
        iso(job.submission_time),
        job.display_name,
    )


def as_dot(graph: JobGraph) -> str:
    """Return a pipeline in the language of Graphviz; stages with state are boxes with a double line."""
    nodes = []
    for node in graph.nodes:
        label = _quoted(f"{node.name}\n{node.description}")
        nodes.append(f"  {_quoted(node.name)} [label={label}{', peripheries=2' if node.keeps_state else ''}];")
    edges = [f"  {_quoted(edge.source)} -> {_quoted(edge.target)};" for edge in graph.edges]
    return "\n".join(["digraph job {", "  rankdir=LR;", "  node [shape=box];", *nodes, *edges, "}"])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def job_lines(job: JobStatus, by_part: bool = False) -> list[str]:
    """Return a job as lines of name and value, without the facts that it does not have.

    ``by_part``: the lag of a source is told of each of its parts, too.
    """
    progress = job.progress
    counts = progress.epoch >= 0 or progress.input_rows > 0  # a batch has no epochs
    facts = {
        "ID": job.id,
        "Name": job.display_name,
        "Status": job.display_status.value,
        "Meaning": job.display_status.sentence,
        "Submitted": iso(job.submission_time),
        "Started": iso(job.start_time),
        "Ended": iso(job.completion_time),
        "Suspended": job.suspension_cause,
        "Interrupted": job.interruption,
        "Restarts": _restarts(job),
        "Attempts": _attempts(job),
        "Failure": job.failure,
        "State": _state(job),
        "Last update": job.update_failure,
        "Planned for": _planned_for(job),
        "Guarantee": job.config.processing_guarantee.value,
        "Started from": job.config.initial_snapshot,
        "Epoch": _epoch(progress),
        "Under way": _under_way(progress),
        "Waiting": _waits(progress) if job.status is JobState.RUNNING else None,
        "Table away": _tables_away(progress) if job.status is JobState.RUNNING else None,
        "Rows read": f"{progress.input_rows:,} ({progress.rows_per_second:,.1f} a second)" if counts else None,
        "Not read yet": _not_read(progress, by_part),
        "Left out": _left_out(progress) if counts else None,
        "Watermark": _watermark(progress),
    }
    indent = "\n" + " " * 15
    return [f"{key + ':':<14} {value.replace(chr(10), indent)}" for key, value in facts.items() if value is not None]


def _next_try(job: JobStatus) -> float | None:
    """Return the time of the next start of a job that has broken off."""
    return job.due if job.status is JobState.NOT_RUNNING and job.interruption is not None else None


def _attempts(job: JobStatus) -> str | None:
    """Return the number of failures without progress, and the time of the next try."""
    at = _next_try(job)
    failed = f"{job.attempts} failed without progress" if job.attempts else None
    again = f"the next one is at {iso(at)}" if at is not None else None
    sentence = "; ".join(part for part in (failed, again) if part is not None)
    return f"{sentence} (option restart: {job.config.restart})" if sentence else None


def _epoch(progress: Progress) -> str | None:
    if progress.epoch < 0:
        return None
    return f"{progress.epoch}" if progress.epoch_at is None else f"{progress.epoch}, committed {iso(progress.epoch_at)}"


def _restarts(job: JobStatus) -> str | None:
    """Return the number of runs that another one followed, by cause."""
    causes = ", ".join(f"{runs:,} {cause.value}" for cause, runs in job.restarts.items())
    return f"{sum(job.restarts.values()):,} ({causes})" if causes else None


def _planned_for(job: JobStatus) -> str | None:
    if job.placement is None:
        return None
    return f"{counted(len(job.placement.members), 'member')} with {counted(job.placement.cores, 'core')}"


def _not_read(progress: Progress, by_part: bool) -> str | None:
    """Return the lag of each source, a line each."""
    lines = []
    for source, facts in progress.stages.items():
        if facts.get("behind") is None:
            continue
        lines.append(f"{facts['behind']:,} {facts.get('behind_in')} of source '{source}'")
        parts = facts.get("behind_by_part") or {}
        lags = {part: amount for part, amount in parts.items() if amount} if len(parts) < facts.get("parts", 0) else parts
        lines += [f"  {amount:,} of {part}" for part, amount in lags.items()] if by_part else []
    return "\n".join(lines) or None


def _left_out(progress: Progress) -> str:
    """Return the number of rows that went no further, by reason."""
    parts = [f"{rows:,} {reason.words}" for reason, rows in progress.left_out_in_all.items() if reason not in WANTED]
    before = f"{progress.bad_before:,} counted by an older release" if progress.bad_before else None
    return "; ".join([*parts, *([before] if before else [])]) or "none"


def _watermark(progress: Progress) -> str | None:
    if progress.watermark_ms is None:
        return None
    days = days_ahead(progress.watermark_ms, time.time())
    far = f", {counted(days, 'day')} or more ahead of the clock: rows with earlier times are late" if days else ""
    return f"{iso(progress.watermark_ms / 1000)}{far}"


def _under_way(progress: Progress) -> str | None:
    if not progress.busy_seconds:
        return None
    return f"epoch {progress.epoch + 1}, for {counted(progress.busy_seconds, 'second')}"


def _waits(progress: Progress) -> str | None:
    """Return the sources that wait for a folder, a line each."""
    waits = progress.waits_for.items()
    return "\n".join(f"source '{source}': folder {folder} does not exist yet" for source, folder in waits) or None


def _tables_away(progress: Progress) -> str | None:
    """Return a sentence for each table of a hash join that cannot be read, with the rows that stand in for it."""
    sentences = [
        f"{away.why} So it is since {iso(away.since)}: rows are joined with what was read at {iso(away.read_at)}."
        for away in progress.tables_away
    ]
    return "\n".join(sentences) or None


def progress_facts(progress: Progress) -> dict[str, Any]:
    """Return the progress of a job's run as structured output."""
    away = [dataclasses.asdict(each) | {"since": iso(each.since), "read_at": iso(each.read_at)} for each in progress.tables_away]
    return progress.to_dict() | {"tables_away": away, "epoch_at": iso(progress.epoch_at)}


def _state(job: JobStatus) -> str | None:
    """Return a line about its saved state, where that is not a matter of course."""
    if job.state_kept_until is not None:
        return f"kept until {iso(job.state_kept_until)}; resume, update or save-snapshot go on from it, discard removes it"
    if job.status in (JobState.SUSPENDED, JobState.FAILED) and not job.has_state:
        return "none"
    return None


def metric_lines(job: JobStatus) -> list[str]:
    """Return the progress of a job's run: its totals, then a line for each stage."""
    progress = job.progress.to_dict() | {"epoch_at": iso(job.progress.epoch_at)}
    stages: dict[str, dict[str, Any]] = progress.pop("stages")
    away = [each["stage"] for each in progress.pop("tables_away")]
    progress |= {f"  {figure}": rows for figure, rows in progress.pop("left_out_before").items()}
    progress |= {"tables_away": ", ".join(away)} if away else {}
    waits = progress.pop("waits_for")
    progress |= {"waits_for": ", ".join(waits.values())} if waits else {}
    progress |= {f"  {part}": spent for part, spent in progress.pop("parts_ms").items()}
    lines = [f"{key:<16} {'-' if value is None else value}" for key, value in progress.items()]
    if stages:
        width = max(len("STAGE"), *(len(name) for name in stages))
        lines += ["", f"{'STAGE':<{width}} METRICS"]
        plain = {name: {key: value for key, value in facts.items() if key != "behind_by_part"} for name, facts in stages.items()}
        lines += [f"{name:<{width}} " + " ".join(f"{key}={value}" for key, value in plain[name].items()) for name in plain]
    return lines
