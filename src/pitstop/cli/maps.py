"""Commands on maps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import chain, islice
from typing import Annotated, Any, TypeVar

import typer

from pitstop.cli.arguments import MapArgument, Yes
from pitstop.cli.context import Call
from pitstop.cli.register import register
from pitstop.cli.verbs import ask
from pitstop.errors import NotFoundError, UsageError
from pitstop.kit.clock import iso
from pitstop.kit.counts import counted
from pitstop.kit.plain_text import in_one_line
from pitstop.kit.wire import json_text
from pitstop.maps.condition import FORM, that_field_exists
from pitstop.maps.model import Entry, JournalEvent
from pitstop.service.api import Service

PAGE = 1000
_BEGINS_JSON = ("{", "[", '"')

app = typer.Typer(help="Read and write maps.", no_args_is_help=True)
Name = MapArgument
Key = Annotated[str, typer.Argument(metavar="KEY", help="Any text")]
AtMost = Annotated[int | None, typer.Option(min=1, help="Most entries to show; default: all")]


def list_maps(call: Call) -> None:
    """List maps with their sizes and journals."""
    maps = call.service().maps()
    if call.structured:
        call.show([asdict(facts) for facts in maps])
        return
    print(f"{'NAME':<24} {'SIZE':>10} {'JOURNAL':>21} {'CAPACITY':>10}")
    for facts in maps:
        span = f"{facts.oldest}..{facts.newest}"
        print(f"{facts.name:<24} {facts.size:>10,} {span:>21} {facts.journal_capacity:>10,}")


def put(
    call: Call,
    name: Name,
    key: Key,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="JSON; anything else is taken as a string")],
    expect_version: Annotated[
        int | None,
        typer.Option(min=0, help="Only if the entry still has this version (map entries -o json); 0: only if there is no entry"),
    ] = None,
) -> None:
    """Put one entry."""
    try:
        parsed: Any = json.loads(value, parse_constant=_no_constant)
    except ValueError as error:
        if value.lstrip().startswith(_BEGINS_JSON):
            raise UsageError(
                f"The value begins like JSON and is not JSON ({error}): correct it, or put a text into "
                "double quotes, as in '\"{a\"'."
            ) from None
        parsed = value
    call.service().map_put(name, {key: json_text(parsed)}, expect_version)
    call.say(f"Put '{key}' into map '{name}'.")


def get(call: Call, name: Name, key: Key) -> None:
    """Print the value of one entry, as JSON."""
    value = call.service().map_get(name, key)
    if value is None:
        raise NotFoundError(f"Map '{name}' has no entry '{key}'.")
    if call.structured:
        call.show(json.loads(value))
    else:
        print(value)


def delete(
    call: Call,
    name: Name,
    key: Key,
    expect_version: Annotated[int | None, typer.Option(min=1, help="Only if the entry still has this version")] = None,
) -> None:
    """Delete one entry."""
    if not call.service().map_delete(name, key, expect_version):
        raise NotFoundError(f"Map '{name}' has no entry '{key}'.")
    call.say(f"Deleted '{key}' from map '{name}'.")


def clear(call: Call, name: Name, yes: Yes = False) -> None:
    """Delete all entries of a map. The map stays, with its settings."""
    service = call.service()
    _check_there(service, name)
    ask(call, f"This deletes all {counted(service.map_size(name), 'entry', 'entries')} of map '{name}'.", yes)
    call.say(f"Deleted {counted(service.map_clear(name), 'entry', 'entries')} of map '{name}'.")


def entries(
    call: Call,
    name: Name,
    prefix: Annotated[str, typer.Option(help="Only keys with this beginning")] = "",
    where: Annotated[str | None, typer.Option(help=f"Only matching entries: {FORM}")] = None,
    limit: AtMost = None,
) -> None:
    """Print entries, by key: the key, a tab, the value as JSON; with -o json its version, too."""
    service, page = call.service(), min(PAGE, limit or PAGE)
    found_entries = _entries(service, name, prefix, page) if where is None else _searched(service, name, where, prefix, page)
    map_entries = _first_seen(islice(found_entries, limit), lambda: _say_why_nothing(call, name, prefix, where))
    if call.structured:
        call.show([{"key": entry.key, "value": json.loads(entry.value), "version": entry.version} for entry in map_entries])
        return
    for entry in map_entries:
        print(f"{in_one_line(entry.key)}\t{entry.value}")


T = TypeVar("T")


def _first_seen(items: Iterator[T], nothing: Callable[[], None]) -> Iterator[T]:
    """Return the items, of which only the first is waited for; ``nothing`` is called if there is none."""
    first = next(items, None)
    if first is None:
        nothing()
        return iter(())
    return chain([first], items)


def size(call: Call, name: Name) -> None:
    """Print how many entries a map has."""
    count = call.service().map_size(name)
    if not count:
        _check_there(call.service(), name)
    if call.structured:
        call.show({"size": count})
    else:
        print(count)


def journal(
    call: Call,
    name: Name,
    after: Annotated[int | None, typer.Option(min=0, help="Only events after this sequence")] = None,
    limit: AtMost = None,
) -> None:
    """Print the events of a map's journal, oldest first."""
    events = islice(_events(call, name, after, min(PAGE, limit or PAGE)), limit)
    journal_events = _first_seen(events, lambda: _check_there(call.service(), name))
    if call.structured:
        call.show([_event_facts(event) for event in journal_events])
        return
    print(f"{'SEQUENCE':>10} {'TIME':<23} {'KIND':<8} {'KEY':<20} VALUE")
    for event in journal_events:
        key, value = in_one_line(event.key), event.new_value or ""
        line = f"{event.sequence:>10} {iso(event.at) or '':<23} {event.kind:<8} {key:<20} {value}"
        print(line.rstrip())


def configure(
    call: Call,
    name: Name,
    journal_capacity: Annotated[int | None, typer.Option(min=0, help="Events the journal keeps; 0: no journal")] = None,
    ttl_seconds: Annotated[float | None, typer.Option(min=0, help="Time after a write when an entry expires; 0: never")] = None,
) -> None:
    """Make a map or change its settings; what is left out stays as it is."""
    call.service().map_configure(name, journal_capacity, ttl_seconds)
    call.say(f"Configured map '{name}'.")


register(app, list_maps, "list")
for _command in (get, entries, size, delete, clear, journal, configure):
    register(app, _command)
# A value may be a negative number.
register(app, put, ignore_unknown_options=True)


def _check_there(service: Service, name: str) -> None:
    """Raise NotFoundError unless there is a map of that name."""
    names = [facts.name for facts in service.maps()]
    if name not in names:
        raise NotFoundError(
            f"There is no map '{name}'. There are: {', '.join(sorted(names)) or 'none'}. The map of a job is there once the job "
            "has written into it."
        )


def _say_why_nothing(call: Call, name: str, prefix: str, where: str | None) -> None:
    """Warn if no entry has the field of a condition: its name may be misspelt. NotFoundError unless there is that map."""
    service = call.service()
    _check_there(service, name)
    of_field = that_field_exists(where) if where is not None else None
    first = next(iter(service.map_entries(name, prefix, None, 1)), None)
    if of_field is None or first is None:
        return
    field, condition = of_field
    if next(_searched(service, name, condition, prefix, 1), None) is not None:
        return
    value = json.loads(first.value)
    fields = ", ".join(value) if isinstance(value, dict) else ""
    call.warn(
        f"No entry of map '{name}' has the field '{field}'. The value of '{first.key}' has "
        f"{f'the fields {fields}' if fields else 'no fields'}."
    )


def _entries(service: Service, name: str, prefix: str, page: int) -> Iterator[Entry]:
    after: str | None = None
    while batch := service.map_entries(name, prefix, after, page):
        yield from batch
        after = batch[-1].key


def _searched(service: Service, name: str, where: str, prefix: str, page: int) -> Iterator[Entry]:
    batch = service.map_search(name, where, prefix, None, page)
    yield from batch.entries
    while batch.stopped_at is not None:
        batch = service.map_search(name, where, prefix, batch.stopped_at, page)
        yield from batch.entries


def _events(call: Call, name: str, after: int | None, page: int) -> Iterator[JournalEvent]:
    while True:
        page_of_events = call.service().map_journal(name, after, page)
        if page_of_events.lost:
            events = counted(page_of_events.lost, "event is", "events are")
            call.warn(f"After {after}, {events} no longer kept; the oldest is {page_of_events.oldest}.")
        if not page_of_events.events:
            return
        yield from page_of_events.events
        after = page_of_events.events[-1].sequence


def _event_facts(event: JournalEvent) -> dict[str, Any]:
    values = {"old_value": _parsed(event.old_value), "new_value": _parsed(event.new_value)}
    return asdict(event) | {"kind": event.kind.value, "at": iso(event.at)} | values


def _parsed(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")
