"""``pitstop executor``: an executor, in a pod that Spark has made. Nobody calls it by hand."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def executor() -> None:
    """Be an executor, in a pod that Spark has made. Nobody calls this by hand."""
    from pitstop.launchers.spark_executor import executor_command
    from pitstop.machine.java import find_java, spark_home

    os.chdir(tempfile.mkdtemp())  # files of jobs are put where it works, and the image is read-only
    command = executor_command(os.environ, find_java(Path(tempfile.gettempdir()) / "java"), spark_home())
    os.execv(command[0], command)
