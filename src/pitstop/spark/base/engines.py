"""An engine, which is one JVM for the jobs of several processes: the sessions that it has for them, and the way into one."""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from pitstop.machine import forked
from pitstop.spark.base.session import PART_SETTING, SCRATCH_PREFIX, SCRATCH_SETTING, STREAM_SETTINGS, scratch_of
from pitstop.spark.internals.callbacks import accept_own_peers_only
from pitstop.spark.internals.daemon import OUTPUT_VARIABLE
from pitstop.spark.internals.joining import CLIENT_VARIABLE as CLIENT_VARIABLE
from pitstop.spark.internals.joining import LINE_FACT as LINE_FACT
from pitstop.spark.internals.joining import TASK_FACT as TASK_FACT
from pitstop.spark.internals.joining import Clients as Clients
from pitstop.spark.internals.joining import ClientSession as ClientSession
from pitstop.spark.internals.joining import Door as Door
from pitstop.spark.internals.joining import has_joined as has_joined
from pitstop.spark.internals.joining import join
from pitstop.spark.internals.jvm import heap_bytes as heap_bytes
from pitstop.spark.internals.jvm import heap_in_use as heap_in_use
from pitstop.spark.internals.jvm import is_gone as is_gone
from pitstop.spark.internals.numpy_arguments import know_numpy_arguments as know_numpy_arguments

_PYTHON = """#!/bin/sh
case "$*" in
  *.daemon*) exec {python} -I -S {forked} {socket} {python} "$@" 2>{output} ;;
  *) exec {python} -I -S {forked} {socket} {python} "$@" >{output} 2>&1 ;;
esac
"""
"""The program of Python workers in an engine: Python, that prints elsewhere, and is forked from a process that the engine has."""
PART_IN_ENGINE = 0.2
"""The part of an engine's heap that the state of one job may count on."""


def output_of(pid: int) -> Path:
    """Return the file through which another process prints where that one prints its errors."""
    return Path(f"/proc/{pid}/fd/2")


def join_session(door: Door, client: str, work_dir: Path, variables: dict[str, str], forks: Path) -> SparkSession:
    """Return a session of this process in the JVM behind ``door``, with scratch files in ``work_dir``.

    ``variables``: of the Python workers that work for it, which print where this process does. ``forks``: the socket at which
    they are forked, if somebody listens there. The JVM goes on when this process ends.
    """
    accept_own_peers_only()
    know_numpy_arguments()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    work_dir.mkdir(parents=True, exist_ok=True)
    scratch = tempfile.mkdtemp(prefix=SCRATCH_PREFIX, dir=work_dir.absolute())
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    output = str(output_of(os.getpid()))
    spark = join(door, client, variables | {OUTPUT_VARIABLE: output}, _python(Path(scratch, "python"), output, forks))
    for key, value in (STREAM_SETTINGS | {SCRATCH_SETTING: scratch, PART_SETTING: str(PART_IN_ENGINE)}).items():
        spark.conf.set(key, value)
    return spark


def fork_workers(spark: SparkSession, forks: Path) -> None:
    """Let the Python workers of a session that no process has joined be forked by the process that listens at ``forks``."""
    spark.sparkContext.pythonExec = _python(scratch_of(spark) / "python", str(output_of(os.getpid())), forks)


def _python(file: Path, output: str, forks: Path) -> str:
    """Write the program that runs as Python in the workers of this process; return its path.

    Without it, they would print where the JVM does, which is that of other jobs, too. A daemon tells Java its port by what it
    prints.
    """
    words = {"python": sys.executable, "output": output, "forked": forked.__file__, "socket": str(forks.absolute())}
    file.write_text(_PYTHON.format(**{name: shlex.quote(word) for name, word in words.items()}))
    file.chmod(0o700)
    return str(file) if os.access(file, os.X_OK) else sys.executable  # the folder may be one from which nothing can be run
