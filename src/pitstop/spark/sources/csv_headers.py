"""Headers of CSV files that do not fit their schema: Spark takes columns by position, and skips the header unread."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

_COMPRESSED = frozenset({".bz2", ".deflate", ".gz", ".lz4", ".snappy", ".xz", ".zst"})
"""The endings by which Spark knows compressed files. This program does not unpack them."""
_LONGEST = 65536
"""The most characters of a header that are looked at."""


def unfit_header(
    folder: Path, options: Mapping[str, str], columns: list[str], is_read: Callable[[str], bool] = lambda name: True
) -> str | None:
    """Return a concern if the header of the first file has other names than the schema, or has them in another order.

    ``options`` are those of Spark's reader, by their names in small letters; ``columns`` are the schema's. ``is_read`` tells by
    the name of a file in the folder whether the source reads it. The concern is a clause that goes on ``Source 'name' ...``.
    """
    if options.get("header", "false").casefold() != "true" or options.get("enforceschema", "true").casefold() == "false":
        return None
    file = next((each for each in _files(folder) if is_read(each.name)), None)
    header = None if file is None else _header(file, options)
    if file is None or header is None:
        return None
    names, ours = [name.strip().casefold() for name in header], [name.casefold() for name in columns]
    if names[: len(ours)] == ours[: len(names)]:
        return None
    difference = f"'{file.name}' begins with {', '.join(header)}, and the schema with {', '.join(columns)}"
    if set(names) & set(ours):
        return (
            f"takes the columns of CSV by their position: {difference}. Put the columns of the schema into the order of the file."
        )
    return (
        f"takes the columns of CSV by their position, and skips the first line of each file: {difference}. If that line is a "
        "row, leave out header=True."
    )


def _files(folder: Path) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return  # the reader itself tells of it
    yield from (Path(entry.path) for entry in entries if entry.is_file() and not entry.name.startswith((".", "_")))


def _header(file: Path, options: Mapping[str, str]) -> list[str] | None:
    """Return the names in the first line of a file; None if there are none, or if this program cannot read them."""
    if file.suffix.casefold() in _COMPRESSED:
        return None
    separator = options.get("sep", options.get("delimiter", ","))
    try:
        with file.open(encoding=options.get("encoding", options.get("charset", "utf-8-sig")), newline="") as lines:
            line = lines.readline(_LONGEST)
        rows = list(csv.reader([line], delimiter=separator.replace("\\t", "\t"), quotechar=options.get("quote", '"') or None))
    except (OSError, ValueError, LookupError, TypeError, csv.Error):
        return None  # an encoding that Java alone has
    return rows[0] if rows and rows[0] else None
