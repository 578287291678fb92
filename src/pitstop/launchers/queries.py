"""The server's side of the process that carries out SELECT (runner.queries): begun by the first query, ended when none comes."""

from __future__ import annotations

import dataclasses
import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping

from pitstop.errors import BusyError, EngineError
from pitstop.kit.jsonable import to_json
from pitstop.launchers.processes import handle_of
from pitstop.launchers.query_answers import QueryAnswers
from pitstop.launchers.query_child import OpenQuery, QueryChild
from pitstop.launchers.spent_seconds import SpentSeconds
from pitstop.machine.rotating import Rotation, start_pump
from pitstop.model.data_folder import DataFolder
from pitstop.model.selecting import (
    HOUR_SECONDS,
    MOST_ROWS,
    OPERATOR,
    USUAL_HOUR_SECONDS,
    USUAL_SECONDS,
    VIEWER_SECONDS,
    Asker,
    Select,
)

IDLE_SECONDS = 15 * 60.0
"""The seconds without a query after which the process is ended: it keeps a JVM."""
START_SECONDS = 120.0
MOST_OPEN = 32
"""The most queries at once. Each may keep a thread, and as many rows as a query gives."""
MOST_OF_ONE = 8
"""The most queries at once of one viewer."""
BARRED_SECONDS = 60.0
"""The seconds for which a viewer waits whose query could be ended with its process alone: all others began anew for it."""


class QueryProcess:
    """service.selecting.Queries in a separate process."""

    def __init__(
        self,
        data: DataFolder,
        store_url: str,
        environment: Mapping[str, str],
        rotation: Rotation,
        seconds: float = USUAL_SECONDS,
        rows: int = MOST_ROWS,
        viewers: bool = False,
        hour_seconds: float = USUAL_HOUR_SECONDS,
    ) -> None:
        """``rotation``: of its log. ``seconds``, ``rows``: the most that a query may take and give, unless it reads a stream.

        ``viewers``: it is the process of theirs, who read no streams. All queries of one may take ``hour_seconds`` an hour.
        """
        self._viewers, self._spent = viewers, SpentSeconds(hour_seconds)
        self._work, self._log = (data.viewer_queries, data.viewer_queries_log) if viewers else (data.queries, data.queries_log)
        self._barred: dict[str, float] = {}
        """Viewer -> the monotonic time at which a next query of theirs may come."""
        self._data, self._store_url, self._environment, self._rotation = data, store_url, environment, rotation
        self._seconds, self._rows = seconds, rows
        self._process: QueryChild | None = None
        self._lock = threading.Lock()
        self._last_number = 0
        """The number of the last query."""
        self._timer: threading.Timer | None = None

    def run(self, make: Callable[[int], Select], asker: Asker = OPERATOR) -> QueryAnswers:
        return QueryAnswers(lambda: self._ask(make, asker.user), self._rest, self._log.name)

    def _ask(self, make: Callable[[int], Select], user: str) -> tuple[QueryChild, int]:
        process, number, seconds_left = self._begin(user)
        try:
            self._wait_for(process)
            process.say({"select": to_json(self._limited(make(number), seconds_left))})
        except BaseException:
            process.queries.pop(number, None)
            process.going.discard(number)
            process.users.pop(number, None)
            self._spent.end(number)
            self._rest()
            raise
        return process, number

    def _limited(self, select: Select, seconds_left: float) -> Select:
        """Return a query with its limits. ``seconds_left``: the time that its viewer has left in this hour."""
        if not self._viewers:
            return dataclasses.replace(select, seconds=self._seconds, most_rows=self._rows)
        limit = VIEWER_SECONDS if self._seconds <= seconds_left else HOUR_SECONDS
        seconds = min(self._seconds, seconds_left)
        return dataclasses.replace(select, seconds=seconds, most_rows=self._rows, limit=limit)

    def close(self) -> None:
        """End the process."""
        with self._lock:
            process, self._process = self._process, None
            if self._timer is not None:
                self._timer.cancel()
        if process is not None:
            process.end()

    def _begin(self, user: str) -> tuple[QueryChild, int, float]:
        """Return the process, a query's number, and the time that its viewer has left.

        The process is not ended until that query is over.
        """
        with self._lock:
            barred = self._barred.get(user, 0.0) - time.monotonic()
            if barred > 0:
                raise BusyError(
                    "A query of yours went on after its end, and could be ended only with the process that carries queries out: "
                    f"ask again in {barred:.0f} seconds."
                )
            self._barred.pop(user, None)
            seconds_left = self._spent.left(user) if user else math.inf
            if not seconds_left:
                raise BusyError(
                    f"Your queries have taken {self._spent.most:,.0f} seconds within an hour, which is as many as those of one "
                    f"viewer may take: ask again in {self._spent.again_in(user):.0f} seconds, or have the server started with "
                    f"more {HOUR_SECONDS}."
                )
            if self._process is None or self._process.started.poll() is not None:
                self._process = self._start()
            if user and self._process.of_user(user) >= MOST_OF_ONE:
                raise BusyError(f"{MOST_OF_ONE} queries of yours have not ended, which is as many as you may have: ask later.")
            if len(self._process.going | self._process.queries.keys()) >= MOST_OPEN:
                raise BusyError(f"{MOST_OPEN} queries have not ended yet, which is as many as there may be: ask again later.")
            self._last_number += 1
            self._process.queries[self._last_number] = OpenQuery()
            self._process.going.add(self._last_number)
            if user:
                self._process.remember(self._last_number, user)
                self._spent.begin(self._last_number, user)
            return self._process, self._last_number, seconds_left

    def _wait_for(self, process: QueryChild) -> None:
        if not process.ready.wait(START_SECONDS):
            raise EngineError(f"The process that carries out queries was not ready within {START_SECONDS:.0f} seconds.")
        if process.over.is_set():
            raise EngineError(f"The process that carries out queries cannot be started: see {self._log.name} in the data folder.")

    def _start(self) -> QueryChild:
        self._work.mkdir(parents=True, exist_ok=True)
        command = [
            sys.executable,
            "-m",
            "pitstop.runner",
            "queries",
            "--store",
            self._store_url,
            "--work",
            str(self._work),
        ]
        writer = start_pump(self._log, self._rotation, {}, None)
        assert writer.stdin is not None
        with writer.stdin as log_file:
            popen = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log_file,
                text=True,
                env=dict(self._environment),
                start_new_session=True,
            )
        process = QueryChild(popen, handle_of(popen.pid))
        threading.Thread(target=process.read, args=(self._bar, self._spent.end), name="queries", daemon=True).start()
        threading.Thread(target=process.end_untaken, args=(self._rest,), name="unread queries", daemon=True).start()
        return process

    def _bar(self, user: str) -> None:
        """Let a viewer wait whose query went on after its end."""
        with self._lock:
            self._barred = {other: until for other, until in self._barred.items() if until > time.monotonic()}
            self._barred[user] = time.monotonic() + BARRED_SECONDS

    def _rest(self) -> None:
        """End the process a while after its last query."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(IDLE_SECONDS, self._end_if_idle, [self._last_number])
            self._timer.daemon = True
            self._timer.start()

    def _end_if_idle(self, number: int) -> None:
        with self._lock:
            process = self._process
            if process is None or process.queries or number != self._last_number:
                return
            self._process = None
        process.end()


class QueryProcesses:
    """service.selecting.Queries: one process for operators and one for viewers, which are each begun by the first query.

    Whatever viewers ask for, and however often their process has to be ended, operators' queries go on.
    """

    def __init__(self, operators: QueryProcess, viewers: QueryProcess) -> None:
        self._operators, self._viewers = operators, viewers

    def run(self, make: Callable[[int], Select], asker: Asker = OPERATOR) -> QueryAnswers:
        return (self._viewers if asker.viewer else self._operators).run(make, asker)

    def close(self) -> None:
        """End both."""
        self._viewers.close()
        self._operators.close()
