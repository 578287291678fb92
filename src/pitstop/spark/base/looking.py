"""A look at what a version would read and write, for ``check``: it connects, reads no more than a sample, and changes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

LOOK_SECONDS = 3
"""The longest, in seconds, that a look waits for a server."""


@dataclass(frozen=True)
class Look:
    """The result of a look."""

    clause: str
    """The facts that it has found. The clause goes on ``Source 'name' (place) ...``, without a full stop."""
    sample: DataFrame | None = None
    """A row of the source as it is opened, before it is parsed."""
    sample_place: str = ""
    """The place of that row, in words."""
