"""The process from which the Python workers of an engine are forked (machine.forked). It has imported what they need.

Spark starts a daemon for each job and each way of use, and each of them imports the same for half a second and 40 MB.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkRuntimeError

from pitstop.launchers.engine_socket import listening
from pitstop.machine.hung_up import HUNG_UP
from pitstop.runner.forking import Forks, name_process
from pitstop.spark.base.engines import CLIENT_VARIABLE
from pitstop.spark.sources import load_sources

LONGEST_MESSAGE = 1 << 20
REQUEST_SECONDS = 5.0
MODULES = (
    *("pandas", "pyspark.worker", "pyspark.sql.worker.create_data_source", "pyspark.sql.worker.plan_data_source_read"),
    *("pyspark.sql.streaming.python_streaming_source_runner", "pitstop.spark.internals.keyed_batches"),
)
"""The modules that workers import only when they need them."""


class _Forked(Exception):
    """Raised in a process that was forked, to leave the loop of the other one."""

    def __init__(self, arguments: list[str]) -> None:
        self.arguments = arguments


def fork_workers(path: Path) -> None:
    """Fork a worker for each request at ``path`` until standard input ends; run the worker in the process that is forked."""
    for module in MODULES:
        importlib.import_module(module)
    load_sources()
    try:
        with listening(path) as listener:
            _serve(listener)
    except _Forked as forked:
        arguments = forked.arguments
    _run(arguments)


def _serve(listener: socket.socket) -> None:
    forks = Forks()
    children: dict[int, socket.socket] = {}
    """The number of a forked process -> the connection of the one that it stands for."""
    while True:
        waiting = {connection.fileno(): pid for pid, connection in children.items()}
        poll = select.poll()
        for descriptor in (0, forks.descriptor, listener.fileno(), *waiting):
            poll.register(descriptor, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll()}
        if 0 in ready and not os.read(0, LONGEST_MESSAGE):
            os._exit(0)
        if forks.descriptor in ready:
            for pid, code in forks.ends():
                _tell_end(children.pop(pid, None), code)
        for descriptor in ready & waiting.keys():
            pid = waiting[descriptor]
            if pid in children:  # the one that stands for it was ended
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
                children.pop(pid).close()
        if listener.fileno() in ready:
            connection = listener.accept()[0]
            try:
                _fork(forks, connection, children)
            except (OSError, ValueError):
                connection.close()  # it starts without us


def _fork(forks: Forks, connection: socket.socket, children: dict[int, socket.socket]) -> None:
    connection.settimeout(REQUEST_SECONDS)
    request, files, _, _ = socket.recv_fds(connection, LONGEST_MESSAGE, 3)
    content = json.loads(request)
    try:
        pid = forks.fork(lambda pid: connection.send(f"{pid}\n".encode()))
    except OSError:  # nobody waits for it any more
        for descriptor in files:
            os.close(descriptor)
        raise
    if pid == 0:
        for inherited in (*children.values(), connection):
            inherited.close()
        try:
            arguments = _begin(content, files)
        except Exception:  # the child must never go on with its parent's loop
            traceback.print_exc()
            os._exit(1)  # whatever happens, the loop is the other process's
        raise _Forked(arguments)
    for descriptor in files:
        os.close(descriptor)
    children[pid] = connection


def _tell_end(connection: socket.socket | None, code: int) -> None:
    """Tell the one that stands for a process that it has ended."""
    if connection is not None:
        with contextlib.suppress(OSError), connection:
            connection.send(f"{code & 255}\n".encode())


def _begin(request: dict[str, Any], files: list[int]) -> list[str]:
    """Give this process the files, variables and folder of the one that it stands for; return its arguments."""
    for number, descriptor in enumerate(files):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["variables"])
    time.tzset()
    os.chdir(request["folder"])
    sys.path[1:1] = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry and entry not in sys.path]
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(write_through=True)  # type: ignore[union-attr]
    arguments = [str(argument) for argument in request["arguments"]]
    name_process(*arguments, f"{CLIENT_VARIABLE}={os.environ.get(CLIENT_VARIABLE, '')}")
    return arguments


def _run(arguments: list[str]) -> None:
    """Do what ``python -m MODULE ARGUMENTS`` does."""
    option, module, *rest = arguments
    assert option == "-m"
    sys.argv = [module, *rest]
    sys.modules.pop(module, None)
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except Exception as error:
        # Spark has closed the connection: the query is over, and a stack trace in the log of the next one tells nobody anything.
        # Errors of a user's code are not among these: pyspark sends them through that connection.
        if _is_closed(error):
            sys.exit(1)
        raise


def _is_closed(error: Exception) -> bool:
    """Return True if Spark has ended a connection that it had, or one that it has offered."""
    offered = isinstance(error, PySparkRuntimeError) and error.getCondition() == "CANNOT_OPEN_SOCKET"
    return offered or isinstance(error, HUNG_UP)
