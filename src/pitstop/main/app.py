"""The command ``pitstop``: reads what the command needs that is called, and runs it."""

from __future__ import annotations

import os
import sys
from copy import copy
from types import ModuleType
from typing import cast

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_command_name
from typer.models import CommandInfo

from pitstop.cli.context import Call, fail
from pitstop.cli.exits import Exit
from pitstop.cli.register import silence
from pitstop.cli.terminal import plain_output
from pitstop.kit.wire import check_text
from pitstop.main.frame import new_app

_SHOW = (
    *("list-jobs", "list-kept-states", "status", "events", "history", "metrics", "graph", "versions", "options", "audit"),
    "log-level",
)


def _add_home(command: str, app: typer.Typer) -> bool:
    """Add a command of a client, with the others of its module; return False if it is another one.

    No other module is loaded: that takes as long as a request.
    """
    home: ModuleType
    match command:
        case "apply":
            from pitstop.cli import apply

            home = apply
        case "artifacts":
            from pitstop.cli import artifacts

            home = artifacts
        case "backup":
            from pitstop.cli import backups

            home = backups
        case "connectors" | "fetch-jars":
            from pitstop.cli import connectors

            home = connectors
        case "init":
            from pitstop.cli import init

            home = init
        case "logs":
            from pitstop.cli import job_logs

            home = job_logs
        case "check":
            from pitstop.cli import checking
            from pitstop.main.here import compiled_here

            checking.add_to(app, compiled_here)
            return True
        case "submit" | "update" | "configure" | "rollback":
            from pitstop.cli import jobs

            home = jobs
        case name if name in _SHOW:
            from pitstop.cli import show

            home = show
        case "save-snapshot" | "list-snapshots" | "delete-snapshot":
            from pitstop.cli import snapshots

            home = snapshots
        case "sql":
            from pitstop.cli import sql

            home = sql
        case "suspend" | "resume" | "restart" | "cancel" | "delete" | "discard":
            from pitstop.cli import verbs

            home = verbs
        case "wait":
            from pitstop.cli import waiting

            home = waiting
        case _:
            return False
    home.add_to(app)
    return True


def _read_for(arguments: list[str]) -> TyperGroup:
    """Return all commands, or the one that the first argument names: to read the others takes longer than a request."""
    first = arguments[0] if arguments else ""
    single = new_app()
    if "_PITSTOP_COMPLETE" not in os.environ and _add_home(first, single):
        single.registered_commands = [each for each in single.registered_commands if _name_of(each) == first]
        return cast(TyperGroup, get_command(single))
    from pitstop.main.commands import app, commands  # loads all of them

    chosen = [each for each in app.registered_commands if each.callback is not None and _name_of(each) == first != "help"]
    groups = [each for each in app.registered_groups if each.name == first]
    if not (chosen or groups) or "_PITSTOP_COMPLETE" in os.environ:
        return commands()
    single = copy(app)
    single.registered_commands, single.registered_groups = chosen, groups
    return cast(TyperGroup, get_command(single))


def _name_of(command: CommandInfo) -> str:
    assert command.callback is not None
    return command.name or get_command_name(command.callback.__name__)


def main() -> None:
    """Entry point: one sentence an error, and the exit code of its kind (pitstop.cli.exits)."""
    if "_PITSTOP_COMPLETE" in os.environ:
        from typer.completion import completion_init

        completion_init()
    with plain_output():
        code = _run(Call())
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            silence(stream)
    sys.exit(code)


def _run(call: Call) -> int | str | None:
    try:
        for argument in sys.argv[1:]:
            check_text(f"The argument {argument!r}", argument)
        _read_for(sys.argv[1:])(prog_name="pitstop", obj=call)
    except SystemExit as ended:
        return ended.code
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except Exception as error:  # an error of any kind is shown as a sentence, and gives the exit code
        return fail(error, call.verbose, call.submitted, call.advice(error))
    return 0
