"""Registers commands: functions of the call and their own options. Each also takes the global options after its name."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from pitstop.cli.context import Call
from pitstop.cli.deeds import DEEDS
from pitstop.cli.examples import EXAMPLES
from pitstop.cli.outputs import METAVAR, Output, complete_output

Url = Annotated[str | None, typer.Option("--url", "-t", help="Address of the server [$PITSTOP_URL]")]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        help="File with the token of the server, else $PITSTOP_TOKEN (the token), else that of your own server on this machine",
    ),
]
Verbosity = Annotated[bool, typer.Option("--verbosity", "-v", help="Show the full stack trace of errors")]
OutputFormat = Annotated[
    Output | None,
    typer.Option(
        "--output",
        "-o",
        metavar=METAVAR,
        parser=Output.of,
        autocompletion=complete_output,
        help="Output format [default: table]",
    ),
]

Command = Callable[..., None]
ALLOW_DROP = "--allow-drop"
"""Takes names only behind ``=``: alone it is about all, and what follows it is the next argument."""


SYNONYMS: dict[str, str] = {}
"""The second names of commands, each with the first."""

SECTIONS: dict[str, tuple[str, ...]] = {
    "Start": ("init", "serve", "ui", "help", "completion"),
    "By noun": ("job", "snapshot", "map", "cluster"),
    "Bring jobs": ("submit", "check", "update", "rollback", "apply"),
    "Act on jobs": (*(deed.name for deed in DEEDS), "wait", "configure", "delete", "discard"),
    "Look at jobs": (
        *("list-jobs", "status", "logs", "events", "history", "metrics", "graph", "tasks", "peek", "versions"),
        *("options", "list-kept-states"),
    ),
    "Snapshots": ("save-snapshot", "list-snapshots", "delete-snapshot"),
    "SQL": ("sql", "pgwire"),
    "Servers and clusters": (
        *("member", "operator", "artifacts", "audit", "log-level", "backup", "restore", "withdraw"),
        "support-bundle",
    ),
    "Spark and connectors": ("connectors", "fetch-jars", "doctor", "adopt"),
}
"""The sections of ``pitstop --help``."""

HELP_OPTIONS = ("-h", "--help")

_MEANT = {
    "ps": "'pitstop job list'",
    "get": "'pitstop job list', 'pitstop snapshot list' or 'pitstop map list'",
    "describe": "'pitstop job describe' or 'pitstop snapshot describe'",
    "stop": "'pitstop suspend' (the job can go on later) or 'pitstop cancel' (it ends)",
    "start": "'pitstop serve' for the server, 'pitstop submit' for a new job, 'pitstop resume' for one that is suspended",
    "run": "'pitstop submit'",
    "kill": "'pitstop cancel'",
    "rm": "'pitstop delete'",
    "savepoint": "'pitstop save-snapshot'",
    "explain": "'pitstop check' for what an update would do, 'pitstop graph' for a job's pipeline",
    "plan": "'pitstop check', or 'pitstop apply --dry-run' for a file of jobs",
    "deploy": "'pitstop apply' for a file of jobs, 'pitstop submit' or 'pitstop update' for one job",
    "version": "'pitstop --version'",
}
"""Words of other tools, with the commands that do the same."""


def register(
    app: typer.Typer,
    function: Command,
    name: str | None = None,
    synonym: str | None = None,
    hidden: bool = False,
    **context_settings: Any,
) -> None:
    """Add ``function(call, ...)`` as a command. ``context_settings``: how typer reads its arguments.

    ``synonym`` is the full name, such as ``job list``, of a command that is a second name of ``name``.
    """
    if synonym is not None:
        SYNONYMS[synonym] = name or function.__name__
        name = synonym.rpartition(" ")[2]
    signature = inspect.signature(function, eval_str=True)
    _, *own = signature.parameters.values()
    shared = [option for option in _shared() if option.name not in signature.parameters]
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)

    @functools.wraps(function)
    def command(context: typer.Context, **values: Any) -> None:
        call: Call = context.obj
        call.context = context
        values_given = {option.name: values.pop(option.name) for option in shared}
        call.override(**{"token_file": None, "output": None} | values_given)
        try:
            function(call, **values)
        except BrokenPipeError:
            silence(sys.stdout)
            raise typer.Exit(0) from None

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [context, *(parameter.replace(kind=keyword) for parameter in own), *shared]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    # Also without its group: the library keeps the names that a command has when it is first read.
    settings = {"help_option_names": HELP_OPTIONS, **context_settings}
    app.command(name, cls=_Command, hidden=hidden, context_settings=settings)(command)


class _Command(TyperCommand):
    """A command with examples in its help, whose ``--allow-drop`` may stand without a value."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        super().format_help_text(ctx, formatter)
        lines = examples_of(ctx.command_path.partition(" ")[2])
        if lines:
            with formatter.section("Examples"):
                for line, purpose in lines:
                    formatter.write(f"{'':{formatter.current_indent}}{line}{f'   # {purpose}' if purpose else ''}\n")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own = [option for option in self.params if isinstance(option, TyperOption)]
        if any(ALLOW_DROP in option.opts for option in own):
            taking = {name for option in own if not option.is_flag for name in option.opts} - {ALLOW_DROP}
            args = with_value(args, taking, ctx.allow_interspersed_args)
        with plain_words():
            return super().parse_args(ctx, args)


def examples_of(name: str) -> tuple[tuple[str, str], ...]:
    """Return the examples of a command, each a line and its purpose."""
    first = SYNONYMS.get(name, name)
    lines = EXAMPLES.get(name) or EXAMPLES.get(first, ())
    return tuple((line.replace(f"pitstop {first}", f"pitstop {name}"), purpose) for line, purpose in lines)


class Group(TyperGroup):
    """The command that has the others."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word = args[0]
        if ctx.parent is None and word in _MEANT and self.get_command(ctx, word) is None and not ctx.resilient_parsing:
            ctx.fail(f"No such command '{word}'. What you mean may be {_MEANT[word]}.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, self.commands))
        for title, names in SECTIONS.items():
            commands = [command for name in names if (command := self.commands.get(name)) is not None]
            if commands:
                rows = [(f"{each.name:<{width}}", each.get_short_help_str(formatter.width - width - 6)) for each in commands]
                with formatter.section(title):
                    formatter.write_dl(rows)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with plain_words():
            return super().parse_args(ctx, args)


@contextlib.contextmanager
def plain_words() -> Iterator[None]:
    """Leave out the word that the library for values puts before what is wrong with one."""
    try:
        yield
    except typer.BadParameter as error:
        error.message = error.message.removeprefix("Value error, ")
        raise


def with_value(args: list[str], taking: set[str], interspersed: bool) -> list[str]:
    """Arguments in which ``--allow-drop`` has its value. ``taking``: options whose value is the next argument.

    Unless ``interspersed``, what follows the first argument that is no option is the job's own.
    """
    arguments: list[str] = []
    rest = iter(args)
    for arg in rest:
        if arg == "--" or not (interspersed or arg.startswith("-")):
            return [*arguments, arg, *rest]
        arguments.append(f"{ALLOW_DROP}=*" if arg == ALLOW_DROP else arg)
        if arg in taking:
            arguments += [value for value in (next(rest, None),) if value is not None]
    return arguments


def silence(stream: TextIO) -> None:
    """Send the rest of a stream whose reader has gone (``| head``) to /dev/null: the interpreter's last flush would fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _shared() -> list[inspect.Parameter]:
    def options(
        url: Annotated[str | None, typer.Option("--url", "-t", hidden=True)] = None,
        token_file: Annotated[Path | None, typer.Option("--token-file", hidden=True)] = None,
        verbosity: Annotated[bool, typer.Option("--verbosity", "-v", hidden=True)] = False,
        output: Annotated[
            Output | None,
            typer.Option("--output", "-o", hidden=True, metavar=METAVAR, parser=Output.of, autocompletion=complete_output),
        ] = None,
    ) -> None: ...

    parameters = inspect.signature(options, eval_str=True).parameters.values()
    return [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
