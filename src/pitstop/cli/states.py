"""Commands that look into a snapshot, and take state out of it and put it back."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from pitstop.cli.arguments import SnapshotArgument
from pitstop.cli.completing import complete_snapshots
from pitstop.cli.context import Call
from pitstop.cli.register import register
from pitstop.cli.snapshots import record_facts
from pitstop.cli.state_rows import show_rows
from pitstop.cli.tables import print_table
from pitstop.errors import UsageError
from pitstop.kit.clock import days_ahead
from pitstop.kit.counts import counted
from pitstop.service.snapshot_facts import offsets_of, stages_of, whole_of

app = typer.Typer(help="List, save and inspect snapshots, and export and import their state.", no_args_is_help=True)
Name = SnapshotArgument
StageName = Annotated[str, typer.Argument(metavar="STAGE", help="A stage with state")]


def inspect(call: Call, snapshot: Name) -> None:
    """Show what a snapshot holds: offsets, watermark, and each stage's state."""
    manifest = call.service().snapshot(snapshot)
    whole, stages, offsets = whole_of(manifest), stages_of(manifest), offsets_of(manifest)
    if days := days_ahead(manifest.watermark_ms, manifest.created):
        call.warn(
            f"The watermark was {counted(days, 'day')} or more ahead of the clock: a job that starts from this snapshot drops "
            "all rows with earlier times."
        )
    if call.structured:
        sources = [{"source": source, "reader": reader, "offset": offset} for source, reader, offset in offsets]
        call.show(whole | {"sources": sources, "stages": [asdict(stage) for stage in stages]})
        return
    for name, value in whole.items():
        print(f"{name.replace('_', ' ').capitalize() + ':':<13}{f'{value:,}' if isinstance(value, int) else value or '-'}")
    print()
    print_table(["SOURCE", "READ BY", "OFFSET"], offsets)
    print()
    rows = [(s.stage, s.kind + (" (imported)" if s.imported else ""), s.keys, s.rows, s.bytes, s.what) for s in stages]
    print_table(["STAGE", "KIND", "KEYS", "ROWS", "BYTES", "WHAT"], rows)


def query(
    call: Call,
    snapshot: Name,
    stage: StageName,
    sql: Annotated[str, typer.Argument(metavar="SQL", help="Spark SQL; the stage's rows are the table 'state'")],
    limit: Annotated[int, typer.Option(min=1, help="At most so many rows")] = 1000,
) -> None:
    """Read a stage's state with Spark SQL."""
    with call.waiting("Reading"):
        rows_read = call.service().query_state(snapshot, stage, sql, limit)
    show_rows(call, rows_read)
    if rows_read.more:
        rows = counted(limit, "row")
        call.warn(f"The state has more than {rows}: give a higher --limit, or use snapshot export.")


def export(
    call: Call,
    snapshot: Name,
    stage: StageName,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The parquet file to write")],
) -> None:
    """Write a stage's state to a parquet file."""
    with call.waiting("Exporting"):
        content = call.service().export_state(snapshot, stage)
    try:
        file.write_bytes(content)
    except OSError as error:
        raise UsageError(f"File {file} cannot be written: {error.strerror}.") from None
    call.say(f"Exported the state of stage '{stage}' of snapshot '{snapshot}' to {file}: {len(content):,} bytes.")


def import_(
    call: Call,
    snapshot: Name,
    stage: StageName,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A parquet file in the form of snapshot export")],
    new: Annotated[
        str | None, typer.Option("--as", metavar="NEW", help="Make a new snapshot [default: replace this one]")
    ] = None,
) -> None:
    """Put rows from a parquet file in the place of a stage's state."""
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"File {file} could not be found.") from None
    except OSError as error:
        raise UsageError(f"File {file} cannot be read: {error.strerror}.") from None
    with call.waiting("Importing"):
        record = call.service().import_state(snapshot, stage, content, new)
    call.say(f"Imported the state of stage '{stage}' into snapshot '{record.name}'.")
    if call.structured:
        call.show(record_facts(record))


def diff(
    call: Call,
    first: Annotated[str, typer.Argument(metavar="A", help="A snapshot", autocompletion=complete_snapshots)],
    second: Annotated[str, typer.Argument(metavar="B", help="Another one", autocompletion=complete_snapshots)],
) -> None:
    """Compare two snapshots, and tell what would become of A's state under B's pipeline."""
    comparison = call.service().snapshot_diff(first, second)
    if call.structured:
        call.show({"differences": [asdict(one) for one in comparison.differences], "report": comparison.report.to_dict()})
        return
    if comparison.differences:
        print_table(["WHAT", first, second], [(one.what, _text(one.a), _text(one.b)) for one in comparison.differences])
    else:
        print(f"Snapshots '{first}' and '{second}' do not differ.")
    print(f"\nThe state of '{first}' under the pipeline of '{second}':\n{comparison.report.text()}")


def _text(value: object) -> str:
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


for command, name in ((inspect, "inspect"), (query, "query"), (export, "export"), (import_, "import"), (diff, "diff")):
    register(app, command, name)
