"""Folders whose files Spark knows by their whole paths, and their moves between two versions."""

from __future__ import annotations

from urllib.parse import unquote

from pitstop.plan.model import PlanStage


def moved_folder(before: PlanStage | None, after: PlanStage | None) -> tuple[str, str] | None:
    """Return the URLs of a source's folder in two plans, if the files of the one are now those of the other.

    None if one lies within the other: then a pattern takes in more, or less, and the files are where they were.
    """
    if before is None or after is None or before.folder is None or after.folder is None:
        return None
    # Older releases quoted other characters in them.
    old, new = unquote(before.folder), unquote(after.folder)
    return None if old.startswith(new) or new.startswith(old) else (before.folder, after.folder)
