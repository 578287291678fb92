"""All commands of ``pitstop``."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import Annotated, cast

import typer
from typer.core import TyperGroup
from typer.main import get_command

from pitstop.cli import (
    adopting,
    apply,
    artifacts,
    backups,
    checking,
    cluster,
    connectors,
    doctor,
    init,
    job_logs,
    jobs,
    looking,
    maps,
    nouns,
    page,
    show,
    snapshots,
    sql,
    states,
    verbs,
    waiting,
)
from pitstop.cli.context import Call
from pitstop.cli.register import register
from pitstop.main.executor import executor
from pitstop.main.frame import new_app
from pitstop.main.here import compiled_here, rows_here
from pitstop.main.member import member
from pitstop.main.operator import operator
from pitstop.main.pgwire import pgwire
from pitstop.main.restoring import restore, withdraw
from pitstop.main.serve import serve
from pitstop.main.support import support_bundle

app = new_app()


class Shell(StrEnum):
    """Shells that commands can be completed in."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(call: Call, shell: Annotated[Shell, typer.Argument(help="Whose script to print")]) -> None:
    """Print a shell's completion script, such as for: source <(pitstop completion bash)"""
    from typer.completion import get_completion_script

    print(get_completion_script(prog_name="pitstop", complete_var="_PITSTOP_COMPLETE", shell=shell.value))


def help(
    call: Call, command: Annotated[list[str] | None, typer.Argument(metavar="COMMAND", help="Such as: job list")] = None
) -> None:
    """Show the help of a command, or the list of all."""
    assert call.context is not None
    context = call.context.find_root()
    for word in command or ():
        group = context.command
        inner = group.get_command(context, word) if isinstance(group, TyperGroup) else None
        if inner is None:
            call.context.fail(f"There is no command '{' '.join(command or ())}': see pitstop help.")
        context = type(context)(inner, info_name=word, parent=context)
    print(context.get_help())


init.add_to(app)
register(app, help)
register(app, serve)
register(app, member)
register(app, operator)
app.command("executor", hidden=True)(executor)
page.add_to(app)
jobs.add_to(app)
checking.add_to(app, compiled_here)
verbs.add_to(app)
apply.add_to(app)
waiting.add_to(app)
show.add_to(app)
looking.add_to(app)
job_logs.add_to(app)
snapshots.add_to(app)
sql.add_to(app)
register(app, pgwire)
artifacts.add_to(app)
connectors.add_to(app)
doctor.add_to(app, rows_here)
adopting.add_to(app)
app.add_typer(maps.app, name="map")
app.add_typer(states.app, name="snapshot")
app.add_typer(cluster.app, name="cluster")
nouns.add_to(app, checking.Checking(compiled_here).check)
backups.add_to(app)
register(app, restore)
register(app, withdraw)
register(app, support_bundle, "support-bundle")
register(app, completion)


@cache
def commands() -> TyperGroup:
    """Return all commands. Typer reads each of them anew otherwise, which takes a tenth of a second."""
    return cast(TyperGroup, get_command(app))
