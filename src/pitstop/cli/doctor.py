"""The command that examines a checkpoint of Spark, of Pitstop's jobs or of any other query."""

from __future__ import annotations

from typing import Annotated

import typer

from pitstop.cli.context import Call
from pitstop.cli.exits import Exit
from pitstop.cli.register import register
from pitstop.cli.tables import print_table
from pitstop.cli.terminal import in_one_line


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    register(app, doctor)


def doctor(
    call: Call,
    checkpoint: Annotated[
        str,
        typer.Argument(metavar="CHECKPOINT", help="The checkpointLocation of a query: a folder, or an address such as s3://..."),
    ],
    compare: Annotated[str | None, typer.Option(metavar="OTHER", help="Another checkpoint: show what differs")] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Read every byte of large state files, too, which may take long")
    ] = False,
) -> None:
    """Examine a checkpoint of Spark Structured Streaming: what it holds, whether it is well, what one may change.

    It needs no server and no Java, and writes nothing. The exit code is 1 if something is damaged that a restart needs.
    """
    from pitstop.doctor.changes import answers_of
    from pitstop.doctor.comparing import differences
    from pitstop.doctor.examining import examine
    from pitstop.doctor.files import opened
    from pitstop.doctor.render import as_data, sections

    with call.waiting("Reading"):
        report = examine(opened(checkpoint), whole)
        other = examine(opened(compare), whole) if compare is not None else None
    if other is not None:
        rows = differences(report, other)
        if call.structured:
            call.show({"differences": [{"what": what, "a": a, "b": b} for what, a, b in rows]})
        elif rows:
            print_table(("WHAT", checkpoint, compare or ""), rows)
        else:
            print(f"Checkpoints {checkpoint} and {compare} do not differ.")
    elif call.structured:
        call.show(as_data(report, answers_of(report)))
    else:
        for number, part in enumerate(sections(report, answers_of(report))):
            print(("\n" if number else "") + in_one_line(part.title))
            for line in part.lines:
                print(f"  {in_one_line(line)}")
            if part.rows:
                print_table(part.headers, part.rows)
    if report.is_damaged or (other is not None and other.is_damaged):
        raise typer.Exit(Exit.FAILED)
