"""The frame of the command line: the options that stand before a command."""

from __future__ import annotations

from typing import Annotated

import typer

from pitstop.cli.register import HELP_OPTIONS, Group, OutputFormat, TokenFile, Url, Verbosity
from pitstop.kit.version import __version__


def new_app() -> typer.Typer:
    """Return the command line without commands."""
    app = typer.Typer(
        name="pitstop",
        cls=Group,
        invoke_without_command=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": HELP_OPTIONS},
    )
    app.callback()(options)
    return app


def _version(is_asked: bool) -> None:
    if is_asked:
        print(f"pitstop {__version__}")
        raise typer.Exit


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
