"""Folders that running processes change while a test looks."""

import os
from collections.abc import Iterator
from pathlib import Path


def everything_below(folder: Path) -> Iterator[Path]:
    """``folder`` and what is below it now; unlike ``Path.rglob`` it bears that a folder is removed meanwhile."""
    for root, folders, files in os.walk(folder):
        yield Path(root)
        yield from (Path(root, name) for name in files)
        yield from (path for path in (Path(root, name) for name in folders) if path.is_symlink())
