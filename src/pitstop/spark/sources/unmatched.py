"""Folders that have files, none of which a source reads: their names are others than its glob says."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from pitstop.kit.counts import counted

_MOST = 100_000
"""The most files that are looked at."""
_HIDDEN = (".", "_")
"""The beginnings of the names of files that are no data, as programs leave them beside it."""


def nothing_of_glob(folder: Path, glob: str, is_read: Callable[[str], bool], goes_into: Callable[[str], bool]) -> str | None:
    """Return a concern if the folder has files, and the source reads none of them: a clause that goes on ``Source 'name' ...``.

    ``is_read`` tells by the path of a file below the folder whether the source reads it, ``goes_into`` by that of a folder
    whether it looks there. None also if there are too many files to look at.
    """
    number, example = 0, ""
    for place, name in enumerate(_files(folder, "", goes_into)):
        if place == _MOST or is_read(name):
            return None
        if not name.rpartition("/")[2].startswith(_HIDDEN):
            number, example = number + 1, example or name
    if not number:
        return None
    return f"reads files like {glob} in {folder}, which has {counted(number, 'file')} and none of that name: one is '{example}'."


def _files(folder: Path, below: str, goes_into: Callable[[str], bool]) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(folder / below), key=lambda entry: entry.name)
    except OSError:
        return  # the reader itself tells of it
    for entry in entries:
        name = f"{below}{entry.name}"
        if entry.is_dir():
            if goes_into(name):
                yield from _files(folder, f"{name}/", goes_into)
        elif entry.is_file():
            yield name
