"""Offsets of sources of another form, as functions of the job (``@ps.migrate_offset``) give them."""

from __future__ import annotations

import json

from pitstop.adoption.reading import OldSource
from pitstop.doctor.sources import SourceKind
from pitstop.errors import IncompatibleError
from pitstop.pipeline.migration import OffsetMigration

_MOST_SHOWN = 200


def converted(migration: OffsetMigration, source: OldSource) -> str:
    """Return the offset that a function gives for an old source, as JSON text. IncompatibleError if it gives none."""
    what = f"Function '{migration.name}' of source '{migration.source}'"
    try:
        value = migration(_text(source))
    except Exception as error:
        raise IncompatibleError(
            f"{what} failed with the offset of source {source.facts.number}: {type(error).__name__}: {_in_one_line(error)}."
        ) from error
    if value is None:
        raise IncompatibleError(f"{what} returned nothing: it returns the offset at which the source goes on.")
    try:
        return json.dumps(json.loads(value) if isinstance(value, str) else value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        text = _in_one_line(repr(value))
        raise IncompatibleError(f"{what} returned {text}, which is not JSON: it returns a JSON value or JSON text.") from None


def _text(source: OldSource) -> str:
    """Return the offset of an old source as its function gets it; of a source of files with the files that it has read."""
    assert source.offset is not None, "a source that has not begun is no candidate"
    if source.kind is SourceKind.FILES:
        return json.dumps(source.facts.offset | {"files": list(source.entries)})
    return source.offset


def _in_one_line(value: object) -> str:
    text = " ".join(str(value).split()).rstrip(".")
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
