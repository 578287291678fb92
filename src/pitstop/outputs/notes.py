"""Notes of outputs that may have to be withdrawn, each a file that is there before the first commit of what it names."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path


def note_once(path: Path, facts: Mapping[str, object]) -> None:
    """Write a note, on the disk once this returns, unless it is there."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    with temporary.open("w") as file:
        json.dump(facts, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
