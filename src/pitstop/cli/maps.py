"""Commands on maps."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from pitstop.cli.context import Context, say
from pitstop.errors import NotFoundError
from pitstop.kit.clock import iso

app = typer.Typer(help="Read and write maps.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="MAP")]


@app.command("list")
def list_maps(context: typer.Context) -> None:
    """List maps with their sizes and journals."""
    call: Context = context.obj
    maps = call.service().maps()
    if call.structured:
        call.show(maps)
        return
    print(f"{'NAME':<24} {'SIZE':>10} {'JOURNAL':>21} {'CAPACITY':>10}")
    for facts in maps:
        span = f"{facts['oldest']}..{facts['newest']}"
        print(f"{facts['name']:<24} {facts['size']:>10,} {span:>21} {facts['journal_capacity']:>10,}")


@app.command()
def put(context: typer.Context, name: Name, key: str, value: str) -> None:
    """Put one entry. The value is JSON; anything else is taken as a string."""
    try:
        parsed: Any = json.loads(value)
    except ValueError:
        parsed = value
    context.obj.service().map_put(name, {key: json.dumps(parsed)})
    say(f"Put '{key}' into map '{name}'.", context.obj)


@app.command()
def get(context: typer.Context, name: Name, key: str) -> None:
    """Print the value of one entry."""
    value = context.obj.service().map_get(name, key)
    if value is None:
        raise NotFoundError(f"Map '{name}' has no entry '{key}'.")
    if context.obj.structured:
        context.obj.show(json.loads(value))
    else:
        print(value)


@app.command()
def delete(context: typer.Context, name: Name, key: str) -> None:
    """Delete one entry."""
    if not context.obj.service().map_delete(name, key):
        raise NotFoundError(f"Map '{name}' has no entry '{key}'.")
    say(f"Deleted '{key}' from map '{name}'.", context.obj)


@app.command()
def entries(
    context: typer.Context,
    name: Name,
    prefix: Annotated[str, typer.Option(help="Only keys that begin so")] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many")] = None,
) -> None:
    """Print entries, ordered by key."""
    service = context.obj.service()
    found: list[dict[str, Any]] = []
    after = None
    while limit is None or len(found) < limit:
        page = service.map_entries(name, prefix, after, min(1000, (limit or 1 << 30) - len(found)))
        if not page:
            break
        found += page
        after = page[-1]["key"]
    if context.obj.structured:
        context.obj.show([{"key": entry["key"], "value": json.loads(entry["value"])} for entry in found])
        return
    for entry in found:
        print(f"{entry['key']}\t{entry['value']}")


@app.command()
def size(context: typer.Context, name: Name) -> None:
    """Print how many entries a map has."""
    count = context.obj.service().map_size(name)
    if context.obj.structured:
        context.obj.show({"size": count})
    else:
        print(count)


@app.command()
def journal(
    context: typer.Context,
    name: Name,
    after: Annotated[int | None, typer.Option(help="Only events after this sequence")] = None,
    limit: Annotated[int, typer.Option(min=1)] = 1000,
) -> None:
    """Print the events of a map's journal, oldest first."""
    found = context.obj.service().map_journal(name, after, limit)
    if context.obj.structured:
        context.obj.show(found)
        return
    if found["lost"]:
        say(f"{found['lost']} events after {after} are no longer kept.", context.obj)
    print(f"{'SEQUENCE':>10} {'TIME':<23} {'KIND':<8} {'KEY':<20} VALUE")
    for event in found["events"]:
        value = event["new_value"] if event["new_value"] is not None else ""
        print(f"{event['sequence']:>10} {iso(event['at']) or '':<23} {event['kind']:<8} {event['key']:<20} {value}")


@app.command()
def configure(
    context: typer.Context,
    name: Name,
    journal_capacity: Annotated[int | None, typer.Option(min=0, help="Events the journal keeps; 0: no journal")] = None,
    ttl_seconds: Annotated[float | None, typer.Option(min=0, help="Entries expire so long after a write; 0: never")] = None,
) -> None:
    """Make a map or change its settings."""
    context.obj.service().map_configure(name, journal_capacity, ttl_seconds)
    say(f"Configured map '{name}'.", context.obj)
