"""Commands that ask the run of a job: the tasks of its epochs, and rows of its stages."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from pitstop.cli.arguments import JobArgument
from pitstop.cli.context import Call
from pitstop.cli.register import register
from pitstop.cli.state_rows import show_rows
from pitstop.cli.tables import print_table
from pitstop.kit.counts import counted
from pitstop.model.execution import EPOCHS, MOST_EPOCHS, ExecutionFacts

_HEADS = (
    *("EPOCH", "STAGE", "TASKS", "RUNNING", "FASTEST MS", "MEDIAN MS", "SLOWEST MS", "SKEW"),
    *("SLOWEST PARTITION", "ITS ROWS", "STEPS"),
)


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    register(app, tasks)
    register(app, peek)


def tasks(
    call: Call,
    job: JobArgument,
    epochs: Annotated[int, typer.Option("--epochs", "-n", min=1, max=MOST_EPOCHS, help="Number of the last epochs")] = EPOCHS,
) -> None:
    """Show how long the tasks of a job's last epochs took, and which partition was the slowest; with -v also Spark's plan."""
    facts = call.service().execution(job, epochs)
    if call.structured:
        call.show(asdict(facts))
        return
    print_table(_HEADS, _rows(facts))
    if call.verbose and facts.plan:
        print(f"\n{facts.plan.rstrip()}\n")
        print_table(("OPERATOR", "STAGE", "ROLE"), [(f"opId = {each.number}", each.stage, each.role) for each in facts.operators])


def _rows(facts: ExecutionFacts) -> list[tuple[int | float | str, ...]]:
    return [
        (
            *(epoch.epoch, stage.stage, stage.tasks, stage.running),
            *(stage.shortest_ms, round(stage.median_ms), stage.longest_ms, stage.skew),
            *(stage.slowest_partition, stage.slowest_rows, ", ".join(stage.steps)),
        )
        for epoch in facts.epochs
        for stage in epoch.stages
    ]


def peek(
    call: Call,
    job: JobArgument,
    stage: Annotated[str, typer.Argument(metavar="STAGE", help="A stage with state, or one after the last of these")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="At most so many rows")] = 20,
    wait: Annotated[float, typer.Option("--wait", metavar="SECONDS", min=0.1, max=60, help="Longest wait for a row")] = 30.0,
) -> None:
    """Show rows that a stage of a running job gives in its next epoch that has any; the job goes on as if nobody looked."""
    with call.waiting(f"Waiting for rows of {stage}"):
        rows = call.service().peek(job, stage, limit, wait)
    show_rows(call, rows)
    if rows.more:
        call.warn(f"The epoch has more than {counted(limit, 'row')} of {stage}.")
