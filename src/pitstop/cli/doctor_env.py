"""``pitstop doctor env``: what this machine lacks."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from pitstop.cli.context import Call
from pitstop.cli.exits import Exit
from pitstop.cli.tables import print_table

WORD = "env"


def show_machine(call: Call, data: Path | None, port: int) -> None:
    """Print a line for each property of the machine. The exit code is 1 if something is lacking."""
    from pitstop.client.local_server import usual_data_folder
    from pitstop.machine.survey import lacking, survey

    with call.waiting("Looking at this machine"):
        findings = survey(data or usual_data_folder(), port)
    if call.structured:
        call.show([asdict(finding) for finding in findings])
    else:
        print_table(("WHAT", "STATE", "HERE"), ((each.subject, each.grade, each.here) for each in findings))
        for finding in findings:
            if finding.advice:
                print(f"\n{finding.grade.upper()} {finding.subject}: {finding.advice}")
    if any(lacking(findings)):
        raise typer.Exit(Exit.FAILED)
