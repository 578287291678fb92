"""Registers commands: functions of the call and their own options. Each also takes the global options after its name."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from pitstop.cli.context import Call, Output

Url = Annotated[str | None, typer.Option("--url", "-t", help="Address of the server [$PITSTOP_URL]")]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file", help="File with the token of the server, else $PITSTOP_TOKEN (the token); your own server's here is found"
    ),
]
Verbosity = Annotated[bool, typer.Option("--verbosity", "-v", help="Show the full stack trace of errors")]
OutputFormat = Annotated[Output | None, typer.Option("--output", "-o", help="How results are written [default: table]")]

Command = Callable[..., None]


def register(app: typer.Typer, function: Command, name: str | None = None, **context_settings: Any) -> None:
    """Add ``function(call, ...)`` as a command. ``context_settings``: how typer reads its arguments."""
    signature = inspect.signature(function, eval_str=True)
    _, *own = signature.parameters.values()
    shared = [option for option in _shared() if option.name not in signature.parameters]
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)

    @functools.wraps(function)
    def command(context: typer.Context, **values: Any) -> None:
        call: Call = context.obj
        given = {option.name: values.pop(option.name) for option in shared}
        call.override(**{"token_file": None, "output": None} | given)
        try:
            function(call, **values)
        except BrokenPipeError:
            silence(sys.stdout)
            raise typer.Exit(0) from None

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [context, *(parameter.replace(kind=keyword) for parameter in own), *shared]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    app.command(name, context_settings=context_settings or None)(command)


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

    found = inspect.signature(options, eval_str=True).parameters.values()
    return [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in found]
