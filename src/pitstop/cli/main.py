"""The command ``pitstop``."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, cast

import typer
from typer.core import TyperGroup
from typer.main import get_command

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
    operating,
    page,
    pgwire,
    show,
    snapshots,
    sql,
    states,
    verbs,
    waiting,
)
from pitstop.cli.context import Call, fail, given_token
from pitstop.cli.exits import Exit
from pitstop.cli.register import Group, OutputFormat, TokenFile, Url, Verbosity, register, silence
from pitstop.cli.settings_file import ConfigFile
from pitstop.cli.terminal import plain_output
from pitstop.errors import UsageError
from pitstop.kit.urls import holds_password
from pitstop.kit.version import __version__
from pitstop.kit.wire import check_text
from pitstop.machine.named_secrets import FOLDER
from pitstop.model.config import SHARED_ENGINE, engine_name
from pitstop.model.retention import KEPT, Retention

app = typer.Typer(
    name="pitstop",
    cls=Group,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
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


def serve(
    call: Call,
    host: Annotated[str, typer.Option(help="Address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0 takes a free one")] = 8701,
    data: Annotated[Path | None, typer.Option(help="Folder of all data [$PITSTOP_DATA, ~/.pitstop]")] = None,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Store in PostgreSQL: postgresql://user@host/database; shared-file: that of the data folder, for containers of "
            "one machine [$PITSTOP_STORE, else a file in the data folder]",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(help="File with the token that clients must send [$PITSTOP_TOKEN, else a new one in the data folder]"),
    ] = None,
    viewer_token_file: Annotated[
        Path | None,
        typer.Option(help="File with the viewers' token, which allows reading and no changes [$PITSTOP_VIEWER_TOKEN]"),
    ] = None,
    metrics_token_file: Annotated[
        Path | None,
        typer.Option(help="File with the token for Prometheus, which allows /metrics and nothing else [$PITSTOP_METRICS_TOKEN]"),
    ] = None,
    host_name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Name under which clients call the server, beside its addresses and this machine's name; repeatable",
        ),
    ] = None,
    pass_env: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Environment variable to pass to jobs, or a pattern such as AWS_*; repeatable (docs/security.md)"
        ),
    ] = None,
    secrets: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder with a file for each secret that jobs name (docs/security.md) [$PITSTOP_SECRETS]",
        ),
    ] = None,
    spares: Annotated[int, typer.Option(min=0, help="Warm runner processes to keep ready")] = 1,
    engine: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Engine of jobs that name none: own, shared, or a name (docs/engines.md) [$PITSTOP_ENGINE]"
        ),
    ] = "",
    master: Annotated[str, typer.Option(help="Spark master of the runners")] = "local[*]",
    members: Annotated[
        int, typer.Option(min=0, max=64, help="Members to start here, each with one core for jobs, and a Spark master for them")
    ] = 0,
    cluster_host: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Address of this machine at which members on other machines reach Spark's master and drivers; needs --store",
        ),
    ] = None,
    runners_on_members: Annotated[
        bool, typer.Option("--runners-on-members", help="Let members run the drivers of jobs, too, not this machine alone")
    ] = False,
    query_seconds: Annotated[
        float, typer.Option(min=0.1, help="Seconds that a SELECT may take; a SELECT on a stream has no limit")
    ] = 600.0,
    query_rows: Annotated[int, typer.Option(min=1, help="Most rows of a SELECT; a SELECT on a stream has no limit")] = 1_000_000,
    scale_up_delay: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Time without a member that joins or leaves, before jobs are rescaled")
    ] = 10.0,
    install: Annotated[
        bool, typer.Option("--install/--no-install", help="Install the packages that jobs need (docs/dependencies.md)")
    ] = True,
    index: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="The only place of packages: an index's URL, or a folder of wheels; repeatable",
        ),
    ] = None,
    source_distributions: Annotated[
        bool, typer.Option("--source-distributions", help="Allow building packages here, which runs their code")
    ] = False,
    log_size: Annotated[int, typer.Option(min=1, metavar="MIB", help="Rotate each log before it is larger, in MiB")] = 64,
    log_files: Annotated[int, typer.Option(min=1, help="How many older parts of each log to keep beside it")] = 5,
    print_job_logs: Annotated[
        bool, typer.Option("--print-job-logs", help="Also print the logs of jobs, for collectors of container output")
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help=f"How much growing data to keep: {', '.join(record.name for record in KEPT)}; repeatable (docs/keeping.md) "
            "[$PITSTOP_KEEP, with commas between]",
        ),
    ] = None,
    stop_jobs_on_exit: Annotated[
        bool, typer.Option("--stop-jobs-on-exit", help="End the runners with the server; jobs go on at the next start")
    ] = False,
    config: ConfigFile = None,
) -> None:
    """Start the control plane and serve until Ctrl-C. Jobs outlive it."""
    from pitstop.client.local_server import usual_data_folder

    call.override(None, token_file, False, None)
    # Imported by name: the server is a layer above the command line, and only this command starts it.
    server = importlib.import_module("pitstop.server")
    settings = server.Settings(
        host=host,
        port=port,
        data_dir=data or usual_data_folder(),
        store=_without_password(store) if store else os.environ.get("PITSTOP_STORE") or None,
        token=call.given_token,
        viewer_token=given_token(viewer_token_file, "PITSTOP_VIEWER_TOKEN"),
        metrics_token=given_token(metrics_token_file, "PITSTOP_METRICS_TOKEN"),
        spares=spares,
        engine=engine_name("engine", engine or os.environ.get("PITSTOP_ENGINE") or SHARED_ENGINE),
        master=master,
        members=members,
        cluster_host=cluster_host,
        runners_on_members=runners_on_members,
        query_seconds=query_seconds,
        query_rows=query_rows,
        scale_up_delay=scale_up_delay,
        stop_jobs_on_exit=stop_jobs_on_exit,
        host_names=tuple(host_name or ()),
        pass_env=tuple(pass_env or ()),
        secrets=secrets or _folder_of_secrets(),
        install=install,
        **({"indexes": tuple(index)} if index else {}),
        source_distributions=source_distributions,
        log_bytes=log_size << 20,
        log_files=log_files,
        print_job_logs=print_job_logs,
        keep=_retention(keep or ()),
    )
    server.run_server(settings)


def member(
    call: Call,
    data: Annotated[Path | None, typer.Option(help="Folder that the whole cluster shares [$PITSTOP_DATA, ~/.pitstop]")] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Name of the member [default: this machine's name]")] = None,
    cores: Annotated[int | None, typer.Option(min=1, help="Cores for jobs [default: all]")] = None,
    store: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The cluster's store in PostgreSQL [$PITSTOP_STORE, else the file in the folder]"),
    ] = None,
    host: Annotated[str, typer.Option(help="Address of this machine at which the others reach it; needs --store")] = "127.0.0.1",
    pass_env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Environment variable to pass to jobs, or a pattern such as AWS_*; repeatable"),
    ] = None,
    secrets: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder with a file for each secret that jobs name (docs/security.md) [$PITSTOP_SECRETS]",
        ),
    ] = None,
    log_size: Annotated[int, typer.Option(min=1, metavar="MIB", help="Rotate each job's log before it is larger, in MiB")] = 64,
    log_files: Annotated[int, typer.Option(min=1, help="How many older parts of each log to keep beside it")] = 5,
    print_job_logs: Annotated[
        bool, typer.Option("--print-job-logs", help="Also print the logs of jobs, for collectors of container output")
    ] = False,
    config: ConfigFile = None,
) -> None:
    """Lend this machine's cores to the jobs of a cluster, until Ctrl-C or until the member is removed."""
    from pitstop.client.local_server import usual_data_folder

    app = importlib.import_module("pitstop.member.app")
    url = _without_password(store) if store else os.environ.get("PITSTOP_STORE")
    settings = app.MemberSettings(
        data_dir=data or usual_data_folder(),
        name=name,
        cores=cores,
        store=url,
        host=host,
        pass_env=tuple(pass_env or ()),
        secrets=secrets or _folder_of_secrets(),
        log_bytes=log_size << 20,
        log_files=log_files,
        print_job_logs=print_job_logs,
    )
    app.run_member(settings)


def _folder_of_secrets() -> Path | None:
    folder = os.environ.get(FOLDER)
    return Path(folder) if folder else None


def _retention(settings: Iterable[str]) -> Retention:
    """Return the bounds of these settings, over those of the environment."""
    usual = os.environ.get("PITSTOP_KEEP", "").split(",")
    return Retention.of((*filter(str.strip, usual), *settings))


def _without_password(url: str) -> str:
    if holds_password(url):
        raise UsageError(
            "All users of the machine can see a password in --store: put it into ~/.pgpass, or give the URL in $PITSTOP_STORE."
        )
    return url


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
operating.add_to(app)
page.add_to(app)
jobs.add_to(app)
verbs.add_to(app)
apply.add_to(app)
waiting.add_to(app)
show.add_to(app)
job_logs.add_to(app)
snapshots.add_to(app)
sql.add_to(app)
pgwire.add_to(app)
artifacts.add_to(app)
connectors.add_to(app)
doctor.add_to(app)
adopting.add_to(app)
app.add_typer(maps.app, name="map")
app.add_typer(states.app, name="snapshot")
app.add_typer(cluster.app, name="cluster")
nouns.add_to(app)
backups.add_to(app)
register(app, completion)


@cache
def commands() -> TyperGroup:
    """Return all commands. Typer reads each of them anew otherwise, which takes a tenth of a second."""
    return cast(TyperGroup, get_command(app))


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
        commands()(prog_name="pitstop", obj=call)
    except SystemExit as ended:
        return ended.code
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except Exception as error:
        return fail(error, call.verbose, call.submitted)
    return 0


if __name__ == "__main__":
    main()
