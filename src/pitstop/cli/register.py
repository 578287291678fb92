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

from pitstop.cli.context import Call, Output

Url = Annotated[str | None, typer.Option("--url", "-t", help="Address of the server [$PITSTOP_URL]")]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        help="File with the token of the server, else $PITSTOP_TOKEN (the token), else that of your own server on this machine",
    ),
]
Verbosity = Annotated[bool, typer.Option("--verbosity", "-v", help="Show the full stack trace of errors")]
OutputFormat = Annotated[Output | None, typer.Option("--output", "-o", help="Output format [default: table]")]

Command = Callable[..., None]
ALLOW_DROP = "--allow-drop"
"""Takes names only behind ``=``: alone it is about all, and what follows it is the next argument."""


def register(app: typer.Typer, function: Command, name: str | None = None, **context_settings: Any) -> None:
    """Add ``function(call, ...)`` as a command. ``context_settings``: how typer reads its arguments."""
    signature = inspect.signature(function, eval_str=True)
    _, *own = signature.parameters.values()
    shared = [option for option in _shared() if option.name not in signature.parameters]
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)

    @functools.wraps(function)
    def command(context: typer.Context, **values: Any) -> None:
        call: Call = context.obj
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
    app.command(name, cls=_Command, context_settings=context_settings or None)(command)


class _Command(TyperCommand):
    """A command whose ``--allow-drop`` may stand without a value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own = [option for option in self.params if isinstance(option, TyperOption)]
        if any(ALLOW_DROP in option.opts for option in own):
            taking = {name for option in own if not option.is_flag for name in option.opts} - {ALLOW_DROP}
            args = with_value(args, taking, ctx.allow_interspersed_args)
        with plain_words():
            return super().parse_args(ctx, args)


class Group(TyperGroup):
    """The command that has the others."""

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
        output: Annotated[Output | None, typer.Option("--output", "-o", hidden=True)] = None,
    ) -> None: ...

    parameters = inspect.signature(options, eval_str=True).parameters.values()
    return [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
