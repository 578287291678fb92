"""The command that makes a snapshot of a checkpoint of Spark."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import Annotated

import typer

from pitstop.cli.arguments import Arguments, Artifact, Entry
from pitstop.cli.context import Call
from pitstop.cli.job_options import Options, job_options
from pitstop.cli.register import register
from pitstop.errors import UsageError
from pitstop.kit.clock import iso
from pitstop.service.api import SubmitRequest


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    register(app, adopt, ignore_unknown_options=True)


def adopt(
    call: Call,
    checkpoint: Annotated[
        str, typer.Argument(metavar="CHECKPOINT", help="The checkpointLocation of the query: a folder, or an address")
    ],
    artifact: Artifact,
    arguments: Arguments = None,
    name: Annotated[
        str | None, typer.Option("--name", "-n", metavar="SNAPSHOT", help="Name of the snapshot [default: that of the artifact]")
    ] = None,
    operator: Annotated[
        list[str] | None,
        typer.Option("--operator", metavar="N=STAGE", help="The stage that takes over an operator's state; repeatable"),
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="N=NAME", help="The source that goes on in a source's place; repeatable"),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Tell what would become of each operator and source, and make nothing")
    ] = False,
    entry: Entry = None,
    option: Options = None,
) -> None:
    """Make a snapshot of a checkpoint of plain Spark (3.5 to 4.3), from which 'submit -s' goes on.

    Stop the query first. The job has its code as it is, in stateful(name, function), and reads the same sources. The checkpoint
    is only read. An argument of the job that looks like an option of this command stands after --.
    """
    from pitstop.adoption.words import lines_of

    operators, sources = _pairs("--operator", operator), _pairs("--source", source)
    request = SubmitRequest(artifact, None, entry, tuple(arguments or ()), options=job_options(option or []))
    with call.waiting("Planning" if plan else "Adopting"):
        adoption = call.service().adopt(request, checkpoint, name, operators, sources, plan)
    if call.structured:
        facts = asdict(adoption)
        if adoption.snapshot is not None:
            facts["snapshot"] |= {"created": iso(adoption.snapshot.created)}
        call.show(facts)
    else:
        for line in lines_of(adoption):
            print(line)
    for warning in adoption.warnings:
        call.warn(warning)
    if adoption.snapshot is None:
        call.say("This is a plan: nothing was made.")
    else:
        chosen = (*(("-c", entry) if entry else ()), *(word for each in option or () for word in ("-O", each)))
        command = shlex.join(["pitstop", "submit", "-s", adoption.snapshot.name, *chosen, artifact, *(arguments or ())])
        call.say(f"Made snapshot '{adoption.snapshot.name}'. Go on with: {command}")


def _pairs(option: str, texts: list[str] | None) -> dict[int, str]:
    pairs: dict[int, str] = {}
    for text in texts or ():
        number, separator, name = text.partition("=")
        if not separator or not number.isdecimal() or not name:
            raise UsageError(f"{option} takes N=NAME, a number and a name, and not '{text}'.")
        if int(number) in pairs:
            raise UsageError(f"{option} is given twice for {number}: leave one out.")
        pairs[int(number)] = name
    return pairs
