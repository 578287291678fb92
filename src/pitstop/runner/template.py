"""The process that is forked for each process of a run (launchers.template). It has one thread, and does nothing else."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys

import pyarrow as pa
from setproctitle import setproctitle

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
    gc.collect()
    gc.freeze()  # the collector of a forked process would write into the pages that it shares with this one
    wake, ended = os.pipe()
    os.set_blocking(ended, False)
    signal.set_wakeup_fd(ended, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    _tell(connection, {"ready": os.getpid()})
    while True:
        ready, _, _ = select.select([connection.fileno(), wake], [], [])
        if wake in ready:
            os.read(wake, LONGEST_MESSAGE)
            _tell_ends(connection)
        if connection.fileno() in ready:
            try:
                request, outputs, _, _ = socket.recv_fds(connection, LONGEST_MESSAGE, 1)
            except ConnectionResetError:  # the launcher went before it had read all
                request, outputs = b"", []
            if not request:
                os._exit(0)
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for descriptor in (wake, ended):
                    os.close(descriptor)
                connection.close()
                return _begin(json.loads(request), outputs[0])
            os.close(outputs[0])
            _tell(connection, {"forked": pid})


def _tell_ends(connection: socket.socket) -> None:
    """Collect the exit codes of processes that have ended, and tell them."""
    with contextlib.suppress(ChildProcessError):
        while (status := os.waitpid(-1, os.WNOHANG)) != (0, 0):
            pid, code = status[0], os.waitstatus_to_exitcode(status[1])
            _tell(connection, {"ended": pid, "code": code})


def _tell(connection: socket.socket, message: dict[str, int]) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the launcher has gone
        connection.send(json.dumps(message).encode())


def _begin(arguments: list[str], output: int) -> list[str]:
    """Make this process what one that was started anew would be."""
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()  # else all processes would draw the same numbers
    sys.argv[1:] = arguments
    setproctitle(" ".join([sys.executable, "-m", "pitstop.runner", *arguments]))
    return arguments
