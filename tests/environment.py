"""What all processes of a test get: settings of Java for sessions that live for seconds."""

import os
from pathlib import Path

from pitstop.machine.cache_folder import FOLDER_VARIABLE

JAVA = (
    # To compile thoroughly would take longer than the tests.
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
)


def set_environment() -> None:
    """Put them into this process' environment, which sessions here and all processes below it inherit."""
    os.environ.setdefault("JAVA_TOOL_OPTIONS", " ".join(JAVA))
    # An epoch whose rows are not all accounted for ends its job.
    os.environ.setdefault("PITSTOP_CHECK_ROWS", "1")
    # Tests change the home.
    os.environ.setdefault(FOLDER_VARIABLE, str(Path.home() / ".cache" / "pitstop"))
