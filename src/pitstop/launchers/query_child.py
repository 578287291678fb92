"""A process that carries out SELECT (runner.queries), with the messages between it and the server."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pitstop.control.ports.launcher import RunHandle
from pitstop.errors import UsageError
from pitstop.launchers.processes import kill_all
from pitstop.model.selecting import BEGIN_ANEW

MOST_REMEMBERED = 200
"""The most ended queries whose viewers a process remembers."""
UNTAKEN_SECONDS = 300.0
"""The seconds after which a query is ended if nobody takes its answers."""

Answer = dict[str, Any]
WAKE: Answer = {}
"""The last of a query's answers: nobody asks for the query any more, or its process is gone."""


@dataclass
class OpenQuery:
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

    def check(self) -> None:
        """Raise UsageError if the query was ended because nobody took its answers."""
        if self.given_up:
            raise UsageError(f"Nobody has taken rows of the query for {UNTAKEN_SECONDS:.0f} seconds: it was ended.")


@dataclass
class QueryChild:
    """A process that carries out queries, as its server sees it."""

    started: subprocess.Popen[str]
    handle: RunHandle | None
    ready: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    """Set once the process has ended and all that it has sent is in the answers."""
    queries: dict[int, OpenQuery] = field(default_factory=dict)
    """Number of a query -> the query."""
    going: set[int] = field(default_factory=set)
    """The numbers of the queries that the process has not ended yet, also if nobody asks for them any more."""
    users: dict[int, str] = field(default_factory=dict)
    """Number of a query -> its viewer."""
    blamed: int | None = None
    """The query for which the process ends, as it has said itself; None if it ends without a word."""
    writing: threading.Lock = field(default_factory=threading.Lock)

    def remember(self, number: int, user: str) -> None:
        """Note the viewer of a query. The process may blame a query a while after its end, so the last ones are remembered."""
        for old in list(self.users)[:-MOST_REMEMBERED]:
            if old not in self.going and old not in self.queries:
                del self.users[old]
        self.users[number] = user

    def of_user(self, user: str) -> int:
        """Return the number of a viewer's queries that have not ended yet."""
        return sum(1 for number in self.going | self.queries.keys() if self.users.get(number) == user)

    def say(self, message: Answer) -> None:
        """Send a message to the process, if it is still there."""
        assert self.started.stdin is not None
        with self.writing, contextlib.suppress(OSError, ValueError):
            self.started.stdin.write(json.dumps(message) + "\n")
            self.started.stdin.flush()

    def end_query(self, number: int) -> bool:
        """Note that nobody asks for a query any more; return False if that was noted before."""
        query = self.queries.pop(number, None)
        if query is not None:
            self.say({"cancel": number})
            query.answers.put(WAKE)
        return query is not None

    def read(self, bar: Callable[[str], None], note_end: Callable[[int], None]) -> None:
        """Take in all that the process sends, until it has ended.

        ``bar`` is called with the viewer of a blamed query, ``note_end`` with the number of each query that is over.
        """
        assert self.started.stdout is not None
        try:
            for line in self.started.stdout:
                message = json.loads(line)
                query = self.queries.get(message.get("id", 0))
                if "blamed" in message:
                    self.blamed = message["blamed"]
                    if self.blamed in self.users:
                        bar(self.users[self.blamed])
                elif "ready" in message:
                    self.ready.set()
                elif query is not None:
                    query.answers.put(message)
                if "end" in message or "error" in message:
                    self.going.discard(message["id"])
                    note_end(message["id"])
        finally:
            if self.started.wait() == BEGIN_ANEW and self.handle is not None:
                kill_all(self.handle)  # what it has computed, its Java computes still
            for number in [*self.going]:
                note_end(number)
            self.over.set()
            self.ready.set()
            for query in list(self.queries.values()):
                query.answers.put(WAKE)

    def end_untaken(self, rest: Callable[[], None]) -> None:
        """End queries whose answers nobody takes, as long as the process exists. ``rest`` is called after each."""
        next_look = UNTAKEN_SECONDS
        while not self.over.wait(next_look):
            next_look = UNTAKEN_SECONDS
            for number, query in list(self.queries.items()):
                seconds = query.given_up_in()
                if seconds > 0:
                    next_look = min(next_look, seconds)
                    continue
                query.given_up = True
                if self.end_query(number):
                    query.answers = queue.Queue()
                    rest()

    def end(self) -> None:
        """End the process."""
        with contextlib.suppress(OSError):
            assert self.started.stdin is not None
            self.started.stdin.close()
        try:
            self.started.wait(5)
        except subprocess.TimeoutExpired:
            if self.handle is not None:
                kill_all(self.handle)
            self.started.wait()
