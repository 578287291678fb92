"""Completion of the names of jobs, snapshots, stages and maps: the server is asked, and none is no error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import typer

from pitstop.cli.context import Call

Words = list[tuple[str, str]]
"""Words, each with the help that a shell shows beside it."""


def complete_jobs(context: typer.Context, incomplete: str) -> Words:
    """Return the names of jobs, those that have not ended first; an id is a word, too, once its beginning is typed."""
    jobs = _things(context, "/jobs", all="true")
    jobs.sort(key=lambda job: bool(job.get("completion_time")))
    named = [(job["name"] or job["id"], _text(job)) for job in jobs]
    return _beginning(incomplete, [*named, *(((job["id"], _text(job)) for job in jobs) if incomplete else ())])


def complete_snapshots(context: typer.Context, incomplete: str) -> Words:
    """Return the names of snapshots."""
    records = _things(context, "/snapshots")
    return _beginning(
        incomplete, ((record["name"], f"of {record.get('job_name') or record.get('job_id')}") for record in records)
    )


def complete_maps(context: typer.Context, incomplete: str) -> Words:
    """Return the names of maps."""
    return _beginning(incomplete, ((facts["name"], f"{facts.get('size')} entries") for facts in _things(context, "/maps")))


def _text(job: dict[str, Any]) -> str:
    return str(job.get("display_status") or job.get("status"))


def _beginning(incomplete: str, words: Iterable[tuple[str, str]]) -> Words:
    """Return the words with this beginning, each once."""
    unique = dict[str, str]()
    for word, help in words:
        if word.startswith(incomplete):
            unique.setdefault(word, help)
    return list(unique.items())


def _things(context: typer.Context, path: str, **parameters: str) -> list[dict[str, Any]]:
    try:
        from pitstop.client.naming import things

        call = _call(context)
        return things(call.address, call.given_token, path, **parameters)
    except Exception:  # whatever keeps a server from answering: a shell has nowhere to show it
        return []


def _call(context: typer.Context) -> Call:
    """Return a call with the global options that stand in the line so far."""
    call = Call()
    for each in reversed(list(_upwards(context))):
        call.override(each.params.get("url"), each.params.get("token_file"), False, None)
    return call


def _upwards(context: typer.Context | None) -> Iterator[typer.Context]:
    while context is not None:
        yield context
        context = context.parent  # type: ignore[assignment]
