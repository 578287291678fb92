"""Commands on the cluster and its members."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from pitstop.cli.arguments import Timeout, seconds_of
from pitstop.cli.context import Call
from pitstop.cli.register import OutputFormat, TokenFile, Url, Verbosity, register
from pitstop.cli.tables import print_table
from pitstop.cli.verbs import START_SECONDS, started, tell
from pitstop.errors import NotFoundError, PitstopError
from pitstop.kit.counts import counted
from pitstop.model.cluster import EngineInfo
from pitstop.model.job import JobState
from pitstop.model.operation import Restart
from pitstop.service.job_results import JobStatus

app = typer.Typer(help="Show the cluster, or change its members.", invoke_without_command=True)
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of a member")]
EngineName = Annotated[str, typer.Argument(metavar="NAME", help="Name of an engine that is up")]


@app.callback()
def cluster(
    context: typer.Context,
    url: Url = None,
    token_file: TokenFile = None,
    verbosity: Verbosity = False,
    output: OutputFormat = None,
) -> None:
    """Show state, version and members of the cluster, or change its members."""
    call: Call = context.obj
    call.override(url, token_file, verbosity, output)
    if context.invoked_subcommand is None:
        _show(call)


def _show(call: Call) -> None:
    info = call.service().server_info()
    if call.structured:
        from pitstop.kit.jsonable import to_json  # the command line has no other use for it

        call.show(to_json(info))
        return
    print(f"State: {info.state}\nVersion: {info.version}\nSize: {info.size}")
    print(f"Leader: {info.leader or 'none at this moment'}\n")
    print(f"{'ADDRESS':<24} {'UUID':<36} {'NAME':<16} {'CORES':<5} {'STATE':<7} JOBS")
    for member in info.members:
        facts = f"{member.address:<24} {member.uuid} {member.name:<16} {member.cores:<5} {member.state:<7}"
        print(f"{facts} {', '.join(member.jobs)}".rstrip())
    if info.engines:
        print()
        rows = [
            (engine.name, len(engine.jobs), engine.spares, _heap(engine), engine.cores, ", ".join(engine.jobs))
            for engine in info.engines
        ]
        print_table(("ENGINE", "RUNNING", "SPARES", "HEAP", "CORES", "JOBS"), rows)


def _heap(engine: EngineInfo) -> str:
    used = f"{engine.heap_bytes >> 20:,} of {engine.most_heap_bytes >> 20:,} MiB"
    return f"{used}, retired" if engine.retired else used


def settings(call: Call) -> None:
    """Show the settings of the server: how much it keeps of what grows (docs/keeping.md)."""
    server_settings = call.service().settings()
    if call.structured:
        call.show(asdict(server_settings))
        return
    rows = [(f"--keep {setting.name}", setting.value, setting.usual, setting.meaning) for setting in server_settings.keep]
    print_table(("SETTING", "VALUE", "USUAL", "MEANING"), rows)


def add_member(call: Call) -> None:
    """Start one more member on the server's machine."""
    name = call.service().add_member()
    call.say(f"Member '{name}' is started and joins by itself.")


def remove_member(call: Call, name: Name) -> None:
    """Let a member leave: what it was doing is done by the others."""
    call.service().remove_member(name)
    call.say(f"Member '{name}' was asked to leave.")


def restart_engine(call: Call, name: EngineName, timeout: Timeout = None) -> None:
    """Move the jobs of an engine into a new one, one after another, each after its present epoch.

    The new engine starts before the first job is stopped. The old one ends with its last job. If you stop the command, the jobs
    that have not moved stay in the old engine: run it again to move them.
    """
    call.patience = seconds_of(timeout)
    seconds = call.patience or START_SECONDS
    with call.waiting("Starting the new engine"):
        names = call.service().replace_engine(name)
    call.say(f"The new engine '{name}' is up. {counted(len(names), 'job')} to move.")
    outcomes: list[tuple[JobStatus, JobStatus | Exception]] = []
    for number, job_name in enumerate(names, 1):
        try:
            job = call.service().job(job_name)
        except NotFoundError:  # it was deleted meanwhile
            continue
        try:
            with call.waiting(f"Restarting '{job_name}' ({number} of {len(names)})"):
                if started(call, job, seconds).status is not JobState.RUNNING:  # it has stopped: it starts in the new one
                    continue
                call.service().do(job.id, Restart())
                outcomes.append((job, started(call, job, seconds)))
        except PitstopError as error:
            outcomes.append((job, error))
    tell(call, outcomes, "restarted")


def shutdown(call: Call) -> None:
    """End all jobs at an epoch boundary, then members and server. Started again, all goes on where it stopped."""
    call.service().shut_down()
    call.say("The cluster is shutting down. Start it again with pitstop serve.")


register(app, settings, "settings")
register(app, add_member, "add-member")
register(app, remove_member, "remove-member")
register(app, restart_engine, "restart-engine")
register(app, shutdown, "shutdown")
