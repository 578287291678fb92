"""The server's log: on standard error, and in a rotated file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pitstop.machine.logs import to_stderr
from pitstop.machine.rotating import RotatingLog, Rotation
from pitstop.machine.service_log import service_log
from pitstop.model.data_folder import DataFolder


@contextmanager
def logging_to(data: DataFolder, rotation: Rotation) -> Iterator[None]:
    """Log to standard error and to ``data.log`` while the context lasts, at the levels of ``data.log_levels``."""
    file = RotatingLog(data.log, rotation)

    def write(line: str) -> None:
        to_stderr(line)
        with suppress(OSError):  # a full disk: it stands on standard error
            file.write(line.encode())

    with service_log(data.log_levels, write):
        yield
