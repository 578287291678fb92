"""The command ``pitstop``."""

from __future__ import annotations

import os
import sys
from copy import copy
from enum import StrEnum
from functools import cache
from typing import Annotated, cast

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_command_name
from typer.models import CommandInfo

from pitstop.cli import (
    adopting,
    apply,
    artifacts,
    backups,
    cluster,
    connectors,
    doctor,
    init,
    job_logs,
    jobs,
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
from pitstop.cli.context import Call, fail
from pitstop.cli.exits import Exit
from pitstop.cli.register import HELP_OPTIONS, Group, OutputFormat, TokenFile, Url, Verbosity, register, silence
from pitstop.cli.terminal import plain_output
from pitstop.kit.version import __version__
from pitstop.kit.wire import check_text
from pitstop.main.executor import executor
from pitstop.main.member import member
from pitstop.main.operator import operator
from pitstop.main.pgwire import pgwire
from pitstop.main.restoring import restore, withdraw
from pitstop.main.serve import serve
from pitstop.main.state_rows import rows_of
from pitstop.main.support import support_bundle

app = typer.Typer(
    name="pitstop",
    cls=Group,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": HELP_OPTIONS},
)


class Shell(StrEnum):
    """Shells that commands can be completed in."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def _version(is_asked: bool) -> None:
    if is_asked:
        print(f"pitstop {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    url: Url = None,
    token_file: TokenFile = None,
    verbosity: Verbosity = False,
    output: OutputFormat = None,
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Named streaming jobs on Spark that can be stopped, changed and resumed without losing their place.

    The options -t, --token-file, -v and -o may stand before or after the command.
    """
    context.obj.override(url, token_file, verbosity, output)
    if context.invoked_subcommand is None:
        print(context.get_help())


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
verbs.add_to(app)
apply.add_to(app)
waiting.add_to(app)
show.add_to(app)
job_logs.add_to(app)
snapshots.add_to(app)
sql.add_to(app)
register(app, pgwire)
artifacts.add_to(app)
connectors.add_to(app)
doctor.add_to(app, rows_of)
adopting.add_to(app)
app.add_typer(maps.app, name="map")
app.add_typer(states.app, name="snapshot")
app.add_typer(cluster.app, name="cluster")
nouns.add_to(app)
backups.add_to(app)
register(app, restore)
register(app, withdraw)
register(app, support_bundle, "support-bundle")
register(app, completion)


@cache
def commands() -> TyperGroup:
    """Return all commands. Typer reads each of them anew otherwise, which takes a tenth of a second."""
    return cast(TyperGroup, get_command(app))


def _read_for(arguments: list[str]) -> TyperGroup:
    """Return all commands, or the one that the first argument names: to read the others takes longer than a request."""
    first = arguments[0] if arguments else ""
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
        return fail(error, call.verbose, call.submitted)
    return 0
