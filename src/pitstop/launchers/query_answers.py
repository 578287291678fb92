"""The answers of a query, whichever process gives them."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator

from pitstop.errors import EngineError, from_dict
from pitstop.launchers.query_child import WAKE, Answer, QueryChild

QUIET_SECONDS = 15.0
"""The seconds without rows after which a caller hears that a stream has none yet."""
MOST_ANEW = 5
"""The most times that a query is begun anew because its process had to be ended for another one."""


class QueryAnswers:
    """service.selecting.Answers of one query. If its process ends before it has given a row, another process begins it anew."""

    def __init__(self, ask: Callable[[], tuple[QueryChild, int]], rest: Callable[[], None], log: str) -> None:
        """``ask`` sends the query to a process, and returns that process and the query's number in it. ``log``: its log."""
        self._ask, self._rest, self._log = ask, rest, log
        self._process, self._number = ask()
        self._query = self._process.queries[self._number]
        self._columns = self._rows = self._closed = False
        """True once columns were given out; once rows were; once nobody asks any more."""
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
            if answer is WAKE:
                if self._number in self._process.queries:
                    self._begin_anew()
                continue
            if "columns" in answer and self._columns:
                continue  # the process before has given them
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
        self._query.check()
        raise StopIteration

    def close(self) -> None:
        """End the query."""
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
