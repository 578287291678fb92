"""Places that sinks write into and sources read, in the words by which plans of different jobs are compared."""

from __future__ import annotations

from pathlib import Path, PurePath

_FOLDER = "the folder "


def folder_place(folder: Path) -> str:
    """Return the name of a folder as a place: the same for each of its paths on this machine."""
    return address_place(str(folder.resolve()))


def address_place(address: str) -> str:
    """Return the name of a folder as a place, by a resolved path or an address in an object store."""
    return f"{_FOLDER}{address}"


def map_place(name: str) -> str:
    """Return the name of a map as a place."""
    return f"the map '{name}'"


def lies_within(place: str, other: str) -> bool:
    """Return True if a place is a folder somewhere below another place, which is a folder, too."""
    if place == other or not (place.startswith(_FOLDER) and other.startswith(_FOLDER)):
        return False
    return PurePath(place.removeprefix(_FOLDER)).is_relative_to(other.removeprefix(_FOLDER))
