"""The command that examines a checkpoint of Spark, of Pitstop's jobs or of any other query; and this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from pitstop.cli.context import Call
from pitstop.cli.doctor_env import WORD, show_machine
from pitstop.cli.exits import Exit
from pitstop.cli.register import register
from pitstop.cli.state_rows import show_rows
from pitstop.cli.tables import print_table
from pitstop.errors import UsageError
from pitstop.kit.counts import counted
from pitstop.kit.plain_text import in_one_line
from pitstop.model.task import MOST_STATE_ROWS, QueryCheckpoint, StateRows

RowsOf = Callable[[QueryCheckpoint], StateRows]
"""Reads the rows of a query on a checkpoint."""


def add_to(app: typer.Typer, rows_of: RowsOf) -> None:
    """Register the command."""
    register(app, _Doctor(rows_of).doctor)


@dataclass(frozen=True)
class _Doctor:
    rows_of: RowsOf

    def doctor(
        self,
        call: Call,
        checkpoint: Annotated[
            str,
            typer.Argument(
                metavar="CHECKPOINT",
                help="The checkpointLocation of a query: a folder, or an address such as s3://...; env: this machine",
            ),
        ],
        compare: Annotated[str | None, typer.Option(metavar="OTHER", help="Another checkpoint: show what differs")] = None,
        whole: Annotated[
            bool, typer.Option("--whole", help="Read every byte of large state files, too, which may take long")
        ] = False,
        query: Annotated[
            str | None,
            typer.Option(metavar="SQL", help="Read an operator's state with Spark SQL; its rows are the table 'state'"),
        ] = None,
        operator: Annotated[int | None, typer.Option(metavar="N", help="The operator of --query [default: the only one]")] = None,
        limit: Annotated[int, typer.Option(min=1, max=MOST_STATE_ROWS, help="At most so many rows of --query")] = 1000,
        data: Annotated[
            Path | None,
            typer.Option(metavar="FOLDER", help="Of env: the data folder of the server [$PITSTOP_DATA, ~/.pitstop]"),
        ] = None,
        port: Annotated[int, typer.Option(min=1, max=65_535, help="Of env: the port of the server")] = 8701,
    ) -> None:
        """Examine a checkpoint of Spark Structured Streaming: what it holds, whether it is well, what one may change.

        It needs no server and writes nothing. Only --query needs Java. The exit code is 1 if something is damaged that a restart
        needs. With the word env it examines this machine, and the exit code is 1 if something is lacking that a server needs.
        """
        if checkpoint == WORD:
            if query is not None or compare is not None or whole or operator is not None:
                raise UsageError(f"'{WORD}' is this machine, and takes --data and --port. A checkpoint in a folder: ./{WORD}.")
            show_machine(call, data, port)
            return
        if query is not None:
            if compare is not None or whole:
                raise UsageError("--query reads the state of one checkpoint: leave out --compare and --whole.")
            self._show_rows(call, QueryCheckpoint(checkpoint, operator, query, limit))
            return
        if operator is not None:
            raise UsageError("--operator is the operator of a query: add --query SQL, or leave it out.")
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

    def _show_rows(self, call: Call, task: QueryCheckpoint) -> None:
        with call.waiting("Reading"):
            rows = self.rows_of(task)
        show_rows(call, rows)
        if rows.more:
            call.warn(f"The state has more than {counted(task.limit, 'row')}: give a higher --limit.")
