"""The process that is forked for each process of a run (launchers.template). It has one thread, and does nothing else."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import socket
import sys

import pyarrow as pa

from pitstop.runner.forking import Forks, name_process
from pitstop.spark.base.engines import know_numpy_arguments
from pitstop.spark.sources import load_sources

LONGEST_MESSAGE = 1 << 16
MODULES = (
    *("pitstop.runner.prepared", "pitstop.spark.base.session", "pitstop.spark.sinks.map", "pitstop.spark.state.in_snapshot"),
    *("pitstop.spark.sinks.files", "pandas", "pyspark.sql.classic.dataframe", "sqlalchemy.dialects.sqlite.pysqlite"),
)
"""The modules that a run, a spare or a task imports only when it needs them."""


def fork_on_request(connection: socket.socket) -> list[str]:
    """Return, in each process that is forked, its arguments. In this process, go on until the launcher is gone, and end."""
    for module in MODULES:
        importlib.import_module(module)
    load_sources()
    know_numpy_arguments()
    pa.array([])  # looks for pandas, once
    forks = Forks()
    _tell(connection, {"ready": os.getpid()})
    while True:
        ready, _, _ = select.select([connection.fileno(), forks.descriptor], [], [])
        if forks.descriptor in ready:
            for pid, code in forks.ends():
                _tell(connection, {"ended": pid, "code": code})
        if connection.fileno() in ready:
            try:
                request, outputs, _, _ = socket.recv_fds(connection, LONGEST_MESSAGE, 1)
            except ConnectionResetError:  # the launcher went before it had read all
                request, outputs = b"", []
            if not request:
                os._exit(0)
            try:
                pid = forks.fork(lambda pid: _send(connection, {"forked": pid}))
            except (BrokenPipeError, ConnectionResetError):
                os._exit(0)
            if pid == 0:
                connection.close()
                return _begin(json.loads(request), outputs[0])
            os.close(outputs[0])


def _send(connection: socket.socket, message: dict[str, int]) -> None:
    connection.send(json.dumps(message).encode())


def _tell(connection: socket.socket, message: dict[str, int]) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the launcher has gone
        _send(connection, message)


def _begin(arguments: list[str], output: int) -> list[str]:
    """Make this process what one that was started anew would be."""
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    sys.argv[1:] = arguments
    name_process("-m", "pitstop.runner", *arguments)
    return arguments
