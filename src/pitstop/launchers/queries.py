"""The server's side of the process that carries out SELECT (runner.queries): begun by the first query, ended when none comes."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pitstop.control.ports.launcher import RunHandle
from pitstop.errors import BusyError, EngineError, UsageError, from_dict
from pitstop.kit.jsonable import to_json
from pitstop.launchers.processes import handle_of, kill_all
from pitstop.launchers.spent_seconds import SpentSeconds
from pitstop.machine.rotating import Rotation, start_pump
from pitstop.model.data_folder import DataFolder
from pitstop.model.selecting import (
    BEGIN_ANEW,
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
QUIET_SECONDS = 15.0
"""The seconds without rows after which a caller hears that a stream has none yet."""
MOST_OPEN = 32
"""The most queries at once. Each may keep a thread, and as many rows as a query gives."""
MOST_OF_ONE = 8
"""The most queries at once of one viewer."""
MOST_ANEW = 5
"""The most times that a query is begun anew because its process had to be ended for another one."""
BARRED_SECONDS = 60.0
"""The seconds for which a viewer waits whose query could be ended with its process alone: all others began anew for it."""
MOST_REMEMBERED = 200
"""The most ended queries whose viewers a process remembers."""
UNTAKEN_SECONDS = 300.0
"""The seconds after which a query is ended if nobody takes its answers."""

Answer = dict[str, Any]
_WAKE: Answer = {}
"""The last of a query's answers: nobody asks for the query any more, or its process is gone."""


@dataclass
class _Query:
    """A query that a process carries out."""

    answers: queue.Queue[Answer] = field(default_factory=queue.Queue)
    """The answers, never more batches than the process may send before some are taken."""
    left_at: float | None = None
    """The time at which the last answer was given out; None while somebody waits for one."""
    given_up: bool = False
    """True if the query was ended because nobody took its answers."""

    def given_up_in(self) -> float:
        """Return the seconds that are left until the query is ended if nobody asks for an answer."""
        return UNTAKEN_SECONDS - (0.0 if self.left_at is None else time.monotonic() - self.left_at)


@dataclass
class _Process:
    started: subprocess.Popen[str]
    handle: RunHandle | None
    ready: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    """Set once the process has ended and all that it has sent is in the answers."""
    queries: dict[int, _Query] = field(default_factory=dict)
    """Number of a query -> the query."""
    going: set[int] = field(default_factory=set)
    """The numbers of the queries that the process has not ended yet, also if nobody asks for them any more."""
    users: dict[int, str] = field(default_factory=dict)
    """Number of a query -> its viewer."""
    blamed: int | None = None
    """The query for which the process ends, as it has said itself; None if it ends without a word."""
    writing: threading.Lock = field(default_factory=threading.Lock)

    def remember(self, number: int, user: str) -> None:
        """Note whose a query is. It may be blamed a while after its end, so that those of the last ones stay."""
        for old in list(self.users)[:-MOST_REMEMBERED]:
            if old not in self.going and old not in self.queries:
                del self.users[old]
        self.users[number] = user

    def of_user(self, user: str) -> int:
        """Return the number of a viewer's queries that are not ended yet."""
        return sum(1 for number in self.going | self.queries.keys() if self.users.get(number) == user)

    def say(self, message: Answer) -> None:
        assert self.started.stdin is not None
        with self.writing, contextlib.suppress(OSError, ValueError):
            self.started.stdin.write(json.dumps(message) + "\n")
            self.started.stdin.flush()

    def end_query(self, number: int) -> bool:
        """Note that nobody asks for a query any more; return False if that was noted before."""
        query = self.queries.pop(number, None)
        if query is not None:
            self.say({"cancel": number})
            query.answers.put(_WAKE)
        return query is not None


class _Answers:
    """service.selecting.Answers of one query. If its process ends before it has given a row, another process begins it anew."""

    def __init__(self, ask: Callable[[], tuple[_Process, int]], rest: Callable[[], None], log: str) -> None:
        """``ask`` sends the query to a process, and returns that process and the query's number in it. ``log``: its log."""
        self._ask, self._rest, self._log = ask, rest, log
        self._process, self._number = ask()
        self._query = self._process.queries[self._number]
        self._columns = self._rows = self._closed = False
        """True once columns, or rows, were given out; nobody asks any more."""
        self._alone = self._for_others = 0
        """The times that the query was begun anew: after a process that ended without a word; after one that ended for others."""

    def __iter__(self) -> Iterator[Answer]:
        return self

    def __next__(self) -> Answer:
        self._query.left_at = None
        try:
            return self._wait()
        finally:
            self._query.left_at = time.monotonic()

    def _wait(self) -> Answer:
        quiet_at = time.monotonic() + QUIET_SECONDS
        while self._number in self._process.queries:
            try:
                answer = self._query.answers.get(timeout=max(quiet_at - time.monotonic(), 0.0))
            except queue.Empty:
                return {"quiet": True}
            if answer is _WAKE:
                if self._number in self._process.queries:
                    self._begin_anew()
                continue
            if "columns" in answer and self._columns:
                continue  # the process before has told them
            self._columns, self._rows = self._columns or "columns" in answer, self._rows or "rows" in answer
            if "rows" in answer:
                self._process.say({"taken": self._number})
            if "error" in answer or "end" in answer:
                self.close()
            if "error" in answer:
                raise from_dict(answer["error"])
            if "end" in answer:
                break
            return answer
        if self._query.given_up:
            raise UsageError(f"Nobody has taken rows of the query for {UNTAKEN_SECONDS:.0f} seconds: it was ended.")
        raise StopIteration

    def close(self) -> None:
        self._closed = True
        if self._process.end_query(self._number):
            self._rest()

    def _begin_anew(self) -> None:
        for_another = self._process.blamed is not None
        if self._rows or self._alone or self._for_others >= MOST_ANEW:
            self.close()
            if for_another:
                raise EngineError(
                    "The process that carries out queries was ended because another query went on after its end: ask again. "
                    f"{self._log} in the data folder tells more."
                )
            raise EngineError(
                "The process that carries out queries has ended, as it does when its memory is full: see "
                f"{self._log} in the data folder. $PITSTOP_DRIVER_MEMORY gives it more."
            )
        if for_another:
            self._for_others += 1
        else:
            self._alone += 1
        self._process, self._number = self._ask()
        self._query = self._process.queries[self._number]
        if self._closed:
            self.close()


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
        self._process: _Process | None = None
        self._lock = threading.Lock()
        self._last_number = 0
        """The number of the last query."""
        self._timer: threading.Timer | None = None

    def run(self, make: Callable[[int], Select], asker: Asker = OPERATOR) -> _Answers:
        return _Answers(lambda: self._ask(make, asker.user), self._rest, self._log.name)

    def _ask(self, make: Callable[[int], Select], user: str) -> tuple[_Process, int]:
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
            _end(process)

    def _begin(self, user: str) -> tuple[_Process, int, float]:
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
            self._process.queries[self._last_number] = _Query()
            self._process.going.add(self._last_number)
            if user:
                self._process.remember(self._last_number, user)
                self._spent.begin(self._last_number, user)
            return self._process, self._last_number, seconds_left

    def _wait_for(self, process: _Process) -> None:
        if not process.ready.wait(START_SECONDS):
            raise EngineError(f"The process that carries out queries was not ready within {START_SECONDS:.0f} seconds.")
        if process.over.is_set():
            raise EngineError(f"The process that carries out queries cannot be started: see {self._log.name} in the data folder.")

    def _start(self) -> _Process:
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
        process = _Process(popen, handle_of(popen.pid))
        threading.Thread(target=_read, args=(process, self._bar, self._spent.end), name="queries", daemon=True).start()
        threading.Thread(target=self._give_up, args=(process,), name="unread queries", daemon=True).start()
        return process

    def _bar(self, user: str) -> None:
        """Let a viewer wait whose query went on after its end."""
        with self._lock:
            self._barred = {other: until for other, until in self._barred.items() if until > time.monotonic()}
            self._barred[user] = time.monotonic() + BARRED_SECONDS

    def _give_up(self, process: _Process) -> None:
        """End the queries of a process whose answers nobody takes, as long as the process exists."""
        next_look = UNTAKEN_SECONDS
        while not process.over.wait(next_look):
            next_look = UNTAKEN_SECONDS
            for number, query in list(process.queries.items()):
                seconds = query.given_up_in()
                if seconds > 0:
                    next_look = min(next_look, seconds)
                    continue
                query.given_up = True
                if process.end_query(number):
                    query.answers = queue.Queue()
                    self._rest()

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
        _end(process)


class QueryProcesses:
    """service.selecting.Queries: one process for operators and one for viewers, which are each begun by the first query.

    Whatever viewers ask for, and however often their process has to be ended, operators' queries go on.
    """

    def __init__(self, operators: QueryProcess, viewers: QueryProcess) -> None:
        self._operators, self._viewers = operators, viewers

    def run(self, make: Callable[[int], Select], asker: Asker = OPERATOR) -> _Answers:
        return (self._viewers if asker.viewer else self._operators).run(make, asker)

    def close(self) -> None:
        """End both."""
        self._viewers.close()
        self._operators.close()


def _read(process: _Process, bar: Callable[[str], None], note_end: Callable[[int], None]) -> None:
    assert process.started.stdout is not None
    try:
        for line in process.started.stdout:
            message = json.loads(line)
            query = process.queries.get(message.get("id", 0))
            if "blamed" in message:
                process.blamed = message["blamed"]
                if process.blamed in process.users:
                    bar(process.users[process.blamed])
            elif "ready" in message:
                process.ready.set()
            elif query is not None:
                query.answers.put(message)
            if "end" in message or "error" in message:
                process.going.discard(message["id"])
                note_end(message["id"])
    finally:
        if process.started.wait() == BEGIN_ANEW and process.handle is not None:
            kill_all(process.handle)  # what it has computed, its Java computes still
        for number in [*process.going]:
            note_end(number)
        process.over.set()
        process.ready.set()
        for query in list(process.queries.values()):
            query.answers.put(_WAKE)


def _end(process: _Process) -> None:
    with contextlib.suppress(OSError):
        assert process.started.stdin is not None
        process.started.stdin.close()
    try:
        process.started.wait(5)
    except subprocess.TimeoutExpired:
        if process.handle is not None:
            kill_all(process.handle)
        process.started.wait()
