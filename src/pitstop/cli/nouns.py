"""Second names of commands, by noun: ``pitstop job list`` is ``pitstop list-jobs``."""

from __future__ import annotations

from typing import Any

import typer

from pitstop.cli import checking, job_logs, jobs, looking, show, snapshots, states, verbs, waiting
from pitstop.cli.deeds import DEEDS
from pitstop.cli.register import Command, register

job = typer.Typer(help="Commands on jobs, by their second names.", no_args_is_help=True)

_PLAIN: dict[str, Any] = {}
_OF_SNAPSHOTS: tuple[tuple[str, Command, str], ...] = (
    ("list", snapshots.list_snapshots, "list-snapshots"),
    ("save", snapshots.save_snapshot, "save-snapshot"),
    ("delete", snapshots.delete_snapshot, "delete-snapshot"),
    ("describe", states.inspect, "snapshot inspect"),
)


def add_to(app: typer.Typer, check: Command) -> None:
    """Register the commands; ``check`` is the command of that name."""
    for word, function, first, settings in _of_jobs(check):
        register(job, function, first, synonym=f"job {word}", **settings)
    for word, function, first in _OF_SNAPSHOTS:
        register(states.app, function, first, synonym=f"snapshot {word}")
    app.add_typer(job, name="job")


def _of_jobs(check: Command) -> tuple[tuple[str, Command, str, dict[str, Any]], ...]:
    return (
        ("list", show.list_jobs, "list-jobs", _PLAIN),
        ("describe", show.status, "status", _PLAIN),
        ("logs", job_logs.logs, "logs", _PLAIN),
        ("events", show.events, "events", _PLAIN),
        ("history", show.history, "history", _PLAIN),
        ("metrics", show.metrics, "metrics", _PLAIN),
        ("graph", show.graph, "graph", _PLAIN),
        ("tasks", looking.tasks, "tasks", _PLAIN),
        ("peek", looking.peek, "peek", _PLAIN),
        ("versions", show.versions, "versions", _PLAIN),
        ("options", show.options, "options", _PLAIN),
        ("submit", jobs.submit, "submit", jobs.SUBMIT_SETTINGS),
        ("check", check, "check", checking.SETTINGS),
        ("update", jobs.update, "update", jobs.SUBMIT_SETTINGS),
        ("rollback", jobs.rollback, "rollback", _PLAIN),
        *((deed.name, verbs.command_of(deed), deed.name, _PLAIN) for deed in DEEDS),
        ("wait", waiting.wait, "wait", _PLAIN),
        ("configure", jobs.configure, "configure", _PLAIN),
        ("delete", verbs.delete, "delete", _PLAIN),
    )
