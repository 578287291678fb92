"""The command ``pitstop``."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from pitstop.cli import jobs, maps, snapshots
from pitstop.cli.context import EXIT_INTERRUPTED, Context, fail
from pitstop.kit.version import __version__

app = typer.Typer(
    name="pitstop",
    help="Named streaming jobs on Spark that can be stopped, changed and resumed without losing their place.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"pitstop {__version__}")
        raise typer.Exit


def _output(value: str) -> str:
    if value not in ("table", "json", "yaml"):
        raise typer.BadParameter("use table, json or yaml")
    return value


@app.callback()
def options(
    context: typer.Context,
    url: Annotated[str | None, typer.Option("--url", "-t", help="Address of the server [$PITSTOP_URL]")] = None,
    token: Annotated[str | None, typer.Option(help="Access token [$PITSTOP_TOKEN]")] = None,
    verbosity: Annotated[bool, typer.Option("--verbosity", "-v", help="Show the full stack trace of errors")] = False,
    output: Annotated[str, typer.Option("--output", "-o", help="table, json or yaml", callback=_output)] = "table",
    version: Annotated[bool, typer.Option("--version", "-V", callback=_version, is_eager=True)] = False,
) -> None:
    """Options before the command."""
    context.obj = Context(url, token, verbosity, output)


@app.command()
def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="Address to listen on; off loopback a token is required")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one")] = 8701,
    data: Annotated[Path | None, typer.Option(help="Folder of all data [~/.pitstop]")] = None,
    token_file: Annotated[Path | None, typer.Option(help="File with the token that clients must send")] = None,
    spares: Annotated[int, typer.Option(min=0, help="Warm runner processes to keep ready")] = 1,
    master: Annotated[str, typer.Option(help="Spark master of the runners")] = "local[*]",
    stop_jobs_on_exit: Annotated[
        bool, typer.Option(help="End the runners with the server; jobs go on at the next start")
    ] = False,
) -> None:
    """Start the control plane and serve until Ctrl-C. Jobs outlive it."""
    from pitstop.errors import UsageError

    given: str | None = context.obj.token or os.environ.get("PITSTOP_TOKEN")
    if token_file is not None:
        try:
            given = token_file.read_text().strip()
        except OSError as error:
            raise UsageError(f"The token file {token_file} cannot be read: {error.strerror}.") from None
    home = data or Path(os.environ.get("PITSTOP_DATA", Path.home() / ".pitstop"))
    # By name: the command line is a door of the service; only this one command starts the server, which is above it.
    server = importlib.import_module("pitstop.server")
    server.run_server(server.Settings(host, port, home, given, spares, master, stop_jobs_on_exit))


@app.command()
def cluster(context: typer.Context) -> None:
    """State, version and members of the cluster."""
    info = context.obj.service().server_info()
    if context.obj.structured:
        context.obj.show(info)
        return
    print(f"State: {info['state']}\nVersion: {info['version']}\nSize: {info['size']}\n")
    print(f"{'ADDRESS':<24} {'UUID':<19}".rstrip())
    for member in info["members"]:
        print(f"{member['address']:<24} {member['uuid']}")


jobs.add_to(app)
snapshots.add_to(app)
app.add_typer(maps.app, name="map")


def main() -> None:
    """Entry point: one sentence an error, exit code 1; 2 for wrong usage; 130 for Ctrl-C."""
    verbose = any(argument in ("-v", "--verbosity") for argument in sys.argv[1:])
    try:
        app(standalone_mode=True)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        sys.exit(fail(error, verbose))


if __name__ == "__main__":
    main()
