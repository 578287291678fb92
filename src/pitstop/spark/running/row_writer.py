"""The writing of rows in real time: the tasks of a query give them as they come (Fan.java), and its sink has them at once.

Tasks and driver of the query connect to a Unix socket. A connection begins with a line: ``begin TASKS``, ``rows EPOCH PARTITION``
or ``end EPOCH``; each is answered with ``ok``. A task is answered once its rows are written, so Spark commits an epoch only after
that. A connection that is closed without an answer fails the epoch, which is then done again.
"""

from __future__ import annotations

import queue
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from pitstop.pipeline.nodes import Node
from pitstop.spark.base.environment import Environment
from pitstop.spark.running.gate import Gate
from pitstop.spark.sinks import mark_epoch, write_at_once

MOST_BATCHES = 256
"""The batches that wait for the sink; tasks that have more wait."""
LOOK_SECONDS = 0.05

_Item = tuple[pa.RecordBatch, int] | threading.Event
"""Rows with their epoch, or a task that waits until all rows before are written."""


class RowWriter(Gate):
    """The writer of a query in real time, as EpochWriter is of one in epochs.

    ``length_ms`` is the length of an epoch. ``folder`` is a short path, below which the socket is.
    """

    def __init__(self, sink: Node, environment: Environment, folder: Path, length_ms: int) -> None:
        super().__init__()
        self._environment, self._length = environment, length_ms / 1000
        self._folder = Path(tempfile.mkdtemp(prefix="rows-", dir=folder))
        self.socket, self.ends = self._folder / "s", self._folder / "ends"
        """The socket; the file that ends the epoch while it is there."""
        self._target = sink
        self._over = False
        self.active: Callable[[], bool] = lambda: True
        """Tells if the query runs."""
        self._writing = False
        self._began = 0.0
        self._epoch, self._tasks, self._connected, self._rows = -1, 0, 0, 0
        self._items: queue.Queue[_Item] = queue.Queue(MOST_BATCHES)
        self._connections: set[socket.socket] = set()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.socket))
        self._listener.listen(1024)
        for work in (self._accept, self._write):
            threading.Thread(target=work, daemon=True, name="rows").start()

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(self._target.upstream())

    def under_way(self, planned: int | None) -> int | None:
        """Return the epoch whose time is over, or whose end has been asked for; None if none is."""
        due = self._closed or self.ends.exists() or time.monotonic() - self._began > self._length
        return max(self._epoch, 0) if self._writing and due else None

    def close(self, timeout: float) -> bool:
        with self._condition:
            self._closed = True
            self._condition.notify_all()
        return self.end_epoch(timeout)

    def end_epoch(self, timeout: float) -> bool:
        """End the epoch that is under way, and wait for that. Return False if it did not end in time."""
        self.ends.touch()
        deadline, before = time.monotonic() + timeout, self.last_written
        try:
            with self._condition:
                while self._writing and self.last_written == before and self.failure is None:
                    if time.monotonic() > deadline:
                        return False
                    self._condition.wait(LOOK_SECONDS)
                    if not self.active():
                        return True
            return True
        finally:
            if not self._closed:
                self.ends.unlink(missing_ok=True)

    def end(self) -> None:
        """Close all connections and remove the socket: the query has ended."""
        with self._condition:
            self._closed = self._over = True
            self._condition.notify_all()
        self._disconnect()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # it is closed
            self._connections.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True, name="rows").start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection.makefile("rb") as stream:
                if self._answers(stream):
                    with suppress(OSError):  # who asked is gone, and its epoch is not committed
                        connection.sendall(b"ok")
        except BaseException as error:  # the epoch fails with it
            self._fail(error)
        finally:
            self._connections.discard(connection)
            connection.close()

    def _answers(self, stream: BinaryIO) -> bool:
        """Do what the other side of a connection asks for; return False if it is left without an answer."""
        word, number, *_ = [*stream.readline().split(), b"", b"0"]
        if word == b"begin":
            return self._begin(int(number))
        if word == b"rows":
            return self._take(stream, int(number))
        return word == b"end" and self._end(int(number))

    def _begin(self, tasks: int) -> bool:
        with self._condition:
            self._condition.wait_for(lambda: not self._closed or self._over)
            if self._over or self.failure is not None:
                return False
            self._writing, self._began, self._tasks, self._connected, self._rows = True, time.monotonic(), tasks, 0, 0
        self._before()
        self._environment.ownership.check()
        self.sink = self._target
        return True

    def _take(self, stream: BinaryIO, epoch: int) -> bool:
        with self._condition:
            self._epoch = epoch
            self._connected += 1
            self.flows = self.flows or self._connected >= self._tasks
        try:
            for batch in pa.ipc.open_stream(stream):
                if batch.num_rows:
                    self._items.put((batch, epoch))
        except (OSError, pa.ArrowException) as error:
            # The task has failed, or was stopped. Its epoch is not committed.
            self._environment.log("DEBUG", "pitstop.engine", f"a task gives no more rows: {type(error).__name__}: {error}")
            return False
        written = threading.Event()
        self._items.put(written)
        while not written.wait(LOOK_SECONDS):
            if self.failure is not None or self._over:
                return False
        return True

    def _end(self, epoch: int) -> bool:
        if self.failure is not None:
            return False
        self._environment.ownership.check()
        mark_epoch(self._target, epoch, self._environment)
        self._counted(self._target.name, self._rows)
        with self._condition:
            self.sink = None
            self._writing = False
            self.last_written = epoch
            self._condition.notify_all()
        self._after(epoch)
        return True

    def _write(self) -> None:
        """Write what tasks have given, all that is there at once, in the order in which it came."""
        while not self._over:
            try:
                items = [self._items.get(timeout=1.0)]
            except queue.Empty:
                continue
            while len(items) < MOST_BATCHES and not self._items.empty():
                items.append(self._items.get())
            rows = [item for item in items if not isinstance(item, threading.Event)]
            try:
                if rows:
                    table = pa.Table.from_batches([batch for batch, _ in rows])
                    self._rows += write_at_once(self._target, table, rows[-1][1], self._environment)
            except BaseException as error:  # the epoch fails with it
                self._fail(error)
                return
            for item in items:
                if isinstance(item, threading.Event):
                    item.set()

    def _fail(self, error: BaseException) -> None:
        """Fail the epoch: nothing more is written."""
        with self._condition:
            self.failure = self.failure or error
            self._condition.notify_all()
        self._disconnect()

    def _disconnect(self) -> None:
        for connection in (self._listener, *self._connections.copy()):
            with suppress(OSError):  # the other side was faster
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
